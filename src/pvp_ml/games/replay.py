"""A match as a file: its plan and every action, as JSON lines. Played again, it is the same match, step by step.

{"format": 1, "game": "nh", "digest": "…", "config": {…}, "plan": {…}}
[[1, 0, …], [0, 2, …]]        one line a step: seats × heads
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import msgspec
import numpy as np

from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.games.play import Table
from pvp_ml.match import Bot, External, IntArray, MatchPlan, StepBuffers, VecGame

FORMAT = 1
MAX_LINE_BYTES = 65_536
MAX_STEPS = 1_000_000
MAX_NAME = 60


class ReplayError(UserError):
    """A file that is not a replay, or not one that this version plays."""


@dataclass(frozen=True, slots=True)
class Replay:
    """Everything that a match depends on."""

    game: str
    digest: str
    config: dict[str, Any]
    plan: MatchPlan
    actions: tuple[tuple[tuple[int, ...], ...], ...]  # steps × seats × heads
    names: tuple[str, ...] = ()  # who sat where, for people; may be missing


def write_replay(path: Path, replay: Replay) -> None:
    """Write the file at once; an older one is replaced."""
    aside = path.with_name(f"{path.name}.tmp")
    aside.write_text(replay_text(replay), encoding="utf-8")
    aside.replace(path)


def replay_text(replay: Replay) -> str:
    """The file's content."""
    lineup = [o.name if isinstance(o, Bot) else None for o in replay.plan.lineup]
    plan = {
        "serial": replay.plan.serial, "seed": replay.plan.seed, "scenario": replay.plan.scenario, "bots": lineup,
        "home": replay.plan.home,
    }  # fmt: skip
    head = {"format": FORMAT, "game": replay.game, "digest": replay.digest, "config": replay.config, "plan": plan}
    if replay.names:
        head["names"] = list(replay.names)
    lines = [json.dumps(head), *(json.dumps(step, separators=(",", ":")) for step in replay.actions)]
    return "\n".join(lines) + "\n"


def read_replay(path: Path) -> Replay:
    """Read and check a replay; whether its actions are legal shows when it is played."""
    try:
        with path.open("rb") as file:
            return parse_replay(file, str(path))
    except OSError as error:
        raise ReplayError(f"cannot read replay '{path}': {error.strerror}") from None


def parse_replay(file: BinaryIO, path: str) -> Replay:
    """The replay in an open file; `path` is what errors call it."""
    lines = list(_lines(file, path))
    if not lines or not isinstance(lines[0], dict):
        raise ReplayError(f"'{path}' is not a replay", "its first line must be an object")
    try:
        head = msgspec.convert(lines[0], _Head)
        if head.format != FORMAT:
            raise ReplayError(f"replay format {head.format} is not {FORMAT}", "play it with the version that wrote it")
        actions = msgspec.convert(lines[1:], tuple[tuple[tuple[_Pick, ...], ...], ...])
    except msgspec.ValidationError as error:
        raise ReplayError(f"'{path}' is not a replay: {error}") from None
    plan = head.plan
    if plan.seed >= 1 << 64:
        raise ReplayError(f"'{path}' is not a replay: seed {str(plan.seed)[:30]} has more than 64 bits")
    lineup = tuple(Bot(name) if name is not None else External(str(i)) for i, name in enumerate(plan.bots))
    return Replay(
        game=head.game,
        digest=head.digest,
        config=head.config,
        plan=MatchPlan(plan.serial, plan.seed, lineup, plan.scenario, plan.home),
        actions=actions,
        names=tuple(name[:MAX_NAME] for name in head.names[: len(lineup)]),
    )


_Pick = Annotated[int, msgspec.Meta(ge=-(1 << 31), lt=1 << 31)]
_Serial = Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)]


class _Plan(msgspec.Struct, frozen=True):
    """The match as the first line gives it."""

    serial: _Serial
    seed: Annotated[int, msgspec.Meta(ge=0)]
    bots: Annotated[list[str | None], msgspec.Meta(min_length=1, max_length=64)]
    scenario: str
    home: Annotated[int, msgspec.Meta(ge=0, lt=64)] = 0


class _Head(msgspec.Struct, frozen=True):
    """The first line of a replay; whoever wrote it may be a stranger."""

    format: int
    game: str
    digest: str
    config: dict[str, Any]
    plan: _Plan
    names: list[str] = []


def play(replay: Replay) -> Iterator[tuple[VecGame, StepBuffers]]:
    """The game and its buffers after the start and after each step, until the match ends."""
    kind = registry.find(replay.game)
    if kind.imports_by_name or not kind.reproducible:
        raise ReplayError(f"matches of '{replay.game}' cannot be played again from a file")
    config = registry.configure_from_file(kind, replay.config)
    if not registry.is_self_contained(kind, config):  # a file must not name a server, a command or another file
        raise ReplayError(f"matches of '{replay.game}' on a server or with files of its own cannot be played again")
    spec = kind.spec(config)
    if spec.game_digest != replay.digest:
        raise ReplayError(
            f"the replay was recorded with another version or configuration of '{replay.game}'",
            "play it with the version that wrote it",
        )
    game = registry.build_for_people(kind, config)
    try:
        table = Table(game)
        table.queue([replay.plan])
        table.start()
        yield game, table.out
        for step in replay.actions:
            table.actions[:] = _actions(step, spec.seats, len(spec.heads))
            table.step()
            yield game, table.out
            if is_over(table.out):
                return
    finally:
        game.close()


def is_over(out: StepBuffers) -> bool:
    """Whether the match in the first row stopped in this step."""
    return bool(out.ended[0] or out.truncated[0])


def narrate(game: str, steps: Iterable[tuple[VecGame, StepBuffers]]) -> Iterator[str]:
    """Lines for people: the game's own words where it has some, else what changed in its view."""
    own = registry.find(game).presentation.narrate
    if own is not None:
        yield from own(steps)
        return
    before: dict[str, Any] = {}
    for number, (played, out) in enumerate(steps):
        if is_over(out):  # the row is empty by now: only the result is left to report
            how = "ended" if out.ended[0] else "truncated"
            yield f"{number:4d}  {how}, result {out.result[0].tolist()} (1 won, 0 tied, -1 lost)"
            return
        view = played.view(0)
        changed = {key: value for key, value in view.items() if before.get(key) != value and key != "step"}
        yield f"{number:4d}  " + "  ".join(f"{key} {_short(value)}" for key, value in changed.items())
        before = view


def _actions(step: tuple[tuple[int, ...], ...], seats: int, heads: int) -> IntArray:
    if len(step) != seats or any(len(seat) != heads for seat in step):
        raise ReplayError(f"a step of the replay does not have {seats} seats × {heads} heads")
    return np.array([step], np.int32)


def _short(value: Any) -> str:
    if isinstance(value, list) and len(value) > 1 and all(isinstance(line, str) for line in value):
        return "\n" + "\n".join(f"      {line}" for line in value)
    text = json.dumps(value, default=str)
    return text if len(text) <= 200 else f"{text[:197]}…"


def _lines(file: BinaryIO, path: str) -> Iterator[Any]:
    for number in range(MAX_STEPS + 2):
        line = file.readline(MAX_LINE_BYTES + 1)
        if not line:
            return
        if len(line) > MAX_LINE_BYTES or number > MAX_STEPS:
            raise ReplayError(f"replay '{path}' is too long", f"{MAX_STEPS} steps of {MAX_LINE_BYTES} bytes at most")
        try:
            yield json.loads(line)
        except (ValueError, RecursionError):
            raise ReplayError(f"'{path}', line {number + 1}: not JSON") from None
