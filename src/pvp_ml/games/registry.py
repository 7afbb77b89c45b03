"""Finding games by name. A third-party package adds one through the entry-point group `pvp_ml.games`."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from pvp_ml.errors import UserError
from pvp_ml.match import AsyncVecGame, VecGame
from pvp_ml.spec import GameSpec

GROUP = "pvp_ml.games"

Status = Literal["thoroughly tested", "tested", "experimental"]


class GameConfig(BaseModel):
    """Settings of a game; a game subclasses it. Frozen, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True, slots=True)
class GameType:
    """What an entry point gives: how to describe and to build a game. Creating one must import nothing heavy.

    `build(config, matches)` returns a VecGame, or an AsyncVecGame when the rules run in other processes. `setup`
    fetches what the game needs from outside (a simulator, meshes) and reports progress through its argument.
    """

    name: str
    title: str
    config: type[GameConfig]
    spec: Callable[[Any], GameSpec]
    build: Callable[[Any, int], VecGame | AsyncVecGame]
    aliases: tuple[str, ...] = ()
    status: Status = "experimental"
    setup: Callable[[Callable[[str], None]], None] | None = None
    asynchronous: bool = False


@cache
def _entries() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def names() -> list[str]:
    """Registered names, aliases included, sorted."""
    return sorted(_entries())


def find(name: str) -> GameType:
    """The game of that name or alias; an alias is an entry point of its own, so that only one module is imported."""
    entry = _entries().get(name)
    if entry is None:
        close = difflib.get_close_matches(name, names(), 1)
        hint = f"did you mean '{close[0]}'?" if close else f"known games: {', '.join(names())}"
        raise UserError(f"there is no game '{name}'", f"{hint} (`pvp-ml game list`)")
    game = entry.load()
    if not isinstance(game, GameType):
        raise UserError(f"entry point '{name}' = {entry.value} gives {type(game).__name__}", "it must give a GameType")
    return game
