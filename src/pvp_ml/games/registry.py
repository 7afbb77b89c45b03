"""Finding games by name. A third-party package adds one through the entry-point group `pvp_ml.games`."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from pvp_ml.errors import UserError
from pvp_ml.games.adapters.synchronous import in_step
from pvp_ml.games.presentation import Presentation
from pvp_ml.games.tooling import Tooling
from pvp_ml.match import AsyncVecGame, VecGame
from pvp_ml.players import Player
from pvp_ml.spec import GameSpec

GROUP = "pvp_ml.games"

DEFAULT_GAME = "connect4"
"""The game that commands take which need any game: quick, and there without extras."""

DEMO_GAME = "nh"
"""The game that newcomers are shown, and that a server is measured with."""

Status = Literal["thoroughly tested", "tested", "experimental"]
Ability = TypeVar("Ability")


class GameConfig(BaseModel):
    """Settings of a game; a game subclasses it. Frozen, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @property
    def shared_server(self) -> str:
        """Address of a server that every process of a run would use, and that may wait for all of them; empty = none.

        A run on one has a single shard unless told otherwise, and leaves it while evaluations are played there.
        """
        return ""


def here(config: GameConfig) -> bool:
    """For `GameType.runs_elsewhere`: the rules always run in this process."""
    return False


def elsewhere(config: GameConfig) -> bool:
    """For `GameType.runs_elsewhere`: the rules always run in other processes."""
    return True


@dataclass(frozen=True, slots=True)
class GameType:
    """What an entry point gives: how to describe and to build a game. Creating one must import nothing heavy.

    `build(config, matches)` returns a VecGame, or an AsyncVecGame where `runs_elsewhere(config)` says that the rules
    run in other processes.

    `reproducible`: the same plan and actions give the same match bit for bit; a game on somebody else's physics may say
    no, and is then excused from that check and from exact resume. `symmetric`: no seat has an advantage and all seats
    see alike, over many seeds. `cuts_idle`: it truncates a match in which nothing happens before the step cap is
    reached. Settings of a game that `imports_by_name` can name code to import, so no file may choose them.
    `self_contained(config)`: these settings name nothing outside the game, no server, command, file or folder; only so
    may a page or a replay file choose them. By default: unless it runs elsewhere. `file_settings` take the name of a
    file and keep what is in it (`{…}`); in a replay's settings they must hold that already.

    `presentation` and `tooling` hold what is optional: how people see it, and what it adds to the commands.
    """

    name: str
    title: str
    config: type[GameConfig]
    spec: Callable[[Any], GameSpec]
    build: Callable[[Any, int], VecGame | AsyncVecGame]
    aliases: tuple[str, ...] = ()
    status: Status = "experimental"
    runs_elsewhere: Callable[[Any], bool] = here
    reproducible: bool = True
    symmetric: bool = False
    cuts_idle: bool = False
    imports_by_name: bool = False
    self_contained: Callable[[Any], bool] | None = None
    file_settings: tuple[str, ...] = ()
    presentation: Presentation = field(default_factory=Presentation)
    tooling: Tooling = field(default_factory=Tooling)


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
        close = difflib.get_close_matches(name[:80], names(), 1)
        hint = f"did you mean '{close[0]}'?" if close else f"known games: {', '.join(names())}"
        raise UserError(f"there is no game '{name[:80]}'", f"{hint} (`pvp-ml game list`)")
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


def every() -> list[GameType]:
    """Each game once, by name; a package that does not load is left out (`pvp-ml game list` shows it)."""
    found: dict[str, GameType] = {}
    for name in names():
        with suppress(UserError):
            game = find(name)
            found.setdefault(game.name, game)
    return [found[name] for name in sorted(found)]


def ability(of: Callable[[Tooling], Ability | None], what: str, name: str = "") -> Ability:
    """What the named game brings along for a command, or the only game that does; `what` says it in errors."""
    named = find(name) if name else None
    if named is not None and (own := of(named.tooling)) is not None:
        return own
    able = {game.name: found for game in every() if (found := of(game.tooling)) is not None}
    known = f"choose from: {', '.join(able)}" if able else "no installed game has it"
    if named is not None:
        raise UserError(f"game '{named.name}' has no {what}", known)
    if len(able) != 1:
        raise UserError(f"which game's {what}?", f"name one with --game, {known}" if able else known)
    return next(iter(able.values()))


def scheme_player(name: str, game: str) -> Callable[[GameSpec], Player] | None:
    """How to make the player that `SCHEME:REST` names, where the game has that scheme; None otherwise."""
    scheme, colon, rest = name.partition(":")
    if not colon or game not in _entries():
        return None
    make = dict(find(game).tooling.player_schemes).get(scheme)
    return None if make is None else lambda spec: make(rest, spec)


def build_here(kind: GameType, config: GameConfig, matches: int) -> VecGame:
    """The game in this process; one that runs elsewhere is refused."""
    refusal = UserError(f"game '{kind.name}' runs in other processes", "this works with games that run here")
    if kind.runs_elsewhere(config):
        raise refusal
    game = kind.build(config, matches)
    if game.runs_elsewhere:
        game.close()
        raise refusal
    return game


def is_self_contained(kind: GameType, config: GameConfig) -> bool:
    """Whether a page or a file may choose these settings; see `GameType.self_contained`."""
    return not kind.runs_elsewhere(config) if kind.self_contained is None else kind.self_contained(config)


def build_for_people(kind: GameType, config: GameConfig) -> VecGame:
    """One match for a page or a replay, step by step; settings that reach outside the game are refused."""
    if not is_self_contained(kind, config):
        raise UserError(f"matches of '{kind.name}' on a server or with files that settings name cannot be shown here")
    return in_step(kind.build(config, 1))


def configure_from_file(game: GameType, settings: Mapping[str, Any]) -> GameConfig:
    """`configure` for settings that a file carries: it may not name another file."""
    for key in game.file_settings:
        if str(settings.get(key) or "{").lstrip()[:1] != "{":
            raise UserError(f"game '{game.name}', setting '{key}' names a file", "a file must hold what it needs")
    return configure(game, settings)


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
