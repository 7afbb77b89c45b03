"""What the trainer needs of its shards, wherever they run: beside it (`local`) or on other machines (`remote`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch

from pvp_ml.chance import scramble
from pvp_ml.cluster.blueprint import Blueprint
from pvp_ml.cluster.eval_queue import TaskRunner
from pvp_ml.cluster.memory import TraineeMemory
from pvp_ml.rl.learner import GradientShards
from pvp_ml.rl.policy.policy import Policy
from pvp_ml.rl.schedule.schedule import Progress
from pvp_ml.selfplay.collect.collector import Report
from pvp_ml.selfplay.plans import LineupMix
from pvp_ml.spec import GameSpec


class ShardLostError(Exception):
    """A shard died or did not answer in time; `ranks` lists them."""

    def __init__(self, ranks: list[int], why: str) -> None:
        super().__init__(f"shard {', '.join(map(str, ranks))} {why}")
        self.ranks = ranks
        self.why = why


class CollectingShards(Protocol):
    """Who plays matches and fills rollouts."""

    def use_mix(self, mix: LineupMix) -> None:
        """Draw lineups of new matches from this mix."""

    def collect(self, progress: Progress) -> list[Report]:
        """A rollout from every shard, under the schedules of this moment."""

    def matches_collected(self) -> int:
        """Matches whose steps are in the last rollout: all of them, unless shards were missing."""


class Shards(CollectingShards, GradientShards, Protocol):
    """All shards of a run: they collect, they give gradients, and they can be saved, lost and closed."""

    blueprint: Blueprint
    spec: GameSpec
    count: int
    memories: list[TraineeMemory]

    def policies(self) -> dict[str, Policy]:
        """The trainees' policies; only the trainer changes their weights."""

    def initialise(self) -> None:
        """Draw the first weights of every trainee."""

    def states(self) -> list[dict[str, Any]]:
        """Per rank, what the next rollout depends on besides the trainees."""

    def restore(self, states: Sequence[dict[str, Any]]) -> None:
        """Continue from `states`."""

    def skip_plans(self, drawn: int) -> None:
        """Begin with later plans: each shard's first `drawn` were played before."""

    def recover(self, ranks: list[int]) -> None:
        """Start new shards for lost ones."""

    def leave(self) -> None:
        """Log out of a server that an evaluation is going to use."""

    def take_metrics(self) -> dict[str, float]:
        """What there is to report since it was last asked; `time/wait_s` is always there."""

    def task_runner(self) -> TaskRunner | None:
        """Who plays evaluations as tasks; None = they are played here."""

    def close(self) -> None:
        """Stop everything; safe to call twice."""


def draw_weights(policies: dict[str, Policy], seed: int) -> None:
    """First weights of every trainee; they depend on the run's seed alone."""
    for i, policy in enumerate(policies.values()):
        policy.initialise(torch.Generator().manual_seed(scramble(seed, 101, i) >> 1))
