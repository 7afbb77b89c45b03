"""What each seat sees at one moment, and what changed since the last one.

Everything is in the seat's own team frame: own goal at −y. N rows (matches), S seats; distances in uu, speeds in uu/s.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pvp_ml.games.rocket_league import simulator as sim
from pvp_ml.games.rocket_league.arena.field import BOOST_MAX
from pvp_ml.games.rocket_league.kernels import moments as changes
from pvp_ml.games.rocket_league.simulator import Arenas

Floats = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.int64] | slice
EVERY = slice(None)

TURTLE_UP_Z, UPRIGHT_UP_Z, TURTLE_MAX_Z = -0.2, 0.6, 200.0
TURTLE_WINDOW = 45  # steps to get back on the wheels, and to look away afterwards
# a flip that comes back this near to the ball and this far from floor, walls and ceiling came from the ball
RESET_GAP, RESET_LOW, RESET_HIGH = 200.0, np.array([-3900.0, -4900.0, 200.0]), np.array([3900.0, 4900.0, 1850.0])


@dataclass(slots=True)
class Facts:
    """One moment. Vectors are [N,S,3], numbers and facts [N,S]."""

    ball: Floats
    ball_velocity: Floats
    ball_spin: Floats
    position: Floats
    velocity: Floats
    spin: Floats
    axes: Floats  # [N,S,3,3] forward, right, up
    boost: Floats  # 0…1
    on_ground: Bools
    demoed: Bools
    touching: Bools
    has_flip: Bools  # a jump, double jump or flip is left
    is_jumping: Bools
    is_supersonic: Bools
    has_contact: Bools  # the body, not a wheel, touches the arena
    cars: Floats  # [N,S,J,36] every car j as seat s sees it
    pads: Bools  # [N,S,34] there
    pad_timer: Floats  # [N,S,34] seconds until it is back
    flags: Floats  # [N,S,F] raw

    @property
    def forward(self) -> Floats:
        """The nose."""
        return self.axes[:, :, 0]

    @property
    def up(self) -> Floats:
        """The roof."""
        return self.axes[:, :, 2]

    @property
    def may_jump(self) -> Bools:
        """Pressing jump does something: a jump, its continuation, a flip, or turning over from the roof."""
        return self.has_flip | self.is_jumping | self.has_contact

    @property
    def may_boost(self) -> Bools:
        """There is boost left."""
        return self.boost > 0.0

    @property
    def is_turtled(self) -> Bools:
        """Lying on the roof on the floor. Driving on the ceiling is not it, although the roof points down there."""
        upside_down = self.up[..., 2] < TURTLE_UP_Z
        return upside_down & self.has_contact & ~self.on_ground & (self.position[..., 2] < TURTLE_MAX_Z)


def look(arenas: Arenas, team: npt.NDArray[np.int64], rows: Rows = EVERY) -> Facts:
    """The facts of these rows; `team` [S] is 0 for blue, 1 for orange."""
    seats = np.arange(len(team))
    ball = arenas.ball[rows][:, team]
    cars = arenas.cars[rows]
    own = cars[:, seats, team]
    flags = arenas.flags[rows]
    turned = np.stack([arenas.pad_timer[rows], arenas.pad_timer[rows][:, ::-1]], axis=1)
    return Facts(
        ball=ball[..., sim.BALL_POS],
        ball_velocity=ball[..., sim.BALL_VEL],
        ball_spin=ball[..., sim.BALL_SPIN],
        position=own[..., sim.POS],
        velocity=own[..., sim.VEL],
        spin=own[..., sim.SPIN],
        axes=own[..., sim.FORWARD.start : sim.UP.stop].reshape(*own.shape[:2], 3, 3),
        boost=own[..., sim.BOOST_AMOUNT] / np.float32(BOOST_MAX),
        on_ground=own[..., sim.ON_GROUND] > 0.5,
        demoed=own[..., sim.DEMOED] > 0.5,
        touching=own[..., sim.TOUCHED] > 0.5,
        has_flip=flags[..., sim.HAS_FLIP] > 0.5,
        is_jumping=flags[..., sim.IS_JUMPING] > 0.5,
        is_supersonic=flags[..., sim.IS_SUPERSONIC] > 0.5,
        has_contact=flags[..., sim.HAS_CONTACT] > 0.5,
        cars=cars[:, :, team].transpose(0, 2, 1, 3),
        pads=(arenas.pads[rows] > 0.5)[:, team],
        pad_timer=turned[:, team],
        flags=flags,
    )


@dataclass(slots=True)
class Moment:
    """One step: where things are now and what happened in it. All [N,S] unless it says otherwise."""

    now: Facts
    gap: Floats  # [N,S,3] from the car to the ball
    distance: Floats  # its length
    toward: Floats  # [N,S,3] its direction
    touch: Bools  # the first step of a touch
    scored: Floats  # goals of the own team
    conceded: Floats
    scorer: Bools  # the own team scored and this seat touched the ball last
    own_goal: Bools  # the other team scored and this seat touched the ball last
    counts: Floats  # [N,S,5] new goals, saves, shots, demolitions, boost pick-ups
    new_demoed: Bools
    gained: Floats  # boost that came, 0…1
    spent: Floats  # boost that went, 0…1
    touched_last: Bools
    streak: npt.NDArray[np.int32]  # touches in a row by this seat
    air_steps: npt.NDArray[np.int32]  # steps since the wheels left the ground
    steps_since_jump: npt.NDArray[np.int32]  # steps since jump was pressed in the air
    landed: Bools
    ball_velocity_before: Floats  # [N,S,3]
    up_before: Floats  # [N,S,3]
    turtled: Bools  # a turtle began
    recovered: Bools
    stayed_down: Bools
    recovery_steps: npt.NDArray[np.int32]
    flip_reset: Bools  # the wheels on the ball gave the flip back
    is_drill: Bools  # the match began in the mechanics lane, and no goal has come since


class Memory:
    """What must be remembered between the steps of a match, as arrays over the M rows."""

    NEVER = 30_000
    _LIMITS = (NEVER, TURTLE_WINDOW, UPRIGHT_UP_Z, RESET_GAP, RESET_LOW, RESET_HIGH)

    def __init__(self, matches: int, team: npt.NDArray[np.int64]) -> None:
        shape = (matches, len(team))
        self.team = team
        self.score = np.zeros((matches, 2), np.float32)  # the simulator's counters, which never restart
        self.goals = np.zeros((matches, 2), np.float32)  # of this match
        self.counts = np.zeros((*shape, 5), np.float32)
        self.untouched_steps = np.zeros(matches, np.int32)
        self.touching = np.zeros(shape, np.bool_)
        self.demoed = np.zeros(shape, np.bool_)
        self.on_ground = np.zeros(shape, np.bool_)
        self.has_flip = np.zeros(shape, np.bool_)
        self.is_drill = np.zeros(matches, np.bool_)
        self.boost = np.zeros(shape, np.float32)
        self.ball_velocity = np.zeros((*shape, 3), np.float32)
        self.up = np.zeros((*shape, 3), np.float32)
        self.streak = np.zeros(shape, np.int32)
        self.air_steps = np.zeros(shape, np.int32)
        self.steps_since_jump = np.zeros(shape, np.int32)
        self.turtle_clock = np.zeros(shape, np.int32)  # >0: steps on the roof; <0: steps still to look away

    def begin(self, rows: Rows, facts: Facts, arenas: Arenas, *, same_match: bool = False) -> None:
        """Forget the last match of these rows, or what the last goal made stale, and take the scene as the past."""
        self.score[rows] = arenas.game[rows, 2:4]
        self.counts[rows] = arenas.cars[rows][:, :, 0, sim.COUNTS]
        self.untouched_steps[rows] = 0
        self.streak[rows] = 0
        self.air_steps[rows] = 0
        self.steps_since_jump[rows] = self.NEVER
        if not same_match:
            self.goals[rows] = 0.0
        self.turtle_clock[rows] = 0
        self._take(rows, facts)

    def _take(self, rows: Rows, facts: Facts) -> None:
        self.touching[rows] = facts.touching
        self.demoed[rows] = facts.demoed
        self.on_ground[rows] = facts.on_ground
        self.has_flip[rows] = facts.has_flip
        self.boost[rows] = facts.boost
        self.ball_velocity[rows] = facts.ball_velocity
        self.up[rows] = facts.up

    def advance(self, facts: Facts, arenas: Arenas, jump: Bools) -> Moment:
        """Compare all rows with the step before, which is then forgotten. `jump` [M,S]: the button in this step."""
        rise = arenas.game[:, 2:4] - self.score
        self.score += rise
        self.goals += rise
        counts = arenas.cars[:, :, 0, sim.COUNTS]
        gap = facts.ball - facts.position
        distance = np.sqrt(np.vecdot(gap, gap))
        shape = self.streak.shape
        events = np.empty((changes.EVENTS, *shape), np.bool_)
        amounts = np.empty((changes.AMOUNTS, *shape), np.float32)
        recovery_steps = np.empty(shape, np.int32)
        now = (facts.touching, facts.on_ground, facts.demoed, facts.has_flip, facts.is_turtled, facts.boost,
               facts.up[..., 2], facts.position, distance)  # fmt: skip
        past = (self.touching, self.on_ground, self.demoed, self.has_flip, self.boost, self.streak, self.air_steps,
                self.steps_since_jump, self.turtle_clock, self.untouched_steps)  # fmt: skip
        changes.compare(
            now, past, self.team, arenas.last_toucher(), rise, jump, self._LIMITS, events, amounts, recovery_steps
        )
        moment = Moment(
            now=facts,
            gap=gap,
            distance=distance,
            toward=gap / np.maximum(distance, 1e-6)[..., None],
            touch=events[changes.TOUCH],
            scored=amounts[changes.SCORED],
            conceded=amounts[changes.CONCEDED],
            scorer=events[changes.SCORER],
            own_goal=events[changes.OWN_GOAL],
            counts=np.maximum(counts - self.counts, 0.0),
            new_demoed=events[changes.NEW_DEMOED],
            gained=amounts[changes.GAINED],
            spent=amounts[changes.SPENT],
            touched_last=events[changes.MINE],
            streak=self.streak.copy(),
            air_steps=self.air_steps.copy(),
            steps_since_jump=self.steps_since_jump.copy(),
            landed=events[changes.LANDED],
            ball_velocity_before=self.ball_velocity.copy(),
            up_before=self.up.copy(),
            turtled=events[changes.TURTLED],
            recovered=events[changes.RECOVERED],
            stayed_down=events[changes.STAYED],
            recovery_steps=recovery_steps,
            flip_reset=events[changes.FLIP_RESET],
            is_drill=np.broadcast_to(self.is_drill[:, None], shape),
        )
        self.counts[...] = counts
        self.ball_velocity[...] = facts.ball_velocity
        self.up[...] = facts.up
        return moment
