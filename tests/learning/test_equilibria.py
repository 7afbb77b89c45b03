"""Self-play with regularisation comes near the equilibrium, and without it does not."""

import numpy as np
import pytest
from session import Session

from pvp_ml.games.toys.kuhn_exact import nash_conv, questions, value
from pvp_ml.games.toys.matrix import equilibrium


def falling(first, last):
    return {"type": "linear", "initial_value": first, "final_value": last, "clock": "run"}


KUHN = {
    "n_steps": 8, "batch_size": 512, "n_epochs": 2, "gamma": 1.0, "gae_lambda": 1.0,
    "learning_rate": falling(2e-3, 2e-4), "normalize_observations": False, "normalize_rewards": False,
    "normalize_advantages": False, "entropy_coef": 0.0, "max_grad_norm": 10.0,
}  # fmt: skip


def bets(session):
    """[4 stages, 3 cards]: the chance to bet."""
    obs, mask = questions()
    names = session.spec.heads[0].choices
    return session.shares(obs, mask)[:, names.index("bet")].reshape(4, 3).astype(np.float64)


def kuhn(rollouts, seed=0, **ppo):
    """NashConv at each fifth of a run, and the starter's value at its end."""
    network = {"trunk": (64,), "activation": "tanh", "critic": "separate"}
    session = Session("kuhn", 512, KUHN | ppo, network, seed=seed, total_steps=rollouts * 4096)
    found = []
    for _ in range(5):
        session.train(rollouts // 5)
        found.append(nash_conv(bets(session)))
    last = bets(session)
    session.close()
    return found, value(last)


def test_kuhn_with_an_entropy_bonus_comes_nearer_to_the_equilibrium(learning_seed, margin):
    """Uniform play has 0.917; the full run below is held to 0.05."""
    found, worth = kuhn(80, learning_seed, entropy_coef=falling(0.6, 0.15))
    margin("NashConv", found[-1], at_most=0.3)
    margin("error of the game's value", abs(worth + 1 / 18), at_most=0.04)


@pytest.mark.nightly
@pytest.mark.learning_seeds(3)
def test_kuhn_nash_conv(learning_seed, margin):
    longer = {"learning_rate": falling(2e-3, 2e-5), "batch_size": 2048}
    regularised = {"entropy_coef": falling(0.2, 0.02), "magnet": {"weight": 0.2, "refresh": 100}}
    margin("NashConv", kuhn(1500, learning_seed, **longer, **regularised)[0][-1], at_most=0.05)
    margin("NashConv without, in circles", kuhn(500, learning_seed, **longer)[0][-1], at_least=0.05)


def mixture(game, rollouts, seed, first_rate=1e-3):
    """What self-play with a magnet makes of a matrix game, and its equilibrium."""
    rate = falling(first_rate, 2e-4)
    ppo = KUHN | {"magnet": {"weight": 0.3, "refresh": 25}, "learning_rate": rate, "n_steps": 4, "batch_size": 2048}
    session = Session(game, 512, ppo, {"trunk": (16,), "activation": "tanh"}, seed=seed, total_steps=rollouts * 2048)
    session.train(rollouts)
    session.learning.collect(session.progress)
    found = session.shares(session.rollout.obs[1, :1, 0], np.ones((1, 3), np.bool_))[0]
    session.close()
    return found, equilibrium(session.type.config().payoff)[0]


def test_rock_paper_scissors(learning_seed, margin):
    found, wanted = mixture("rock_paper_scissors", 30, learning_seed)
    margin("largest error", np.abs(found - wanted).max(), at_most=0.05)


@pytest.mark.nightly
def test_biased_rock_paper_scissors(learning_seed, margin):
    found, wanted = mixture("biased_rock_paper_scissors", 300, learning_seed, first_rate=4e-3)
    margin("largest error", np.abs(found - wanted).max(), at_most=0.05)
