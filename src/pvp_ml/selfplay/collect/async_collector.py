"""Filling rollouts from a game that answers row by row: each match has its own place in the rollout.

A match's current observation waits at the last index of the rollout (the stage) until it is decided, then it is filed
under the match's own cursor and its actions are sent. A rollout is over when enough steps have come back, whichever
matches they came from; what is in progress continues while the trainees learn, and becomes the next rollout's first
row with the log-probability it was acted with.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
import numpy.typing as npt

from pvp_ml.compiled.kernels import row_keys
from pvp_ml.errors import UserError
from pvp_ml.match import IDLE, RESTING, AsyncVecGame, SharedServerGame, StepBuffers
from pvp_ml.rl.rewards import RewardMixer
from pvp_ml.rl.rollout import NOBODY
from pvp_ml.selfplay.collect.collector import Collector, Report
from pvp_ml.selfplay.collect.seat_actors import SeatActors
from pvp_ml.selfplay.plans import PlanSource

STALL_S = 120.0
ROOM = 2
"""A match may be so many times as fast as the mean before it has to wait for the next rollout."""

_FILED = ("obs", "privileged", "past", "memory", "mask", "acting", "owner", "seated", "actions", "log_prob", "value")
Indexes = npt.NDArray[np.intp]


class AsyncCollector(Collector):
    """Fills rollouts from one AsyncVecGame."""

    def __init__(
        self, game: AsyncVecGame, steps: int, seat_actors: SeatActors, mixer: RewardMixer, plans: PlanSource
    ) -> None:
        self._prepare(game, ROOM * steps, seat_actors, mixer, plans)
        self._slow_game = game
        self._target = steps * game.matches
        self._inbox = StepBuffers.allocate(game.spec, game.matches)
        self._mixed = np.zeros((game.matches, game.spec.seats), np.float32)
        self._cursor: Indexes = np.zeros(game.matches, np.intp)
        self._held: npt.NDArray[np.bool_] = np.zeros(game.matches, np.bool_)

    def collect(self) -> Report:
        """One rollout: about T steps per match, more of fast ones and fewer of slow ones."""
        report = Report(terms=np.zeros(len(self.spec.rewards)))
        if self.is_started:
            self._begin()
        else:
            self._top_up()
            self._slow_game.start()
            self.is_started = True
        collected = 0
        while collected < self._target and not self._is_blocked():
            self._top_up()
            before = perf_counter()
            count = self._slow_game.recv(max(1, self.game.matches // 8), STALL_S, self._inbox)
            if count == 0:
                raise UserError(f"game '{self.spec.name}' gave no answer for {STALL_S:.0f} s", "see its log")
            received = perf_counter()
            rows = self._inbox.match[:count].astype(np.intp)
            self.inspector.check(self._inbox, rows, follow=False)
            collected += self._receive(rows, report)
            settled = perf_counter()
            self._decide_rows(rows)
            self._file(rows)
            report.split.simulate += received - before
            report.split.other += settled - received
            report.split.infer += perf_counter() - settled
        report.missing = max(0, self._target - collected)
        self.rollout.length[:] = self._cursor
        self._final_values()
        return report

    def _is_blocked(self) -> bool:
        """A match has to wait for the next rollout, and a server that waits for everybody would wait for it."""
        return bool(self._held.any()) and isinstance(self._slow_game, SharedServerGame)

    def _begin(self) -> None:
        """Matches in progress come first; matches that had to wait continue."""
        r, every = self.rollout, np.arange(self.game.matches)
        for name in _FILED:
            array = getattr(r, name)
            array[1] = array[self._cursor, every]
        r.clear()
        self._cursor[:] = 1
        r.held_out[1] = self.active.held_out
        held = np.flatnonzero(self._held)
        self._held[:] = False
        if len(held):
            self._slow_game.send(held.astype(np.int32), r.actions[1, held])

    def _receive(self, rows: Indexes, report: Report) -> int:
        """Book what the rows' last actions brought, and put their new observations on the stage."""
        r, box, count, stage = self.rollout, self._inbox, len(rows), self.rollout.shape.steps + 1
        self.mixer.mix(box.reward[:count], box.signals[:count], self._mixed[:count])
        acted = self._cursor[rows] > 0
        r.reward[self._cursor[rows[acted]], rows[acted]] = self._mixed[:count][acted]
        report.terms += box.reward[:count][acted].sum((0, 1), dtype=np.float64)
        self.active.note(self._mixed[:count], box.signals[:count], rows)
        self.active.clock[rows[~acted]] = 0
        stopped = np.flatnonzero((box.ended[:count] | box.truncated[:count] | (box.faults[:count] != 0)) & acted)
        for i in stopped.tolist():
            self._stop(int(self._cursor[rows[i]]), int(rows[i]), box, i, report)
        for name in ("obs", "privileged", "mask", "acting"):
            getattr(r, name)[stage, rows] = getattr(box, name)[:count]
        new = np.flatnonzero(box.serial[:count] != self.active.serial[rows])
        if len(new):
            self.active.seat(rows[new], box.serial[new])
            self.inspector.seated()
        r.seated[stage, rows] = self.active.trainee[rows]
        r.owner[stage, rows] = np.where(r.acting[stage, rows], self.active.trainee[rows], NOBODY)
        return int(acted.sum())

    def _decide_rows(self, rows: Indexes) -> None:
        """Fill the stage's actions of these rows, each decider called once."""
        r, active, stage, seats = self.rollout, self.active, self.rollout.shape.steps + 1, self.spec.seats
        row_keys(active.seed, active.clock, self._keys)
        r.actions[stage, rows] = IDLE
        asked = np.zeros((self.game.matches, seats), np.bool_)
        asked[rows] = r.acting[stage, rows]
        slots, asked_flat = active.slot.reshape(-1), asked.reshape(-1)
        for slot in np.unique(slots[asked_flat]).tolist():
            if slot >= 0:
                self._act(stage, slot, np.flatnonzero(asked_flat & (slots == slot)))

    def _file(self, rows: Indexes) -> None:
        """Move decided rows from the stage to their place and send their actions, unless their place is the last."""
        r, stage = self.rollout, self.rollout.shape.steps + 1
        self._cursor[rows] += 1
        for name in _FILED:
            array = getattr(r, name)
            array[self._cursor[rows], rows] = array[stage, rows]
        r.held_out[self._cursor[rows], rows] = self.active.held_out[rows]
        is_full = self._cursor[rows] >= stage - 1
        self._held[rows[is_full]] = True
        playing = rows[~is_full & (self.active.serial[rows] != RESTING)]
        if len(playing):
            self._slow_game.send(playing.astype(np.int32), r.actions[stage, playing])
