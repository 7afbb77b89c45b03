"""Eating, drinking, timers, vengeance."""

import pytest

from pvp_ml.games.osrs import state as S

EAT = {"food": "eat_primary_food"}
KARAMBWAN = {"karambwan": "eat_karambwan"}
BREW = {"potion": "use_brew"}


def test_anglerfish_heals_22_over_the_cap_and_blocks_food_for_3_ticks(fight):
    f = fight()
    f.rows[0, S.HP] = 95
    f.play(EAT)
    assert f.rows[0, S.HP] == 117 and f.obs[0, 26] == 10 and f.left(0, S.T_FOOD) == 3
    f.play(EAT).play(EAT)
    assert f.obs[0, 26] == 10  # blocked
    f.play(EAT)
    assert f.obs[0, 26] == 9 and f.rows[0, S.HP] == 121  # capped at 99 + 22


@pytest.mark.parametrize(("base", "heal"), [(10, 3), (24, 4), (25, 6), (50, 11), (75, 15), (93, 22), (99, 22)])
def test_anglerfish_by_hitpoints(base, heal):
    from pvp_ml.games.osrs.kernels.fighter import anglerfish_heal

    assert getattr(anglerfish_heal, "py_func", anglerfish_heal)(base) == heal


def test_shark_heals_20_to_the_base(fight):
    f = fight(builds=("LMS_PURE",))
    f.rows[0, S.HP] = 90
    f.play(EAT)
    assert f.rows[0, S.HP] == 99 and f.carries(0, "shark") == 15
    assert f.obs[0, 26] == 0  # quirk: only anglerfish are counted
    assert fight(builds=("LMS_PURE",), switches_off=("food_count_anglerfish",)).obs[0, 26] == 16


def test_triple_eat_in_one_tick_then_everything_waits(fight):
    f = fight(builds=("LMS_PURE",))
    f.rows[0, S.HP] = 10
    f.play({**EAT, **KARAMBWAN, **BREW})
    assert f.rows[0, S.HP] == 10 + 20 + 16 + 18
    assert [f.left(0, t) for t in (S.T_FOOD, S.T_POTION, S.T_KARAMBWAN)] == [3, 3, 3]


def test_eating_never_lowers_boosted_hitpoints(fight):
    f = fight(builds=("LMS_PURE",))
    f.rows[0, S.HP] = 110
    f.play(EAT)
    assert f.rows[0, S.HP] == 110 and f.carries(0, "shark") == 15


def test_eating_delays_the_attack_from_where_the_timer_is(fight):
    f = fight()
    f.play(EAT)
    assert f.rows[0, S.T_ATTACK] == S.NEVER  # never attacked since the start: no delay
    f.rows[0, S.T_ATTACK] = f.tick + 3  # 2 left after the next decrease
    f.idle(3)
    f.rows[0, S.T_ATTACK] = f.tick + 3
    f.play(EAT)
    assert f.left(0, S.T_ATTACK) == 2 + 3
    f.rows[0, S.T_ATTACK] = f.tick - 3  # idle for longer than the delay
    f.idle(3).play(EAT)
    assert f.left(0, S.T_ATTACK) == 0


def test_food_and_karambwan_delays_add_up(fight):
    f = fight(builds=("LMS_PURE",))
    f.rows[0, S.HP] = 10
    f.rows[0, S.T_ATTACK] = f.tick + 2
    f.play({**EAT, **KARAMBWAN})
    assert f.left(0, S.T_ATTACK) == 1 + 3 + 2


def test_saradomin_brew(fight):
    f = fight(builds=("MAXED",))
    f.play(BREW)
    assert f.rows[0, S.LEVEL : S.LEVEL + 7].tolist() == [88, 88, 120, 88, 88, 99, 115]
    f.idle(3).play(BREW)
    assert f.rows[0, S.LEVEL : S.LEVEL + 7].tolist() == [77, 78, 120, 78, 78, 99, 115]


def test_super_restore(fight):
    f = fight(builds=("MAXED",))
    f.rows[0, S.LEVEL : S.LEVEL + 6] = [50, 99, 118, 90, 0, 10]
    f.play({"potion": "use_restore_potion"})
    assert f.rows[0, S.LEVEL : S.LEVEL + 6].tolist() == [82, 99, 118, 99, 32, 42]


def test_super_combat_and_ranging(fight):
    f = fight(builds=("MAXED",))
    f.play({"potion": "use_combat_potion"})
    assert f.rows[0, S.LEVEL : S.LEVEL + 3].tolist() == [118, 118, 118]
    f.idle(2).play({"potion": "use_ranged_potion"})
    assert f.rows[0, S.RNG] == 112
    assert f.mask[0, 17] == 0


def test_fewest_doses_are_drunk_first_and_a_vial_stays(fight):
    f = fight()
    for doses in range(4, 0, -1):
        assert f.rows[0, S.COUNT + S.KIND_COMBAT] == doses
        f.play({"potion": "use_combat_potion"}).idle(2)
        f.rows[0, S.STR] = 99
    assert f.carries(0, "empty_vial") == 1 and f.rows[0, S.COUNT + S.KIND_EMPTY] == 0


def test_drinking_stops_the_attack_and_eating_does_not(fight):
    attack = {"attack": "ranged_attack", "ranged_attack_type": "basic_ranged_attack"}
    f = fight().play(attack)
    assert f.obs[0, 54] == 1
    f.play(EAT)
    assert f.obs[0, 54] == 1
    f.idle(2).play(BREW)
    assert f.obs[0, 54] == 0


def test_vengeance_costs_no_attack_and_waits_50_ticks(fight):
    f = fight(builds=("MED",))
    f.rows[0, S.SPELLBOOK] = S.LUNAR
    f.play({"veng": "use_veng"})
    assert f.obs[0, 162] == 1 and f.obs[1, 163] == 1 and f.obs[0, 166] == 49
    assert f.obs[1, 165] == 1  # the opponent has seen the lunar spellbook
    assert not f.mask[0, 24]
    f.idle(49)
    assert f.mask[0, 24]


@pytest.mark.parametrize(("column", "value"), [(S.SPELLBOOK, S.ANCIENT), (S.BASE_DEF, 39), (S.MAG, 93)])
def test_vengeance_needs_book_defence_and_magic(fight, column, value):
    f = fight(builds=("MED",))
    f.rows[0, S.SPELLBOOK] = S.LUNAR
    f.rows[0, column] = value
    f.play({"veng": "use_veng"})
    assert f.obs[0, 162] == 0


def test_stats_move_towards_base_every_100_ticks(fight):
    f = fight()
    f.rows[0, S.LEVEL : S.LEVEL + 7] = [50, 110, 1, 98, 99, 10, 105]
    f.idle(98)
    assert f.rows[0, S.LEVEL : S.LEVEL + 7].tolist() == [50, 110, 1, 98, 99, 10, 105]
    f.idle()
    assert f.rows[0, S.LEVEL : S.LEVEL + 7].tolist() == [51, 109, 1, 99, 99, 10, 104]
    f.idle(100)
    assert f.rows[0, S.LEVEL : S.LEVEL + 2].tolist() == [52, 108]


def test_food_signals(fight):
    f = fight()
    f.rows[0, S.HP] = 110
    f.play(EAT)
    assert f.signal("eaten_food_scale") == pytest.approx(22 / 99)
    assert f.signal("wasted_food_scale") == pytest.approx(11 / 99)
    assert f.signal("eat_at_food_scale") == pytest.approx(110 / 99)
    assert f.signal("eat_to_food_scale") == pytest.approx(121 / 99)
    assert f.signal("remaining_food_scale") == pytest.approx(10 * 22 / 99)
    assert f.signal("remaining_brew_scale") == pytest.approx(20 * 16 / 99)
    assert f.reward("wasted_food") == pytest.approx(11 / 99) and f.reward("eat_at") == pytest.approx(110 / 99)
