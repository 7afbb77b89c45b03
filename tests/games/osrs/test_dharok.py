"""The Dharok fight: its actions, masks and observations."""

import pytest

from pvp_ml.games.osrs import items
from pvp_ml.games.osrs import state as S


def test_axe_needs_room_for_the_defender(dharok):
    d = dharok()
    assert not d.mask[0, 2] and not d.mask[0, 3]
    d.play({"food": "eat_primary_food"})
    assert d.mask[0, 2] and d.mask[0, 3]
    d.play({"attack": "axe_attack"})
    assert d.wears(0, "dharoks_greataxe") and not d.wears(0, "dragon_defender") and d.obs[0, 2] == 1
    assert d.rows[0, S.PRAYERS] == S.PIETY and d.left(0, S.T_ATTACK) == 7


def test_maul_special_hits_twice_at_once(dharok):
    d = dharok().play({"food": "eat_primary_food"})
    d.rows[0, S.T_ATTACK] = d.tick + 4
    d.play({"attack": "maul_spec_attack"}, None, hits={0: [(1, 10), (1, 12)]})
    assert d.rows[1, S.HP] == 77 and d.rows[0, S.ENERGY] == 0 and d.obs[0, 19] == pytest.approx(2 / 6)


def test_maul_with_one_special_left(dharok):
    d = dharok().play({"food": "eat_primary_food"})
    d.rows[0, S.ENERGY] = 50
    d.play({"attack": "maul_spec_attack"}, None, hits={0: [(1, 10)]})
    assert d.rows[1, S.HP] == 89 and d.rows[0, S.ENERGY] == 0


def test_armour_off_and_on(dharok):
    d = dharok()
    assert not d.mask[0, 16]
    d.play({"food": "eat_primary_food"}).idle(3).play({"food": "eat_primary_food"})
    assert d.mask[0, 16]
    d.play({"gear": "take_armor_off"})
    assert d.obs[0, 38] == 1 and d.obs[1, 39] == 1 and d.carries(0, "dharoks_platebody") == 1
    d.play({"gear": "full_armor"})
    assert d.obs[0, 38] == 0 and d.wears(0, "dharoks_platelegs")


def test_armour_on_brings_back_the_whip(dharok):
    d = dharok().play({"food": "eat_primary_food"}).play({"attack": "axe_attack"})
    d.play({"gear": "full_armor"})
    assert d.wears(0, "abyssal_tentacle") and d.wears(0, "dragon_defender")


def test_vengeance_with_runes(dharok):
    d = dharok().play({"vengeance": "use_veng"})
    assert d.obs[0, 35] == 1 and d.obs[0, 34] == 0 and d.obs[1, 37] == 1


def test_full_set_hits_harder_with_less_health(dharok):
    """Greataxe 41 at 99 HP and 80 at 1 HP; the largest of many rolls stays below and comes close."""
    most = {99: 0, 1: 0}
    for health in most:
        for seed in range(60):
            d = dharok(seed=seed).play({"food": "eat_primary_food"})
            d.rows[0, S.HP] = health
            d.rows[1, S.DEF] = 0
            d.rows[1, S.WORN : S.WORN + S.SLOTS] = 0
            d.rows[1, S.BONUS : S.BONUS + 14] = -60
            d.play({"attack": "axe_attack"})
            most[health] = max(most[health], int(d.rows[0, S.TICK_GENERATED]))
    assert 30 < most[99] <= 41 < 60 < most[1] <= 80


def test_items_of_the_loadout(dharok):
    d = dharok()
    assert d.carries(0, "anglerfish") == 14 and d.carries(0, "cooked_karambwan") == 3
    assert items.KEYS[int(d.rows[0, S.INV])] == "dharoks_greataxe"
