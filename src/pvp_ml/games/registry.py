"""Finding games by name. A third-party package adds one through the entry-point group `pvp_ml.games`."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

from pvp_ml.errors import UserError
from pvp_ml.match import AsyncVecGame, StepBuffers, VecGame
from pvp_ml.spec import Figure, GameSpec

GROUP = "pvp_ml.games"

Status = Literal["thoroughly tested", "tested", "experimental"]


class GameConfig(BaseModel):
    """Settings of a game; a game subclasses it. Frozen, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ConformResult(Protocol):
    """How a game agrees with recorded matches of the original."""

    @property
    def passed(self) -> bool:
        """Whether every bar is met."""

    def text(self) -> str:
        """The report for people."""

    def to_json(self) -> dict[str, Any]:
        """The report for programs."""


@dataclass(frozen=True, slots=True)
class GameType:
    """What an entry point gives: how to describe and to build a game. Creating one must import nothing heavy.

    `build(config, matches)` returns a VecGame, or an AsyncVecGame when the rules run in other processes. `setup`
    fetches what the game needs from outside (a simulator, meshes) and reports progress through its argument.

    `reproducible`: the same plan and actions give the same match bit for bit; a game on somebody else's physics may say
    no, and is then excused from that check and from exact resume. `symmetric`: no seat has an advantage and all seats
    see alike, over many seeds. `action_notes(config)` gives lines that `pvp-ml game show NAME --actions` prints above
    the choices. `narrate(steps)` turns the game and its buffers after each step of one match into lines for people; a
    game whose matches cannot be told that way gives `watch(config, first, second, scenario, seed)` instead.
    `asynchronous` games always run elsewhere; `is_remote(config)` says it of one that only may.

    `scene(game, out)` is what a page draws of row 0, what the last step did included, also right after its match
    stopped; a game without it is drawn from its `view`.

    `show(view)` sends a view to a viewer of the game's own, outside this program. `bench_matches` play side by side
    when `pvp-ml bench sim` is not told how many.

    `figures` are what players of it talk about; evaluations and training metrics show them.

    `bench(config, tell)` measures a game that cannot be timed by stepping it here; `conform(folder, free_plays, limit,
    tell)` compares it with recorded matches of the original.
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
    reproducible: bool = True
    symmetric: bool = False
    action_notes: Callable[[Any], list[str]] | None = None
    narrate: Callable[[Iterable[tuple[VecGame, StepBuffers]]], Iterator[str]] | None = None
    watch: Callable[[Any, str, str, str, int], Iterator[str]] | None = None
    scene: Callable[[VecGame, StepBuffers], dict[str, Any]] | None = None
    show: Callable[[dict[str, Any]], None] | None = None
    bench_matches: int = 1024
    bench: Callable[[Any, Callable[[str], None]], dict[str, Any]] | None = None
    conform: Callable[[Path, int, int, Callable[[str], None]], ConformResult] | None = None
    is_remote: Callable[[Any], bool] | None = None
    figures: tuple[Figure, ...] = ()

    def runs_elsewhere(self, config: GameConfig) -> bool:
        """Whether `build` gives an AsyncVecGame under these settings."""
        return self.asynchronous or (self.is_remote is not None and self.is_remote(config))


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
    try:
        game = entry.load()
    except Exception as error:
        # a third-party module may fail in any way; the user must learn which package to repair
        raise UserError(
            f"game '{name}' ({entry.value}) does not load: {error!r}"[:500], "repair its package"
        ) from error
    if not isinstance(game, GameType):
        raise UserError(f"entry point '{name}' = {entry.value} gives {type(game).__name__}", "it must give a GameType")
    return game


def configure(game: GameType, settings: Mapping[str, Any]) -> GameConfig:
    """The game's settings from plain values; unknown keys and wrong values are refused by name."""
    fields = game.config.model_fields
    for key in settings:
        if key not in fields:
            close = difflib.get_close_matches(key, fields, 1)
            known = ", ".join(fields) or "none"
            hint = f"did you mean '{close[0]}'?" if close else f"its settings: {known}"
            raise UserError(f"game '{game.name}' has no setting '{key}'", hint)
    try:
        return game.config.model_validate(dict(settings))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise UserError(
            f"game '{game.name}', setting '{place}': {first['msg']}", f"got {first['input']!r}"[:120]
        ) from None
