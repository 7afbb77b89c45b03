"""The update loop: bad gradients never reach the weights, frozen layers stay, the critic warms up alone."""

import numpy as np
import pytest
import torch
from specimens import plain_heads, plain_interface, random_policy

from pvp_ml.errors import UserError
from pvp_ml.model.network_config import NetworkConfig
from pvp_ml.rl.loss import SUMS, PpoConfig
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


def test_reward_scale_is_the_root_mean_square_and_1_without_rewards():
    from pvp_ml.rl.normalize import moments

    learner = trainee()
    assert learner.reward_scale(moments(np.zeros((50, 1), np.float32))) == 1.0
    learner = trainee()
    assert learner.reward_scale(moments(np.full((50, 1), 4.0, np.float32))) == pytest.approx(0.25)
    learner = trainee()
    returns = np.random.default_rng(0).normal(1, 2, (5000, 1)).astype(np.float32)
    assert learner.reward_scale(moments(returns)) == pytest.approx(1 / np.sqrt(np.mean(returns**2)), rel=1e-4)
