"""Playing a game with reproducible random actions and writing down all that crosses the border.

The actions of a match depend on its seed and step alone, so that two recordings of the same plan can be compared
whatever rows and neighbours they had.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields

import numpy as np
import numpy.typing as npt

from pvp_ml.chance import uniforms
from pvp_ml.games.legal import Legality
from pvp_ml.match import IDLE, RESTING, IntArray, MatchPlan, StepBuffers, VecGame
from pvp_ml.spec import GameSpec

SEEN = ("obs", "privileged", "mask", "acting")
HAPPENED = ("reward", "signals", "ended", "truncated", "faults")
ENDING = ("result", "final_obs", "final_privileged")
_POISON = {"f": np.nan, "i": 77, "b": True}
_ACTION_SALT = 0x5EED


@dataclass(slots=True)
class Trace:
    """One match: what was seen, done and reported at each step, by name; the endings only once it stopped."""

    plan: MatchPlan
    steps: list[dict[str, npt.NDArray[np.generic]]] = field(default_factory=list)
    ending: dict[str, npt.NDArray[np.generic]] = field(default_factory=dict)

    @property
    def fault(self) -> int:
        """The fault that voided it, 0 for none."""
        return int(self.steps[-1]["faults"]) if self.ending else 0


Observer = Callable[[IntArray, StepBuffers], None]


class Playthrough:
    """Plays one game and keeps the traces.

    `idle` is the chance that an acting seat gives no input; `filler` is what seats get that do not act.
    """

    def __init__(self, game: VecGame, plans: Sequence[MatchPlan], idle: float = 0.0, filler: int = IDLE) -> None:
        self.game, self.spec = game, game.spec
        self.plans = {plan.serial: plan for plan in plans}
        self.out = StepBuffers.allocate(game.spec, game.matches)
        self.traces: dict[int, Trace] = {}
        self.started: list[tuple[int, int, int]] = []  # (step, row, serial) as matches begin
        self.step_count = 0
        self._legality = Legality(game.spec)
        self._idle, self._filler = idle, filler
        self._clock = np.zeros(game.matches, np.int64)

    def begin(self) -> None:
        """Queue the plans and start."""
        self.game.queue(list(self.plans.values()))
        self.game.start(self.out)
        self._note_starts(np.full(self.game.matches, RESTING, np.int64))

    def finish(self, most_steps: int, watch: Observer | None = None) -> None:
        """Step until every row rests, or that many steps."""
        for _ in range(most_steps):
            if (self.out.serial == RESTING).all():
                return
            self.step(watch=watch)

    def step(self, actions: IntArray | None = None, watch: Observer | None = None) -> None:
        """One step with the given actions, or with random legal ones."""
        actions = self.actions() if actions is None else actions
        serials = self.out.serial.copy()
        seen = {name: getattr(self.out, name).copy() for name in SEEN}
        self.game.step(actions, self.out)
        self.step_count += 1
        self._clock += serials != RESTING
        for row in np.flatnonzero(serials != RESTING):
            trace = self.traces[int(serials[row])]
            trace.steps.append(
                {
                    "actions": np.where(seen["acting"][row][:, None], actions[row], IDLE),
                    **{name: seen[name][row] for name in SEEN},
                    **{name: getattr(self.out, name)[row].copy() for name in HAPPENED},
                }
            )
            if self.out.ended[row] or self.out.truncated[row] or self.out.faults[row]:
                trace.ending = {name: getattr(self.out, name)[row].copy() for name in ENDING}
        self._note_starts(serials)
        if watch is not None:
            watch(actions, self.out)

    def actions(self) -> IntArray:
        """Random legal actions [M,S,H] for the seats that act, the filler for the others."""
        rows, seats = np.nonzero(self.out.acting)
        actions = np.full((self.game.matches, self.spec.seats, len(self.spec.heads)), self._filler, np.int32)
        if not len(rows):
            return actions
        serials = (int(serial) for serial in self.out.serial[rows])
        seeds = np.array([self.plans[serial].seed ^ _ACTION_SALT for serial in serials], np.uint64)
        clock, heads = self._clock[rows], len(self.spec.heads)
        noise = np.empty((len(rows), heads))
        lazy = np.empty(len(rows), np.bool_)
        for seat in range(self.spec.seats):
            at = seats == seat
            draws = uniforms(seeds[at], clock[at], seat * (heads + 1) + np.arange(heads + 1))
            noise[at], lazy[at] = draws[:, :heads], draws[:, heads] < self._idle
        picks = self._legality.choose(self.out.mask[rows, seats], noise)
        picks[lazy] = IDLE
        actions[rows, seats] = picks
        return actions

    def _note_starts(self, before: npt.NDArray[np.int64]) -> None:
        for row in np.flatnonzero((self.out.serial != before) & (self.out.serial != RESTING)):
            serial = int(self.out.serial[row])
            self._clock[row] = 0
            self.traces[serial] = Trace(self.plans[serial])
            self.started.append((self.step_count, int(row), serial))


def record(
    game: VecGame, plans: Sequence[MatchPlan], most_steps: int, idle: float = 0.0, filler: int = IDLE
) -> dict[int, Trace]:
    """Play all plans, close the game and give the traces by serial."""
    try:
        playthrough = Playthrough(game, plans, idle, filler)
        playthrough.begin()
        playthrough.finish(most_steps)
    finally:
        game.close()
    return playthrough.traces


def difference(a: Trace, b: Trace) -> str | None:
    """The first thing that differs between two recordings of one plan; None when they are equal bit for bit."""
    for step, (one, other) in enumerate(zip(a.steps, b.steps, strict=False)):
        for name in one:
            if one[name].tobytes() != other[name].tobytes():
                return f"match {a.plan.serial}, step {step}: {name} differs"
    if len(a.steps) != len(b.steps):
        return f"match {a.plan.serial}: {len(a.steps)} steps against {len(b.steps)}"
    for name in a.ending:
        if name not in b.ending or a.ending[name].tobytes() != b.ending[name].tobytes():
            return f"match {a.plan.serial}: {name} differs"
    return None


@dataclass(frozen=True, slots=True)
class Guarded:
    """Buffers that are slices of larger storage filled with poison, to see what a step writes and what it must not."""

    out: StepBuffers
    storage: dict[str, npt.NDArray[np.generic]]

    @classmethod
    def allocate(cls, spec: GameSpec, matches: int) -> Guarded:
        """One poisoned row before and one after the M rows of each array."""
        plain = StepBuffers.allocate(spec, matches)
        storage = {}
        for item in fields(StepBuffers):
            array = getattr(plain, item.name)
            storage[item.name] = np.empty((matches + 2, *array.shape[1:]), array.dtype)
        guarded = cls(StepBuffers(**{name: array[1:-1] for name, array in storage.items()}), storage)
        guarded.poison()
        return guarded

    def poison(self) -> None:
        """Fill everything, the guards included; `match` keeps its slots."""
        for array in self.storage.values():
            array[...] = _POISON[array.dtype.kind]
        self.out.match[...] = np.arange(len(self.out.match))

    def overrun(self) -> str | None:
        """The name of an array whose guard rows were written."""
        for name, array in self.storage.items():
            if not (is_poison(array[0]).all() and is_poison(array[-1]).all()):
                return name
        return None


def is_poison(array: npt.NDArray[np.generic]) -> npt.NDArray[np.bool_]:
    """Where the array still holds what `poison` put there."""
    return np.asarray(np.isnan(array) if array.dtype.kind == "f" else array == _POISON[array.dtype.kind])
