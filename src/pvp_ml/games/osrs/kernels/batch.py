"""Kernels over rows [lo, hi): a tick of every match and everything that it writes, while the row is in the cache."""

from __future__ import annotations

from pvp_ml.games.osrs import state as S
from pvp_ml.games.osrs.kernels.jit import inlined_kernel, kernel, prefetch
from pvp_ml.games.osrs.kernels.observe import observe_dharok, observe_nh
from pvp_ml.games.osrs.kernels.signals import report
from pvp_ml.games.osrs.kernels.tick import RUNNING, play_tick

LINE = 64
"""Bytes of a cache line."""


@inlined_kernel
def copy_hidden(obs, hidden, privileged):
    """Each seat's privileged row holds the opponent's hidden features, in feature order; obs [2,D]."""
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
def prefetch_bytes(array, index, size):
    """Ask for the `index`-th piece of `size` bytes of a C-contiguous array, to be there when it is needed."""
    for offset in range(index * size, index * size + size, LINE):
        prefetch(array, offset)


@inlined_kernel
def prefetch_row(array, row):
    """Ask for all that belongs to one match; array [M,…]."""
    prefetch_bytes(array, row, array.strides[0])


@inlined_kernel
def prefetch_fighter(fighters, m, seat):
    """Ask for one fighter; fighters [M,2,F]."""
    prefetch_bytes(fighters, 2 * m + seat, fighters.strides[1])


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

    Memory is asked for in three portions between the work, each needed one portion of work later: a core waits when it
    has more lines under way than it can keep apart. All at once at the top was a third slower.

    Arrays as in StepBuffers, actions [M,2,H] int32, dice [M,C,1+n], hidden [P] columns, outcomes [M] int32,
    scratch hit [HIT_SIZE] int32 and unused_mask [2,A].
    """
    for m in range(lo, hi):
        outcomes[m] = RUNNING
        if matches[m, S.LIVE] == 0:
            signals[m] = 0.0
            rewards[m] = 0.0
            continue
        prefetch_row(signals, m)
        prefetch_row(rewards, m)
        prefetch_row(obs, m)
        prefetch_row(privileged, m)
        prefetch_row(mask, m)
        row, match = fighters[m], matches[m]
        outcome = play_tick(row, match, drained[m], actions[m], dice[m], hit, dharok)
        outcomes[m] = outcome
        if m + 1 < hi:
            prefetch_row(matches, m + 1)
            prefetch_fighter(fighters, m + 1, 0)
        report(row, match, outcome, signals[m], rewards[m])
        if m + 1 < hi:
            prefetch_fighter(fighters, m + 1, 1)
        if outcome == RUNNING:
            show_match(row, match, hidden, obs[m], privileged[m], mask[m], acting[m], dharok)
        else:
            observe_match(row, match, final_obs[m], unused_mask, dharok)
            copy_hidden(final_obs[m], hidden, final_privileged[m])
