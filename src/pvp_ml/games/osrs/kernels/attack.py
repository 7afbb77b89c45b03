"""Performing an attack: choose the method, roll its hits, queue them on the victim, remember them."""

from __future__ import annotations

from pvp_ml.games.osrs import items as I
from pvp_ml.games.osrs import state as S
from pvp_ml.games.osrs.kernels.combat import (
    SPELL_LEVEL,
    SPELL_SPEED,
    attack_numbers,
    blood_heal,
    bolt_chance,
    bolt_damage,
    claw_parts,
    dark_bow_damage,
    delay_kind,
    freeze_ticks,
    hit_chance,
    hit_delay,
    protected,
    protects,
    statius_damage,
    vesta_damage,
    vesta_defence_roll,
    volatile_damage,
)
from pvp_ml.games.osrs.kernels.dice import below, forced, uniform
from pvp_ml.games.osrs.kernels.fighter import heal_up_to, left, protection, spend_energy, stop_attacking
from pvp_ml.games.osrs.kernels.jit import kernel
from pvp_ml.games.osrs.kernels.move import can_reach, distance, method_of, style_of

# --- remembering hits ------------------------------------------------------------------------------------------------


@kernel
def push(me, first, counts, value):
    """Put a value (0…2) in front of a list of the last five, and keep the counts of the values in it."""
    oldest = me[first + 4]
    if oldest > 0:
        me[counts + oldest - 1] -= 1
    me[counts + value] += 1
    for k in range(4, 0, -1):
        me[first + k] = me[first + k - 1]
    me[first] = value + 1


@kernel
def remember_gear(victim, attacker, style):
    """145…159: what the victim has seen of the attacker's gear of that style."""
    if style == S.MAGE:
        first, gear, accuracy, strength = 0, 6, S.B_ATT_MAGIC, S.B_MAGIC_PERCENT
    elif style == S.RANGE:
        first, gear, accuracy, strength = 2, 9, S.B_ATT_RANGED, S.B_RANGED_STR
    else:
        if attacker[S.SEEN + S.B_STR] < victim[S.MEMORY_STR]:
            return
        victim[S.MEMORY_STR] = attacker[S.SEEN + S.B_STR]
        first, gear, accuracy, strength = 4, 12, S.B_ATT_SLASH, S.B_STR
    victim[S.MEMORY + first] = attacker[S.SEEN + accuracy]
    victim[S.MEMORY + first + 1] = attacker[S.SEEN + strength]
    victim[S.MEMORY + gear] = attacker[S.SEEN + S.B_DEF_RANGED]
    victim[S.MEMORY + gear + 1] = attacker[S.SEEN + S.B_DEF_MAGIC]
    victim[S.MEMORY + gear + 2] = attacker[S.SEEN + S.B_DEF_SLASH]


@kernel
def remember_hit(attacker, victim, style, total):
    """Count a hit when it is created: styles, the victim's prayer, the gear it was made with."""
    prayed = protection(victim)
    matched = 1 if prayed == style + 1 else 0
    attacker[S.N_HITS] += 1
    attacker[S.N_STYLE + style] += 1
    attacker[S.N_MATCHED] += matched
    push(attacker, S.LAST_STYLES, S.RECENT_STYLE, style)
    push(attacker, S.LAST_MATCHED, S.RECENT_MATCHED, matched)
    if prayed > 0:
        attacker[S.N_PRAYED + prayed - 1] += 1
        push(attacker, S.LAST_PRAYERS, S.RECENT_PRAYED, prayed - 1)
    remember_gear(victim, attacker, style)
    attacker[S.TICK_HITS] += 1
    attacker[S.TICK_LAST_DAMAGE] = total
    attacker[S.TICK_STYLE] = style + 1
    attacker[S.TICK_PRAYED] = prayed
    attacker[S.TICK_MATCHED] = matched
    attacker[S.TICK_GENERATED] += total
    if attacker[S.PRAYERS] & S.SMITE:
        attacker[S.TICK_SMITE] = 1


# --- queueing hits ---------------------------------------------------------------------------------------------------


@kernel
def queue_hit(attacker, victim, dice, seat, hit):
    """Queue a calculated hit [HIT_SIZE] on the victim; recorded dice replace its accuracy and parts."""
    accurate = forced(dice, S.CHANNEL_HITS + seat)
    if accurate != S.FREE:
        hit[S.HIT_ACCURATE] = accurate
        hit[S.HIT_PARTS] = forced(dice, S.CHANNEL_HITS + seat)
        for k in range(4):
            hit[S.HIT_PART + k] = forced(dice, S.CHANNEL_HITS + seat)
    total = 0
    for k in range(hit[S.HIT_PARTS]):
        total += hit[S.HIT_PART + k]
    for k in range(hit[S.HIT_PARTS], S.HIT_SIZE - S.HIT_PART):
        hit[S.HIT_PART + k] = 0  # left by another match's hit
    hit[S.HIT_TOTAL] = total
    if victim[S.HITS] < S.HIT_SLOTS:
        first = S.HIT_QUEUE + victim[S.HITS] * S.HIT_SIZE
        victim[S.HITS] += 1
        for k in range(S.HIT_SIZE):
            victim[first + k] = hit[k]
    remember_hit(attacker, victim, hit[S.HIT_STYLE], total)


# --- rolling hits ----------------------------------------------------------------------------------------------------


@kernel
def roll_bolt(attacker, victim, match, special, accurate, damage):
    """The effect of an enchanted bolt on a rolled hit."""
    ammunition = attacker[S.WORN + S.AMMUNITION]
    if not accurate and not match[S.Q_OPAL_ON_MISS]:
        return damage
    chance = bolt_chance(ammunition, special, accurate)
    if chance <= 0.0 or uniform(match) >= chance:
        return damage
    prayers = victim[S.PRAYERS] if match[S.Q_DRAGONSTONE_BLOCKED] else 0
    return bolt_damage(ammunition, attacker[S.WORN + S.WEAPON], damage, attacker[S.RNG], prayers)


@kernel
def roll_damage(attacker, victim, match, style, special, accurate, max_hit):
    """One ordinary damage part, protection and bolt effect included."""
    damage = 0
    if accurate:
        damage = below(match, max_hit + 1)
        if protects(victim[S.PRAYERS], style):
            damage = protected(damage)
    if style == S.RANGE and I.ITEM_CLASS[attacker[S.WORN + S.WEAPON]] == I.CLASS_CROSSBOW:
        damage = roll_bolt(attacker, victim, match, special, accurate, damage)
    return damage


@kernel
def shielded(victim, match, style, damage):
    """Damage that a special assigns directly: past protection in the reference, reduced in the live game (8)."""
    if not match[S.Q_SPECIALS_IGNORE_PROTECTION] and protects(victim[S.PRAYERS], style):
        return protected(damage)
    return damage


@kernel
def roll_claws(victim, match, chance, max_hit, hit):
    """Dragon claws: four rolls, the first that lands sets the pattern; accurate is the fourth roll's outcome."""
    first, accurate = 0, 0
    maximum = max_hit
    if protects(victim[S.PRAYERS], S.MELEE):
        maximum = protected(max_hit)
    for roll in range(1, 5):
        accurate = 1 if chance > uniform(match) else 0
        if accurate and first == 0:
            damage = below(match, max_hit + 1)
            if protects(victim[S.PRAYERS], S.MELEE):
                damage = protected(damage)
            if damage > 0 or not match[S.Q_CLAWS_PATTERN]:
                first = roll
    claw_parts(maximum, first, uniform(match), below(match, 2), hit[S.HIT_PART :])
    hit[S.HIT_ACCURATE] = accurate
    hit[S.HIT_PARTS] = 4


@kernel
def roll_vesta(attacker, victim, match, attack_roll, chance, max_hit, hit):
    """Vesta's longsword: a test against a quarter of the stab defence; a failure re-rolls the accurate flag."""
    defence = vesta_defence_roll(victim[S.DEF], victim[S.PRAYERS], victim[S.BONUS + S.B_DEF_STAB])
    hit[S.HIT_PART] = 0
    if hit_chance(attack_roll, defence) > uniform(match):
        hit[S.HIT_ACCURATE] = 1
        hit[S.HIT_PART] = shielded(victim, match, S.MELEE, vesta_damage(max_hit, uniform(match)))
    else:
        hit[S.HIT_ACCURATE] = 1 if chance > uniform(match) else 0


@kernel
def roll_hit(attacker, victim, match, style, special, numbers, hit):
    """Accuracy and parts of one hit; `numbers` = (attack roll, defence roll, max hit)."""
    attack_roll, defence_roll, max_hit = numbers
    chance = hit_chance(attack_roll, defence_roll)
    hit[S.HIT_PARTS] = 1
    if special == S.DRAGON_CLAWS:
        roll_claws(victim, match, chance, max_hit, hit)
        return
    if special == S.VESTAS_LONGSWORD:
        roll_vesta(attacker, victim, match, attack_roll, chance, max_hit, hit)
        return
    accurate = 1 if chance > uniform(match) else 0
    damage = 0
    if special == S.STATIUS_WARHAMMER:
        if accurate:
            damage = shielded(victim, match, style, statius_damage(max_hit, uniform(match)))
    elif special == S.VOLATILE_STAFF:
        if accurate:
            percent = attacker[S.BONUS + S.B_MAGIC_PERCENT]
            damage = shielded(victim, match, style, volatile_damage(max_hit, percent, uniform(match)))
    else:
        damage = roll_damage(attacker, victim, match, style, special, accurate, max_hit)
    if special == S.DARK_BOW:
        damage = dark_bow_damage(damage)
        accurate = 1
    hit[S.HIT_ACCURATE] = accurate
    hit[S.HIT_PART] = damage


@kernel
def hits_of(attacker, special):
    """How many hits one attack makes."""
    if special == S.GRANITE_MAUL:
        return max(1, attacker[S.MAUL_QUEUED])
    if special in (S.DRAGON_DAGGER, S.DRAGON_KNIFE):
        return 2
    if special == S.SPECIAL_NONE and I.ITEM_CLASS[attacker[S.WORN + S.WEAPON]] == I.CLASS_DARK_BOW:
        return 2 if attacker[S.SPELL] == S.SPELL_NONE else 1
    return 2 if special == S.DARK_BOW else 1


@kernel
def speed_of(attacker, match, style, special):
    """Ticks until the next attack."""
    if style == S.MAGE:
        return SPELL_SPEED
    weapon = attacker[S.WORN + S.WEAPON]
    if not match[S.Q_WEAPON_SPEEDS]:
        return I.ITEM_LIVE_SPEED[weapon]
    if special == S.DARK_BOW:
        return 8
    return I.ITEM_SPEED[weapon]


# --- the attack ------------------------------------------------------------------------------------------------------


@kernel
def apply_spell(attacker, victim, match, spell, total):
    """Freeze the victim or heal the caster when the spell is accurate, in the tick of the cast."""
    ticks = freeze_ticks(spell, 0 if match[S.Q_FREEZE_TICKS] else 1)
    if ticks > 0:
        if left(victim, match, S.T_FREEZE) == 0 and left(victim, match, S.T_IMMUNE) == 0:
            victim[S.T_FREEZE] = match[S.TICK] + ticks
            victim[S.T_IMMUNE] = match[S.TICK] + ticks + 5
            victim[S.WALKING] = 0
            victim[S.MOVING] = 0
    else:
        heal = blood_heal(spell, total, attacker[S.WORN + S.WEAPON])
        attacker[S.TICK_HEALED] += heal_up_to(attacker, heal, max(attacker[S.BASE_HP], attacker[S.HP]))


@kernel
def launch(attacker, victim, match, dice, seat, hit, method):
    """Drain energy, calculate and queue all hits, set the attack timer. `hit` is scratch [HIT_SIZE]."""
    style = style_of(attacker, method)
    spell = attacker[S.SPELL] if method == S.METHOD_SPELL else S.SPELL_NONE
    weapon = attacker[S.WORN + S.WEAPON]
    special = I.ITEM_SPECIAL[weapon] if method == S.METHOD_SPECIAL else S.SPECIAL_NONE
    count = hits_of(attacker, special)
    if special != S.SPECIAL_NONE:
        spend_energy(attacker, match, I.SPEC_COST[special] * (count if special == S.GRANITE_MAUL else 1))
        attacker[S.TICK_SPECIALS] += 1
    attacker[S.TICK_SPELL] = spell
    live = 0 if match[S.Q_SPECIAL_ACCURACY_MELEE_ONLY] else 1
    numbers = attack_numbers(
        style,
        special,
        spell,
        attacker[S.LEVEL : S.LEVEL + 7],
        attacker[S.PRAYERS],
        attacker[S.BONUS : S.BONUS + 14],
        attacker[S.WORN : S.WORN + S.SLOTS],
        attacker[S.BASE_HP],
        victim[S.LEVEL : S.LEVEL + 7],
        victim[S.PRAYERS],
        victim[S.BONUS : S.BONUS + 14],
        live,
    )
    far = distance(attacker, victim)
    for index in range(count):
        second = 1 if index == 1 and I.ITEM_CLASS[weapon] == I.CLASS_DARK_BOW else 0
        hit[S.HIT_DELAY] = hit_delay(delay_kind(style, weapon, special, second), far)
        hit[S.HIT_STYLE] = style
        hit[S.HIT_METHOD] = special
        roll_hit(attacker, victim, match, style, special, numbers, hit)
        queue_hit(attacker, victim, dice, seat, hit)
        if spell != S.SPELL_NONE and hit[S.HIT_ACCURATE]:
            apply_spell(attacker, victim, match, spell, hit[S.HIT_TOTAL])
    speed = speed_of(attacker, match, style, special)
    attacker[S.TICK_SPEED] = speed
    if special != S.GRANITE_MAUL:
        attacker[S.T_ATTACK] = match[S.TICK] + speed
    attacker[S.SPEC_ON] = 0
    if style == S.MAGE:
        attacker[S.SPELL] = S.SPELL_NONE
        stop_attacking(attacker)
        attacker[S.WALKING] = 0
        attacker[S.MOVING] = 0


@kernel
def may_attack(me, opp, match, method):
    """The tests between reach and the attack; a failed one may clear the target."""
    special = I.ITEM_SPECIAL[me[S.WORN + S.WEAPON]] if method == S.METHOD_SPECIAL else S.SPECIAL_NONE
    if special != S.GRANITE_MAUL and left(me, match, S.T_ATTACK) > 0:
        return False
    if distance(me, opp) >= 40:
        stop_attacking(me)
        return False
    if method == S.METHOD_SPELL and (me[S.MAG] < SPELL_LEVEL[me[S.SPELL]] or me[S.SPELLBOOK] != S.ANCIENT):
        me[S.SPELL] = S.SPELL_NONE
        stop_attacking(me)
        return False
    if special != S.SPECIAL_NONE and me[S.ENERGY] < I.SPEC_COST[special]:
        me[S.SPEC_ON] = 0
        stop_attacking(me)
        return False
    return True


@kernel
def attack(me, opp, match, dice, seat, hit):
    """The attacking half of a fighter's combat step; granite-maul presses do not outlive it."""
    if me[S.TARGET] and (me[S.DYING] or opp[S.DYING]):
        stop_attacking(me)
    elif me[S.TARGET]:
        me[S.FOLLOW] = 1
        method = method_of(me)
        if can_reach(me, opp, match, method) and may_attack(me, opp, match, method):
            launch(me, opp, match, dice, seat, hit, method)
    me[S.MAUL_QUEUED] = 0
