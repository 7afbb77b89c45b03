"""What lands: queued hits, their effects, hitsplats, and the scheduled effects at the start of a tick."""

from __future__ import annotations

from pvp_ml.games.osrs import items as I
from pvp_ml.games.osrs import state as S
from pvp_ml.games.osrs.kernels.combat import drain_per_minute, statius_defence
from pvp_ml.games.osrs.kernels.dice import below, forced
from pvp_ml.games.osrs.kernels.fighter import eat_food, eat_karambwan, heal_up_to, left
from pvp_ml.games.osrs.kernels.jit import kernel
from pvp_ml.games.osrs.kernels.move import distance


@kernel
def add_due(victim, amount):
    """Append a damage part that is due; it is shown in the victim's next combat step."""
    if victim[S.DUES] < S.DUE_SLOTS:
        victim[S.DUE_QUEUE + victim[S.DUES]] = amount
        victim[S.DUES] += 1
    else:
        victim[S.DUE_QUEUE + S.DUE_SLOTS - 1] += amount


@kernel
def add_extra(causer, victim, amount):
    """Damage that belongs to no attack: vengeance, recoil, bleed, sacrifice."""
    add_due(victim, amount)
    causer[S.TICK_EXTRA] += amount


# --- effects on impact -----------------------------------------------------------------------------------------------


@kernel
def redeem(victim, total):
    """Redemption heals before the damage is subtracted and burns all Prayer."""
    after = victim[S.HP] - total
    if victim[S.PRAYERS] & S.REDEMPTION and 0 < after <= victim[S.BASE_HP] // 10:
        victim[S.TICK_HEALED] += heal_up_to(victim, victim[S.BASE_PRAY] // 4, max(victim[S.BASE_HP], victim[S.HP]))
        victim[S.PRAY] = 0
        victim[S.PRAYERS] = 0


@kernel
def smite(attacker, victim, total):
    """Smite takes a quarter of the damage from the victim's Prayer; its prayers stay on for now."""
    if attacker[S.PRAYERS] & S.SMITE:
        victim[S.PRAY] = max(0, victim[S.PRAY] - total // 4)


@kernel
def after_special(attacker, victim, match, special, accurate, total):
    """What Statius's warhammer, Morrigan's javelin and the Ancient godsword leave behind."""
    if special == S.STATIUS_WARHAMMER and total > 0:
        victim[S.DEF] = statius_defence(victim[S.DEF])
    elif special == S.MORRIGANS_JAVELIN and total > 0:
        for k in range(0, 4, 2):
            if victim[S.BLEEDS + k] == 0:
                victim[S.BLEEDS + k] = total
                victim[S.BLEEDS + k + 1] = match[S.TICK] + 3
                break
    elif special == S.ANCIENT_GODSWORD and accurate:
        for k in range(2):
            if victim[S.SACRIFICES + k] == S.NEVER:
                victim[S.SACRIFICES + k] = match[S.TICK]
                break


@kernel
def poison(attacker, victim, match, dice, seat, style, total):
    """A poisonous weapon in the attacker's hand may poison on a damaging melee hit."""
    weapon = attacker[S.WORN + S.WEAPON]
    if style != S.MELEE or total <= 0 or weapon not in (I.DRAGON_DAGGER_P, I.ABYSSAL_TENTACLE):
        return
    fires = forced(dice, S.CHANNEL_POISON + seat)
    if fires == S.FREE:
        sides, wins = (21, 6) if match[S.Q_POISON_CHANCE] else (4, 1)
        fires = 1 if below(match, sides) < wins else 0
    if fires and victim[S.POISON] == 0:
        victim[S.POISON] = 12 if weapon == I.ABYSSAL_TENTACLE and match[S.Q_TENTACLE_POISON] else 6
        victim[S.POISON_AT] = match[S.TICK] + 30
        victim[S.POISON_COUNT] = 0


@kernel
def drink_blood(attacker, match, dice, seat, style, total):
    """The amulet of blood fury may heal the attacker by 30 % of a damaging melee hit."""
    if style != S.MELEE or total <= 0 or attacker[S.WORN + S.AMULET] != I.BLOOD_FURY:
        return
    fires = forced(dice, S.CHANNEL_FURY + seat)
    if fires == S.FREE:
        fires = 1 if below(match, 101 if match[S.Q_BLOOD_FURY_CHANCE] else 100) < 20 else 0
    if fires:
        heal = 30 * total // 100
        attacker[S.TICK_HEALED] += heal_up_to(attacker, heal, max(attacker[S.BASE_HP], attacker[S.HP]))


@kernel
def recoil(attacker, victim, total):
    """The ring of recoil returns a tenth + 1 and breaks after 40 damage."""
    if total <= 0 or victim[S.WORN + S.RING] != I.RING_OF_RECOIL:
        return
    back = total // 10 + 1
    add_extra(victim, attacker, back)
    victim[S.RECOIL_SPENT] += back
    if victim[S.RECOIL_SPENT] >= 40:
        victim[S.RECOIL_SPENT] = 0
        victim[S.WORN + S.RING] = 0


@kernel
def avenge(attacker, victim, total):
    """A charged vengeance returns three quarters of the first damaging hit."""
    back = 3 * total // 4
    if victim[S.VENGEANCE] and total > 0 and back > 0:
        victim[S.VENGEANCE] = 0
        add_extra(victim, attacker, back)


@kernel
def bot_reacts(bot, match, total):
    """A bot learns who hits it, eats below 65 %, and hits back one tick later."""
    bot[S.BOT_ENEMY] = 1
    bot[S.BOT_RETALIATE_AT] = match[S.TICK] + 1
    after = bot[S.HP] - total
    if after > 0 and 100 * after <= 65 * bot[S.BASE_HP]:
        bot_eats(bot, match)


@kernel
def bot_eats(bot, match):
    """The first food (shark, karambwan, anglerfish), and a karambwan on top unless it was one."""
    if bot[S.COUNT + S.KIND_SHARK] > 0 or bot[S.COUNT + S.KIND_KARAMBWAN] == 0:
        eat_food(bot, match)
    eat_karambwan(bot, match)


@kernel
def land(attacker, victim, match, dice, seat, first):
    """Execute the queued hit whose columns start at `first`. `seat` is the attacker's."""
    total = victim[first + S.HIT_TOTAL]
    accurate = victim[first + S.HIT_ACCURATE]
    style = victim[first + S.HIT_STYLE]
    if victim[S.IS_BOT]:
        bot_reacts(victim, match, total)
    if accurate:
        if match[S.Q_REDEMPTION_BEFORE_DAMAGE]:
            redeem(victim, total)
        smite(attacker, victim, total)
    if accurate or style != S.MAGE:
        for k in range(victim[first + S.HIT_PARTS]):
            add_due(victim, victim[first + S.HIT_PART + k])
    after_special(attacker, victim, match, victim[first + S.HIT_METHOD], accurate, total)
    poison(attacker, victim, match, dice, seat, style, total)
    drink_blood(attacker, match, dice, seat, style, total)
    recoil(attacker, victim, total)
    avenge(attacker, victim, total)


# --- the hit queue ---------------------------------------------------------------------------------------------------


@kernel
def show_damage(victim, match):
    """Show and subtract at most two due parts; HP 0 means dying at once."""
    shown = victim[S.DUES]
    if match[S.Q_TWO_SPLATS]:
        shown = min(2, shown)
    for k in range(shown):
        damage = min(victim[S.DUE_QUEUE + k], victim[S.HP])
        victim[S.HP] -= damage
        victim[S.SPLATS] += 1
        victim[S.SPLAT_DAMAGE] += damage
    for k in range(shown, victim[S.DUES]):
        victim[S.DUE_QUEUE + k - shown] = victim[S.DUE_QUEUE + k]
    victim[S.DUES] -= shown
    if not match[S.Q_REDEMPTION_BEFORE_DAMAGE] and victim[S.SPLAT_DAMAGE] > 0:
        redeem(victim, 0)
    if victim[S.HP] <= 0:
        victim[S.DYING] = 1


@kernel
def receive_hits(victim, attacker, match, dice, seat):
    """The first half of a combat step: count the queue down, land what is ready, show the damage."""
    if victim[S.HP] <= 0:
        victim[S.HITS] = 0
        victim[S.DUES] = 0
        return
    kept = 0
    for index in range(victim[S.HITS]):
        first = S.HIT_QUEUE + index * S.HIT_SIZE
        if attacker[S.HP] <= 0:
            continue
        if victim[first + S.HIT_DELAY] == 0:
            land(attacker, victim, match, dice, seat, first)
            continue
        victim[first + S.HIT_DELAY] -= 1
        if kept < index:
            for k in range(S.HIT_SIZE):
                victim[S.HIT_QUEUE + kept * S.HIT_SIZE + k] = victim[first + k]
        kept += 1
    victim[S.HITS] = kept
    if victim[S.DUES] > 0:
        show_damage(victim, match)


# --- scheduled effects -----------------------------------------------------------------------------------------------


@kernel
def drain_prayer(me, match, drained):
    """Rates per minute, slowed by the prayer bonus, gathered in `drained` [1] until a whole point is due."""
    if me[S.PRAYERS] == 0:
        drained[0] = 0.0
        return
    rate = drain_per_minute(me[S.PRAYERS])
    if match[S.Q_PRAYER_DRAIN_RATES]:
        drained[0] += rate / 60.0 * 0.6 / (1.0 + 0.0333 * me[S.BONUS + S.B_PRAYER])
    else:
        drained[0] += rate / 100.0 * 60.0 / (60.0 + 2.0 * me[S.BONUS + S.B_PRAYER])
    if drained[0] >= 1.0:
        whole = int(drained[0])
        drained[0] -= whole
        me[S.PRAY] -= whole
        if me[S.PRAY] <= 0:
            me[S.PRAY] = 0
            me[S.PRAYERS] = 0
            drained[0] = 0.0


@kernel
def regenerate_energy(me, match):
    """+10 special energy every 50 ticks from the first drain until it is full."""
    if me[S.REGEN_AT] == match[S.TICK]:
        me[S.ENERGY] = min(100, me[S.ENERGY] + 10)
        full = me[S.ENERGY] >= 100 and match[S.Q_REGEN_FROM_DRAIN]
        me[S.REGEN_AT] = S.NEVER if full else match[S.TICK] + 50


@kernel
def suffer_poison(me, match):
    """Every 30 ticks; every fifth time the poison first weakens by 1, and it ends at 1."""
    if me[S.POISON] == 0 or me[S.POISON_AT] != match[S.TICK]:
        return
    me[S.POISON_COUNT] += 1
    if me[S.POISON_COUNT] % 5 == 0:
        me[S.POISON] -= 1
    add_due(me, me[S.POISON])
    me[S.POISON_AT] += 30
    if me[S.POISON] <= 1:
        me[S.POISON] = 0


@kernel
def suffer_bleed(me, opp, match):
    """Morrigan's javelin: up to 5 every third tick until the hit's total is reached or somebody is dying."""
    for k in range(0, 4, 2):
        if me[S.BLEEDS + k] > 0 and me[S.BLEEDS + k + 1] == match[S.TICK]:
            if me[S.DYING] or opp[S.DYING]:
                me[S.BLEEDS + k] = 0
                continue
            part = min(5, me[S.BLEEDS + k])
            add_extra(opp, me, part)
            me[S.BLEEDS + k] -= part
            me[S.BLEEDS + k + 1] += 3


@kernel
def suffer_sacrifice(me, opp, match):
    """Ancient godsword: 25 damage after eight ticks unless the two ever are 5 tiles apart; the attacker heals."""
    for k in range(2):
        since = match[S.TICK] - me[S.SACRIFICES + k]
        if me[S.SACRIFICES + k] == S.NEVER:
            continue
        if distance(me, opp) >= 5:
            me[S.SACRIFICES + k] = S.NEVER
        elif since >= 8:
            me[S.SACRIFICES + k] = S.NEVER
            add_extra(opp, me, 25)
            opp[S.TICK_HEALED] += heal_up_to(opp, 25, max(opp[S.BASE_HP], opp[S.HP]))


@kernel
def scheduled_effects(me, opp, match, drained):
    """The effects that are due at the start of a tick, for one fighter."""
    drain_prayer(me, match, drained)
    regenerate_energy(me, match)
    suffer_poison(me, match)
    suffer_bleed(me, opp, match)
    suffer_sacrifice(me, opp, match)


@kernel
def restore_stats(me, match):
    """Every 100 ticks each skill moves one level towards its base; Prayer does not rise."""
    if left(me, match, S.T_STAT) > 0:
        return
    me[S.T_STAT] = match[S.TICK] + 100
    if me[S.DYING]:
        return
    for skill in range(7):
        level, base = me[S.LEVEL + skill], me[S.BASE + skill]
        if level > base:
            me[S.LEVEL + skill] = level - 1
        elif level < base and skill != S.PRAYER:
            me[S.LEVEL + skill] = level + 1
