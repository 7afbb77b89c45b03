"""What an evaluation counts: points by scenario, team and tag, signals, choices and figures of both contestants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pvp_ml.games.play import Table
from pvp_ml.match import AsyncVecGame, MatchPlan, VecGame
from pvp_ml.selfplay.courses import Courses
from pvp_ml.selfplay.figures import FigureSums
from pvp_ml.selfplay.tally import Evaluation, SignalFolds, Tally
from pvp_ml.spec import Figure, GameSpec

FIRST, SECOND = 0, 1


def seatings(spec: GameSpec) -> int:
    """Matches in a round: one for every team that the first contestant can be; teams of unequal size stay."""
    return len(spec.teams) if len({len(team) for team in spec.teams}) == 1 else 1


@dataclass(slots=True)
class _Sums:
    """Per contestant: folded signals summed over seats and matches, and choices counted."""

    signals: npt.NDArray[np.float64]  # [2,K]
    seats: npt.NDArray[np.int64]  # [2]
    choices: npt.NDArray[np.int64]  # [2,A]


class Count:
    """What has been counted of the matches that are played."""

    def __init__(self, game: VecGame | AsyncVecGame, planned: int, may_repeat: bool, figures: Sequence[Figure]) -> None:
        """`may_repeat`: neither side draws, so equal matches can be played again and again."""
        spec, rows = game.spec, game.matches
        self._spec = spec
        self._figures = tuple(figures)
        self._figure_sums: dict[str, FigureSums] = {}
        self._folds = SignalFolds(spec, rows)
        self._courses = Courses(rows, spec.seats, spec.obs_size)
        self._order = np.zeros((rows, spec.seats), np.intp)  # seats, the first contestant's before the second's
        self._may_repeat = may_repeat
        self._total = self._tally("all")
        self._scenario: dict[str, Tally] = {}
        self._tagged: dict[tuple[str, str], Tally] = {}
        self._tags: Callable[[MatchPlan, int], dict[str, str]] = getattr(game, "tags", lambda plan, seat: {})
        self._team = {t: self._tally(f"as team {t}") for t in range(len(spec.teams))}
        offsets = np.concatenate([[0], np.cumsum(spec.head_sizes)])[:-1]
        self._offsets = offsets.astype(np.int64)
        k, a = len(spec.signals), spec.mask_size
        self._sums = _Sums(np.zeros((2, k)), np.zeros(2, np.int64), np.zeros((2, a), np.int64))
        self.unfinished = planned

    def _tally(self, label: str) -> Tally:
        return Tally(label, may_repeat=self._may_repeat)

    def decided(self, table: Table) -> None:
        """Count what was just decided."""
        n = len(table.rows)
        self._courses.add(table.rows, table.out.obs[:n], self._order[table.rows])
        for side in (FIRST, SECOND):
            picked = table.actions[:n][table.out.acting[:n] & table.held_by(str(side))]
            np.add.at(self._sums.choices[side], (picked + self._offsets)[picked >= 0], 1)

    def settle(self, table: Table) -> None:
        """Count the last step, and the matches that it stopped."""
        n, rows, stepped = len(table.rows), table.rows, table.steps > 0
        self._folds.add(rows[stepped], table.out.signals[:n][stepped], table.steps[stepped] == 1)
        for i, plan in table.plans_over.items():
            self._count(int(rows[i]), i, table, plan)
        self._courses.begin(table.begun)
        for row in table.begun.tolist():
            begun = table.plan(row)
            if begun is not None:
                self._order[row] = np.argsort(self._sides(begun), kind="stable")

    def _count(self, row: int, i: int, table: Table, plan: MatchPlan) -> None:
        out, steps = table.out, int(table.steps[i])
        side = self._sides(plan)
        team = self._spec.team_of(side.index(FIRST))
        scenario = self._scenario.setdefault(plan.scenario, self._tally(plan.scenario))
        self.unfinished -= 1
        tagged = [
            self._tagged.setdefault((kind, name), self._tally(f"{kind} {name}"))
            for kind, name in self._tags(plan, side.index(FIRST)).items()
        ]
        for tally in (self._total, scenario, self._team[team], *tagged):
            tally.steps += steps
            if out.faults[i]:
                tally.voids += 1
                continue
            tally.truncated += int(out.truncated[i])
            tally.courses.add(self._courses.of(row))
            points = _compare(side, out.result[i].tolist())
            tally.wins += points > 0
            tally.ties += points == 0
            tally.losses += points < 0
        if not out.faults[i]:
            folded = self._folds.of(row, steps)
            for seat, owner in enumerate(side):
                self._sums.signals[owner] += folded[seat]
                self._sums.seats[owner] += 1
                if self._figures:
                    self._add_figures(owner, plan.scenario, folded[seat : seat + 1], out.result[i, seat : seat + 1])

    def _add_figures(
        self, owner: int, scenario: str, signals: npt.NDArray[np.float32], result: npt.NDArray[np.integer]
    ) -> None:
        for label in (self._total.label, scenario):
            if label not in self._figure_sums:
                self._figure_sums[label] = FigureSums(self._spec, self._figures)
            self._figure_sums[label].add(owner, signals, result)

    def _sides(self, plan: MatchPlan) -> list[int]:
        """Seat → contestant, bots included: seatings follow each other serial by serial."""
        turn = plan.serial % seatings(self._spec)
        return [
            FIRST if (self._spec.team_of(seat) + turn) % len(self._spec.teams) == 0 else SECOND
            for seat in range(self._spec.seats)
        ]

    def report(self, first: str, second: str, seed: int, scenarios: Sequence[str]) -> Evaluation:
        """Everything that was counted."""
        spec, sums = self._spec, self._sums
        with np.errstate(invalid="ignore"):
            means = sums.signals / sums.seats[:, None]
            totals = [sums.choices[:, o : o + n].sum(1, keepdims=True) for o, n in self._columns()]
            shares = [
                sums.choices[:, o : o + n] / np.maximum(t, 1) for (o, n), t in zip(self._columns(), totals, strict=True)
            ]
        choices = {
            head.name: {c: (float(share[0, i]), float(share[1, i])) for i, c in enumerate(head.choices)}
            for head, share in zip(spec.heads, shares, strict=True)
        }
        return Evaluation(
            game=spec.name,
            first=first,
            second=second,
            seed=seed,
            total=self._total,
            by_scenario=tuple(self._scenario[name] for name in scenarios if name in self._scenario),
            by_team=tuple(tally for tally in self._team.values() if tally.matches + tally.voids),
            by_tag=tuple(self._tagged[key] for key in sorted(self._tagged)),
            signals=tuple((s, float(means[0, k]), float(means[1, k])) for k, s in enumerate(spec.signals)),
            choices=choices,
            figures=self._figures,
            figure_values={
                label: (sums.values(FIRST), sums.values(SECOND)) for label, sums in self._figure_sums.items()
            },
            figure_intervals={label: self._within(label, sums) for label, sums in self._figure_sums.items()},
        )

    def _within(self, label: str, sums: FigureSums) -> tuple[dict[str, tuple[float, float]], ...]:
        tally = self._total if label == self._total.label else self._scenario[label]
        return tuple(sums.intervals(side, tally.trials / max(1, tally.matches)) for side in (FIRST, SECOND))

    def _columns(self) -> list[tuple[int, int]]:
        return list(zip(self._offsets.tolist(), self._spec.head_sizes, strict=True))


def _compare(side: list[int], result: list[int]) -> int:
    """Sign of first's best result minus second's: two winners (both died) tie; alone, one's own result counts."""
    first = max(r for r, owner in zip(result, side, strict=True) if owner == FIRST)
    second = [r for r, owner in zip(result, side, strict=True) if owner == SECOND]
    return (first > max(second)) - (first < max(second)) if second else first
