"""What every toy shares: the queue, restarts with finals, resting rows, bots, action checks and snapshots.

A toy holds its state in arrays [M, …] from `hold` and writes three methods:

    deal(rows)                begin matches in these rows; seed, clock (0), scenario and bots are set
    play(picks, ready, out)   one step: write reward, signals, ended and result of the rows that are ready
    observe(rows)             write self.obs, self.privileged, self.mask and self.turn of these rows

A row is ready when every seat with a turn gave input; a step with IDLE passes time (towards the cap) and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import safetensors.numpy

from pvp_ml.chance import uniforms
from pvp_ml.errors import UserError
from pvp_ml.games.legal import Legality
from pvp_ml.match import IDLE, RESTING, TIE, Bot, IntArray, MatchPlan, StepBuffers
from pvp_ml.spec import GameSpec, Scenario

Rows = npt.NDArray[np.int64] | slice
EVERY = slice(None)
RANDOM_BOT = "random"
START_SCENARIOS = (
    Scenario("default", doc="the seed says which seat starts"),
    Scenario("seat0-starts"),
    Scenario("seat1-starts"),
)
_QUEUED = ("serial", "seed", "scenario", "bot")
_BOT_CHANNEL = 32_768  # channels from here on belong to the random bot: one for each seat and head


def starters(scenario: npt.NDArray[np.int32], uniform: npt.NDArray[np.float64]) -> npt.NDArray[np.int8]:
    """The seat that starts, for rows of START_SCENARIOS: the drawn number decides where the scenario does not."""
    return np.where(scenario == 0, uniform < 0.5, scenario == 2).astype(np.int8)


class PlanQueue:
    """Plans as arrays, so that a row that restarts touches no Python object."""

    def __init__(self, spec: GameSpec) -> None:
        self._spec = spec
        self._scenarios = {scenario.name: i for i, scenario in enumerate(spec.scenarios)}
        self._bots = {name: i for i, name in enumerate(spec.bots)}
        self._lineups: dict[tuple[Any, ...], list[int]] = {}
        self.serial = np.zeros(0, np.int64)
        self.seed = np.zeros(0, np.uint64)
        self.scenario = np.zeros(0, np.int32)
        self.bot = np.zeros((0, spec.seats), np.int8)

    def __len__(self) -> int:
        """Plans that wait."""
        return len(self.serial)

    def append(self, plans: Sequence[MatchPlan]) -> None:
        """Add plans behind those that wait; an unknown scenario or bot is refused and adds nothing."""
        if not plans:
            return
        if (lowest := min(plan.serial for plan in plans)) < 0:
            raise UserError(f"game '{self._spec.name}': a plan has serial {lowest}", "serials count from 0")
        scenarios = [self._scenario(plan.scenario) for plan in plans]
        bots = [self._lineups.get(plan.lineup) or self._lineup(plan.lineup) for plan in plans]
        self.serial = np.concatenate([self.serial, np.array([plan.serial for plan in plans], np.int64)])
        seeds = [plan.seed & 0xFFFF_FFFF_FFFF_FFFF for plan in plans]
        self.seed = np.concatenate([self.seed, np.array(seeds, np.uint64)])
        self.scenario = np.concatenate([self.scenario, np.array(scenarios, np.int32)])
        self.bot = np.concatenate([self.bot, np.array(bots, np.int8)])

    def drop(self, count: int) -> None:
        """Forget the first plans, because rows took them."""
        self.serial, self.seed = self.serial[count:], self.seed[count:]
        self.scenario, self.bot = self.scenario[count:], self.bot[count:]

    def _scenario(self, name: str) -> int:
        index = self._scenarios.get(name)
        return self._spec.scenarios.index(self._spec.scenario(name)) if index is None else index

    def _lineup(self, lineup: tuple[Any, ...]) -> list[int]:
        if len(lineup) != self._spec.seats:
            raise UserError(f"game '{self._spec.name}' has {self._spec.seats} seats, the lineup names {len(lineup)}")
        bots = [-1] * len(lineup)
        for seat, occupant in enumerate(lineup):
            if isinstance(occupant, Bot):
                if occupant.name not in self._bots:
                    known = ", ".join(self._bots) or "none"
                    raise UserError(f"game '{self._spec.name}' has no bot '{occupant.name}'", f"its bots: {known}")
                bots[seat] = self._bots[occupant.name]
        if len(self._lineups) >= 4096:  # a league names many members: forget rather than grow for ever
            self._lineups.clear()
        self._lineups[lineup] = bots
        return bots


class TableGame:
    """M matches of a toy side by side, a VecGame."""

    runs_elsewhere: ClassVar[Literal[False]] = False

    def __init__(self, spec: GameSpec, matches: int) -> None:
        if matches < 1:
            raise UserError(f"game '{spec.name}': {matches} matches", "ask for at least 1")
        self.spec, self.matches = spec, matches
        self.legality = Legality(spec)
        self._state: dict[str, npt.NDArray[Any]] = {}
        self._limits: dict[str, tuple[int, int]] = {}
        self._queue = PlanQueue(spec)
        self.serial = self.hold("serial", (), np.int64, (RESTING, 1 << 62))
        self.serial[:] = RESTING
        self.seed = self.hold("seed", (), np.uint64)
        # steps of this match, the one being played included
        self.clock = self.hold("clock", (), np.int32, (0, spec.max_steps))
        self.scenario = self.hold("scenario", (), np.int32, (0, len(spec.scenarios) - 1))
        # index into spec.bots, −1 = decided from outside
        self.bot = self.hold("bot", (spec.seats,), np.int8, (-1, len(spec.bots) - 1))
        self.obs = self.hold("obs", (spec.seats, spec.obs_size), np.float32)
        self.privileged = self.hold("privileged", (spec.seats, spec.privileged_size), np.float32)
        self.mask = self.hold("mask", (spec.seats, spec.mask_size), np.bool_)
        self.turn = self.hold("turn", (spec.seats,), np.bool_)  # has something to decide now, bots included

    def hold(
        self, name: str, tail: tuple[int, ...], dtype: npt.DTypeLike, limits: tuple[int, int] | None = None
    ) -> npt.NDArray[Any]:
        """A zeroed array [M, *tail] that belongs to the snapshot, which is refused with numbers beyond `limits`."""
        self._state[name] = np.zeros((self.matches, *tail), dtype)
        if limits is not None:
            self._limits[name] = limits
        return self._state[name]

    def chance(self, rows: Rows, channel: int | npt.NDArray[np.integer]) -> npt.NDArray[np.float64]:
        """A number in [0, 1) for each row (and channel), fixed by its seed, its clock and the channel (below 32768)."""
        return uniforms(self.seed[rows], self.clock[rows], channel)

    # What a toy writes -------------------------------------------------------------------------------------------

    def deal(self, rows: npt.NDArray[np.int64]) -> None:
        """Begin a match in each of these rows."""
        raise NotImplementedError

    def play(self, picks: npt.NDArray[np.int32], ready: npt.NDArray[np.bool_], out: StepBuffers) -> None:
        """Play one step of the ready rows with picks [M,S,H] (0 where a seat has no turn)."""
        raise NotImplementedError

    def observe(self, rows: Rows) -> None:
        """Write obs, privileged, mask and turn of these rows; resting rows are cleared afterwards."""
        raise NotImplementedError

    def bot_picks(self, name: str, rows: npt.NDArray[np.int64], seats: npt.NDArray[np.int64]) -> IntArray:
        """Actions [N,H] of the bot of that name in these rows and seats; this one knows the random bot."""
        assert name == RANDOM_BOT, name
        heads = np.arange(len(self.spec.heads))
        noise = np.empty((len(rows), len(heads)))
        for seat in range(self.spec.seats):
            at = seats == seat
            noise[at] = self.chance(rows[at], _BOT_CHANNEL + seat * len(heads) + heads)
        return self.legality.choose(self.mask[rows, seats], noise)

    def describe(self, row: int) -> dict[str, Any]:
        """What people see of a row, JSON values only."""
        return {}

    # The VecGame contract ----------------------------------------------------------------------------------------

    def queue(self, plans: Sequence[MatchPlan]) -> None:
        """Append plans; rows take them in order as they become free."""
        self._queue.append(plans)

    def start(self, out: StepBuffers) -> None:
        """Give each free row a plan and write what every row sees now; after `restore` it rewrites the present."""
        for array in (out.signals, out.reward, out.ended, out.truncated, out.faults):
            array[...] = 0
        self._seat(np.flatnonzero(self.serial == RESTING))
        self._show(out)

    def step(self, actions: IntArray, out: StepBuffers) -> None:
        """Play one step. `actions` [M,S,H]; wrong ones are refused by name before anything changes."""
        acting = self.turn & (self.bot < 0)
        self.legality.check(actions, acting, self.mask)
        for array in (out.signals, out.reward, out.ended, out.truncated, out.faults):
            array[...] = 0
        playing = self.serial != RESTING
        picks, ready = self._gather(actions, acting, playing)
        self.clock += playing  # before the play: what it draws must differ from what the deal drew at clock 0
        self.play(picks, ready, out)
        out.truncated[...] = (out.truncated | (self.clock >= self.spec.max_steps)) & playing & ~out.ended
        out.result[out.truncated] = TIE
        self.observe(EVERY)
        stopped = np.flatnonzero(out.ended | out.truncated)
        if len(stopped):
            out.final_obs[stopped] = self.obs[stopped]
            out.final_privileged[stopped] = self.privileged[stopped]
            self.serial[stopped] = RESTING
        free = np.flatnonzero(self.serial == RESTING)
        if len(free):
            self._seat(free)
        self._show(out)

    def snapshot(self) -> bytes:
        """The state of all rows and the queue, as safetensors with the game's digest."""
        queue = {f"queue.{name}": getattr(self._queue, name) for name in _QUEUED}
        digest = np.frombuffer(bytes.fromhex(self.spec.game_digest), np.uint8)
        return bytes(safetensors.numpy.save({**self._state, **queue, "game_digest": digest}))

    def restore(self, data: bytes) -> None:
        """Continue from a snapshot of a game with the same digest and M; refuses anything else."""
        try:
            arrays = safetensors.numpy.load(data)
        except Exception as error:
            raise UserError(f"game '{self.spec.name}': this is no snapshot ({error})") from error
        if arrays.get("game_digest", np.zeros(0, np.uint8)).tobytes().hex() != self.spec.game_digest:
            raise UserError(f"game '{self.spec.name}': the snapshot is of another game or of other settings")
        wanted = {**self._state, **{f"queue.{name}": getattr(self._queue, name) for name in _QUEUED}}
        waiting = len(arrays.get("queue.serial", ()))
        for name, array in wanted.items():
            self._check_part(name, arrays.get(name), array, waiting if name.startswith("queue.") else self.matches)
        for name, array in self._state.items():
            array[...] = arrays[name]
        for name in _QUEUED:
            setattr(self._queue, name, arrays[f"queue.{name}"])

    def _check_part(self, name: str, part: npt.NDArray[Any] | None, like: npt.NDArray[Any], rows: int) -> None:
        """Refuse a snapshot's array that is missing, of another shape or type, or beyond what a match can reach."""
        if part is None or part.shape != (rows, *like.shape[1:]) or part.dtype != like.dtype:
            raise UserError(f"game '{self.spec.name}': the snapshot does not hold {self.matches} matches ('{name}')")
        least, most = self._limits.get(name.removeprefix("queue."), (None, None))
        if least is not None and ((part < least) | (part > most)).any():
            raise UserError(f"game '{self.spec.name}': the snapshot's '{name}' is not between {least} and {most}")
        if part.dtype.kind == "f" and not np.isfinite(part).all():
            raise UserError(f"game '{self.spec.name}': the snapshot's '{name}' holds a number that is not finite")

    def view(self, match: int) -> dict[str, Any]:
        """Serial, clock, whose turn it is and what the toy adds."""
        turn = [int(seat) for seat in np.flatnonzero(self.turn[match])]
        return {"serial": int(self.serial[match]), "step": int(self.clock[match]), "turn": turn, **self.describe(match)}

    def close(self) -> None:
        """Nothing is held outside this process."""

    # Details -----------------------------------------------------------------------------------------------------

    def _gather(self, actions: IntArray, acting: npt.NDArray[np.bool_], playing: npt.NDArray[np.bool_]) -> Any:
        """The picks of players and bots, and the rows in which every seat with a turn has one."""
        picks = np.where(acting[:, :, None], actions, 0).astype(np.int32)
        idle = acting & (actions[:, :, 0] == IDLE)
        np.maximum(picks, 0, out=picks)
        by_bot = self.turn & (self.bot >= 0)
        if by_bot.any():
            for index, name in enumerate(self.spec.bots):
                rows, seats = np.nonzero(by_bot & (self.bot == index))
                if len(rows):
                    picks[rows, seats] = self.bot_picks(name, rows, seats)
        return picks, playing & ~idle.any(1)

    def _seat(self, free: npt.NDArray[np.int64]) -> None:
        """Plans for the free rows, lowest row first; rows that get none rest."""
        rows, rest = free[: len(self._queue)], free[len(self._queue) :]
        if len(rows):
            taken = slice(0, len(rows))
            self.serial[rows], self.seed[rows] = self._queue.serial[taken], self._queue.seed[taken]
            self.scenario[rows], self.bot[rows] = self._queue.scenario[taken], self._queue.bot[taken]
            self.clock[rows] = 0
            self._queue.drop(len(rows))
            self.deal(rows)
            self.observe(rows)
        if len(rest):
            for array in self._state.values():
                array[rest] = 0
            self.serial[rest], self.bot[rest] = RESTING, -1

    def _show(self, out: StepBuffers) -> None:
        out.match[...] = np.arange(self.matches)
        out.serial[...] = self.serial
        out.obs[...] = self.obs
        out.privileged[...] = self.privileged
        np.logical_and(self.turn, self.bot < 0, out=out.acting)
        np.logical_and(self.mask, out.acting[:, :, None], out=out.mask)
