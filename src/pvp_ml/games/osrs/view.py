"""A fight for people: one row as JSON, and a fight printed tick by tick."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pvp_ml.games.osrs import items
from pvp_ml.games.osrs import state as S

Row = npt.NDArray[np.int32]

PRAYER_NAMES = {
    S.PROTECT_MAGIC: "Protect from Magic",
    S.PROTECT_RANGED: "Protect from Missiles",
    S.PROTECT_MELEE: "Protect from Melee",
    S.SMITE: "Smite",
    S.REDEMPTION: "Redemption",
    S.STEEL_SKIN: "Steel Skin",
    S.ULTIMATE_STRENGTH: "Ultimate Strength",
    S.INCREDIBLE_REFLEXES: "Incredible Reflexes",
    S.EAGLE_EYE: "Eagle Eye",
    S.MYSTIC_MIGHT: "Mystic Might",
    S.PIETY: "Piety",
    S.RIGOUR: "Rigour",
    S.AUGURY: "Augury",
}
SPELL_NAMES = (
    None,
    *(f"{element} {size}" for element in ("Ice", "Blood") for size in ("Rush", "Burst", "Blitz", "Barrage")),
)
TIMERS = {
    "attack": S.T_ATTACK,
    "food": S.T_FOOD,
    "potion": S.T_POTION,
    "karambwan": S.T_KARAMBWAN,
    "freeze": S.T_FREEZE,
    "freeze_immunity": S.T_IMMUNE,
    "vengeance": S.T_VENG,
}
SUPPLIES = {
    "ranging": S.KIND_RANGING,
    "super_combat": S.KIND_COMBAT,
    "super_restore": S.KIND_RESTORE,
    "brew": S.KIND_BREW,
    "anglerfish": S.KIND_ANGLERFISH,
    "karambwan": S.KIND_KARAMBWAN,
    "shark": S.KIND_SHARK,
}


def describe(fighters: Row, match: Row) -> dict[str, Any]:
    """One match: fighters [2,F], match [G]."""
    return {
        "tick": int(match[S.TICK]),
        "fight_type": items.FIGHT_TYPES[int(match[S.FIGHT_TYPE])],
        "fighters": [describe_fighter(fighters[seat], match) for seat in range(2)],
        "first_to_act": int(fighters[0, S.PID] > fighters[1, S.PID]),
    }


def describe_fighter(me: Row, match: Row) -> dict[str, Any]:
    """One side: levels, gear, supplies, timers, what is coming at it."""
    tick = int(match[S.TICK])
    worn = {name: items.KEYS[int(me[S.WORN + slot])] for slot, name in enumerate(items.SLOT_NAMES) if me[S.WORN + slot]}
    hits = [me[S.HIT_QUEUE + k * S.HIT_SIZE : S.HIT_QUEUE + (k + 1) * S.HIT_SIZE] for k in range(int(me[S.HITS]))]
    return {
        "build": S.BUILDS[int(me[S.BUILD])],
        "bot": bool(me[S.IS_BOT]),
        "levels": {skill: [int(me[S.LEVEL + i]), int(me[S.BASE + i])] for i, skill in enumerate(S.SKILLS)},
        "special_energy": int(me[S.ENERGY]),
        "position": [int(me[S.X]), int(me[S.Y])],
        "walking_to": [int(me[S.DEST_X]), int(me[S.DEST_Y])] if me[S.WALKING] else None,
        "attacking": bool(me[S.TARGET]),
        "spell": SPELL_NAMES[int(me[S.SPELL])],
        "special_on": bool(me[S.SPEC_ON]),
        "prayers": [name for bit, name in PRAYER_NAMES.items() if me[S.PRAYERS] & bit],
        "vengeance": bool(me[S.VENGEANCE]),
        "dying": bool(me[S.DYING]),
        "worn": worn,
        "inventory": [items.KEYS[int(item)] if item else None for item in me[S.INV : S.INV + S.INVENTORY_SIZE]],
        "supplies": {name: int(me[S.COUNT + kind]) for name, kind in SUPPLIES.items()},
        "timers": {name: max(0, int(me[column]) - tick) for name, column in TIMERS.items()},
        "incoming": [{"delay": int(hit[S.HIT_DELAY]), "damage": int(hit[S.HIT_TOTAL])} for hit in hits],
        "hitsplats": {"count": int(me[S.SPLATS]), "damage": int(me[S.SPLAT_DAMAGE])},
    }
