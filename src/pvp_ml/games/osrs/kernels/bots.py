"""Scripted opponents inside the game.

They decide before their timers fall, so the caller lends them the clock of the previous tick: every `left` here is the
value at the end of that tick.
"""

from __future__ import annotations

import numpy as np

from pvp_ml.games.osrs import state as S
from pvp_ml.games.osrs.kernels.actions import set_target
from pvp_ml.games.osrs.kernels.combat import (
    SPELL_LEVEL,
    effective_defence,
    hit_chance,
    magic_defence_roll,
    protects,
    roll_limit,
)
from pvp_ml.games.osrs.kernels.dice import below
from pvp_ml.games.osrs.kernels.fighter import (
    drink,
    eat_anglerfish,
    equip_listed,
    left,
    pray_offensively,
    pray_overhead,
    refresh_bonuses,
    switch_special_on,
)
from pvp_ml.games.osrs.kernels.ground import has_line
from pvp_ml.games.osrs.kernels.impact import bot_eats
from pvp_ml.games.osrs.kernels.jit import kernel
from pvp_ml.games.osrs.kernels.move import distance, method_of, queue_walk, reach_of, style_of


@kernel
def health_due(enemy):
    """HP after everything that lands within two combat steps."""
    health = enemy[S.HP]
    for k in range(enemy[S.DUES]):
        health -= enemy[S.DUE_QUEUE + k]
    for k in range(enemy[S.HITS]):
        first = S.HIT_QUEUE + k * S.HIT_SIZE
        if enemy[first + S.HIT_DELAY] < 2:
            health -= enemy[first + S.HIT_TOTAL]
    return health


@kernel
def switch_gear(bot, which, prayers):
    """Prayers, then the listed items; unlike an agent a bot takes nothing else off."""
    pray_offensively(bot, prayers)
    equip_listed(bot, S.SETS + which * S.SET_SIZE, S.SET_SIZE)
    refresh_bonuses(bot)


@kernel
def answer_overhead(bot, enemy, match):
    """One tick in five, pray against what the enemy holds."""
    if below(match, 5) != 0:
        return
    method = method_of(enemy)
    style = style_of(enemy, method)
    if style == S.MELEE and reach_of(enemy, bot, match, method) > 0:
        pray_overhead(bot, S.PROTECT_MELEE)
    elif style == S.RANGE:
        pray_overhead(bot, S.PROTECT_RANGED)
    else:
        pray_overhead(bot, S.PROTECT_MAGIC)


@kernel
def can_barrage(bot):
    """Ice barrage castable."""
    return bot[S.SPELLBOOK] == S.ANCIENT and bot[S.MAG] >= SPELL_LEVEL[S.ICE_BARRAGE]


@kernel
def style_score(enemy, style):
    """Score of a style: chance to hit with a huge roll, times 120, or 84 against a protected enemy, over 4."""
    if style == S.MAGE:
        roll = magic_defence_roll(enemy[S.MAG], enemy[S.DEF], enemy[S.PRAYERS], enemy[S.BONUS + S.B_DEF_MAGIC])
    elif style == S.RANGE:
        roll = roll_limit(effective_defence(enemy[S.DEF], enemy[S.PRAYERS]), enemy[S.BONUS + S.B_DEF_RANGED])
    else:
        roll = roll_limit(effective_defence(enemy[S.DEF], enemy[S.PRAYERS]), enemy[S.BONUS + S.B_DEF_SLASH])
    weight = 84.0 if protects(enemy[S.PRAYERS], style) else 120.0
    return np.float64(hit_chance(9_999_999, roll)) * weight / 4.0


@kernel
def barrage(bot):
    """Mage prayers and gear, select ice barrage, attack."""
    switch_gear(bot, S.SET_MAGE, bot[S.PRAY_MAGE])
    bot[S.SPELL] = S.ICE_BARRAGE
    bot[S.SPEC_ON] = 0
    set_target(bot)


@kernel
def choose_style(bot, enemy, match):
    """Magic, ranged, melee by score; ties to the earlier one."""
    best, style = -1.0, S.RANGE
    if can_barrage(bot):
        best, style = style_score(enemy, S.MAGE), S.MAGE
    score = style_score(enemy, S.RANGE)
    if score > best:
        best, style = score, S.RANGE
    if left(bot, match, S.T_FREEZE) == 0 and health_due(enemy) <= 45 and style_score(enemy, S.MELEE) > best:
        style = S.MELEE
    if style == S.MAGE:
        barrage(bot)
        return
    bot[S.SPELL] = S.SPELL_NONE
    if style == S.RANGE:
        switch_gear(bot, S.SET_RANGED, bot[S.PRAY_RANGED])
        bot[S.SPEC_ON] = 0
    else:
        switch_gear(bot, S.SET_MELEE, bot[S.PRAY_MELEE])
    set_target(bot)


@kernel
def step_away(bot, match):
    """Three tiles west, east or north, if nothing is in the way."""
    direction = below(match, 3)
    x, y = bot[S.X], bot[S.Y]
    if direction == 0:
        x -= 3
    elif direction == 1:
        x += 3
    else:
        y += 3
    if match[S.TERRAIN] == 0 or has_line(bot[S.X], bot[S.Y], x, y):
        queue_walk(bot, match, x, y)


@kernel
def nh_bot_acts(bot, enemy, match, enemy_first):
    """The ordered list; everything but the overhead ends it. `enemy_first` 1: the enemy's timers fell already."""
    answer_overhead(bot, enemy, match)
    ready = left(bot, match, S.T_ATTACK) <= 1
    thawed = left(bot, match, S.T_FREEZE) == 0
    enemy_frozen = left(enemy, match, S.T_FREEZE) > enemy_first
    enemy_immune = left(enemy, match, S.T_IMMUNE) > enemy_first
    if ready and thawed and health_due(enemy) <= 59 and bot[S.ENERGY] >= 50 and not enemy[S.PRAYERS] & S.PROTECT_MELEE:
        switch_gear(bot, S.SET_SPEC, bot[S.PRAY_MELEE])
        bot[S.SPELL] = S.SPELL_NONE
        switch_special_on(bot)
        set_target(bot)
    elif (
        left(bot, match, S.T_ATTACK) > 2
        and not bot[S.WALKING]
        and enemy_frozen
        and distance(bot, enemy) == 1
        and reach_of(enemy, bot, match, method_of(enemy)) > 0
    ):
        step_away(bot, match)
    elif bot[S.COUNT + S.KIND_RESTORE] > 0 and bot[S.PRAY] < 50:
        drink(bot, match, S.KIND_RESTORE)
    elif ready and not enemy_frozen and not enemy_immune and can_barrage(bot):
        barrage(bot)
    elif ready:
        choose_style(bot, enemy, match)


@kernel
def pot_up(bot, match):
    """The first matching line only; a blocked attempt ends it too."""
    if match[S.Q_BOT_POTS_UP] and bot[S.HP] <= bot[S.BASE_HP] and bot[S.COUNT + S.KIND_ANGLERFISH] > 0:
        eat_anglerfish(bot, match)
    elif bot[S.RNG] <= bot[S.BASE_RNG] and bot[S.COUNT + S.KIND_RANGING] > 0:
        drink(bot, match, S.KIND_RANGING)
    elif bot[S.STR] <= bot[S.BASE_STR] and bot[S.COUNT + S.KIND_COMBAT] > 0:
        drink(bot, match, S.KIND_COMBAT)


@kernel
def decide(bot, enemy, match, enemy_first):
    """One decision of a bot."""
    if not bot[S.BOT_ENEMY]:
        bot[S.PRAYERS] = 0
    elif bot[S.IS_BOT] == S.BOT_NH:
        nh_bot_acts(bot, enemy, match, enemy_first)
    if 0 < bot[S.HP] < 30:
        bot_eats(bot, match)
    pot_up(bot, match)


@kernel
def retaliate(bot, match):
    """One tick after an executed hit, an idle bot that stands still hits back."""
    if bot[S.BOT_RETALIATE_AT] == match[S.TICK] and not bot[S.TARGET] and not bot[S.MOVING]:
        set_target(bot)
