"""What must hold before anything is learned: on-policy ratios, gradients that do not depend on the number of shards."""

import numpy as np
import pytest
import torch
from session import Session

from pvp_ml.rl.loss import SUMS, LossWeights


def ready(session):
    """Collect once and prepare the rows for learning."""
    session.learning.collect(session.progress)
    one = np.ones(1, np.float32)
    return session.learning.shards.call("finish", one, one * np.float32(0.99), one * np.float32(0.95))


@pytest.mark.parametrize("game", ["connect4", "probe", "nh"])
@pytest.mark.parametrize("heads", ["table", "mlp"])
def test_before_the_first_update_every_ratio_is_one(game, heads):
    session = Session(game, 32, {"n_steps": 16, "normalize_observations": False},
                      {"trunk": (32,), "heads": heads, "head_layers": (16,)},
                      {"kind": "dependent_heads"} if game == "probe" else {})  # fmt: skip
    ready(session)
    weights = LossWeights.at(session.trainee.config, session.trainee.heads, session.progress)
    sums = dict(zip(SUMS, session.shard.gradient("main", 0, 0, 0, 1, weights), strict=False))
    assert sums["rows"] > 400
    assert abs(sums["kl"]) / sums["rows"] <= 1e-6
    assert sums["clipped"] == 0
    share = session.shard.shares["main"]
    batch = session.shard._minibatch(share, np.arange(len(share.rows.index)))
    with torch.no_grad():
        new = share.policy.evaluate(batch.obs, batch.privileged, batch.legal, batch.actions)
    assert float(((new.log_prob - batch.log_prob).double().exp() - 1.0).abs().max()) <= 1e-6
    assert float((new.value - batch.value).abs().max()) <= 1e-5
    session.close()


def test_the_gradient_of_one_shard_is_the_sum_of_two():
    def gradient(shards):
        session = Session(
            "connect4", 8, {"n_steps": 6, "normalize_observations": False}, {"trunk": (16,)}, shards=shards
        )
        try:
            ready(session)
            session.learning.shards.call("normalise_advantages", "main", 0.1, 0.7)
            weights = LossWeights.at(session.trainee.config, session.trainee.heads, session.progress)
            sums = sum(session.learning.shards.call("gradient", "main", 0, 0, 0, 1, weights))
            return sums, sum(g.numpy().copy() for g in session.learning.shards.memories[0].gradients)
        finally:
            session.close()

    (one_sums, one), (two_sums, two) = gradient(1), gradient(2)
    assert one_sums[0] == two_sums[0] == 40  # 8 matches × 5 closed decisions: the sixth waits for its successor
    assert np.abs(one_sums - two_sums).max() <= 1e-4
    assert np.abs(one).max() > 0.1
    assert np.abs(one - two).max() <= 1e-5 * np.abs(one).max()


def test_only_the_trainees_rows_enter_the_batch():
    session = Session("connect4", 64, {"n_steps": 32}, {"trunk": (16,)}, opponents={"self": 0.5, "noop": 0.5})
    facts = ready(session)
    rollout = session.rollout
    owned = int((rollout.owner[1:-1] == 0).sum())
    live = int((rollout.seated[1:-1] == 0).sum())
    acting = int(rollout.acting[1:-1].sum())
    assert facts[0][0].rows <= owned < acting and owned < live
    index = session.shard.shares["main"].rows.index
    assert (rollout.flat("owner")[index] == 0).all() and rollout.flat("acting")[index].all()
    session.close()


def test_a_row_that_waits_across_rollouts_is_learned_from_once():
    """Delayed rewards with rollouts of one step: every decision is carried over twice before it closes."""
    session = Session("probe", 16, {"n_steps": 1, "gamma": 0.5, "gae_lambda": 1.0, "normalize_rewards": False,
                                    "normalize_observations": False}, settings={"kind": "delayed_acting"})  # fmt: skip
    closed, paid, returns, bootstrapped = 0, 0.0, 0.0, 0.0
    for _ in range(60):
        session.learning.collect(session.progress)
        paid += float(session.rollout.reward[1].sum())
        one = np.ones(1, np.float32)
        facts = session.learning.shards.call("finish", one, one * np.float32(0.5), one)
        rows = session.shard.shares["main"].rows
        closed += facts[0][0].rows
        returns += float(rows.returns.sum())
        if len(rows.index) and not session.rollout.end[1].any():  # the first decision of a match: the second values it
            bootstrapped += float(session.rollout.value[2].sum())
        session.learning.shards.call("carry")
    assert closed == 16 * 20  # ten matches of six steps a row, two decisions each
    assert returns == pytest.approx(paid + 0.5 * bootstrapped, abs=1e-3)
    session.close()
