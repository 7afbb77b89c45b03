"""Accounts as state: each becomes the columns of a fighter row that a loadout decides, computed once per game."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pvp_ml.chance import scramble
from pvp_ml.games.osrs import items as I
from pvp_ml.games.osrs import state as S
from pvp_ml.games.osrs.accounts.account import SETS, STYLES, Account
from pvp_ml.games.osrs.accounts.variety import variations
from pvp_ml.games.osrs.kernels.fighter import count_inventory, refresh_bonuses
from pvp_ml.games.osrs.kernels.gear import CARRIED_SIZE, fill_inventory, make_tank_set
from pvp_ml.games.osrs.kernels.reset import note_sets, pack_for_bot

IntArray = npt.NDArray[np.int32]
NO_OUTFIT = -1
_CHANNEL = 4711
"""Of the plan's seed, for which variation a side wears; the dice of the fight are not touched."""


def _columns() -> npt.NDArray[np.intp]:
    """Columns of a fighter row that follow from its account alone."""
    runs = [(S.LEVEL, 7), (S.BASE, 7), (S.SPELLBOOK, 1), (S.WORN, S.SLOTS), (S.W_RANGED, 9), (S.BONUS, 28)]
    runs += [(S.COUNT, S.KINDS), (S.CONST, 46), (S.INV, S.INVENTORY_SIZE), (S.SETS, 5 * S.SET_SIZE)]
    return np.concatenate([np.arange(first, first + count) for first, count in runs])


COLUMNS = _columns()
"""W_RANGED and the eight after it: weapons of the sets, hands, prayers of the sets, build."""


def fighter_row(account: Account) -> IntArray:
    """A fighter row [F] that wears the account and is otherwise zero."""
    me = np.zeros(S.FIGHTER_SIZE, np.int32)
    me[S.BUILD] = S.BUILDS.index(account.build)
    for k, skill in enumerate(S.SKILLS):
        me[S.BASE + k] = me[S.LEVEL + k] = account.levels[skill]
    for column, style in zip((S.PRAY_MAGE, S.PRAY_RANGED, S.PRAY_MELEE), STYLES, strict=True):
        me[column] = sum(I.PRAYERS[name] for name in set(account.prayers[style]))
    sets = me[S.SETS : S.SETS + 5 * S.SET_SIZE].reshape(5, S.SET_SIZE)
    for k, name in enumerate(SETS):
        codes = [I.ITEM[key] for key in account.gear[name]]
        sets[k, : len(codes)] = codes
    make_tank_set(sets)
    first = S.SET_MAGE if sets[S.SET_MAGE, 0] else S.SET_RANGED
    for code in sets[first][sets[first] != 0].tolist():
        me[S.WORN + I.ITEM_SLOT[code]] = code
    carried = np.zeros(CARRIED_SIZE, np.int32)
    entries = [I.ITEM[key] for key, count in account.carried for _ in range(count)]
    carried[: len(entries)] = entries
    food = I.ITEM[account.food] if account.food else 0
    fill_inventory(sets, first, carried, food, me[S.INV : S.INV + S.INVENTORY_SIZE])
    me[S.SPELLBOOK] = S.LUNAR if account.spellbook == "lunar" else S.ANCIENT
    count_inventory(me)
    refresh_bonuses(me)
    note_sets(me)
    return me


class Wardrobe:
    """What both sides may wear: `own` the side that a match is about, `other` its opponent; None leaves the build."""

    def __init__(self, own: Account | None, other: Account | None, variety: float) -> None:
        sides = [variations(account, variety) if account is not None else () for account in (own, other)]
        self._first = (0, len(sides[0]))
        self._sizes = (len(sides[0]), len(sides[1]))
        rows = [fighter_row(account) for side in sides for account in side]
        self._rows = np.stack(rows)
        self._bot_rows = self._rows.copy()
        for row in self._bot_rows:
            pack_for_bot(row)

    @property
    def size(self) -> int:
        """Outfits in all."""
        return len(self._rows)

    def choose(self, seed: int, home: int) -> tuple[int, int]:
        """The outfits of seats 0 and 1 of the plan with that seed; the side in seat `home` is the first."""
        picks = [
            self._first[side] + scramble(seed, _CHANNEL, side) % self._sizes[side] if self._sizes[side] else NO_OUTFIT
            for side in range(2)
        ]
        return (picks[1], picks[0]) if home == 1 else (picks[0], picks[1])

    def dress(self, fighters: IntArray, rows: npt.NDArray[np.int64], outfits: Sequence[tuple[int, int]]) -> None:
        """Let the fighters [M,2,F] of those rows, just reset, wear their outfits [n,2]."""
        for seat in range(2):
            worn = np.array([pair[seat] for pair in outfits], np.intp)
            chosen = np.flatnonzero(worn != NO_OUTFIT)
            place = rows[chosen]
            is_bot = fighters[place, seat, S.IS_BOT] != 0
            for table, who in ((self._rows, ~is_bot), (self._bot_rows, is_bot)):
                fighters[place[who, None], seat, COLUMNS] = table[worn[chosen[who], None], COLUMNS]
