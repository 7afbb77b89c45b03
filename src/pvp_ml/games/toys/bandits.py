"""Probes whose steps do not depend on each other: a cue is drawn, seen, answered and paid, all from tables."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt

from pvp_ml.games.array_game import Rows, TableGame
from pvp_ml.match import LOSS, WIN, IntArray, StepBuffers
from pvp_ml.spec import Block, Feature, GameSpec, Head, RewardTerm, Rule, Signal

PATIENCE = 16  # steps beyond its length that idle seats may pass before a probe is cut off


@dataclass(frozen=True, slots=True)
class Case:
    """One situation: what is seen, and the value and the picks that are right there (None = not fixed)."""

    obs: tuple[float, ...]
    privileged: tuple[float, ...]
    mask: tuple[bool, ...]
    value: float | None
    best: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Bandit:
    """C cues with equal chances. `reward` [C, joint actions], the last head running fastest."""

    heads: tuple[Head, ...]
    obs: tuple[tuple[float, ...], ...]  # [C,D]
    reward: tuple[tuple[float, ...], ...]
    privileged: tuple[tuple[float, ...], ...] = ()  # [C,P]
    mask: tuple[tuple[bool, ...], ...] = ()  # [C,A]; empty = everything is legal
    steps: int = 1

    @property
    def sizes(self) -> tuple[int, ...]:
        """Choices per head."""
        return tuple(head.size for head in self.heads)


def _head(size: int, name: str = "pick") -> Head:
    return Head(name, tuple(f"{name}_{i}" for i in range(size)))


def _masked() -> Bandit:
    """Four choices worth 0, 1/3, 2/3 and 1; the masks that leave at least two of them."""
    masks = tuple(m for m in product((False, True), repeat=4) if sum(m) >= 2)
    worth = (0.0, 1 / 3, 2 / 3, 1.0)
    seen = tuple(tuple(float(legal) for legal in m) for m in masks)
    return Bandit((_head(4),), seen, (worth,) * len(masks), mask=masks)


def _dependent() -> Bandit:
    """`detail` may be `some_x` or `some_y` only with `give`, and must be `nothing` with `keep`."""
    give = (("verb", "give"),)
    detail = Head(
        "detail",
        ("nothing", "some_x", "some_y"),
        (Rule("nothing", "none", give), Rule("some_x", "all", give), Rule("some_y", "all", give)),
    )
    keep_pays, give_pays = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    return Bandit((Head("verb", ("keep", "give")), detail), ((-1.0,), (1.0,)), (keep_pays, give_pays))


def _identity() -> Bandit:
    """Sixteen cues, seen as two one-hots of four; only the same pair of picks pays."""
    pairs = tuple(product(range(4), repeat=2))
    seen = tuple(tuple(float(i == a) for i in range(4)) + tuple(float(i == b) for i in range(4)) for a, b in pairs)
    pays = tuple(tuple(float(pick == cue) for pick in range(16)) for cue in range(16))
    return Bandit((_head(4, "left"), _head(4, "right")), seen, pays, steps=100)


BANDITS: dict[str, Bandit] = {
    "constant_value": Bandit((_head(1),), ((0.0,),), ((1.0,),)),
    "observed_value": Bandit((_head(1),), ((-1.0,), (1.0,)), ((-1.0,), (1.0,))),
    "action": Bandit((_head(2),), ((0.0,),), ((-1.0, 1.0),)),
    "observed_action": Bandit((_head(2),), ((-1.0,), (1.0,)), ((1.0, -1.0), (-1.0, 1.0))),
    "masked_action": _masked(),
    "dependent_heads": _dependent(),
    "privileged_value": Bandit((_head(1),), ((0.0,), (0.0,)), ((-1.0,), (1.0,)), privileged=((-1.0,), (1.0,))),
    "identity": _identity(),
}


class BanditGame(TableGame):
    """M matches of one seat; a new cue every step."""

    def __init__(self, spec: GameSpec, bandit: Bandit, matches: int) -> None:
        super().__init__(spec, matches)
        self._steps, self._sizes = bandit.steps, bandit.sizes
        self._reward = np.array(bandit.reward, np.float32)
        self._seen = np.array(bandit.obs, np.float32)
        self._hidden = np.array(bandit.privileged or ((),) * len(bandit.obs), np.float32)
        self._legal = _masks(bandit)
        self._best = np.array([_best(bandit, cue)[0] for cue in range(len(bandit.obs))], np.float32)
        self.cue = self.hold("cue", (), np.int32, (0, len(bandit.obs) - 1))
        self.done = self.hold("done", (), np.int32, (0, bandit.steps))
        self.wrong = self.hold("wrong", (), np.int32)

    def deal(self, rows: npt.NDArray[np.int64]) -> None:
        """A fresh cue."""
        self.done[rows], self.wrong[rows] = 0, 0
        self._draw(rows)

    def play(self, picks: IntArray, ready: npt.NDArray[np.bool_], out: StepBuffers) -> None:
        """Pay from the table and draw the next cue."""
        joint = np.ravel_multi_index(tuple(picks[:, 0].T), self._sizes)
        paid = self._reward[self.cue, joint]
        right = paid == self._best[self.cue]
        out.reward[:, 0, 0] = paid * ready
        out.signals[:, 0, 0] = right & ready
        self.wrong += ready & ~right
        self.done += ready
        np.logical_and(ready, self.done >= self._steps, out=out.ended)
        out.result[out.ended, 0] = np.where(self.wrong[out.ended] == 0, WIN, LOSS)
        self._draw(np.flatnonzero(ready))

    def observe(self, rows: Rows) -> None:
        """Everything from the cue's tables."""
        cue = self.cue[rows]
        self.obs[rows, 0], self.privileged[rows, 0] = self._seen[cue], self._hidden[cue]
        self.mask[rows, 0], self.turn[rows] = self._legal[cue], True

    def _draw(self, rows: npt.NDArray[np.int64]) -> None:
        self.cue[rows] = (self.chance(rows, 0) * len(self._seen)).astype(np.int32)


def spec(kind: str, bandit: Bandit) -> GameSpec:
    """The description of one bandit probe."""
    hidden = len(bandit.privileged[0]) if bandit.privileged else 0
    return GameSpec(
        name="probe",
        version=1,
        teams=((0,),),
        blocks=(Block("seen", 1, tuple(Feature(f"seen_{i}") for i in range(len(bandit.obs[0])))),),
        privileged=(Block("hidden", 1, tuple(Feature(f"hidden_{i}") for i in range(hidden))),) if hidden else (),
        heads=bandit.heads,
        rewards=(RewardTerm("reward"),),
        signals=(Signal("right", fold="mean"),),
        max_steps=bandit.steps + PATIENCE,
        parameters=(("kind", kind),),
    )


def cases(bandit: Bandit) -> tuple[Case, ...]:
    """One case for each cue. The value is given where a match is one step long."""
    found = []
    for cue, seen in enumerate(bandit.obs):
        pay, best = _best(bandit, cue)
        hidden = bandit.privileged[cue] if bandit.privileged else ()
        value = pay if bandit.steps == 1 else None
        found.append(Case(seen, hidden, tuple(bool(x) for x in _masks(bandit)[cue]), value, best))
    return tuple(found)


def _masks(bandit: Bandit) -> npt.NDArray[np.bool_]:
    return np.array(bandit.mask or ((True,) * sum(bandit.sizes),) * len(bandit.obs), np.bool_)


def _best(bandit: Bandit, cue: int) -> tuple[float, tuple[int, ...]]:
    """The highest reward among picks that the mask allows (rules never allow a better one), and those picks."""
    mask = _masks(bandit)[cue]
    starts = np.concatenate([[0], np.cumsum(bandit.sizes)])
    allowed = [
        joint
        for joint in range(prod(bandit.sizes))
        if all(mask[starts[h] + c] for h, c in enumerate(np.unravel_index(joint, bandit.sizes)))
    ]
    best = max(allowed, key=lambda joint: bandit.reward[cue][joint])
    return bandit.reward[cue][best], tuple(int(c) for c in np.unravel_index(best, bandit.sizes))
