"""Accounts around one: a few levels, a few pieces of gear and the supplies changed, all of them legal.

The variations of an account follow from the account alone, so every process and every resumed run has the same ones.
"""

from __future__ import annotations

import dataclasses
from functools import lru_cache

import numpy as np

from pvp_ml.games.osrs import items as I
from pvp_ml.games.osrs import state as S
from pvp_ml.games.osrs.accounts.account import SETS, Account
from pvp_ml.games.osrs.accounts.check import check
from pvp_ml.games.osrs.accounts.read import AccountError, parse

VARIATIONS = 256
NEAREST = 4
"""Items that may stand in for another: so many of its slot, those whose bonuses differ least."""
LEVEL_STEPS = 5
SUPPLIES = ("saradomin_brew_4", "super_restore_4", "cooked_karambwan")


def variations(account: Account, variety: float) -> tuple[Account, ...]:
    """The account itself and, where `variety` (0…1) is above 0, others around it."""
    if variety <= 0.0:
        return (account,)
    return _variations(account.text(), variety)


@lru_cache(maxsize=16)
def _variations(text: str, variety: float) -> tuple[Account, ...]:
    account = parse(text, "account")
    rng = np.random.default_rng([int(account.digest, 16), round(variety * 1000)])
    return (account, *(_varied(account, variety, rng) for _ in range(VARIATIONS - 1)))


def _varied(account: Account, variety: float, rng: np.random.Generator) -> Account:
    """Change by change; one that the rules do not allow is taken back."""
    changed = _try(account, levels=_levels(account, variety, rng))
    for key in sorted({item for name in SETS for item in account.gear[name]}):
        if rng.random() < 0.3 * variety:
            other = _stand_in(key, rng)
            gear = {
                name: tuple(other if item == key else item for item in items) for name, items in changed.gear.items()
            }
            changed = _try(changed, gear=gear)
    return _try(changed, carried=_supplies(changed, variety, rng))


def _try(account: Account, **change: object) -> Account:
    wanted = dataclasses.replace(account, **change)  # type: ignore[arg-type]
    try:
        check(wanted, "")
    except AccountError:
        return account
    return wanted


def _levels(account: Account, variety: float, rng: np.random.Generator) -> dict[str, int]:
    """Each level up or down by a few, where it is not a choice of the build (1 and 99 stay)."""
    levels = dict(account.levels)
    for skill in S.SKILLS:
        moves = rng.random() < variety and skill != "hitpoints" and levels[skill] > 1
        step = int(rng.integers(-LEVEL_STEPS, LEVEL_STEPS + 1))
        levels[skill] = min(99, max(1, levels[skill] + step)) if moves else levels[skill]
    return levels


def _stand_in(key: str, rng: np.random.Generator) -> str:
    """Another item of the same slot and kind, one of the nearest by its bonuses."""
    code = I.ITEM[key]
    alike = (I.ITEM_SLOT[code] == I.ITEM_SLOT) & (I.ITEM_TWO_HANDED[code] == I.ITEM_TWO_HANDED)
    if I.ITEM_SLOT[code] == S.WEAPON:
        alike &= I.ITEM_OBSERVED[code] == I.ITEM_OBSERVED
    alike[[I.NO_ITEM, code]] = False
    others = np.flatnonzero(alike)
    if not len(others):
        return key
    far = np.abs(I.ITEM_BONUS[others] - I.ITEM_BONUS[code]).sum(1)
    nearest = others[np.argsort(far, kind="stable")[:NEAREST]]
    return str(I.KEYS[int(rng.choice(nearest))])


def _supplies(account: Account, variety: float, rng: np.random.Generator) -> tuple[tuple[str, int], ...]:
    """Up to two more or fewer of brews, restores and karambwans."""
    counts = dict(account.carried)
    for key in SUPPLIES:
        step = int(rng.integers(-2, 3))
        if rng.random() < variety:
            counts[key] = max(0, counts.get(key, 0) + step)
    return tuple((key, count) for key, count in counts.items() if count > 0)
