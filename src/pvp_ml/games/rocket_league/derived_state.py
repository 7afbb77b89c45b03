"""What each seat sees at one moment, and what changed since the last one.

Everything is in the seat's own team frame: own goal at −y. N rows (matches), S seats; distances in uu, speeds in uu/s.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pvp_ml.games.rocket_league import simulator as sim
from pvp_ml.games.rocket_league.arena.field import BOOST_MAX
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
        team, last = self.team, arenas.last_toucher()
        rise = arenas.game[:, 2:4] - self.score
        self.score += rise
        self.goals += rise
        touch = facts.touching & ~self.touching
        mine = last[:, None] == np.arange(len(team))
        self._count_touches(touch, mine, facts.touching)
        landed = facts.on_ground & ~self.on_ground
        self.air_steps = np.where(facts.on_ground, 0, self.air_steps + 1).astype(np.int32)
        pressed = jump & ~facts.on_ground
        self.steps_since_jump = np.where(pressed, 0, np.minimum(self.steps_since_jump + 1, self.NEVER)).astype(np.int32)
        counts = arenas.cars[:, :, 0, sim.COUNTS]
        respawned = self.demoed & ~facts.demoed
        change = np.where(respawned, 0.0, facts.boost - self.boost).astype(np.float32)
        turtled, recovered, stayed, clock = self._turtles(facts)
        conceded = rise[:, 1 - team]
        gap = facts.ball - facts.position
        distance = np.sqrt(np.vecdot(gap, gap))
        moment = Moment(
            now=facts,
            gap=gap,
            distance=distance,
            toward=gap / np.maximum(distance, 1e-6)[..., None],
            touch=touch,
            scored=rise[:, team],
            conceded=conceded,
            scorer=mine & (rise[:, team] > 0),
            own_goal=mine & (conceded > 0),
            counts=np.maximum(counts - self.counts, 0.0),
            new_demoed=facts.demoed & ~self.demoed,
            gained=np.maximum(change, 0.0),
            spent=np.maximum(-change, 0.0),
            touched_last=mine,
            streak=self.streak,
            air_steps=self.air_steps,
            steps_since_jump=self.steps_since_jump,
            landed=landed,
            ball_velocity_before=self.ball_velocity.copy(),
            up_before=self.up.copy(),
            turtled=turtled,
            recovered=recovered,
            stayed_down=stayed,
            recovery_steps=np.where(recovered, clock, 0).astype(np.int32),
            flip_reset=self._flip_resets(facts, distance),
            is_drill=np.broadcast_to(self.is_drill[:, None], touch.shape),
        )
        self.counts[...] = counts
        self._take(EVERY, facts)
        return moment

    def _count_touches(self, touch: Bools, mine: Bools, touching: Bools) -> None:
        anyone = np.asarray(touching.any(1))
        self.untouched_steps = np.where(anyone, 0, self.untouched_steps + 1).astype(np.int32)
        kept = np.where(np.asarray(touch.any(1))[:, None] & ~mine, 0, self.streak)
        self.streak = (kept + (touch & mine)).astype(np.int32)

    def _flip_resets(self, facts: Facts, distance: Floats) -> Bools:
        back = facts.has_flip & ~self.has_flip & (distance < RESET_GAP)
        if back.any():  # rare, so the rest is hardly ever computed
            back &= ((facts.position > RESET_LOW) & (facts.position < RESET_HIGH)).all(-1)
        return back

    def _turtles(self, facts: Facts) -> tuple[Bools, Bools, Bools, npt.NDArray[np.int32]]:
        """One window at a time per seat; it starts with the turtle and never outlives the match."""
        clock = self.turtle_clock
        began = facts.is_turtled & (clock == 0)
        clock = np.where(began | (clock > 0), clock + 1, np.minimum(clock + 1, 0))
        upright = facts.on_ground & (facts.up[..., 2] > UPRIGHT_UP_Z)
        recovered = (clock > 0) & upright
        stayed = (clock >= TURTLE_WINDOW) & ~upright
        self.turtle_clock = np.where(recovered | stayed, -TURTLE_WINDOW, clock).astype(np.int32)
        return began, recovered, stayed, clock.astype(np.int32)
