"""Who is there: workers by rank, what each was asked, and what it answered. Losing one and starting another is here.

A worker that dies is replaced. Until its successor is there the others go on without it; what is lost is the rollout in
flight and the matches in it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy.typing as npt

from pvp_ml.cluster.codec import decode, encode
from pvp_ml.cluster.orders import Arrays, Delivery, Facts, Order
from pvp_ml.cluster.worker import Answer, Handle
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

    def take(self, ticket: Ticket) -> Answer:
        """The answer; raises WorkerLostError."""

    def run(self, errands: Sequence[bytes], bundles: Sequence[Handle]) -> Iterator[bytes]:
        """Do errands as tasks; answers in their order."""

    def close(self) -> None:
        """End all workers."""


@dataclass(slots=True)
class Seat:
    """One rank as the trainer sees it."""

    doing: Literal["starting", "idle", "playing"] = "starting"
    ticket: Ticket = None
    since: float = 0.0
    number: int = 0  # of the order
    version: int = 0  # of the weights that its rollout is acted with
    drawn: int = 0  # plans, as of its last delivery
    losses: int = 0  # in a row
    has_played: bool = False
    state: dict[str, Any] | None = None  # what its next rollout starts from, where a checkpoint says so
    offered: frozenset[str] = frozenset()  # members that its worker knows of
    arrived: tuple[Delivery, Arrays] | None = None


class Roster:
    """All ranks. `forget(rank)` is called when the matches of a rank are lost."""

    def __init__(
        self, crew: WorkerPool, count: int, blueprint: str, expected: Facts, forget: Callable[[int], None],
        now: Callable[[], float],
    ) -> None:  # fmt: skip
        self._crew = crew
        self._blueprint = blueprint
        self._expected = expected
        self._forget = forget
        self._now = now
        self._slowest = 0.0
        self._mix = b""
        self.lost = 0
        self.seats = [Seat() for _ in range(count)]

    def assemble(self, mix: bytes) -> None:
        """Start everybody and wait for them; begin without those that do not come in time."""
        self._mix = mix
        for rank in range(len(self.seats)):
            self._start(rank)
        begun = self._now()
        while any(seat.doing == "starting" for seat in self.seats) and self._now() - begun < START_TIMEOUT_S:
            self.pump(is_first=True)
        self.refuse_nobody()
        missing = len(self.seats) - self.present
        if missing:
            log.warning("%d of %d workers are not there yet; the run begins without them", missing, len(self.seats))

    @property
    def present(self) -> int:
        """Workers that play or could."""
        return sum(seat.doing != "starting" for seat in self.seats)

    def refuse_nobody(self) -> None:
        """Nobody plays, nobody is ready, and nobody came for a long time: say so instead of waiting for ever."""
        if all(seat.doing == "starting" and self._now() - seat.since >= START_TIMEOUT_S for seat in self.seats):
            raise UserError(
                f"no rollout worker started within {START_TIMEOUT_S:.0f} s", "has the cluster free CPUs? `ray status`"
            )

    def order(self, rank: int, order: Order, version: int, weights: Handle, offers: Mapping[str, Handle]) -> None:
        """Ask an idle worker for a rollout; it is told of members that it does not know."""
        seat = self.seats[rank]
        new = {key: handle for key, handle in offers.items() if key not in seat.offered}
        seat.number, seat.version, seat.offered = order.number, version, frozenset(offers)
        self._send(rank, "roll_out", encode(order), weights, new)

    def states(self) -> dict[int, dict[str, Any]]:
        """Rank → state of the games of idle workers."""
        asked = [rank for rank, seat in enumerate(self.seats) if seat.doing == "idle" and seat.state is None]
        for rank in asked:
            self._send(rank, "state")
        return {rank: state for rank in asked if (state := self._settle(rank)) is not None}

    def pump(self, timeout_s: float = POLL_S, is_first: bool = False) -> None:
        """Take answers that are there, waiting a moment for the first; give up workers that are overdue."""
        waiting = {seat.ticket: rank for rank, seat in enumerate(self.seats) if seat.ticket is not None}
        for ticket in self._crew.wait(list(waiting), timeout_s) if waiting else []:
            self._hear(waiting[ticket], is_first)
        for rank, seat in enumerate(self.seats):
            if seat.doing == "playing" and seat.ticket is not None and self._now() - seat.since > self._patience(seat):
                self.lose(rank, "did not answer in time")

    def lose(self, rank: int, why: str) -> None:
        """A worker is gone: another takes its rank."""
        seat = self.seats[rank]
        seat.losses += 1
        self.lost += 1
        if seat.losses > MAX_LOSSES:
            raise UserError(
                f"{seat.losses} workers of rank {rank} were lost one after the other, the last {why}",
                "see `ray status` and the logs of that node",
            )
        log.warning("worker %d %s; a new one starts, its rollout in flight is lost", rank, why)
        if seat.state is None:  # otherwise nothing was played since the checkpoint: the next one starts from there too
            self._forget(rank)
        seat.arrived = None
        self._start(rank)

    def _start(self, rank: int) -> None:
        self._crew.start(rank, self._blueprint, self._mix)
        seat = self.seats[rank]
        seat.doing, seat.since, seat.has_played, seat.offered = "starting", self._now(), False, frozenset()
        seat.ticket = self._crew.ask(rank, "hello")

    def _send(self, rank: int, method: str, *args: Any) -> None:
        seat = self.seats[rank]
        seat.ticket, seat.since, seat.doing = self._crew.ask(rank, method, *args), self._now(), "playing"

    def _patience(self, seat: Seat) -> float:
        return max(LEAST_ANSWER_S, ANSWER_FACTOR * self._slowest) if seat.has_played else FIRST_ANSWER_S

    def _hear(self, rank: int, is_first: bool) -> None:
        seat, answer = self.seats[rank], self._take(rank)
        if answer is None:
            return
        value, arrays = answer
        if seat.doing == "starting":
            self._admit(rank, value, is_first)
        elif value.number == seat.number:
            if seat.has_played:
                self._slowest = max(self._slowest, self._now() - seat.since)
            seat.arrived, seat.has_played, seat.losses, seat.state = (value, arrays), True, 0, None

    def _admit(self, rank: int, facts: Facts, is_first: bool) -> None:
        """A worker said hello: it may play if all is the same there. At the start of a run a wrong node ends it."""
        if problem := differs(facts, self._expected):
            if is_first:
                raise UserError(problem, "install the same on every node")
            self.lose(rank, f"cannot join: {problem}")
            return
        self.seats[rank].doing = "idle"

    def _take(self, rank: int) -> tuple[Any, Arrays] | None:
        """The answer to the rank's ticket, or None when its worker was lost."""
        seat = self.seats[rank]
        try:
            message, arrays = self._crew.take(seat.ticket)
        except WorkerLostError as error:
            self.lose(rank, str(error))
            return None
        seat.ticket = None
        is_good, value = decode(message)
        if not is_good:
            raise UserError(f"worker {rank} failed: {value}")
        return value, arrays

    def _settle(self, rank: int) -> dict[str, Any] | None:
        """The state that this rank was asked for; None when it was lost meanwhile."""
        seat = self.seats[rank]
        while not self._crew.wait([seat.ticket], POLL_S):
            if self._now() - seat.since > LEAST_ANSWER_S:
                self.lose(rank, "did not answer in time")
                return None
        answer = self._take(rank)
        if answer is None:
            return None
        seat.doing = "idle"
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
