"""Shards on this machine: the first in the trainer's own process, the others in processes beside it.

Every call goes to all shards at once and returns when the last has answered; a shard that dies, stands still or works
past the deadline is reported as lost, and `replace` starts a new one. They are spawned, not forked, on every platform.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from functools import reduce
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from pvp_ml.cluster.blueprint import Blueprint
from pvp_ml.cluster.codec import decode, encode
from pvp_ml.cluster.memory import Segment, TraineeMemory, fill_statistics, lay_out, memory_bytes
from pvp_ml.cluster.shards import ShardLostError, draw_weights
from pvp_ml.errors import UserError
from pvp_ml.games.process_tree import tree_cpu_s
from pvp_ml.match import FloatArray
from pvp_ml.rl.exploration import is_plain
from pvp_ml.rl.loss import LossWeights
from pvp_ml.rl.normalize import Moments
from pvp_ml.rl.policy.policy import Policy
from pvp_ml.rl.rollout import ReturnTerms
from pvp_ml.rl.schedule.schedule import Progress
from pvp_ml.rl.shard_learner import Piece, RowStats
from pvp_ml.selfplay.collect.collector import Report
from pvp_ml.selfplay.members import MemberFolder
from pvp_ml.selfplay.plans import LineupMix
from pvp_ml.selfplay.shard import Shard

CONTEXT: SpawnContext = multiprocessing.get_context("spawn")
START_TIMEOUT_S = 120.0
ANSWER_TIMEOUT_S = 120.0
STARVING = 10  # deadlines: the most that a shard gets that works, but hardly gets any processor time


@contextlib.contextmanager
def _hidden_script() -> Iterator[None]:
    """Spawned processes run the main script again, which a script without `if __name__ == "__main__"` must not suffer.

    A shard needs nothing of it, so it is hidden while the process starts.
    """
    main = sys.modules["__main__"]
    hidden: dict[str, object] = {
        name: main.__dict__.pop(name) for name in ("__file__", "__spec__") if name in main.__dict__
    }
    main.__spec__ = None
    try:
        yield
    finally:
        main.__dict__.update(hidden)


class _Worker:
    """A process that holds one shard."""

    def __init__(self, rank: int, blueprint: str, segment: str, mix: bytes, members: str) -> None:
        self.rank = rank
        self.pipe, theirs = CONTEXT.Pipe()
        self.process: BaseProcess = CONTEXT.Process(
            target=worker_main, args=(rank, blueprint, segment, mix, members, theirs), daemon=True, name=f"shard-{rank}"
        )
        with _hidden_script():
            self.process.start()
        theirs.close()

    def send(self, method: str, args: Sequence[Any]) -> None:
        self.pipe.send_bytes(encode([method, list(args)]))

    def answer(self, timeout_s: float) -> Any:
        if not self._wait(timeout_s):
            raise ShardLostError([self.rank], "did not answer in time")
        if not self.pipe.poll(0):
            raise ShardLostError([self.rank], "died")
        try:
            ok, value = decode(self.pipe.recv_bytes())
        except (EOFError, OSError):
            raise ShardLostError([self.rank], "died") from None
        if not ok:
            raise UserError(f"shard {self.rank} failed: {value}")
        return value

    def _wait(self, timeout_s: float) -> bool:
        """Whether it spoke or died. Past the deadline it gets more time while it works for its answer, because on a
        crowded machine it may just be short of processor time; but not if it has worked for as long as the deadline.
        """
        if wait([self.pipe, self.process.sentinel], timeout_s):
            return True
        part, pid = timeout_s / 8, self.process.pid or 0
        begun = used = tree_cpu_s(pid)
        for _ in range(8 * STARVING):
            if wait([self.pipe, self.process.sentinel], part):
                return True
            before, used = used, tree_cpu_s(pid)
            if used - before < part / 100 or used - begun > timeout_s:
                return False
        return False

    def stop(self, grace_s: float) -> None:
        with contextlib.suppress(OSError):
            self.pipe.close()
        self.process.join(grace_s)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


class LocalShards:
    """All shards of a run on this machine, with the memory that they share."""

    def __init__(self, blueprint: Blueprint, mix: LineupMix, members: str = "") -> None:
        self.blueprint = blueprint
        self.spec = blueprint.spec()
        self.count = blueprint.shards
        self._mix = mix
        self._members = members
        self._text = blueprint.model_dump_json()
        self._segment: Segment | None = None
        self._workers: dict[int, _Worker] = {}
        self.wait_seconds = 0.0
        shapes = blueprint.shapes(self.spec)
        size = memory_bytes(shapes, self.count)
        try:
            self._segment = Segment.create(size) if self.count > 1 else None
            buffer = self._segment.buffer if self._segment else bytearray(size)
            self.memories: list[TraineeMemory] = lay_out(buffer, shapes, self.count)
            for memory, (network, interface) in zip(self.memories, shapes, strict=True):
                fill_statistics(memory, network, interface)
            for rank in range(1, self.count):
                self._workers[rank] = self._spawn(rank)
            self.own: Shard = blueprint.build(0, self.memories, mix, MemberFolder(Path(members), self.spec.interface))
            for worker in self._workers.values():
                worker.answer(START_TIMEOUT_S)
        except BaseException:  # Ctrl-C too: nobody else knows the memory and the processes yet
            self.close()
            raise

    def policies(self) -> dict[str, Policy]:
        """The trainees' policies on the shared memory."""
        return {name: share.policy for name, share in self.own.shares.items()}

    def initialise(self) -> None:
        """Draw the first weights of every trainee."""
        draw_weights(self.policies(), self.blueprint.seed)

    # --- one rollout and what is learned from it ----------------------------------------------------------------------

    def collect(self, progress: Progress) -> list[Report]:
        """A rollout from every shard, under the schedules of this moment."""
        self.call("set_rewards", progress)
        if not all(is_plain(trainee.ppo) for trainee in self.blueprint.trainees):
            self.call("set_exploration", progress)
        return self.call("collect")

    def matches_collected(self) -> int:
        """All of them."""
        return self.blueprint.matches

    def add_novelty(self, coefficients: FloatArray) -> None:
        """Pay each trainee for the unusual."""
        self.call("add_novelty", coefficients)

    def reward_moments(self, gamma: FloatArray) -> list[list[Moments]]:
        """Per shard and trainee: moments of the discounted rewards."""
        return self.call("reward_moments", gamma)

    def forget_returns(self) -> None:
        """What was collected so far in running matches was paid for something else."""
        self.call("forget_returns")

    def finish(self, terms: ReturnTerms, clock: int = 0) -> list[list[RowStats]]:
        """Advantages of all rows; per shard and trainee what is known of them."""
        return self.call("finish", terms, clock)

    def normalise_advantages(self, name: str, mean: float, deviation: float) -> None:
        """Use (advantage − mean) / deviation from now on."""
        self.call("normalise_advantages", name, mean, deviation)

    def add_gradient(
        self, index: int, target: torch.Tensor, piece: Piece, weights: LossWeights
    ) -> npt.NDArray[np.float64]:
        """Summed over shards in rank order, so that the result does not depend on who was faster."""
        sums = self.call("gradient", self.blueprint.trainees[index].name, *piece, weights)
        for gradient in self.memories[index].gradients:
            target += gradient
        return reduce(np.add, sums)

    def carry(self) -> list[list[npt.NDArray[np.float64]]]:
        """Learning is over: keep rows whose next decision has not come; returns what the win heads foresaw."""
        return self.call("carry")

    def refresh(self) -> None:
        """Observation statistics changed."""
        self.call("refresh")

    # --- checkpoints and losses ------------------------------------------------------------------------

    def states(self) -> list[dict[str, Any]]:
        """Per rank, what the next rollout depends on besides the trainees."""
        return self.call("state")

    def restore(self, states: Sequence[dict[str, Any]]) -> None:
        """Continue from `states`."""
        self.scatter("restore", [(state,) for state in states])

    def skip_plans(self, drawn: int) -> None:
        """Begin with later plans."""
        self.call("skip_plans", drawn)

    def recover(self, ranks: list[int]) -> None:
        """Start new shards for lost ones; what all shards have collected is dropped, since its sums are incomplete."""
        drawn = max(self.own.drawn(), 1)
        self.replace(ranks)
        self.call("drop")
        self.call("skip_plans", drawn)

    # --- processes ------------------------------------------------------------------------

    def call(self, method: str, *args: Any) -> list[Any]:
        """Call a method of every shard with the same arguments; answers in rank order."""
        return self.scatter(method, [args] * self.count)

    def scatter(self, method: str, args: Sequence[Sequence[Any]]) -> list[Any]:
        """Call a method of every shard, each with its own arguments; answers in rank order."""
        lost: list[int] = []
        for rank, worker in self._workers.items():
            try:
                worker.send(method, args[rank])
            except OSError:
                lost.append(rank)
        answers = [getattr(self.own, method)(*args[0])]
        before = time.perf_counter()
        why = "died"
        for rank, worker in self._workers.items():
            if rank in lost:
                continue
            try:
                answers.append(worker.answer(ANSWER_TIMEOUT_S))
            except ShardLostError as error:
                lost.append(rank)
                why = error.why
        self.wait_seconds += time.perf_counter() - before
        if lost:
            raise ShardLostError(sorted(lost), why)
        return answers

    def replace(self, ranks: list[int]) -> None:
        """Start new shards for these ranks; their matches in flight are lost, weights are in the shared memory."""
        for rank in ranks:
            self._workers[rank].process.kill()
            self._workers[rank].stop(5.0)
            self._workers[rank] = self._spawn(rank)
        for rank in ranks:
            self._workers[rank].answer(START_TIMEOUT_S)

    def take_metrics(self) -> dict[str, float]:
        """Seconds that this process waited for others since it was last asked."""
        waited, self.wait_seconds = self.wait_seconds, 0.0
        return {"time/wait_s": waited}

    def task_runner(self) -> None:
        """Evaluations are played here."""

    def leave(self) -> None:
        """Log out of a server that an evaluation is going to use."""
        self.call("leave")

    def use_mix(self, mix: LineupMix) -> None:
        """Draw lineups from this mix from now on."""
        self._mix = mix
        self.call("use_mix", mix)

    def close(self) -> None:
        """Stop the workers and free the memory; safe to call twice."""
        for worker in self._workers.values():
            with contextlib.suppress(OSError):
                worker.pipe.close()
        for worker in self._workers.values():
            worker.stop(3.0)
        self._workers = {}
        if hasattr(self, "own"):  # not when the beginning was interrupted before it
            self.own.collector.game.close()
        if self._segment:
            self._segment.remove()

    def _spawn(self, rank: int) -> _Worker:
        assert self._segment is not None
        return _Worker(rank, self._text, str(self._segment.path), encode(self._mix), self._members)


def worker_main(rank: int, blueprint: str, segment: str, mix: bytes, members: str, pipe: Connection) -> None:
    """A shard's process: build, answer calls, leave when the trainer's end of the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole terminal; the trainer decides what follows
    torch.set_num_threads(1)
    memory, shard = None, None
    try:
        plan = Blueprint.model_validate_json(blueprint)
        shapes = plan.shapes(plan.spec())
        memory = Segment(Path(segment), memory_bytes(shapes, plan.shards))
        shard = plan.build(
            rank,
            lay_out(memory.buffer, shapes, plan.shards),
            decode(mix),
            MemberFolder(Path(members), plan.spec().interface),
        )
        pipe.send_bytes(encode([True, rank]))
        while True:
            method, args = decode(pipe.recv_bytes())
            pipe.send_bytes(encode([True, getattr(shard, method)(*args)]))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        if memory:
            memory.remove()  # the trainer is gone, perhaps killed: leave nothing behind
    except Exception as error:
        with contextlib.suppress(OSError):
            pipe.send_bytes(encode([False, f"{error}\n{traceback.format_exc(limit=8)}"]))
    finally:
        if shard is not None:
            shard.collector.game.close()  # an external server may wait for agents that nobody logs out
