"""A served model that is held back: late sight per connection, mistakes, flat choices."""

from __future__ import annotations

import numpy as np
import pytest

from pvp_ml.errors import UserError
from pvp_ml.model.bundle import make_bundle
from pvp_ml.model.dial import Dial
from pvp_ml.model.network_config import NetworkConfig, normalizer_shapes, tensor_shapes
from pvp_ml.serve.held_back import HeldBackModel
from pvp_ml.serve.models import Task
from pvp_ml.serve.wire import Request
from pvp_ml.spec import Block, Feature, GameSpec, Head, RewardTerm

SPEC = GameSpec(
    name="echo",
    version=1,
    teams=((0,), (1,)),
    blocks=(Block("now", 1, tuple(Feature(f"f{i}") for i in range(4))),),
    heads=(Head("choice", tuple("abcd")),),
    rewards=(RewardTerm("win"),),
    max_steps=100,
)


def echo():
    """A policy whose logits are 50 times what it sees: it chooses the feature that is 1."""
    network = NetworkConfig(trunk=(4,), activation="relu")
    tensors = {name: np.zeros(shape, np.float32) for name, shape in tensor_shapes(network, SPEC.interface).items()}
    square = [name for name, tensor in tensors.items() if tensor.shape == (4, 4)]
    for name in square:
        tensors[name][:] = np.eye(4) * 7.0
    normalizer = {
        name: np.full(shape, 1.0 if name.endswith("var") else 0.0)
        for name, shape in normalizer_shapes(network, SPEC.interface).items()
    }
    return make_bundle(SPEC, network, tensors, normalizer, None, ())


def ask(model: HeldBackModel, seen: int, key: int, memory=None, allowed=(True,) * 4) -> int:
    obs = np.zeros(4, np.float32)
    obs[seen] = 1.0
    answer = model.run([Task(Request([], [list(allowed)]), obs, np.array(allowed), key, memory)])[0]
    return answer.action[0]


def test_delay_lives_in_the_connection():
    model = HeldBackModel("m", echo(), 4, False, Dial(delay=2))
    memory = np.zeros(model.memory, np.float32)
    assert model.memory == 2 * 5
    assert [ask(model, t % 4, t, memory) for t in range(6)] == [0, 0, 0, 1, 2, 3]
    assert ask(model, 3, 1) == 3  # without a connection there is no past


def test_mistakes_are_legal_and_as_many_as_asked_for():
    model = HeldBackModel("m", echo(), 4, False, Dial(mistakes=0.5))
    taken = (
        np.bincount([ask(model, 1, k * 7919, None, (True, True, True, False)) for k in range(900)], minlength=4) / 900
    )
    assert taken == pytest.approx([1 / 6, 4 / 6, 1 / 6, 0.0], abs=0.05)


def test_temperature_flattens_and_skip_is_refused():
    sharp = HeldBackModel("m", echo(), 4, False, Dial(temperature=0.0))
    flat = HeldBackModel("m", echo(), 4, False, Dial(temperature=100.0))
    assert {ask(sharp, 2, k) for k in range(50)} == {2}
    assert {ask(flat, 2, k) for k in range(200)} == {0, 1, 2, 3}
    with pytest.raises(UserError, match="skip is 2"):
        HeldBackModel("m", echo(), 4, False, Dial(skip=2))
