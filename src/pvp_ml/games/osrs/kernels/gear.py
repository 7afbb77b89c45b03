"""Gear sets, inventory and worn items of a build, plain or randomised.

Randomisation draws from a 48-bit linear congruential generator, so a recorded fight's gear follows from
its episode id; a match of ours seeds the same generator from its own dice. The steps of data/loadouts.json are compiled
into two small integer tables at import, which one kernel interprets.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pvp_ml.games.osrs import items as I
from pvp_ml.games.osrs import state as S
from pvp_ml.games.osrs.kernels.jit import allocating_kernel, kernel

(
    OP_WEAR,
    OP_REPLACE,
    OP_CARRY,
    OP_CARRY_UP_TO,
    OP_FEWER_DOSES,
    OP_BREWS_MANY,
    OP_BREWS_FEW,
    OP_FILL,
    OP_LUNAR,
    OP_NO_MAGE,
    OP_CHANCE,
) = range(11)
CARRIED = 1 << 4
"""Bit of a step's target set that stands for the default inventory; bits 0…3 are the gear sets."""

STEP_BELOW, STEP_FIRST_HIT, STEP_LAST_HIT, STEP_ELSE, STEP_OPS, STEP_OPS_END = range(6)
CARRIED_SIZE = 32


def string_hash(text: str) -> int:
    """The 32-bit signed hash of an episode id, h = 31 h + char."""
    value = 0
    for char in text:
        value = (31 * value + ord(char)) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def _op_row(op: dict[str, Any]) -> tuple[int, int, int, int]:
    """(operation, target sets, first operand, second operand) of one entry of the data file."""
    sets = sum(CARRIED if name == "carried" else 1 << I.SETS.index(name) for name in op.get("sets", ()))
    item = I.ITEM.get(op.get("item", ""), 0)
    match op["do"]:
        case "wear":
            return OP_WEAR, sets, I.SLOT_NAMES.index(op["slot"]), item
        case "replace":
            return OP_REPLACE, sets, item, I.ITEM[op["by"]]
        case "carry":
            return OP_CARRY, 0, item, op["count"]
        case "carry_up_to":
            return OP_CARRY_UP_TO, 0, item, op["at_most"]
        case "replace_carried":
            return OP_FEWER_DOSES, 0, item, len(op["by_one_of"])
        case "brews":
            many = op["restores"] == "half_plus_one_at_least_two"
            return (OP_BREWS_MANY if many else OP_BREWS_FEW), 0, op["at_most"], 0
        case "fill":
            return OP_FILL, 0, item, 0
        case "spellbook":
            return OP_LUNAR, 0, 0, 0
        case "no_mage":
            return OP_NO_MAGE, 0, 0, 0
        case "chance":
            return OP_CHANCE, 0, op["below"], 0
    raise ValueError(f"unknown gear operation '{op['do']}'")


def _compile_steps() -> tuple[I.IntArray, I.IntArray, I.IntArray]:
    """(step range per build [8,2], steps [n,6], operations [m,4])."""
    ranges: list[Any] = []
    steps: list[Any] = []
    ops: list[Any] = []
    for build in S.BUILDS:
        first = len(steps)
        for step in I.loadout(build).get("randomisation", ()):
            op_first = len(ops)
            ops += [_op_row(op) for op in step["ops"]]
            fires = step["fires"]
            steps.append((step["below"], fires[0], fires[-1], step.get("else", False), op_first, len(ops)))
        ranges.append((first, len(steps)))
    return np.array(ranges, np.int32), np.array(steps, np.int32), np.array(ops, np.int32)


def _plain_loadouts() -> tuple[I.IntArray, I.IntArray, I.IntArray, I.IntArray]:
    """(sets [8,4,12], carried [8,32], fill item [8], worn [8,11]); worn is filled only for Dharok."""
    sets = np.zeros((len(S.BUILDS), 4, S.SET_SIZE), np.int32)
    carried = np.zeros((len(S.BUILDS), CARRIED_SIZE), np.int32)
    fill = np.zeros(len(S.BUILDS), np.int32)
    worn = np.zeros((len(S.BUILDS), S.SLOTS), np.int32)
    for b, build in enumerate(S.BUILDS):
        record = I.loadout(build)
        for s, name in enumerate(I.SETS):
            keys = record.get("sets", {}).get(name, ())
            sets[b, s, : len(keys)] = [I.ITEM[key] for key in keys]
        entries = [I.ITEM[key] for key, count in record["carried"] for _ in range(count)]
        carried[b, : len(entries)] = entries
        fill[b] = I.ITEM[record["fill"]] if "fill" in record else 0
        for key in record.get("worn", ()):
            worn[b, I.ITEM_SLOT[I.ITEM[key]]] = I.ITEM[key]
    return sets, carried, fill, worn


STEP_RANGE, STEPS, OPS = _compile_steps()
PLAIN_SETS, PLAIN_CARRIED, PLAIN_FILL, PLAIN_WORN = _plain_loadouts()
DHAROK = S.BUILDS.index("DHAROK")
for _array in (STEP_RANGE, STEPS, OPS, PLAIN_SETS, PLAIN_CARRIED, PLAIN_FILL, PLAIN_WORN):
    _array.setflags(write=False)


# --- the generator --------------------------------------------------------------------------------------------------


@kernel
def lcg_start(seed):
    """Generator state (48 bits) from a seed."""
    return (seed ^ 0x5DEECE66D) & 0xFFFFFFFFFFFF


@kernel
def lcg_advance(state):
    """Next generator state. The product is split so that no intermediate leaves 63 bits."""
    high, low = state >> 24, state & 0xFFFFFF
    return ((((high * 0x5DEECE66D) & 0xFFFFFF) << 24) + low * 0x5DEECE66D + 0xB) & 0xFFFFFFFFFFFF


@kernel
def lcg_below(cell, bound):
    """A uniform whole number in [0, bound) from the state in cell[0]."""
    while True:
        cell[0] = lcg_advance(cell[0])
        bits = cell[0] >> 17
        if bound & (bound - 1) == 0:
            return (bound * bits) >> 31
        value = bits % bound
        if bits - value + bound <= 0x7FFFFFFF + 1:
            return value


# --- changing sets and the default inventory -------------------------------------------------------------------------


@kernel
def remove_at(row, index):
    """Drop one entry of a zero-padded list and close the gap."""
    last = row.shape[0] - 1
    for k in range(index, last):
        row[k] = row[k + 1]
    row[last] = 0


@kernel
def wear(row, slot, item, cell):
    """Put the item into the set's slot, keeping list positions; a two-handed weapon drops the shield.

    Each of the two changes uses up one draw of bound 1; the recorded gear shows that the shield counts too.
    """
    old = 0
    for k in range(row.shape[0]):
        if row[k] != 0 and I.ITEM_SLOT[row[k]] == slot:
            old = row[k]
            break
    for k in range(row.shape[0]):
        if row[k] == old:
            row[k] = item
            if old == 0:
                break
    if old != 0:
        lcg_below(cell, 1)
    if I.ITEM_TWO_HANDED[item]:
        for k in range(row.shape[0] - 1, -1, -1):
            if row[k] != 0 and I.ITEM_SLOT[row[k]] == S.SHIELD:
                remove_at(row, k)
                lcg_below(cell, 1)


@kernel
def replace(row, item, by):
    """Replace every occurrence."""
    for k in range(row.shape[0]):
        if row[k] == item:
            row[k] = by


@kernel
def set_quantity(carried, item, count):
    """Make the default inventory hold `count` of the item; new ones go to the end."""
    have = 0
    for k in range(carried.shape[0]):
        if carried[k] == item:
            have += 1
    k = carried.shape[0] - 1
    while have > count and k >= 0:
        if carried[k] == item:
            remove_at(carried, k)
            have -= 1
        k -= 1
    k = 0
    while have < count and k < carried.shape[0]:
        if carried[k] == 0:
            carried[k] = item
            have += 1
        k += 1


@kernel
def apply_op(op, cell, sets, carried, extras):
    """One randomisation step's operation. `extras` = [fill item, lunar, mage disabled]. False ends the step."""
    kind, targets, first, second = op[0], op[1], op[2], op[3]
    if kind in (OP_WEAR, OP_REPLACE):
        for s in range(4):
            if targets & (1 << s):
                if kind == OP_WEAR:
                    wear(sets[s], first, second, cell)
                else:
                    replace(sets[s], first, second)
        if targets & CARRIED:
            replace(carried, first, second)
        if kind == OP_REPLACE:
            lcg_below(cell, 1)  # One draw per replacement, however many entries it changed
    elif kind == OP_CARRY:
        set_quantity(carried, first, second)
    elif kind == OP_CARRY_UP_TO:
        set_quantity(carried, first, lcg_below(cell, second + 1))
    elif kind == OP_FEWER_DOSES:
        taken = lcg_below(cell, second)
        lcg_below(cell, 1)
        for _ in range(taken):
            replace(carried, first, I.ITEM_NEXT_DOSE[first])
            first = I.ITEM_NEXT_DOSE[first]
    elif kind == OP_BREWS_MANY:
        brews = lcg_below(cell, first + 1)
        set_quantity(carried, BREW_4, brews)
        set_quantity(carried, RESTORE_4, max(2, brews // 2 + 1))
    elif kind == OP_BREWS_FEW:
        brews = lcg_below(cell, first + 1)
        set_quantity(carried, BREW_4, brews)
        set_quantity(carried, RESTORE_4, (brews + 1) // 2 + lcg_below(cell, 2))
    elif kind == OP_FILL:
        extras[0] = first
    elif kind == OP_LUNAR:
        extras[1] = 1
    elif kind == OP_NO_MAGE:
        extras[2] = 1
    elif kind == OP_CHANCE:
        return lcg_below(cell, first) == 1
    return True


BREW_4, RESTORE_4 = I.ITEM["saradomin_brew_4"], I.ITEM["super_restore_4"]


@kernel
def randomize(build, cell, sets, carried, extras):
    """Run the build's steps in order; an "else" step is skipped when a step of its chain has fired."""
    chain_fired = False
    for n in range(STEP_RANGE[build, 0], STEP_RANGE[build, 1]):
        step = STEPS[n]
        if step[STEP_ELSE] == 0:
            chain_fired = False
        elif chain_fired:
            continue
        drawn = lcg_below(cell, step[STEP_BELOW])
        if step[STEP_FIRST_HIT] <= drawn <= step[STEP_LAST_HIT]:
            chain_fired = True
            for k in range(step[STEP_OPS], step[STEP_OPS_END]):
                if not apply_op(OPS[k], cell, sets, carried, extras):
                    break


# --- construction ----------------------------------------------------------------------------------------------------


@kernel
def find(row, item):
    """Index of the item in a list, −1 if absent."""
    for k in range(row.shape[0]):
        if row[k] == item:
            return k
    return -1


@kernel
def set_weapon(row):
    """The weapon of a set, 0 if it has none."""
    for k in range(row.shape[0]):
        if row[k] != 0 and I.ITEM_SLOT[row[k]] == S.WEAPON:
            return row[k]
    return 0


@kernel
def defence_sum(item):
    """Slash + magic + ranged defence of an item (three times the mean that the rule compares)."""
    return I.ITEM_BONUS[item, S.B_DEF_SLASH] + I.ITEM_BONUS[item, S.B_DEF_MAGIC] + I.ITEM_BONUS[item, S.B_DEF_RANGED]


@kernel
def make_tank_set(sets):
    """The ranged set, with the mage set's one-handed weapon when that defends better."""
    for k in range(S.SET_SIZE):
        sets[S.SET_TANK, k] = sets[S.SET_RANGED, k]
    staff, bow = set_weapon(sets[S.SET_MAGE]), set_weapon(sets[S.SET_RANGED])
    if staff != 0 and not I.ITEM_TWO_HANDED[staff] and defence_sum(staff) > defence_sum(bow):
        at = find(sets[S.SET_TANK], bow)
        if at >= 0:
            sets[S.SET_TANK, at] = staff


@allocating_kernel
def fill_inventory(sets, start, carried, fill, inventory):
    """Gear that the starting set does not list, default items, fill food; stably sorted by category."""
    listed = np.zeros(S.INVENTORY_SIZE, np.int32)
    count = 0
    for s in (S.SET_RANGED, S.SET_MELEE, S.SET_SPEC):
        for k in range(S.SET_SIZE):
            item = sets[s, k]
            if item == 0 or find(sets[start], item) >= 0 or find(listed, item) >= 0 or count == S.INVENTORY_SIZE:
                continue
            listed[count] = item
            count += 1
    for k in range(carried.shape[0]):
        if carried[k] != 0 and count < S.INVENTORY_SIZE:
            listed[count] = carried[k]
            count += 1
    while count < S.INVENTORY_SIZE and fill != 0:
        listed[count] = fill
        count += 1
    slot = 0
    for k in range(S.INVENTORY_SIZE):
        inventory[k] = 0
    for category in range(4):
        for k in range(count):
            if I.ITEM_CATEGORY[listed[k]] == category:
                inventory[slot] = listed[k]
                slot += 1


@allocating_kernel
def roll_loadout(build, seed, randomized, sets, worn, inventory):
    """Write sets [5,12] (mage, ranged, melee, spec, tank), worn [11] and inventory [28]; gives the spellbook.

    `seed` starts the generator and matters only when `randomized`. MAXED and Dharok have no steps.
    """
    for s in range(5):
        for k in range(S.SET_SIZE):
            sets[s, k] = PLAIN_SETS[build, s, k] if s < S.SET_TANK else 0
    for slot in range(S.SLOTS):
        worn[slot] = PLAIN_WORN[build, slot]
    carried = PLAIN_CARRIED[build].copy()
    if build == DHAROK:
        for slot in range(S.INVENTORY_SIZE):
            inventory[slot] = carried[slot]
        return S.LUNAR
    extras = np.zeros(3, np.int32)
    extras[0] = PLAIN_FILL[build]
    if randomized:
        cell = np.zeros(1, np.int64)
        cell[0] = lcg_start(seed)
        randomize(build, cell, sets, carried, extras)
    if extras[1] or extras[2]:
        for k in range(S.SET_SIZE):
            sets[S.SET_MAGE, k] = 0
    make_tank_set(sets)
    first = S.SET_MAGE if sets[S.SET_MAGE, 0] != 0 else S.SET_RANGED
    for k in range(S.SET_SIZE):
        if sets[first, k] != 0:
            worn[I.ITEM_SLOT[sets[first, k]]] = sets[first, k]
    fill_inventory(sets, first, carried, extras[0], inventory)
    return S.LUNAR if extras[1] else S.ANCIENT


# --- constant observations (103…141) ---------------------------------------------------------------------------------


@kernel
def has_any(row, first, second):
    """True when the set lists one of the two items."""
    return find(row, first) >= 0 or find(row, second) >= 0


@kernel
def set_sum(row, column):
    """Note G: sum of one bonus over every item of a set, ring and ammunition included."""
    total = 0
    for k in range(S.SET_SIZE):
        total += I.ITEM_BONUS[row[k], column]
    return total


@kernel
def melee_special(row):
    """114…120: the first listed weapon of the spec set that has one of the seven melee specials, as its special."""
    for k in range(S.SET_SIZE):
        special = I.ITEM_SPECIAL[row[k]]
        if S.DRAGON_DAGGER <= special <= S.STATIUS_WARHAMMER:
            return special
    return S.SPECIAL_NONE


@kernel
def gear_facts(sets, out):
    """Observations 103…141 of a fighter with these sets, into out [39] int32."""
    mage, ranged, melee = sets[S.SET_MAGE], sets[S.SET_RANGED], sets[S.SET_MELEE]
    out[0] = has_any(ranged, I.DRAGONSTONE_BOLTS, I.DRAGONSTONE_DRAGON_BOLTS)
    out[1] = has_any(ranged, I.OPAL_BOLTS, I.OPAL_DRAGON_BOLTS)
    out[2] = has_any(ranged, I.DIAMOND_BOLTS, I.DIAMOND_DRAGON_BOLTS)
    out[3] = out[5] = find(mage, I.VOLATILE_STAFF) >= 0
    bow = set_weapon(ranged)
    out[4] = I.ITEM_SPECIAL[bow] != S.SPECIAL_NONE
    out[6] = bow == I.ZARYTE_CROSSBOW
    out[7] = bow == I.LIGHT_BALLISTA or bow == I.HEAVY_BALLISTA
    out[8] = bow == I.MORRIGANS_JAVELIN
    out[9] = bow == I.DRAGON_KNIFE
    out[10] = bow == I.DARK_BOW
    special = melee_special(sets[S.SET_SPEC])
    out[11] = special == S.DRAGON_CLAWS
    out[12] = special == S.DRAGON_DAGGER
    out[13] = special == S.ARMADYL_GODSWORD
    out[14] = special == S.VESTAS_LONGSWORD
    out[15] = special == S.STATIUS_WARHAMMER
    out[16] = special == S.ANCIENT_GODSWORD
    out[17] = special == S.GRANITE_MAUL
    out[18] = find(melee, I.BLOOD_FURY) >= 0
    out[19] = find(melee, I.DHAROKS_AXE) >= 0
    out[20] = find(mage, I.ZURIELS_STAFF) >= 0
    out[21] = set_sum(mage, S.B_ATT_MAGIC)
    out[22] = set_sum(mage, S.B_MAGIC_PERCENT)
    out[23] = set_sum(ranged, S.B_ATT_RANGED)
    out[24] = set_sum(ranged, S.B_RANGED_STR)
    out[25] = I.ITEM_SPEED[bow]
    out[26] = I.ITEM_RANGE[bow]
    out[27] = set_sum(melee, S.B_ATT_SLASH)
    out[28] = set_sum(melee, S.B_STR)
    out[29] = I.ITEM_BASE_SPEED[set_weapon(melee)]
    for s in range(3):
        out[30 + 3 * s] = set_sum(sets[s], S.B_DEF_RANGED)
        out[31 + 3 * s] = set_sum(sets[s], S.B_DEF_MAGIC)
        out[32 + 3 * s] = set_sum(sets[s], S.B_DEF_SLASH)
