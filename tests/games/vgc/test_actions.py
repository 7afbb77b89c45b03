import itertools

import numpy as np
import pytest

from pvp_ml.games.legal import Legality
from pvp_ml.games.vgc.actions import PASS, PREVIEWS, SLOT_CHOICES, SWITCH, heads
from pvp_ml.games.vgc.config import VgcConfig, make_spec


@pytest.fixture(scope="module")
def legality():
    return Legality(make_spec(VgcConfig()))


def mask_of(left, right):
    mask = np.zeros((1, 185), bool)
    mask[0, 0] = True
    mask[0, [91 + c for c in left]] = True
    mask[0, [138 + c for c in right]] = True
    return mask


def pairs(legality, left, right):
    mask = mask_of(left, right)
    found = set()
    for first in np.flatnonzero(legality.legal(1, mask, np.zeros((1, 3), np.int32))[0]):
        picks = np.array([[0, first, 0]], np.int32)
        found |= {(int(first), int(second)) for second in np.flatnonzero(legality.legal(2, mask, picks)[0])}
    return found


def test_sizes_and_names():
    assert [head.size for head in heads()] == [91, 47, 47]
    assert SLOT_CHOICES[3] == "move 1 at left foe"
    assert SLOT_CHOICES[17] == "gimmick move 2"
    assert SLOT_CHOICES[SWITCH] == "switch 1" and SLOT_CHOICES[PASS] == "pass"
    assert heads()[0].choices[1] == "1234" and len(PREVIEWS) == 90


def test_the_same_switch_is_not_taken_twice(legality):
    both = {SWITCH + 2, SWITCH + 3}
    assert pairs(legality, both, both) == {(SWITCH + 2, SWITCH + 3), (SWITCH + 3, SWITCH + 2)}


def test_one_healthy_bench_member_is_taken_by_exactly_one_place(legality):
    either = {SWITCH + 2, PASS}
    assert pairs(legality, either, either) == {(SWITCH + 2, PASS), (PASS, SWITCH + 2)}


def test_only_one_gimmick(legality):
    moves = {3, 8, 13, 18}  # moves 1 and 2 at the left foe, without and with gimmick
    expected = {(a, b) for a, b in itertools.product(moves, moves) if not (a % 10 >= 5 and b % 10 >= 5)}
    assert pairs(legality, moves, moves) == expected and len(expected) == 12


def test_pass_and_pass_when_there_is_nothing_else(legality):
    assert pairs(legality, {PASS}, {PASS}) == {(PASS, PASS)}
    assert pairs(legality, {PASS}, {3, 4}) == {(PASS, 3), (PASS, 4)}
    assert pairs(legality, {3}, {PASS}) == {(3, PASS)}
