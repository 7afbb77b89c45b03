"""What a replayed fight is compared in: observations, masks, signals and state of both sides, tick by tick."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

import numpy as np

from pvp_ml.games.osrs import items as I
from pvp_ml.games.osrs import state as S
from pvp_ml.games.osrs.conformance.read import Fight
from pvp_ml.games.osrs.conformance.replay import Replay
from pvp_ml.games.osrs.conformance.tables import TIMERS, Sample
from pvp_ml.games.osrs.kernels import observe as observe_kernels
from pvp_ml.games.osrs.signals import SIGNALS

TOLERANCE = 1.5e-6
"""Recorded numbers are rounded to six decimals."""

TIMER_COLUMNS = (S.T_ATTACK, S.T_FOOD, S.T_POTION, S.T_KARAMBWAN, S.T_FREEZE, S.T_IMMUNE, S.T_VENG)
"""State columns of the first seven recorded timers."""

UNLIKE_META = ("damageReceived", "episodeTicks")
"""Meta that our signals tell otherwise on purpose: the truth instead of 0, and ticks counted from 1."""
SIGNAL_COLUMN = {signal.name: column for column, signal in enumerate(SIGNALS)}

Names = tuple[list[str], list[str]]  # of observations and of mask bits
Fields = list[tuple[str, float, float]]  # name, recorded, replayed


@dataclass(slots=True)
class Difference:
    """The fields that differ in one tick of a fight, with both values of each."""

    tick: int
    seat: int
    fields: Fields


@dataclass(slots=True)
class FightReport:
    """What the replay of one fight compared and found."""

    place: str
    build: str
    ticks: int = 0
    obs_rows: int = 0  # observation rows compared, both seats, the terminal reply included
    mask_rows: int = 0
    samples: int = 0  # state rows compared
    differences: list[Difference] = field(default_factory=list)

    @property
    def is_equal(self) -> bool:
        """No difference to the end."""
        return not self.differences


def compare_row(game: Replay, seat: int, tick: int, names: Names) -> Fields:
    """Observations and masks of the reply of that tick."""
    side, row = game.fight.sides[seat], game.rows[seat][tick]
    found = [
        (names[0][i], float(side.obs[row, i]), float(game.obs[seat, i]))
        for i in np.flatnonzero(np.abs(side.obs[row] - game.obs[seat]) > TOLERANCE)
    ]
    found += [
        (names[1][i], float(side.mask[row, i]), float(game.mask[seat, i]))
        for i in np.flatnonzero(side.mask[row] != game.mask[seat])
    ]
    return found


def compare_signals(game: Replay, seat: int, tick: int) -> Fields:
    """Our signals against the recorded meta fields of the reply of that tick."""
    found = []
    for name, recorded in game.fight.sides[seat].meta[game.rows[seat][tick]].items():
        column = SIGNAL_COLUMN.get(snake_case(name), -1)
        if column >= 0 and name not in UNLIKE_META and abs(game.signals[seat, column] - recorded) > TOLERANCE:
            found.append((f"meta {name}", recorded, float(game.signals[seat, column])))
    return found


@cache
def snake_case(name: str) -> str:
    """Our spelling of a meta field: hitWithSmite → hit_with_smite."""
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name)


def compare_sample(game: Replay, seat: int, sample: Sample) -> Fields:
    """Place, levels, prayers, gear, inventory, energy, timers and pending damage at the end of that tick."""
    me, tick = game.fighters[seat], int(game.match[S.TICK])
    pairs = [("x", sample.x, me[S.X]), ("y", sample.y, me[S.Y])]
    for k, skill in enumerate(S.SKILLS):
        if skill != "prayer" or game.fight.kind != "LMS":  # sampled before LMS refills it
            pairs.append((f"level {skill}", sample.levels[k], me[S.LEVEL + k]))
    pairs += [("prayers", sample.prayers, me[S.PRAYERS]), ("energy", sample.energy, me[S.ENERGY])]
    pairs += [("vengeance", sample.vengeance, me[S.VENGEANCE]), ("special on", sample.special_on, me[S.SPEC_ON])]
    pairs += [(f"worn {I.SLOT_NAMES[k]}", sample.worn[k], me[S.WORN + k]) for k in range(S.SLOTS)]
    pairs += [(f"inventory slot {k}", sample.inventory[k], me[S.INV + k]) for k in range(S.INVENTORY_SIZE)]
    for k, column in enumerate(TIMER_COLUMNS):
        pairs.append((f"timer {TIMERS[k]}", max(0, sample.timers[k]), max(0, int(me[column]) - tick)))
    pairs.append(("pending damage", sample.pending, observe_kernels.pending_damage(me)))
    return [(name, float(a), float(b)) for name, a, b in pairs if a != b]


def replay(fight: Fight, names: Names, stop_early: bool = False) -> FightReport:
    """Play a recorded fight again and compare every tick to the end; `stop_early` ends at the first difference."""
    game = Replay(fight)
    report = FightReport(fight.place, fight.build)
    game.start()
    for tick in range(game.first, game.last + 1):
        if tick > game.first:
            game.play(tick)
        game.observe()
        if game.fighters[:, S.DYING].any():
            compare_terminal(game, report, names)
            game.refresh_health()
        compare_tick(game, tick, report, names)
        if stop_early and report.differences:
            break
    return report


def compare_tick(game: Replay, tick: int, report: FightReport, names: Names) -> None:
    """Both sides' replies and samples of one tick."""
    report.ticks += 1
    for seat, side in enumerate(game.fight.sides):
        found: Fields = []
        if tick in game.rows[seat]:
            found += compare_row(game, seat, tick, names)
            if tick > game.first:
                found += compare_signals(game, seat, tick)
            report.obs_rows += 1
            report.mask_rows += 1
        found += compare_sample(game, seat, side.samples[tick])
        report.samples += 1
        if found:
            report.differences.append(Difference(tick, seat, found))


def compare_terminal(game: Replay, report: FightReport, names: Names) -> None:
    """The reply after the death carries the observation of the death tick; its masks belong to a later tick."""
    for seat, side in enumerate(game.fight.sides):
        wrong = np.flatnonzero(np.abs(side.obs[-1] - game.obs[seat]) > TOLERANCE)
        report.obs_rows += 1
        if wrong.size:
            fields = [("final " + names[0][i], float(side.obs[-1, i]), float(game.obs[seat, i])) for i in wrong]
            report.differences.append(Difference(int(side.ticks[-1]), seat, fields))
