"""Walking, following, reach and the movement masks."""

import pytest

from pvp_ml.games.osrs import state as S

HIT = {"attack": "melee_attack", "melee_attack_type": "basic_melee_attack"}
SHOOT = {"attack": "ranged_attack", "ranged_attack_type": "basic_ranged_attack"}
ICE = {"attack": "mage_attack", "mage_attack_type": "use_ice_spell"}


def tile(f, seat=0):
    return int(f.rows[seat, S.X]), int(f.rows[seat, S.Y])


def test_path_is_straight_first_then_diagonal(fight):
    """Offset (5, 2): three steps east, then two north-east, two tiles a tick."""
    f = fight()
    f.place((3060, 3540), (3065, 3542))
    f.play({"movement": "move_under_target"})
    assert tile(f) == (3062, 3540) and f.obs[0, 55] == 1 and f.obs[0, 61] == 3 and f.obs[0, 60] == 0
    f.play()
    assert tile(f) == (3064, 3541)
    f.play()
    assert tile(f) == (3065, 3542) and f.obs[0, 61] == 0
    f.play()
    assert f.obs[0, 55] == 0


@pytest.mark.parametrize(
    ("choice", "distance"), [("farcast_2_tiles", 2), ("farcast_5_tiles", 5), ("farcast_7_tiles", 7)]
)
def test_farcast_goes_to_that_distance(fight, choice, distance):
    f = fight()
    f.place((3060, 3540), (3062, 3541))
    f.play({"movement": "move_to_farcast_tile", "farcast_distance": choice})
    f.idle(3)
    assert f.obs[0, 62] == min(7, distance)


def test_walk_orders_north_of_the_border_only(fight):
    f = fight()
    f.place((3060, 3526), (3060, 3525))
    for _ in range(6):
        f.play({"movement": "move_to_farcast_tile", "farcast_distance": "farcast_4_tiles"})
    assert f.rows[0, S.Y] >= 3525


def test_next_to_and_diagonal(fight):
    f = fight()
    f.place((3060, 3540), (3064, 3540))
    f.play({"movement": "move_next_to_target"}).idle(2)
    assert tile(f) == (3063, 3540)
    f.play({"movement": "move_diagonal_to_target"}).idle(1)
    assert tile(f) in ((3063, 3541), (3063, 3539))


def test_ties_are_drawn(fight):
    seen = set()
    for seed in range(24):
        f = fight(seed=seed)
        f.place((3060, 3540), (3060, 3540))
        f.play({"movement": "move_diagonal_to_target"})
        seen.add(tile(f))
    assert seen == {(3059, 3539), (3059, 3541), (3061, 3539), (3061, 3541)}


def test_frozen_fighters_do_not_walk(fight):
    f = fight()
    f.place((3060, 3540), (3065, 3540))
    f.rows[0, S.T_FREEZE] = f.tick + 3
    f.play({"movement": "move_under_target"})
    assert tile(f) == (3060, 3540) and f.rows[0, S.WALKING] == 0
    f.play(HIT).play(None)
    assert tile(f) != (3060, 3540)  # left = 0 in the third tick: following works again


def test_melee_follows_to_the_side_and_attacks(fight):
    f = fight()
    f.place((3060, 3540), (3065, 3543))
    f.play(HIT)
    f.idle(2)
    assert f.obs[0, 33] == 1 and f.rows[0, S.N_HITS] == 1


def test_diagonal_melee_walks_to_the_side_first(fight):
    f = fight()
    f.place((3060, 3540), (3061, 3541))
    f.play(HIT)
    assert f.obs[0, 33] == 1 and f.rows[0, S.N_HITS] == 1


def test_ranged_stops_at_its_range(fight):
    f = fight()
    f.place((3050, 3540), (3064, 3540))
    f.play(SHOOT)
    f.idle(6)
    assert f.rows[1, S.X] - f.rows[0, S.X] == 7


def test_same_tile_steps_out_before_attacking(fight):
    f = fight()
    f.place((3060, 3540), (3060, 3540))
    f.play(SHOOT)
    assert f.obs[0, 62] == 1 and f.obs[0, 49] == 1


def test_magic_reaches_ten_tiles(fight):
    f = fight()
    f.place((3060, 3540), (3070, 3540))
    f.play(ICE)
    assert f.obs[0, 49] == 1 and tile(f) == (3060, 3540)


def test_following_ends_beyond_15_tiles(fight):
    f = fight()
    f.place((3050, 3540), (3066, 3540))
    f.play(SHOOT)
    assert f.obs[0, 54] == 0 and tile(f) == (3050, 3540)


def test_movement_masks(fight):
    f = fight(allow_moving_if_can_attack=True)
    f.place((3060, 3540), (3061, 3540))
    f.play()
    assert f.mask[0, 27:32].tolist() == [True, False, False, True, True]
    f.rows[1, S.T_FREEZE] = f.tick + 10
    f.play()
    assert f.mask[0, 29]  # under a frozen target
    f.rows[0, S.T_FREEZE] = f.tick + 10
    f.play()
    assert f.mask[0, 27:32].tolist() == [True, False, False, False, False]


def test_overhead_masks_follow_their_parameters(fight):
    f = fight()
    f.rows[1, S.T_ATTACK] = f.tick + 5
    f.play()
    assert not f.mask[0, 40:43].any() and f.mask[0, 43]
    f = fight(only_switch_prayer_when_about_to_attack=False, allow_smite=False)
    f.rows[1, S.T_ATTACK] = f.tick + 5
    f.play()
    assert f.mask[0, 39:45].tolist() == [False, True, True, True, False, False]
    f.rows[0, S.SEEN_LUNAR] = 1
    f.play()
    assert f.mask[0, 39:45].tolist() == [False, False, True, True, False, False]


def test_redemption_is_legal_only_without_supplies_and_under_threat(fight):
    f = fight()
    assert not f.mask[0, 44]
    f.rows[0, S.COUNT + S.KIND_ANGLERFISH] = f.rows[0, S.COUNT + S.KIND_BREW] = 0
    f.play()
    assert f.mask[0, 44]
    f.rows[1, S.T_ATTACK] = f.tick + 4
    f.play()
    assert not f.mask[0, 44]


def test_attack_masks_wait_for_the_timer_only_with_the_gear_gate(fight):
    for gate, legal in ((True, False), (False, True)):
        f = fight(only_switch_gear_when_attack_soon=gate)
        f.rows[0, S.T_ATTACK] = f.tick + 4
        f.play()
        assert f.mask[0, 0] and f.mask[0, 2] == legal
