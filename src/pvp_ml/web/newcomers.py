"""Time limits that uvicorn does not have: neither half a request nor an answer that nobody reads holds a place."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import h11

from pvp_ml.serve.quota import GRACE_S

log = logging.getLogger(__name__)

LOOK_S = 10.0
"""How often an answer that waits is looked at; one of which the client took nothing meanwhile is given up."""
RUSH = 4
"""How many times the places may be taken within GRACE_S: a burst of strangers sends nobody away who has just come."""
PONG_BYTES = 64 << 10
"""Answers to pings that may wait."""
EARLY_BYTES = 64 << 10
"""What a client may send before its handshake is answered; the library keeps all of it, and nobody reads it."""
_MALFORMED = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


def timed(protocol: Any, head_s: float, body_s: float, places: int) -> type[asyncio.Protocol]:
    """Uvicorn's HTTP protocol with limits on time, and `places` for those who have not finished a request.

    They have `head_s` seconds from the first byte to the end of the head and `body_s` more for the body. When all
    places are taken, the one that has been at it longest is disconnected.
    """
    unfinished: dict[Any, asyncio.TimerHandle] = {}

    class Timed(_taken(protocol)):  # type: ignore[misc]
        """Watches how far the request is after every piece of data."""

        _is_in_body = False
        _since = 0.0

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._begin()

        def data_received(self, data: bytes) -> None:
            if self not in unfinished and self.conn.their_state is h11.IDLE:
                self._begin()
            try:
                super().data_received(data)
            except Exception as error:  # such as letters that a header may not have, which the libraries do not expect
                log.warning("a request was refused: %s", type(error).__name__)
                self.transport.write(_MALFORMED)
                self.transport.close()
            state = self.conn.their_state
            if state not in (h11.IDLE, h11.SEND_BODY) or self.transport.is_closing():
                self._finish()
            elif state is h11.SEND_BODY and self in unfinished and not self._is_in_body:
                self._is_in_body = True
                unfinished[self].cancel()
                unfinished[self] = self.loop.call_later(body_s, self.transport.abort)

        def connection_lost(self, exc: Exception | None) -> None:
            self._finish()
            super().connection_lost(exc)

        def _begin(self) -> None:
            oldest: Any = next(iter(unfinished), None)
            is_full = len(unfinished) >= places and self.loop.time() - oldest._since > GRACE_S
            if is_full or len(unfinished) >= RUSH * places:
                oldest.transport.abort()
                unfinished.pop(oldest).cancel()
            self._is_in_body, self._since = False, self.loop.time()
            unfinished[self] = self.loop.call_later(head_s, self.transport.abort)

        def _finish(self) -> None:
            timer = unfinished.pop(self, None)
            if timer is not None:
                timer.cancel()

    return Timed


def _taken(protocol: Any) -> Any:
    """The same for answers: a client that reads nothing of one for LOOK_S is disconnected."""

    class Taken(protocol):  # type: ignore[misc]
        """Compares what waits to be sent with what waited before."""

        _look: asyncio.TimerHandle | None = None

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_looking()
            super().connection_lost(exc)

        def pause_writing(self) -> None:
            super().pause_writing()
            self._stop_looking()
            waiting = self.transport.get_write_buffer_size()
            self._look = self.loop.call_later(LOOK_S, self._give_up_unless_less, waiting)

        def resume_writing(self) -> None:
            self._stop_looking()
            super().resume_writing()

        def _give_up_unless_less(self, before: int) -> None:
            waiting = self.transport.get_write_buffer_size()
            if waiting >= before:
                self.transport.abort()
            else:
                self._look = self.loop.call_later(LOOK_S, self._give_up_unless_less, waiting)

        def _stop_looking(self) -> None:
            if self._look is not None:
                self._look.cancel()
                self._look = None

    return Taken


def patient(protocol: Any, unsent_s: float) -> type[asyncio.Protocol]:
    """Uvicorn's WebSocket protocol for pages that read: one that stops for `unsent_s` is cut off, and so is one that
    pings without taking the answers or sends much before it is let in.
    """

    class Patient(protocol):  # type: ignore[misc]
        """Watches what waits to be sent."""

        _late: asyncio.TimerHandle | None = None
        _early = 0

        def data_received(self, data: bytes) -> None:
            if not self.handshake_complete:
                self._early += len(data)
                if self._early > EARLY_BYTES:
                    self.transport.abort()
                    return
            super().data_received(data)

        def handle_ping(self, event: Any) -> None:
            if self.transport.get_write_buffer_size() > PONG_BYTES:
                self.transport.abort()
            else:
                super().handle_ping(event)

        def pause_writing(self) -> None:
            super().pause_writing()
            if self._late is None:
                self._late = self.loop.call_later(unsent_s, self.transport.abort)

        def resume_writing(self) -> None:
            self._forget()
            super().resume_writing()

        def connection_lost(self, exc: Exception | None) -> None:
            self._forget()
            super().connection_lost(exc)

        def _forget(self) -> None:
            if self._late is not None:
                self._late.cancel()
                self._late = None

    return Patient
