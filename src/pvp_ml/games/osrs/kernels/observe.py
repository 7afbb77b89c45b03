"""What a fighter sees and may do, in NH and Dharok fights. Written straight into the caller's rows."""

from __future__ import annotations

import numpy as np

from pvp_ml.games.osrs import items as I
from pvp_ml.games.osrs import state as S
from pvp_ml.games.osrs.kernels.fighter import combat_boost, free_slots, ranging_boost, rem
from pvp_ml.games.osrs.kernels.ground import space_around
from pvp_ml.games.osrs.kernels.jit import inlined_kernel, kernel
from pvp_ml.games.osrs.kernels.move import chebyshev, distance, has_tile, is_beside, is_inside
from pvp_ml.games.osrs.kernels.tick import observed_style

NH_FEATURES, NH_CHOICES = 176, 45
DHAROK_FEATURES, DHAROK_CHOICES = 40, 17


@kernel
def pending_damage(victim):
    """46: everything queued on the victim and everything due, in points."""
    total = 0
    for k in range(victim[S.DUES]):
        total += victim[S.DUE_QUEUE + k]
    for k in range(victim[S.HITS]):
        total += victim[S.HIT_QUEUE + k * S.HIT_SIZE + S.HIT_TOTAL]
    return total


@kernel
def ticks_until_hit(victim):
    """47, 48: −1 nothing queued, 0 damage is due, else the counter of the oldest hit."""
    if victim[S.DUES] > 0:
        return 0
    return victim[S.HIT_QUEUE + S.HIT_DELAY] if victim[S.HITS] > 0 else -1


@kernel
def attack_delay(me, match):
    """uncapped(COMBAT_ATTACK); far below zero when never set."""
    return me[S.T_ATTACK] - match[S.TICK]


@kernel
def clamp(value, low, high):
    """Value within [low, high]."""
    return min(max(value, low), high)


# --- NH observations -------------------------------------------------------------------------------------------------


@inlined_kernel
def write_weapon(me, match, obs, at):
    """0…3 and 12…15: weapon class as three flags, special weapon held."""
    style = observed_style(me, match)
    obs[at] = style == S.MELEE
    obs[at + 1] = style == S.RANGE
    obs[at + 2] = style == S.MAGE
    special = I.ITEM_SPECIAL[me[S.WORN + S.WEAPON]]
    obs[at + 3] = S.DRAGON_DAGGER <= special <= S.STATIUS_WARHAMMER


@inlined_kernel
def write_prayers(me, obs, at):
    """5…9 and 16…20: melee, missiles, magic, smite, redemption."""
    prayers = me[S.PRAYERS]
    obs[at] = prayers & S.PROTECT_MELEE != 0
    obs[at + 1] = prayers & S.PROTECT_RANGED != 0
    obs[at + 2] = prayers & S.PROTECT_MAGIC != 0
    obs[at + 3] = prayers & S.SMITE != 0
    obs[at + 4] = prayers & S.REDEMPTION != 0


@inlined_kernel
def write_body(me, opp, match, obs):
    """4, 10, 11, 21…45: energy, health, supplies, levels, timers."""
    obs[4] = me[S.ENERGY]
    obs[10] = me[S.HP] / me[S.BASE_HP]
    obs[11] = me[S.SEEN_HP] / opp[S.BASE_HP]
    obs[21] = opp[S.ENERGY]
    for k in range(4):
        obs[22 + k] = me[S.COUNT + S.KIND_RANGING + k]
    obs[26] = me[S.COUNT + S.KIND_ANGLERFISH]
    if not match[S.Q_FOOD_COUNT_ANGLERFISH]:
        obs[26] += me[S.COUNT + S.KIND_SHARK]
    obs[27] = me[S.COUNT + S.KIND_KARAMBWAN]
    obs[28] = me[S.PRAY] / me[S.BASE_PRAY]
    obs[29] = rem(me, match, S.T_FREEZE)
    obs[30] = rem(opp, match, S.T_FREEZE)
    obs[31] = rem(me, match, S.T_IMMUNE)
    obs[32] = rem(opp, match, S.T_IMMUNE)
    obs[33] = is_beside(me, opp)
    obs[34] = me[S.STR] / (me[S.BASE_STR] + combat_boost(me[S.BASE_STR]))
    obs[35] = me[S.ATT] / (me[S.BASE_ATT] + combat_boost(me[S.BASE_ATT]))
    obs[36] = me[S.DEF] / (me[S.BASE_DEF] + combat_boost(me[S.BASE_DEF]))
    obs[37] = me[S.RNG] / (me[S.BASE_RNG] + ranging_boost(me[S.BASE_RNG]))
    obs[38] = me[S.MAG] / me[S.BASE_MAG]
    obs[39] = rem(me, match, S.T_ATTACK)
    obs[40] = rem(me, match, S.T_FOOD)
    obs[41] = rem(me, match, S.T_POTION)
    obs[42] = rem(me, match, S.T_KARAMBWAN)
    obs[43] = clamp(attack_delay(me, match) - 1, -3, 0) + 3
    obs[44] = rem(opp, match, S.T_ATTACK)
    obs[45] = rem(opp, match, S.T_FOOD)


@inlined_kernel
def write_exchange(me, opp, match, obs):
    """46…65: hits under way, what happened this tick, places."""
    obs[46] = pending_damage(opp) / opp[S.BASE_HP]
    obs[47] = ticks_until_hit(opp)
    obs[48] = ticks_until_hit(me)
    obs[49] = me[S.TICK_HITS] > 0
    obs[50] = opp[S.TICK_HITS] > 0
    obs[51] = me[S.TICK_LAST_DAMAGE] / opp[S.BASE_HP]
    obs[52] = me[S.SPLAT_DAMAGE] / me[S.BASE_HP]
    obs[53] = opp[S.SPLAT_DAMAGE] / opp[S.BASE_HP]
    obs[54] = me[S.TARGET]
    obs[55] = me[S.MOVING]
    obs[56] = opp[S.MOVING]
    obs[57] = me[S.PID] < opp[S.PID]
    ancient = me[S.SPELLBOOK] == S.ANCIENT
    obs[58] = ancient and me[S.MAG] >= 94
    obs[59] = ancient and me[S.MAG] >= 92
    far = min(7, distance(me, opp))
    if me[S.WALKING]:
        obs[60] = min(7, chebyshev(opp[S.X], opp[S.Y], me[S.DEST_X], me[S.DEST_Y]))
        obs[61] = min(7, chebyshev(me[S.X], me[S.Y], me[S.DEST_X], me[S.DEST_Y]))
    else:
        obs[60] = far
        obs[61] = 0
    obs[62] = far
    obs[63] = opp[S.TICK_MATCHED]
    obs[64] = me[S.TICK_MATCHED]
    dealt = opp[S.TAKEN_SUM] / opp[S.BASE_HP]
    taken = me[S.TAKEN_SUM] / me[S.BASE_HP]
    obs[65] = clamp((dealt + 1.0) / (taken + 1.0), 0.5, 2.0)


@inlined_kernel
def write_habits(me, opp, obs):
    """66…95: how both have attacked and prayed, over the match and over the last five hits."""
    theirs, mine = opp[S.N_HITS], me[S.N_HITS]
    by_them = 1.0 / theirs if theirs > 0 else 0.0
    by_me = 1.0 / mine if mine > 0 else 0.0
    obs[66] = min(1.0, theirs / 20.0)
    obs[67] = opp[S.N_STYLE + S.MELEE] * by_them
    obs[68] = opp[S.N_STYLE + S.MAGE] * by_them
    obs[69] = opp[S.N_STYLE + S.RANGE] * by_them
    obs[70] = me[S.N_STYLE + S.MELEE] * by_me
    obs[71] = me[S.N_STYLE + S.MAGE] * by_me
    obs[72] = me[S.N_STYLE + S.RANGE] * by_me
    obs[73] = (theirs - opp[S.N_MATCHED]) * by_them
    obs[74] = min(1.0, mine / 20.0)
    obs[75] = me[S.N_PRAYED + S.MAGE] * by_me
    obs[76] = me[S.N_PRAYED + S.RANGE] * by_me
    obs[77] = me[S.N_PRAYED + S.MELEE] * by_me
    obs[78] = opp[S.N_PRAYED + S.MAGE] * by_them
    obs[79] = opp[S.N_PRAYED + S.RANGE] * by_them
    obs[80] = opp[S.N_PRAYED + S.MELEE] * by_them
    obs[81] = me[S.N_MATCHED] * by_me
    obs[82] = opp[S.RECENT_STYLE + S.MELEE] * 0.2
    obs[83] = opp[S.RECENT_STYLE + S.MAGE] * 0.2
    obs[84] = opp[S.RECENT_STYLE + S.RANGE] * 0.2
    obs[85] = me[S.RECENT_STYLE + S.MELEE] * 0.2
    obs[86] = me[S.RECENT_STYLE + S.MAGE] * 0.2
    obs[87] = me[S.RECENT_STYLE + S.RANGE] * 0.2
    obs[88] = opp[S.RECENT_MATCHED] * 0.2
    obs[89] = me[S.RECENT_PRAYED + S.MAGE] * 0.2
    obs[90] = me[S.RECENT_PRAYED + S.RANGE] * 0.2
    obs[91] = me[S.RECENT_PRAYED + S.MELEE] * 0.2
    obs[92] = opp[S.RECENT_PRAYED + S.MAGE] * 0.2
    obs[93] = opp[S.RECENT_PRAYED + S.RANGE] * 0.2
    obs[94] = opp[S.RECENT_PRAYED + S.MELEE] * 0.2
    obs[95] = me[S.RECENT_MATCHED + 1] * 0.2


# obs 145…159 fall back to these own values (obs numbers) while nothing was seen
UNSEEN = np.array([124, 125, 126, 127, 130, 131, 133, 134, 135, 136, 137, 138, 139, 140, 141], np.int64)


@inlined_kernel
def write_gear(me, opp, obs):
    """96…159: levels and gear sums of the fighter, what is worn by and remembered of the opponent (C)."""
    for k in range(46):
        obs[96 + k] = me[S.CONST + k]
    obs[142] = opp[S.SEEN + S.B_DEF_RANGED]
    obs[143] = opp[S.SEEN + S.B_DEF_MAGIC]
    obs[144] = opp[S.SEEN + S.B_DEF_SLASH]
    for k in range(15):
        seen = me[S.MEMORY + k]
        obs[145 + k] = seen if seen != -1 else me[S.CONST + UNSEEN[k] - 96]


@inlined_kernel
def write_rules(me, opp, match, obs):
    """160…167 and 175: fight type, vengeance, food in hand."""
    obs[160] = match[S.FIGHT_TYPE] == S.FIGHT_LMS
    obs[161] = match[S.FIGHT_TYPE] == S.FIGHT_ARENA
    obs[162] = me[S.VENGEANCE]
    obs[163] = opp[S.VENGEANCE]
    obs[164] = me[S.SPELLBOOK] == S.LUNAR
    obs[165] = me[S.SEEN_LUNAR]
    obs[166] = rem(me, match, S.T_VENG)
    obs[167] = rem(opp, match, S.T_VENG)
    obs[175] = me[S.COUNT + S.KIND_SHARK] == 0 and me[S.COUNT + S.KIND_ANGLERFISH] > 0


# --- availability and masks ------------------------------------------------------------------------------------------


@kernel
def has_hands_free(me):
    """fit2h: room to put a shield away, or none worn."""
    return free_slots(me) > 0 or me[S.WORN + S.SHIELD] == 0


@inlined_kernel
def write_available(me, opp, match, obs):
    """168…174: A_blood, A_ice, A_mage_spec, A_ranged, A_ranged_spec, A_melee, A_melee_spec."""
    ready = rem(me, match, S.T_ATTACK) == 0
    gate = ready or not match[S.GEAR_GATE]
    fits = has_hands_free(me)
    energy = me[S.ENERGY]
    casts = gate and me[S.SPELLBOOK] == S.ANCIENT and me[S.SETS + S.SET_MAGE * S.SET_SIZE] != 0
    obs[168] = casts and me[S.MAG] >= 56 and me[S.HP] < me[S.BASE_HP]
    obs[169] = casts and me[S.MAG] >= 58
    obs[170] = gate and me[S.CONST + 106 - 96] and energy >= 55
    bow = me[S.W_RANGED]
    ranged = gate and (fits or not I.ITEM_TWO_HANDED[bow])
    obs[171] = ranged
    special = I.ITEM_SPECIAL[bow]
    obs[172] = ranged and special != S.SPECIAL_NONE and energy >= I.SPEC_COST[special]
    near = is_beside(me, opp) or rem(me, match, S.T_FREEZE) == 0
    obs[173] = gate and near and (fits or not me[S.MELEE_TWO_HANDED])
    special = I.ITEM_SPECIAL[me[S.W_SPEC]]
    gate = gate or (special == S.GRANITE_MAUL and energy >= 50)
    known = S.DRAGON_DAGGER <= special <= S.STATIUS_WARHAMMER and energy >= I.SPEC_COST[special]
    obs[174] = gate and near and known and (fits or not me[S.SPEC_TWO_HANDED])


@kernel
def can_use_potion(me, match, kind):
    """hasDose: the potion timer is ready and a dose is left."""
    return rem(me, match, S.T_POTION) == 0 and me[S.COUNT + kind] > 0


@kernel
def is_brew_useful(me):
    """A brew would help."""
    return me[S.DEF] < me[S.BASE_DEF] + (200 + 20 * me[S.BASE_DEF]) // 100 - 1 or me[S.HP] <= me[S.BASE_HP]


@kernel
def is_combat_useful(me):
    """Some of Attack, Strength, Defence is more than a level below its boost."""
    for skill in range(3):
        base = me[S.BASE + skill]
        if base + combat_boost(base) > me[S.LEVEL + skill] + 1:
            return True
    return False


@kernel
def may_eat_food(me, match):
    """Mask of the food head."""
    if rem(me, match, S.T_FOOD) > 0:
        return False
    if me[S.COUNT + S.KIND_SHARK] > 0:
        return me[S.HP] < me[S.BASE_HP]
    return me[S.COUNT + S.KIND_ANGLERFISH] > 0 and me[S.HP] <= me[S.BASE_HP]


@kernel
def may_eat_karambwan(me, match):
    """Mask of the karambwan head."""
    ready = rem(me, match, S.T_KARAMBWAN) == 0
    return ready and me[S.COUNT + S.KIND_KARAMBWAN] > 0 and me[S.HP] < me[S.BASE_HP]


@kernel
def is_drained(me, last):
    """Some skill 0…last (attack, strength, defence, ranged, magic) or Prayer is below its base."""
    for skill in range(last + 1):
        if me[S.LEVEL + skill] < me[S.BASE + skill]:
            return True
    return me[S.PRAY] < me[S.BASE_PRAY]


@inlined_kernel
def mask_attacks(me, match, obs, mask):
    """Heads 0…3, choices 0…13."""
    mask[0] = rem(me, match, S.T_ATTACK) > 0
    mask[1] = obs[168] != 0 or obs[169] != 0 or obs[170] != 0
    mask[2] = obs[171] != 0 or obs[172] != 0
    mask[3] = obs[173] != 0 or obs[174] != 0
    mask[4] = True
    mask[5] = obs[173] != 0
    mask[6] = obs[174] != 0
    mask[7] = True
    mask[8] = obs[171] != 0
    mask[9] = obs[172] != 0
    mask[10] = True
    mask[11] = obs[169] != 0
    mask[12] = obs[168] != 0
    mask[13] = obs[170] != 0


@inlined_kernel
def mask_supplies(me, opp, match, mask):
    """Heads 4…8, choices 14…26."""
    mask[14] = True
    mask[15] = can_use_potion(me, match, S.KIND_BREW) and is_brew_useful(me)
    mask[16] = can_use_potion(me, match, S.KIND_RESTORE) and is_drained(me, S.MAGIC)
    mask[17] = can_use_potion(me, match, S.KIND_COMBAT) and is_combat_useful(me)
    short = me[S.BASE_RNG] + ranging_boost(me[S.BASE_RNG]) > me[S.RNG] + 1
    mask[18] = can_use_potion(me, match, S.KIND_RANGING) and short
    mask[19] = True
    mask[20] = may_eat_food(me, match)
    mask[21] = True
    mask[22] = may_eat_karambwan(me, match)
    mask[23] = True
    mask[24] = rem(me, match, S.T_VENG) == 0 and me[S.SPELLBOOK] == S.LUNAR
    mask[25] = True
    mask[26] = rem(opp, match, S.T_ATTACK) == 0


@inlined_kernel
def mask_moves(me, opp, match, mask):
    """Heads 9 and 10, choices 27…38: a tile of that ring can be walked to, and I do not stand on one.

    Its nearest tile is |`far` − radius| away or, of the four neighbours, at most `far`: with more room than that around
    me it can. From inside the ring a straight walk of `far` + radius steps crosses it, wherever that leads.
    """
    ready = rem(me, match, S.T_ATTACK) == 0
    moves = rem(me, match, S.T_FREEZE) == 0 and (match[S.ALLOW_MOVING] != 0 or not ready)
    far = distance(me, opp)
    room, straight = space_around(me, match)
    inside = is_inside(match, me[S.X], me[S.Y])
    beside = inside and is_beside(me, opp)
    diagonal = inside and far == 1 and not beside
    mask[27] = True
    mask[28] = moves and not beside and (max(far, 1) < room or has_tile(me, opp, match, 1, 1))
    mask[29] = moves and rem(opp, match, S.T_FREEZE) > 0 and far > 0
    mask[31] = moves and not diagonal and (max(far, 1) < room or has_tile(me, opp, match, 1, 2))
    mask[32] = True
    farcast = False
    for k in range(1, 7):
        here = inside and far == k + 1
        crosses = far <= k and far + k < straight
        exists = not here and (crosses or abs(far - k - 1) < room or has_tile(me, opp, match, k + 1, 0))
        mask[32 + k] = exists
        farcast = farcast or (exists and k < 6)
    mask[30] = moves and farcast


@inlined_kernel
def mask_overheads(me, opp, match, obs, mask):
    """Head 11, choices 39…44."""
    prays = me[S.PRAY] > 0
    waits = rem(opp, match, S.T_ATTACK) > 0
    overhead = prays and not (match[S.PRAYER_GATE] and waits)
    allowed = prays and match[S.FIGHT_TYPE] != S.FIGHT_LMS
    near = obs[29] == 0 or obs[30] == 0 or obs[33] != 0
    mask[39] = False
    mask[40] = overhead and obs[165] == 0
    mask[41] = overhead
    mask[42] = overhead and near
    mask[43] = allowed and match[S.ALLOW_SMITE] != 0 and rem(me, match, S.T_ATTACK) == 0
    starving = obs[26] == 0 and obs[27] == 0 and obs[25] == 0
    mask[44] = allowed and match[S.ALLOW_REDEMPTION] != 0 and starving and (obs[48] >= 0 or not waits)


@kernel
def observe_nh(me, opp, match, obs, mask):
    """Fill one seat's 176 observations and 45 mask bits."""
    write_weapon(me, match, obs, 0)
    write_prayers(me, obs, 5)
    write_weapon(opp, match, obs, 12)
    write_prayers(opp, obs, 16)
    write_body(me, opp, match, obs)
    write_exchange(me, opp, match, obs)
    write_habits(me, opp, obs)
    write_gear(me, opp, obs)
    write_rules(me, opp, match, obs)
    write_available(me, opp, match, obs)
    mask_attacks(me, match, obs, mask)
    mask_supplies(me, opp, match, mask)
    mask_moves(me, opp, match, mask)
    mask_overheads(me, opp, match, obs, mask)


# --- Dharok ----------------------------------------------------------------------------------------------------------


@kernel
def write_dharok_weapon(me, obs, at):
    """0…2 and 6…8: tentacle, maul, greataxe."""
    weapon = me[S.WORN + S.WEAPON]
    obs[at] = weapon == I.ABYSSAL_TENTACLE
    obs[at + 1] = weapon == I.GRANITE_MAUL
    obs[at + 2] = weapon == I.DHAROKS_AXE


@kernel
def write_dharok(me, opp, match, obs):
    """The 40 observations."""
    write_dharok_weapon(me, obs, 0)
    obs[3] = me[S.ENERGY] / 100.0
    obs[4] = me[S.HP] / me[S.BASE_HP]
    obs[5] = opp[S.HP] / opp[S.BASE_HP]
    write_dharok_weapon(opp, obs, 6)
    obs[9] = opp[S.ENERGY] / 100.0
    for k in range(5):
        obs[10 + k] = me[S.COUNT + S.KIND_COMBAT + k]
    obs[15] = me[S.PRAY] / me[S.BASE_PRAY]
    obs[16] = me[S.STR] / (me[S.BASE_STR] + combat_boost(me[S.BASE_STR]))
    obs[17] = me[S.ATT] / (me[S.BASE_ATT] + combat_boost(me[S.BASE_ATT]))
    obs[18] = me[S.DEF] / (me[S.BASE_DEF] + combat_boost(me[S.BASE_DEF]))
    obs[19] = rem(me, match, S.T_ATTACK) / 6.0
    obs[20] = rem(me, match, S.T_FOOD) / 2.0
    obs[21] = rem(me, match, S.T_POTION) / 2.0
    obs[22] = rem(me, match, S.T_KARAMBWAN) / 2.0
    obs[23] = (clamp(attack_delay(me, match), -2, 1) + 2) / 3.0
    obs[24] = rem(opp, match, S.T_ATTACK) / 6.0
    obs[25] = rem(opp, match, S.T_FOOD) / 2.0
    obs[26] = pending_damage(opp) / opp[S.BASE_HP]
    obs[27] = pending_damage(me) > 0
    obs[28] = me[S.TICK_HITS] > 0
    obs[29] = opp[S.TICK_HITS] > 0
    obs[30] = me[S.TICK_LAST_DAMAGE] / opp[S.BASE_HP]
    obs[31] = me[S.SPLAT_DAMAGE] / me[S.BASE_HP]
    obs[32] = opp[S.SPLAT_DAMAGE] / opp[S.BASE_HP]
    obs[33] = me[S.PID] < opp[S.PID]
    obs[34] = rem(me, match, S.T_VENG) == 0
    obs[35] = me[S.VENGEANCE]
    obs[36] = rem(opp, match, S.T_VENG) == 0
    obs[37] = opp[S.VENGEANCE]
    obs[38] = me[S.WORN + S.BODY] != I.DHAROKS_BODY
    obs[39] = opp[S.WORN + S.BODY] != I.DHAROKS_BODY


@kernel
def is_carried(me, item):
    """True when the inventory holds the item."""
    for slot in range(S.INVENTORY_SIZE):
        if me[S.INV + slot] == item:
            return True
    return False


@kernel
def mask_dharok(me, match, mask):
    """The 17 mask bits."""
    ready = rem(me, match, S.T_ATTACK) == 0
    fits = has_hands_free(me)
    mask[0] = not ready
    mask[1] = ready
    mask[2] = ready and fits
    mask[3] = fits and me[S.ENERGY] >= 50
    mask[4] = True
    mask[5] = can_use_potion(me, match, S.KIND_BREW) and is_brew_useful(me)
    mask[6] = can_use_potion(me, match, S.KIND_RESTORE) and is_drained(me, S.DEFENCE)
    mask[7] = can_use_potion(me, match, S.KIND_COMBAT) and is_combat_useful(me)
    mask[8] = True
    mask[9] = may_eat_food(me, match)
    mask[10] = True
    mask[11] = may_eat_karambwan(me, match)
    mask[12] = True
    mask[13] = rem(me, match, S.T_VENG) == 0
    mask[14] = True
    mask[15] = True
    packed = is_carried(me, I.DHAROKS_BODY) and is_carried(me, I.DHAROKS_LEGS)
    mask[16] = packed or free_slots(me) >= 2


@kernel
def observe_dharok(me, opp, match, obs, mask):
    """Fill one seat's 40 observations and 17 mask bits."""
    write_dharok(me, opp, match, obs)
    mask_dharok(me, match, mask)
