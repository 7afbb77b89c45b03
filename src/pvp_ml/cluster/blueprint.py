"""Everything a shard is built from, as JSON: a worker process receives this text and nothing else."""

from __future__ import annotations

from typing import Any

import torch
from pydantic import BaseModel, ConfigDict

from pvp_ml.cluster.memory import TraineeMemory
from pvp_ml.games import registry
from pvp_ml.model.actor import Actor
from pvp_ml.model.network_config import NetworkConfig
from pvp_ml.rl.loss import PpoConfig
from pvp_ml.rl.policy.policy import Policy
from pvp_ml.rl.rewards import RewardConfig, RewardMixer
from pvp_ml.rl.rollout import Rollout
from pvp_ml.rl.shard_learner import ShardLearner, ShardTrainee
from pvp_ml.selfplay.collect.async_collector import ROOM, AsyncCollector
from pvp_ml.selfplay.collect.collector import Collector, rollout_shape
from pvp_ml.selfplay.collect.seat_actors import MemberSource, SeatActors
from pvp_ml.selfplay.plans import LineupMix, PlanSource
from pvp_ml.selfplay.shard import Shard
from pvp_ml.spec import GameSpec


class TraineeBlueprint(BaseModel):
    """A trainee's name and shape."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    network: NetworkConfig
    ppo: PpoConfig


class Blueprint(BaseModel):
    """The same for all shards; a shard adds its rank."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    game: str
    game_config: dict[str, Any]
    matches: int
    shards: int
    seed: int
    reward: RewardConfig
    trainees: tuple[TraineeBlueprint, ...]

    def spec(self) -> GameSpec:
        """The game as configured."""
        game = registry.find(self.game)
        return game.spec(game.config(**self.game_config))

    def shapes(self, spec: GameSpec) -> list[tuple[NetworkConfig, Any]]:
        """What the shared memory must hold."""
        return [(trainee.network, spec.interface) for trainee in self.trainees]

    def matches_of(self, rank: int) -> int:
        """Matches of one shard; shards differ by at most 1."""
        return self.matches * (rank + 1) // self.shards - self.matches * rank // self.shards

    def build(
        self, rank: int, memories: list[TraineeMemory], mix: LineupMix, members: MemberSource | None = None
    ) -> Shard:
        """The shard of that rank on the given memory."""
        game_type = registry.find(self.game)
        config = game_type.config(**self.game_config)
        game = game_type.build(config, self.matches_of(rank))
        own = rank if len(memories[0].gradients) > 1 else 0  # memory that no other shard maps holds one gradient
        shares = [self._share(i, game.spec, memory.gradients[own], memory) for i, memory in enumerate(memories)]
        live: dict[str, Actor] = {share.name: share.policy.actor() for share in shares}
        seat_actors = SeatActors(game.spec, live, members)
        plans = PlanSource(self.seed, rank, self.shards, game.spec.teams, mix)
        steps = self.trainees[0].ppo.n_steps
        mixer = RewardMixer(game.spec, self.reward)
        collector: Collector
        if game.runs_elsewhere:
            collector = AsyncCollector(game, steps, seat_actors, mixer, plans)
        else:
            collector = Collector(game, steps, seat_actors, mixer, plans)
        return Shard(rank, self.seed, collector, shares)

    def learner(self, rank: int, spec: GameSpec, memories: list[TraineeMemory]) -> ShardLearner:
        """The learning half of that shard alone, fed with rollouts from elsewhere; all learners share one gradient."""
        game_type = registry.find(self.game)
        room = ROOM if game_type.runs_elsewhere(game_type.config(**self.game_config)) else 1
        first = self.trainees[0]
        shape = rollout_shape(spec, first.network, room * first.ppo.n_steps, self.matches_of(rank))
        shares = [self._share(i, spec, memory.gradients[0], memory) for i, memory in enumerate(memories)]
        return ShardLearner(rank, self.seed, Rollout(shape), shares)

    def _share(self, index: int, spec: GameSpec, gradient: torch.Tensor, memory: TraineeMemory) -> ShardTrainee:
        blueprint = self.trainees[index]
        policy = Policy(blueprint.network, spec.interface, memory.weights)
        policy.normalizer = memory.statistics
        return ShardTrainee(blueprint.name, policy, blueprint.ppo, gradient, memory.anchors)
