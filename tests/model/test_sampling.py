"""The compiled sampler: legal by the words of the rules, right probabilities, noise as given."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from specimens import fight_heads, head_sets, legal_by_words, plain_heads

from pvp_ml.model.decision import Decision
from pvp_ml.model.sampling.heads import Heads, choose, choose_head, gumbel_noise, legal_given
from pvp_ml.spec import Head, Rule

FORCE = np.float32(1e6)


def words_allow(heads, mask, picks):
    """Whether every pick of a joint action is legal."""
    return all(legal_by_words(heads, h, mask, picks)[pick] for h, pick in enumerate(picks))


def forced(compiled, joints):
    """Noise that makes the sampler take exactly these picks wherever they are legal."""
    noise = np.zeros((len(joints), compiled.columns), np.float32)
    rows = np.arange(len(joints))
    for h in range(compiled.count):
        noise[rows, compiled.offset[h] + joints[:, h]] = FORCE
    return noise


@settings(max_examples=60, deadline=None)
@given(head_sets(), st.integers(0, 2**32 - 1), st.booleans())
def test_probabilities_of_all_joint_actions_sum_to_one(heads, seed, with_table):
    compiled, rng = Heads.compile(heads), np.random.default_rng(seed)
    joints = np.array(list(product(*(range(h.size) for h in heads))), np.int32)
    mask = np.repeat(rng.random((1, compiled.columns)) < 0.7, len(joints), axis=0)
    logits = np.repeat(rng.normal(0, 3, (1, compiled.columns)).astype(np.float32), len(joints), axis=0)
    table = rng.normal(0, 2, (compiled.columns, compiled.columns)).astype(np.float32)
    out = compiled.decision(len(joints))
    args = (table,) if with_table else ()
    greedy = np.zeros(len(joints), np.bool_)
    assert choose(compiled, logits, mask, forced(compiled, joints), greedy, out, *args) == -1
    taken = (out.actions == joints).all(axis=1)
    assert taken.tolist() == [words_allow(heads, mask[0], joint) for joint in joints]
    assert np.exp(out.log_prob[taken].astype(np.float64)).sum() == pytest.approx(1.0, abs=1e-5)
    again = legal_given(compiled, mask, out.actions)
    assert (again == out.legal).all()


def test_samples_follow_the_softmax_over_what_is_legal():
    heads = Heads.compile(plain_heads(4, 3))
    rows = 200_000
    logits = np.tile(np.array([0.5, -1.0, 2.0, 0.0, 1.0, 0.0, -0.5], np.float32), (rows, 1))
    mask = np.tile(np.array([True, True, False, True, True, True, True]), (rows, 1))
    noise = np.zeros((rows, 7), np.float32)
    gumbel_noise(np.random.default_rng(3).integers(0, 2**64, rows, np.uint64), mask, noise)
    out = heads.decision(rows)
    choose(heads, logits, mask, noise, np.zeros(rows, np.bool_), out)
    for low, high, column in ((0, 4, 0), (4, 7, 1)):
        weight = np.exp(logits[0, low:high].astype(np.float64)) * mask[0, low:high]
        share = np.bincount(out.actions[:, column], minlength=high - low) / rows
        assert np.abs(share - weight / weight.sum()).max() < 0.004  # 3.6 standard errors
    assert not (out.actions[:, 0] == 2).any()


def test_noise_of_a_row_depends_on_its_key_alone_and_is_standard_gumbel():
    keys = np.random.default_rng(0).integers(0, 2**64, 50_000, np.uint64)
    mask = np.ones((len(keys), 5), np.bool_)
    noise = np.zeros(mask.shape, np.float32)
    gumbel_noise(keys, mask, noise)
    assert noise.mean() == pytest.approx(np.euler_gamma, abs=0.01)
    assert noise.var() == pytest.approx(np.pi**2 / 6, abs=0.03)
    alone = np.zeros((1, 5), np.float32)
    gumbel_noise(keys[77:78], mask[:1], alone)
    assert (alone[0] == noise[77]).all()
    mask[:, 2] = False
    again = np.ones(mask.shape, np.float32)
    gumbel_noise(keys, mask, again)
    assert (again[:, 2] == 0).all() and (again[:, 3] == noise[:, 3]).all()


def test_greedy_rows_take_the_best_legal_choice_whatever_the_noise():
    heads = Heads.compile(plain_heads(3))
    logits = np.array([[0.0, 5.0, 1.0]] * 2, np.float32)
    mask = np.array([[True, True, True], [True, False, True]])
    noise = np.array([[100.0, 0.0, 0.0]] * 2, np.float32)
    out = heads.decision(2)
    choose(heads, logits, mask, noise, np.ones(2, np.bool_), out)
    assert out.actions[:, 0].tolist() == [1, 2]
    choose(heads, logits, mask, noise, np.zeros(2, np.bool_), out)
    assert out.actions[:, 0].tolist() == [0, 0]


def test_a_head_without_choice_and_fallback_is_reported_by_row():
    heads = Heads.compile(plain_heads(2, 2))
    mask = np.array([[True, True, True, True], [True, True, False, False]])
    zeros = np.zeros((2, 4), np.float32)
    assert choose(heads, zeros, mask, zeros, np.zeros(2, np.bool_), heads.decision(2)) == 1


def test_head_by_head_equals_all_at_once_and_masks_may_be_overwritten_in_place():
    heads = Heads.compile(fight_heads())
    rng = np.random.default_rng(1)
    rows = 2_000
    logits = rng.normal(0, 2, (rows, heads.columns)).astype(np.float32)
    mask = rng.random((rows, heads.columns)) < 0.6
    noise = rng.gumbel(size=(rows, heads.columns)).astype(np.float32)
    greedy = rng.random(rows) < 0.2
    whole, parts = heads.decision(rows), heads.decision(rows)
    choose(heads, logits, mask, noise, greedy, whole)
    total = np.zeros(rows)
    for h in range(heads.count):
        choose_head(heads, h, logits, mask, noise, greedy, parts, total)
    assert (whole.actions == parts.actions).all() and (whole.legal == parts.legal).all()
    assert np.abs(whole.log_prob - total.astype(np.float32)).max() == 0
    shared = mask.copy()
    in_place = Decision(np.zeros_like(whole.actions), np.zeros_like(whole.log_prob), shared)
    choose(heads, logits, shared, noise, greedy, in_place)
    assert (in_place.actions == whole.actions).all() and (shared == whole.legal).all()


def test_the_table_moves_later_heads_only():
    heads = (Head("a", ("x", "y")), Head("b", ("u", "v"), (Rule("v", "none", (("a", "y"),)),), "u"))
    compiled = Heads.compile(heads)
    table = np.zeros((4, 4), np.float32)
    table[0, 3] = 2.0  # x → v
    logits = np.array([[1.0, 0.0, 0.0, 0.0]], np.float32)
    out = compiled.decision(1)
    mask = np.ones((1, 4), np.bool_)
    choose(compiled, logits, mask, np.zeros((1, 4), np.float32), np.ones(1, np.bool_), out, table)
    assert out.actions.tolist() == [[0, 1]]
    expected = -np.log1p(np.exp(-1.0)) - np.log1p(np.exp(-2.0))
    assert out.log_prob[0] == pytest.approx(expected, abs=1e-6)
