"""The page and its socket: Starlette and uvicorn, on this machine unless a token guards it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path, PurePosixPath
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.wsproto_impl import WSProtocol

from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.serve.quota import MOST_DELAY_S, WrongTokens
from pvp_ml.web.doors import Asked, Door, Reply, refused
from pvp_ml.web.guard import Allowance, Guard, ServerConfig
from pvp_ml.web.messages import MAX_MESSAGE_BYTES
from pvp_ml.web.newcomers import patient, timed
from pvp_ml.web.page import Connection, Page
from pvp_ml.web.site import STATIC, Site

log = logging.getLogger(__name__)

SWEEP_S = 5.0
_PAGE_FILES = frozenset({".js", ".css", ".svg", ".png", ".jpg", ".webp", ".woff2", ".json"})
BODY_S = 30.0
UNSENT_S = 60.0
MAX_GUESSES = 64
"""Requests with a wrong token that wait for their answer; more of them are answered at once, with 429."""
_TRANSPORT = "pvp_ml.transport"
CONTROL_HEADER = "x-pvp-ml-control"
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


class App:
    """The site's doors, the socket and static files as an ASGI application."""

    def __init__(self, site: Site, config: ServerConfig) -> None:
        self.site = site
        self._config = config
        self._guard = Guard(config)
        self._open = 0
        self._folders: dict[Path, _GameFiles] = {}
        self._one = asyncio.Semaphore(1)
        site.arenas.watch_key = self._guard.watch_key

    def app(self) -> ASGIApp:
        """What uvicorn runs."""
        routes: list[BaseRoute] = [
            *(Route(door.path, self._endpoint(door), methods=[door.method]) for door in self.site.doors()),
            WebSocketRoute("/ws/{game}", self._socket),
            Mount("/static", StaticFiles(directory=STATIC)),
            Mount("/games/{game}", self._game_file),
        ]
        return _Headers(Starlette(routes=routes, lifespan=self._life), self._guard)

    @contextlib.asynccontextmanager
    async def _life(self, _: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(self._sweep())
        yield
        task.cancel()
        for arena in self.site.arenas.made():
            for room in list(arena.rooms.values()):
                arena.close(room, "the server stops")

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_S)
            for arena in self.site.arenas.made():
                try:
                    arena.sweep()
                except Exception:  # one arena's fault must not keep the rooms of all others open
                    log.exception("closing abandoned rooms failed; trying again")

    # plain requests --------------------------------------------------------------------------------------------------

    def _endpoint(self, door: Door) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            try:
                async with asyncio.timeout(BODY_S):
                    body = await _body(request, door.body_bytes)
            except ClientDisconnect:
                return _response(refused(400, "the request was not finished"))  # nobody is there to read it
            except TimeoutError:
                return _response(refused(408, f"the request did not arrive within {BODY_S:.0f} s"))
            if body is None:
                return _response(refused(413, f"at most {door.body_bytes} bytes are taken here"))
            key = request.headers.get(CONTROL_HEADER, "")
            asked = Asked(dict(request.path_params), dict(request.query_params), body, key)
            async with self._one if door.one_at_a_time else contextlib.nullcontext():
                return _response(await run_in_threadpool(_answered, door, asked))

        return answer

    async def _game_file(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A file of a game's own view."""
        page = None
        with contextlib.suppress(UserError):
            page = registry.find(scope["path_params"]["game"]).presentation.page
        if page is None or scope["type"] != "http":
            await PlainTextResponse("Not Found", 404)(scope, receive, send)
            return
        if page.folder not in self._folders:
            self._folders[page.folder] = _GameFiles(directory=page.folder)
        await self._folders[page.folder](scope, receive, send)

    # the socket ------------------------------------------------------------------------------------------------------

    async def _socket(self, websocket: WebSocket) -> None:
        token = websocket.query_params.get("token", "")
        room = self._guard.watched_room(token)
        trouble = self._guard.trouble(websocket.headers, token, needs_token=not room)
        if trouble or self._open >= self._config.connections:
            await websocket.close(1008, trouble or "too many connections")
            return
        try:
            arena = await run_in_threadpool(self.site.arenas.get, websocket.path_params["game"])
        except UserError as error:
            await websocket.close(1008, str(error)[:120])
            return
        await websocket.accept()
        connection = Connection(websocket.scope["extensions"][_TRANSPORT], self._config.unsent_bytes)
        self._open += 1
        page = Page(arena, connection, only_room=room)
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
                await page.hear(text if text is not None else event.get("bytes") or b"")
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
        self._wrong_tokens, self._guesses = WrongTokens(time.monotonic), 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        looks_on = _is_arena(scope["path"]) and self._guard.watched_room(self._guard.token_of(headers))
        needs_token = scope["path"].startswith("/api/") and not looks_on
        trouble = self._guard.trouble(headers, needs_token=needs_token)
        status = 400 if self._guard.is_malformed(headers) else 403
        if trouble and needs_token and self._guard.token_of(headers):
            status = await self._slowed(status, str((scope.get("client") or ("",))[0]))

        async def strict(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *_HEADERS]}
            await send(message)

        app: ASGIApp = PlainTextResponse(f"{trouble}\n", status) if trouble else self._app
        await app(scope, receive, strict)

    async def _slowed(self, status: int, host: str) -> int:
        """A wrong token is answered late, unless many wait for that already."""
        if self._guesses >= MAX_GUESSES:
            return 429
        self._guesses += 1
        try:
            await asyncio.sleep(min(self._wrong_tokens.delay(host), MOST_DELAY_S))
        finally:
            self._guesses -= 1
        return status


def _is_arena(path: str) -> bool:
    """Whether a path asks for one game's arena, and for nothing below it."""
    parts = path.strip("/").split("/")
    return len(parts) == 3 and parts[:2] == ["api", "games"]


async def _body(request: Request, limit: int) -> bytes | None:
    """The body, None when it is longer than that, or says that it will be."""
    length = request.headers.get("content-length", "")
    if length.isdigit() and (len(length) > 18 or int(length) > limit):
        return None
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > limit:
            return None
    return bytes(body)


def _answered(door: Door, asked: Asked) -> Reply:
    try:
        return door.answer(asked)
    except UserError as error:
        return refused(door.status, str(error))
    except Exception as error:  # what a folder or a file holds must not end in a traceback on the terminal
        log.error("%s failed: %s: %s", door.path, type(error).__name__, error)
        log.debug("where it failed", exc_info=True)
        return refused(500, "that failed; the terminal says why")


def _response(answer: Reply) -> Response:
    extra = {"content-disposition": f"attachment; filename={json.dumps(answer.name)}"} if answer.name else {}
    return Response(answer.body, answer.status, extra, media_type=answer.kind)


async def serve_until(
    site: Site, config: ServerConfig, ready: Callable[[int], None], stop: asyncio.Event | None = None
) -> None:
    """Serve until `stop` is set (or, without one, until a signal); `ready` is called with the port."""
    listening = _listen(config)
    settings = uvicorn.Config(
        App(site, config).app(),
        http=timed(H11Protocol, config.head_s, BODY_S, config.newcomers),
        ws=patient(_Protocol, UNSENT_S),
        ws_max_size=MAX_MESSAGE_BYTES,
        ws_per_message_deflate=False,
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=2,
        h11_max_incomplete_event_size=16_384,
        limit_concurrency=config.connections + 64,
    )
    server = uvicorn.Server(settings)
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
