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


# --- a fight in words, tick by tick ----------------------------------------------------------------------------------

STYLE_NAMES = ("melee", "ranged", "magic")
FOOD_NAMES = {S.KIND_ANGLERFISH: "anglerfish", S.KIND_KARAMBWAN: "karambwan", S.KIND_SHARK: "shark"}
POTION_NAMES = {
    S.KIND_RANGING: "ranging potion",
    S.KIND_COMBAT: "super combat",
    S.KIND_RESTORE: "super restore",
    S.KIND_BREW: "Saradomin brew",
}
OVERHEADS = (S.PROTECT_MAGIC, S.PROTECT_RANGED, S.PROTECT_MELEE, S.SMITE, S.REDEMPTION)


def item_name(item: int) -> str:
    """An item's key as words."""
    return items.KEYS[item].replace("_", " ") if item else "bare hands"


def overhead(me: Row) -> str:
    """The overhead prayer that is on, short."""
    for bit in OVERHEADS:
        if me[S.PRAYERS] & bit:
            return PRAYER_NAMES[bit].removeprefix("Protect from ").lower()
    return "none"


def tell_attack(me: Row, opp: Row, tick: int) -> str:
    """What the fighter attacked with this tick, '' if it did not."""
    if not me[S.TICK_HITS]:
        return ""
    spell = SPELL_NAMES[int(me[S.TICK_SPELL])]
    weapon = item_name(int(me[S.WORN + S.WEAPON]))
    how = f"casts {spell}" if spell else f"attacks with {weapon}"
    if me[S.TICK_SPECIALS]:
        how = f"special with {weapon} (−{me[S.TICK_ENERGY]} energy)"
    prayer = "into prayer" if me[S.TICK_MATCHED] else "off prayer"
    hits = f", {me[S.TICK_HITS]} hits" if me[S.TICK_HITS] > 1 else ""
    fresh = spell is not None and spell.startswith("Ice") and opp[S.WAS_FROZEN] == 0
    frozen = ", freezes" if fresh and opp[S.T_FREEZE] > tick else ""
    return f"{how}: {me[S.TICK_GENERATED]} {prayer}{hits}{frozen}"


def tell_supplies(before: Row, after: Row) -> list[str]:
    """Food and potions that went between two ticks."""
    lines = [f"eats {name}" for kind, name in FOOD_NAMES.items() if after[S.COUNT + kind] < before[S.COUNT + kind]]
    lines += [f"drinks {name}" for kind, name in POTION_NAMES.items() if after[S.COUNT + kind] < before[S.COUNT + kind]]
    return lines


def tell_fighter(before: Row, after: Row, opp: Row, tick: int) -> str:
    """One side's tick as a sentence: state first, then what it did and what it took."""
    deeds = tell_supplies(before, after)
    if after[S.VENGEANCE] and not before[S.VENGEANCE]:
        deeds.append("casts Vengeance")
    if overhead(after) != overhead(before):
        deeds.append(f"prays {overhead(after)}")
    if attack := tell_attack(after, opp, tick):
        deeds.append(attack)
    dx, dy = int(after[S.X] - before[S.X]), int(after[S.Y] - before[S.Y])
    if dx or dy:
        deeds.append(f"moves ({dx:+d},{dy:+d})")
    if after[S.SPLATS]:
        deeds.append(f"takes {after[S.SPLAT_DAMAGE]}")
    if after[S.DYING]:
        deeds.append("dies")
    state = f"{after[S.HP]:3d} hp {after[S.PRAY]:2d} pray {after[S.ENERGY]:3d}% [{overhead(after)}]"
    return f"{state} {'; '.join(deeds) or '—'}"


def tell_tick(before: Row, after: Row, match: Row, names: tuple[str, str] = ("A", "B")) -> str:
    """One tick for a player of the game: rows [2,F] before and after it, match [G] after it."""
    first = 0 if before[0, S.PID] <= before[1, S.PID] else 1
    lines = [f"tick {match[S.TICK]:3d}  ({names[first]} acts first)"]
    tick = int(match[S.TICK])
    for seat, name in enumerate(names):
        lines.append(f"  {name}: {tell_fighter(before[seat], after[seat], after[1 - seat], tick)}")
    return "\n".join(lines)
