"""Shards whose games run elsewhere: workers play, this process learns from the rollouts that they send.

With a staleness of 0 every rollout is acted by the newest weights, in the same matches and minibatches as local shards:
the weights come out bit for bit the same. With more, workers keep playing while this process learns; a rollout is
never more than that many versions old when it is learned from, because learning waits for one that would become so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

import pvp_ml
from pvp_ml.cluster.blueprint import Blueprint
from pvp_ml.cluster.codec import encode
from pvp_ml.cluster.eval_queue import TaskRunner
from pvp_ml.cluster.memory import TraineeMemory, fill_statistics, lay_out, memory_bytes
from pvp_ml.cluster.messages import Facts, RolloutRequest, hash_of, unpack_rollout, weight_arrays
from pvp_ml.cluster.roster import Roster, WorkerPool
from pvp_ml.cluster.shards import draw_weights
from pvp_ml.cluster.worker import Handle, text_hash
from pvp_ml.match import FloatArray
from pvp_ml.rl.loss import LossWeights
from pvp_ml.rl.normalize import Moments
from pvp_ml.rl.policy.policy import Policy
from pvp_ml.rl.rollout import ReturnTerms
from pvp_ml.rl.schedule.schedule import Progress
from pvp_ml.rl.shard_learner import Piece, RowStats
from pvp_ml.selfplay.collect.collector import Report
from pvp_ml.selfplay.members import MemberFolder
from pvp_ml.selfplay.plans import LineupMix, members_in

QUORUM = 0.5
"""Share of the workers whose rollouts an asynchronous update waits for."""


class RemoteShards:
    """All shards of a run, with their games elsewhere."""

    def __init__(
        self, blueprint: Blueprint, mix: LineupMix, members: str, pool: WorkerPool, max_staleness: int = 0,
        now: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self.blueprint = blueprint
        self.spec = blueprint.spec()
        self.count = blueprint.shards
        self._pool = pool
        self._max_staleness = max_staleness
        self._now = now
        shapes = blueprint.shapes(self.spec)
        self.memories: list[TraineeMemory] = lay_out(bytearray(memory_bytes(shapes, 1)), shapes, 1)
        for memory, (network, interface) in zip(self.memories, shapes, strict=True):
            fill_statistics(memory, network, interface)
        self._learners = [blueprint.learner(rank, self.spec, self.memories) for rank in range(self.count)]
        self._folder = MemberFolder(Path(members), self.spec.interface)
        self._offers: dict[str, Handle] = {}
        self._progress = Progress()
        self._content_hash, self._version = "", 0
        self._weights: Handle = None
        self._active: list[tuple[int, int]] = []  # (rank, version of its rollout) of the last rollouts
        self._requests = 0
        self._waited, self._correction = 0.0, 1.0
        text = blueprint.model_dump_json()
        facts = Facts(pvp_ml.__version__, pool.version, self.spec.game_digest, text_hash(text))
        self._roster = Roster(pool, self.count, text, facts, self._forget, now)
        self.use_mix(mix)
        self._roster.assemble(encode(mix))

    def policies(self) -> dict[str, Policy]:
        """The trainees' policies."""
        return {name: share.policy for name, share in self._learners[0].shares.items()}

    def initialise(self) -> None:
        """Draw the first weights of every trainee."""
        draw_weights(self.policies(), self.blueprint.seed)

    def use_mix(self, mix: LineupMix) -> None:
        """Orders from now on name this mix; the members in it are put where workers can fetch them, each once."""
        self._mix = mix
        wanted = mix.members.union(*(_named(slot.state) for slot in self._roster.slots))
        self._offers = {key: handle for key, handle in self._offers.items() if key in wanted}
        for key in sorted(wanted - set(self._offers)):
            path = self._folder.file(key)
            if path.is_file():
                self._offers[key] = self._pool.put([np.frombuffer(path.read_bytes(), np.uint8)])

    # --- one rollout and what is learned from it ---------------------------------------------------------------------

    def collect(self, progress: Progress) -> list[Report]:
        """A rollout from every worker that is there; from enough of them when rollouts may be stale."""
        self._progress = progress
        self._roster.pump(0.0)  # somebody may have joined while this process learned
        self._publish()
        self._order_idle()
        before = self._now()
        while not self._is_enough():
            self._roster.pump()
            if not any(slot.doing == "playing" for slot in self._roster.slots):
                self._order_idle()
                self._roster.refuse_nobody()
        self._waited += self._now() - before
        reports = self._receive()
        if self._max_staleness:
            self._order_idle()  # they play while this process learns
        return reports

    def matches_collected(self) -> int:
        """Matches of the workers that took part."""
        return sum(self.blueprint.matches_of(rank) for rank, _ in self._active)

    def add_novelty(self, coefficients: FloatArray) -> None:
        """Pay each trainee for the unusual."""
        for rank, _ in self._active:
            self._learners[rank].add_novelty(coefficients)

    def reward_moments(self, gamma: FloatArray) -> list[list[Moments]]:
        """Per worker and trainee: moments of the discounted rewards."""
        return [self._learners[rank].reward_moments(gamma) for rank, _ in self._active]

    def forget_returns(self) -> None:
        """What was collected so far in running matches was paid for something else."""
        for learner in self._learners:
            learner.forget_returns()

    def finish(self, terms: ReturnTerms, clock: int = 0) -> list[list[RowStats]]:
        """Advantages of all rows; rows of older weights are judged by the present ones."""
        facts = [self._learners[rank].finish(terms, clock) for rank, _ in self._active]
        means = [self._learners[rank].correct() for rank, version in self._active if version < self._version]
        self._correction = float(np.mean(means)) if means else 1.0
        return facts

    def normalise_advantages(self, name: str, mean: float, deviation: float) -> None:
        """Use (advantage − mean) / deviation from now on."""
        for rank, _ in self._active:
            self._learners[rank].normalise_advantages(name, mean, deviation)

    def add_gradient(
        self, index: int, target: torch.Tensor, piece: Piece, weights: LossWeights
    ) -> npt.NDArray[np.float64]:
        """Rank after rank, as local shards would have added theirs."""
        name, sums = self.blueprint.trainees[index].name, []
        for rank, _ in self._active:
            sums.append(self._learners[rank].gradient(name, *piece, weights))
            target += self.memories[index].gradients[0]
        return reduce(np.add, sums)

    def carry(self) -> list[list[npt.NDArray[np.float64]]]:
        """Keep rows whose next decision has not come; returns what the win heads foresaw."""
        return [self._learners[rank].carry() for rank, _ in self._active]

    def refresh(self) -> None:
        """Nothing to do: the next request names the new weights."""

    # --- checkpoints and losses --------------------------------------------------------------------------------------

    def states(self) -> list[dict[str, Any]]:
        """Per rank what its next rollout depends on; only the number of plans where it plays on, or is missing."""
        found = {} if self._max_staleness else self._roster.states()
        for rank, state in found.items():
            if "game" in state:
                carried = self._learners[rank].rollout.state()
                state["rollout"] |= {key: array for key, array in carried.items() if key.startswith("carry/")}
                state["running"] = self._learners[rank].running.copy()
                state["foreseen"] = self._learners[rank].waiting.copy()
        slots = self._roster.slots
        return [found.get(rank) or slot.state or {"drawn": slot.drawn} for rank, slot in enumerate(slots)]

    def restore(self, states: Sequence[dict[str, Any]]) -> None:
        """Continue from `states`: learners now, workers with their next request."""
        for slot, learner, state in zip(self._roster.slots, self._learners, states, strict=True):
            slot.drawn = int(state["drawn"])
            if "game" in state:
                learner.rollout.restore(state["rollout"])
                learner.running[:] = state["running"]
                learner.waiting[:] = state.get("foreseen", 0.0)
                slot.state = state

    def skip_plans(self, drawn: int) -> None:
        """Begin with later plans."""
        for slot in self._roster.slots:
            slot.drawn = max(slot.drawn, drawn)

    def recover(self, ranks: list[int]) -> None:
        """Give these ranks to new workers."""
        for rank in ranks:
            self._roster.lose(rank, "was given up")

    def leave(self) -> None:
        """Nothing to do: workers on machines of their own have servers of their own."""

    def take_metrics(self) -> dict[str, float]:
        """Waiting, workers, losses, and how old the rollouts were that were learned from."""
        ages = [self._version - version for _, version in self._active] or [0]
        waited, self._waited = self._waited, 0.0
        metrics = {
            "time/wait_s": waited,
            "cluster/workers": float(self._roster.present),
            "cluster/lost": float(self._roster.lost),
            "cluster/staleness": float(np.mean(ages)),
            "cluster/staleness_max": float(max(ages)),
        }
        return metrics | ({"cluster/correction": self._correction} if self._max_staleness else {})

    def task_runner(self) -> TaskRunner:
        """The cluster plays evaluations as well."""
        return self._pool

    def close(self) -> None:
        """End the workers."""
        self._pool.close()

    # --- orders ------------------------------------------------------------------------------------------------------

    def _publish(self) -> None:
        """Make the present weights fetchable; a version is a change of content."""
        arrays = weight_arrays(self.memories)
        content_hash = hash_of(arrays)
        if content_hash != self._content_hash:
            self._weights = self._pool.put(arrays)
            self._content_hash = content_hash
            self._version += 1

    def _order_idle(self) -> None:
        for rank, slot in enumerate(self._roster.slots):
            if slot.doing == "idle":
                self._requests += 1
                request = RolloutRequest(
                    self._requests, self._content_hash, self._mix, self._progress, slot.drawn, slot.state
                )
                self._roster.request(rank, request, self._version, self._weights, self._offers)

    def _is_enough(self) -> bool:
        """Whether learning may begin: everybody who was asked, or enough and none who would become too stale."""
        playing = [slot for slot in self._roster.slots if slot.doing == "playing" and slot.arrived is None]
        arrived = sum(slot.arrived is not None for slot in self._roster.slots)
        if not self._max_staleness:
            return arrived > 0 and not playing
        too_old = [slot for slot in playing if self._version + 1 - slot.version > self._max_staleness]
        return arrived >= max(1.0, QUORUM * (arrived + len(playing))) and not too_old

    def _receive(self) -> list[Report]:
        """Hand what arrived to the learners."""
        reports, self._active = [], []
        for rank, slot in enumerate(self._roster.slots):
            if slot.arrived is not None:
                delivery, arrays = slot.arrived
                unpack_rollout(arrays, self._learners[rank].rollout)
                reports.append(delivery.report)
                self._active.append((rank, slot.version))
                slot.arrived, slot.doing, slot.drawn = None, "idle", delivery.drawn
        return reports

    def _forget(self, rank: int) -> None:
        """The matches of this rank are lost, and with them what its learner carries."""
        self._learners[rank].drop()
        self._learners[rank].running[:] = 0.0


def _named(state: dict[str, Any] | None) -> set[str]:
    """Members that the matches of a saved state name."""
    return members_in(plan.lineup for plan in state["plans"]) if state else set()
