"""Exports choose alike: 10,000 rows from the same noise, 0 different actions."""

import io

import numpy as np
import pytest
import torch
from specimens import SHAPES, fight_heads, interface_for, random_policy, random_rows

from pvp_ml.rl.export import DecidingModule, torch_program
from pvp_ml.rl.onnx_file import onnx_program
from pvp_ml.sampling import Choice, gumbel_noise

ROWS = 10_000


def question(shape, rows=ROWS):
    """A module, its inputs, and what the numpy actor answers."""
    network, kind = SHAPES[shape]
    interface = interface_for(kind, fight_heads()[:5])
    policy = random_policy(network, interface, 9)
    rng = np.random.default_rng(9)
    obs, _, mask, memory = random_rows(network, interface, rows, rng)
    keys = rng.integers(0, 2**64, rows, np.uint64)
    noise = np.zeros(mask.shape, np.float32)
    gumbel_noise(keys, mask, noise)
    out = Choice.allocate(policy.actor().heads, rows)
    inputs = {"obs": obs, "mask": mask, "noise": noise} | ({"memory": memory.copy()} if memory is not None else {})
    policy.actor().act(obs, mask, keys, np.zeros(rows, np.bool_), out, memory=memory)
    return DecidingModule(network, interface, policy.tensors(), policy.normalizer), inputs, out, memory


@pytest.mark.parametrize(
    "shape",
    ["default", *(pytest.param(name, marks=pytest.mark.nightly) for name in ("ancestor", "memory", "everything"))],
)
def test_onnx_chooses_the_same_actions(shape):
    onnxruntime = pytest.importorskip("onnxruntime")
    module, inputs, out, memory = question(shape)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(onnx_program(module), options, providers=["CPUExecutionProvider"])
    answer = dict(zip((o.name for o in session.get_outputs()), session.run(None, inputs), strict=True))
    assert (answer["actions"] != out.actions).sum() == 0
    assert np.abs(answer["log_prob"] - out.log_prob).max() <= 1e-4
    if memory is not None:
        assert np.abs(answer["memory_after"] - memory).max() <= 1e-5
    one = {name: array[:1] for name, array in inputs.items()}
    assert (session.run(None, one)[0] == out.actions[:1]).all()


@pytest.mark.parametrize("shape", ["memory"])
def test_a_torch_program_chooses_the_same_actions(shape):
    module, inputs, out, _ = question(shape)
    program = torch.export.load(io.BytesIO(torch_program(module))).module()
    actions = program(*(torch.from_numpy(array) for array in inputs.values()))[0]
    assert (actions.numpy() != out.actions).sum() == 0
