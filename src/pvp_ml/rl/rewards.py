"""From a game's named, unweighted terms to the one number a seat learns from. Happens once, after the game.

Shape letters as in `spec`; rewards are per step and seat.
"""

from __future__ import annotations

import difflib
from typing import Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from pvp_ml.errors import UserError
from pvp_ml.match import FloatArray
from pvp_ml.rl.schedule.expression import Expression
from pvp_ml.rl.schedule.schedule import START, Constant, Progress, Schedule, Within
from pvp_ml.spec import GameSpec


class ExpressionTerm(BaseModel):
    """A reward term of one's own: arithmetic over the game's signals and terms (a signal wins where names clash)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    expression: Expression = Field(description="arithmetic over signal and term names")
    weight: Schedule = Field(Constant(1.0), description="its weight")


class RewardConfig(BaseModel):
    """How terms are weighed and shared."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    weights: dict[str, Schedule] = Field({}, description="term → weight; empty = 1 for `win` (or for all terms)")
    expressions: dict[str, ExpressionTerm] = Field({}, description="name → own term over signals and terms")
    team_spirit: Annotated[Schedule, Within(0.0, 1.0)] = Field(
        Constant(0.0), description="share of a seat's reward that is replaced by its team's mean"
    )
    zero_sum: Annotated[Schedule, Within(0.0, 1.0)] = Field(
        Constant(0.0), description="share of the opponents' mean reward to subtract"
    )
    clip: Annotated[float, Field(gt=0)] | None = Field(None, description="limit of a step's reward; empty = none")


class RewardMixer:
    """Weights at one moment of a run, applied to arrays."""

    def __init__(self, spec: GameSpec, config: RewardConfig) -> None:
        self._terms = [term.name for term in spec.rewards]
        self._signals = {signal.name: k for k, signal in enumerate(spec.signals)}
        self._config = config
        self._teams = spec.teams
        for name in config.weights:
            _known(name, self._terms, f"game '{spec.name}' has no reward term '{name}'")
        for own in config.expressions.values():
            for name in own.expression.names:
                _known(name, [*self._signals, *self._terms], f"game '{spec.name}' has no signal or term '{name}'")
        self.set(START)

    def set(self, progress: Progress) -> None:
        """Read the schedules."""
        config = self._config
        weights = config.weights
        if weights:
            values = [weights[name].at(progress) if name in weights else 0.0 for name in self._terms]
        else:
            values = [float(name == "win" or "win" not in self._terms) for name in self._terms]
        self.weights: FloatArray = np.array(values, np.float32)
        self._own = [(t.expression, t.weight.at(progress)) for t in config.expressions.values()]
        self._share = self._sharing(config.team_spirit.at(progress), config.zero_sum.at(progress))

    def mix(self, terms: FloatArray, signals: FloatArray, out: FloatArray) -> None:
        """Terms [M,S,R] and signals [M,S,K] → out [M,S]."""
        np.dot(terms, self.weights, out=out)
        for expression, weight in self._own:
            values = {n: self._column(n, terms, signals).astype(np.float64) for n in expression.names}
            out += weight * expression.evaluate(values)
        if self._config.clip is not None:
            np.clip(out, -self._config.clip, self._config.clip, out=out)
        if self._share is not None:
            out[:] = out @ self._share

    def _column(self, name: str, terms: FloatArray, signals: FloatArray) -> FloatArray:
        """[M,S] of one signal or term."""
        if name in self._signals:
            return signals[:, :, self._signals[name]]
        return terms[:, :, self._terms.index(name)]

    def _sharing(self, spirit: float, zero_sum: float) -> FloatArray | None:
        """[S,S] matrix that mixes seats, or None when each keeps its own."""
        if spirit == 0.0 and zero_sum == 0.0:
            return None
        seats = sum(len(team) for team in self._teams)
        matrix = np.eye(seats) * (1.0 - spirit)
        for team in self._teams:
            others = [seat for other in self._teams if other != team for seat in other]
            for seat in team:
                matrix[list(team), seat] += spirit / len(team)
                if others:
                    matrix[others, seat] -= zero_sum / len(others)
        return matrix.astype(np.float32)


def _known(name: str, known: list[str], message: str) -> None:
    if name not in known:
        close = difflib.get_close_matches(name, known, 1)
        raise UserError(message, f"did you mean '{close[0]}'?" if close else f"known: {', '.join(known) or 'none'}")
