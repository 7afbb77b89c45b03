"""Items and builds as arrays for the kernels. Read once at import from data/*.json, then read-only.

An item is a small index everywhere in this package: row 0 is the empty slot, rows 1…N−1 follow data/items.json.
Row 0 carries the values of bare hands. Numba freezes these arrays into compiled code, so whoever caches kernels must
stamp the cache with a hash of data/*.json too.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt

from pvp_ml.games.osrs import state as S

IntArray = npt.NDArray[np.int32]

NO_ITEM = 0
CAT_GEAR, CAT_FOOD, CAT_POTION, CAT_POUCH = range(4)
"""Order of the inventory at the start of a match; runes count as gear."""

# Names in the data files, in the order of the codes in state.py.
SLOT_NAMES = ("head", "cape", "amulet", "weapon", "body", "shield", "legs", "hands", "feet", "ring", "ammunition")
GAME_SLOTS = (0, 1, 2, 3, 4, 5, 7, 9, 10, 12, 13)
"""Slot number of the game (14 of them, three unused) for each of our 11."""
ATTACK_TYPES = ("stab", "slash", "crush", "magic", "ranged")
STYLES = ("accurate", "aggressive", "rapid")
STYLE_ACCURATE, STYLE_AGGRESSIVE, STYLE_RAPID = range(3)
OBSERVED = ("melee", "ranged", "magic")
POTIONS = {
    "ranging_potion": S.KIND_RANGING,
    "super_combat_potion": S.KIND_COMBAT,
    "super_restore": S.KIND_RESTORE,
    "saradomin_brew": S.KIND_BREW,
}
FOODS = {"anglerfish": S.KIND_ANGLERFISH, "cooked_karambwan": S.KIND_KARAMBWAN, "shark": S.KIND_SHARK}
SPECIALS = (
    "none",
    "dragon_dagger",
    "armadyl_godsword",
    "ancient_godsword",
    "dragon_claws",
    "granite_maul",
    "vestas_longsword",
    "statius_warhammer",
    "armadyl_crossbow",
    "zaryte_crossbow",
    "ballista",
    "morrigans_javelin",
    "dragon_knife",
    "dark_bow",
    "volatile_nightmare_staff",
    "abyssal_whip",
    "abyssal_tentacle",
    "dragon_scimitar",
)
FIGHT_TYPES = ("NORMAL", "LMS", "PVP_ARENA")
SETS = ("mage", "ranged", "melee", "spec")

PRAYERS = {
    "steel_skin": S.STEEL_SKIN,
    "ultimate_strength": S.ULTIMATE_STRENGTH,
    "incredible_reflexes": S.INCREDIBLE_REFLEXES,
    "eagle_eye": S.EAGLE_EYE,
    "mystic_might": S.MYSTIC_MIGHT,
    "piety": S.PIETY,
    "rigour": S.RIGOUR,
    "augury": S.AUGURY,
}


def _read(name: str) -> dict[str, Any]:
    text = resources.files("pvp_ml.games.osrs").joinpath("data", name).read_text(encoding="utf-8")
    return dict(json.loads(text))


_ITEMS = _read("items.json")
_LOADOUTS = _read("loadouts.json")["builds"]

KEYS = ("nothing", *_ITEMS["items"])
ITEM: dict[str, int] = {key: index for index, key in enumerate(KEYS)}
CLASSES = tuple(_ITEMS["classes"])
CLASS: dict[str, int] = {name: index for index, name in enumerate(CLASSES)}
COUNT = len(KEYS)


def _column(value: Any, dtype: type = np.int32) -> npt.NDArray[Any]:
    """One number per item, row 0 included, from value(key, record)."""
    rows = [value("nothing", {})] + [value(key, record) for key, record in _ITEMS["items"].items()]
    array: npt.NDArray[Any] = np.array(rows, dtype=dtype)
    array.setflags(write=False)
    return array


def _class_field(position: int, names: tuple[str, ...] | None = None) -> IntArray:
    def value(_key: str, record: dict[str, Any]) -> int:
        entry = _ITEMS["classes"][record.get("weapon", {}).get("class", "unarmed")][position]
        return int(names.index(entry)) if names else int(entry)

    return _column(value)


def _kind_and_doses(key: str) -> tuple[int, int]:
    """(kind, how much one piece counts for) of an item; potions count doses, everything else pieces."""
    if key == KEYS[NO_ITEM]:
        return S.KIND_EMPTY, 1
    if key in FOODS:
        return FOODS[key], 1
    stem, _, doses = key.rpartition("_")
    return (POTIONS[stem], int(doses)) if stem in POTIONS else (S.KIND_OTHER, 0)


def _next_dose(key: str) -> int:
    stem, _, doses = key.rpartition("_")
    if stem not in POTIONS:
        return NO_ITEM
    return ITEM[f"{stem}_{int(doses) - 1}"] if int(doses) > 1 else ITEM["empty_vial"]


def _category(key: str) -> int:
    if key in FOODS:
        return CAT_FOOD
    if key == "rune_pouch":
        return CAT_POUCH
    return CAT_POTION if key.rpartition("_")[0] in POTIONS else CAT_GEAR


ITEM_ID = _column(lambda _k, r: r.get("id", -1))
ITEM_SLOT = _column(lambda _k, r: SLOT_NAMES.index(r["slot"]) if "slot" in r else -1)
ITEM_TWO_HANDED = _column(lambda _k, r: r.get("two_handed", False), np.bool_)
ITEM_STACKABLE = _column(lambda _k, r: r.get("stackable", False), np.bool_)
ITEM_BONUS = _column(lambda _k, r: r.get("bonuses", [0] * 14))
ITEM_CLASS = _column(lambda _k, r: CLASS[r.get("weapon", {}).get("class", "unarmed")])
ITEM_BASE_SPEED = _class_field(0)
ITEM_STYLE = _class_field(1, STYLES)
ITEM_ATTACK_TYPE = _class_field(2, ATTACK_TYPES)
ITEM_RANGE = _class_field(3)
ITEM_OBSERVED = _class_field(4, OBSERVED)
ITEM_SPEED = ITEM_BASE_SPEED - (ITEM_STYLE == STYLE_RAPID).astype(np.int32)
ITEM_LIVE_SPEED = _column(
    lambda k, r: r.get("weapon", {}).get("live_speed", ITEM_BASE_SPEED[ITEM[k]]) - (ITEM_STYLE[ITEM[k]] == STYLE_RAPID)
)
"""Ticks between two attacks in the live game; equals ITEM_SPEED where the database gives no speed."""
ITEM_SPECIAL = _column(lambda _k, r: SPECIALS.index(r.get("weapon", {}).get("special", "none")))
ITEM_REQUIREMENT = _column(lambda _k, r: [r.get("requires", {}).get(skill, 1) for skill in S.SKILLS])
ITEM_CATEGORY = _column(lambda k, _r: _category(k))
ITEM_KIND = _column(lambda k, _r: _kind_and_doses(k)[0])
ITEM_DOSES = _column(lambda k, _r: _kind_and_doses(k)[1])
ITEM_NEXT_DOSE = _column(lambda k, _r: _next_dose(k))
ITEM_THROWN = _column(lambda _k, r: r.get("weapon", {}).get("class") in ("knife", "javelin"), np.bool_)
"""Thrown weapons: the ammunition slot gives no bonus and is not used up."""
ITEM_SPEED.setflags(write=False)

INDEX_OF_ID: dict[int, int] = {int(item_id): index for index, item_id in enumerate(ITEM_ID)}

SPEC_COST = np.array([0, 25, 50, 50, 50, 50, 25, 35, 50, 75, 65, 50, 25, 55, 55, 50, 50, 55], np.int32)
SPEC_COST.setflags(write=False)

CLASS_UNARMED, CLASS_STAFF, CLASS_ANCIENT_STAFF = CLASS["unarmed"], CLASS["staff"], CLASS["ancient_staff"]
CLASS_CROSSBOW, CLASS_BALLISTA, CLASS_KNIFE = CLASS["crossbow"], CLASS["ballista"], CLASS["knife"]
CLASS_JAVELIN, CLASS_DARK_BOW, CLASS_GRANITE_MAUL = CLASS["javelin"], CLASS["dark_bow"], CLASS["granite_maul"]

SHARK, ANGLERFISH, KARAMBWAN = ITEM["shark"], ITEM["anglerfish"], ITEM["cooked_karambwan"]
VIAL, RUNE_POUCH = ITEM["empty_vial"], ITEM["rune_pouch"]
ASTRAL_RUNE, DEATH_RUNE, EARTH_RUNE = ITEM["astral_rune"], ITEM["death_rune"], ITEM["earth_rune"]
GRANITE_MAUL, DRAGON_CLAWS, ABYSSAL_TENTACLE = ITEM["granite_maul"], ITEM["dragon_claws"], ITEM["abyssal_tentacle"]
DRAGON_DAGGER, DRAGON_DAGGER_P = ITEM["dragon_dagger"], ITEM["dragon_dagger_ppp"]
DRAGON_DEFENDER, RING_OF_RECOIL, BLOOD_FURY = (
    ITEM["dragon_defender"],
    ITEM["ring_of_recoil"],
    ITEM["amulet_of_blood_fury"],
)
VOLATILE_STAFF, ZURIELS_STAFF, AHRIMS_STAFF = (
    ITEM["volatile_nightmare_staff"],
    ITEM["zuriels_staff"],
    ITEM["ahrims_staff_100"],
)
ZARYTE_CROSSBOW, ARMADYL_CROSSBOW, DARK_BOW = ITEM["zaryte_crossbow"], ITEM["armadyl_crossbow"], ITEM["dark_bow"]
LIGHT_BALLISTA, HEAVY_BALLISTA = ITEM["light_ballista"], ITEM["heavy_ballista"]
MORRIGANS_JAVELIN, DRAGON_KNIFE = ITEM["morrigans_javelin"], ITEM["dragon_knife"]
DHAROKS_HELM, DHAROKS_BODY = ITEM["dharoks_helm"], ITEM["dharoks_platebody"]
DHAROKS_LEGS, DHAROKS_AXE = ITEM["dharoks_platelegs"], ITEM["dharoks_greataxe"]
DIAMOND_BOLTS, DIAMOND_DRAGON_BOLTS = ITEM["diamond_bolts_e"], ITEM["diamond_dragon_bolts_e"]
OPAL_BOLTS, OPAL_DRAGON_BOLTS = ITEM["opal_bolts_e"], ITEM["opal_dragon_bolts_e"]
DRAGONSTONE_BOLTS, DRAGONSTONE_DRAGON_BOLTS = ITEM["dragon_bolts_e"], ITEM["dragonstone_dragon_bolts_e"]


def loadout(build: str) -> dict[str, Any]:
    """The build's record of data/loadouts.json."""
    return dict(_LOADOUTS[build])


BUILD_LEVELS = np.array([[_LOADOUTS[b]["levels"][skill] for skill in S.SKILLS] for b in S.BUILDS], np.int32)
BUILD_FIGHT_TYPE = np.array([FIGHT_TYPES.index(_LOADOUTS[b]["fight_type"]) for b in S.BUILDS], np.int32)


def _prayer_lists() -> IntArray:
    """[build, mage|ranged|melee, 3] prayer bits in the order in which the loadout switches them on; 0 = none."""
    out = np.zeros((len(S.BUILDS), 3, 3), np.int32)
    for b, build in enumerate(S.BUILDS):
        for s, style in enumerate(("mage", "ranged", "melee")):
            for n, name in enumerate(_LOADOUTS[build]["prayers"].get(style, ())):
                out[b, s, n] = PRAYERS[name]
    return out


BUILD_PRAYER_LIST = _prayer_lists()
BUILD_PRAYERS = np.bitwise_or.reduce(BUILD_PRAYER_LIST, axis=2).astype(np.int32)
for _array in (BUILD_LEVELS, BUILD_FIGHT_TYPE, BUILD_PRAYER_LIST, BUILD_PRAYERS):
    _array.setflags(write=False)
