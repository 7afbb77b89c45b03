"""A fight that a test arranges: set columns, give both sides choices by name, force the dice, read what came out."""

import numpy as np
import pytest

from pvp_ml.games.osrs import items
from pvp_ml.games.osrs import state as S
from pvp_ml.games.osrs.fights import DHAROK, NH
from pvp_ml.match import IDLE, Bot, External, MatchPlan, StepBuffers

PLAIN = {
    "builds": ("PURE",),
    "randomize_gear": False,
    "fight_type": "of-build",
    "only_switch_prayer_when_about_to_attack": True,
    "only_switch_gear_when_attack_soon": True,
    "allow_smite": True,
    "allow_redemption": True,
    "switches_off": ("regen_phase_carried",),
}


class Fight:
    """One match. Seat 0 acts first by default; both stand side by side at (3060, 3540) and (3061, 3540)."""

    def __init__(self, kind=NH, seed=1, bots=(None, None), scenario="default", **settings):
        settings = {**(PLAIN if kind is NH else {"switches_off": PLAIN["switches_off"]}), **settings}
        self.game = kind.build(kind.config(**settings), 1)
        self.spec = self.game.spec
        self.out = StepBuffers.allocate(self.spec, 1)
        lineup = tuple(Bot(name) if name else External("x") for name in bots)
        self.game.queue([MatchPlan(7, seed, lineup, scenario)])
        self.game.start(self.out)
        self.pid(0)
        self.place((3060, 3540), (3061, 3540))

    @property
    def rows(self):
        return self.game.fighters[0]

    @property
    def match(self):
        return self.game.state[0]

    @property
    def tick(self):
        return int(self.match[S.TICK])

    @property
    def obs(self):
        return self.out.obs[0]

    @property
    def mask(self):
        return self.out.mask[0]

    def pid(self, first):
        self.rows[first, S.PID], self.rows[1 - first, S.PID] = 1, 2
        self.rows[:, S.PID_LEFT] = 1 << 20

    def place(self, first, second):
        for seat, (x, y) in enumerate((first, second)):
            self.rows[seat, S.X], self.rows[seat, S.Y] = x, y

    def choice(self, **picks):
        """Action row of named choices; heads that are not named stay at 0."""
        row = np.zeros(len(self.spec.heads), np.int32)
        for head, pick in picks.items():
            h = [x.name for x in self.spec.heads].index(head)
            row[h] = self.spec.heads[h].choices.index(pick)
        return row

    def play(self, first=None, second=None, hits=None, poison=None, fury=None, walk=None):
        """One tick. A side is None (idle) or a dict of choices; hits = {seat: [(accurate, part, …), …]}."""
        sides = [np.full(len(self.spec.heads), IDLE) if s is None else self.choice(**s) for s in (first, second)]
        dice = np.full((1, S.CHANNELS, 40), S.FREE, np.int32)
        dice[:, :, 0] = 0
        for seat, rows in (hits or {}).items():
            values = []
            for accurate, *parts in rows:
                values += [accurate, len(parts), *parts, *[0] * (4 - len(parts))]
            dice[0, S.CHANNEL_HITS + seat, 1 : 1 + len(values)] = values
        for channel, given in ((S.CHANNEL_POISON, poison), (S.CHANNEL_FURY, fury)):
            for seat, values in (given or {}).items():
                dice[0, channel + seat, 1 : 1 + len(values)] = values
        for seat, tile in (walk or {}).items():
            dice[0, S.CHANNEL_WALK + seat, 1:3] = tile
        self.game.dice = dice
        self.game.step(np.array([sides], np.int32), self.out)
        return self

    def idle(self, ticks=1):
        for _ in range(ticks):
            self.play()
        return self

    def left(self, seat, timer):
        return max(0, int(self.rows[seat, timer]) - self.tick)

    def wears(self, seat, key):
        return items.ITEM[key] in self.rows[seat, S.WORN : S.WORN + S.SLOTS]

    def carries(self, seat, key):
        return int((self.rows[seat, S.INV : S.INV + 28] == items.ITEM[key]).sum())

    def signal(self, name, seat=0):
        return float(self.out.signals[0, seat, [s.name for s in self.spec.signals].index(name)])

    def reward(self, name, seat=0):
        return float(self.out.reward[0, seat, [r.name for r in self.spec.rewards].index(name)])


@pytest.fixture
def fight():
    """Factory of NH fights."""
    return Fight


@pytest.fixture
def dharok():
    """Factory of Dharok fights."""
    return lambda **settings: Fight(DHAROK, **settings)
