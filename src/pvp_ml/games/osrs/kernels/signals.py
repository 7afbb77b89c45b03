"""Signals and reward terms of one tick, in the order of signals.py."""

from __future__ import annotations

from pvp_ml.games.osrs import state as S
from pvp_ml.games.osrs.kernels.fighter import anglerfish_heal, brew_heal, left, protection
from pvp_ml.games.osrs.kernels.jit import inlined_kernel, kernel
from pvp_ml.games.osrs.kernels.move import distance
from pvp_ml.games.osrs.kernels.tick import TIED, WON_0, observed_style


@kernel
def food_kinds(me):
    """foodCount: kinds of edible food, not pieces."""
    kinds = 0
    for kind in (S.KIND_ANGLERFISH, S.KIND_KARAMBWAN, S.KIND_SHARK):
        if me[S.COUNT + kind] > 0:
            kinds += 1
    return kinds


@kernel
def food_scale(me):
    """remainingFoodScale: what all food heals, over base HP."""
    heal = 20 * me[S.COUNT + S.KIND_SHARK] + 18 * me[S.COUNT + S.KIND_KARAMBWAN]
    heal += anglerfish_heal(me[S.BASE_HP]) * me[S.COUNT + S.KIND_ANGLERFISH]
    return heal / me[S.BASE_HP]


@kernel
def brew_scale(me):
    """What all brews heal, over base HP (remainingBrewScale)."""
    return me[S.COUNT + S.KIND_BREW] * brew_heal(me[S.BASE_HP]) / me[S.BASE_HP]


@inlined_kernel
def write_status(me, opp, match, out):
    """Signals 0…31: where both stand."""
    out[0] = me[S.HP] / me[S.BASE_HP]
    out[1] = opp[S.HP] / opp[S.BASE_HP]
    out[2] = me[S.PRAY] / me[S.BASE_PRAY]
    out[3] = opp[S.SPLAT_DAMAGE] / opp[S.BASE_HP]
    out[4] = 0.0 if match[S.Q_DAMAGE_RECEIVED_ZERO] else me[S.SPLAT_DAMAGE] / me[S.BASE_HP]
    out[5] = match[S.TICK] + 1
    out[6] = opp[S.TICK_HITS] > 0 and opp[S.TICK_MATCHED] == 1
    out[7] = opp[S.TICK_HITS] > 0 and opp[S.TICK_MATCHED] == 0
    out[8] = me[S.TICK_HITS] > 0 and me[S.TICK_MATCHED] == 0
    out[9] = me[S.TICK_HITS] > 0 and me[S.TICK_MATCHED] == 1
    out[10] = food_kinds(me)
    out[11] = food_kinds(opp)
    out[12] = food_scale(me)
    out[13] = food_scale(opp)
    out[14] = brew_scale(me)
    out[15] = brew_scale(opp)
    for skill in range(5):
        out[16 + skill] = me[S.LEVEL + skill] / me[S.BASE + skill]
    out[21] = me[S.TICK_STYLE]
    out[22] = opp[S.TICK_STYLE]
    out[23] = opp[S.TICK_PRAYED]
    out[24] = me[S.TICK_PRAYED]
    out[25] = 1 + observed_style(me, match)
    out[26] = 1 + observed_style(opp, match)
    out[27] = protection(me)
    out[28] = protection(opp)
    out[29] = distance(me, opp)
    out[30] = left(me, match, S.T_FREEZE)
    out[31] = left(opp, match, S.T_FREEZE)


@inlined_kernel
def write_deeds(me, opp, match, out):
    """Signals 32…60: what both did this tick."""
    share = 1.0 / me[S.BASE_HP]
    out[32] = me[S.TICK_ATE]
    out[33] = me[S.TICK_EATEN] * share
    out[34] = me[S.TICK_WASTED] * share
    out[35] = me[S.TICK_EAT_AT] * share
    out[36] = me[S.TICK_EAT_TO] * share
    out[37] = me[S.TICK_BREWED]
    out[38] = me[S.TICK_BREW_WASTED] * share
    out[39] = me[S.TICK_BREW_AT] * share
    out[40] = me[S.TICK_BREW_TO] * share
    mine = me[S.TICK_GENERATED] / opp[S.BASE_HP]
    theirs = opp[S.TICK_GENERATED] * share
    out[41] = mine
    out[42] = theirs
    out[43] = me[S.TICK_EXTRA] / opp[S.BASE_HP]
    out[44] = opp[S.TICK_EXTRA] * share
    out[45] = me[S.TICK_SMITE]
    out[46] = opp[S.TICK_SMITE]
    out[47] = me[S.TICK_HEALED] * share
    out[48] = opp[S.TICK_HEALED] / opp[S.BASE_HP]
    out[49] = me[S.TICK_SPEED]
    out[50] = opp[S.TICK_SPEED]
    for style in range(3):
        out[51 + style] = mine if me[S.TICK_STYLE] == style + 1 else 0.0
        out[54 + style] = theirs if opp[S.TICK_STYLE] == style + 1 else 0.0
    out[57] = me[S.TICK_HITS] > 0
    out[58] = me[S.TICK_SPECIALS]
    out[59] = left(opp, match, S.T_FREEZE) > opp[S.WAS_FROZEN]
    out[60] = protection(me) != me[S.WAS_PRAYER]


@inlined_kernel
def write_damage_terms(me, opp, signal, out):
    """Reward terms 0…14."""
    out[0] = 1.0
    out[1] = signal[41]
    out[2] = signal[42]
    out[3] = signal[3]
    out[4] = me[S.SPLAT_DAMAGE] / me[S.BASE_HP]
    out[5] = opp[S.SPLAT_DAMAGE]
    out[6] = me[S.SPLAT_DAMAGE]
    out[7] = signal[43]
    out[8] = signal[44]
    out[9] = signal[41] if me[S.TICK_SMITE] else 0.0
    out[10] = signal[42] if opp[S.TICK_SMITE] else 0.0
    out[11] = signal[47]
    out[12] = signal[48]
    out[13] = signal[35]
    out[14] = me[S.PRAY] == 0


@inlined_kernel
def write_prayer_terms(me, opp, match, out):
    """Reward terms 15…24: prayers against attacks, now and a tick ago; freezes."""
    for k in range(15, 25):
        out[k] = 0.0
    received, given = opp[S.TICK_SPEED] / 5.0, me[S.TICK_SPEED] / 5.0
    if opp[S.TICK_HITS] > 0:
        out[15 if opp[S.TICK_MATCHED] else 16] = received
        prayed = opp[S.TICK_PRAYED]
        if prayed > 0:
            out[21 if prayed == opp[S.WAS_STYLE] + 1 else 22] = received
    if me[S.TICK_HITS] > 0:
        out[18 if me[S.TICK_MATCHED] else 17] = given
        out[20 if me[S.TICK_STYLE] == opp[S.WAS_PRAYER] else 19] = given
    out[23] = max(0, left(me, match, S.T_FREEZE) - me[S.WAS_FROZEN])
    out[24] = max(0, left(opp, match, S.T_FREEZE) - opp[S.WAS_FROZEN])


@inlined_kernel
def write_level_terms(me, signal, out):
    """Reward terms 25…34: boosted and drained levels, wasted food."""
    out[25] = signal[16] - 1.0
    out[26] = signal[17] - 1.0
    out[28] = signal[18] - 1.0
    out[29] = signal[19] - 1.0
    out[31] = signal[20] - 1.0
    style = me[S.TICK_STYLE]
    out[27] = max(0.0, out[26]) if style == S.MELEE + 1 else 0.0
    out[30] = max(0.0, out[29]) if style == S.RANGE + 1 else 0.0
    out[32] = max(0.0, out[31]) if style == S.MAGE + 1 else 0.0
    out[33] = signal[34]
    out[34] = signal[38]


@inlined_kernel
def write_end_terms(me, signal, seat, outcome, out):
    """Reward terms 35…42, once at the end of a match. Truncation pays nothing."""
    for k in range(35, 43):
        out[k] = 0.0
    if outcome == WON_0 + seat:
        out[35] = 1.0
        out[38] = signal[0]
        out[39] = signal[13]
        out[40] = signal[15]
    elif outcome == WON_0 + 1 - seat:
        out[36] = 1.0
        out[41] = signal[12]
        out[42] = signal[14]
    elif outcome == TIED:
        out[37] = 1.0


@kernel
def report(fighters, match, outcome, signals, rewards):
    """Signals [2,K] and reward terms [2,R] of the tick that was just played."""
    for seat in range(2):
        me, opp, signal, reward = fighters[seat], fighters[1 - seat], signals[seat], rewards[seat]
        write_status(me, opp, match, signal)
        write_deeds(me, opp, match, signal)
        write_damage_terms(me, opp, signal, reward)
        write_prayer_terms(me, opp, match, reward)
        write_level_terms(me, signal, reward)
        write_end_terms(me, signal, seat, outcome, reward)
