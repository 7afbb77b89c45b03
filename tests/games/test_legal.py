from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from specimens import head_sets, legal_by_words

from pvp_ml.games.contract import load_contract
from pvp_ml.games.legal import Legality, check_actions
from pvp_ml.match import ActionError
from pvp_ml.model.sampling.heads import Heads, legal_given
from pvp_ml.spec import Block, Feature, GameSpec, Head, RewardTerm


def spec_of(*heads):
    return GameSpec("g", 1, ((0,), (1,)), (Block("b", 1, (Feature("f"),)),), heads, (RewardTerm("r"),), max_steps=9)


@settings(max_examples=150, deadline=None)
@given(head_sets(), st.integers(0, 2**32 - 1))
def test_matrices_agree_with_the_words_for_every_joint_action(heads, seed):
    spec = spec_of(*heads)
    legality, rng = Legality(spec), np.random.default_rng(seed)
    joints = np.array(list(product(*(range(n) for n in spec.head_sizes))), np.int32)
    masks = rng.random((len(joints), spec.mask_size)) < 0.7
    for h in range(len(spec.heads)):
        found = legality.legal(h, masks, joints)
        assert found.tolist() == [legal_by_words(heads, h, m, p) for m, p in zip(masks, joints, strict=True)]


@settings(max_examples=60, deadline=None)
@given(head_sets().map(lambda heads: spec_of(*heads)), st.integers(0, 2**32 - 1))
def test_what_it_chooses_it_accepts_and_anything_else_it_refuses(spec, seed):
    legality, rng = Legality(spec), np.random.default_rng(seed)
    masks = rng.random((40, spec.mask_size)) < 0.6
    picks = legality.choose(masks, rng.random((40, len(spec.heads))))
    actions = picks.reshape(20, 2, -1)
    acting = np.ones((20, 2), np.bool_)
    legality.check(actions, acting, masks.reshape(20, 2, -1))
    for row in range(40):
        other = np.array([rng.integers(n) for n in spec.head_sizes], np.int32)
        fine = all(legal_by_words(spec.heads, h, masks[row], other)[other[h]] for h in range(len(spec.heads)))
        one = (np.concatenate([other[None], other[None]])[None], np.array([[True, False]]), masks[[row, row]][None])
        if fine:
            legality.check(*one)
        else:
            with pytest.raises(ActionError, match="match 0, seat 0: head"):
                legality.check(*one)


@settings(max_examples=60, deadline=None)
@given(head_sets().map(lambda heads: spec_of(*heads)), st.integers(0, 2**32 - 1))
def test_the_compiled_sampler_reads_the_rules_alike(spec, seed):
    legality, rng = Legality(spec), np.random.default_rng(seed)
    joints = np.array(list(product(*(range(n) for n in spec.head_sizes))), np.int32)
    masks = rng.random((len(joints), spec.mask_size)) < 0.6
    here = np.concatenate([legality.legal(h, masks, joints) for h in range(len(spec.heads))], 1)
    assert np.array_equal(here, legal_given(Heads.compile(spec.heads), masks, joints))


def test_choosing_is_uniform_over_what_is_legal():
    spec = spec_of(Head("a", ("x", "y", "z", "w")))
    mask = np.tile([True, False, True, True], (3000, 1))
    picks = Legality(spec).choose(mask, np.random.default_rng(0).random((3000, 1)))[:, 0]
    assert np.bincount(picks, minlength=4).tolist() == pytest.approx([1000, 0, 1000, 1000], abs=120)


def test_an_empty_mask_without_fallback_is_named():
    with pytest.raises(ActionError, match="head 'a': nothing is legal"):
        Legality(spec_of(Head("a", ("x", "y")))).choose(np.zeros((1, 2), np.bool_), np.zeros((1, 1)))


SPEC = spec_of(Head("a", ("x", "y")), Head("b", ("u", "v", "w")))
ALL = np.ones((2, 2), np.bool_)


@pytest.mark.parametrize(
    ("actions", "says"),
    [
        (np.zeros((2, 2, 3), np.int32), r"shape \(2, 2, 3\), expected \(2, 2, 2\)"),
        (np.zeros((2, 2, 2), np.float32), "actions are float32"),
        (np.zeros((2, 2, 2), np.bool_), "actions are bool"),
        ([[0]], "actions are list"),
        (np.full((2, 2, 2), 2, np.int32), "match 0, seat 0: head 'a' has 2 choices, got 2"),
        (np.full((2, 2, 2), -2, np.int64), "head 'a' has 2 choices, got -2"),
        (np.array([[[0, 0], [0, 0]], [[0, 0], [1, -1]]], np.int32), "match 1, seat 1: head 'b' .* got -1 — IDLE"),
    ],
)
def test_wrong_arrays_are_refused_by_name(actions, says):
    with pytest.raises(ActionError, match=says):
        check_actions(SPEC, actions, ALL)


def test_idle_seats_and_seats_that_do_not_act_are_not_looked_at():
    actions = np.array([[[-1, -1], [0, 0]], [[9, 9], [1, 2]]], np.int8)
    check_actions(SPEC, actions, np.array([[True, True], [False, True]]))


def test_the_packaged_contract_allows_exactly_one_attack_type_chain():
    heads = load_contract("NhEnv").heads
    spec = spec_of(*heads)
    legality = Legality(spec)
    mask = np.ones((4, spec.mask_size), np.bool_)
    picks = np.zeros((4, len(heads)), np.int64)
    picks[:, 0] = range(4)  # no attack, mage, ranged, melee
    assert legality.legal(1, mask, picks).tolist() == [[True, False, False]] * 3 + [[False, True, True]]
    assert legality.legal(3, mask, picks)[1].tolist() == [False, True, True, True]
    assert legality.legal(8, mask, picks).tolist() == [[False, True]] + [[True, False]] * 3
