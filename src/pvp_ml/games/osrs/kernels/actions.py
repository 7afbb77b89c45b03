"""What an agent's action does in its slot of the tick."""

from __future__ import annotations

from pvp_ml.games.osrs import items as I
from pvp_ml.games.osrs import state as S
from pvp_ml.games.osrs.kernels.combat import best_spell
from pvp_ml.games.osrs.kernels.fighter import (
    cast_vengeance,
    drink,
    eat_food,
    eat_karambwan,
    equip,
    equip_set,
    pray_offensively,
    pray_overhead,
    press_maul,
    refresh_bonuses,
    slot_of,
    switch_special_on,
    take_off,
)
from pvp_ml.games.osrs.kernels.jit import kernel
from pvp_ml.games.osrs.kernels.move import order_walk, walk_near

# heads of NH
ATTACK, MELEE_TYPE, RANGED_TYPE, MAGE_TYPE, POTION, FOOD, KARAMBWAN, VENG, GEAR, MOVEMENT, FARCAST, OVERHEAD = range(12)
# heads of Dharok
D_ATTACK, D_POTION, D_FOOD, D_KARAMBWAN, D_VENG, D_GEAR = range(6)


@kernel
def set_target(me):
    """Attack the opponent and follow it."""
    me[S.TARGET] = 1
    me[S.FOLLOW] = 1


@kernel
def drink_choice(me, match, choice):
    """Brew, restore, combat, ranging as choices 1…4."""
    if choice == 1:
        drink(me, match, S.KIND_BREW)
    elif choice == 2:
        drink(me, match, S.KIND_RESTORE)
    elif choice == 3:
        drink(me, match, S.KIND_COMBAT)
    elif choice == 4:
        drink(me, match, S.KIND_RANGING)


@kernel
def pray_choice(me, choice):
    """Protect from Magic, Missiles, Melee, Smite, Redemption as choices 1…5."""
    if choice == 1:
        pray_overhead(me, S.PROTECT_MAGIC)
    elif choice == 2:
        pray_overhead(me, S.PROTECT_RANGED)
    elif choice == 3:
        pray_overhead(me, S.PROTECT_MELEE)
    elif choice == 4:
        pray_overhead(me, S.SMITE)
    elif choice == 5:
        pray_overhead(me, S.REDEMPTION)


@kernel
def attack_with_magic(me, kind):
    """Attack 1: mage gear and prayers, then an ice spell, a blood spell or the weapon's special."""
    equip_set(me, S.SET_MAGE)
    pray_offensively(me, me[S.PRAY_MAGE])
    if kind == 3:
        me[S.SPELL] = S.SPELL_NONE
        switch_special_on(me)
    else:
        me[S.SPELL] = best_spell(me[S.MAG], S.ICE_RUSH if kind == 1 else S.BLOOD_RUSH)
        me[S.SPEC_ON] = 0
    set_target(me)


@kernel
def attack_with_ranged(me, kind):
    """Attack 2: ranged gear and prayers, special on or off."""
    equip_set(me, S.SET_RANGED)
    me[S.SPELL] = S.SPELL_NONE
    pray_offensively(me, me[S.PRAY_RANGED])
    if kind == 2:
        switch_special_on(me)
    else:
        me[S.SPEC_ON] = 0
    set_target(me)


@kernel
def attack_with_melee(me, kind):
    """Attack 3: melee prayers, then the melee set, or the spec set with its special."""
    pray_offensively(me, me[S.PRAY_MELEE])
    me[S.SPELL] = S.SPELL_NONE
    if kind == 1:
        equip_set(me, S.SET_MELEE)
        me[S.SPEC_ON] = 0
    else:
        equip_set(me, S.SET_SPEC)
        if me[S.W_SPEC] == I.GRANITE_MAUL:
            press_maul(me, me[S.ENERGY] // 50)
        else:
            switch_special_on(me)
    set_target(me)


@kernel
def walk_choice(me, opp, match, dice, seat, movement, farcast):
    """Next to, under, farcast, diagonal as choices 1…4."""
    if movement == 1:
        walk_near(me, opp, match, dice, seat, 1, 1)
    elif movement == 2:
        order_walk(me, match, opp[S.X], opp[S.Y])
    elif movement == 3:
        walk_near(me, opp, match, dice, seat, farcast + 1, 0)
    elif movement == 4:
        walk_near(me, opp, match, dice, seat, 1, 2)


@kernel
def act_nh(me, opp, match, dice, seat, action):
    """The whole action at once, in the order of its steps. An attack without its type is refused."""
    pray_choice(me, action[OVERHEAD])
    if action[FOOD] == 1:
        eat_food(me, match)
    drink_choice(me, match, action[POTION])
    if action[KARAMBWAN] == 1:
        eat_karambwan(me, match)
    if action[GEAR] == 1:
        equip_set(me, S.SET_TANK)
        pray_offensively(me, me[S.PRAY_MAGE])
    if action[VENG] == 1:
        cast_vengeance(me, match)
    attack = action[ATTACK]
    if attack == 1 and action[MAGE_TYPE] > 0:
        attack_with_magic(me, action[MAGE_TYPE])
    elif attack == 2 and action[RANGED_TYPE] > 0:
        attack_with_ranged(me, action[RANGED_TYPE])
    elif attack == 3 and action[MELEE_TYPE] > 0:
        attack_with_melee(me, action[MELEE_TYPE])
    walk_choice(me, opp, match, dice, seat, action[MOVEMENT], action[FARCAST])


# --- Dharok ----------------------------------------------------------------------------------------------------------


@kernel
def equip_one(me, item):
    """Equip one item if it is in the inventory."""
    slot = slot_of(me, item)
    if slot >= 0:
        equip(me, slot)


@kernel
def strip_armour(me):
    """Gear 2: platebody and platelegs off, each needs a free slot."""
    if me[S.WORN + S.BODY] != 0:
        take_off(me, S.BODY)
    if me[S.WORN + S.LEGS] != 0:
        take_off(me, S.LEGS)


@kernel
def wear_armour(me):
    """Gear 1: every item of the initial equipment that is in the inventory, the tentacle and defender included."""
    for k in range(S.SET_SIZE):
        item = me[S.SETS + k]
        if item != 0:
            equip_one(me, item)


@kernel
def act_dharok(me, match, action):
    """Food, potion, karambwan, gear, vengeance, attack."""
    if action[D_FOOD] == 1:
        eat_food(me, match)
    drink_choice(me, match, action[D_POTION])
    if action[D_KARAMBWAN] == 1:
        eat_karambwan(me, match)
    if action[D_GEAR] == 1:
        wear_armour(me)
    elif action[D_GEAR] == 2:
        strip_armour(me)
    if action[D_VENG] == 1:
        cast_vengeance(me, match)
    attack = action[D_ATTACK]
    if attack == 1:
        equip_one(me, I.ABYSSAL_TENTACLE)
        equip_one(me, I.DRAGON_DEFENDER)
    elif attack == 2:
        equip_one(me, I.DHAROKS_AXE)
    elif attack == 3:
        equip_one(me, I.GRANITE_MAUL)
    refresh_bonuses(me)
    if attack == 3 and me[S.WORN + S.WEAPON] == I.GRANITE_MAUL:
        press_maul(me, 2)
    if attack > 0:
        pray_offensively(me, S.PIETY)
        set_target(me)
