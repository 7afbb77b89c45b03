"""A training session without a disk: the real shards, collector and learner on any game, a few lines a test."""

from dataclasses import replace

import numpy as np
import torch

from pvp_ml.cluster.blueprint import Blueprint, TraineeBlueprint
from pvp_ml.cluster.local import LocalShards
from pvp_ml.games import registry
from pvp_ml.match import Bot, Live, Scripted
from pvp_ml.model.network_config import NetworkConfig
from pvp_ml.rl.loss import PpoConfig
from pvp_ml.rl.rewards import RewardConfig
from pvp_ml.rl.rollout import ReturnTerms
from pvp_ml.rl.schedule.schedule import Progress
from pvp_ml.run.learning import Learning
from pvp_ml.selfplay.plans import LineupMix


class Session:
    """`train` plays and learns; `decide`, `values` and `shares` ask the policy."""

    def __init__(self, game, matches, ppo=None, network=None, settings=None, reward=None, seed=0, opponents=None,
                 total_steps=0, shards=1):  # fmt: skip
        torch.set_num_threads(1)
        self.type = registry.find(game)
        config = registry.configure(self.type, settings or {})
        trainee = TraineeBlueprint(
            name="main", network=NetworkConfig.model_validate(network or {}), ppo=PpoConfig.model_validate(ppo or {})
        )
        blueprint = Blueprint(
            game=game, game_config=config.model_dump(mode="json"), matches=matches, shards=shards, seed=seed,
            reward=RewardConfig.model_validate(reward or {}), trainees=(trainee,),
        )  # fmt: skip
        self.spec = blueprint.spec()
        self.mix = self.lineups(opponents or {"self": 1.0})
        self.learning = Learning(LocalShards(blueprint, self.mix))
        self.learning.shards.initialise()
        self.progress = Progress(total_steps=total_steps)
        self.outcomes = []
        self.metrics = {}

    def lineups(self, opponents):
        """Main on the first team's seats (teams change places), each opponent by its share on the others."""

        def seated(name):
            other = Live() if name == "self" else Bot(name) if name in self.spec.bots else Scripted(name)
            return tuple(Live() if seat in self.spec.teams[0] else other for seat in range(self.spec.seats))

        return LineupMix(tuple((share, seated(name)) for name, share in opponents.items()),
                         tuple((1.0, s.name) for s in self.spec.scenarios[:1]))  # fmt: skip

    def off_policy(self):
        """Largest difference between the log-probabilities of a collected rollout and those that learning finds."""
        self.learning.shards.call("finish", ReturnTerms.of(1.0, 1.0))
        share = self.shard.shares["main"]
        batch = self.shard._minibatch(share, np.arange(len(share.rows.index)))
        with torch.no_grad():
            new = share.policy.evaluate(batch.obs, None, batch.legal, batch.actions)
        return float((new.log_prob - batch.log_prob).abs().max())

    @property
    def shard(self):
        return self.learning.shards.own

    @property
    def rollout(self):
        return self.shard.collector.rollout

    @property
    def trainee(self):
        return self.learning.trainees["main"]

    @property
    def policy(self):
        return self.trainee.policy

    def train(self, rollouts):
        """That many rollouts; returns the outcomes of the last one."""
        for _ in range(rollouts):
            self.outcomes = self.learning.collect(self.progress).outcomes
            self.metrics = self.learning.learn(self.progress)["main"]
            steps = self.progress.steps + self.learning.steps_per_rollout
            self.progress = replace(self.progress, steps=steps, rollouts=self.progress.rollouts + 1)
        return self.outcomes

    def train_steps(self, steps):
        return self.train(-(-steps // self.learning.steps_per_rollout))

    def decide(self, obs, mask):
        """Greedy actions [B,H]."""
        obs, mask = np.array(obs, np.float32), np.array(mask, np.bool_)
        actor = self.policy.actor()
        out = actor.heads.decision(len(obs))
        actor.act(obs, mask, np.zeros(len(obs), np.uint64), np.ones(len(obs), np.bool_), out)
        return out.actions

    def values(self, obs, privileged=None):
        hidden = None if privileged is None else np.array(privileged, np.float32)
        return self.policy.actor().evaluate(np.array(obs, np.float32), hidden)[0]

    def shares(self, obs, mask):
        """[B,A] probabilities of each head's choices (independent heads, nothing picked before)."""
        obs, mask = np.array(obs, np.float32), np.array(mask, np.bool_)
        actor, rows = self.policy.actor(), len(obs)
        out = actor.heads.decision(rows, probs=True)
        actor.act(obs, mask, np.zeros(rows, np.uint64), np.ones(rows, np.bool_), out)
        return out.probs

    def close(self):
        self.learning.shards.close()
