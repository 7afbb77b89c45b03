"""The start of a match: everything is drawn from the plan's seed, nothing survives the last match."""

from __future__ import annotations

from pvp_ml.games.osrs import items as I
from pvp_ml.games.osrs import state as S
from pvp_ml.games.osrs.kernels.dice import below, bits
from pvp_ml.games.osrs.kernels.fighter import count_inventory, put, refresh_bonuses
from pvp_ml.games.osrs.kernels.gear import gear_facts, roll_loadout, set_weapon
from pvp_ml.games.osrs.kernels.jit import allocating_kernel, kernel
from pvp_ml.games.osrs.kernels.tick import PID_RANGE

FIXED_X, FIXED_Y = 3096, 3530
LOW_X, HIGH_X, LOW_Y, HIGH_Y = 3041, 3101, 3530, 3557
FIRST_STAT_TICK = 99
"""Tick of the first stat restoration; the timer was set, without effect, in the tick before the first observation."""

BREW_4, RESTORE_4 = I.ITEM["saradomin_brew_4"], I.ITEM["super_restore_4"]
DHAROK = S.BUILDS.index("DHAROK")


@kernel
def nth_build(options, index):
    """The build of the index-th set bit."""
    for build in range(len(S.BUILDS)):
        if options & (1 << build):
            if index == 0:
                return build
            index -= 1
    return 0


@kernel
def draw_build(match):
    """One of the scenario's builds, the same for both sides."""
    options = match[S.BUILD_OPTIONS]
    count = 0
    for build in range(len(S.BUILDS)):
        if options & (1 << build):
            count += 1
    return nth_build(options, below(match, count) if count > 1 else 0)


@kernel
def draw_fight_type(match, build):
    """Fixed, drawn, or by the build (LMS for the three LMS builds)."""
    rule = match[S.FIGHT_RULE]
    if rule == S.FIGHT_DRAWN:
        return below(match, 3)
    return I.BUILD_FIGHT_TYPE[build] if rule == S.FIGHT_OF_BUILD else rule


@kernel
def draw_tiles(first, second, match):
    """Random start tiles, the second within five tiles of the first; or both on the fixed tile."""
    if not match[S.RANDOM_TILES]:
        first[S.X] = second[S.X] = FIXED_X
        first[S.Y] = second[S.Y] = FIXED_Y
        return
    x = LOW_X + below(match, HIGH_X - LOW_X + 1)
    y = LOW_Y + below(match, HIGH_Y - LOW_Y + 1)
    first[S.X], first[S.Y] = x, y
    low, high = max(LOW_X, x - 5), min(HIGH_X + 1, x + 5)
    second[S.X] = low + below(match, high - low)
    low, high = max(LOW_Y, y - 5), min(HIGH_Y + 1, y + 5)
    second[S.Y] = low + below(match, high - low)


@kernel
def pack_for_bot(me):
    """A bot carries anglerfish instead of brews and of all restores after the second."""
    restores = 0
    for slot in range(S.INVENTORY_SIZE):
        item = me[S.INV + slot]
        if item == RESTORE_4:
            restores += 1
        if item == BREW_4 or (item == RESTORE_4 and restores > 2):
            put(me, slot, I.ANGLERFISH)


@allocating_kernel
def note_sets(me):
    """Facts about the sets that masks need every tick."""
    sets = me[S.SETS : S.SETS + 5 * S.SET_SIZE].reshape(5, S.SET_SIZE)
    me[S.W_RANGED] = set_weapon(sets[S.SET_RANGED])
    me[S.W_MELEE] = set_weapon(sets[S.SET_MELEE])
    me[S.W_SPEC] = set_weapon(sets[S.SET_SPEC])
    me[S.MELEE_TWO_HANDED] = 1 if I.ITEM_TWO_HANDED[me[S.W_MELEE]] else 0
    me[S.SPEC_TWO_HANDED] = 1 if I.ITEM_TWO_HANDED[me[S.W_SPEC]] else 0
    for skill in range(7):
        me[S.CONST + skill] = me[S.BASE + skill]
    gear_facts(sets, me[S.CONST + 7 : S.CONST + 46])


@allocating_kernel
def wear_loadout(me, build, seed, randomized):
    """Levels, prayers, sets, worn gear and inventory of a build."""
    me[S.BUILD] = build
    for skill in range(7):
        me[S.BASE + skill] = me[S.LEVEL + skill] = I.BUILD_LEVELS[build, skill]
    me[S.PRAY_MAGE] = I.BUILD_PRAYERS[build, 0]
    me[S.PRAY_RANGED] = I.BUILD_PRAYERS[build, 1]
    me[S.PRAY_MELEE] = I.BUILD_PRAYERS[build, 2]
    sets = me[S.SETS : S.SETS + 5 * S.SET_SIZE].reshape(5, S.SET_SIZE)
    worn = me[S.WORN : S.WORN + S.SLOTS]
    me[S.SPELLBOOK] = roll_loadout(build, seed, randomized, sets, worn, me[S.INV : S.INV + S.INVENTORY_SIZE])
    if build == DHAROK:
        for place in range(S.SLOTS):
            sets[0, place] = worn[place]
    count_inventory(me)
    refresh_bonuses(me)
    note_sets(me)


@allocating_kernel
def reset_fighter(me, match, build, bot):
    """Clear the row, wear the loadout, draw PID and phases."""
    for column in range(S.FIGHTER_SIZE):
        me[column] = 0
    seed = bits(match) + ((bits(match) & 0xFFFF) << 32)
    wear_loadout(me, build, seed, match[S.RANDOM_GEAR])
    for timer in (S.T_ATTACK, S.T_FOOD, S.T_POTION, S.T_KARAMBWAN, S.T_FREEZE, S.T_IMMUNE, S.T_VENG):
        me[timer] = S.NEVER
    me[S.T_STAT] = FIRST_STAT_TICK
    me[S.ENERGY] = 100
    me[S.REGEN_AT] = S.NEVER
    if match[S.Q_REGEN_PHASE_CARRIED] or not match[S.Q_REGEN_FROM_DRAIN]:
        me[S.REGEN_AT] = 1 + below(match, 50)
    me[S.SACRIFICES] = me[S.SACRIFICES + 1] = S.NEVER
    me[S.MEMORY_STR] = -1
    for k in range(15):
        me[S.MEMORY + k] = -1
    me[S.PID] = below(match, PID_RANGE)
    me[S.PID_LEFT] = 1 + below(match, 40 + below(match, 21))
    me[S.IS_BOT] = bot
    if bot:
        pack_for_bot(me)


@allocating_kernel
def start_match(fighters, match, drained, template, key0, key1, bots):
    """Begin a match: `template` [MATCH_SIZE] holds the scenario, the keys the seed, `bots` [2] who is a bot."""
    for column in range(S.MATCH_SIZE):
        match[column] = template[column]
    match[S.KEY0], match[S.KEY1] = key0, key1
    match[S.LIVE] = 1
    drained[0] = drained[1] = 0.0
    build = draw_build(match)
    match[S.FIGHT_TYPE] = draw_fight_type(match, build)
    reset_fighter(fighters[0], match, build, bots[0])
    reset_fighter(fighters[1], match, build, bots[1])
    draw_tiles(fighters[0], fighters[1], match)
    for seat in range(2):
        if bots[seat]:
            fighters[seat, S.X] = fighters[1 - seat, S.X] - 1
            fighters[seat, S.Y] = fighters[1 - seat, S.Y]


@allocating_kernel
def start_rows(fighters, matches, drained, rows, templates, keys, bots):
    """Begin a match in each of `rows` [n]; templates [n,MATCH_SIZE], keys [n,2], bots [n,2], all int32."""
    for n in range(rows.shape[0]):
        m = rows[n]
        start_match(fighters[m], matches[m], drained[m], templates[n], keys[n, 0], keys[n, 1], bots[n])
