"""The win head beside the policy: it learns who wins, measured on matches that it never learned from."""

import math

import numpy as np
import pytest
from session import Session


def foreseen(seed):
    """Loss, held-out loss and held-out accuracy over the last rollouts of a short self-play training."""
    ppo = {"n_steps": 32, "batch_size": 1024, "n_epochs": 2, "learning_rate": 2e-3, "win_coef": 1.0, "gamma": 1.0}
    session = Session("connect4", 192, ppo, {"trunk": (64, 64), "win_head": True}, seed=seed)
    session.train(20)
    names, found = ("loss", "held_out_loss", "held_out_accuracy", "held_out_matches"), []
    for _ in range(15):  # one rollout ends with some thirty held-out matches
        session.train(1)
        found.append([session.metrics[f"win_head/{name}"] for name in names])
    session.close()
    *figures, matches = np.array(found).T
    return [np.average(figure, weights=matches) for figure in figures]


def test_held_out_matches_are_predicted_better_than_chance(learning_seed, margin):
    """Mean of two seeds. In self-play a constant guess has at best ln 2 = 0.693, like a coin."""
    loss, held, right = np.mean([foreseen(2 * learning_seed + k) for k in range(2)], axis=0)
    margin("held-out loss", held, at_most=0.69)
    margin("held-out loss over loss", held - loss, at_most=0.03)
    margin("held-out accuracy", right, at_least=0.53)


@pytest.mark.parametrize("network", [{}, {"memory": 6, "frames": (0, 2)}])
def test_over_many_short_rollouts_the_metrics_are_those_of_whole_matches(network):
    """Matches of connect 4 are cut five times on average; the same is counted here with loops over lanes."""
    ppo = {"n_steps": 5, "batch_size": 64, "n_epochs": 2, "normalize_observations": False, "sequence_length": 3}
    session = Session("connect4", 12, ppo, {"trunk": (16,), "win_head": True, **network})
    shard, lanes, scored, counts = session.shard, {}, [], []
    carry = shard.carry

    def watch():
        share, r = shard.shares["main"], session.rollout
        found = [[], []]
        for m in range(12):
            for s in range(2):
                for t in range(6):
                    for i in np.flatnonzero(share.rows.index == (t * 12 + m) * 2 + s):
                        lanes.setdefault((m, s), []).append((float(share.win_logit[i]), bool(r.held_out[max(t, 1), m])))
                    if r.end[t, m]:
                        logits, held = zip(*lanes.pop((m, s)), strict=True)
                        assert len(set(held)) == 1
                        won = (r.result[t, m, s] + 1) / 2
                        found[held[0]].append(np.mean([math.log1p(math.exp(-x)) + (1 - won) * x for x in logits]))
                        counts.append(len(logits))
        scored.append(found)
        return carry()

    shard.carry = watch
    for _ in range(30):
        session.train(1)
        for name, losses in zip(("loss", "held_out_loss"), scored[-1], strict=True):
            metric = session.metrics.get(f"win_head/{name}")
            assert metric == pytest.approx(np.mean(losses), abs=1e-6) if losses else metric is None
    session.close()
    assert max(counts) > 12 and sum(len(held) for _, held in scored) > 5
    assert sum(len(taught) for taught, _ in scored) > 50


def test_a_dropped_rollout_leaves_nothing_waiting():
    session = Session("connect4", 8, {"n_steps": 5, "normalize_observations": False}, {"win_head": True, "trunk": (8,)})
    session.train(2)
    assert session.shard.waiting.any()
    session.shard.drop()
    assert not session.shard.waiting.any()
    session.close()


def test_a_checkpoint_from_before_predictions_waited_still_loads():
    session = Session("connect4", 8, {"n_steps": 5, "normalize_observations": False}, {"win_head": True, "trunk": (8,)})
    session.train(2)
    state = session.shard.state()
    kept = state.pop("foreseen")
    assert kept.any()
    session.shard.restore(state)
    assert not session.shard.waiting.any()
    session.shard.restore(state | {"foreseen": kept})
    assert (session.shard.waiting == kept).all()
    session.train(1)
    session.close()
