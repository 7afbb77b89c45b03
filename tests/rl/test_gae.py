"""Advantages over lanes with gaps: a hand-worked case, and an O(T²) reference on random lanes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pvp_ml.rl.kernels.gae import CLOSED, ENDED, NO_ROW, OPEN, TRUNCATED, VOID, lane_advantages


def run(steps, owner, seated, value, reward, end, final_value, scale, gamma, lam, limit=np.inf):
    """One call with arrays of the right types; returns advantage, state, collected."""
    owner, seated = np.asarray(owner, np.int8), np.asarray(seated, np.int8)
    shape = np.asarray(reward).shape
    out = np.zeros(shape, np.float32), np.full(shape, 7, np.int8), np.zeros(shape, np.float32)
    f, wide = (lambda x: np.asarray(x, np.float32)), (lambda x: np.asarray(x, np.float64))
    lane_advantages(
        np.asarray(steps, np.int32), owner, seated, f(value), f(reward), np.asarray(end, np.int8), f(final_value),
        wide(scale), np.full(len(scale), limit), wide(gamma), wide(gamma) * wide(lam), *out,
    )  # fmt: skip
    return out


def lane(*values):
    """[T,1,1] from a list."""
    return np.array(values)[:, None, None]


def test_a_case_worked_by_hand():
    """One seat, γ = 0.5, λ = 0.5, rewards halved by the scale. Index 0 is a carried row (its reward is scaled already).

    t   0 decided (carried), gathered 1     t  1 waits, pays 2      t  2 decides, pays 4
    t   3 decides, pays 2, truncated, final value 6                 t  4 new match, decides, pays 8, void
    t   5 decides, pays 2                   t  6 decides, pays 4    t  7 waits, pays 6; nothing decided after it
    """
    owner = lane(0, -1, 0, 0, 0, 0, 0, -1, -1)
    seated = lane(0, 0, 0, 0, 0, 0, 0, 0, 0)
    value = lane(1.0, 99, 2.0, 3.0, 5.0, 1.0, 4.0, 99, 99)
    reward = lane(1.0, 2, 4, 2, 8, 2, 4, 6)
    end = np.array([0, 0, 0, TRUNCATED, VOID, 0, 0, 0])[:, None]
    final = lane(0, 0, 0, 6.0, 0, 0, 0, 0)
    advantage, state, collected = run([8], owner, seated, value, reward, end, final, [0.5], [0.5], [0.5])
    # t3: 1 + 0.5·6 − 3 = 1;   t2: 2 + 0.5·3 − 2 + 0.25·1 = 1.75;   t0: (1 + 1) + 0.5·2 − 1 + 0.25·1.75 = 2.4375
    # t5: 1 + 0.5·4 − 1 = 2, cut at the open row t6, which has gathered 2 + 3 so far
    assert state[:, 0, 0].tolist() == [CLOSED, NO_ROW, CLOSED, CLOSED, NO_ROW, CLOSED, OPEN, NO_ROW]
    assert advantage[[0, 2, 3, 5], 0, 0].tolist() == [2.4375, 1.75, 1.0, 2.0]
    assert collected[6, 0, 0] == 5.0


def test_a_real_end_is_not_bootstrapped_and_a_truncation_is():
    def advantage(kind):
        return run([1], lane(0, 0), lane(0, 0), lane(2.0, 50.0), lane(3.0), [[kind]], lane(10.0), [1], [0.9], [1])[0]

    assert advantage(ENDED)[0, 0, 0] == pytest.approx(3 - 2)
    assert advantage(TRUNCATED)[0, 0, 0] == pytest.approx(3 + 9 - 2)
    assert advantage(0)[0, 0, 0] == pytest.approx(3 + 45 - 2)


def test_a_scaled_reward_is_cut_at_the_limit_and_a_carried_one_was_cut_before():
    """Rewards 4, −20 and 2 in steps 1 to 3, doubled by the scale, limit 6; the carried row had gathered 9."""
    owner, seated, value = lane(0, 0, 0, 0, 0), lane(0, 0, 0, 0, 0), lane(0.0, 0.0, 0.0, 0.0, 0.0)
    lanes = (owner, seated, value, lane(9.0, 4.0, -20.0, 2.0), np.zeros((4, 1)), lane(0.0, 0.0, 0.0, 0.0))
    cut = run([4], *lanes, [2.0], [1.0], [0.0], limit=6.0)[0][:, 0, 0]
    assert cut.tolist() == [9.0, 6.0, -6.0, 4.0]
    assert run([4], *lanes, [2.0], [1.0], [0.0])[0][:, 0, 0].tolist() == [9.0, 8.0, -40.0, 4.0]


def reference(steps, owner, seated, value, reward, end, final_value, scale, gamma, lam):
    """Σ (γλ)^k δ_k over a seat's own decisions, each sum written out; NaN where there is no training row."""
    out = np.full(reward.shape, np.nan)
    _, slots, seats = reward.shape
    for m in range(slots):
        for s in range(seats):
            for t in range(steps[m]):
                k = owner[t, m, s]
                if seated[t, m, s] < 0 or k < 0:
                    continue
                deltas, now, at = [], t, t
                while True:  # follow the decisions after t
                    paid, stop = 0.0, None
                    while True:
                        paid += reward[at, m, s] * (scale[seated[at, m, s]] if at > 0 else 1.0)
                        if end[at, m]:
                            stop = end[at, m]
                            break
                        at += 1
                        if at == steps[m] or owner[at, m, s] >= 0:
                            break
                    if stop is None and at == steps[m] and owner[at, m, s] < 0:
                        stop = OPEN + 100  # nobody decided again: this decision is not closed yet
                    after = final_value[at, m, s] if stop == TRUNCATED else 0.0 if stop else value[at, m, s]
                    if stop == OPEN + 100:
                        break
                    deltas.append(paid + gamma[k] * after - value[now, m, s])
                    if stop or at == steps[m]:
                        break
                    now = at
                if deltas and stop != VOID:
                    out[t, m, s] = sum((gamma[k] * lam[k]) ** i * d for i, d in enumerate(deltas))
    return out


@settings(max_examples=120, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_it_equals_the_quadratic_reference(seed, t):
    rng = np.random.default_rng(seed)
    shape, trainees = (t, 3, 2), 2
    holder = rng.integers(-1, trainees, (1, 3, 2))
    end = rng.choice([0, ENDED, TRUNCATED, VOID], (t, 3), p=[0.7, 0.15, 0.1, 0.05])
    end[0] = 0  # index 0 holds carried rows: their match goes on
    seated = np.repeat(holder, t + 1, axis=0)
    for m in range(3):
        for i in range(1, t):
            if end[i, m]:
                seated[i + 1 :, m] = rng.integers(-1, trainees, 2)
    owner = np.where(rng.random((t + 1, 3, 2)) < 0.6, seated, -1)
    seated[0] = owner[0]
    value, final, reward = (  # as the rollout stores them: the reference must see the same numbers
        rng.normal(size=size).astype(np.float32).astype(np.float64) for size in ((t + 1, 3, 2), shape, shape)
    )
    steps = rng.integers(1, t + 1, 3)
    scale, gamma, lam = rng.uniform(0.2, 2, 2), rng.uniform(0.5, 1, 2), rng.uniform(0, 1, 2)
    args = (steps, owner, seated, value, reward, end, final, scale, gamma, lam)
    advantage, state, _ = run(*args)
    wanted = reference(*args)
    assert ((state == CLOSED) == ~np.isnan(wanted)).all()
    closed = state == CLOSED
    if closed.any():
        assert np.abs(advantage[closed] - wanted[closed]).max() <= 1e-6 * max(1.0, np.abs(wanted[closed]).max())
