"""One play of a game: its plan, the arrays that cross the border, and what a vectorised game can do.

Stdlib and numpy only. Shape letters as in `spec`: M matches, S seats, H heads, A sum of head sizes, D features,
P privileged features, K signals, R reward terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar, Literal, Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt

from pvp_ml.errors import UserError
from pvp_ml.spec import GameSpec

IDLE = -1
"""Action value in every head of a seat that gives no input this step (reaction delay, absent human)."""

RESTING = -1
"""Serial of a row that has no match, because no plan was queued."""

WIN, TIE, LOSS = 1, 0, -1

MAIN = "main"
"""The trainee that a run is about; exploiters and the like are there for it."""

FloatArray = npt.NDArray[np.float32]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int32]


class ActionError(UserError):
    """An action array of the wrong shape, or a choice outside its head."""


class Fault(IntEnum):
    """Why a match became void. A void match gives no training rows and moves no rating."""

    NONE = 0
    CRASHED = 1
    STALLED = 2
    DESYNC = 3
    BAD_DATA = 4
    REJECTED = 5


@dataclass(frozen=True, slots=True)
class Live:
    """A trainee of this run, by name: its rows are learned from."""

    trainee: str = MAIN


@dataclass(frozen=True, slots=True)
class Member:
    """A frozen policy, by the hash of its weights.

    `delay` is the chance per step that it gives no input, `greedy` the chance of a match in which it always takes its
    likeliest choice, `noise` the deviation of what it sees, in deviations of each feature.
    """

    content_hash: str
    delay: float = 0.0
    greedy: float = 0.0
    noise: float = 0.0


@dataclass(frozen=True, slots=True)
class Scripted:
    """A scripted player outside the game, from the entry-point group `pvp_ml.players`."""

    name: str
    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class Bot:
    """A scripted opponent inside the game: its seat is never acting, and actions given for it are ignored."""

    name: str


@dataclass(frozen=True, slots=True)
class External:
    """Somebody else decides: a person, a socket."""

    id: str


Occupant = Live | Member | Scripted | Bot | External


@dataclass(frozen=True, slots=True)
class MatchPlan:
    """One match: everything it depends on besides the actions. `lineup[seat]` holds for the whole match.

    `home` is a seat of whom the match is about: what a game's settings give to a player and his opponent (their teams,
    their gear) goes with the players, wherever they sit.
    """

    serial: int
    seed: int
    lineup: tuple[Occupant, ...]
    scenario: str = "default"
    home: int = 0


@dataclass(frozen=True, slots=True)
class StepBuffers:
    """One step of M matches. The caller owns the arrays and may hand in views of its rollout storage.

    A match that ends restarts in the same step from the next queued plan: `obs`, `privileged`, `mask`, `acting` and
    `serial` then belong to the new match; `signals`, `reward`, `ended`, `truncated`, `result`, `faults` and the finals
    to the old one. Finals and result are written only for rows that ended or were truncated. Without a queued plan the
    row rests: serial RESTING, nobody acting, zeros elsewhere.
    """

    match: IntArray  # [M] row → match slot; 0…M−1 in a VecGame, the slots that answered in an AsyncVecGame
    serial: npt.NDArray[np.int64]  # [M] plan that `obs` belongs to
    obs: FloatArray  # [M,S,D]
    privileged: FloatArray  # [M,S,P]
    mask: BoolArray  # [M,S,A] legal choices before rules
    acting: BoolArray  # [M,S] has something to decide now
    signals: FloatArray  # [M,S,K]
    reward: FloatArray  # [M,S,R] unweighted terms
    ended: BoolArray  # [M] the rules ended the match
    truncated: BoolArray  # [M] cut short, by the step cap or because nothing happened: not by the rules
    result: npt.NDArray[np.int8]  # [M,S] WIN, TIE, LOSS
    final_obs: FloatArray  # [M,S,D]
    final_privileged: FloatArray  # [M,S,P]
    faults: IntArray  # [M] Fault; non-zero voids the match that just stopped

    @classmethod
    def allocate(cls, spec: GameSpec, matches: int) -> Self:
        """Zeroed buffers for `matches` rows."""
        m, s = matches, spec.seats
        return cls(
            match=np.arange(m, dtype=np.int32),
            serial=np.full(m, RESTING, np.int64),
            obs=np.zeros((m, s, spec.obs_size), np.float32),
            privileged=np.zeros((m, s, spec.privileged_size), np.float32),
            mask=np.zeros((m, s, spec.mask_size), np.bool_),
            acting=np.zeros((m, s), np.bool_),
            signals=np.zeros((m, s, len(spec.signals)), np.float32),
            reward=np.zeros((m, s, len(spec.rewards)), np.float32),
            ended=np.zeros(m, np.bool_),
            truncated=np.zeros(m, np.bool_),
            result=np.zeros((m, s), np.int8),
            final_obs=np.zeros((m, s, spec.obs_size), np.float32),
            final_privileged=np.zeros((m, s, spec.privileged_size), np.float32),
            faults=np.zeros(m, np.int32),
        )


class VecGame(Protocol):
    """M matches side by side in this process. A match depends on its plan and its actions alone.

    Not whatever M, the row it runs in, or what the row played before.
    """

    runs_elsewhere: ClassVar[Literal[False]] = False  # distinguishes the two kinds of game
    spec: GameSpec
    matches: int

    def queue(self, plans: Sequence[MatchPlan]) -> None:
        """Append plans; rows take them in order as they become free."""

    def start(self, out: StepBuffers) -> None:
        """Give each row a plan and write its first observation."""

    def step(self, actions: IntArray, out: StepBuffers) -> None:
        """Play one step. `actions` [M,S,H]; IDLE in all heads of a seat = no input; non-acting seats are ignored."""

    def snapshot(self) -> bytes:
        """The state of all rows and the queue; `restore` continues bit for bit."""

    def restore(self, data: bytes) -> None:
        """Continue from a snapshot of a game with the same digest and M; refuses anything else."""

    def view(self, match: int) -> dict[str, Any]:
        """A JSON description of one row's state for people: pages, `watch`, replays."""

    def close(self) -> None:
        """Free what the game holds."""


@runtime_checkable
class SharedServerGame(Protocol):
    """A game on a server that others use, too, and that may wait for everybody who is there."""

    def leave(self) -> None:
        """Log out until the next `recv`; matches under way become void."""


class AsyncVecGame(Protocol):
    """M matches in slow external processes: the same contract, one row at a time."""

    runs_elsewhere: ClassVar[Literal[True]] = True
    spec: GameSpec
    matches: int

    def queue(self, plans: Sequence[MatchPlan]) -> None:
        """Append plans; rows take them in order as they become free."""

    def start(self) -> None:
        """Begin the first matches; their first observations arrive through `recv`."""

    def send(self, match: IntArray, actions: IntArray) -> None:
        """Give the actions [n,S,H] of the rows `match` [n]; does not wait."""

    def recv(self, at_least: int, timeout_s: float, out: StepBuffers) -> int:
        """Wait for at least that many rows; write them to out[:n] (`out.match` says which) and return n.

        A game whose rows wait for one another may return fewer, but at least one before the time is over.
        """

    def view(self, match: int) -> dict[str, Any]:
        """A JSON description of one row's state for people."""

    def close(self) -> None:
        """Stop the processes."""
