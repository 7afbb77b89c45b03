"""Each probe breaks for one kind of mistake. Values within 0.05, right picks at least 98 %."""

import numpy as np
import pytest
from session import Session

from pvp_ml.games.toys.probes import ProbeConfig, cases

GAMMA = 0.9
PPO = {
    "n_steps": 16, "batch_size": 256, "n_epochs": 4, "gamma": GAMMA, "gae_lambda": 0.9, "entropy_coef": 0.0,
    "learning_rate": {"type": "linear", "initial_value": 5e-3, "final_value": 2e-4, "clock": "run"},
    "normalize_observations": False, "normalize_rewards": False, "value_coef": 1.0,
}  # fmt: skip
ROLLOUTS = {"truncation": 100, "delayed_acting": 60, "masked_action": 80}
NETWORKS = {"privileged_value": {"critic": "separate", "privileged": True}}
KINDS = [
    "constant_value", "observed_value", "discounted_value", "action", "observed_action", "masked_action",
    "dependent_heads", "privileged_value", "truncation", "two_seats", "delayed_acting",
]  # fmt: skip


def trained(kind, rollouts, seed, ppo=None, network=None, matches=32, **settings):
    ppo = PPO | (ppo or {})
    session = Session("probe", matches, ppo, {"trunk": (32,), "activation": "tanh", **(network or {})},
                      {"kind": kind, **settings}, seed=seed,
                      total_steps=rollouts * matches * ppo["n_steps"])  # fmt: skip
    session.train(rollouts)
    return session


@pytest.mark.parametrize(("kind", "precision"), [*((kind, "auto") for kind in KINDS), ("observed_action", "mixed")])
def test_probe(kind, precision, learning_seed, margin):
    session = trained(kind, ROLLOUTS.get(kind, 30), learning_seed, {"precision": precision}, NETWORKS.get(kind))
    answers = cases(ProbeConfig(kind=kind), GAMMA)
    obs, hidden = [case.obs for case in answers], [case.privileged for case in answers]
    values = session.values(obs, hidden if kind == "privileged_value" else None)
    picks = session.decide(obs, [case.mask for case in answers])
    errors = [abs(value - case.value) for case, value in zip(answers, values, strict=True) if case.value is not None]
    if errors:
        margin("largest error of a value", max(errors), at_most=0.05)
    hits = [tuple(pick) == case.best for case, pick in zip(answers, picks, strict=True) if case.best is not None]
    if hits:
        margin("right picks", np.mean(hits), at_least=1.0)
    if any(case.best is not None and sum(case.mask) > 1 for case in answers):
        session.train(2)  # the rate is at its end: these rollouts only measure how often samples are right
        right = np.mean([outcome.signals for outcome in session.outcomes])
        margin("right samples", right, at_least=0.98)
    session.close()


def identity_ppo(n_steps):
    return {"n_steps": n_steps, "batch_size": 64, "n_epochs": 10, "learning_rate": 3e-3, "gamma": 0.5}


def test_identity_of_two_heads_in_1200_steps(learning_seed, margin):
    session = trained("identity", 6, learning_seed, identity_ppo(25), matches=8)  # 6 · 25 · 8 = 1,200
    assert session.progress.steps == 1_200
    answers = cases(ProbeConfig(kind="identity"), GAMMA)
    picks = session.decide([case.obs for case in answers], [case.mask for case in answers])
    right = sum(tuple(pick) == case.best for pick, case in zip(picks, answers, strict=True))
    margin("right picks", right / len(answers), at_least=0.9)
    session.close()


def test_masked_identity_in_2048_steps_and_without_the_mask_it_fails(learning_seed, margin):
    """The mean of six seeds: single ones lie between 0.90 and 0.97."""

    def right(seed, masked):
        rate = {"type": "linear", "initial_value": 1e-2, "final_value": 2e-3, "clock": "run"}
        ppo = {"n_steps": 32, "batch_size": 64, "n_epochs": 10, "gamma": 0.0, "gae_lambda": 0.0, "entropy_coef": 0.02,
               "learning_rate": rate, "clip": 0.3, "value_coef": 0.5}  # fmt: skip
        network = {"trunk": (256,), "critic": "separate"}
        session = trained("masked_identity", 8, seed, ppo, network, matches=8, masked=masked)
        assert session.progress.steps == 2_048
        hits = []
        for _ in range(4):  # fresh observations with the game's own masks
            session.learning.collect(session.progress)
            obs = session.rollout.obs[1:-1].reshape(-1, 70)
            picks = session.decide(obs, session.rollout.mask[1:-1].reshape(-1, 70))[:, 0]
            hits.append(picks == obs.argmax(axis=1))
        session.close()
        return float(np.mean(hits))

    seeds = range(6 * learning_seed, 6 * learning_seed + 6)
    margin("right with the mask", np.mean([right(seed, True) for seed in seeds]), at_least=0.9)
    margin("right without", right(seeds[0], False), at_most=0.45)
