"""CartPole-v1 through the `gym` game with the zoo's settings."""

import numpy as np
import pytest
from session import Session

pytest.importorskip("gymnasium")
STEPS = 100_000


def falling(first):
    return {"type": "linear", "initial_value": first, "final_value": 1e-9, "clock": "run"}


def cartpole(steps, seed):
    ppo = {
        "n_steps": 32, "batch_size": 256, "n_epochs": 20, "gamma": 0.98, "gae_lambda": 0.8, "entropy_coef": 0.0,
        "learning_rate": falling(1e-3), "clip": falling(0.2), "normalize_observations": False,
        "normalize_rewards": False,
    }  # fmt: skip
    session = Session("gym", 8, ppo, {"trunk": (64, 64), "activation": "tanh", "critic": "separate"},
                      {"id": "CartPole-v1"}, seed=seed, total_steps=STEPS)  # fmt: skip
    session.train_steps(steps)
    return session


def greedy_returns(session, episodes):
    """Undiscounted returns of the policy's preferred actions on fresh seeds."""
    import gymnasium

    env = gymnasium.make("CartPole-v1")
    found = []
    for seed in range(episodes):
        obs, _ = env.reset(seed=10_000 + seed)
        total, over = 0.0, False
        while not over:
            action = int(session.decide(obs[None], np.ones((1, 2)))[0, 0])
            obs, reward, ended, truncated, _ = env.step(action)
            total, over = total + float(reward), ended or truncated
        found.append(total)
    env.close()
    return found


def test_cartpole_smoke(learning_seed, margin):
    """8,000 steps: random play lasts about 22 steps; what lasts longer counts as 60, since seeds reach 100 to 500."""
    session = cartpole(8_000, learning_seed)
    margin("return up to 60", np.minimum(greedy_returns(session, 10), 60).mean(), at_least=45)
    session.close()


@pytest.mark.nightly
@pytest.mark.learning_seeds(3)
def test_cartpole_in_100k_steps(learning_seed, margin):
    session = cartpole(STEPS, learning_seed)
    margin("return", np.mean(greedy_returns(session, 20)), at_least=475)
    session.close()
