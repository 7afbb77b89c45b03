"""The arenas of a site: one for each game that somebody has asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from pvp_ml.games import registry
from pvp_ml.web.arena import Arena, ArenaConfig
from pvp_ml.web.room import Clock


class Arenas:
    """Made when first needed; `get` may take seconds then, because fast code is compiled. Safe to call from threads."""

    def __init__(
        self, working_directory: Path, clock: Clock, folder: Path | None = None, chosen: Iterable[ArenaConfig] = ()
    ) -> None:
        """`chosen` are arenas with settings of their own; `folder` keeps the matches of all others."""
        self.working_directory, self.folder = working_directory, folder
        self.watch_key: Callable[[str], str] = lambda room: ""
        self._clock = clock
        self._chosen = {registry.find(config.game).name: config for config in chosen}
        self._made: dict[str, Arena] = {}
        self._lock = threading.Lock()

    def get(self, game: str) -> Arena:
        """The arena of that game; UserError where it cannot be played here."""
        name = registry.find(game).name
        with self._lock:
            if name not in self._made:
                config = self._chosen.get(name) or ArenaConfig(name, folder=self.folder)
                arena = Arena(config, self.working_directory, self._clock)
                arena.warm_up()
                arena.watch_key = self.watch_key
                self._made[name] = arena
            return self._made[name]

    def made(self) -> list[Arena]:
        """Those that there are so far."""
        return list(self._made.values())
