"""What each number of a fight may be. A snapshot is a file, and the compiled rules index tables by what is in it.

Codes and counts that index something are held to their tables exactly. Everything else is held to what a fight of a
million ticks can reach, so that sums and distances stay far from the ends of int32.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from pvp_ml.errors import UserError
from pvp_ml.games.osrs import items as I
from pvp_ml.games.osrs import state as S

IntArray = npt.NDArray[np.int32]
FARTHEST = 1 << 24
"""Ticks, damage sums and counters stay below."""
MAX_LEVEL = 255
MAX_TILE = 1 << 15
_ANY = (-(1 << 31), (1 << 31) - 1)
_LAST_ITEM = len(I.ITEM_CLASS) - 1
_ALL_PRAYERS = (1 << 29) - 1


def _fighter() -> Iterator[tuple[int, int, int, int]]:
    """First column, columns, lowest, highest; later rows win."""
    yield 0, S.FIGHTER_SIZE, S.NEVER - FARTHEST, FARTHEST
    yield S.LEVEL, 14, 0, MAX_LEVEL
    for column in (S.X, S.Y, S.DEST_X, S.DEST_Y):
        yield column, 1, -MAX_TILE, MAX_TILE
    yield S.WALKING, 1, 0, S.ON_PATH
    yield S.PATH_AT, 1, 0, 100
    yield S.PATH, 10, 0, (1 << 30) - 1
    for flag in (S.MOVING, S.WALKS, S.TARGET, S.FOLLOW, S.SPEC_ON, S.VENGEANCE, S.DYING, S.SPELLBOOK,
                 S.BOT_ENEMY, S.MELEE_TWO_HANDED, S.SPEC_TWO_HANDED, S.SEEN_LUNAR, S.TICK_MATCHED):  # fmt: skip
        yield flag, 1, 0, 1
    for column, most in ((S.SPELL, S.BLOOD_BARRAGE), (S.ENERGY, 100), (S.PRAYERS, _ALL_PRAYERS), (S.PID, 1 << 30),
                         (S.IS_BOT, S.BOT_DHAROK), (S.BUILD, len(S.BUILDS) - 1), (S.HITS, S.HIT_SLOTS),
                         (S.DUES, S.DUE_SLOTS), (S.TICK_STYLE, 3), (S.TICK_PRAYED, 3), (S.TICK_SPELL, S.BLOOD_BARRAGE),
                         (S.WAS_PRAYER, 3), (S.WAS_STYLE, 3), (S.MAUL_QUEUED, 255), (S.POISON, 255)):  # fmt: skip
        yield column, 1, 0, most
    yield S.WORN, S.SLOTS, 0, _LAST_ITEM
    yield S.W_RANGED, 3, 0, _LAST_ITEM
    yield S.PRAY_MAGE, 3, 0, _ALL_PRAYERS
    yield S.BONUS, 28, -1000, 1000
    yield S.COUNT, S.KINDS, 0, 4 * S.INVENTORY_SIZE
    yield S.RECENT_STYLE, 9, 0, 5
    yield S.INV, S.INVENTORY_SIZE, 0, _LAST_ITEM
    yield S.SETS, 5 * S.SET_SIZE, 0, _LAST_ITEM
    yield S.LAST_STYLES, 10, 0, 3
    yield S.LAST_MATCHED, 5, 0, 2
    for hit in range(S.HIT_QUEUE, S.HIT_QUEUE + S.HIT_SLOTS * S.HIT_SIZE, S.HIT_SIZE):
        yield hit, S.HIT_SIZE, 0, 1000
        for part, most in ((S.HIT_DELAY, 64), (S.HIT_ACCURATE, 1), (S.HIT_STYLE, S.MAGE),
                           (S.HIT_METHOD, S.DRAGON_SCIMITAR), (S.HIT_PARTS, S.HIT_SIZE - S.HIT_PART)):  # fmt: skip
            yield hit + part, 1, 0, most
    yield S.DUE_QUEUE, S.DUE_SLOTS, 0, 1000


def _match() -> Iterator[tuple[int, int, int, int]]:
    yield 0, S.MATCH_SIZE, 0, 1
    yield S.TICK, 1, 0, FARTHEST
    yield S.MAX_TICKS, 1, 0, FARTHEST
    yield S.DRAWS, 1, 0, _ANY[1] - FARTHEST
    yield S.KEY0, 2, *_ANY
    yield S.FIGHT_TYPE, 1, 0, S.FIGHT_ARENA
    yield S.FIGHT_RULE, 1, 0, S.FIGHT_DRAWN
    yield S.BUILD_OPTIONS, 1, 0, (1 << len(S.BUILDS)) - 1


def _bounds(rows: Iterator[tuple[int, int, int, int]], width: int) -> tuple[IntArray, IntArray]:
    low, high = np.zeros(width, np.int32), np.zeros(width, np.int32)
    for first, count, least, most in rows:
        low[first : first + count], high[first : first + count] = least, most
    return low, high


FIGHTER_BOUNDS = _bounds(_fighter(), S.FIGHTER_SIZE)
MATCH_BOUNDS = _bounds(_match(), S.MATCH_SIZE)


def _check_counts(fighters: IntArray) -> None:
    """Supplies are counted beside the inventory; the rules look for what a count says is there, and must find it."""
    playing = fighters[fighters.any(axis=1)]  # a row that rests holds zeros
    inventory = playing[:, S.INV : S.INV + S.INVENTORY_SIZE]
    counts = np.zeros((len(playing), S.KINDS), np.int64)
    np.add.at(counts, (np.arange(len(playing))[:, None], I.ITEM_KIND[inventory]), I.ITEM_DOSES[inventory])
    if (counts != playing[:, S.COUNT : S.COUNT + S.KINDS]).any():
        raise UserError(
            "the snapshot counts supplies that its inventories do not hold",
            "the checkpoint was changed; resume from another one",
        )


def check_state(fighters: IntArray, state: IntArray, drained: npt.NDArray[np.float64]) -> None:
    """Refuse numbers that no fight can reach: [M,2,FIGHTER_SIZE], [M,MATCH_SIZE] and [M,2] prayer points drained."""
    for what, rows, (low, high) in (("fighter", fighters, FIGHTER_BOUNDS), ("match", state, MATCH_BOUNDS)):
        outside = (rows < low) | (rows > high)
        if outside.any():
            where = tuple(int(i) for i in np.argwhere(outside)[0])
            column = where[-1]
            raise UserError(
                f"the snapshot's {what} column {column} is {int(rows[where])}, "
                f"allowed are {int(low[column])} to {int(high[column])}",
                "the checkpoint was changed; resume from another one",
            )
    _check_counts(fighters.reshape(-1, S.FIGHTER_SIZE))
    if not (np.isfinite(drained) & (drained >= 0) & (drained < MAX_LEVEL)).all():
        raise UserError("the snapshot's prayer drain is not a number from 0 to 255", "resume from another checkpoint")
