"""Every reward term from a tick that was set by hand: what `report` makes of the columns, number by number."""

import numpy as np
import pytest

from pvp_ml.games.osrs import state as S
from pvp_ml.games.osrs.kernels.signals import report
from pvp_ml.games.osrs.kernels.tick import RUNNING, TIED, TRUNCATED, WON_0, WON_1
from pvp_ml.games.osrs.signals import REWARDS, SIGNALS

NAMES = [term.name for term in REWARDS]
BASE_HP, THEIR_BASE_HP = 80, 99


def terms(mine=None, theirs=None, outcome=RUNNING, tick=100):
    """Reward terms of both seats: columns of seat 0 and seat 1 after a tick. Seat 0 has 80 base HP, seat 1 has 99."""
    fighters, match = np.zeros((2, S.FIGHTER_SIZE), np.int32), np.zeros(S.MATCH_SIZE, np.int32)
    match[S.TICK] = tick
    fighters[:, S.BASE : S.BASE + 7] = fighters[:, S.LEVEL : S.LEVEL + 7] = 75
    for row, base, columns in ((0, BASE_HP, mine), (1, THEIR_BASE_HP, theirs)):
        fighters[row, S.BASE_HP] = fighters[row, S.HP] = base
        for column, value in (columns or {}).items():
            fighters[row, column] = value
    signals, rewards = np.zeros((2, len(SIGNALS)), np.float32), np.zeros((2, len(REWARDS)), np.float32)
    report(fighters, match, outcome, signals, rewards)
    return [dict(zip(NAMES, seat.tolist(), strict=True)) for seat in rewards]


def nonzero(values, but=("step",)):
    return {name: pytest.approx(value, abs=1e-6) for name, value in values.items() if value != 0.0 and name not in but}


def test_a_quiet_tick_pays_the_step_alone():
    for seat in terms():
        assert seat["step"] == 1.0
        assert nonzero(seat) == {}


HIT = {S.TICK_HITS: 1, S.TICK_STYLE: S.MAGE + 1, S.TICK_SPEED: 5}
CASES = [
    # what happened, columns of seat 0, of seat 1, terms of seat 0, of seat 1
    ("damage created", {S.TICK_GENERATED: 33}, {}, {"damage_dealt": 33 / 99}, {"damage_received": 33 / 99}),
    ("damage created on me", {}, {S.TICK_GENERATED: 20}, {"damage_received": 20 / 80}, {"damage_dealt": 20 / 80}),
    ("damage shown", {}, {S.SPLAT_DAMAGE: 44},
     {"damage_dealt_shown": 44 / 99, "damage_points_dealt": 44},
     {"damage_received_shown": 44 / 99, "damage_points_received": 44}),
    ("damage shown on me", {S.SPLAT_DAMAGE: 8}, {},
     {"damage_received_shown": 8 / 80, "damage_points_received": 8},
     {"damage_dealt_shown": 8 / 80, "damage_points_dealt": 8}),
    ("recoil by me", {S.TICK_EXTRA: 9}, {}, {"extra_damage_dealt": 9 / 99}, {"extra_damage_received": 9 / 99}),
    ("recoil on me", {}, {S.TICK_EXTRA: 4}, {"extra_damage_received": 4 / 80}, {"extra_damage_dealt": 4 / 80}),
    ("smite", {S.TICK_GENERATED: 33, S.TICK_SMITE: 1}, {},
     {"damage_dealt": 33 / 99, "smite_damage_dealt": 33 / 99},
     {"damage_received": 33 / 99, "smite_damage_received": 33 / 99}),
    ("blood spell", {S.TICK_HEALED: 6}, {}, {"player_healed": 6 / 80}, {"target_healed": 6 / 80}),
    ("eaten at 40", {S.TICK_EAT_AT: 40}, {}, {"eat_at": 40 / 80}, {}),
    ("no prayer left", {S.PRAY: 0}, {}, {"no_prayer": 1}, {}),
    ("food beyond the cap", {S.TICK_WASTED: 5}, {}, {"wasted_food": 5 / 80}, {}),
    ("brew beyond the cap", {S.TICK_BREW_WASTED: 3}, {}, {"wasted_brews": 3 / 80}, {}),
    ("attack of speed 5 into the prayer that was there a tick ago too",
     {**HIT, S.TICK_MATCHED: 1, S.TICK_PRAYED: S.MAGE + 1, S.WAS_STYLE: S.MAGE}, {S.WAS_PRAYER: S.MAGE + 1},
     {"hit_on_prayer": 1, "hit_on_prior_prayer": 1},
     {"protected_correct_prayer": 1, "protected_correct_prior_prayer": 1}),
    ("attack of speed 4 past a prayer against another style",
     {**HIT, S.TICK_SPEED: 4, S.TICK_PRAYED: S.MELEE + 1, S.WAS_STYLE: S.RANGE}, {S.WAS_PRAYER: S.MELEE + 1},
     {"hit_off_prayer": 0.8, "hit_off_prior_prayer": 0.8},
     {"protected_wrong_prayer": 0.8, "protected_wrong_prior_prayer": 0.8}),
    ("attack of speed 5 on somebody who just switched to the right prayer",
     {**HIT, S.TICK_MATCHED: 1, S.TICK_PRAYED: S.MAGE + 1, S.WAS_STYLE: S.MELEE}, {S.WAS_PRAYER: 0},
     {"hit_on_prayer": 1, "hit_off_prior_prayer": 1},
     {"protected_correct_prayer": 1, "protected_wrong_prior_prayer": 1}),
    ("freeze of 32 ticks", {S.T_FREEZE: 132, S.WAS_FROZEN: 0}, {}, {"player_frozen": 32}, {"target_frozen": 32}),
    ("a freeze that runs out pays nothing", {S.T_FREEZE: 110, S.WAS_FROZEN: 11}, {}, {}, {}),
    ("attack boosted", {S.ATT: 90}, {}, {"attack_level_scale": 0.2}, {}),
    ("strength boosted, no hit", {S.STR: 90}, {}, {"strength_level_scale": 0.2}, {}),
    ("strength boosted, melee hit", {S.STR: 90, S.TICK_STYLE: S.MELEE + 1}, {},
     {"strength_level_scale": 0.2, "melee_boost_hit": 0.2}, {}),
    ("strength drained, melee hit", {S.STR: 60, S.TICK_STYLE: S.MELEE + 1}, {}, {"strength_level_scale": -0.2}, {}),
    ("defence drained", {S.DEF: 60}, {}, {"defence_level_scale": -0.2}, {}),
    ("ranged boosted, ranged hit", {S.RNG: 81, S.TICK_STYLE: S.RANGE + 1}, {},
     {"ranged_level_scale": 0.08, "ranged_boost_hit": 0.08}, {}),
    ("magic boosted, magic hit", {S.MAG: 78, S.TICK_STYLE: S.MAGE + 1}, {},
     {"magic_level_scale": 0.04, "magic_boost_hit": 0.04}, {}),
]  # fmt: skip


@pytest.mark.parametrize(("mine", "theirs", "first", "second"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_terms_by_hand(mine, theirs, first, second):
    seats = terms(mine, theirs)
    assert nonzero(seats[0]) == first
    assert nonzero(seats[1]) == second


FOOD = {S.COUNT + S.KIND_SHARK: 4, S.COUNT + S.KIND_BREW: 2, S.HP: 0}


def test_the_end_pays_winner_and_loser():
    """Seat 1 dies with four sharks (20 HP each) and two doses of brew (15 % of base and 2: 16 HP each at 99)."""
    first, second = terms({S.HP: 20}, FOOD, WON_0)
    food, brews = 4 * 20 / 99, 2 * 16 / 99
    won = {"win": 1, "health_preserved": 20 / 80, "target_food_on_death": food, "target_brews_on_death": brews}
    assert nonzero(first) == won
    assert nonzero(second) == {"lost": 1, "player_food_on_death": food, "player_brews_on_death": brews}
    assert nonzero(terms({S.HP: 20}, {S.HP: 55}, WON_1)[1])["win"] == 1


def test_a_tie_pays_both_and_a_cut_off_match_nobody():
    assert [nonzero(seat) for seat in terms(outcome=TIED)] == [{"tied": 1}, {"tied": 1}]
    assert [nonzero(seat) for seat in terms(outcome=TRUNCATED)] == [{}, {}]


def test_every_term_has_a_case():
    covered = {name for case in CASES for part in case[3:] for name in part}
    covered |= {"step", "win", "lost", "tied", "health_preserved"}
    covered |= {f"{who}_{what}_on_death" for who in ("target", "player") for what in ("food", "brews")}
    assert covered == set(NAMES)
