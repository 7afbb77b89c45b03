"""Exports choose alike: 10,000 rows from the same noise, 0 different actions."""

import io

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from specimens import SHAPES, fight_heads, head_sets, interface_for, plain_interface, random_policy, random_rows

from pvp_ml.model.network_config import NetworkConfig
from pvp_ml.model.onnx import onnx_program
from pvp_ml.model.sampling.heads import gumbel_noise
from pvp_ml.rl.policy.export import DecidingModule, torch_program

ROWS = 10_000


def question(shape, rows=ROWS):
    """A policy, inputs, and what the numpy actor answers."""
    network, kind = SHAPES[shape]
    interface = interface_for(kind, fight_heads()[:5])
    policy = random_policy(network, interface, 9)
    rng = np.random.default_rng(9)
    obs, _, mask, memory = random_rows(network, interface, rows, rng)
    keys = rng.integers(0, 2**64, rows, np.uint64)
    noise = np.zeros(mask.shape, np.float32)
    gumbel_noise(keys, mask, noise)
    out = policy.actor().heads.decision(rows)
    inputs = {"obs": obs, "mask": mask, "noise": noise} | ({"memory": memory.copy()} if memory is not None else {})
    policy.actor().act(obs, mask, keys, np.zeros(rows, np.bool_), out, memory=memory)
    return policy, inputs, out, memory


@pytest.mark.parametrize("shape", SHAPES)
def test_onnx_chooses_the_same_actions(shape):
    onnxruntime = pytest.importorskip("onnxruntime")
    policy, inputs, out, memory = question(shape)
    program = onnx_program(policy.network, policy.interface, policy.tensors(), policy.normalizer)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(program, options, providers=["CPUExecutionProvider"])
    answer = dict(zip((o.name for o in session.get_outputs()), session.run(None, inputs), strict=True))
    assert (answer["actions"] != out.actions).sum() == 0
    assert np.abs(answer["log_prob"] - out.log_prob).max() <= 1e-5 * max(1.0, np.abs(out.log_prob).max())
    if memory is not None:
        assert np.abs(answer["memory_after"] - memory).max() <= 1e-5
    one = {name: array[:1] for name, array in inputs.items()}
    assert (session.run(None, one)[0] == out.actions[:1]).all()


@pytest.mark.parametrize(
    "shape",
    ["everything", *(pytest.param(name, marks=pytest.mark.nightly) for name in ("default", "original", "memory"))],
)
def test_a_torch_program_chooses_the_same_actions(shape):
    policy, inputs, out, _ = question(shape)
    module = DecidingModule(policy.network, policy.interface, policy.tensors(), policy.normalizer)
    program = torch.export.load(io.BytesIO(torch_program(module))).module()
    actions = program(*(torch.from_numpy(array) for array in inputs.values()))[0]
    assert (actions.numpy() != out.actions).sum() == 0


@settings(max_examples=20, deadline=None)
@given(head_sets(), st.sampled_from(["table", "independent", "mlp"]), st.integers(0, 2**32 - 1))
def test_onnx_keeps_any_rules(heads, kind, seed):
    onnxruntime = pytest.importorskip("onnxruntime")
    interface = plain_interface(heads, 3)
    policy = random_policy(NetworkConfig(trunk=(8,), heads=kind, head_layers=(6,)), interface, seed % 1000, 1.0)
    rng = np.random.default_rng(seed)
    obs, _, mask, _ = random_rows(policy.network, interface, 200, rng)
    keys = rng.integers(0, 2**64, 200, np.uint64)
    noise = np.zeros(mask.shape, np.float32)
    gumbel_noise(keys, mask, noise)
    out = policy.actor().heads.decision(200)
    policy.actor().act(obs, mask, keys, np.zeros(200, np.bool_), out)
    program = onnx_program(policy.network, interface, policy.tensors(), policy.normalizer)
    session = onnxruntime.InferenceSession(program, providers=["CPUExecutionProvider"])
    actions, log_prob = session.run(None, {"obs": obs, "mask": mask, "noise": noise})
    assert (actions != out.actions).sum() == 0
    assert np.abs(log_prob - out.log_prob).max() <= 1e-5 * max(1.0, np.abs(out.log_prob).max())
