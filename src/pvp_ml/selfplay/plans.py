"""Drawing match plans from a mix of lineups. A plan depends on the run's seed and its serial alone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from pvp_ml.chance import Words, scramble, scrambles
from pvp_ml.match import MatchPlan, Member, Occupant

Stream = Literal["evaluation", "frozen", "exploit", "benchmark", "recording"]
"""What matches are played for besides training."""


@dataclass(frozen=True, slots=True)
class LineupMix:
    """Weighted lineups and weighted scenarios; with `rotate`, teams change places so that none always sits first."""

    lineups: tuple[tuple[float, tuple[Occupant, ...]], ...]
    scenarios: tuple[tuple[float, str], ...] = ((1.0, "default"),)
    rotate: bool = True

    @property
    def members(self) -> set[str]:
        """Hashes of the members that may be met."""
        return members_in(lineup for _, lineup in self.lineups)


def members_in(lineups: Iterable[tuple[Occupant, ...]]) -> set[str]:
    """Hashes of the members that sit in these lineups."""
    return {seat.content_hash for lineup in lineups for seat in lineup if isinstance(seat, Member)}


def stream_seed(stream: Stream, *numbers: int) -> int:
    """A seed below 2⁶³ for these numbers, unrelated to what any other stream makes of them.

    Matches of training have `scramble(run seed, serial)`. Whatever measures or records takes its seeds from here, so
    that it never plays a match that was learned from, even where both begin with the same small number.
    """
    name = int.from_bytes(hashlib.blake2b(stream.encode(), digest_size=8).digest(), "big")
    return scramble(name, *numbers) >> 1


@dataclass(slots=True)
class PlanSource:
    """Plans of training for one shard: of all serials it takes every `shards`-th, beginning with its rank."""

    seed: int
    rank: int
    shards: int
    teams: tuple[tuple[int, ...], ...]
    mix: LineupMix
    drawn: int = 0
    _edges: np.ndarray = field(init=False, repr=False)
    _scenario_edges: np.ndarray = field(init=False, repr=False)
    _seated: list[list[tuple[Occupant, ...]]] = field(init=False, repr=False)  # lineup, turn → who sits where
    _homes: list[int] = field(init=False, repr=False)  # turn → seat

    def __post_init__(self) -> None:
        self.use(self.mix)

    def use(self, mix: LineupMix) -> None:
        """Draw from this mix from now on."""
        self.mix = mix
        self._edges = _edges([weight for weight, _ in mix.lineups])
        self._scenario_edges = _edges([weight for weight, _ in mix.scenarios])
        turns = range(len(self.teams)) if mix.rotate else range(1)
        self._seated = [[seat_teams(self.teams, lineup, turn) for turn in turns] for _, lineup in mix.lineups]
        self._homes = [home_seat(self.teams, turn) for turn in turns]

    def draw(self, count: int) -> list[MatchPlan]:
        """The next plans."""
        serials = self.rank + (self.drawn + np.arange(count)) * self.shards
        self.drawn += count
        seeds = scrambles(self.seed, serials.astype(np.uint64))
        lineups = _picks(self._edges, scrambles(seeds, 1))
        scenarios = _picks(self._scenario_edges, scrambles(seeds, 2))
        turns = scrambles(seeds, 3) % np.uint64(len(self._homes))
        names = [name for _, name in self.mix.scenarios]
        drawn = zip(*(x.tolist() for x in (serials, seeds, lineups, scenarios, turns)), strict=True)
        return [
            MatchPlan(serial, seed, self._seated[lineup][turn], names[scenario], self._homes[turn])
            for serial, seed, lineup, scenario, turn in drawn
        ]


def home_seat(teams: tuple[tuple[int, ...], ...], turn: int) -> int:
    """The first seat of the first player in the lineup, after `seat_teams(…, turn)`."""
    if len({len(team) for team in teams}) > 1:
        return teams[0][0]
    return teams[-turn % len(teams)][0]


def seat_teams(teams: tuple[tuple[int, ...], ...], lineup: tuple[Occupant, ...], turn: int) -> tuple[Occupant, ...]:
    """Let each team take the seats of the team `turn` places on; teams of unequal size stay where they are."""
    if len({len(team) for team in teams}) > 1:
        return lineup
    seated = list(lineup)
    for i, team in enumerate(teams):
        for seat, source in zip(team, teams[(i + turn) % len(teams)], strict=True):
            seated[seat] = lineup[source]
    return tuple(seated)


def _edges(weights: list[float]) -> np.ndarray:
    total = np.cumsum(np.asarray(weights, np.float64))
    if not len(total) or not np.isfinite(total[-1]) or total[-1] <= 0 or min(weights) < 0:
        raise ValueError(f"weights {weights} must not be negative and must not all be 0")
    return np.asarray(total / total[-1])


def _picks(edges: np.ndarray, bits: Words) -> np.ndarray:
    return np.minimum(np.searchsorted(edges, bits / 2.0**64, side="right"), len(edges) - 1)
