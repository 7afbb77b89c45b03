"""The rows of a remote game as arrays: what each row will hand out next."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import numpy as np

from pvp_ml.games.osrs.remote.agent import Agent, Layout
from pvp_ml.games.osrs.remote.rewards import reward_terms
from pvp_ml.match import RESTING, Fault, StepBuffers
from pvp_ml.spec import GameSpec

_STATE = ("obs", "privileged", "mask", "acting")
_STEP = ("serial", *_STATE, "signals", "reward", "ended", "truncated", "faults")
_ENDING = ("result", "final_obs", "final_privileged")
SEATS = 2


class Ending(IntEnum):
    """How a step left its match."""

    NONE = 0
    ENDED = 1
    TRUNCATED = 2


class Stage:
    """Buffers of M rows. A match that stopped waits here until its row's next match shows its first observation."""

    def __init__(self, spec: GameSpec, matches: int, layout: Layout) -> None:
        self.out = StepBuffers.allocate(spec, matches)
        self._has_ending = np.zeros(matches, np.bool_)
        self._layout = layout

    def first(self, row: int, serial: int, agents: Sequence[Agent], live: Sequence[int]) -> None:
        """A match begins; the numbers of the one before stay."""
        if not self._has_ending[row]:
            self._clear_numbers(row)
        self.out.serial[row] = serial
        self._show(row, agents, live)

    def step(
        self, row: int, agents: Sequence[Agent], live: Sequence[int], ending: Ending, result: tuple[int, int] | None
    ) -> None:
        """The numbers of a step and either the next observation or the last one."""
        out = self.out
        self._clear_numbers(row)
        for seat in live:
            agent = agents[seat]
            out.signals[row, seat] = agent.signals
            now, before = agent.signals.astype(np.float64), agent.before.astype(np.float64)
            outcome = result[seat] if result is not None and ending is Ending.ENDED else None
            out.reward[row, seat] = reward_terms(now, before, agent.hitpoints, outcome)
        if ending is Ending.NONE:
            self._show(row, agents, live)
            return
        out.ended[row], out.truncated[row] = ending is Ending.ENDED, ending is Ending.TRUNCATED
        assert result is not None, "a match that is over has a result"
        out.result[row] = result
        self._views(agents, live, out.final_obs[row], out.final_privileged[row])
        self._has_ending[row] = True

    def void(self, row: int, fault: Fault) -> None:
        """The match counts for nobody."""
        self._clear_numbers(row)
        self.out.faults[row] = fault
        self._has_ending[row] = True

    def rest(self, row: int) -> None:
        """No plan is left for the row."""
        self.out.serial[row] = RESTING
        for name in _STATE:
            getattr(self.out, name)[row] = 0

    def hand_out(self, rows: Sequence[int], out: StepBuffers) -> None:
        """Copy rows to out[:n]."""
        count, staged = len(rows), self.out
        out.match[:count] = rows
        for name in _STEP:
            getattr(out, name)[:count] = getattr(staged, name)[rows]
        for i, row in enumerate(rows):
            if staged.ended[row] or staged.truncated[row]:
                for name in _ENDING:
                    getattr(out, name)[i] = getattr(staged, name)[row]
            self._has_ending[row] = False

    def _clear_numbers(self, row: int) -> None:
        out = self.out
        out.signals[row] = out.reward[row] = 0.0
        out.ended[row] = out.truncated[row] = False
        out.faults[row] = 0

    def _show(self, row: int, agents: Sequence[Agent], live: Sequence[int]) -> None:
        out = self.out
        self._views(agents, live, out.obs[row], out.privileged[row])
        for seat in range(SEATS):
            is_ours = seat in live
            out.acting[row, seat] = is_ours
            out.mask[row, seat] = agents[seat].mask if is_ours else False

    def _views(self, agents: Sequence[Agent], live: Sequence[int], obs: np.ndarray, privileged: np.ndarray) -> None:
        """Both seats' observations; a bot's is what the server tells of the target. Hidden parts go across."""
        for seat in range(SEATS):
            obs[seat] = agents[seat].obs if seat in live else agents[1 - seat].target_obs
        if privileged.shape[1]:
            privileged[0], privileged[1] = obs[1, self._layout.hidden], obs[0, self._layout.hidden]
