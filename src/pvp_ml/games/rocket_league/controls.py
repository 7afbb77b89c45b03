"""From chosen rows to what the cars receive: sticky buttons, prebuilt controls, the last step's controls."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pvp_ml.games.rocket_league.actions import BUTTONS, JUMP, ActionSet
from pvp_ml.games.rocket_league.derived_state import Bools, Floats
from pvp_ml.games.rocket_league.simulator import Arenas

_BITS = np.array([1, 2, 4])
FIRST_BUTTON = JUMP  # the buttons are the last three controls


class Pedals:
    """M×S sets of controls. A CarControls object is built once per row and button state, then reused."""

    def __init__(self, arenas: Arenas, actions: ActionSet, sticky_steps: int) -> None:
        shape = (arenas.cars.shape[0], arenas.seats)
        self._arenas, self._actions, self._sticky_steps = arenas, actions, sticky_steps
        self._built = np.full(len(actions.rows) * 8, None)  # by code; see `_build`
        self._is_built = np.zeros(len(self._built), np.bool_)
        self._codes = np.arange(len(actions.rows)) * 8 + (actions.rows[:, FIRST_BUTTON:] > 0.5) @ _BITS
        self.row = np.full(shape, actions.neutral)  # the decision in force
        self.values = np.zeros((*shape, 8), np.float32)  # the controls of the last step
        self._down = np.zeros((*shape, len(BUTTONS)), np.int32)  # steps that a button still stays down

    def release(self, rows: npt.NDArray[np.int64]) -> None:
        """Hands off in these matches."""
        self.row[rows] = self._actions.neutral
        self.values[rows] = 0.0
        self._down[rows] = 0

    def press(self, matches: list[int], driven: Bools, driven_values: Floats) -> list[list[Any]]:
        """The controls [match][seat] of this step; seats that a bot drives [M,S] get their own values [M,S,8]."""
        values, codes = self._actions.rows[self.row], self._codes[self.row]
        if self._sticky_steps:
            pressed = values[..., FIRST_BUTTON:] > 0.5
            self._down = np.where(pressed, self._sticky_steps, np.maximum(self._down - 1, 0)).astype(np.int32)
            values[..., FIRST_BUTTON:] = self._down > 0
            codes = self.row * 8 + (self._down > 0) @ _BITS
        wanted = codes[matches]
        if not self._is_built[wanted].all():
            self._build(wanted)
        inputs: list[list[Any]] = self._built[wanted].tolist()
        if driven.any():
            values[driven] = driven_values[driven]
            place = {match: i for i, match in enumerate(matches)}
            for match, seat in np.argwhere(driven).tolist():
                if match in place:
                    inputs[place[match]][seat] = self._arenas.controls(driven_values[match, seat].tolist())
        self.values = values
        return inputs

    def _build(self, codes: npt.NDArray[np.int64]) -> None:
        for code in codes[~self._is_built[codes]].tolist():
            row = self._actions.rows[code // 8].tolist()
            row[FIRST_BUTTON:] = [float(code & bit > 0) for bit in _BITS.tolist()]
            self._built[code] = self._arenas.controls(row)
            self._is_built[code] = True
