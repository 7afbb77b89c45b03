"""The loss worked by hand: clipping both ways, value clip, win head with ties and weights, anchors."""

import math

import pytest
import torch

from pvp_ml.rl.loss import SUMS, LossWeights, Minibatch, PpoConfig, anchor_kl, ppo_loss
from pvp_ml.rl.policy.policy import PolicyOutput
from pvp_ml.rl.schedule.schedule import Progress

WEIGHTS = LossWeights(
    clip=0.2, value_clip=None, value_coef=0.5, entropy=(0.1, 0.3), win_coef=2.0, teacher=0.0, magnet=0.0
)


def losses(ratio, advantage, value=0.0, returns=0.0, old_value=0.0, weights=WEIGHTS, **more):
    """One row; returns the total and the named sums."""
    log_prob = torch.tensor([math.log(ratio)], requires_grad=True)
    new = PolicyOutput(
        log_prob, torch.tensor([[1.0, 2.0]]), torch.tensor([value]), torch.zeros(1, 2, 2), more.get("logit")
    )
    empty = torch.zeros(1, 1)
    batch = Minibatch(empty, None, empty.bool(), empty.long(), torch.zeros(1), torch.tensor([old_value]),
                      torch.tensor([advantage]), torch.tensor([returns]), more.get("won"),
                      more.get("weight"))  # fmt: skip
    total, sums = ppo_loss(new, batch, weights)
    total.backward()
    return float(total.detach()), dict(zip(SUMS, sums.tolist(), strict=False)), float(log_prob.grad)


@pytest.mark.parametrize(("ratio", "advantage", "policy", "gradient"), [
    (1.0, 2.0, -2.0, -2.0), (1.1, 2.0, -2.2, -2.2), (1.5, 2.0, -2.4, 0.0), (0.5, 2.0, -1.0, -1.0),
    (1.5, -2.0, 3.0, 3.0), (0.5, -2.0, 1.6, 0.0),
])  # fmt: skip
def test_the_clipped_objective(ratio, advantage, policy, gradient):
    total, sums, grad = losses(ratio, advantage)
    assert sums["policy"] == pytest.approx(policy, abs=1e-5)
    assert grad == pytest.approx(gradient, abs=1e-5)
    assert total == pytest.approx(policy - (0.1 * 1 + 0.3 * 2), abs=1e-5)
    assert sums["clipped"] == float(abs(ratio - 1) > 0.2)
    assert sums["kl"] == pytest.approx(ratio - 1 - math.log(ratio), abs=1e-5)


def test_value_loss_and_its_clip():
    from dataclasses import replace

    assert losses(1.0, 0.0, value=3.0, returns=1.0)[1]["value"] == 4.0
    clipped = replace(WEIGHTS, value_clip=0.5)
    # the value moved from 0 to 3, may move to 0.5: (0.5 − 1)² = 0.25 < 4, the larger counts
    assert losses(1.0, 0.0, value=3.0, returns=1.0, weights=clipped)[1]["value"] == 4.0
    # moved towards the return by more than allowed: (0.5 − 1)² = 0.25 > (0.9 − 1)² = 0.01
    assert losses(1.0, 0.0, value=0.9, returns=1.0, weights=clipped)[1]["value"] == pytest.approx(0.25)


@pytest.mark.parametrize(("won", "weight", "loss", "slope"), [
    (1.0, 1.0, math.log(1 + math.exp(-2.0)), -0.1192), (0.0, 1.0, math.log(1 + math.exp(2.0)), 0.8808),
    (0.5, 1.0, math.log(1 + math.exp(2.0)) - 1.0, 0.3808), (0.0, 0.25, math.log(1 + math.exp(2.0)) / 4, 0.2202),
    (0.8808, 3.0, 3 * (math.log(1 + math.exp(2.0)) - 0.8808 * 2.0), 0.0), (math.nan, 3.0, 0.0, 0.0),
])  # fmt: skip
def test_the_win_head_learns_from_labels_by_their_weight(won, weight, loss, slope):
    """Its own prediction as a label (σ(2) = 0.8808) teaches nothing."""
    logit = torch.tensor([2.0], requires_grad=True)
    total, _, _ = losses(1.0, 0.0, logit=logit, won=torch.tensor([won]), weight=torch.tensor([weight]))
    assert total == pytest.approx(2.0 * loss - 0.7, abs=2e-4)
    assert float(logit.grad) == pytest.approx(2.0 * slope, abs=2e-4)


def test_anchor_kl_by_hand():
    policy = torch.tensor([[[0.5, 0.5], [0.9, 0.1]]]).log()
    anchor = torch.tensor([[[0.25, 0.75], [0.9, 0.1]]]).log()
    wanted = 0.5 * math.log(0.5 / 0.25) + 0.5 * math.log(0.5 / 0.75)
    assert float(anchor_kl(policy, anchor)) == pytest.approx(wanted, abs=1e-6)


def test_entropy_weights_per_head_follow_their_schedules_and_wait_for_the_critic():
    config = PpoConfig.model_validate({
        "entropy_coef": 0.01, "critic_warmup": 1, "clip": 0.3,
        "entropy_by_head": {"aim": {"type": "linear", "initial_value": 0.2, "final_value": 0.0,
                                    "change_over_time_steps": 10}},
    })  # fmt: skip
    at = {rollouts: LossWeights.at(config, ("move", "aim"), Progress(rollouts=rollouts)) for rollouts in (0, 5, 10)}
    assert at[0].entropy == (0.0, 0.0) and at[0].policy == 0.0 and at[0].clip == 0.3
    assert at[5].entropy == pytest.approx((0.01, 0.1)) and at[5].policy == 1.0
    assert at[10].entropy == pytest.approx((0.01, 0.0))
