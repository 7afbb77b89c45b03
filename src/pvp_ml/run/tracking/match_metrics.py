"""Metrics of finished matches over a window, because a rollout of long matches may finish none."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from pvp_ml.match import TIE, WIN, Live
from pvp_ml.selfplay.collect.active_matches import Outcome
from pvp_ml.selfplay.figures import FigureSums
from pvp_ml.spec import Figure, GameSpec

WINDOW = 400


class MatchMetrics:
    """Means over the last WINDOW matches, from the main trainee's seats."""

    def __init__(self, spec: GameSpec, figures: Sequence[Figure] = (), trainee: str = "main") -> None:
        self._spec = spec
        self._figures = figures
        self._trainee = trainee
        self._recent: deque[Outcome] = deque(maxlen=WINDOW)
        self._voids = 0

    def add(self, outcomes: Iterable[Outcome]) -> dict[str, float]:
        """Take finished matches in; returns the metrics, empty while no match has finished."""
        finished = 0
        for outcome in outcomes:
            finished += 1
            if outcome.fault:
                self._voids += 1
            else:
                self._recent.append(outcome)
        if not self._recent:
            return {}
        seats = [(o, s) for o in self._recent for s, who in enumerate(o.plan.lineup) if who == Live(self._trainee)]
        metrics = {
            "match/finished": float(finished),
            "match/voids": float(self._voids),
            "match/length": float(np.mean([o.steps for o in self._recent])),
            "match/truncated": float(np.mean([o.truncated for o in self._recent])),
        }
        if seats:
            scores = np.array([o.score[s] for o, s in seats])
            metrics["match/reward"] = float(scores.mean())
            metrics["match/reward_size"] = float(np.abs(scores).mean())
            metrics["match/tie_rate"] = float(np.mean([o.result[s] == TIE for o, s in seats]))
            folded = np.mean([o.signals[s] for o, s in seats], axis=0)
            metrics |= {f"signal/{k.name}": float(v) for k, v in zip(self._spec.signals, folded, strict=True)}
            metrics |= {f"figure/{name}": value for name, value in self._figure_values(seats).items()}
        against = [(o, s) for o, s in seats if len(set(o.plan.lineup)) > 1]
        if against:
            metrics["match/win_rate"] = float(np.mean([_points(o.result[s]) for o, s in against]))
        return metrics

    def state(self) -> dict[str, Any]:
        """The window, for a checkpoint: conditions of promotion and early stopping read its means."""
        return {"recent": list(self._recent), "voids": self._voids}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from `state`; matches of a game with other seats or signals are left out."""
        shape = (self._spec.seats, len(self._spec.signals))
        self._recent.extend(o for o in state.get("recent", ()) if np.shape(o.signals) == shape)
        self._voids = int(state.get("voids", 0))

    def _figure_values(self, seats: Sequence[tuple[Outcome, int]]) -> dict[str, float]:
        sums = FigureSums(self._spec, self._figures, sides=1)
        if self._figures:
            sums.add(0, np.array([o.signals[s] for o, s in seats]), np.array([o.result[s] for o, s in seats]))
        return sums.values(0)


def _points(result: int) -> float:
    return 1.0 if result == WIN else 0.5 if result == TIE else 0.0
