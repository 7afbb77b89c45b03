"""The page and its socket: Starlette and uvicorn, on this machine unless a token guards it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.wsproto_impl import WSProtocol

from pvp_ml.errors import UserError
from pvp_ml.web.arena import MAX_REPLAY_BYTES, Arena
from pvp_ml.web.guard import Allowance, Guard, ServerConfig
from pvp_ml.web.messages import MAX_MESSAGE_BYTES
from pvp_ml.web.newcomers import timed
from pvp_ml.web.page import Connection, Page

STATIC = Path(__file__).parent / "static"
SWEEP_S = 5.0
_PAGE_FILES = frozenset({".js", ".css", ".svg", ".png", ".jpg", ".webp", ".woff2", ".json"})
BODY_S = 30.0
_TRANSPORT = "pvp_ml.transport"
_HEADERS = (
    (b"content-security-policy", b"default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-cache"),
)


class _Protocol(WSProtocol):
    """Hands the transport to the application, so that a frame that many look at is encoded once."""

    def handle_connect(self, event: Any) -> None:
        super().handle_connect(event)
        extensions: dict[str, Any] = self.scope["extensions"]
        extensions[_TRANSPORT] = self.transport


class Site:
    """The routes."""

    def __init__(self, arena: Arena, config: ServerConfig) -> None:
        self.arena = arena
        self._config = config
        self._guard = Guard(config)
        self._open = 0
        arena.watch_key = self._guard.watch_key
        self._analysis = asyncio.Semaphore(1)  # one replay at a time: it is a second of arithmetic

    def app(self) -> ASGIApp:
        """The ASGI application."""
        routes: list[BaseRoute] = [
            Route("/", lambda request: FileResponse(STATIC / "index.html")),
            Route("/api/arena", self._about),
            Route("/api/replays", self._list),
            Route("/api/replays/{name}", self._download),
            Route("/api/matches/{room}/replay", self._share),
            Route("/api/frames", self._frames, methods=["POST"]),
            WebSocketRoute("/ws", self._socket),
            Mount("/static", StaticFiles(directory=STATIC)),
        ]
        page = self.arena.kind.presentation.page
        if page is not None:
            routes.append(Mount(unquote(self.arena.files), _GameFiles(directory=page.folder)))
        return _Headers(Starlette(routes=routes, lifespan=self._life), self._guard)

    @contextlib.asynccontextmanager
    async def _life(self, _: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(self._sweep())
        yield
        task.cancel()
        for room in list(self.arena.rooms.values()):
            self.arena.close(room, "the server stops")

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_S)
            self.arena.sweep()

    # plain requests --------------------------------------------------------------------------------------------------

    async def _about(self, _: Request) -> Response:
        return JSONResponse(self.arena.facts())

    async def _list(self, _: Request) -> Response:
        return JSONResponse(await run_in_threadpool(self.arena.replays))

    async def _download(self, request: Request) -> Response:
        name = request.path_params["name"]
        try:
            return _file(await run_in_threadpool(self.arena.saved, name), name)
        except UserError as error:
            return _refusal(404, str(error))

    async def _share(self, request: Request) -> Response:
        try:
            text = self.arena.replay_of(request.path_params["room"])
        except UserError as error:
            return _refusal(404, str(error))
        return _file(text.encode(), f"{self.arena.spec.name}-match.replay")

    async def _frames(self, request: Request) -> Response:
        """A replay file in, its frames out."""
        body = bytearray()
        try:
            async with asyncio.timeout(BODY_S):
                async for part in request.stream():
                    body += part
                    if len(body) > MAX_REPLAY_BYTES:
                        return _refusal(413, f"a replay may have {MAX_REPLAY_BYTES} bytes")
        except TimeoutError:
            return _refusal(408, f"the replay did not arrive within {BODY_S:.0f} s")
        analyst = request.query_params.get("analyst", "")
        try:
            async with self._analysis:
                return JSONResponse(await run_in_threadpool(self.arena.frames, bytes(body), analyst))
        except UserError as error:
            return _refusal(400, str(error))

    # the socket ------------------------------------------------------------------------------------------------------

    async def _socket(self, websocket: WebSocket) -> None:
        token = websocket.query_params.get("token", "")
        room = self._guard.watched_room(token)
        trouble = self._guard.trouble(websocket.headers, token, needs_token=not room)
        if trouble or self._open >= self._config.connections:
            await websocket.close(1008, trouble or "too many connections")
            return
        await websocket.accept()
        connection = Connection(websocket.scope["extensions"][_TRANSPORT], self._config.unsent_bytes)
        self._open += 1
        page = Page(self.arena, connection, only_room=room)
        try:
            await self._listen(websocket, page)
        except WebSocketDisconnect:
            pass
        finally:
            self._open -= 1
            page.gone()

    async def _listen(self, websocket: WebSocket, page: Page) -> None:
        allowance = Allowance(self._config.messages_per_s, self._config.burst, asyncio.get_running_loop().time)
        while True:
            event = await websocket.receive()
            if event["type"] == "websocket.disconnect":
                return
            if allowance.take():
                text = event.get("text")
                page.hear(text if text is not None else event.get("bytes") or b"")
            elif allowance.is_abused:
                await websocket.close(1008, "too many messages")
                return
            elif allowance.refused % 50 == 1:
                page.complain("too many messages; slow down")


class _GameFiles(StaticFiles):
    """The folder of a game's own view. It may hold more than a page needs, so only what a page needs is given."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        parts = PurePosixPath(path.replace("\\", "/"))
        if parts.suffix not in _PAGE_FILES or any(part.startswith(".") for part in parts.parts):
            return PlainTextResponse("Not Found", 404)
        return await super().get_response(path, scope)


class _Headers:
    """Refuses strangers before any route is looked up, and adds the headers that keep a browser strict."""

    def __init__(self, app: ASGIApp, guard: Guard) -> None:
        self._app, self._guard = app, guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        looks_on = scope["path"] == "/api/arena" and self._guard.watched_room(self._guard.told(headers))
        needs_token = scope["path"].startswith("/api/") and not looks_on
        trouble = self._guard.trouble(headers, needs_token=needs_token)
        status = 400 if self._guard.is_malformed(headers) else 403

        async def strict(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *_HEADERS]}
            await send(message)

        app: ASGIApp = PlainTextResponse(f"{trouble}\n", status) if trouble else self._app
        await app(scope, receive, strict)


def _refusal(status: int, words: str) -> Response:
    return JSONResponse({"error": words}, status)


def _file(data: bytes, name: str) -> Response:
    disposition = f"attachment; filename={json.dumps(name)}"
    return Response(data, media_type="application/jsonl", headers={"content-disposition": disposition})


async def serve_until(
    site: Site, config: ServerConfig, ready: Callable[[int], None], stop: asyncio.Event | None = None
) -> None:
    """Serve until `stop` is set (or, without one, until a signal); `ready` is told the port."""
    listening = _listen(config)
    told = uvicorn.Config(
        site.app(),
        http=timed(H11Protocol, config.head_s, config.newcomers),
        ws=_Protocol,
        ws_max_size=MAX_MESSAGE_BYTES,
        ws_per_message_deflate=False,
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=2,
        h11_max_incomplete_event_size=16_384,
        limit_concurrency=config.connections + 64,
    )
    server = uvicorn.Server(told)
    task = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started and not task.done():
        await asyncio.sleep(0.01)
    ready(listening.getsockname()[1])
    if stop is not None:
        await stop.wait()
        server.should_exit = True
    await task


def _listen(config: ServerConfig) -> socket.socket:
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    if not 0 <= config.port < 1 << 16:  # the socket module would leave its socket open
        raise UserError(f"cannot listen on port {config.port}", "choose --port from 0 to 65535")
    try:
        return socket.create_server((config.host, config.port), family=family, backlog=256)
    except OSError as error:
        raise UserError(
            f"cannot listen on {config.host} port {config.port}: {error.strerror or error}",
            "stop the other program or choose --port",
        ) from error
