"""Who decides at a server: a player, or a bot of the game."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from pvp_ml.games.vgc.briefing import Briefing
from pvp_ml.games.vgc.live.viewer import Viewer
from pvp_ml.players import Attending, Player, Timed


class Decides(Protocol):
    """Sits in all rooms at once."""

    def decide(self, news: dict[str, Any]) -> str:
        """The choice, as the server reads it; news: {room, lines, request, limit_s}."""

    def leave(self, room: str) -> None:
        """The battle is over."""


def seat_of(viewer: Viewer, player: Player | str, rng: np.random.Generator) -> Decides:
    """A name means a bot of the game."""
    return BotSeat(viewer, player, rng) if isinstance(player, str) else PlayerSeat(viewer, player, rng)


class PlayerSeat:
    """The player in all rooms that it plays in; a room is a match with a serial of its own."""

    def __init__(self, viewer: Viewer, player: Player, rng: np.random.Generator) -> None:
        self._viewer, self._player, self._rng = viewer, player, rng
        self._serials: dict[str, int] = {}
        self._shown: dict[int, tuple[list[str], dict[str, Any]]] = {}  # serial → all lines so far, what is asked now
        self._count = 0
        if isinstance(player, Attending):
            player.attend(self)

    def decide(self, news: dict[str, Any]) -> str:
        """The choice, as the server reads it."""
        room = news["room"]
        if room not in self._serials:
            self._serials[room], self._count = self._count, self._count + 1
            self._player.begin(np.array([self._serials[room]], np.int64))
        serial = np.array([self._serials[room]], np.int64)
        lines = self._shown.get(self._serials[room], ([], {}))[0] + news["lines"]
        self._shown[self._serials[room]] = lines, news["request"]
        if isinstance(self._player, Timed):
            self._player.allow(news.get("limit_s"))
        seat, obs, mask = self._viewer.look(room, news["lines"], news["request"])
        key = self._rng.integers(0, 1 << 63, 1, np.int64).astype(np.uint64)
        picks = self._player.decide(serial, np.array([seat], np.int32), obs[None], mask[None], key)
        return self._viewer.spell(room, [int(pick) for pick in picks[0]])

    def briefing(self, serial: int, seat: int, start: int) -> Briefing:
        """What the server has shown in that room."""
        lines, request = self._shown[serial]
        return Briefing(self._viewer.format, lines[start:], request, len(lines))

    def leave(self, room: str) -> None:
        """The battle is over."""
        if room in self._serials:
            serial = self._serials.pop(room)
            self._player.end(np.array([serial], np.int64))
            self._shown.pop(serial, None)
            self._viewer.forget(room)


class BotSeat:
    """A bot of the game in all rooms; it remembers nothing."""

    def __init__(self, viewer: Viewer, bot: str, rng: np.random.Generator) -> None:
        self._viewer, self._bot, self._rng = viewer, bot, rng

    def decide(self, news: dict[str, Any]) -> str:
        """The choice, as the server reads it."""
        seed = int(self._rng.integers(0, 1 << 63))
        picks = self._viewer.advise(news["room"], news["lines"], news["request"], self._bot, seed)
        return self._viewer.spell(news["room"], picks)

    def leave(self, room: str) -> None:
        """The battle is over."""
        self._viewer.forget(room)
