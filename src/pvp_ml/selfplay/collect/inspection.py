"""Simulators are not trusted: what they wrote is checked every step. A match that breaks the contract becomes void, and
a game that often does stops the run. Every report names the match and its seed, so that it can be played again.
"""

from __future__ import annotations

import logging
from collections import deque

import numpy as np
import numpy.typing as npt

from pvp_ml.errors import UserError
from pvp_ml.match import RESTING, Fault, StepBuffers
from pvp_ml.rl.rollout import NOBODY
from pvp_ml.selfplay.collect.active_matches import ActiveMatches
from pvp_ml.selfplay.collect.kernels import inspect as kernels
from pvp_ml.spec import GameSpec

log = logging.getLogger(__name__)

MAX_VIOLATIONS = 3
PER_MATCHES = 1_000
LIES = {
    kernels.BAD_OBS: "an observation is not a finite number",
    kernels.BAD_ID: "an id feature is outside its vocabulary",
    kernels.BAD_PRIVILEGED: "a privileged feature is not a finite number",
    kernels.BAD_REWARD: "a reward term is not a finite number",
    kernels.BAD_SIGNAL: "a signal is not a finite number",
    kernels.EMPTY_MASK: "a head without fallback has no legal choice",
    kernels.BAD_RESULT: "a result is not win, tie or loss",
    kernels.BOTH_ENDS: "the match is both ended and truncated",
    kernels.BAD_FAULT: "an unknown fault code",
    kernels.BAD_FINAL: "a final observation is not a finite number",
    kernels.TOO_LONG: "the match continues beyond the game's step cap",
    kernels.RESTING_ACTS: "a seat acts where no match is played",
}

ABOUT_THE_NEXT = (
    kernels.BAD_OBS, kernels.BAD_ID, kernels.BAD_PRIVILEGED, kernels.EMPTY_MASK, kernels.RESTING_ACTS,
)  # fmt: skip
"""Where a match stops, these speak of the one that begins in its row."""


class ContractError(UserError):
    """The game broke its contract in a way, or so often, that training on it would teach nonsense."""


class Inspector:
    """Checks buffers in place: what is wrong is made harmless and its match is marked void."""

    def __init__(self, spec: GameSpec, active: ActiveMatches) -> None:
        self._spec = spec
        self._active = active
        self._vocab = np.array([f.vocab or 0 for f in spec.features], np.int32)
        self._needed = np.array([head.fallback is None for head in spec.heads])
        self._start = np.concatenate([[0], np.cumsum(spec.head_sizes)]).astype(np.int32)
        self._last_fault = int(max(Fault))  # numba takes an enum too, but looks up its type for 0.5 ms at every call
        self._verdict = np.zeros(len(active.serial), np.int32)
        self._next: list[tuple[int, str]] = []
        self._finished = 0
        self._recent: deque[int] = deque(maxlen=MAX_VIOLATIONS)
        self.violations = 0

    def check(self, out: StepBuffers, rows: npt.NDArray[np.intp], steps: int = 1, follow: bool = True) -> None:
        """The first len(rows) rows of the buffers speak of these matches, whose clocks are `steps` behind.

        `follow`: every row has been asked, so that a match may only change where one stopped.
        """
        n = len(rows)
        if follow:
            self._check_serials(out, rows)
        found = kernels.find_violations(
            n, out.obs, out.privileged, out.mask, out.acting, out.reward, out.signals, out.ended, out.truncated,
            out.result, out.final_obs, out.final_privileged, out.faults, out.serial == RESTING,
            self._active.clock[rows] + steps, self._spec.max_steps, self._vocab, self._needed, self._start,
            self._last_fault, self._verdict,
        )  # fmt: skip
        if found:
            for i in np.flatnonzero(self._verdict[:n]).tolist():
                code = int(self._verdict[i])
                is_next = code in ABOUT_THE_NEXT and bool(out.ended[i] or out.truncated[i] or out.faults[i])
                self._cleanse(out, i)
                if is_next:
                    self._next.append((int(rows[i]), LIES[code]))
                else:
                    self.report(int(rows[i]), LIES[code])

    def seated(self) -> None:
        """New matches were seated: those that began with a lie are void at once."""
        found, self._next = self._next, []
        for row, what in found:
            self.report(row, what)

    def finished(self, matches: int) -> None:
        """So many matches stopped."""
        self._finished += matches

    def report(self, row: int, what: str) -> None:
        """The match in this row is void from now on; the third lie within a thousand matches stops the run."""
        active = self._active
        if active.is_void[row] and active.fault[row] == Fault.BAD_DATA:
            return
        active.is_void[row], active.fault[row], active.trainee[row] = True, Fault.BAD_DATA, NOBODY
        self.violations += 1
        self._recent.append(self._finished)
        text = (
            f"game '{self._spec.name}', match {active.serial[row]} (seed {active.seed[row]}, step {active.clock[row]})"
        )
        log.warning("%s: %s; the match is void", text, what)
        if len(self._recent) == MAX_VIOLATIONS and self._finished - self._recent[0] < PER_MATCHES:
            raise ContractError(
                f"{text}: {what}; {MAX_VIOLATIONS} such matches within {PER_MATCHES}",
                f"check the game with `pvp-ml game check {self._spec.name}`",
            )

    def _check_serials(self, out: StepBuffers, rows: npt.NDArray[np.intp]) -> None:
        """A row keeps its match until it stops, and then gets another: anything else cannot be repaired."""
        active, n = self._active, len(rows)
        stopped = out.ended[:n] | out.truncated[:n] | (out.faults[:n] != 0)
        changed = out.serial[:n] != active.serial[rows]
        for i in np.flatnonzero(changed != stopped).tolist():
            if active.serial[rows[i]] == RESTING:
                continue
            why = "stopped, but continues" if stopped[i] else f"was replaced by match {out.serial[i]} without an end"
            raise ContractError(
                f"game '{self._spec.name}', match {active.serial[rows[i]]} (seed {active.seed[rows[i]]}) {why}",
                f"check the game with `pvp-ml game check {self._spec.name}`",
            )
        for i in np.flatnonzero(changed).tolist():
            if out.serial[i] != RESTING and not active.is_expected(int(out.serial[i])):
                raise ContractError(
                    f"game '{self._spec.name}' started match {out.serial[i]}, which was not planned or is over",
                    f"check the game with `pvp-ml game check {self._spec.name}`",
                )

    def _cleanse(self, out: StepBuffers, i: int) -> None:
        """Numbers that are not finite, ids and masks of row i become harmless; the match plays on, for nobody."""
        for array in (out.obs, out.privileged, out.reward, out.signals, out.final_obs, out.final_privileged):
            np.nan_to_num(array[i], copy=False, nan=0.0, posinf=0.0, neginf=0.0)
        for d in np.flatnonzero(self._vocab):
            seen = out.obs[i, :, d]
            seen[(seen < 0) | (seen >= self._vocab[d]) | (seen != np.floor(seen))] = 0.0
        for h, (low, high) in enumerate(zip(self._start[:-1], self._start[1:], strict=True)):
            if self._needed[h]:
                out.mask[i, ~out.mask[i, :, low:high].any(axis=1), low:high] = True
        if out.serial[i] == RESTING:
            out.acting[i] = False
        if out.ended[i] and out.truncated[i]:
            out.truncated[i] = False
        if not 0 <= out.faults[i] <= max(Fault):
            out.faults[i] = Fault.BAD_DATA
        np.clip(out.result[i], -1, 1, out=out.result[i])
