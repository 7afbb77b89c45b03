"""What the win head learns from and how well it foresees results.

A match that ends in the rollout labels its rows with the result. An unfinished match labels them with the head's own
prediction at the lane's last decision (a temporal-difference target), so that the head learns from every tick of a long
match and not from its last ticks alone. Held-out matches label nothing.

Results, and nothing else, measure the head: predictions wait until their match ends. A cross entropy is linear in the
result, so sums per lane are all that has to wait. Shape letters as in `spec`; T steps, B rows, N chains (a chain is the
rows of one lane and one match in this rollout).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pvp_ml.match import FloatArray
from pvp_ml.rl.kernels.gae import VOID
from pvp_ml.rl.rollout import Rollout

Ints = npt.NDArray[np.int64]
Sums = npt.NDArray[np.float64]

WAITING = ("if_won", "if_lost", "says_won", "rows")
"""What waits per lane for the result: the two possible losses, predictions above ½, and predictions."""

MEASURES = ("loss", "matches", "right", "decided")
"""What is summed over matches that ended: mean loss over the match's decisions, 1, and the same for decided matches."""


@dataclass(frozen=True, slots=True)
class Chains:
    """One trainee's rows grouped by lane and match, with what became of each match."""

    of_row: Ints  # [B]
    lane: Ints  # [N] match slot · S + seat
    points: FloatArray  # [N] 1 won, ½ tied, 0 lost; NaN: unfinished, or void
    goes_on: npt.NDArray[np.bool_]  # [N] has not ended
    is_first: npt.NDArray[np.bool_]  # [N] the lane's first match of the rollout, perhaps begun before it
    held_out: npt.NDArray[np.bool_]  # [N]
    size: Ints  # [N] rows


class Lessons(NamedTuple):
    """What a trainee's rows teach."""

    won: FloatArray  # [B] 1 won, ½ tied, 0 lost, or the head's own guess; NaN: nothing
    decisions: FloatArray  # [B] of the row's seat in the row's match, up to the end of the rollout
    goes_on: npt.NDArray[np.bool_]  # [B] the match has not ended
    ended: tuple[float, float]  # matches that ended, one per seat, and the sum of their decisions


def chains(rollout: Rollout, index: Ints) -> Chains:
    """Group rows, given by flat indexes [B] into (time, match, seat), in any order."""
    slots, seats = rollout.shape.matches, rollout.shape.seats
    time, lane = np.divmod(index, slots * seats)
    stopped = rollout.end != 0
    before = np.concatenate([np.zeros((1, slots), np.int64), np.cumsum(stopped, axis=0)])  # [T+2,M]
    most = int(before[-1].max(initial=0)) + 1
    found, first_row, of_row, size = np.unique(
        lane * most + before[time, lane // seats], return_index=True, return_inverse=True, return_counts=True
    )
    lanes, number = np.divmod(found, most)
    slot, seat = np.divmod(lanes, seats)
    ends = np.full((slots, most), -1, np.int64)
    when, where = np.nonzero(stopped)
    ends[where, before[when, where]] = when
    end = ends[slot, number]
    points = np.where(
        (end < 0) | (rollout.end[end, slot] == VOID), np.nan, (rollout.result[end, slot, seat] + 1) / 2
    ).astype(np.float32)
    held_out = rollout.held_out[np.maximum(time[first_row], 1), slot]  # index 0 carries rows of index 1's match
    return Chains(of_row, lanes, points, end < 0, number == 0, held_out, size)


def last_decisions(rollout: Rollout, trainee: int) -> tuple[Ints, Ints]:
    """Lanes [L] in which a trainee's match is unfinished, and the flat index [L] of its last decision there."""
    steps = len(rollout.end)
    slots, seats = rollout.shape.matches, rollout.shape.seats
    own = rollout.owner[:steps] == trainee
    own &= (np.arange(steps)[:, None] < rollout.length)[:, :, None]
    ended = np.where(rollout.end != 0, np.arange(steps)[:, None], -1).max(axis=0)  # [M] last step that stopped a match
    own &= (np.arange(steps)[:, None] > ended)[:, :, None]
    flat = own.reshape(steps, slots * seats)
    lane = np.flatnonzero(flat.any(axis=0))
    last = steps - 1 - flat[::-1, lane].argmax(axis=0)
    return lane, last * (slots * seats) + lane


def lessons(found: Chains, waiting: Sums, at_cut: FloatArray) -> Lessons:
    """Labels of rows: at_cut [M·S] is the chance to win at a lane's last decision; waiting as in `measure`."""
    won = np.where(found.goes_on, at_cut[found.lane], found.points)
    won = np.where(found.held_out, np.nan, won).astype(np.float32)
    decisions = found.size + np.where(found.is_first, waiting[found.lane, WAITING.index("rows")], 0.0)
    has_ended = ~np.isnan(won) & ~found.goes_on
    return Lessons(
        won[found.of_row],
        decisions[found.of_row].astype(np.float32),
        found.goes_on[found.of_row],
        (float(has_ended.sum()), float(decisions[has_ended].sum())),
    )


def row_weights(taught: Lessons, mean_length: float) -> FloatArray:
    """[B]: mean length / the match's own length, so that a match counts once however long it is.

    Lengths are in decisions. An unfinished match is assumed to have mean length until it is longer than that.
    """
    length = np.where(taught.goes_on, np.maximum(taught.decisions, mean_length), taught.decisions)
    return (mean_length / length).astype(np.float32)


def measure(found: Chains, logit: FloatArray, waiting: Sums, after: Sums) -> Sums:
    """Score the matches that ended by the rows' logits [B] and what was waiting [M·S,4]; others' sums go to `after`.

    Returns [2, len(MEASURES)]: matches that are learned from, and held-out ones. A seat of a match counts as one.
    """
    known = np.isfinite(logit)  # rows that nobody judged: the first rollout only gathers statistics
    logit, of_row = logit[known].astype(np.float64), found.of_row[known]
    each = (np.logaddexp(0.0, -logit), np.logaddexp(0.0, logit), logit > 0.0, np.ones_like(logit))
    sums = np.stack([np.bincount(of_row, values, len(found.lane)) for values in each], axis=1)
    sums = sums + np.where(found.is_first[:, None], waiting[found.lane], 0.0)
    after[found.lane[found.goes_on]] = sums[found.goes_on]
    counts = ~np.isnan(found.points) & (sums[:, 3] > 0.0)
    total = np.zeros((2, len(MEASURES)))
    for group, chosen in enumerate((counts & ~found.held_out, counts & found.held_out)):
        points = found.points[chosen].astype(np.float64)
        if_won, if_lost, says_won, rows = sums[chosen].T
        decided = points != 0.5
        right = np.where(points > 0.5, says_won, rows - says_won) / rows
        loss = (points * if_won + (1.0 - points) * if_lost) / rows
        total[group] = loss.sum(), len(points), right[decided].sum(), decided.sum()
    return total


def metrics(total: Sums) -> dict[str, float]:
    """Names for what `measure` found, summed over shards; nothing where no match ended."""
    taught, held = (dict(zip(MEASURES, group.tolist(), strict=True)) for group in total)
    found = {}
    if taught["matches"]:
        found["win_head/loss"] = taught["loss"] / taught["matches"]
    if held["matches"]:
        found["win_head/held_out_loss"] = held["loss"] / held["matches"]
        found["win_head/held_out_matches"] = held["matches"]
    if held["decided"]:
        found["win_head/held_out_accuracy"] = held["right"] / held["decided"]
    return found
