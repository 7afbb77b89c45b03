"""Kernels over rows [lo, hi): a tick of every match and everything that it writes, while the row is in the cache."""

from __future__ import annotations

from pvp_ml.games.osrs import state as S
from pvp_ml.games.osrs.jit import inlined_kernel, kernel, prefetch
from pvp_ml.games.osrs.kernels_observe import observe_dharok, observe_nh
from pvp_ml.games.osrs.kernels_signals import report
from pvp_ml.games.osrs.kernels_tick import RUNNING, play_tick

LINE = 64
"""Bytes of a cache line."""


@inlined_kernel
def copy_hidden(obs, hidden, privileged):
    """1.3: each seat's privileged row holds the opponent's hidden features, in feature order; obs [2,D]."""
    for k in range(hidden.shape[0]):
        column = hidden[k]
        privileged[0, k] = obs[1, column]
        privileged[1, k] = obs[0, column]


@kernel
def observe_match(fighters, match, obs, mask, dharok):
    """Both seats of one match: obs [2,D], mask [2,A]."""
    for seat in range(2):
        if dharok:
            observe_dharok(fighters[seat], fighters[1 - seat], match, obs[seat], mask[seat])
        else:
            observe_nh(fighters[seat], fighters[1 - seat], match, obs[seat], mask[seat])


@kernel
def show_match(fighters, match, hidden, obs, privileged, mask, acting, dharok):
    """What both seats of a running match see and may do; bots do not act."""
    observe_match(fighters, match, obs, mask, dharok)
    copy_hidden(obs, hidden, privileged)
    for seat in range(2):
        acting[seat] = fighters[seat, S.IS_BOT] == 0
        if not acting[seat]:
            mask[seat] = False


@kernel
def show_rows(fighters, matches, hidden, rows, obs, privileged, mask, acting, dharok):
    """Write what `rows` [n] see; a row without a match rests: nobody acts, zeros."""
    for n in range(rows.shape[0]):
        m = rows[n]
        if matches[m, S.LIVE]:
            show_match(fighters[m], matches[m], hidden, obs[m], privileged[m], mask[m], acting[m], dharok)
        else:
            obs[m] = 0.0
            privileged[m] = 0.0
            mask[m] = False
            acting[m] = False


@inlined_kernel
def prefetch_row(array, row):
    """Ask for a row of a C-contiguous array while the row before it is played."""
    size = array.strides[0]
    for offset in range(row * size, row * size + size, LINE):
        prefetch(array, offset)


@kernel
def step_rows(
    fighters,
    matches,
    drained,
    actions,
    dice,
    hidden,
    outcomes,
    signals,
    rewards,
    obs,
    privileged,
    mask,
    acting,
    final_obs,
    final_privileged,
    hit,
    unused_mask,
    lo,
    hi,
    dharok,
):
    """One tick of the rows [lo, hi) that have a match. A match that stops leaves its last sight in the finals.

    Arrays as in StepBuffers, actions [M,2,H] int32, dice [M,C,1+n], hidden [P] columns, outcomes [M] int32,
    scratch hit [HIT_SIZE] int32 and unused_mask [2,A].
    """
    for m in range(lo, hi):
        outcomes[m] = RUNNING
        if matches[m, S.LIVE] == 0:
            signals[m] = 0.0
            rewards[m] = 0.0
            continue
        if m + 1 < hi:
            prefetch_row(fighters, m + 1)
            prefetch_row(matches, m + 1)
            prefetch_row(signals, m + 1)
            prefetch_row(rewards, m + 1)
            prefetch_row(obs, m + 1)
            prefetch_row(privileged, m + 1)
            prefetch_row(mask, m + 1)
        row, match = fighters[m], matches[m]
        outcome = play_tick(row, match, drained[m], actions[m], dice[m], hit, dharok)
        outcomes[m] = outcome
        report(row, match, outcome, signals[m], rewards[m])
        if outcome == RUNNING:
            show_match(row, match, hidden, obs[m], privileged[m], mask[m], acting[m], dharok)
        else:
            observe_match(row, match, final_obs[m], unused_mask, dharok)
            copy_hidden(final_obs[m], hidden, final_privileged[m])
