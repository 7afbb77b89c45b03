"""One core's share of a run: its matches, its rollout, and the gradients of its rows.

The trainer calls the same methods on every shard, here or in another process, and adds up what they return. Shards see
weights and statistics through memory that only the trainer writes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from pvp_ml.match import FloatArray
from pvp_ml.rl.normalize import Moments, moments
from pvp_ml.rl.novelty import add_novelty, noise_deviations
from pvp_ml.rl.policy import Anchor, Policy
from pvp_ml.rl.ppo import SUMS, LossWeights, Minibatch, PpoConfig, ppo_loss
from pvp_ml.rl.rollout import Rows
from pvp_ml.rl.schedule import Progress
from pvp_ml.rl.sequences import Cuts, Sequences, cut, gather
from pvp_ml.selfplay.collector import Collector, Report
from pvp_ml.selfplay.kernels_lanes import discounted_returns
from pvp_ml.selfplay.plans import LineupMix, scramble

STATISTICS_STRIDE = 4
"""Every how many rows observation statistics are taken: neighbouring rows are nearly the same."""


@dataclass(frozen=True, slots=True)
class RowFacts:
    """What the trainer must know of a shard's rows before learning."""

    rows: int
    advantage: tuple[float, float]  # sum, sum of squares
    returns: tuple[float, float]  # sum, sum of squares
    obs: Moments
    privileged: Moments
    picks: Moments


@dataclass(slots=True)
class TraineeShare:
    """A trainee as one shard sees it: same weights, its own gradient."""

    name: str
    policy: Policy
    config: PpoConfig
    gradient: torch.Tensor  # [size], what this shard adds
    anchors: dict[str, Anchor]
    rows: Rows | None = None
    cuts: Cuts | None = None
    labels: tuple[FloatArray, npt.NDArray[np.bool_]] | None = None
    order: npt.NDArray[np.int64] | None = None
    scale: tuple[float, float] = (0.0, 1.0)


class Shard:
    """Collects, then gives gradients minibatch by minibatch."""

    def __init__(self, rank: int, seed: int, collector: Collector, shares: list[TraineeShare]) -> None:
        self.rank = rank
        self.collector = collector
        self.shares = {share.name: share for share in shares}
        self._order = [share.name for share in shares]
        self._seed = seed
        rollout = collector.rollout
        self._running = np.zeros(rollout.reward.shape[1:], np.float32)
        self._returns = np.zeros_like(rollout.reward)
        for share in shares:
            share.policy.bind_gradients(share.gradient)

    def collect(self) -> Report:
        """Fill the next rollout."""
        return self.collector.collect()

    def use_mix(self, mix: LineupMix) -> None:
        """Draw lineups of new matches from this mix."""
        self.collector.plans.use(mix)

    def set_rewards(self, progress: Progress) -> None:
        """Read the reward weights' schedules."""
        self.collector.mixer.set(progress)

    def set_noise(self, progress: Progress) -> None:
        """Read the schedules of the noise on what trainees see."""
        for share in self.shares.values():
            deviation = noise_deviations(share.policy.interface, share.config, progress)
            self.collector.see_through(share.name, deviation)

    def add_novelty(self, coefficients: FloatArray) -> float:
        """Pay each trainee for the unusual: see `novelty`. Returns the sum paid."""
        rollout, paid = self.collector.rollout, 0.0
        for k, share in enumerate(self.shares.values()):
            if coefficients[k] > 0.0:
                paid += add_novelty(rollout, k, share.policy, float(coefficients[k]))
        return paid

    def reward_moments(self, gamma: FloatArray) -> list[Moments]:
        """Per trainee: moments of the discounted reward that its lanes had collected at each step; gamma [trainees]."""
        rollout = self.collector.rollout
        discounted_returns(
            1, rollout.length, rollout.seated, rollout.reward, rollout.end, gamma, self._running, self._returns
        )
        seated = rollout.seated[1:-1]
        return [moments(self._returns[1:][seated == k][:, None]) for k in range(len(self._order))]

    def finish(self, scale: FloatArray, gamma: FloatArray, lam: FloatArray) -> list[RowFacts]:
        """Advantages of all rows; per trainee a reward scale, γ and λ."""
        self.collector.rollout.advantages(scale, gamma, lam)
        return [self._facts(share, k) for k, share in enumerate(self.shares.values())]

    def _facts(self, share: TraineeShare, k: int) -> RowFacts:
        rollout = self.collector.rollout
        rows = share.rows = rollout.rows(k)
        network = share.policy.network
        if network.memory:
            share.cuts = cut(rows.index, rollout.end, rollout.shape.seats, share.config.sequence_length)
        if network.win_head:
            points, held = rollout.labels()
            share.labels = points.reshape(-1)[rows.index], held.reshape(-1)[rows.index]
        picked = rows.index[::STATISTICS_STRIDE]
        return RowFacts(
            rows=len(rows.index),
            advantage=_sums(rows.advantage),
            returns=_sums(rows.returns),
            obs=moments(rollout.flat("obs")[picked]),
            privileged=moments(rollout.flat("privileged")[picked]),
            picks=self._pick_moments(share, picked),
        )

    def _pick_moments(self, share: TraineeShare, picked: npt.NDArray[np.int64]) -> Moments:
        if share.policy.network.heads != "mlp":
            return moments(np.zeros((0, 1)))
        actions = torch.as_tensor(self.collector.rollout.flat("actions")[picked], dtype=torch.int64)
        return moments(share.policy.layout.one_hot(actions).numpy())

    def normalise_advantages(self, name: str, mean: float, deviation: float) -> None:
        """Use (advantage − mean) / deviation from now on."""
        self.shares[name].scale = (mean, 1.0 / deviation)

    def gradient(
        self, name: str, clock: int, epoch: int, part: int, parts: int, weights: LossWeights
    ) -> npt.NDArray[np.float64]:
        """Write the summed gradient of this shard's rows of a minibatch; returns the loss's sums."""
        share = self.shares[name]
        assert share.rows is not None, "finish() comes first"
        if part == 0:
            rng = np.random.default_rng(scramble(self._seed, self.rank, clock, epoch, self._order.index(name)))
            share.order = rng.permutation(len(share.rows.index) if share.cuts is None else len(share.cuts.start) - 1)
        assert share.order is not None
        total = len(share.order)
        low, high = total * part // parts, total * (part + 1) // parts
        share.gradient.zero_()
        if low == high:
            return np.zeros(len(SUMS) + len(share.policy.interface.heads))
        batch = self._minibatch(share, share.order[low:high])
        anchors = {
            key: share.policy.anchor_log_probs(anchor, batch.obs, batch.legal, batch.actions, batch.memory)
            for key, anchor in share.anchors.items()
            if getattr(weights, key) > 0.0
        }
        new = share.policy.evaluate(
            batch.obs, batch.privileged, batch.legal, batch.actions, batch.memory, with_log_probs=bool(anchors)
        )
        loss, sums = ppo_loss(new, batch, weights, anchors.get("teacher"), anchors.get("magnet"))
        torch.autograd.backward(loss)
        return sums.double().numpy()

    def _minibatch(self, share: TraineeShare, order: npt.NDArray[np.int64]) -> Minibatch:
        rollout, rows = self.collector.rollout, share.rows
        assert rows is not None
        memory = None
        if share.cuts is not None:
            order, steps, place = gather(share.cuts, order)
            first = rollout.flat("memory")[rows.index[order[steps[0]]]]
            memory = Sequences(torch.from_numpy(steps), torch.from_numpy(place), torch.from_numpy(first))
        index = rows.index[order]

        def pick(name: str) -> torch.Tensor:
            return torch.from_numpy(rollout.flat(name)[index])

        mean, scale = share.scale
        obs = torch.cat([pick("obs"), pick("past")], dim=1) if rollout.shape.past else pick("obs")
        points, held = share.labels if share.labels is not None else (None, None)
        return Minibatch(
            obs=obs,
            privileged=pick("privileged") if share.policy.network.privileged else None,
            legal=pick("mask"),
            actions=pick("actions").long(),
            log_prob=pick("log_prob"),
            value=pick("value"),
            advantage=torch.from_numpy((rows.advantage[order] - mean) * scale).float(),
            returns=torch.from_numpy(rows.returns[order]),
            won=None if points is None else torch.from_numpy(points[order]),
            held_out=None if held is None else torch.from_numpy(held[order]),
            memory=memory,
        )

    def carry(self) -> None:
        """Learning is over: keep the rows whose next decision has not come."""
        self.collector.rollout.carry()

    def drop(self) -> None:
        """Forget the rollout without learning from it; matches go on."""
        self.collector.rollout.drop()

    def refresh(self) -> None:
        """Observation statistics changed."""
        for actor in self.collector.deciders.live.values():
            actor.refresh()

    def state(self) -> dict[str, Any]:
        """All that the next rollout of this shard depends on besides weights and statistics."""
        collector = self.collector
        if not hasattr(collector.game, "snapshot"):
            return {"drawn": collector.plans.drawn}
        return {
            "rollout": collector.rollout.state(),
            "lanes": collector.lanes.state(),
            "running": self._running.copy(),
            "plans": collector.lanes.plans,
            "drawn": collector.plans.drawn,
            "game": collector.game.snapshot(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from `state`, bit for bit; matches in other processes cannot be saved and start anew."""
        collector = self.collector
        if "game" not in state:
            return self.skip_plans(state["drawn"])
        collector.game.restore(state["game"])
        collector.rollout.restore(state["rollout"])
        collector.lanes.restore(state["lanes"], state["plans"])
        collector.plans.drawn = state["drawn"]
        self._running[:] = state["running"]
        collector.is_started = True

    def skip_plans(self, drawn: int) -> None:
        """Begin with later plans, because earlier ones were played by a run that this one continues."""
        self.collector.plans.drawn = max(self.collector.plans.drawn, drawn)

    def drawn(self) -> int:
        """Plans drawn so far."""
        return self.collector.plans.drawn


def _sums(values: FloatArray) -> tuple[float, float]:
    wide = values.astype(np.float64)
    return float(wide.sum()), float(np.square(wide).sum())
