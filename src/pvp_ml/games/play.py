"""Playing matches: the one loop of queue, start and step, for evaluations, pages, replays, adapters and benchmarks.

Shapes as in `spec`; n rows that the last turn speaks of: all M of a game that runs here, those that answered of one
that runs elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pvp_ml.compiled.kernels import row_keys
from pvp_ml.errors import UserError
from pvp_ml.match import IDLE, RESTING, AsyncVecGame, BoolArray, External, IntArray, MatchPlan, StepBuffers, VecGame
from pvp_ml.players import Attending, KeyArray, Player

STALL_S = 120.0
"""How long a game that runs elsewhere may be silent."""

NOBODY = -1


class Table:
    """A game with its buffers: what each row plays, for how long, and who decides.

    A seat that a plan gives to `External(id)` is decided by `players[id]`; an id that is not in `players` (a person, a
    caller) writes into `actions` before `step`. After `start` and each `step`, `rows` [n] are the rows that `out[:n]`
    and `actions[:n]` speak of, `steps` [n] how long the match of the last step has been played there, `stopped` [n]
    whether it is over, and `plans_over` the plans of those that are.
    """

    def __init__(
        self, game: VecGame | AsyncVecGame, players: Mapping[str, Player] | None = None, stall_s: float = STALL_S
    ) -> None:
        spec, m = game.spec, game.matches
        self.game, self.spec = game, spec
        self.out = StepBuffers.allocate(spec, m)
        self.actions: IntArray = np.full((m, spec.seats, len(spec.heads)), IDLE, np.int32)
        self.rows = np.arange(m)
        self.steps = np.zeros(m, np.int32)
        self.stopped = np.zeros(m, np.bool_)
        self.plans_over: dict[int, MatchPlan] = {}  # index in rows → plan
        self.begun = np.zeros(0, np.intp)  # rows whose match has just begun, or that rest from now on
        self.serial = np.full(m, RESTING, np.int64)  # [M] what each row plays
        self.clock = np.zeros(m, np.int32)  # [M] steps that the match in each row has been played
        self.holder = np.full((m, spec.seats), NOBODY, np.int8)  # [M,S] index into the players, in their order
        self._ids = list(players or {})
        self._players = list((players or {}).values())
        self._seed = np.zeros(m, np.uint64)
        self._plans: dict[int, MatchPlan] = {}
        self._stall_s = stall_s
        for player in self._players:
            if isinstance(player, Attending):
                player.attend(game)

    def queue(self, plans: Sequence[MatchPlan]) -> None:
        """Append plans; rows take them in order as they become free."""
        self._plans.update((plan.serial, plan) for plan in plans)
        self.game.queue(plans)

    def start(self) -> None:
        """Begin the first matches."""
        if self.game.runs_elsewhere:
            self.game.start()
            self._receive(self.game)
        else:
            self.game.start(self.out)
        self.settle()

    def step(self) -> None:
        """Play one step with `actions`; rows that rest are left alone."""
        if self.game.runs_elsewhere:
            n = len(self.rows)
            playing = self.out.serial[:n] != RESTING
            if playing.any():
                self.game.send(self.out.match[:n][playing], self.actions[:n][playing])
            self._receive(self.game)
        else:
            self.game.step(self.actions, self.out)
        self.settle()

    def keys(self) -> KeyArray:
        """[n,S]: the randomness of each seat's next decision; follows from its match and clock alone."""
        keys = np.zeros((len(self.rows), self.spec.seats), np.uint64)
        row_keys(self._seed[self.rows], self.clock[self.rows], keys)
        return keys

    def decide(self) -> None:
        """Fill `actions`: what the players decide for their seats that act, IDLE everywhere else."""
        n, out = len(self.rows), self.out
        self.actions[:n] = IDLE
        acting = np.where(out.acting[:n], self.holder[self.rows], NOBODY)
        keys = self.keys()
        for index, player in enumerate(self._players):
            b, s = np.nonzero(acting == index)
            if len(b):
                serials, seats = self.serial[self.rows[b]], s.astype(np.int32)
                self.actions[b, s] = player.decide(serials, seats, out.obs[b, s], out.mask[b, s], keys[b, s])

    def held_by(self, player: str) -> BoolArray:
        """[n,S]: which seats the player of that id decides for."""
        held: BoolArray = self.holder[self.rows] == (self._ids.index(player) if player in self._ids else len(self._ids))
        return held

    def plan(self, row: int) -> MatchPlan | None:
        """What a row plays; None when it rests."""
        return self._plans.get(int(self.serial[row]))

    @property
    def is_empty(self) -> bool:
        """Whether nothing is played and nothing is queued."""
        return not self._plans

    def _receive(self, game: AsyncVecGame) -> None:
        count = game.recv(1, self._stall_s, self.out)
        if count == 0:
            raise UserError(f"game '{self.spec.name}' gave no answer for {self._stall_s:.0f} s", "see its log")
        self.rows = self.out.match[:count].astype(np.intp)

    def settle(self) -> None:
        """Note what the last step stopped and began, and tell the players; `step` does it by itself."""
        out, n, rows = self.out, len(self.rows), self.rows
        played = self.serial[rows] != RESTING
        self.clock[rows] += played
        self.steps = self.clock[rows]
        self.stopped = played & (out.ended[:n] | out.truncated[:n] | (out.faults[:n] != 0))
        self.plans_over = {i: self._plans.pop(int(self.serial[rows[i]])) for i in np.flatnonzero(self.stopped).tolist()}
        over = self.serial[rows[self.stopped]]
        self.begun = rows[self.serial[rows] != out.serial[:n]]
        self.serial[rows] = out.serial[:n]
        fresh = self.serial[self.begun][self.serial[self.begun] != RESTING]
        for player in self._players:
            if len(over):
                player.end(over)
            if len(fresh):
                player.begin(fresh)
        for row in self.begun.tolist():
            self._seat(row)

    def _seat(self, row: int) -> None:
        self.holder[row] = NOBODY
        self.clock[row] = 0
        plan = self.plan(row)
        if plan is not None:
            self._seed[row] = plan.seed
            for seat, occupant in enumerate(plan.lineup):
                if isinstance(occupant, External) and occupant.id in self._ids:
                    self.holder[row, seat] = self._ids.index(occupant.id)
