"""What must hold before anything is learned: on-policy ratios, gradients that do not depend on the number of shards."""

import numpy as np
import pytest
import torch
from session import Session

from pvp_ml.rl.loss import SUMS, LossWeights
from pvp_ml.rl.rollout import ReturnTerms


def ready(session):
    """Collect once and prepare the rows for learning."""
    session.learning.collect(session.progress)
    return session.learning.shards.call("finish", ReturnTerms.of(0.99, 0.95))


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


def test_advantages_to_a_power_keep_sign_and_order():
    """Minibatches see them normalised first, so the power means the same whatever rewards are."""
    seen = {}
    for power in (1.0, 0.5):
        session = Session("connect4", 8, {"n_steps": 8, "advantage_power": power}, {"trunk": (16,)})
        ready(session)
        share, shard = session.shard.shares["main"], session.shard
        shard.normalise_advantages("main", 0.1, 0.7)
        order = np.arange(len(share.rows.index))
        seen[power] = shard._minibatch(share, order).advantage.numpy()
        raw = (share.rows.advantage - np.float32(0.1)) / np.float32(0.7)
        np.testing.assert_array_equal(seen[power], shard._plain_batch(share, order).advantage)
        np.testing.assert_allclose(seen[power], np.sign(raw) * np.abs(raw) ** power, rtol=1e-4, atol=1e-5)
        session.close()
    assert (seen[1.0] > 0.0).any() and (seen[1.0] < 0.0).any()
    assert not np.allclose(seen[1.0], seen[0.5])


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
        facts = session.learning.shards.call("finish", ReturnTerms.of(0.5, 1.0))
        rows = session.shard.shares["main"].rows
        closed += facts[0][0].rows
        returns += float(rows.returns.sum())
        if len(rows.index) and not session.rollout.end[1].any():  # the first decision of a match: the second values it
            bootstrapped += float(session.rollout.value[2].sum())
        session.learning.shards.call("carry")
    assert closed == 16 * 20  # ten matches of six steps a row, two decisions each
    assert returns == pytest.approx(paid + 0.5 * bootstrapped, abs=1e-3)
    session.close()


def test_observation_statistics_see_every_seat_and_every_match():
    """Two seats that both act, 64 matches: what seats, and odd matches, show is counted alike."""
    session = Session("probe", 64, {"n_steps": 8}, settings={"kind": "two_seats"})
    session.learning.collect(session.progress)
    seat, match = np.arange(2)[None, None, :, None], np.arange(64)[None, :, None, None]
    counts = []
    for shown in (seat, match % 2, match == 5):
        session.rollout.obs[:] = shown
        facts = session.shard.finish(ReturnTerms.of(0.99, 0.95), clock=3)[0]
        counts.append(float(facts.obs.mean[0]) * facts.obs.count)
    assert facts.obs.count == 8 * 64 * 2 / 4
    assert counts[0] == pytest.approx(128, abs=25)  # half of 256 rows, within 3 deviations
    assert counts[1] == pytest.approx(128, abs=25)
    sampled = {float(session.shard.finish(ReturnTerms.of(0.99, 0.95), n)[0].obs.mean[0]) for n in range(20)}
    assert len(sampled) > 3, "every rollout draws other rows"
    session.close()


def test_the_share_of_limited_rewards_is_a_metric_and_no_limit_has_none():
    """Matches of two steps pay 1 in the second: returns have the root mean square √½, so 1 becomes about 1.4."""
    ppo = {"n_steps": 100, "normalize_observations": False, "gamma": 0.5}

    def metrics(**more):
        session = Session("probe", 8, {**ppo, **more}, settings={"kind": "discounted_value"})
        session.train(2)
        session.close()
        return session.metrics

    assert metrics(reward_limit=0.9)["ppo/reward_limited"] == pytest.approx(0.5)
    assert metrics(reward_limit=1.5)["ppo/reward_limited"] == 0.0
    assert "ppo/reward_limited" not in metrics(reward_limit=None)
    assert "ppo/reward_limited" not in metrics(reward_limit=0.9, normalize_rewards=False)
