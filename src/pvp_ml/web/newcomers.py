"""Time limits for heads, which uvicorn does not have: half a request must not hold a place."""

from __future__ import annotations

import asyncio
from typing import Any

import h11


def timed(protocol: Any, head_s: float, places: int) -> type[asyncio.Protocol]:
    """Uvicorn's HTTP protocol with `head_s` seconds to finish a head and `places` for those that are at it.

    When all are taken, whoever has been at it longest is shown out.
    """
    unfinished: dict[Any, asyncio.TimerHandle] = {}

    class Timed(protocol):  # type: ignore[misc]
        """Watches how far the head is after every piece of data."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._begin()

        def data_received(self, data: bytes) -> None:
            if self not in unfinished and self.conn.their_state is h11.IDLE:
                self._begin()
            super().data_received(data)
            if self.conn.their_state is not h11.IDLE or self.transport.is_closing():
                self._finish()

        def connection_lost(self, exc: Exception | None) -> None:
            self._finish()
            super().connection_lost(exc)

        def _begin(self) -> None:
            if len(unfinished) >= places:
                next(iter(unfinished)).transport.abort()
                unfinished.pop(next(iter(unfinished))).cancel()
            unfinished[self] = self.loop.call_later(head_s, self.transport.abort)

        def _finish(self) -> None:
            timer = unfinished.pop(self, None)
            if timer is not None:
                timer.cancel()

    return Timed
