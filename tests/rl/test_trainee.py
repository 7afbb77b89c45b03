"""The update loop: bad gradients never reach the weights, frozen layers stay, the critic warms up alone."""

import numpy as np
import pytest
import torch
from specimens import plain_heads, plain_interface, random_policy

from pvp_ml.errors import UserError
from pvp_ml.model.network_config import NetworkConfig
from pvp_ml.rl.loss import SUMS, PpoConfig
from pvp_ml.rl.optimizer import clip_gradient
from pvp_ml.rl.schedule.schedule import Progress
from pvp_ml.rl.trainee import MAX_BAD_STEPS, NonFiniteError, Trainee


class Source:
    """Gradients of ones; some of them not finite; `kl` in the sums."""

    def __init__(self, trainee, rows, bad=lambda n: False, kl=0.0):
        self.trainee, self.rows, self.bad, self.kl, self.calls = trainee, rows, bad, kl, 0

    def gradient(self, epoch, part, parts, weights):
        sums = np.zeros(len(SUMS) + len(self.trainee.heads))
        sums[0], sums[SUMS.index("kl")] = 10, self.kl * 10
        self.trainee.gradient += 10.0
        if self.bad(self.calls):
            self.trainee.gradient[self.calls % 7] = np.nan if self.calls % 2 else np.inf
            sums[1] = np.nan
        self.calls += 1
        return sums


def trainee(network=None, **ppo):
    policy = random_policy(NetworkConfig(trunk=(8,), **(network or {})), plain_interface(plain_heads(3, 2)))
    return Trainee("main", policy, PpoConfig.model_validate({"batch_size": 10, "learning_rate": 1e-3, **ppo}))


def test_one_bad_minibatch_in_fifty_is_skipped_and_counted():
    learner = trainee(n_epochs=2)
    metrics = learner.learn(Source(learner, 500, bad=lambda n: n % 50 == 3), Progress())
    assert learner.skipped == 2 and learner.updates == 98
    assert metrics["ppo/skipped_updates"] == 2
    assert torch.isfinite(learner.policy.flat).all()
    assert all(np.isfinite(value) for value in metrics.values())
    assert all(np.isfinite(array).all() for array in learner.state().values())


def test_five_in_a_row_stop_the_run_with_the_weights_of_before_and_a_diagnosis():
    learner = trainee(n_epochs=1)
    learner.learn(Source(learner, 50), Progress())
    before = learner.policy.flat.clone()
    with pytest.raises(NonFiniteError, match="5 updates in a row") as error:
        learner.learn(Source(learner, 500, bad=lambda n: True), Progress())
    assert (learner.policy.flat == before).all()
    facts = error.value.facts
    assert facts["skipped"] == MAX_BAD_STEPS and facts["weights_finite"] is True
    assert facts["gradients_not_finite"] == {"actor/0/weight": {"not_finite": 1, "of": 72}}


def test_frozen_layers_stay_bit_for_bit_and_the_rest_moves():
    learner = trainee(freeze=("actor/", "table"))
    before = {name: array.copy() for name, array in learner.policy.tensors().items()}
    learner.learn(Source(learner, 30), Progress())
    for name, array in learner.policy.tensors().items():
        assert (array == before[name]).all() == name.startswith(("actor/", "table")), name
    with pytest.raises(UserError, match="'trunk'"):
        trainee(freeze=("trunk",))


def test_what_is_frozen_after_it_has_learned_does_not_move_and_goes_on_where_it_was():
    """Adam remembers earlier gradients, and would go on moving weights whose gradient is 0."""
    free = trainee(n_epochs=4)
    free.learn(Source(free, 100), Progress())
    frozen = trainee(n_epochs=4, freeze=("actor/", "value/"))
    frozen.policy.flat.data.copy_(free.policy.flat)
    frozen.restore(free.state())
    before = {name: array.copy() for name, array in frozen.policy.tensors().items()}
    frozen.learn(Source(frozen, 100), Progress())
    for name, array in frozen.policy.tensors().items():
        assert (array == before[name]).all() == name.startswith(("actor/", "value/")), name
    kept, was = frozen.state(), free.state()
    assert (kept["adam/critic/exp_avg"] == was["adam/critic/exp_avg"]).all()
    assert kept["adam/critic/step"].tolist() == [40] and sorted(set(kept["adam/actor/step"].tolist())) == [40, 80]
    thawed = trainee(n_epochs=1)
    thawed.policy.flat.data.copy_(frozen.policy.flat)
    thawed.restore(kept)
    state = thawed.state()
    assert all((state[key] == kept[key]).all() for key in kept)
    thawed.learn(Source(thawed, 10), Progress())
    assert thawed.state()["adam/critic/step"].tolist() == [41]
    # a gradient of 1 at every step: Adam moves each weight by its rate, whatever its number of steps
    moved = np.concatenate([(before[name] - array).ravel() for name, array in thawed.policy.tensors().items()
                            if name.startswith(("actor/", "value/"))])  # fmt: skip
    assert moved == pytest.approx(1e-3, rel=1e-2)


def test_a_tensor_that_never_learned_begins_with_the_first_step_of_adam():
    """With the part's number of steps its bias would be corrected too little: steps of up to 6 times the rate."""
    frozen = trainee(n_epochs=10, freeze=("actor/",))
    frozen.learn(Source(frozen, 1000), Progress())
    thawed = trainee(n_epochs=1)
    thawed.restore(frozen.state())
    before = thawed.policy.tensors()["actor/0/weight"].copy()
    thawed.learn(Source(thawed, 100), Progress())
    moved = before - thawed.policy.tensors()["actor/0/weight"]
    assert moved == pytest.approx(10 * 1e-3, rel=1e-2)


def test_freezing_everything_is_refused():
    with pytest.raises(UserError, match="nothing to learn"):
        trainee(freeze=("",))


@pytest.mark.parametrize("apart", [False, True])
def test_gradients_are_clipped_together_or_apart(apart):
    gradient = torch.tensor([3.0, 4.0, 0.6, 0.8])
    norms = clip_gradient(gradient, 2, 0.5, apart)
    assert norms == pytest.approx((26**0.5, 5.0, 1.0))
    if apart:
        assert gradient.tolist() == pytest.approx([0.3, 0.4, 0.3, 0.4])
    else:
        assert float(torch.linalg.vector_norm(gradient)) == pytest.approx(0.5)
        assert gradient[2] / gradient[0] == pytest.approx(0.2)
    small, bad = torch.tensor([0.1, 0.1]), torch.tensor([float("nan"), 9.0])
    clip_gradient(small, 1, 0.5, apart)
    assert small.tolist() == pytest.approx([0.1, 0.1])
    assert not np.isfinite(clip_gradient(bad, 1, 0.5, apart)[0]) and bad[1] == 9.0


def test_both_norms_are_metrics_and_the_option_reaches_the_step():
    """Gradient 1 everywhere: norms are roots of the numbers of weights. Adam's first step hides a limit, ε shows it."""
    moves = []
    for apart in (False, True):
        learner = trainee({"critic": "separate"}, n_epochs=1, learning_rate=0.1, clip_apart=apart, adam_epsilon=1.0)
        before, split = learner.policy.flat.clone(), learner.policy.critic_start
        metrics = learner.learn(Source(learner, 10), Progress())
        size = learner.policy.size
        assert metrics["ppo/grad_norm"] == pytest.approx(size**0.5)
        assert metrics["ppo/grad_norm_actor"] == pytest.approx(split**0.5)
        assert metrics["ppo/grad_norm_critic"] == pytest.approx((size - split) ** 0.5)
        moves.append(float((before - learner.policy.flat)[split:].mean()))
    slopes = [0.5 / size**0.5, 0.5 / (size - split) ** 0.5]  # a weight's share of the limit, 0.5
    assert moves == pytest.approx([0.1 * slope / (slope + 1.0) for slope in slopes], rel=1e-3)


@pytest.mark.parametrize("critic", ["shared", "separate"])
def test_while_the_critic_warms_up_the_policy_does_not_move(critic):
    learner = trainee({"critic": critic}, critic_warmup=2)
    before = learner.policy.flat.clone()
    split = learner.policy.critic_start
    learner.learn(Source(learner, 30), Progress(rollouts=1))
    assert (learner.policy.flat[:split] == before[:split]).all()
    assert (learner.policy.flat[split:] != before[split:]).all()
    assert "adam/actor/step" not in learner.state()
    learner.learn(Source(learner, 30), Progress(rollouts=2))
    assert (learner.policy.flat[:split] != before[:split]).all()


def test_the_first_step_is_adams_and_the_critic_may_have_its_own_rate():
    learner = trainee(n_epochs=1, critic_learning_rate=5e-3, max_grad_norm=1e9)
    before = learner.policy.flat.clone()
    learner.learn(Source(learner, 10), Progress())
    moved = before - learner.policy.flat  # gradient 1 everywhere: each weight moves by its rate
    split = learner.policy.critic_start
    assert moved[:split].numpy() == pytest.approx(1e-3, rel=1e-3)
    assert moved[split:].numpy() == pytest.approx(5e-3, rel=1e-3)


def test_target_kl_stops_the_epochs_and_accumulation_joins_minibatches():
    learner = trainee(n_epochs=5, target_kl=0.01)
    assert learner.learn(Source(learner, 30, kl=0.02), Progress())["ppo/epochs"] == 1
    assert learner.learn(Source(learner, 30, kl=0.005), Progress())["ppo/epochs"] == 5
    joined = trainee(n_epochs=1, gradient_accumulation=4)
    joined.learn(Source(joined, 60), Progress())
    assert joined.updates == 2  # six minibatches: four, then the two that are left


def test_state_restores_exactly():
    one, other = trainee(), trainee()
    for learner in (one, other):
        learner.learn(Source(learner, 50), Progress())
    resumed = trainee()
    resumed.policy.flat.data.copy_(one.policy.flat)
    resumed.restore(one.state())
    for learner in (other, resumed):
        learner.learn(Source(learner, 50), Progress())
    assert (resumed.policy.flat == other.policy.flat).all()


def test_a_state_of_version_0_1_restores():
    """It had three counters, and one number of steps for each part."""
    one, other = trainee(), trainee()
    one.learn(Source(one, 50), Progress())
    old = one.state()
    old["counters"] = old["counters"][:3]
    assert old["adam/actor/step"].tolist() == old["adam/critic/step"].tolist() == [10]
    assert sorted(old) == ["adam/actor/exp_avg", "adam/actor/exp_avg_sq", "adam/actor/step", "adam/critic/exp_avg",
                           "adam/critic/exp_avg_sq", "adam/critic/step", "counters", "reward/count", "reward/mean",
                           "reward/var"]  # fmt: skip
    other.restore(old)
    assert (other.updates, other.looking) == (10, 0)
    assert all((array == one.state()[key]).all() for key, array in other.state().items())


def test_reward_scale_is_the_root_mean_square_and_1_without_rewards():
    from pvp_ml.rl.normalize import moments

    learner = trainee()
    assert learner.reward_scale(moments(np.zeros((50, 1), np.float32))) == 1.0
    learner = trainee()
    assert learner.reward_scale(moments(np.full((50, 1), 4.0, np.float32))) == pytest.approx(0.25)
    learner = trainee()
    returns = np.random.default_rng(0).normal(1, 2, (5000, 1)).astype(np.float32)
    assert learner.reward_scale(moments(returns)) == pytest.approx(1 / np.sqrt(np.mean(returns**2)), rel=1e-4)
