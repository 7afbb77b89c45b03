"""A fight in words, tick by tick, for a player of the game."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pvp_ml.games.osrs.game import OsrsGame
from pvp_ml.games.osrs.remote.words import tell_signals
from pvp_ml.games.osrs.show import view
from pvp_ml.match import LOSS, WIN, StepBuffers, VecGame

NAMES = ("A", "B")


def narrate(steps: Iterable[tuple[VecGame, StepBuffers]]) -> Iterator[str]:
    """One line for the start, one a tick, one for the end."""
    before = None
    for game, out in steps:
        if not isinstance(game, OsrsGame):
            yield tell_signals(out)
            if out.ended[0] or out.truncated[0] or out.faults[0]:
                yield "void" if out.faults[0] else verdict(out, NAMES)
            continue
        rows, match = game.fighters[0], game.state[0]
        if before is None:
            description = view.describe(rows, match)
            yield f"{game.spec.name}, {description['fight_type']}, both {description['fighters'][0]['build']}"
        else:
            yield view.tell_tick(before, rows, match, NAMES)
        before = rows.copy()
        if out.ended[0] or out.truncated[0]:
            yield verdict(out, NAMES)


def verdict(out: StepBuffers, names: Sequence[str]) -> str:
    """How it ended."""
    if out.truncated[0]:
        return "time is up: no winner"
    if out.result[0, 0] == WIN:
        return f"{names[0]} wins"
    return f"{names[1]} wins" if out.result[0, 0] == LOSS else "both fall: a tie"
