"""Who is there: workers by rank, what each was asked, and what it answered. Losing one and starting another is here.

A worker that dies is replaced. Until its successor is ready the others continue without it; lost is the rollout in
flight and the matches in it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy.typing as npt

from pvp_ml.cluster.codec import decode, encode
from pvp_ml.cluster.messages import Arrays, Delivery, Facts, RolloutRequest
from pvp_ml.cluster.worker import Handle, WorkerReply
from pvp_ml.errors import UserError

log = logging.getLogger(__name__)

START_TIMEOUT_S = 180.0
"""How long a run waits for its workers before it begins with those that are there."""
FIRST_ANSWER_S, LEAST_ANSWER_S, ANSWER_FACTOR = 300.0, 60.0, 10.0
"""A worker's first rollout may take so long (it compiles); later ones this factor of the slowest, and at least that."""
MAX_LOSSES = 5
"""Workers of one rank that may die one after the other without delivering anything."""
POLL_S = 1.0

Ticket = Any


class WorkerLostError(Exception):
    """A worker died, or its node did, or what it had delivered is gone."""


class WorkerPool(Protocol):
    """Workers somewhere, one per rank, and the transport to them."""

    version: str  # of Ray; empty without it

    def start(self, rank: int, blueprint: str, mix: bytes) -> None:
        """Begin to start a worker; one that holds this rank is ended."""

    def ask(self, rank: int, method: str, *args: Any) -> Ticket:
        """Call a method of `RolloutWorker`; returns at once."""

    def put(self, arrays: Sequence[npt.NDArray[Any]]) -> Handle:
        """Arrays that workers can fetch; they are copied now."""

    def wait(self, tickets: Sequence[Ticket], timeout_s: float) -> list[Ticket]:
        """Tickets that are answered or lost; returns when there is one, or when the time is over."""

    def take(self, ticket: Ticket) -> WorkerReply:
        """The answer; raises WorkerLostError."""

    def run(self, tasks: Sequence[bytes], bundles: Sequence[Handle]) -> Iterator[bytes]:
        """Run the tasks; answers in their order."""

    def close(self) -> None:
        """End all workers."""


@dataclass(slots=True)
class WorkerSlot:
    """One rank as the trainer sees it."""

    doing: Literal["starting", "idle", "playing"] = "starting"
    ticket: Ticket = None
    since: float = 0.0
    number: int = 0  # of the request
    version: int = 0  # of the weights that its rollout is acted with
    drawn: int = 0  # plans, as of its last delivery
    losses: int = 0  # in a row
    has_played: bool = False
    state: dict[str, Any] | None = None  # what its next rollout starts from, where a checkpoint says so
    offered: frozenset[str] = frozenset()  # members that its worker has
    arrived: tuple[Delivery, Arrays] | None = None


class Roster:
    """All ranks. `forget(rank)` is called when the matches of a rank are lost."""

    def __init__(
        self, pool: WorkerPool, count: int, blueprint: str, expected: Facts, forget: Callable[[int], None],
        now: Callable[[], float],
    ) -> None:  # fmt: skip
        self._pool = pool
        self._blueprint = blueprint
        self._expected = expected
        self._forget = forget
        self._now = now
        self._slowest = 0.0
        self._mix = b""
        self.lost = 0
        self.slots = [WorkerSlot() for _ in range(count)]

    def assemble(self, mix: bytes) -> None:
        """Start everybody and wait for them; begin without those that do not come in time."""
        self._mix = mix
        for rank in range(len(self.slots)):
            self._start(rank)
        begun = self._now()
        while any(slot.doing == "starting" for slot in self.slots) and self._now() - begun < START_TIMEOUT_S:
            self.pump(is_first=True)
        self.refuse_nobody()
        missing = len(self.slots) - self.present
        if missing:
            log.warning("%d of %d workers have not joined yet; the run starts without them", missing, len(self.slots))

    @property
    def present(self) -> int:
        """Workers that play or could."""
        return sum(slot.doing != "starting" for slot in self.slots)

    def refuse_nobody(self) -> None:
        """Nobody plays, nobody is ready, and nobody came for a long time: say so instead of waiting for ever."""
        if all(slot.doing == "starting" and self._now() - slot.since >= START_TIMEOUT_S for slot in self.slots):
            raise UserError(
                f"no rollout worker started within {START_TIMEOUT_S:.0f} s", "has the cluster free CPUs? `ray status`"
            )

    def request(
        self, rank: int, request: RolloutRequest, version: int, weights: Handle, offers: Mapping[str, Handle]
    ) -> None:
        """Ask an idle worker for a rollout; members that it does not know are sent along."""
        slot = self.slots[rank]
        new = {key: handle for key, handle in offers.items() if key not in slot.offered}
        slot.number, slot.version, slot.offered = request.number, version, frozenset(offers)
        self._send(rank, "roll_out", encode(request), weights, new)

    def states(self) -> dict[int, dict[str, Any]]:
        """Rank → state of the games of idle workers."""
        asked = [rank for rank, slot in enumerate(self.slots) if slot.doing == "idle" and slot.state is None]
        for rank in asked:
            self._send(rank, "state")
        return {rank: state for rank in asked if (state := self._settle(rank)) is not None}

    def pump(self, timeout_s: float = POLL_S, is_first: bool = False) -> None:
        """Take answers that are there, waiting a moment for the first; give up workers that are overdue."""
        waiting = {slot.ticket: rank for rank, slot in enumerate(self.slots) if slot.ticket is not None}
        for ticket in self._pool.wait(list(waiting), timeout_s) if waiting else []:
            self._hear(waiting[ticket], is_first)
        for rank, slot in enumerate(self.slots):
            if slot.doing == "playing" and slot.ticket is not None and self._now() - slot.since > self._patience(slot):
                self.lose(rank, "did not answer in time")

    def lose(self, rank: int, why: str) -> None:
        """A worker is gone: another takes its rank."""
        slot = self.slots[rank]
        slot.losses += 1
        self.lost += 1
        if slot.losses > MAX_LOSSES:
            raise UserError(
                f"{slot.losses} workers of rank {rank} were lost one after the other, the last {why}",
                "see `ray status` and the logs of that node",
            )
        log.warning("worker %d %s; starting a new one, its current rollout is lost", rank, why)
        if slot.state is None:  # otherwise nothing was played since the checkpoint: the next one starts from there too
            self._forget(rank)
        slot.arrived = None
        self._start(rank)

    def _start(self, rank: int) -> None:
        self._pool.start(rank, self._blueprint, self._mix)
        slot = self.slots[rank]
        slot.doing, slot.since, slot.has_played, slot.offered = "starting", self._now(), False, frozenset()
        slot.ticket = self._pool.ask(rank, "hello")

    def _send(self, rank: int, method: str, *args: Any) -> None:
        slot = self.slots[rank]
        slot.ticket, slot.since, slot.doing = self._pool.ask(rank, method, *args), self._now(), "playing"

    def _patience(self, slot: WorkerSlot) -> float:
        return max(LEAST_ANSWER_S, ANSWER_FACTOR * self._slowest) if slot.has_played else FIRST_ANSWER_S

    def _hear(self, rank: int, is_first: bool) -> None:
        slot, answer = self.slots[rank], self._take(rank)
        if answer is None:
            return
        value, arrays = answer
        if slot.doing == "starting":
            self._admit(rank, value, is_first)
        elif value.number == slot.number:
            if slot.has_played:
                self._slowest = max(self._slowest, self._now() - slot.since)
            slot.arrived, slot.has_played, slot.losses, slot.state = (value, arrays), True, 0, None

    def _admit(self, rank: int, facts: Facts, is_first: bool) -> None:
        """A worker said hello: it may play if all is the same there. At the start of a run a wrong node ends it."""
        if problem := differs(facts, self._expected):
            if is_first:
                raise UserError(problem, "install the same on every node")
            self.lose(rank, f"cannot join: {problem}")
            return
        self.slots[rank].doing = "idle"

    def _take(self, rank: int) -> tuple[Any, Arrays] | None:
        """The answer to the rank's ticket, or None when its worker was lost."""
        slot = self.slots[rank]
        try:
            message, arrays = self._pool.take(slot.ticket)
        except WorkerLostError as error:
            self.lose(rank, str(error))
            return None
        slot.ticket = None
        is_good, value = decode(message)
        if not is_good:
            raise UserError(f"worker {rank} failed: {value}")
        return value, arrays

    def _settle(self, rank: int) -> dict[str, Any] | None:
        """The state that this rank was asked for; None when it was lost meanwhile."""
        slot = self.slots[rank]
        while not self._pool.wait([slot.ticket], POLL_S):
            if self._now() - slot.since > LEAST_ANSWER_S:
                self.lose(rank, "did not answer in time")
                return None
        answer = self._take(rank)
        if answer is None:
            return None
        slot.doing = "idle"
        state: dict[str, Any] = answer[0]
        return state


def differs(there: Facts, here: Facts) -> str:
    """What is not the same on that node, in words; empty when all is."""
    rows = (
        ("pvp-ml", there.package, here.package),
        ("Ray", there.ray, here.ray),
        ("the game", there.game_digest[:12], here.game_digest[:12]),
        ("the configuration", there.blueprint_hash, here.blueprint_hash),
    )
    return "; ".join(f"node '{there.host}' has {what} {a}, this process {b}" for what, a, b in rows if a != b)
