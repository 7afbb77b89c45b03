"""An AsyncVecGame driven in step: every live row is sent and awaited, so that it looks like a VecGame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, ClassVar, Literal

import numpy as np

from pvp_ml.errors import UserError
from pvp_ml.match import RESTING, ActionError, AsyncVecGame, IntArray, MatchPlan, StepBuffers, VecGame

_CLEARED = ("obs", "privileged", "mask", "acting", "signals", "reward", "ended", "truncated", "faults")
_LAST_ONLY = ("result", "final_obs", "final_privileged")


class Synchronous:
    """Costs the waiting that an asynchronous collector avoids; has no snapshot, because the rules run elsewhere."""

    runs_elsewhere: ClassVar[Literal[False]] = False  # for the caller

    def __init__(self, game: AsyncVecGame, timeout_s: float = 60.0) -> None:
        self.spec, self.matches = game.spec, game.matches
        self.game, self._timeout_s = game, timeout_s
        self._inbox = StepBuffers.allocate(game.spec, game.matches)
        self._serial = np.full(game.matches, RESTING, np.int64)
        self._untaken = 0  # plans queued that no row has taken

    def queue(self, plans: Sequence[MatchPlan]) -> None:
        """Append plans; rows take them in order as they become free."""
        self.game.queue(plans)
        self._untaken += len(plans)

    def start(self, out: StepBuffers) -> None:
        """Begin the first matches and wait for every one."""
        self.game.start()
        self._await(np.zeros(self.matches, np.bool_), out)

    def step(self, actions: IntArray, out: StepBuffers) -> None:
        """Send every live row its actions [S,H] and wait for all answers."""
        if getattr(actions, "shape", (0,))[0] != self.matches:
            raise ActionError(f"game '{self.spec.name}': actions for {len(actions)} matches, it has {self.matches}")
        live = self._serial != RESTING
        rows = np.flatnonzero(live).astype(np.int32)
        if len(rows):
            self.game.send(rows, actions[rows])
        self._await(live, out)

    def snapshot(self) -> bytes:
        """Refused."""
        raise UserError(f"game '{self.spec.name}' runs in other processes and has no snapshot")

    def restore(self, data: bytes) -> None:
        """Refused."""
        raise UserError(f"game '{self.spec.name}' runs in other processes and has no snapshot")

    def view(self, match: int) -> dict[str, Any]:
        """A JSON description of one row's state for people."""
        return self.game.view(match)

    def close(self) -> None:
        """Stop the processes."""
        self.game.close()

    def _await(self, sent: Any, out: StepBuffers) -> None:
        """Receive until every sent row answered and no free row is left that a queued plan could take."""
        awaited = sent.copy()
        for name in _CLEARED:
            getattr(out, name)[...] = 0
        out.match[...] = np.arange(self.matches)
        while awaited.any() or (self._untaken and (self._serial == RESTING).any()):
            count = self.game.recv(1, self._timeout_s, self._inbox)
            if count < 1:
                missing = ", ".join(str(row) for row in np.flatnonzero(awaited)[:8]) or "new matches"
                raise UserError(f"game '{self.spec.name}': no answer in {self._timeout_s} s, waiting for {missing}")
            for i in range(count):
                row = int(self._inbox.match[i])
                self._take(i, row, out)
                awaited[row] = False
        out.serial[...] = self._serial

    def _take(self, i: int, row: int, out: StepBuffers) -> None:
        """Copy answer i to its row; a row that ends and then starts through a second answer keeps its ending."""
        stopped = bool(self._inbox.ended[i] or self._inbox.truncated[i])
        begins = self._inbox.serial[i] not in (RESTING, self._serial[row])
        had_ending = bool(out.ended[row] or out.truncated[row])
        for field in fields(StepBuffers):
            name = field.name
            if name in ("match", "serial") or (name in _LAST_ONLY and not stopped):
                continue
            if had_ending and name in ("signals", "reward", "ended", "truncated", "faults"):
                continue
            getattr(out, name)[row] = getattr(self._inbox, name)[i]
        self._serial[row] = self._inbox.serial[i]
        self._untaken -= begins


def in_step(game: VecGame | AsyncVecGame, timeout_s: float = 60.0) -> VecGame:
    """The game itself, or an asynchronous one made to look like it."""
    return Synchronous(game, timeout_s) if game.runs_elsewhere else game
