"""Picks become one legal action, or a sentence that says why not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ringside import spec_of

from pvp_ml.errors import UserError
from pvp_ml.model.sampling.heads import Heads, legal_given
from pvp_ml.web.orders import Orders

NH = spec_of("nh")
ORDERS = Orders(NH)
HEADS = Heads.compile(NH.heads)
ALL = np.ones(NH.mask_size, np.bool_)
COLUMN = {(h.name, c): int(HEADS.offset[i]) + j for i, h in enumerate(NH.heads) for j, c in enumerate(h.choices)}
ICE = [("attack", "mage_attack"), ("mage_attack_type", "use_ice_spell")]


@pytest.mark.parametrize(
    ("picks", "action"),
    [
        (ICE, [1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]),
        ([*ICE, ("prayer", "ranged_prayer"), ("potion", "use_brew")], [1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 2]),
        ([("movement", "move_to_farcast_tile"), ("farcast_distance", "farcast_5_tiles")], [0] * 9 + [3, 4, 0]),
        ([("gear", "use_tank_gear")], [0] * 8 + [1, 0, 0, 0]),
    ],
)
def test_picks_become_an_action(picks, action):
    assert ORDERS.read(picks, ALL).tolist() == action


@pytest.mark.parametrize(
    ("picks", "words"),
    [
        ([("attack", "fly")], "no choice 'fly'"),
        ([("legs", "run")], "no choice 'run' in a head 'legs'"),
        ([("prayer", "mage_prayer"), ("prayer", "melee_prayer")], "are both 'prayer'"),
        ([*ICE, ("gear", "use_tank_gear")], "'use_tank_gear' is not legal with the other picks"),
        ([("melee_attack_type", "basic_melee_attack")], "not legal with the other picks"),
    ],
)
def test_what_cannot_be_is_refused(picks, words):
    with pytest.raises(UserError, match=words):
        ORDERS.read(picks, ALL)


def test_the_mask_refuses():
    mask = ALL.copy()
    mask[COLUMN["food", "eat_primary_food"]] = False
    with pytest.raises(UserError, match="'eat_primary_food' is not legal now"):
        ORDERS.read([("food", "eat_primary_food")], mask)


@settings(deadline=None, max_examples=150)
@given(st.lists(st.sampled_from(sorted(COLUMN)), max_size=6), st.integers(0, 2**45 - 1))
def test_whatever_is_accepted_is_legal_and_holds_the_picks(picks, bits):
    mask = np.array([bits >> i & 1 for i in range(NH.mask_size)], np.bool_)
    try:
        action = ORDERS.read(picks, mask)
    except UserError:
        return
    assert (action is None) == (not picks)
    for h, head in enumerate(NH.heads if picks else ()):
        wanted = dict(picks).get(head.name, head.fallback)
        assert head.choices[action[h]] == wanted
    if picks:
        legal = legal_given(HEADS, mask[None], action[None])[0]
        assert all(legal[COLUMN[pick]] for pick in picks)
        assert ORDERS.is_legal(action, mask) == legal[HEADS.offset[:-1] + action].all()


def test_only_games_where_nothing_can_be_done_need_not_wait():
    assert ORDERS.can_wait and Orders(spec_of("dharok")).can_wait and not Orders(spec_of("connect4")).can_wait
    with pytest.raises(UserError, match="nothing is picked in 'column'"):
        Orders(spec_of("connect4")).read([], np.ones(7, np.bool_))


def test_nobody_is_made_to_act():
    """The mask makes an agent attack and pray when it can; a person who only eats only eats."""
    mask = ALL.copy()
    mask[[COLUMN["attack", "no_op_attack"], COLUMN["prayer", "no_op_prayer"]]] = False
    assert ORDERS.read([], mask) is None
    action = ORDERS.read([("food", "eat_primary_food")], mask)
    assert action.tolist() == [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]
    assert not ORDERS.is_legal(action, mask)
