"""Replay files: a fight as its plan and its actions, JSON lines, played again to be shown or checked.

Line 1 is the head {format, game, settings, game_digest, plan}; every further line is {"a": [[…], […]]}, the actions of
both seats in one tick (an idle or bot seat has −1 everywhere). A match depends on nothing else, so this is all of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pvp_ml.errors import UserError
from pvp_ml.games.osrs import view
from pvp_ml.games.osrs.fights import DHAROK, MOST_TICKS, NH
from pvp_ml.games.osrs.game import OsrsGame
from pvp_ml.games.registry import GameConfig, GameType, configure
from pvp_ml.match import LOSS, WIN, Bot, External, IntArray, MatchPlan, Occupant, StepBuffers
from pvp_ml.strict_json import parse_json

FORMAT = "pvp-ml replay 1"
MAX_LINE_BYTES = 1 << 16
GAMES: dict[str, GameType] = {"nh": NH, "dharok": DHAROK}


class ReplayError(UserError):
    """A file that is not a replay of one of these fights, or does not fit this version's rules."""


@dataclass(frozen=True, slots=True)
class Replay:
    """One fight: game, settings, plan, and actions [T,2,H]."""

    game: str
    config: GameConfig
    plan: MatchPlan
    actions: IntArray
    game_digest: str = ""


def write_replay(replay: Replay) -> str:
    """The replay as the text of a file."""
    kind = GAMES[replay.game]
    head = {
        "format": FORMAT,
        "game": replay.game,
        "settings": replay.config.model_dump(mode="json"),
        "game_digest": kind.spec(replay.config).game_digest,
        "plan": {
            "serial": replay.plan.serial,
            "seed": replay.plan.seed,
            "scenario": replay.plan.scenario,
            "lineup": [_occupant_name(occupant) for occupant in replay.plan.lineup],
        },
    }
    lines = [json.dumps(head)]
    lines += [json.dumps({"a": tick.tolist()}, separators=(",", ":")) for tick in replay.actions]
    return "\n".join(lines) + "\n"


def read_replay(data: bytes) -> Replay:
    """Read a replay file; raises ReplayError with the line of the first mistake."""
    lines = data.splitlines()
    if not lines or len(lines) > MOST_TICKS + 1:
        raise ReplayError(f"a replay has 1 to {MOST_TICKS + 1} lines, this has {len(lines)}")
    head = parse_json(lines[0], "the head of the replay", MAX_LINE_BYTES)
    if head.get("format") != FORMAT or head.get("game") not in GAMES:
        raise ReplayError("this is no replay of an OSRS fight", f"the first line must say format '{FORMAT}'")
    kind = GAMES[head["game"]]
    settings = head.get("settings")
    config = configure(kind, settings if isinstance(settings, dict) else {})
    spec = kind.spec(config)
    shape = (2, len(spec.heads))
    actions = np.zeros((len(lines) - 1, *shape), np.int32)
    for n, line in enumerate(lines[1:]):
        told = parse_json(line, f"line {n + 2} of the replay", MAX_LINE_BYTES).get("a")
        if not _is_table(told, shape):
            raise ReplayError(f"line {n + 2} of the replay: 'a' must be {shape[0]} lists of {shape[1]} whole numbers")
        actions[n] = told
    return Replay(head["game"], config, _read_plan(head.get("plan")), actions, str(head.get("game_digest", "")))


def play_replay(replay: Replay) -> Iterator[tuple[OsrsGame, StepBuffers]]:
    """Play the fight again; gives the game and its buffers after the start and after every tick."""
    kind = GAMES[replay.game]
    spec = kind.spec(replay.config)
    if replay.game_digest and replay.game_digest != spec.game_digest:
        raise ReplayError("the replay was made with other rules", "play it with the version that wrote it")
    game = kind.build(replay.config, 1)
    assert isinstance(game, OsrsGame)
    out = StepBuffers.allocate(spec, 1)
    game.queue([replay.plan])
    game.start(out)
    yield game, out
    for tick in replay.actions:
        game.step(tick[None], out)
        yield game, out
        if out.ended[0] or out.truncated[0]:
            return


def tell_replay(replay: Replay) -> Iterator[str]:
    """The fight in words, tick by tick, for a player of the game."""
    names = ("A", "B")
    before = None
    for game, out in play_replay(replay):
        rows, match = game.fighters[0], game.state[0]
        if before is None:
            told = view.describe(rows, match)
            yield f"{replay.game}, {told['fight_type']}, both {told['fighters'][0]['build']}, seed {replay.plan.seed}"
        else:
            yield view.tell_tick(before, rows, match, names)
        before = rows.copy()
        if out.ended[0] or out.truncated[0]:
            yield _verdict(out, names)


def _verdict(out: StepBuffers, names: Sequence[str]) -> str:
    if out.truncated[0]:
        return "time is up: no winner"
    if out.result[0, 0] == WIN:
        return f"{names[0]} wins"
    return f"{names[1]} wins" if out.result[0, 0] == LOSS else "both fall: a tie"


def _occupant_name(occupant: Occupant) -> dict[str, str]:
    return {"bot": occupant.name} if isinstance(occupant, Bot) else {"player": str(occupant)[:200]}


def _read_plan(told: Any) -> MatchPlan:
    if not isinstance(told, dict) or set(told) != {"serial", "seed", "scenario", "lineup"}:
        raise ReplayError("the replay's plan needs serial, seed, scenario and lineup")
    numbers = isinstance(told["serial"], int) and isinstance(told["seed"], int)
    seats = told["lineup"]
    if not numbers or not isinstance(told["scenario"], str) or not isinstance(seats, list) or len(seats) != 2:
        raise ReplayError("the replay's plan has values of the wrong kind")
    lineup: list[Occupant] = []
    for seat in seats:
        if not isinstance(seat, dict) or len(seat) != 1 or not isinstance(next(iter(seat.values())), str):
            raise ReplayError("a seat of the replay's lineup is {'bot': name} or {'player': name}")
        key, name = next(iter(seat.items()))
        lineup.append(Bot(name) if key == "bot" else External(name))
    return MatchPlan(told["serial"], told["seed"], tuple(lineup), told["scenario"])


def _is_table(value: Any, shape: tuple[int, int]) -> bool:
    if not isinstance(value, list) or len(value) != shape[0]:
        return False
    for row in value:
        if not isinstance(row, list) or len(row) != shape[1]:
            return False
        if any(not isinstance(x, int) or isinstance(x, bool) or not -1 <= x <= 1000 for x in row):
            return False
    return True
