"""What prayers cost and do in the tick."""

import numpy as np
import pytest

from pvp_ml.games.osrs import state as S

HIT = {"attack": "melee_attack", "melee_attack_type": "basic_melee_attack"}
ICE = {"attack": "mage_attack", "mage_attack_type": "use_ice_spell"}


def test_smite_takes_a_quarter_and_redemption_heals_before_the_damage(fight):
    f = fight(builds=("MAXED",))
    f.play({**HIT, "prayer": "smite_prayer"}, None, hits={0: [(1, 21)]})
    assert f.rows[1, S.PRAY] == 99 - 5 and f.reward("smite_damage_dealt") == pytest.approx(21 / 99)
    f = fight(builds=("MAXED",))
    f.rows[1, S.HP] = 40
    f.play({"food": "eat_primary_food"}, {"prayer": "redemption_prayer"})
    f.play(HIT, None, hits={0: [(1, 35)]}, fury={0: [0]})
    assert f.rows[1, S.HP] == 40 + 24 - 35 and f.rows[1, S.PRAY] == 0 and f.rows[1, S.PRAYERS] == 0
    assert f.signal("player_healed_scale", 1) == pytest.approx(24 / 99)


def test_prayer_drain(fight):
    """PURE, Protect from Melee alone: 20 a minute = 0.2 a tick, slowed by the worn prayer bonus."""
    f = fight()
    bonus = int(f.rows[0, S.BONUS + S.B_PRAYER])
    f.play({"prayer": "melee_prayer"})
    ticks = 0
    while f.rows[0, S.PRAY] == 52:
        f.play()
        ticks += 1
    assert ticks == int(np.ceil((1 + 0.0333 * bonus) / 0.2 - 1e-9))


def test_prayers_go_off_with_the_last_point(fight):
    f = fight()
    f.rows[0, S.PRAY] = 1
    f.play({"prayer": "melee_prayer"}).idle(30)
    assert f.rows[0, S.PRAY] == 0 and f.rows[0, S.PRAYERS] == 0
    assert f.reward("no_prayer") == 1
    f.play({**HIT, "prayer": "mage_prayer"})
    assert f.rows[0, S.PRAYERS] == 0
    assert not f.mask[0, 39:45].any()


def test_offensive_prayers_replace_each_other_and_keep_the_overhead(fight):
    f = fight().play({**ICE, "prayer": "melee_prayer"})
    assert f.rows[0, S.PRAYERS] == S.MYSTIC_MIGHT | S.STEEL_SKIN | S.PROTECT_MELEE
    f.idle(4).play(HIT)
    assert f.rows[0, S.PRAYERS] == S.INCREDIBLE_REFLEXES | S.ULTIMATE_STRENGTH | S.STEEL_SKIN | S.PROTECT_MELEE


def test_lms_refills_prayer(fight):
    f = fight(builds=("LMS_PURE",)).play({**HIT, "prayer": "melee_prayer"}).idle(40)
    assert f.rows[0, S.PRAY] == 99
    f = fight(builds=("LMS_PURE",), switches_off=("lms_refill",)).play({**HIT, "prayer": "melee_prayer"}).idle(40)
    assert f.rows[0, S.PRAY] < 99
