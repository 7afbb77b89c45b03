"""Whether an account can wear, pray and carry what it says, by the item table."""

from __future__ import annotations

import difflib

from pvp_ml.games.osrs import items as I
from pvp_ml.games.osrs import state as S
from pvp_ml.games.osrs.accounts.account import SETS, Account
from pvp_ml.games.osrs.accounts.read import AccountError

PLACES = S.INVENTORY_SIZE
PRAYER_LEVELS = {
    "steel_skin": (28, 1),
    "ultimate_strength": (31, 1),
    "incredible_reflexes": (34, 1),
    "eagle_eye": (44, 1),
    "mystic_might": (45, 1),
    "piety": (70, 70),
    "rigour": (74, 70),
    "augury": (77, 70),
}
"""Prayer and Defence that a prayer needs."""
MOST_PRAYERS = 3
AMMUNITION = {"crossbow": "bolts", "ballista": "javelin", "dark_bow": "arrow"}
"""What weapons of a class shoot: part of the ammunition's name."""
WIELDED = {"ranged": "ranged", "melee": "melee", "special": "melee"}
MELEE_SPECIALS = range(S.DRAGON_DAGGER, S.STATIUS_WARHAMMER + 1)


def check(account: Account, where: str) -> None:
    """Raise AccountError at the first thing that the rules do not allow."""
    for name in SETS:
        check_set(account, name, f"{where}: gear.{name}")
    if account.spellbook == "lunar" and account.gear["mage"]:
        raise AccountError(f"{where}: gear.mage is not empty", "the lunar book has no attack spells: leave it out")
    _check_prayers(account, where)
    _check_supplies(account, where)


def item_code(name: str, where: str) -> int:
    """The item's index in the table."""
    if name not in I.ITEM or name == I.KEYS[I.NO_ITEM]:
        close = difflib.get_close_matches(name, I.KEYS, 1)
        hint = f"did you mean '{close[0]}'?" if close else "docs/games/nh-accounts.md lists the items"
        raise AccountError(f"{where}: there is no item '{name[:60]}'", hint)
    return I.ITEM[name]


def check_set(account: Account, name: str, where: str) -> None:
    """Slots, hands, levels, weapon and ammunition of one gear set."""
    worn: dict[str, str] = {}
    for key in account.gear[name]:
        code = item_code(key, where)
        if I.ITEM_SLOT[code] < 0:
            raise AccountError(f"{where}: '{key}' cannot be worn", "carry it under inventory")
        slot = I.SLOT_NAMES[I.ITEM_SLOT[code]]
        if slot in worn:
            raise AccountError(f"{where}: '{worn[slot]}' and '{key}' both go into the slot {slot}", "one item a slot")
        worn[slot] = key
        for skill, needed in zip(S.SKILLS, I.ITEM_REQUIREMENT[code].tolist(), strict=True):
            if account.levels[skill] < needed:
                raise AccountError(
                    f"{where}: '{key}' ({slot}) needs {skill} {needed}, the account has {account.levels[skill]}"
                )
    weapon = worn.get("weapon")
    if weapon is not None and I.ITEM_TWO_HANDED[I.ITEM[weapon]] and "shield" in worn:
        raise AccountError(f"{where}: '{weapon}' takes both hands", f"leave '{worn['shield']}' (shield) out")
    if name in WIELDED:
        _check_weapon(name, weapon, worn.get("ammunition"), where)


def _check_weapon(name: str, weapon: str | None, ammunition: str | None, where: str) -> None:
    if weapon is None:
        raise AccountError(f"{where} has no weapon", f"add one for {WIELDED[name]} attacks")
    code = I.ITEM[weapon]
    seen = I.OBSERVED[I.ITEM_OBSERVED[code]]
    if seen != WIELDED[name]:
        raise AccountError(f"{where}: '{weapon}' (weapon) is a {seen} weapon", f"a {WIELDED[name]} weapon is needed")
    kind = I.CLASSES[I.ITEM_CLASS[code]]
    shoots = AMMUNITION.get(kind, "")
    if shoots and shoots not in (ammunition or ""):
        fitting = ", ".join(key for key in I.KEYS if shoots in key and I.ITEM_SLOT[I.ITEM[key]] == S.AMMUNITION)
        raise AccountError(
            f"{where}: '{weapon}' does not shoot '{ammunition or 'nothing'}' (ammunition)", f"add one of: {fitting}"
        )


def _check_prayers(account: Account, where: str) -> None:
    for style, names in account.prayers.items():
        place = f"{where}: prayers.{style}"
        if len(names) > MOST_PRAYERS:
            raise AccountError(f"{place} has {len(names)} prayers", f"at most {MOST_PRAYERS}")
        for name in names:
            if name not in PRAYER_LEVELS:
                raise AccountError(f"{place}: there is no prayer '{name[:40]}'", f"known: {', '.join(PRAYER_LEVELS)}")
            for skill, needed in zip(("prayer", "defence"), PRAYER_LEVELS[name], strict=True):
                if account.levels[skill] < needed:
                    raise AccountError(
                        f"{place}: '{name}' needs {skill} {needed}, the account has {account.levels[skill]}"
                    )


def _check_supplies(account: Account, where: str) -> None:
    things = 0
    for key, count in account.carried:
        code = item_code(key, f"{where}: inventory")
        if I.ITEM_SLOT[code] >= 0:
            raise AccountError(f"{where}: inventory: '{key}' is gear", "list it under gear, in the sets that wear it")
        things += count
    if account.food and account.food not in I.FOODS:
        raise AccountError(f"{where}: food is '{account.food[:40]}'", f"one of: {', '.join(I.FOODS)}")
    casts = account.spellbook == "lunar" or bool(account.gear["mage"])
    if casts and "rune_pouch" not in dict(account.carried):
        raise AccountError(f"{where}: inventory has no 'rune_pouch'", "spells need one; add rune_pouch: 1")
    gear = packed_gear(account)
    if gear + things > PLACES:
        raise AccountError(
            f"{where}: {gear} pieces of gear that are not worn at the start and {things} other things make "
            f"{gear + things}, the inventory has {PLACES} places"
        )


def packed_gear(account: Account) -> int:
    """Pieces of the other sets that lie in the inventory at the start."""
    first = account.gear["mage"] or account.gear["ranged"]
    others = {item for name in ("ranged", "melee", "special") for item in account.gear[name]}
    return len(others - set(first))
