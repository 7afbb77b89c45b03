"""One core's share of a run: its matches, its rollout, and the gradients of its rows.

The trainer calls the same methods on every shard, here or in another process, and adds up what they return. Shards see
weights and statistics through memory that only the trainer writes.
"""

from __future__ import annotations

from typing import Any

from pvp_ml.match import SharedServerGame
from pvp_ml.rl.exploration import exploration
from pvp_ml.rl.schedule.schedule import Progress
from pvp_ml.rl.shard_learner import ShardLearner, ShardTrainee
from pvp_ml.selfplay.collect.collector import Collector, Report
from pvp_ml.selfplay.plans import LineupMix, members_in


class Shard(ShardLearner):
    """Collects, then gives gradients minibatch by minibatch."""

    def __init__(self, rank: int, seed: int, collector: Collector, shares: list[ShardTrainee]) -> None:
        super().__init__(rank, seed, collector.rollout, shares)
        self.collector = collector

    def collect(self) -> Report:
        """Fill the next rollout."""
        return self.collector.collect()

    def use_mix(self, mix: LineupMix) -> None:
        """Draw lineups of new matches from this mix. Members that nobody can meet any more are let go."""
        self.collector.plans.use(mix)
        if not self.collector.seat_actors.members <= mix.members:
            playing = members_in(plan.lineup for plan in self.collector.active.plans)
            self.collector.seat_actors.forget_members(mix.members | playing)

    def set_rewards(self, progress: Progress) -> None:
        """Read the reward weights' schedules."""
        self.collector.mixer.set(progress)

    def set_exploration(self, progress: Progress) -> None:
        """Read the schedules of how trainees see and act."""
        for share in self.shares.values():
            self.collector.behave(share.name, exploration(share.policy.interface, share.config, progress))

    def leave(self) -> None:
        """Log out of a server that somebody else is going to use; matches under way become void."""
        game = self.collector.game
        if self.collector.is_started and isinstance(game, SharedServerGame):
            game.leave()

    def refresh(self) -> None:
        """Observation statistics changed."""
        for actor in self.collector.seat_actors.live.values():
            actor.refresh()

    def state(self) -> dict[str, Any]:
        """All that the next rollout of this shard depends on besides weights and statistics."""
        collector = self.collector
        if collector.game.runs_elsewhere:
            return {"drawn": collector.plans.drawn}
        return {
            "rollout": collector.rollout.state(),
            "lanes": collector.active.state(),
            "running": self.running.copy(),
            "foreseen": self.waiting.copy(),
            "plans": collector.active.plans,
            "drawn": collector.plans.drawn,
            "game": collector.game.snapshot(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from `state`, bit for bit; matches in external simulators cannot be saved and start again."""
        collector = self.collector
        if "game" not in state or collector.game.runs_elsewhere:
            return self.skip_plans(state["drawn"])
        collector.game.restore(state["game"])
        collector.rollout.restore(state["rollout"])
        collector.active.restore(state["lanes"], state["plans"])
        collector.plans.drawn = state["drawn"]
        self.running[:] = state["running"]
        self.waiting[:] = state.get("foreseen", 0.0)  # older checkpoints: matches in play are measured from here on
        collector.is_started = True

    def skip_plans(self, drawn: int) -> None:
        """Begin with later plans, because earlier ones were played by a run that this one continues."""
        self.collector.plans.drawn = max(self.collector.plans.drawn, drawn)

    def drawn(self) -> int:
        """Plans drawn so far."""
        return self.collector.plans.drawn
