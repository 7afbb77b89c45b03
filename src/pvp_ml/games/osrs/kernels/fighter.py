"""What a fighter does to itself: timers, inventory, gear, prayers, food, potions, vengeance."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pvp_ml.games.osrs import items as I
from pvp_ml.games.osrs import state as S
from pvp_ml.games.osrs.kernels.jit import kernel


@kernel
def left(me, match, timer):
    """Remaining ticks of a timer, never below 0."""
    ticks = me[timer] - match[S.TICK]
    return ticks if ticks > 0 else 0


@kernel
def rem(me, match, timer):
    """What observations and masks show, because timers fall once more before the next action."""
    ticks = me[timer] - match[S.TICK] - 1
    return ticks if ticks > 0 else 0


@kernel
def stop_attacking(me):
    """Clear the combat target and the following."""
    me[S.TARGET] = 0
    me[S.FOLLOW] = 0


# --- inventory -------------------------------------------------------------------------------------------------------


@kernel
def put(me, slot, item):
    """Put an item (0 = nothing) into an inventory slot and keep the counts right; no slot (−1) is left alone."""
    if slot < 0:
        return
    old = me[S.INV + slot]
    me[S.COUNT + I.ITEM_KIND[old]] -= I.ITEM_DOSES[old]
    me[S.INV + slot] = item
    me[S.COUNT + I.ITEM_KIND[item]] += I.ITEM_DOSES[item]


@kernel
def count_inventory(me):
    """Recompute the counts from scratch; needed once after a loadout is filled in."""
    for kind in range(S.KINDS):
        me[S.COUNT + kind] = 0
    for slot in range(S.INVENTORY_SIZE):
        item = me[S.INV + slot]
        me[S.COUNT + I.ITEM_KIND[item]] += I.ITEM_DOSES[item]


@kernel
def slot_of(me, item):
    """First inventory slot that holds the item, −1 if none."""
    for slot in range(S.INVENTORY_SIZE):
        if me[S.INV + slot] == item:
            return slot
    return -1


@kernel
def free_slots(me):
    """Empty inventory slots."""
    return me[S.COUNT + S.KIND_EMPTY]


@kernel
def food_left(me):
    """Pieces of edible food, karambwans included."""
    return me[S.COUNT + S.KIND_ANGLERFISH] + me[S.COUNT + S.KIND_KARAMBWAN] + me[S.COUNT + S.KIND_SHARK]


# --- gear ------------------------------------------------------------------------------------------------------------


def _pack_bonuses() -> npt.NDArray[np.int64]:
    """[items, 4]: four bonuses to a word, 16 bits each, raised by BIAS so that sums of nine items never carry over."""
    padded = np.zeros((I.COUNT, 16), np.int64)
    padded[:, :14] = I.ITEM_BONUS
    packed: npt.NDArray[np.int64] = ((padded + BIAS).reshape(-1, 4, 4) << np.array([0, 16, 32, 48])).sum(-1)
    return packed


BIAS = 1000
PACKED_BONUS = _pack_bonuses()


@kernel
def unpack(me, first, word, count):
    """Write the sums of nine items that a packed word holds to `count` columns."""
    for k in range(count):
        me[first + k] = ((word >> (16 * k)) & 0xFFFF) - S.RING * BIAS


@kernel
def refresh_bonuses(me):
    """Sum up what is worn: for combat and as an opponent sees it (142…159: without ring and ammunition)."""
    a = b = c = d = 0
    for place in range(S.RING):
        item = me[S.WORN + place]
        a += PACKED_BONUS[item, 0]
        b += PACKED_BONUS[item, 1]
        c += PACKED_BONUS[item, 2]
        d += PACKED_BONUS[item, 3]
    unpack(me, S.SEEN, a, 4)
    unpack(me, S.SEEN + 4, b, 4)
    unpack(me, S.SEEN + 8, c, 4)
    unpack(me, S.SEEN + 12, d, 2)
    ring = me[S.WORN + S.RING]
    ammunition = 0 if I.ITEM_THROWN[me[S.WORN + S.WEAPON]] else me[S.WORN + S.AMMUNITION]
    for k in range(14):
        me[S.BONUS + k] = me[S.SEEN + k] + I.ITEM_BONUS[ring, k] + I.ITEM_BONUS[ammunition, k]


@kernel
def stow(me, slot, worn):
    """Put what comes off (0 = nothing) into the slot that a piece of gear leaves; only an emptied slot counts."""
    if worn == 0:
        put(me, slot, 0)
    else:
        me[S.INV + slot] = worn


@kernel
def equip(me, slot):
    """Put on the item of an inventory slot. False when there is no room for what comes off, or it cannot be worn."""
    item = me[S.INV + slot]
    place = I.ITEM_SLOT[item]
    if place < 0:
        return False
    weapon = me[S.WORN + S.WEAPON]
    shield = me[S.WORN + S.SHIELD]
    if place == S.WEAPON and I.ITEM_TWO_HANDED[item] and shield != 0:
        if weapon != 0:
            empty = slot_of(me, 0)
            if empty < 0:
                return False
            stow(me, slot, weapon)
            put(me, empty, shield)
        else:
            stow(me, slot, shield)
        me[S.WORN + S.SHIELD] = 0
    elif place == S.SHIELD and weapon != 0 and I.ITEM_TWO_HANDED[weapon]:
        stow(me, slot, weapon)
        me[S.WORN + S.WEAPON] = 0
        me[S.SPEC_ON] = 0
    else:
        stow(me, slot, me[S.WORN + place])
    me[S.WORN + place] = item
    if place == S.WEAPON:
        me[S.SPEC_ON] = 0
    if me[S.WORN + S.WEAPON] != I.GRANITE_MAUL:
        stop_attacking(me)
    return True


@kernel
def take_off(me, place):
    """Move a worn item into the first empty inventory slot; False, and it stays on, when there is none."""
    empty = slot_of(me, 0)
    if empty < 0:
        return False
    put(me, empty, me[S.WORN + place])
    me[S.WORN + place] = 0
    if place == S.WEAPON:
        me[S.SPEC_ON] = 0
    return True


@kernel
def equip_listed(me, first, count):
    """Equip the listed items that are in the inventory, in list order. True when anything changed."""
    changed = False
    for k in range(count):
        item = me[first + k]
        if item == 0:
            break
        if me[S.WORN + I.ITEM_SLOT[item]] != item:
            slot = slot_of(me, item)
            if slot >= 0 and equip(me, slot):
                changed = True
    return changed


@kernel
def equip_set(me, which):
    """Wear gear set `which` (S.SET_*): equip what it lists, take off what it does not."""
    first = S.SETS + which * S.SET_SIZE
    changed = equip_listed(me, first, S.SET_SIZE)
    listed = 0  # bit set of the slots that hold an item of the set
    for k in range(S.SET_SIZE):
        item = me[first + k]
        if item == 0:
            break
        place = I.ITEM_SLOT[item]
        if me[S.WORN + place] == item:
            listed |= 1 << place
    for place in range(S.SLOTS):
        if not listed & (1 << place) and me[S.WORN + place] != 0 and take_off(me, place):
            changed = True
    if changed:
        refresh_bonuses(me)


# --- prayers ---------------------------------------------------------------------------------------------------------


@kernel
def pray_offensively(me, prayers):
    """Switch on the prayers of a style. Every list excludes all other offensive prayers, so they replace each other."""
    if me[S.PRAY] > 0:
        me[S.PRAYERS] = (me[S.PRAYERS] & S.OVERHEADS) | prayers


@kernel
def pray_overhead(me, prayer):
    """Switch on an overhead; it replaces the others. Fails silently without prayer points."""
    if me[S.PRAY] > 0:
        me[S.PRAYERS] = (me[S.PRAYERS] & ~S.OVERHEADS) | prayer


@kernel
def protection(me):
    """Style + 1 that the fighter protects against, 0 none."""
    prayers = me[S.PRAYERS]
    if prayers & S.PROTECT_MELEE:
        return S.MELEE + 1
    if prayers & S.PROTECT_RANGED:
        return S.RANGE + 1
    if prayers & S.PROTECT_MAGIC:
        return S.MAGE + 1
    return 0


# --- eating and drinking ---------------------------------------------------------------------------------------------


@kernel
def anglerfish_heal(base):
    """Floor(HP/10) + c, at most 22."""
    bonus = 2
    if base >= 93:
        bonus = 13
    elif base >= 75:
        bonus = 8
    elif base >= 50:
        bonus = 6
    elif base >= 25:
        bonus = 4
    return min(22, base // 10 + bonus)


@kernel
def delay_attack(me, match, ticks):
    """Eating pushes the attack timer, counted from where it is, below zero too."""
    after = me[S.T_ATTACK] - match[S.TICK] + ticks
    if after > 0:
        me[S.T_ATTACK] = match[S.TICK] + after


@kernel
def note_food(me, heal, cap):
    """What the eating asked for, whether or not a timer then blocks it."""
    me[S.TICK_ATE] += 1
    me[S.TICK_EATEN] += heal
    me[S.TICK_WASTED] += max(0, me[S.HP] + heal - cap)
    me[S.TICK_EAT_AT] = me[S.HP]
    me[S.TICK_EAT_TO] = min(me[S.HP] + heal, cap)


@kernel
def heal_up_to(me, heal, cap):
    """Raise HP by at most `heal` up to `cap`; boosted HP stays, the dying stay dead. Gives the HP gained."""
    before = me[S.HP]
    if me[S.DYING] or before >= cap:
        return 0
    me[S.HP] = min(before + heal, cap)
    return me[S.HP] - before


@kernel
def eat_primary(me, match, item, heal, cap):
    """Eat a shark or an anglerfish that is there; False when the food timer blocks it."""
    note_food(me, heal, cap)
    if left(me, match, S.T_FOOD) > 0:
        return False
    put(me, slot_of(me, item), 0)
    heal_up_to(me, heal, cap)
    me[S.T_FOOD] = max(me[S.T_FOOD], match[S.TICK] + 3)
    delay_attack(me, match, 3)
    return True


@kernel
def eat_anglerfish(me, match):
    """Eat an anglerfish that is there; it heals past the base."""
    heal = anglerfish_heal(me[S.BASE_HP])
    return eat_primary(me, match, I.ANGLERFISH, heal, me[S.BASE_HP] + heal)


@kernel
def eat_food(me, match):
    """Eat the first primary food: shark before anglerfish. True when something was eaten."""
    if me[S.COUNT + S.KIND_SHARK] > 0:
        return eat_primary(me, match, I.SHARK, 20, me[S.BASE_HP])
    if me[S.COUNT + S.KIND_ANGLERFISH] > 0:
        return eat_anglerfish(me, match)
    return False


@kernel
def eat_karambwan(me, match):
    """Eat a karambwan; afterwards food, potions and karambwans wait. True when one was eaten."""
    if me[S.COUNT + S.KIND_KARAMBWAN] == 0:
        return False
    note_food(me, 18, me[S.BASE_HP])
    if left(me, match, S.T_KARAMBWAN) > 0:
        return False
    put(me, slot_of(me, I.KARAMBWAN), 0)
    heal_up_to(me, 18, me[S.BASE_HP])
    tick = match[S.TICK]
    me[S.T_FOOD] = max(me[S.T_FOOD], tick + 3)
    me[S.T_POTION] = tick + 3
    me[S.T_KARAMBWAN] = tick + 3
    delay_attack(me, match, 2)
    return True


@kernel
def potion_slot(me, kind):
    """Slot of the potion with the fewest doses left, the first such slot; −1 if none."""
    best, fewest = -1, 5
    for slot in range(S.INVENTORY_SIZE):
        item = me[S.INV + slot]
        if I.ITEM_KIND[item] == kind and I.ITEM_DOSES[item] < fewest:
            best, fewest = slot, I.ITEM_DOSES[item]
    return best


@kernel
def brew_heal(base):
    """HP that a brew restores: floor(2 + 0.15 × base)."""
    return (200 + 15 * base) // 100


@kernel
def boost(me, skill, amount):
    """Raise a skill by `amount`, never past base + amount, and only if it is not past it already."""
    cap = me[S.BASE + skill] + amount
    if me[S.LEVEL + skill] <= cap:
        me[S.LEVEL + skill] = min(me[S.LEVEL + skill] + amount, cap)


@kernel
def drain(me, skill, amount):
    """Lower a skill, not below 0."""
    me[S.LEVEL + skill] = max(0, me[S.LEVEL + skill] - amount)


@kernel
def drink_brew(me):
    """Saradomin brew."""
    boost(me, S.DEFENCE, (200 + 20 * me[S.BASE_DEF]) // 100)
    if not me[S.DYING]:
        boost(me, S.HITPOINTS, brew_heal(me[S.BASE_HP]))
    drain(me, S.ATTACK, me[S.BASE_ATT] // 10 + 2)
    drain(me, S.STRENGTH, me[S.STR] // 10 + 2)
    drain(me, S.MAGIC, me[S.MAG] // 10 + 2)
    drain(me, S.RANGED, me[S.RNG] // 10 + 2)


@kernel
def drink_restore(me):
    """Super restore: all but HP, up to base."""
    for skill in range(6):
        base = me[S.BASE + skill]
        if me[S.LEVEL + skill] < base:
            me[S.LEVEL + skill] = min(base, me[S.LEVEL + skill] + 8 + base // 4)


@kernel
def combat_boost(base):
    """Super combat: floor(0.15 × base) + 5."""
    return 15 * base // 100 + 5


@kernel
def ranging_boost(base):
    """Ranging potion: floor(0.10 × base) + 4."""
    return base // 10 + 4


@kernel
def drink(me, match, kind):
    """Drink a dose of a potion kind (S.KIND_*). Every drink stops the attack. True when drunk."""
    slot = potion_slot(me, kind)
    if slot < 0:
        return False
    if kind == S.KIND_BREW:
        heal = brew_heal(me[S.BASE_HP])
        cap = me[S.BASE_HP] + heal
        me[S.TICK_BREWED] = 1
        me[S.TICK_BREW_WASTED] += max(0, me[S.HP] + heal - cap)
        me[S.TICK_BREW_AT] = me[S.HP]
        me[S.TICK_BREW_TO] = min(me[S.HP] + heal, cap)
    if left(me, match, S.T_POTION) > 0:
        return False
    if kind == S.KIND_BREW:
        drink_brew(me)
    elif kind == S.KIND_RESTORE:
        drink_restore(me)
    elif kind == S.KIND_COMBAT:
        boost(me, S.ATTACK, combat_boost(me[S.BASE_ATT]))
        boost(me, S.STRENGTH, combat_boost(me[S.BASE_STR]))
        boost(me, S.DEFENCE, combat_boost(me[S.BASE_DEF]))
    else:
        boost(me, S.RANGED, ranging_boost(me[S.BASE_RNG]))
    put(me, slot, I.ITEM_NEXT_DOSE[me[S.INV + slot]])
    tick = match[S.TICK]
    me[S.T_FOOD] = tick + 3
    me[S.T_POTION] = tick + 3
    if match[S.Q_DRINK_STOPS_ATTACK]:
        stop_attacking(me)
    return True


# --- vengeance -------------------------------------------------------------------------------------------------------


@kernel
def cast_vengeance(me, match):
    """Charge vengeance if the fighter can."""
    if me[S.SPELLBOOK] != S.LUNAR or me[S.BASE_DEF] < 40 or me[S.VENGEANCE] or left(me, match, S.T_VENG) > 0:
        return
    if me[S.MAG] < 94:
        stop_attacking(me)
        return
    me[S.VENGEANCE] = 1
    me[S.T_VENG] = match[S.TICK] + 50


# --- special energy --------------------------------------------------------------------------------------------------


@kernel
def spend_energy(me, match, cost):
    """Drain special energy; the first drain starts the regeneration."""
    me[S.TICK_ENERGY] += cost
    me[S.ENERGY] = max(0, me[S.ENERGY] - cost)
    if me[S.REGEN_AT] == S.NEVER:
        me[S.REGEN_AT] = match[S.TICK] + 50


@kernel
def switch_special_on(me):
    """Switch the weapon's special on; nothing happens with a weapon that has none."""
    if I.ITEM_SPECIAL[me[S.WORN + S.WEAPON]] != S.SPECIAL_NONE:
        me[S.SPEC_ON] = 1


@kernel
def press_maul(me, times):
    """Granite maul: each press queues one more special while the energy lasts, and toggles the flag."""
    for _ in range(times):
        if me[S.ENERGY] >= 50 * (me[S.MAUL_QUEUED] + 1):
            me[S.MAUL_QUEUED] += 1
        me[S.SPEC_ON] = 1 - me[S.SPEC_ON]
