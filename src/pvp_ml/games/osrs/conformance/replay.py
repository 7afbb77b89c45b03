"""Forced replay: play a recorded fight again with its actions and dice, and compare everything that was recorded.

Dice that the recording names are handed to the tick: accuracy and damage of every hit, both PIDs, gear seeds, start
tiles. Dice that it does not name but shows are found by trying them: a walk destination among equally good tiles (the
way walked tells), blood fury (the HP gained tells), poison (the damage 30 ticks later tells). A guess is only ever a
value that the dice could have taken; the comparison afterwards decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pvp_ml.games.osrs import items as I
from pvp_ml.games.osrs import state as S
from pvp_ml.games.osrs.conformance.read import Fight, Side
from pvp_ml.games.osrs.conformance.tables import Sample
from pvp_ml.games.osrs.fights import DharokConfig, NhConfig
from pvp_ml.games.osrs.game import template
from pvp_ml.games.osrs.kernels import ground as ground_kernels
from pvp_ml.games.osrs.kernels import (
    impact as impact_kernels,
)
from pvp_ml.games.osrs.kernels import (
    move as move_kernels,
)
from pvp_ml.games.osrs.kernels import (
    observe as observe_kernels,
)
from pvp_ml.games.osrs.kernels import (
    reset as reset_kernels,
)
from pvp_ml.games.osrs.kernels import (
    signals as signals_kernels,
)
from pvp_ml.games.osrs.kernels import (
    tick as tick_kernels,
)
from pvp_ml.games.osrs.kernels.gear import string_hash
from pvp_ml.games.osrs.signals import REWARDS, SIGNALS

HIT_VALUES = 6
DICE_WIDTH = 1 + 8 * HIT_VALUES
POISON_TICKS = 30
REGEN_TICKS = 50
LOOK_AHEAD = 6
MOVEMENT, FARCAST = 9, 10
ARENA = "PVP_ARENA"


class Guess(NamedTuple):
    """Values for dice that the recording shows only by their effect."""

    fury: tuple[int, ...]  # blood fury of the first two damaging melee hits of seat 0, then of seat 1
    poison: tuple[tuple[int, int], ...]  # (victim, damage) whose own poison strikes for the first time now
    carried: tuple[tuple[int, int], ...]  # the same for a poison that still runs from the episode before
    weaken: bool  # a carried poison whose count is not known yet weakens now


@dataclass(slots=True)
class CarriedPoison:
    """A poison of an earlier episode: it strikes every 30 ticks and weakens every fifth time, counted from then."""

    victim: int
    strikes_at: int
    weakens_at: int | None = None


def config_of(fight: Fight) -> NhConfig | DharokConfig:
    """The settings of our game that mean the same as the recorded reset parameters."""
    if fight.env == "DharokEnv":
        return DharokConfig(death_match=True, max_ticks=20_000)
    params = fight.params
    return NhConfig(
        builds=(fight.build,),
        randomize_gear=bool(params.get("randomizeGear", False)),
        fight_type=fight.kind,
        only_switch_prayer_when_about_to_attack=bool(params.get("onlySwitchPrayerWhenAboutToAttack", True)),
        only_switch_gear_when_attack_soon=bool(params.get("onlySwitchGearWhenAttackSoon", True)),
        allow_smite=bool(params.get("allowSmite", True)),
        allow_redemption=bool(params.get("allowRedemption", True)),
        allow_moving_if_can_attack=bool(params.get("allowMovingIfCanAttack", False)),
        max_ticks=20_000,
    )


def last_run(side: Side) -> int:
    """The last server tick in which the side covered two tiles."""
    last = -1
    for tick, now in side.samples.items():
        before = side.samples.get(tick - 1)
        if before is not None and max(abs(now.x - before.x), abs(now.y - before.y)) == 2:
            last = tick
    return last


def ring(x: int, y: int, radius: int, shape: int) -> Iterator[tuple[int, int]]:
    """Tiles at that Chebyshev distance; shape 0 all of them, 1 only orthogonal, 2 only diagonal ones."""
    span = range(-radius, radius + 1)
    for dx, dy in product(span, span):
        straight = dx == 0 or dy == 0
        if max(abs(dx), abs(dy)) == radius and (shape == 0 or straight == (shape == 1)):
            yield x + dx, y + dy


class Replay:
    """One fight being played again. `tick` counts as the kernels do; server tick = `first` + tick."""

    def __init__(self, fight: Fight) -> None:
        self.fight = fight
        self.dharok = fight.env == "DharokEnv"
        self.fighters = np.zeros((2, S.FIGHTER_SIZE), np.int32)
        self.drained = np.zeros(2)
        self.match = np.zeros(S.MATCH_SIZE, np.int32)
        self.dice = np.zeros((S.CHANNELS, DICE_WIDTH), np.int32)
        self.scratch = np.zeros(S.HIT_SIZE, np.int32)
        self.first = max(min(side.samples) for side in fight.sides)
        self.last = min(int(side.ticks[-1]) for side in fight.sides) - 1
        self.rows = [{int(t): n for n, t in enumerate(side.ticks)} for side in fight.sides]
        width = 40 if self.dharok else 176
        self.obs = np.zeros((2, width), np.float32)
        self.mask = np.zeros((2, fight.sides[0].mask.shape[1]), np.bool_)
        self.signals = np.zeros((2, len(SIGNALS)), np.float32)
        self.rewards = np.zeros((2, len(REWARDS)), np.float32)
        self.runs_until = [last_run(side) for side in fight.sides]
        self.poisonings: list[tuple[int, int, int]] = []  # (server tick, victim, damage) of hits that could poison
        self.carried: list[CarriedPoison] = []

    # --- start ---

    def start(self) -> None:
        """Both fighters as the recording shows them in the first tick that has both."""
        settings = template(config_of(self.fight), {}, self.dharok)
        bots = np.zeros(2, np.int32)
        reset_kernels.start_match(self.fighters, self.match, self.drained, settings, 1, 2, bots)
        randomized = bool(self.fight.params.get("randomizeGear", False))
        build = S.BUILDS.index(self.fight.build)
        for seat, side in enumerate(self.fight.sides):
            reset_kernels.wear_loadout(self.fighters[seat], build, string_hash(side.episode), randomized)
            self.place(seat, side.samples[self.first])
            self.set_regeneration(seat, side)
            self.carry_over(seat, side)
        self.set_pids(self.first)

    def place(self, seat: int, sample: Sample) -> None:
        """Tile, stat timer and HP (damage still due from the episode before may already have landed)."""
        me = self.fighters[seat]
        me[S.X], me[S.Y] = sample.x, sample.y
        me[S.HP] = sample.levels[S.HITPOINTS]
        me[S.T_STAT] = sample.timers[7] if sample.timers[7] > 0 else 100

    def set_regeneration(self, seat: int, side: Side) -> None:
        """A regeneration of an earlier episode keeps its phase. The first rise tells it.

        A rise before that may be hidden by a drain in the same tick, so the phase is taken back to the first drain.
        """
        self.fighters[seat, S.REGEN_AT] = S.NEVER
        energy, drained_at = 100, None
        for tick in range(self.first, max(side.samples) + 1):
            now = side.samples[tick].energy
            if now > energy and drained_at is not None:
                if (tick - drained_at) % REGEN_TICKS != 0:
                    hidden = (tick - drained_at - 1) // REGEN_TICKS
                    self.fighters[seat, S.REGEN_AT] = tick - REGEN_TICKS * hidden - self.first
                return
            if now < energy and drained_at is None:
                drained_at = tick
            energy = now

    def carry_over(self, seat: int, side: Side) -> None:
        """Re-used players still show the last hitsplats of the episode before; the first replies tell."""
        row = self.rows[seat].get(self.first)
        later = self.rows[seat].get(self.first + 1)
        me, opp = self.fighters[seat], self.fighters[1 - seat]
        on_me, on_opp = (31, 32) if self.dharok else (52, 53)
        if row is not None:
            me[S.SPLAT_DAMAGE] = me[S.TAKEN_SUM] = round(side.obs[row, on_me] * 99)
            opp[S.SPLAT_DAMAGE] = opp[S.TAKEN_SUM] = round(side.obs[row, on_opp] * 99)
        if later is not None and not self.dharok:
            opp[S.SPLATS] = int(side.obs[later, 11] > 0)

    def set_run_mode(self, tick: int) -> None:
        """A player without run energy walks; one that never covers two tiles in a tick again is walking."""
        for seat in range(2):
            self.fighters[seat, S.WALKS] = tick > self.runs_until[seat]

    # --- dice ---

    def set_pids(self, tick: int) -> None:
        """PIDs as recorded at the end of that tick; never re-rolled by the replay itself."""
        for seat, side in enumerate(self.fight.sides):
            self.fighters[seat, S.PID] = int(side.samples[tick].pid * (1 << 30))
            self.fighters[seat, S.PID_LEFT] = 1 << 30

    def load_hits(self, tick: int) -> None:
        """Recorded accuracy and damage parts of the hits launched in that tick."""
        self.dice[:] = S.FREE
        self.dice[:, 0] = 0
        for seat, side in enumerate(self.fight.sides):
            values: list[int] = []
            for hit in side.hits.get(tick, ())[:8]:
                values += [hit.accurate, len(hit.parts), *hit.parts, *[0] * (4 - len(hit.parts))]
            self.dice[S.CHANNEL_HITS + seat, 1 : 1 + len(values)] = values

    def walk_tiles(self, seat: int, action: npt.NDArray[np.int32]) -> list[tuple[int, int]]:
        """The equally good destinations of the action's walk order."""
        movement = 0 if self.dharok or action[0] < 0 else int(action[MOVEMENT])
        radius, shape = {1: (1, 1), 3: (int(action[-2]) + 1, 0), 4: (1, 2)}.get(movement, (0, 0))
        if radius == 0:
            return []
        me, opp = self.fighters[seat], self.fighters[1 - seat]
        found = [
            (max(abs(x - me[S.X]), abs(y - me[S.Y])), x, y)
            for x, y in ring(int(opp[S.X]), int(opp[S.Y]), radius, shape)
            if move_kernels.is_walkable(me, self.match, x, y)
        ]
        nearest = min(far for far, _, _ in found) if found else 0
        return [(x, y) for far, x, y in found if far == nearest]

    def agreement(self, seat: int, x: int, y: int, tick: int) -> int:
        """How many ticks the recorded way agrees with walking to that tile, until another order may interfere."""
        side = self.fight.sides[seat]
        walker = self.fighters[seat].copy()
        ground_kernels.queue_route(walker, self.match, x, y)
        score = 0
        for ahead in range(LOOK_AHEAD):
            sample = side.samples.get(tick + ahead)
            row = self.rows[seat].get(tick + ahead)
            if sample is None or row is None:
                break
            action = side.actions[row]
            if ahead and (action[0] > 0 or action[MOVEMENT] > 0):
                break
            for _ in range(1 if tick + ahead > self.runs_until[seat] else 2):
                if walker[S.WALKING]:
                    move_kernels.step_once(walker)
            if (walker[S.X], walker[S.Y]) != (sample.x, sample.y):
                break
            opp = self.fight.sides[1 - seat].samples[tick + ahead]
            left = min(7, max(abs(walker[S.X] - x), abs(walker[S.Y] - y)))
            there = min(7, max(abs(opp.x - x), abs(opp.y - y)))
            score += 1 + (side.obs[row, 61] == left) + (side.obs[row, 60] == there)
        return score

    def choose_walks(self, actions: npt.NDArray[np.int32], tick: int) -> None:
        """Force the destination that the recorded way agrees with best."""
        for seat in range(2):
            tiles = self.walk_tiles(seat, actions[seat])
            if len(tiles) > 1:
                best = max(tiles, key=lambda tile: self.agreement(seat, tile[0], tile[1], tick))
                self.dice[S.CHANNEL_WALK + seat, 1:3] = best

    # --- ticks ---

    def actions_of(self, tick: int) -> npt.NDArray[np.int32]:
        """Both actions of a server tick; a seat that was not asked yet is idle."""
        out = np.full((2, self.fight.sides[0].actions.shape[1]), -1, np.int32)
        for seat, side in enumerate(self.fight.sides):
            row = self.rows[seat].get(tick)
            if row is not None and row > 0:
                out[seat] = side.actions[row]
        return out

    def guesses(self, tick: int) -> Iterator[Guess]:
        """Dice to try that the recording does not name, the likeliest first."""
        own = [(victim, damage) for at, victim, damage in self.poisonings if at + POISON_TICKS == tick]
        carried: list[tuple[int, int]] = []
        if tick <= self.first + POISON_TICKS:
            carried = sorted({(victim, damage) for _, victim, damage in self.poisonings})
        strikes: list[tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]] = [((), ())]
        strikes += [((event,), ()) for event in own] + [((), (event,)) for event in carried]
        strikes += [((), tuple(carried))] if len(carried) > 1 else []
        unknown = any(task.weakens_at is None for task in self.due_carried(tick))
        for own_now, carried_now in strikes:
            for weaken in (False, True) if unknown or carried_now else (False,):
                for fury in product((0, 1), repeat=4):
                    yield Guess(fury, own_now, carried_now, weaken)

    def due_carried(self, tick: int) -> list[CarriedPoison]:
        """Poisons of earlier episodes that strike in that tick."""
        return [task for task in self.carried if (tick - task.strikes_at) % POISON_TICKS == 0]

    def apply_guess(self, guess: Guess, tick: int) -> None:
        """Put a guess into dice and state before the tick."""
        for seat in range(2):
            self.dice[S.CHANNEL_FURY + seat, 1:3] = guess.fury[2 * seat : 2 * seat + 2]
            self.dice[S.CHANNEL_POISON + seat, 1:] = 0
        for victim, damage in guess.poison:
            self.infect(victim, damage)
            self.fighters[victim, S.POISON_AT] = self.match[S.TICK] + 1
        for task in self.due_carried(tick):
            at = task.weakens_at
            weakens = guess.weaken if at is None else (tick - at) % (5 * POISON_TICKS) == 0
            self.strike_carried(task.victim, weakens)
        for victim, damage in guess.carried:
            self.infect(victim, damage)
            self.strike_carried(victim, guess.weaken)

    def keep_guess(self, guess: Guess, tick: int) -> None:
        """Remember what a guess that fits revealed about poisons of earlier episodes."""
        for task in self.due_carried(tick):
            if task.weakens_at is None and guess.weaken:
                task.weakens_at = tick
        for victim, _ in guess.carried:
            self.carried.append(CarriedPoison(victim, tick, tick if guess.weaken else None))

    def infect(self, victim: int, damage: int) -> None:
        """Poison a fighter that is not poisoned yet; which hit did it does not show before it strikes."""
        me = self.fighters[victim]
        if me[S.POISON] == 0:
            me[S.POISON], me[S.POISON_AT], me[S.POISON_COUNT] = damage, S.NEVER, 0

    def strike_carried(self, victim: int, weakens: bool) -> None:
        """Poison damage once more, for a poison of an earlier episode that still runs beside the own one."""
        me = self.fighters[victim]
        if me[S.POISON] > 0:
            me[S.POISON] -= int(weakens)
            impact_kernels.add_due(me, me[S.POISON])

    def play(self, tick: int) -> None:
        """One tick, with the guesses that make both HP come out as recorded; the first guess if none does."""
        actions = self.actions_of(tick)
        self.load_hits(tick)
        self.set_run_mode(tick)
        self.choose_walks(actions, tick)
        before = self.fighters.copy(), self.match.copy(), self.drained.copy(), self.dice.copy()
        wanted = [side.samples[tick].levels[S.HITPOINTS] for side in self.fight.sides]
        fallback = None
        for guess in self.guesses(tick):
            self.fighters[:], self.match[:], self.drained[:], self.dice[:] = before
            self.apply_guess(guess, tick)
            tick_kernels.play_tick(
                self.fighters, self.match, self.drained, actions, self.dice, self.scratch, self.dharok
            )
            if self.fighters[:, S.HP].tolist() == wanted:
                self.keep_guess(guess, tick)
                break
            fallback = fallback or tuple(a.copy() for a in (self.fighters, self.match, self.drained, self.dice))
        else:
            assert fallback is not None, "there is always a guess"
            self.fighters[:], self.match[:], self.drained[:], self.dice[:] = fallback
        self.note_poisonings(tick)
        self.set_pids(tick)

    def note_poisonings(self, tick: int) -> None:
        """Remember which hits of this tick could have poisoned whom."""
        for seat in range(2):
            if self.dice[S.CHANNEL_POISON + seat, 0] > 0 and self.fighters[1 - seat, S.POISON_AT] <= 0:
                weapon = self.fighters[seat, S.WORN + S.WEAPON]
                self.poisonings.append((tick, 1 - seat, 12 if weapon == I.ABYSSAL_TENTACLE else 6))

    def observe(self) -> None:
        """Fill both seats' observation, mask and signal rows."""
        observe = observe_kernels.observe_dharok if self.dharok else observe_kernels.observe_nh
        for seat in range(2):
            observe(self.fighters[seat], self.fighters[1 - seat], self.match, self.obs[seat], self.mask[seat])
        signals_kernels.report(self.fighters, self.match, tick_kernels.RUNNING, self.signals, self.rewards)

    def refresh_health(self) -> None:
        """In the tick of a death the vector was computed twice, so the reply's 11 does not lag."""
        for seat in range(2 if not self.dharok else 0):
            opp = self.fighters[1 - seat]
            if opp[S.SPLATS] > 0:
                self.obs[seat, 11] = opp[S.HP] / opp[S.BASE_HP]
