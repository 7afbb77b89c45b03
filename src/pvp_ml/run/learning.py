"""One iteration of a run: all shards collect, then every trainee learns from all shards' rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np

from pvp_ml.cluster.shards import Shards
from pvp_ml.errors import UserError
from pvp_ml.rl.learner import Learner
from pvp_ml.rl.schedule.schedule import Constant, Progress
from pvp_ml.rl.trainee import Trainee
from pvp_ml.run.teachers import load_teacher
from pvp_ml.selfplay.collect.active_matches import Outcome


@dataclass(frozen=True, slots=True)
class Rollouts:
    """What all shards brought back."""

    steps: int  # of matches; agent-steps are `seats` times as many
    outcomes: list[Outcome]
    terms: dict[str, float]  # reward term → mean per agent-step, unweighted
    seconds: dict[str, float]  # simulate, infer, other: summed over shards


class Learning(Learner):
    """The learner of a run, on its shards."""

    def __init__(self, shards: Shards) -> None:
        self.shards = shards
        configs = {t.name: t.ppo for t in shards.blueprint.trainees}
        trainees = {name: Trainee(name, policy, configs[name]) for name, policy in shards.policies().items()}
        super().__init__(shards, trainees, [memory.anchors for memory in shards.memories], shards.spec.max_steps)
        for memory, trainee in zip(shards.memories, self.trainees.values(), strict=True):
            if trainee.config.teacher.model:
                load_teacher(memory.anchors["teacher"], trainee.policy, shards.spec, trainee.config.teacher.model)
            elif trainee.config.teacher.weight != Constant(0.0):
                raise UserError(
                    "ppo.teacher.weight is set, but no teacher",
                    "name a model file in ppo.teacher.model, or give --bc-model FILE",
                )

    @property
    def steps_per_rollout(self) -> int:
        """Match steps of one rollout over all shards: T · M. Agent-steps are `seats` times as many."""
        return self.shards.blueprint.matches * self.shards.blueprint.trainees[0].ppo.n_steps

    def collect(self, progress: Progress) -> Rollouts:
        """A rollout from every shard, under the reward weights of this moment."""
        reports = self.shards.collect(progress)
        spec = self.shards.spec
        steps = self.shards.matches_collected() * self.shards.blueprint.trainees[0].ppo.n_steps
        steps -= sum(report.missing for report in reports)
        totals = reduce(np.add, [report.terms for report in reports])
        return Rollouts(
            steps=steps,
            outcomes=[outcome for report in reports for outcome in report.outcomes],
            terms={
                term.name: float(total) / (steps * spec.seats) for term, total in zip(spec.rewards, totals, strict=True)
            },
            seconds={
                part: sum(getattr(report.split, part) for report in reports) for part in ("simulate", "infer", "other")
            },
        )

    def recover(self, ranks: list[int]) -> None:
        """Start new shards for lost ones, and forget what was begun."""
        for trainee in self.trainees.values():
            trainee.gradient.zero_()
        self.shards.recover(ranks)
