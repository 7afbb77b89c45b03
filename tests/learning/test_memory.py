"""What a policy remembers inside a match: stacked frames, a GRU, and sequences that are cut at match borders."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from session import Session

from pvp_ml.rl.policy.sequences import cut, gather
from pvp_ml.rl.rollout import ReturnTerms

PPO = {
    "n_steps": 16, "batch_size": 256, "n_epochs": 4, "gamma": 0.95, "gae_lambda": 0.95, "entropy_coef": 0.005,
    "learning_rate": 4e-3, "normalize_observations": False, "normalize_rewards": False,
}  # fmt: skip


def right(network, rollouts, gap, seed):
    """Share of matches won in three rollouts after so many."""
    session = Session("probe", 32, PPO, {"trunk": (16,), "activation": "tanh", **network},
                      {"kind": "memory", "gap": gap}, seed=seed)  # fmt: skip
    session.train(rollouts)
    won = [outcome.result[0] == 1 for _ in range(3) for outcome in session.train(1)]
    session.close()
    return float(np.mean(won))


def test_a_gru_learns_to_remember_and_a_policy_without_memory_cannot(learning_seed, margin):
    margin("right with a memory", right({"memory": 16}, 60, 4, learning_seed), at_least=0.95)
    margin("right without", right({}, 12, 4, learning_seed), at_most=0.62)


def test_stacked_frames_remember_as_far_as_they_reach(learning_seed, margin):
    margin("right within reach", right({"frames": (0, 2)}, 25, 2, learning_seed), at_least=0.95)
    margin("right beyond", right({"frames": (0, 1)}, 12, 2, learning_seed), at_most=0.62)


@pytest.mark.parametrize("game,network", [
    ("connect4", {"frames": (0, 1, 3)}), ("connect4", {"memory": 8}), ("connect4", {"memory": 6, "frames": (0, 2)}),
    ("probe", {"memory": 5, "critic": "separate"}),
])  # fmt: skip
def test_rows_evaluate_as_they_were_acted_across_rollouts_and_match_borders(game, network):
    kind = {"kind": "delayed_acting"} if game == "probe" else {}
    session = Session(game, 12, {"n_steps": 20, "normalize_observations": False, "sequence_length": 5},
                      {"trunk": (16,), **network}, kind)  # fmt: skip
    with torch.no_grad():
        session.policy.flat.add_(torch.randn(session.policy.size, generator=torch.Generator().manual_seed(3)) * 0.2)
    for _ in range(3):
        session.learning.collect(session.progress)
        session.learning.shards.call("finish", ReturnTerms.of(0.9, 1.0))
        share = session.shard.shares["main"]
        count = len(share.rows.index) if share.cuts is None else len(share.cuts.start) - 1
        batch = session.shard._minibatch(share, np.random.default_rng(0).permutation(count))
        with torch.no_grad():
            new = share.policy.evaluate(batch.obs, None, batch.legal, batch.actions, batch.memory)
        assert len(batch.log_prob) == len(share.rows.index) > 50
        assert float((new.log_prob - batch.log_prob).abs().max()) <= 1e-5
        assert float((new.value - batch.value).abs().max()) <= 1e-5
        session.learning.shards.call("carry")
    assert (session.rollout.end == 1).any()
    session.close()


def test_stacked_frames_are_the_seats_own_earlier_decisions_newest_first_and_zero_before_the_match():
    session = Session(
        "connect4", 6, {"n_steps": 40, "normalize_observations": False}, {"trunk": (8,), "frames": (0, 1, 3)}
    )
    session.learning.collect(session.progress)
    r, d = session.rollout, session.spec.obs_size
    checked = 0
    for m in range(6):
        for s in range(2):
            seen = []
            for t in range(1, 41):
                if r.owner[t, m, s] == 0:
                    now = r.obs[t, m, s].copy()
                    for place, age in enumerate((1, 3)):
                        wanted = seen[-age] if len(seen) >= age else np.zeros(d)
                        assert (r.past[t, m, s, place * d : (place + 1) * d] == wanted).all()
                    seen.append(now)
                    checked += 1
                if r.end[t, m]:
                    seen = []
    assert checked == 240
    session.close()


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 7))
def test_sequences_hold_every_row_once_in_time_order_within_one_match(seed, length):
    rng = np.random.default_rng(seed)
    steps, matches, seats = 12, 3, 2
    end = (rng.random((steps, matches)) < 0.2).astype(np.int8)
    index = np.flatnonzero(rng.random((steps, matches, seats)) < 0.6)
    if not len(index):
        return
    cuts = cut(index, end, seats, length)
    assert sorted(cuts.order.tolist()) == list(range(len(index)))
    chosen = rng.permutation(len(cuts.start) - 1)
    rows, layout, place = gather(cuts, chosen)
    assert sorted(rows.tolist()) == list(range(len(index)))
    assert (layout.T.reshape(-1)[layout.T.reshape(-1) < len(rows)] == np.arange(len(rows))).all()
    assert (layout.reshape(-1)[place] == np.arange(len(rows))).all()
    for column in layout.T:
        own = rows[column[column < len(rows)]]
        time, lane = np.divmod(index[own], matches * seats)
        assert len(own) <= length and len(set(lane)) == 1 and (np.diff(time) > 0).all()
        between = end[time[0] : time[-1], lane[0] // seats]
        assert not between.any()
