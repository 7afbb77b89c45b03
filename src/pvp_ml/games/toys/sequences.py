"""Probes whose steps hang together: discount, truncation, two seats, waiting, long identity and memory."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from pvp_ml.games.array_game import RANDOM_BOT, Rows, TableGame
from pvp_ml.games.toys.bandits import PATIENCE, Case
from pvp_ml.match import LOSS, WIN, IntArray, StepBuffers
from pvp_ml.spec import Block, Feature, GameSpec, Head, RewardTerm, Signal

TRUNCATION_CAP = 8
IDENTITY_STEPS = 100
IDENTITY_CHOICES = 70
IDENTITY_LEGAL = 15


class Sequence(TableGame):
    """What these probes share: names of things, a step counter of their own and cues of −1 or 1."""

    seats: ClassVar[int] = 1
    features: ClassVar[tuple[str, ...]] = ("seen",)
    choices: ClassVar[int] = 1
    steps: ClassVar[int] = 1

    def __init__(self, spec: GameSpec, matches: int) -> None:
        super().__init__(spec, matches)
        self.done = self.hold("done", (), np.int32)
        self.cue = self.hold("cue", (self.seats,), np.int8)

    @classmethod
    def describe_game(cls, kind: str, masked: bool, gap: int) -> GameSpec:
        """The description; `masked` and `gap` are settings of two of the probes."""
        return GameSpec(
            name="probe",
            version=1,
            teams=tuple((seat,) for seat in range(cls.seats)),
            blocks=(Block("seen", 1, tuple(Feature(name) for name in cls.features)),),
            heads=(Head("pick", tuple(f"pick_{i}" for i in range(cls.choices))),),
            rewards=(RewardTerm("reward"),),
            signals=(Signal("right", fold="max", doc="a pick that mattered was right"),),
            max_steps=cls.cap(gap),
            bots=(RANDOM_BOT,) if cls.seats > 1 else (),
            parameters=(("kind", kind), ("masked", masked), ("gap", gap)),
        )

    @classmethod
    def cap(cls, gap: int) -> int:
        """The step cap."""
        return cls.steps + PATIENCE

    @staticmethod
    def cases(gamma: float) -> tuple[Case, ...]:
        """What is right, at this discount."""
        raise NotImplementedError

    def deal(self, rows: npt.NDArray[np.int64]) -> None:
        """Cues from the seed."""
        self.done[rows] = 0
        self.draw(rows)

    def draw(self, rows: npt.NDArray[np.int64]) -> None:
        """A fresh cue of −1 or 1 for each seat."""
        for seat in range(self.seats):
            self.cue[rows, seat] = np.where(self.chance(rows, seat) < 0.5, -1, 1)

    def right(self, picks: IntArray) -> npt.NDArray[np.bool_]:
        """Where [M,S] the pick answers the cue: choice 1 for a cue of 1."""
        return np.asarray((picks[:, :, 0] == 1) == (self.cue == 1))

    def open(self, rows: Rows) -> None:
        """Everybody may choose anything."""
        self.mask[rows], self.turn[rows] = True, True


class Discounted(Sequence):
    """See 0, then 1, then get 1."""

    steps = 2

    @staticmethod
    def cases(gamma: float) -> tuple[Case, ...]:
        """γ a step before the reward, 1 at it."""
        return (Case((0.0,), (), (True,), gamma, None), Case((1.0,), (), (True,), 1.0, None))

    def play(self, picks: IntArray, ready: npt.NDArray[np.bool_], out: StepBuffers) -> None:
        """Count to two."""
        self.done += ready
        np.logical_and(ready, self.done == self.steps, out=out.ended)
        out.reward[:, 0, 0] = out.ended
        out.result[out.ended] = WIN

    def observe(self, rows: Rows) -> None:
        """The number of steps done."""
        self.obs[rows, 0, 0] = self.done[rows]
        self.open(rows)


class Truncation(Sequence):
    """Nothing to see, reward 1 every step, no end but the cap."""

    @classmethod
    def cap(cls, gap: int) -> int:
        """So short that a learner without bootstrap is far off."""
        return TRUNCATION_CAP

    @staticmethod
    def cases(gamma: float) -> tuple[Case, ...]:
        """The sum of the endless series."""
        return (Case((0.0,), (), (True,), 1 / (1 - gamma), None),)

    def play(self, picks: IntArray, ready: npt.NDArray[np.bool_], out: StepBuffers) -> None:
        """Pay."""
        out.reward[:, 0, 0] = ready

    def observe(self, rows: Rows) -> None:
        """Always the same."""
        self.open(rows)


class TwoSeats(Sequence):
    """Each seat sees its own cue; the reward is own success minus the other's."""

    seats, choices = 2, 2

    @staticmethod
    def cases(gamma: float) -> tuple[Case, ...]:
        """Both right: nobody gains."""
        return tuple(Case((float(cue),), (), (True, True), 0.0, (int(cue > 0),)) for cue in (-1, 1))

    def play(self, picks: IntArray, ready: npt.NDArray[np.bool_], out: StepBuffers) -> None:
        """Compare the two answers."""
        right = self.right(picks) & ready[:, None]
        lead = right.astype(np.int8) - right[:, ::-1]
        out.reward[:, :, 0], out.signals[:, :, 0] = lead, right
        out.ended[...] = ready
        out.result[ready] = lead[ready]

    def observe(self, rows: Rows) -> None:
        """The own cue."""
        self.obs[rows, :, 0] = self.cue[rows]
        self.open(rows)


class Delayed(Sequence):
    """Two decisions; after each two steps pass without a choice, and the second of them pays for a right answer."""

    features = ("seen", "is_second")
    choices, steps = 2, 6

    def __init__(self, spec: GameSpec, matches: int) -> None:
        super().__init__(spec, matches)
        self.owed = self.hold("owed", (), np.int8)
        self.missed = self.hold("missed", (), np.int8)

    @staticmethod
    def cases(gamma: float) -> tuple[Case, ...]:
        """One decision later is worth γ, however many steps that took."""
        return tuple(
            Case((cue, second), (), (True, True), 1.0 if second else 1.0 + gamma, (int(cue > 0),))
            for cue in (-1.0, 1.0)
            for second in (0.0, 1.0)
        )

    def deal(self, rows: npt.NDArray[np.int64]) -> None:
        """Nothing owed."""
        super().deal(rows)
        self.owed[rows] = self.missed[rows] = 0

    def play(self, picks: IntArray, ready: npt.NDArray[np.bool_], out: StepBuffers) -> None:
        """Decide at 0 and 3, pay at 2 and 5."""
        phase = self.done % 3
        deciding, paying = ready & (phase == 0), ready & (phase == 2)
        self.owed[deciding] = self.right(picks)[deciding, 0]
        out.reward[:, 0, 0] = self.owed * paying
        out.signals[:, 0, 0] = self.owed * paying
        self.missed += paying & (self.owed == 0)
        self.done += ready
        np.logical_and(ready, self.done == self.steps, out=out.ended)
        out.result[out.ended, 0] = np.where(self.missed[out.ended] == 0, WIN, LOSS)
        self.draw(np.flatnonzero(paying))

    def observe(self, rows: Rows) -> None:
        """The cue and which decision it is; between decisions nothing."""
        done = self.done[rows]
        deciding = (done % 3 == 0) & (done < self.steps)
        self.obs[rows, 0, 0] = self.cue[rows, 0] * deciding
        self.obs[rows, 0, 1] = (done == 3) & deciding
        self.turn[rows, 0] = deciding
        self.mask[rows, 0] = deciding[:, None]


class MaskedIdentity(Sequence):
    """Repeat what is seen among 70 choices; the mask leaves it and 14 others."""

    features = tuple(f"is_{i}" for i in range(IDENTITY_CHOICES))
    choices, steps = IDENTITY_CHOICES, IDENTITY_STEPS

    def __init__(self, spec: GameSpec, matches: int) -> None:
        super().__init__(spec, matches)
        self._masked = dict(spec.parameters)["masked"]
        self.wanted = self.hold("wanted", (), np.int32)
        self.wrong = self.hold("wrong", (), np.int32)
        self.legal = self.hold("legal", (IDENTITY_CHOICES,), np.bool_)

    @staticmethod
    def cases(gamma: float) -> tuple[Case, ...]:
        """Every choice once, with everything legal."""
        one_hot = np.eye(IDENTITY_CHOICES)
        return tuple(Case(tuple(one_hot[i]), (), (True,) * IDENTITY_CHOICES, None, (i,)) for i in range(len(one_hot)))

    def draw(self, rows: npt.NDArray[np.int64]) -> None:
        """The wanted choice, and the illegal ones around it: the lowest 15 of one draw per choice stay legal."""
        wanted = (self.chance(rows, 0) * IDENTITY_CHOICES).astype(np.int32)
        self.wanted[rows], self.legal[rows] = wanted, True
        if not self._masked or not len(rows):
            return
        draws = self.chance(rows, 1 + np.arange(IDENTITY_CHOICES))
        draws[np.arange(len(rows)), wanted] = -1
        limit = np.partition(draws, IDENTITY_LEGAL - 1, axis=1)[:, IDENTITY_LEGAL - 1]
        self.legal[rows] = draws <= limit[:, None]

    def deal(self, rows: npt.NDArray[np.int64]) -> None:
        """No mistakes yet."""
        super().deal(rows)
        self.wrong[rows] = 0

    def play(self, picks: IntArray, ready: npt.NDArray[np.bool_], out: StepBuffers) -> None:
        """Pay 1 for the same."""
        right = (picks[:, 0, 0] == self.wanted) & ready
        out.reward[:, 0, 0], out.signals[:, 0, 0] = right, right
        self.wrong += ready & ~right
        self.done += ready
        np.logical_and(ready, self.done == self.steps, out=out.ended)
        out.result[out.ended, 0] = np.where(self.wrong[out.ended] == 0, WIN, LOSS)
        self.draw(np.flatnonzero(ready))

    def observe(self, rows: Rows) -> None:
        """The wanted choice as flags."""
        self.obs[rows, 0] = np.arange(IDENTITY_CHOICES) == self.wanted[rows][:, None]
        self.mask[rows, 0], self.turn[rows] = self.legal[rows], True


class Memory(Sequence):
    """The cue is shown in the first step alone; the answer counts in the last, which is marked."""

    features = ("seen", "is_question")
    choices = 2

    def __init__(self, spec: GameSpec, matches: int) -> None:
        super().__init__(spec, matches)
        self._gap = int(dict(spec.parameters)["gap"])

    @classmethod
    def cap(cls, gap: int) -> int:
        """Cue, gap and question."""
        return gap + 1 + PATIENCE

    @staticmethod
    def cases(gamma: float) -> tuple[Case, ...]:
        """None: what is right depends on what was seen before. Won matches tell."""
        return ()

    def play(self, picks: IntArray, ready: npt.NDArray[np.bool_], out: StepBuffers) -> None:
        """Pay ±1 for the last answer."""
        np.logical_and(ready, self.done == self._gap, out=out.ended)
        right = self.right(picks)[:, 0]
        out.reward[:, 0, 0] = np.where(right, 1, -1) * out.ended
        out.signals[:, 0, 0] = right & out.ended
        out.result[out.ended, 0] = np.where(right[out.ended], WIN, LOSS)
        self.done += ready

    def observe(self, rows: Rows) -> None:
        """The cue at the beginning, the mark at the end."""
        done = self.done[rows]
        self.obs[rows, 0, 0] = self.cue[rows, 0] * (done == 0)
        self.obs[rows, 0, 1] = done == self._gap
        self.open(rows)


SEQUENCES: dict[str, type[Sequence]] = {
    "discounted_value": Discounted,
    "truncation": Truncation,
    "two_seats": TwoSeats,
    "delayed_acting": Delayed,
    "masked_identity": MaskedIdentity,
    "memory": Memory,
}
