import dataclasses

import numpy as np
import pytest

from pvp_ml.errors import UserError
from pvp_ml.match import IDLE, LOSS, RESTING, TIE, WIN, ActionError, Bot, Fault, MatchPlan, Member, StepBuffers
from pvp_ml.spec import Block, Feature, GameSpec, Head, RewardTerm, Signal

SPEC = GameSpec(
    "duel",
    1,
    ((0,), (1,)),
    (Block("self", 2, (Feature("a"), Feature("b"), Feature("c"))),),
    (Head("x", ("0", "1")), Head("y", ("0", "1", "2"))),
    (RewardTerm("r"), RewardTerm("q")),
    max_steps=9,
    privileged=(Block("hidden", 1, (Feature("d"),)),),
    signals=(Signal("k"),),
)
SHAPES = {
    "match": ((4,), np.int32),
    "serial": ((4,), np.int64),
    "obs": ((4, 2, 6), np.float32),
    "privileged": ((4, 2, 1), np.float32),
    "mask": ((4, 2, 5), np.bool_),
    "acting": ((4, 2), np.bool_),
    "signals": ((4, 2, 1), np.float32),
    "reward": ((4, 2, 2), np.float32),
    "ended": ((4,), np.bool_),
    "truncated": ((4,), np.bool_),
    "result": ((4, 2), np.int8),
    "final_obs": ((4, 2, 6), np.float32),
    "final_privileged": ((4, 2, 1), np.float32),
    "faults": ((4,), np.int32),
}


def test_allocated_buffers_have_the_stated_shapes_and_types():
    out = StepBuffers.allocate(SPEC, 4)
    found = {f.name: (getattr(out, f.name).shape, getattr(out, f.name).dtype.type) for f in dataclasses.fields(out)}
    assert found == SHAPES


def test_allocated_buffers_describe_resting_rows():
    out = StepBuffers.allocate(SPEC, 4)
    assert out.match.tolist() == [0, 1, 2, 3]
    assert out.serial.tolist() == [RESTING] * 4
    for name in set(SHAPES) - {"match", "serial"}:
        assert not getattr(out, name).any(), name


def test_numbers_that_cross_borders_are_fixed():
    assert (IDLE, RESTING, WIN, TIE, LOSS) == (-1, -1, 1, 0, -1)
    assert [(f.name, f.value) for f in Fault] == [
        ("NONE", 0),
        ("CRASHED", 1),
        ("STALLED", 2),
        ("DESYNC", 3),
        ("BAD_DATA", 4),
        ("REJECTED", 5),
    ]


def test_plans_are_values():
    one, two = (MatchPlan(1, 2, (Bot("a"), Member("h", delay=2)), "default") for _ in range(2))
    assert one == two
    assert len({one, two}) == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.seed = 3


def test_an_action_error_is_for_people():
    assert issubclass(ActionError, UserError)
    assert str(ActionError("head 'x' has 2 choices, got 5", "count from 0")).endswith("got 5 — count from 0")
