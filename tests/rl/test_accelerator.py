"""Minibatches judged on another device or in mixed precision. There is no GPU here: the twin runs on the processor."""

import numpy as np
import pytest
import torch
from specimens import SHAPES, interface_for, legal_of, random_policy, random_rows

from pvp_ml.errors import UserError
from pvp_ml.rl.accelerator import Accelerator, accelerator_for, backward
from pvp_ml.rl.loss import SUMS, LossWeights, Minibatch
from pvp_ml.rl.policy.policy import Anchor
from pvp_ml.rl.policy.sequences import Sequences

CPU = torch.device("cpu")
SIZE = 64


def weights(heads, **more):
    given = {"teacher": 0.0, "magnet": 0.0, **more}
    return LossWeights(clip=0.2, value_clip=None, value_coef=0.5, entropy=(0.01,) * heads, win_coef=0.1, **given)


def batch_of(policy):
    """Rows as the policy itself acted them, with advantages and returns at random; memories in sequences of four."""
    rng = np.random.default_rng(3)
    network, interface = policy.network, policy.interface
    obs, privileged, mask, memory = random_rows(network, interface, SIZE, rng)
    out = policy.actor().heads.decision(SIZE)
    before = None if memory is None else memory.copy()
    policy.actor().act(obs, mask, rng.integers(0, 2**64, SIZE, np.uint64), np.zeros(SIZE, np.bool_), out, memory=memory)
    sequences = None
    if before is not None:
        steps = np.arange(SIZE).reshape(SIZE // 4, 4).T.copy()
        place = (np.arange(SIZE) % 4) * (SIZE // 4) + np.arange(SIZE) // 4
        sequences = Sequences(*(torch.from_numpy(a) for a in (steps, place, before[::4].copy())))
    value, advantage, returns = torch.from_numpy(rng.normal(size=(3, SIZE)).astype(np.float32))
    return Minibatch(
        torch.from_numpy(obs), torch.from_numpy(privileged) if network.privileged else None,
        torch.from_numpy(legal_of(interface, mask, out.actions)), torch.from_numpy(out.actions).long(),
        torch.from_numpy(out.log_prob), value, advantage, returns,
        torch.from_numpy(rng.choice([0.0, 0.5, 1.0], SIZE).astype(np.float32)) if network.win_head else None,
        torch.from_numpy(rng.random(SIZE).astype(np.float32)) if network.win_head else None, sequences,
    )  # fmt: skip


def both(shape, is_mixed, **more):
    """(gradient, what it tells) of the processor in full precision, and through an accelerator."""
    network, kind = SHAPES[shape]
    policy = random_policy(network, interface_for(kind), 5)
    other = random_policy(network, interface_for(kind), 6)
    anchors = {key: Anchor(other.flat, other.normalizer) for key in ("teacher", "magnet")}
    batch, loss = batch_of(policy), weights(len(policy.interface.heads), **more)
    plain = torch.zeros(policy.size)
    policy.bind_gradients(plain)
    judged = backward(policy, batch, anchors, loss)
    found = torch.full((policy.size,), 7.0)
    return plain, judged, found, Accelerator(policy, CPU, is_mixed).backward(batch, anchors, loss, found)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("magnet", [0.0, 0.3])
def test_a_twin_in_full_precision_gives_the_same_gradient_bit_for_bit(shape, magnet):
    plain, judged, found, found_judged = both(shape, False, magnet=magnet)
    assert float(plain.abs().max()) > 0.01
    assert (plain == found).all() and (judged.sums == found_judged.sums).all()
    assert (judged.win_logit is None) == (not SHAPES[shape][0].win_head)
    assert judged.win_logit is None or (judged.win_logit == found_judged.win_logit).all()


@pytest.mark.parametrize("shape", ["default", "original", "memory", "everything"])
def test_mixed_precision_gives_nearly_the_same_gradient(shape):
    plain, (sums, _), found, (found_sums, _) = both(shape, True, teacher=0.1)
    likeness = float(torch.nn.functional.cosine_similarity(plain, found, dim=0))
    assert 0.98 < likeness < 1.0 - 1e-12 and (plain != found).any()
    assert found.dtype == torch.float32 and torch.isfinite(found).all()
    names = dict(zip(SUMS, zip(sums.tolist(), found_sums.tolist(), strict=True), strict=False))
    assert names["rows"] == (SIZE, SIZE)
    assert names["value"][1] == pytest.approx(names["value"][0], rel=0.05)
    assert names["entropy"][1] == pytest.approx(names["entropy"][0], rel=0.05)


def test_log_probabilities_in_mixed_precision_are_those_of_its_gradient():
    """With them, the first ratio is 1 although acting was in full precision."""
    policy = random_policy(SHAPES["default"][0], interface_for("plain"), 5)
    batch = batch_of(policy)
    accelerator = Accelerator(policy, CPU, True)
    again = batch._replace(log_prob=accelerator.log_prob(batch))
    assert 1e-4 < float((again.log_prob - batch.log_prob).abs().max()) < 0.5
    kl = SUMS.index("kl")
    judged = accelerator.backward(again, {}, weights(12), torch.zeros(policy.size))
    assert abs(float(judged.sums[kl])) / SIZE <= 1e-6
    assert float(accelerator.backward(batch, {}, weights(12), torch.zeros(policy.size)).sums[kl]) / SIZE > 1e-6


def test_a_twin_follows_the_weights_and_the_statistics():
    policy = random_policy(SHAPES["default"][0], interface_for("plain"), 5)
    batch, accelerator = batch_of(policy), Accelerator(policy, CPU, False)
    first = accelerator.log_prob(batch)
    policy.flat.mul_(1.1)
    policy.normalizer["obs/mean"][:] += 0.1
    second = accelerator.log_prob(batch)
    assert (first != second).any()
    assert (second == policy.evaluate(batch.obs, None, batch.legal, batch.actions).log_prob).all()


def test_what_the_options_choose(monkeypatch):
    policy = random_policy(SHAPES["default"][0], interface_for("plain"), 5)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert accelerator_for(policy, "auto", "auto") is None
    assert accelerator_for(policy, "cpu", "full") is None
    assert accelerator_for(policy, "auto", "mixed").is_mixed
    with pytest.raises(UserError, match="finds no GPU"):
        accelerator_for(policy, "cuda", "auto")
    made = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: True)
    monkeypatch.setattr("pvp_ml.rl.accelerator.Accelerator", lambda p, d, m: made.append((d.type, m)))
    for device, precision in (("auto", "auto"), ("cuda", "full"), ("cpu", "auto"), ("cpu", "mixed")):
        accelerator_for(policy, device, precision)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: False)
    accelerator_for(policy, "auto", "auto")
    assert made == [("cuda", True), ("cuda", False), ("cpu", True), ("cuda", False)]
