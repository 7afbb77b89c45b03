"""M matches of Rocket League side by side, a VecGame.

A snapshot holds plans and inputs, not physics: RocketSim does not give away everything that its next tick depends on
(contacts, suspension), but the same inputs from the same scene lead to the same state, bit for bit. Restoring therefore
plays the running matches again, about 35 µs of CPU per car and step, and `replayed_exactly` says whether it arrived.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from pvp_ml.errors import UserError
from pvp_ml.games.legal import Legality
from pvp_ml.games.rocket_league import derived_state, resets, signals, snapshots
from pvp_ml.games.rocket_league.actions import BOOST, JUMP
from pvp_ml.games.rocket_league.arena.field import TICKS_PER_S
from pvp_ml.games.rocket_league.bots import BOTS
from pvp_ml.games.rocket_league.bots.driver import drivers
from pvp_ml.games.rocket_league.config import RocketLeagueConfig, steps, team_sizes
from pvp_ml.games.rocket_league.controls import Pedals
from pvp_ml.games.rocket_league.derived_state import EVERY, Facts, Memory, Moment, Rows
from pvp_ml.games.rocket_league.describe import assemble
from pvp_ml.games.rocket_league.kernels.moments import permit
from pvp_ml.games.rocket_league.observe import Context
from pvp_ml.games.rocket_league.plans import NOBODY, Queue, Ticket
from pvp_ml.games.rocket_league.show import view
from pvp_ml.games.rocket_league.simulator import DEMOED, PHYSICS, Arenas
from pvp_ml.match import IDLE, RESTING, IntArray, MatchPlan, StepBuffers

Index = npt.NDArray[np.int64]


class RocketLeagueGame:
    """See `pvp_ml.match.VecGame`; rows are matches, seats are cars, blue first."""

    runs_elsewhere: ClassVar[Literal[False]] = False

    def __init__(self, config: RocketLeagueConfig, matches: int) -> None:
        if matches < 1:
            raise UserError(f"game 'rocket_league': {matches} matches", "ask for at least 1")
        self._config = config
        parts = assemble(config)
        self.spec, self.matches = parts.spec, matches
        self._actions, self._observation = parts.actions, parts.observation
        self._rewards, self._setters = parts.rewards, parts.setters
        self._sizes = team_sizes(config)
        self.team = np.repeat([0, 1], self._sizes)
        self.arenas = Arenas(parts.meshes, matches, self._sizes, all_flags=self._observation.needs_all_flags)
        self._legality = Legality(self.spec)
        self._queue = Queue(self.spec)
        self._pedals = Pedals(self.arenas, parts.actions, config.sticky_steps)
        self._memory = Memory(matches, self.team)
        self._tickets: list[Ticket | None] = [None] * matches
        self._serial = np.full(matches, RESTING, np.int64)
        self._clock = np.zeros(matches, np.int32)
        self._bot = np.full((matches, self.spec.seats), NOBODY, np.int8)
        self._acting = np.zeros((matches, self.spec.seats), np.bool_)
        self._mask = np.zeros((matches, self.spec.seats, self.spec.mask_size), np.bool_)
        self._history = snapshots.History(matches, self.spec.seats, len(self.spec.heads))
        self._no_touch_steps = steps(config, config.no_touch_s) if config.no_touch_s else self.spec.max_steps + 1
        self._step_minutes = config.tick_skip / TICKS_PER_S / 60.0
        self._goal_now = np.zeros(matches, np.bool_)  # goals of the step that was just played
        self._adviser = ""
        self.replayed_exactly = True

    # The VecGame contract ------------------------------------------------------------------------------------------

    def queue(self, plans: Sequence[MatchPlan]) -> None:
        """Append plans; rows take them in order as they become free."""
        self._queue.append(plans)

    def start(self, out: StepBuffers) -> None:
        """Give each free row a plan and write what every row sees now; after `restore` it rewrites the present."""
        for array in (out.signals, out.reward, out.ended, out.truncated, out.faults):
            array[...] = 0
        self._seat(np.flatnonzero(self._serial == RESTING))
        now = derived_state.look(self.arenas, self.team)
        self._observe(now, EVERY, out.obs)
        self._show(out)

    def step(self, actions: IntArray, out: StepBuffers) -> None:
        """Play one step. `actions` [M,S,H]; wrong and masked ones are refused by name before anything changes."""
        self._legality.check(actions, self._acting, self._mask)
        playing = self._serial != RESTING
        if playing.any():
            moment = self._advance(actions, playing)
            self._report(moment, playing, out)
            self._observe(moment.now, EVERY, out.obs)
        else:
            for array in (out.signals, out.reward, out.ended, out.truncated):
                array[...] = 0
        out.faults[...] = 0
        stopped = out.ended | out.truncated
        if stopped.any():
            out.final_obs[stopped] = out.obs[stopped]
            self._serial[stopped] = RESTING
        scored = np.flatnonzero(playing & ~stopped & self._goal_now)
        if len(scored):
            self._kick_off_again(scored)
        begun = self._seat(np.flatnonzero(self._serial == RESTING))
        for fresh in (scored, begun):
            if len(fresh):
                self._refresh(fresh, out)
        self._show(out)

    def snapshot(self) -> bytes:
        """Plans, inputs and queue; see the head of this module."""
        return snapshots.pack(
            self.spec, self._tickets, self._clock, self._history, self._queue, self.arenas.ball, self.arenas.cars
        )

    def restore(self, data: bytes) -> None:
        """Play the snapshot's matches again up to where they were; refuses another game, M or damaged bytes."""
        saved = snapshots.unpack(data, self.spec, self.matches)
        self._serial[:] = RESTING
        self._tickets = [None] * self.matches
        self._history.clear()
        for clock in range(int(saved.clock.max(initial=0)), -1, -1):
            starting = [row for row, t in enumerate(saved.tickets) if t is not None and saved.clock[row] == clock]
            for row in starting:
                self._begin(row, saved.tickets[row])
            if starting:
                self._settle(np.array(starting))
            if clock:
                self._replay(saved)
        self._queue.set_arrays(saved.queue)
        rows = np.flatnonzero(self._serial != RESTING)
        same = [
            np.array_equal(now[rows], then[rows])
            for now, then in (
                (self.arenas.ball, saved.ball),
                (self.arenas.cars[..., PHYSICS], saved.cars[..., PHYSICS]),
            )
        ]
        self.replayed_exactly = all(same)

    def view(self, match: int) -> dict[str, Any]:
        """Ball, cars, pads, score and clock of one row, JSON values only."""
        shown = view.view(self.arenas, match, self.team, self._pedals.values[match])
        shown |= {
            "serial": int(self._serial[match]),
            "seconds": round(float(self._clock[match]) * self._config.tick_skip / TICKS_PER_S, 3),
            "score": [int(goals) for goals in self._memory.goals[match]],
        }
        return shown

    def advise(self, bot: str) -> None:
        """From now on `advice` speaks for this bot; see `pvp_ml.selfplay.record.AdvisingGame`."""
        self._adviser = bot

    def advice(self, serials: Index, seats: IntArray) -> IntArray:
        """[n,H]: the legal choices most like what the adviser would do in these seats."""
        rows, at = self.rows_of(serials), seats.astype(np.int64)
        now = derived_state.look(self.arenas, self.team)
        return self.choices(rows, at, BOTS[self._adviser](drivers(now, self._pedals.values, rows, at)))

    def rows_of(self, serials: Index) -> Index:
        """The rows [n] that play these matches."""
        row_of = {int(serial): row for row, serial in enumerate(self._serial.tolist())}
        return np.array([row_of[int(serial)] for serial in serials.tolist()], np.int64)

    def choices(self, rows: Index, seats: Index, controls: derived_state.Floats) -> IntArray:
        """[n,H]: the legal choices most like these controls [n,8]."""
        now, values = derived_state.look(self.arenas, self.team), controls.copy()
        values[~now.may_jump[rows, seats], JUMP] = 0.0
        values[~now.may_boost[rows, seats], BOOST] = 0.0
        return self._actions.nearest(values, ~now.on_ground[rows, seats])

    def greeting(self) -> dict[str, Any]:
        """What a program that shall drive here has to know."""
        config = self._config
        rhythm = {"tick_skip": config.tick_skip, "delay_ticks": config.delay_ticks}
        return {"game": self.spec.name, "mode": config.mode, **rhythm}

    @property
    def match_s(self) -> float:
        """How long a match lasts."""
        return self._config.timeout_s

    def close(self) -> None:
        """Free the arenas."""
        self.arenas.close()

    # One step ------------------------------------------------------------------------------------------------------

    def _advance(self, actions: IntArray, playing: npt.NDArray[np.bool_]) -> Moment:
        """Controls, physics and what came of it, in all rows that play."""
        given = np.where(self._acting[:, :, None], actions, IDLE)
        self._history.add(self._clock, given, playing)
        chosen = self._actions.row_numbers(given)
        demoed = self.arenas.cars[:, :, 0, DEMOED] > 0.5
        self._pedals.row = np.where(self._acting, chosen, np.where(demoed, self._actions.neutral, self._pedals.row))
        driven = (self._bot != NOBODY) & playing[:, None]
        matches = np.flatnonzero(playing).tolist()
        inputs = self._pedals.press(matches, driven, self._drive(driven))
        self.arenas.step(matches, inputs, self._config.delay_ticks, self._config.tick_skip)
        self._clock += playing
        now = derived_state.look(self.arenas, self.team)
        moment = self._memory.advance(now, self.arenas, self._pedals.values[..., JUMP] > 0.5)
        self._goal_now = (moment.scored + moment.conceded).any(1) & playing
        self._permit(now, EVERY)
        return moment

    def _drive(self, driven: npt.NDArray[np.bool_]) -> derived_state.Floats:
        """What the bots do [M,S,8]."""
        values = np.zeros((*driven.shape, 8), np.float32)
        if driven.any():
            now = derived_state.look(self.arenas, self.team)
            for index, name in enumerate(self.spec.bots):
                rows, seats = np.nonzero(driven & (self._bot == index))
                if len(rows):
                    values[rows, seats] = BOTS[name](drivers(now, self._pedals.values, rows, seats))
        return values

    def _report(self, moment: Moment, playing: npt.NDArray[np.bool_], out: StepBuffers) -> None:
        """Signals, rewards, ends and results."""
        signals.write(moment, self._step_minutes, out.signals)
        self._rewards.write(moment, out.reward)
        resting = ~playing
        if resting.any():
            out.signals[resting] = 0.0
            out.reward[resting] = 0.0
        idle = self._memory.untouched_steps >= self._no_touch_steps
        goal = self._goal_now if self._config.end_on_goal else np.zeros_like(playing)
        out.ended[...] = playing & goal
        out.truncated[...] = playing & ~goal & (idle | (self._clock >= self.spec.max_steps))
        stopped = out.ended | out.truncated
        if stopped.any():
            lead = self._memory.goals[:, self.team] - self._memory.goals[:, 1 - self.team]
            out.result[stopped] = np.sign(lead[stopped])

    # Beginnings ----------------------------------------------------------------------------------------------------

    def _seat(self, free: Index) -> Index:
        """Plans for free rows, lowest row first; gives the rows that begin. The others rest."""
        rows = free[: len(self._queue)]
        for row in rows.tolist():
            self._begin(row, self._queue.take())
        if len(rows):
            self._settle(rows)
        rest = free[len(rows) :]
        self._bot[rest] = NOBODY
        self._clock[rest] = 0
        self._acting[rest] = False
        self._mask[rest] = False
        for row in rest.tolist():
            self._tickets[row] = None
        return rows

    def _begin(self, row: int, ticket: Ticket | None) -> None:
        assert ticket is not None
        self._tickets[row] = ticket
        self._serial[row], self._clock[row], self._bot[row] = ticket.serial, 0, ticket.bots
        rng = np.random.default_rng(ticket.seed)
        setter = self._setters.draw(self.spec.scenarios[ticket.scenario].name, rng)
        self._memory.is_drill[row] = setter in resets.MECHANICS
        self.arenas.place(row, self._setters.scene(setter, rng, self._sizes, ticket.seed))

    def _kick_off_again(self, rows: Index) -> None:
        """After a goal that does not end the match."""
        for row in rows.tolist():
            ticket = self._tickets[row]
            assert ticket is not None
            rng = np.random.default_rng([ticket.seed, int(self._memory.goals[row].sum())])
            self._memory.is_drill[row] = False
            self.arenas.place(row, self._setters.scene("kickoff", rng, self._sizes))
        self._settle(rows, same_match=True)

    def _settle(self, rows: Index, *, same_match: bool = False) -> None:
        """Read the scene that was just placed and take it as the past."""
        self.arenas.read(rows.tolist())
        self._pedals.release(rows)
        now = derived_state.look(self.arenas, self.team, rows)
        self._memory.begin(rows, now, self.arenas, same_match=same_match)
        self._permit(now, rows)

    def _replay(self, saved: snapshots.Saved) -> None:
        playing = self._serial != RESTING
        self._advance(saved.actions(self._clock, playing), playing)
        if self._goal_now.any():
            self._kick_off_again(np.flatnonzero(self._goal_now))

    # Views of the present ------------------------------------------------------------------------------------------

    def _permit(self, now: Facts, rows: Rows) -> None:
        """Who acts, and the legal choices."""
        decides = self._clock[rows] % self._config.repeat == 0
        self._acting[rows] = ~now.demoed & (self._bot[rows] == NOBODY) & decides[:, None]
        self._acting[rows] &= (self._serial[rows] != RESTING)[:, None]
        mask = np.empty((*now.boost.shape, self.spec.mask_size), np.bool_)
        permit(
            self._acting[rows], now.may_jump, now.may_boost, self._actions.needs_jump, self._actions.needs_boost, mask
        )
        self._mask[rows] = mask

    def _observe(self, now: Facts, rows: Rows, out: derived_state.Floats) -> None:
        goals = self._memory.goals[rows]
        context = Context(
            previous=self._pedals.values[rows],
            time_left=(1.0 - self._clock[rows] / np.float32(self.spec.max_steps)).astype(np.float32),
            seconds_left=(self.spec.max_steps - self._clock[rows]) * np.float32(self._config.tick_skip / TICKS_PER_S),
            score_difference=goals[:, self.team] - goals[:, 1 - self.team],
        )
        self._observation.write(now, context, out)

    def _refresh(self, rows: Index, out: StepBuffers) -> None:
        """Observations of rows whose match began in this step."""
        fresh = np.empty((len(rows), *out.obs.shape[1:]), np.float32)
        self._observe(derived_state.look(self.arenas, self.team, rows), rows, fresh)
        out.obs[rows] = fresh

    def _show(self, out: StepBuffers) -> None:
        out.match[...] = np.arange(self.matches)
        out.serial[...] = self._serial
        out.acting[...] = self._acting
        out.mask[...] = self._mask
        resting = self._serial == RESTING
        if resting.any():
            out.obs[resting] = 0.0
