"""Free play against recorded play: the same builds, gear and rules, random legal actions, our own dice.

Every recorded fight is played many times with new dice. The rank of the recorded value among the played ones (ties
broken by chance) is uniform if both come from the same distribution, whatever the fight's build and gear. So the ranks
of all fights of a build are tested for uniformity (Kolmogorov–Smirnov), one test per quantity and build, and Holm's
correction keeps the chance of any false alarm at the chosen level.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from pvp_ml.games.osrs import state as S
from pvp_ml.games.osrs.conformance.read import Fight, Side
from pvp_ml.games.osrs.conformance.replay import config_of
from pvp_ml.games.osrs.game import template
from pvp_ml.games.osrs.kernels import reset as reset_kernels
from pvp_ml.games.osrs.kernels.dice import keys_of
from pvp_ml.games.osrs.kernels.free_play import ATTACKS, DAMAGE, DAMAGING, FREEZES, TALLY, TICKS, play_fight
from pvp_ml.games.osrs.kernels.gear import string_hash

LEVEL = 0.01
LEAST_FIGHTS = 6
"""Fewer recorded fights of a build than this say nothing about a distribution."""
STYLE_NAMES = ("melee", "ranged", "magic")
QUANTITIES = (
    "length",
    *(f"{style} {what}" for style in STYLE_NAMES for what in ("hit rate", "damage per attack")),
    "freezes per magic attack",
)


def quantities_of(tally: npt.NDArray[np.float64]) -> dict[str, float]:
    """What is compared, from a tally; rates of attacks that never happened are left out."""
    out = {"length": float(tally[TICKS])}
    for s, style in enumerate(STYLE_NAMES):
        if tally[ATTACKS + s] > 0:
            out[f"{style} hit rate"] = float(tally[DAMAGING + s] / tally[ATTACKS + s])
            out[f"{style} damage per attack"] = float(tally[DAMAGE + s] / tally[ATTACKS + s])
    if tally[ATTACKS + S.MAGE] > 0:
        out["freezes per magic attack"] = float(tally[FREEZES] / tally[ATTACKS + S.MAGE])
    return out


def recorded_tally(fight: Fight) -> npt.NDArray[np.float64]:
    """The tally of a recorded fight, from its attacks and freeze timers."""
    tally = np.zeros(TALLY)
    first = max(min(side.samples) for side in fight.sides)
    last = min(int(side.ticks[-1]) for side in fight.sides) - 1
    tally[TICKS] = last - first
    for side in fight.sides:
        for hits in side.hits.values():
            style, damage = hits[-1].style, sum(sum(hit.parts) for hit in hits)
            tally[ATTACKS + style] += 1
            tally[DAMAGE + style] += damage
            tally[DAMAGING + style] += damage > 0
        tally[FREEZES] += freezes_of(side)
    return tally


def freezes_of(side: Side) -> int:
    """How often the freeze timer of a recorded side went up."""
    timers = [sample.timers[4] for _, sample in sorted(side.samples.items())]
    return sum(now > max(0, before) for before, now in pairwise(timers))


def play_again(fight: Fight, times: int, rng: np.random.Generator) -> list[dict[str, float]]:
    """The quantities of `times` fresh fights with the recorded fight's settings and gear."""
    dharok = fight.env == "DharokEnv"
    fighters, match = np.zeros((2, S.FIGHTER_SIZE), np.int32), np.zeros(S.MATCH_SIZE, np.int32)
    drained, frozen = np.zeros(2), np.zeros(2, np.int64)
    actions = np.zeros((2, 6 if dharok else 12), np.int32)
    dice, hit = np.zeros((0, 0), np.int32), np.zeros(S.HIT_SIZE, np.int32)
    obs = np.zeros(40 if dharok else 176, np.float32)
    mask = np.zeros(17 if dharok else 45, np.bool_)
    settings = template(config_of(fight), {}, dharok)
    randomized = bool(fight.params.get("randomizeGear", False))
    build, bots = S.BUILDS.index(fight.build), np.zeros(2, np.int32)
    out = []
    for seed in rng.integers(0, 1 << 62, times):
        key0, key1 = keys_of(int(seed))
        reset_kernels.start_match(fighters, match, drained, settings, key0, key1, bots)
        for seat, side in enumerate(fight.sides):
            reset_kernels.wear_loadout(fighters[seat], build, string_hash(side.episode), randomized)
        tally = np.zeros(TALLY)
        play_fight(fighters, match, drained, obs, mask, actions, dice, hit, frozen, tally, dharok)
        out.append(quantities_of(tally))
    return out


# --- tests -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PlayTest:
    """One quantity of one build: the test that recorded play is distributed like ours."""

    build: str
    quantity: str
    fights: int
    recorded_mean: float
    played_mean: float
    p_value: float
    rejected: bool = False


@dataclass(frozen=True, slots=True)
class PlayReport:
    """All tests, at one level for all of them together; each recorded fight was played `times` times."""

    times: int
    level: float
    tests: tuple[PlayTest, ...]

    @property
    def rejected(self) -> tuple[PlayTest, ...]:
        """Quantities that differ."""
        return tuple(test for test in self.tests if test.rejected)


def uniformity(ranks: npt.NDArray[np.float64]) -> float:
    """p-value of the Kolmogorov–Smirnov test that these numbers are uniform on [0, 1]."""
    n = len(ranks)
    ordered = np.sort(ranks)
    grid = np.arange(1, n + 1) / n
    gap = max(float((grid - ordered).max()), float((ordered - grid + 1 / n).max()))
    scaled = gap * (np.sqrt(n) + 0.12 + 0.11 / np.sqrt(n))
    k = np.arange(1, 101)
    return float(np.clip(2 * np.sum((-1.0) ** (k - 1) * np.exp(-2 * (k * scaled) ** 2)), 0, 1))


def holm(p_values: list[float], level: float) -> list[bool]:
    """Which hypotheses fall at a family-wise level, by Holm's step-down procedure."""
    out = [False] * len(p_values)
    for rank, index in enumerate(np.argsort(p_values)):
        if p_values[index] > level / (len(p_values) - rank):
            break
        out[int(index)] = True
    return out


class Ranks:
    """Where recorded fights lie among freshly played ones, gathered fight by fight."""

    def __init__(self, times: int, rng: np.random.Generator) -> None:
        self.times, self.rng = times, rng
        self.entries: dict[tuple[str, str], list[tuple[float, float, float]]] = {}  # rank, recorded, mean played

    def add(self, fight: Fight) -> None:
        """Play the fight with new dice and rank its recorded quantities."""
        played = play_again(fight, self.times, self.rng)
        for name, value in quantities_of(recorded_tally(fight)).items():
            values = np.array([quantity[name] for quantity in played if name in quantity])
            if len(values) < self.times // 2:
                continue
            below_it, equal = int((values < value).sum()), int((values == value).sum())
            rank = (below_it + self.rng.random() * (equal + 1)) / (len(values) + 1)
            self.entries.setdefault((fight.build, name), []).append((rank, value, float(values.mean())))

    def report(self, level: float = LEVEL) -> PlayReport:
        """Test each quantity of each build that has enough fights."""
        keys = [key for key, entries in sorted(self.entries.items()) if len(entries) >= LEAST_FIGHTS]
        tables = [np.array(self.entries[key]) for key in keys]
        p_values = [uniformity(table[:, 0]) for table in tables]
        tests = [
            PlayTest(*key, len(table), float(table[:, 1].mean()), float(table[:, 2].mean()), p, falls)
            for key, table, p, falls in zip(keys, tables, p_values, holm(p_values, level), strict=True)
        ]
        return PlayReport(self.times, level, tuple(tests))
