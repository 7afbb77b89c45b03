"""Noise on chosen features reaches what the trainee sees and learns from, and nothing else."""

import numpy as np
from session import Session


def test_noise_moves_only_the_named_features_of_acting_rows_and_rows_stay_on_policy(learning_seed, margin):
    ppo = {"n_steps": 12, "normalize_observations": False, "observation_noise": {"seen_0": 0.5}}
    session = Session("probe", 200, ppo, {"trunk": (8,)}, {"kind": "identity"}, seed=learning_seed)
    session.learning.collect(session.progress)
    obs = session.rollout.obs[1:-1, :, 0]
    added = obs[..., 0] - np.round(obs[..., 0])
    assert (obs[..., 1:] == np.round(obs[..., 1:])).all()
    assert np.abs(added).max() > 0.3
    spread = np.where(obs[..., 1:4].sum(axis=-1) == 1, obs[..., 0], obs[..., 0] - 1)  # the first of four, or not
    margin("error of the deviation", abs(spread.std() - 0.5), at_most=0.03)
    assert session.off_policy() <= 5e-6
    session.close()
