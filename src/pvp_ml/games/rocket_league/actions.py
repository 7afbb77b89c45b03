"""Action tables: what each choice does to the eight controls, and which choices are legal now.

The control order is fixed everywhere: throttle, steer, pitch, yaw, roll, jump, boost, handbrake.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from pvp_ml.games.rocket_league.config import RocketLeagueConfig
from pvp_ml.match import BoolArray, IntArray
from pvp_ml.spec import Head

CONTROLS = ("throttle", "steer", "pitch", "yaw", "roll", "jump", "boost", "handbrake")
THROTTLE, STEER, PITCH, YAW, ROLL, JUMP, BOOST, HANDBRAKE = range(8)
BUTTONS = (JUMP, BOOST, HANDBRAKE)

Row = tuple[float, ...]

# weights of the controls where a bot's are compared with the rows of a table
_ON_WHEELS = np.array([1.0, 1.0, 0.01, 0.01, 0.01, 100.0, 50.0, 1.0], np.float32)
_IN_AIR = np.array([0.01, 0.01, 1.0, 1.0, 1.0, 100.0, 50.0, 0.01], np.float32)


def rlgym_rows() -> list[Row]:
    """The 90 rows of rlgym: 24 for driving, 66 for the air; a jump row flips with pitch and roll only."""
    rows: list[Row] = []
    for throttle, steer, boost, handbrake in itertools.product((-1, 0, 1), (-1, 0, 1), (0, 1), (0, 1)):
        if not boost or throttle == 1:
            rows.append((throttle, steer, 0, steer, 0, 0, boost, handbrake))
    for pitch, yaw, roll, jump, boost in itertools.product((-1, 0, 1), (-1, 0, 1), (-1, 0, 1), (0, 1), (0, 1)):
        repeats_driving = pitch == roll == jump == 0
        if not (jump and yaw) and not repeats_driving:
            flip = jump and (pitch or roll)  # handbrake on landing makes a wave dash possible
            rows.append((boost, yaw, pitch, yaw, roll, jump, boost, 1 if flip else 0))
    return [tuple(float(v) for v in row) for row in rows]


def hybrid_rows() -> list[Row]:
    """Half-way steering on the ground and in the air, flips in eight directions, double jump, stalls.

    Contains plain "drive straight" and "boost straight", which the table it follows lacked.
    """
    half = (-1.0, -0.5, 0.0, 0.5, 1.0)
    rows: list[Row] = []
    for throttle, steer, handbrake in itertools.product((-1.0, 0.0, 1.0), half, (0.0, 1.0)):
        rows.append((throttle, steer, 0.0, steer, 0.0, 0.0, 0.0, handbrake))
    rows += [(1.0, steer, 0.0, steer, 0.0, 0.0, 1.0, handbrake) for steer in half for handbrake in (0.0, 1.0)]
    for pitch, yaw, roll, boost in itertools.product(half, half, (-1.0, 0.0, 1.0), (0.0, 1.0)):
        if pitch or roll:
            rows.append((boost, yaw, pitch, yaw, roll, 0.0, boost, 0.0))
    for pitch, roll, boost in itertools.product((-1.0, 0.0, 1.0), (-1.0, 0.0, 1.0), (0.0, 1.0)):
        rows.append((1.0, 0.0, pitch, 0.0, roll, 1.0, boost, 1.0 if pitch or roll else 0.0))
    rows += [(1.0, steer, 0.0, steer, 0.0, 1.0, 0.0, 0.0) for steer in (-1.0, 1.0)]
    rows += [(1.0, yaw, 0.0, yaw, -yaw, 1.0, boost, 0.0) for yaw in (-1.0, 1.0) for boost in (0.0, 1.0)]
    return rows


def head_values(bins: int) -> list[tuple[float, ...]]:
    """Values of each of the eight heads, control by control."""
    axis = tuple(float(v) for v in np.linspace(-1.0, 1.0, bins))
    return [(0.0, 1.0) if i in BUTTONS else axis for i in range(len(CONTROLS))]


def row_name(row: Row) -> str:
    """`throttle+1 steer-0.5 boost`; `idle` when every control is at rest."""
    parts = [f"{CONTROLS[i]}{row[i]:+g}" for i in range(5) if row[i]]
    parts += [CONTROLS[i] for i in BUTTONS if row[i]]
    return " ".join(parts) or "idle"


@dataclass(frozen=True)
class ActionSet:
    """How choices become controls.

    `rows` [N,8]: every set of controls that the heads can ask for; `strides` [H] turn choices into a row number.
    `needs_jump`, `needs_boost` [A]: choices that press the button.
    """

    heads: tuple[Head, ...]
    rows: npt.NDArray[np.float32]
    strides: npt.NDArray[np.int64]
    neutral: int
    needs_jump: BoolArray
    needs_boost: BoolArray

    def row_numbers(self, actions: IntArray) -> npt.NDArray[np.int64]:
        """Row per seat [M,S] for checked choices [M,S,H]; IDLE gives the neutral row."""
        numbers: npt.NDArray[np.int64] = actions.astype(np.int64) @ self.strides
        numbers[actions[..., 0] < 0] = self.neutral
        return numbers

    def nearest(self, values: npt.NDArray[np.float32], in_air: BoolArray) -> IntArray:
        """Choices [n,H] whose controls are most like `values` [n,8]: buttons first, then what steers a car there.

        Throttle and wheels do nothing in the air, pitch and roll nothing on the floor.
        """
        weights = np.where((in_air | (values[:, JUMP] > 0.5))[:, None], _IN_AIR, _ON_WHEELS)
        gaps = self.rows[None] - values[:, None]
        rows = np.einsum("nrc,nrc,nc->nr", gaps, gaps, weights).argmin(1)
        sizes = [len(head.choices) for head in self.heads]
        return np.stack(np.unravel_index(rows, sizes), axis=1).astype(np.int32)

    def write_mask(self, may_jump: BoolArray, may_boost: BoolArray, out: BoolArray) -> None:
        """Legal choices [...,A] from "a jump does something" [...] and "there is boost" [...]."""
        np.logical_or(may_jump[..., None], ~self.needs_jump, out=out)
        out &= may_boost[..., None] | ~self.needs_boost


def action_set(config: RocketLeagueConfig) -> ActionSet:
    """The heads and rows of a configuration."""
    return _heads(config.bins) if config.actions == "heads" else _table(config.actions)


@lru_cache(maxsize=4)
def _table(name: str) -> ActionSet:
    rows = rlgym_rows() if name == "rlgym" else hybrid_rows()
    choices = tuple(row_name(row) for row in rows)
    head = Head("controls", choices, table=tuple(rows), doc=f"{name} table: {', '.join(CONTROLS)}")
    values = np.array(rows, np.float32)
    return ActionSet(
        heads=(head,),
        rows=values,
        strides=np.array([1]),
        neutral=choices.index("idle"),
        needs_jump=values[:, JUMP] > 0,
        needs_boost=values[:, BOOST] > 0,
    )


@lru_cache(maxsize=4)
def _heads(bins: int) -> ActionSet:
    values = head_values(bins)
    heads = tuple(
        Head(name, ("up", "down") if i in BUTTONS else tuple(f"{v:+g}" for v in values[i]), table=_columns(values[i]))
        for i, name in enumerate(CONTROLS)
    )
    sizes = [len(v) for v in values]
    strides = np.array([int(np.prod(sizes[i + 1 :])) for i in range(len(sizes))])
    rows = np.array(list(itertools.product(*values)), np.float32)
    neutral = int(np.flatnonzero(~rows.any(1))[0])
    pressed = {
        button: np.concatenate([(np.array(v) > 0) & (i == button) for i, v in enumerate(values)])
        for button in (JUMP, BOOST)
    }
    return ActionSet(heads, rows, strides, neutral, pressed[JUMP], pressed[BOOST])


def _columns(values: tuple[float, ...]) -> tuple[tuple[float, ...], ...]:
    return tuple((v,) for v in values)


@dataclass(frozen=True, slots=True)
class ActionReport:
    """What `pvp-ml game show rocket_league --actions` prints."""

    rows: int
    unique: dict[str, list[float]]
    turning: int
    turning_left: int
    steer_equals_yaw: int
    jumping: int
    boosting: int
    idle: int
    straight: list[int]

    def lines(self) -> list[str]:
        """One fact per line."""
        return [
            f"rows: {self.rows}",
            *(f"{name} values: {', '.join(f'{v:g}' for v in values)}" for name, values in self.unique.items()),
            f"turning rows: {self.turning} ({self.turning_left} left)",
            f"rows with steer = yaw: {self.steer_equals_yaw}",
            f"jump rows: {self.jumping}",
            f"boost rows: {self.boosting}",
            f"idle row: {self.idle}",
            f"drive straight rows: {', '.join(map(str, self.straight))}",
        ]


def report(config: RocketLeagueConfig) -> ActionReport:
    """Facts about the configured table that tell a broken one at a glance."""
    actions = action_set(config)
    rows = actions.rows
    ahead = np.zeros(8, np.float32)
    ahead[THROTTLE] = 1.0
    return ActionReport(
        rows=len(rows),
        unique={CONTROLS[i]: [float(v) for v in np.unique(rows[:, i])] for i in range(5)},
        turning=int((rows[:, STEER] != 0).sum()),
        turning_left=int((rows[:, STEER] < 0).sum()),
        steer_equals_yaw=int((rows[:, STEER] == rows[:, YAW]).sum()),
        jumping=int((rows[:, JUMP] > 0).sum()),
        boosting=int((rows[:, BOOST] > 0).sum()),
        idle=actions.neutral,
        straight=[int(i) for i in np.flatnonzero((rows == ahead).all(1))],
    )
