"""What each row of a game is playing right now: its plan, who decides for its seats, and what has happened so far."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pvp_ml.chance import scramble, scrambles
from pvp_ml.errors import UserError
from pvp_ml.match import RESTING, Fault, FloatArray, Live, MatchPlan, Member, Occupant, Scripted, StepBuffers
from pvp_ml.model.frame_memory import FrameMemory
from pvp_ml.rl.rollout import NOBODY
from pvp_ml.selfplay.collect.seat_actors import UNDECIDED, SeatActors
from pvp_ml.selfplay.tally import SignalFolds
from pvp_ml.spec import GameSpec

log = logging.getLogger(__name__)

_GREEDY_CHANNEL = 17
_HELD_OUT_CHANNEL = 23
HELD_OUT = 0.1
"""Share of matches whose outcome the win head never learns from, so that its quality is measured on them."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A match that stopped. `signals` [S,K] are folded as the spec says; `score` [S] is the summed mixed reward."""

    plan: MatchPlan
    steps: int
    result: tuple[int, ...]
    score: tuple[float, ...]
    truncated: bool
    fault: int
    signals: FloatArray


class ActiveMatches:
    """Arrays over rows and seats; Python touches them only when a match starts or stops."""

    def __init__(self, spec: GameSpec, matches: int, seat_actors: SeatActors) -> None:
        shape = (matches, spec.seats)
        self._spec = spec
        self._deciders = seat_actors
        self.serial: npt.NDArray[np.int64] = np.full(matches, RESTING, np.int64)
        self.seed: npt.NDArray[np.uint64] = np.zeros(matches, np.uint64)
        self.clock: npt.NDArray[np.int32] = np.zeros(matches, np.int32)
        self.slot: npt.NDArray[np.int32] = np.full(shape, UNDECIDED, np.int32)
        self.trainee: npt.NDArray[np.int8] = np.full(shape, NOBODY, np.int8)
        self.greedy: npt.NDArray[np.bool_] = np.zeros(shape, np.bool_)
        self.delay: FloatArray = np.zeros(shape, np.float32)
        self.noise: FloatArray = np.zeros(shape, np.float32)
        self.held_out: npt.NDArray[np.bool_] = np.zeros(matches, np.bool_)  # the match only measures the win head
        self.is_void: npt.NDArray[np.bool_] = np.zeros(matches, np.bool_)
        self.fault: npt.NDArray[np.int32] = np.zeros(matches, np.int32)  # why a match is void: Fault
        self.score: FloatArray = np.zeros(shape, np.float32)
        self._plans: dict[int, MatchPlan] = {}
        self._folds = SignalFolds(spec, matches)
        self.frame_memory = FrameMemory(matches * spec.seats, spec.obs_size)

    def plan(self, row: int) -> MatchPlan | None:
        """The plan that this row plays; None when it rests."""
        return self._plans.get(int(self.serial[row]))

    def expect(self, plans: list[MatchPlan]) -> None:
        """These plans were queued: remember them until their match stops."""
        self._plans.update((plan.serial, plan) for plan in plans)

    def seat(self, rows: npt.NDArray[np.intp], serials: npt.NDArray[np.int64]) -> None:
        """Matches start in these rows: set up who decides."""
        self.frame_memory.forget((rows[:, None] * self._spec.seats + np.arange(self._spec.seats)).reshape(-1))
        self.serial[rows] = serials
        self.slot[rows] = UNDECIDED
        self.trainee[rows] = NOBODY
        self.fault[rows] = Fault.NONE
        for counted in (self.clock, self.greedy, self.is_void, self.delay, self.noise):
            counted[rows] = 0
        playing = rows[serials != RESTING]
        plans = [self._plans[serial] for serial in serials[serials != RESTING].tolist()]
        self.seed[playing] = seeds = np.array([plan.seed for plan in plans], np.uint64)
        self.held_out[playing] = scrambles(seeds, _HELD_OUT_CHANNEL) / 2.0**64 < HELD_OUT
        for row, plan in zip(playing.tolist(), plans, strict=True):
            for seat, occupant in enumerate(plan.lineup):
                self._seat_one(row, seat, plan.seed, occupant)

    def _seat_one(self, row: int, seat: int, seed: int, occupant: Occupant) -> None:
        try:
            self.slot[row, seat] = self._deciders.slot(occupant)
        except UserError as error:  # one corrupt file must not stop a run: the match counts for nobody
            log.warning("match %d is void: %s", int(self.serial[row]), error)
            self.is_void[row], self.fault[row] = True, Fault.CRASHED
        match occupant:
            case Live(trainee):
                self.trainee[row, seat] = self._deciders.trainees.index(trainee)
            case Member(_, delay, greedy, noise):
                self.delay[row, seat], self.noise[row, seat] = delay, noise
                self.greedy[row, seat] = scramble(seed, _GREEDY_CHANNEL, seat) / 2.0**64 < greedy
            case Scripted(name, delay):
                self.delay[row, seat] = delay
                if not self.is_void[row]:
                    self._deciders.scripted(name).begin(self.serial[row : row + 1])

    def note(self, reward: FloatArray, signals: FloatArray, rows: npt.NDArray[np.intp] | slice = slice(None)) -> None:
        """Add one step's mixed reward [n,S] and signals [n,S,K] of these rows."""
        self._folds.add(rows, signals, self.clock[rows] == 0)
        self.clock[rows] += 1
        self.score[rows] += reward

    def stop(self, row: int, out: StepBuffers, at: int) -> Outcome:
        """The match in this row stopped: report it from index `at` of the buffers, and clear what was counted."""
        outcome = Outcome(
            plan=self._plans.pop(int(self.serial[row])),
            steps=int(self.clock[row]),
            result=tuple(out.result[at].tolist()),
            score=tuple(self.score[row].tolist()),
            truncated=bool(out.truncated[at]),
            fault=int(out.faults[at]) or int(self.fault[row]),
            signals=self._folds.of(row, int(self.clock[row])),
        )
        self.score[row] = 0.0
        scripted = [occupant.name for occupant in outcome.plan.lineup if isinstance(occupant, Scripted)]
        for name in dict.fromkeys(scripted):
            if not self.is_void[row]:
                self._deciders.scripted(name).end(self.serial[row : row + 1])
        return outcome

    def is_expected(self, serial: int) -> bool:
        """Whether that match was planned and has not stopped."""
        return serial in self._plans

    def waiting(self) -> int:
        """Plans that were queued and have not started."""
        return len(self._plans) - int((self.serial != RESTING).sum())

    @property
    def plans(self) -> list[MatchPlan]:
        """All plans in play or queued, in serial order."""
        return [self._plans[serial] for serial in sorted(self._plans)]

    def state(self) -> dict[str, npt.NDArray[np.generic]]:
        """The arrays that a resumed run needs besides the plans."""
        names = ("serial", "clock", "score", "is_void", "fault")
        kept = {name: getattr(self, name).copy() for name in names} | {"folded": self._folds.value.copy()}
        return kept | {f"recall/{key}": array for key, array in self.frame_memory.state().items()}

    def restore(self, state: dict[str, npt.NDArray[np.generic]], plans: list[MatchPlan]) -> None:
        """Continue from `state`."""
        self._plans = {plan.serial: plan for plan in plans}
        rows = np.arange(len(self.serial))
        self.seat(rows, np.asarray(state["serial"], np.int64))
        self.clock[:] = state["clock"]
        self.score[:] = state["score"]
        self.is_void |= state["is_void"].astype(np.bool_)
        self.fault[:] = state["fault"]
        self.trainee[self.fault == Fault.BAD_DATA] = NOBODY
        self._folds.value[:] = state["folded"]
        self.frame_memory.restore({k.removeprefix("recall/"): a for k, a in state.items() if k.startswith("recall/")})
