"""A trainee's conduct reaches what it does in rollouts: forbidden choices, greedy decisions; rows stay on policy."""

import numpy as np
from session import Session


def test_a_forbidden_column_is_never_played_while_another_is_open():
    session = Session("connect4", 64, {"n_steps": 40, "forbidden": {"column": ["4", "7"]}}, {"trunk": (8,)})
    session.learning.collect(session.progress)
    r = session.rollout
    acted = r.owner[1:-1] >= 0
    actions, legal = r.actions[1:-1][acted][:, 0], r.mask[1:-1][acted]
    free = legal[:, [0, 1, 2, 4, 5]].any(axis=1)
    assert free.mean() > 0.9
    assert not np.isin(actions[free], [3, 6]).any()
    assert {0, 1, 2, 4, 5} <= set(actions.tolist())
    assert session.off_policy() <= 5e-6
    session.close()


def test_a_share_of_decisions_is_greedy(learning_seed, margin):
    session = Session("probe", 512, {"n_steps": 8, "greedy_chance": 0.25}, {"trunk": (8,)}, {"kind": "identity"},
                      seed=learning_seed)  # fmt: skip
    session.learning.collect(session.progress)
    r = session.rollout
    obs = r.obs[1:-1].reshape(-1, r.obs.shape[-1])
    shares = session.shares(obs, r.mask[1:-1].reshape(len(obs), -1))[:, : session.spec.heads[0].size]
    best = shares.argmax(axis=1)
    drawn = shares[np.arange(len(best)), best].mean()
    found = (r.actions[1:-1][..., 0].reshape(-1) == best).mean()
    margin("error of the share", abs(found - (0.25 + 0.75 * drawn)), at_most=0.03)
    assert session.off_policy() <= 5e-6
    session.close()
