"""Items and builds: the arrays that kernels read."""

import numpy as np
import pytest

from pvp_ml.games.osrs import items as I
from pvp_ml.games.osrs import state as S
from pvp_ml.games.osrs.kernels import gear as gear


def test_rows_and_ids_are_unique():
    assert len(I.KEYS) == 1 + 114 + 24  # nothing, wearable items, food, potions of every dose, pouch, runes, vial
    assert len(set(I.ITEM_ID.tolist())) == len(I.KEYS)
    assert I.ITEM_ID[I.ITEM["kodai_wand"]] == 21006


def test_bare_hands_are_row_zero():
    assert (I.ITEM_SPEED[0], I.ITEM_RANGE[0], I.ITEM_ATTACK_TYPE[0], I.ITEM_OBSERVED[0]) == (4, 1, 2, 0)
    assert I.ITEM_KIND[0] == S.KIND_EMPTY and I.ITEM_DOSES[0] == 1
    assert not I.ITEM_BONUS[0].any()


@pytest.mark.parametrize(
    ("key", "weapon_class", "speed", "reach", "special"),
    [
        ("dark_bow", "dark_bow", 7, 9, S.DARK_BOW),
        ("dragon_knife", "knife", 2, 4, S.DRAGON_KNIFE),
        ("zaryte_crossbow", "crossbow", 5, 7, S.ZARYTE_CROSSBOW),
        ("morrigans_javelin", "javelin", 5, 5, S.MORRIGANS_JAVELIN),
        ("granite_maul", "granite_maul", 7, 1, S.GRANITE_MAUL),
        ("abyssal_whip", "whip", 4, 1, S.ABYSSAL_WHIP),
        ("ahrims_staff_100", "staff", 5, 1, S.SPECIAL_NONE),
    ],
)
def test_weapons(key, weapon_class, speed, reach, special):
    item = I.ITEM[key]
    assert I.CLASSES[I.ITEM_CLASS[item]] == weapon_class
    assert (I.ITEM_SPEED[item], I.ITEM_RANGE[item], I.ITEM_SPECIAL[item]) == (speed, reach, special)


def test_live_speeds_differ_where_section_8_says_so():
    live = {I.KEYS[i]: int(I.ITEM_LIVE_SPEED[i]) for i in range(len(I.KEYS)) if I.ITEM_LIVE_SPEED[i] != I.ITEM_SPEED[i]}
    assert live["dark_bow"] == 8 and live["statiuss_warhammer"] == 5 and live["kodai_wand"] == 4


def test_doses_run_down_to_a_vial():
    item = I.ITEM["saradomin_brew_4"]
    seen = []
    while item != I.VIAL:
        seen.append(int(I.ITEM_DOSES[item]))
        item = I.ITEM_NEXT_DOSE[item]
    assert seen == [4, 3, 2, 1]
    assert I.ITEM_KIND[I.VIAL] == S.KIND_OTHER


def test_no_set_asks_for_more_than_the_base_levels():
    """Every build meets the requirements of its items, so the tick does not test them."""
    sets, worn, inventory = np.zeros((5, 12), np.int32), np.zeros(11, np.int32), np.zeros(28, np.int32)
    for build in range(len(S.BUILDS)):
        for seed in range(400):
            gear.roll_loadout(build, seed, seed > 0, sets, worn, inventory)
            for item in {*sets.ravel().tolist(), *worn.tolist()}:
                assert (I.ITEM_REQUIREMENT[item] <= I.BUILD_LEVELS[build]).all(), (S.BUILDS[build], I.KEYS[item])
