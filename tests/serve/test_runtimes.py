"""numpy, onnxruntime and torch behind one call: they choose alike, and the fastest is taken for each batch size."""

import numpy as np
import pytest
from served_duel import MASKS, NETWORKS, OBS, SPEC, bundle_of, running

from pvp_ml.cli.serve import runtimes
from pvp_ml.errors import UserError
from pvp_ml.model.sampling.heads import Heads
from pvp_ml.serve import runtimes as module
from pvp_ml.serve.client import Client
from pvp_ml.serve.models import PolicyModel
from pvp_ml.serve.runtimes import NUMPY, SIZES, RuntimeType, fastest, size_index
from pvp_ml.serve.wire import Request, WireError


def kind(name):
    if name != "numpy":
        pytest.importorskip({"onnx": "onnxruntime", "torch": "torch"}[name])
    (found,) = runtimes(name)
    return found


def decide(runtime, network, rows=400, seed=0):
    """Actions, legal and memory of random rows; every third greedy, some masks left empty by rules."""
    rng = np.random.default_rng(seed)
    interface = SPEC.interface
    obs = rng.normal(size=(rows, len(network.frames), 5)).astype(np.float32)
    obs[:, :, 4] = rng.integers(0, 9, obs.shape[:2])
    mask = np.ones((rows, interface.mask_size), np.bool_)
    mask[:, 1:] = rng.random((rows, interface.mask_size - 1)) < 0.8
    mask[:, [3, 5]] = True
    memory = rng.normal(size=(rows, network.memory)).astype(np.float32) if network.memory else None
    out = Heads.compile(interface.heads).decision(rows)
    keys = rng.integers(0, 2**63, rows).astype(np.uint64)
    empty = runtime.act(obs.reshape(rows, -1), mask, keys, np.arange(rows) % 3 == 0, out, memory=memory)
    return out.actions, out.legal, memory, empty


@pytest.mark.parametrize("name", ["onnx", "torch"])
@pytest.mark.parametrize("network", NETWORKS)
def test_every_runtime_chooses_like_numpy(name, network):
    bundle = bundle_of(NETWORKS[network], 3)
    actions, legal, memory, empty = decide(NUMPY.make(bundle), NETWORKS[network])
    others = decide(kind(name).make(bundle), NETWORKS[network])
    assert (actions == others[0]).all() and empty == others[3] >= 0
    forced = (legal != others[1]).any(1)  # the compiled sampler marks the choice that it was left with
    assert forced[empty] and forced.mean() < 0.2
    if memory is not None:
        assert np.abs(memory - others[2]).max() <= 1e-5


@pytest.mark.parametrize("name", ["numpy", "onnx", "torch"])
def test_a_head_that_rules_leave_empty_is_an_error_whatever_the_runtime(name):
    model = PolicyModel("plain", bundle_of(NETWORKS["plain"]), 64, types=(kind(name),))
    only_cast = [[False, False, True], [True, True], [True, False], [True, True]]
    tasks = [model.check(Request([OBS], masks, deterministic=True), 1) for masks in (MASKS, only_cast, MASKS)]
    answers = model.run(tasks)
    assert isinstance(answers[1], WireError) and "'eat'" in answers[1].message
    assert not isinstance(answers[0], WireError) and answers[0].action == answers[2].action


class Timed:
    """Acts in a time that depends on the rows, by a clock of its own."""

    def __init__(self, clock, cost):
        self.clock, self.cost = clock, cost

    def act(self, obs, mask, keys, greedy, out, *, memory=None):
        self.clock[0] += self.cost(len(obs))
        return -1


def test_the_fastest_for_each_batch_size_is_measured(monkeypatch):
    clock = [0.0]
    flat, steep = Timed(clock, lambda n: 1.0), Timed(clock, lambda n: 0.1 * n)
    measure = module.seconds_per_call
    monkeypatch.setattr(module, "seconds_per_call", lambda r, b, n: measure(r, b, n, lambda: clock[0]))
    chosen = fastest([flat, steep], bundle_of(NETWORKS["plain"]), 64)
    assert dict(zip(SIZES, chosen, strict=True)) == {1: 1, 2: 1, 4: 1, 8: 1, 16: 0, 32: 0, 64: 0}
    assert [SIZES[size_index(n)] for n in (1, 2, 3, 4, 5, 9, 33, 64, 200)] == [1, 2, 4, 4, 8, 16, 64, 64, 64]


def test_a_batch_goes_to_the_runtime_that_won_at_its_size(monkeypatch):
    from pvp_ml.serve import models

    calls = []

    def spy(name):
        def make(bundle):
            actor = NUMPY.make(bundle)

            class Spy:
                def act(self, obs, *rest, memory=None):
                    calls.append((name, len(obs)))
                    return actor.act(obs, *rest, memory=memory)

            return Spy()

        return RuntimeType(name, make)

    monkeypatch.setattr(models, "fastest", lambda runtimes, bundle, batch: [0, 0, 1, 1, 1, 1, 1])
    model = PolicyModel("plain", bundle_of(NETWORKS["plain"]), 64, types=(spy("a"), spy("b")))
    assert model.engines == {1: "a", 2: "a", 4: "b", 8: "b", 16: "b", 32: "b", 64: "b"}
    for rows in (1, 2, 3, 40):
        model.run([model.check(Request([OBS], MASKS), i) for i in range(rows)])
    assert calls == [("a", 1), ("a", 2), ("b", 3), ("b", 40)]


@pytest.mark.parametrize("name", ["numpy", "onnx", "torch", "auto"])
def test_served(models_dir, name):
    if name in ("onnx", "torch"):
        kind(name)
    with running(models_dir=models_dir, runtimes=runtimes(name)) as server, Client(port=server.ports[0]) as client:
        for model in ("plain", "recalls", "secret"):
            answer = client.predict(OBS, MASKS, model=model, deterministic=True)
            with running(models_dir=models_dir) as plain, Client(port=plain.ports[0]) as other:
                assert answer.action == other.predict(OBS, MASKS, model=model, deterministic=True).action


def test_what_cannot_be_is_said():
    with pytest.raises(UserError, match="not on 'cuda'"):
        runtimes("numpy", "cuda")
    pytest.importorskip("torch")
    with pytest.raises(UserError, match="cannot use device 'warp:7'"):
        runtimes("torch", "warp:7")
    assert {r.name for r in runtimes("auto")} in ({"numpy"}, {"numpy", "onnx"})
