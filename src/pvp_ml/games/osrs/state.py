"""Where every number of a fight lives: the columns of the int32 state arrays and the codes stored in them.

Two arrays hold a batch: `fighters` [M,2,FIGHTER_SIZE] and `matches` [M,MATCH_SIZE], both int32. Kernels take row views
(`me = fighters[m, i]`, `match = matches[m]`) and read `me[S.HP]`. Section numbers refer to the rules document.

A timer column holds the tick at which the timer has run out: left = max(0, me[T_X] - match[TICK]); NEVER when unset.
"""

from __future__ import annotations

_width = 0


def _take(count: int = 1) -> int:
    """The next free column; `count` reserves a run of columns and gives the first."""
    global _width
    first, _width = _width, _width + count
    return first


NEVER = -1_000_000
"""A timer that was never set since the reset; far enough below zero that every clamp treats it as long ago."""

# --- fighter row -----------------------------------------------------------------------------------------------------
# current levels (LEVEL + skill) and base levels (BASE + skill), same order
SKILLS = ("attack", "strength", "defence", "ranged", "magic", "prayer", "hitpoints")
ATTACK, STRENGTH, DEFENCE, RANGED, MAGIC, PRAYER, HITPOINTS = range(7)
LEVEL = _take(7)
ATT, STR, DEF, RNG, MAG, PRAY, HP = range(LEVEL, LEVEL + 7)
BASE = _take(7)
BASE_ATT, BASE_STR, BASE_DEF, BASE_RNG, BASE_MAG, BASE_PRAY, BASE_HP = range(BASE, BASE + 7)

# timers: the tick in which each runs out
T_ATTACK = _take()
T_FOOD = _take()
T_POTION = _take()
T_KARAMBWAN = _take()
T_FREEZE = _take()
T_IMMUNE = _take()
T_VENG = _take()
T_STAT = _take()

# place and movement; a walking queue on free ground is its last tile, because the path follows from it
X = _take()
Y = _take()
WALKING = _take()  # 0 queue empty, STRAIGHT, ON_PATH
DEST_X = _take()
DEST_Y = _take()
MOVING = _take()
WALKS = _take()  # 1: one tile a tick (run energy spent); our fights always run, replays of recorded ones need it

# combat
TARGET = _take()  # 1: the opponent is the combat target
FOLLOW = _take()  # 1: combat-following is on
SPELL = _take()  # selected spell, 0 none, SPELL_*
SPEC_ON = _take()  # special switched on
MAUL_QUEUED = _take()  # granite maul presses of this tick
ENERGY = _take()  # special energy 0…100
REGEN_AT = _take()  # tick of the next +10, NEVER when not running
PRAYERS = _take()  # bit set of the prayers below
VENGEANCE = _take()
DYING = _take()
SPELLBOOK = _take()  # 0 ancient, 1 lunar
PID = _take()  # 0…2^30, lower acts first
PID_LEFT = _take()  # ticks until the next re-roll
RECOIL_SPENT = _take()
POISON = _take()  # damage of the next poison splat, 0 none
POISON_AT = _take()
POISON_COUNT = _take()
BLEEDS = _take(4)  # Morrigan's javelin on this fighter, two at most: damage still to come, tick of the next part
SACRIFICES = _take(2)  # ancient godsword marks on this fighter, two at most: tick at which the mark was set, NEVER none
IS_BOT = _take()  # 0 agent, BOT_*
BOT_ENEMY = _take()  # bot: 1 once the opponent has executed a hit on it
BOT_RETALIATE_AT = _take()

# gear: item codes (items.py), 0 = empty
HEAD, CAPE, AMULET, WEAPON, BODY, SHIELD, LEGS, HANDS, FEET, RING, AMMUNITION = range(11)
SLOTS = 11
WORN = _take(SLOTS)
W_RANGED = _take()  # weapons of the sets
W_MELEE = _take()
W_SPEC = _take()
MELEE_TWO_HANDED = _take()
SPEC_TWO_HANDED = _take()
PRAY_MAGE = _take()  # prayers that go with a set, bit sets
PRAY_RANGED = _take()
PRAY_MELEE = _take()
BUILD = _take()

# derived from WORN whenever it changes: all bonuses (ammunition left out with a thrown weapon)
BONUS = _take(14)
(
    B_ATT_STAB,
    B_ATT_SLASH,
    B_ATT_CRUSH,
    B_ATT_MAGIC,
    B_ATT_RANGED,
    B_DEF_STAB,
    B_DEF_SLASH,
    B_DEF_CRUSH,
    B_DEF_MAGIC,
    B_DEF_RANGED,
    B_STR,
    B_RANGED_STR,
    B_MAGIC_PERCENT,
    B_PRAYER,
) = range(14)
SEEN = _take(14)  # the same sums without ring and ammunition (142…159)

# derived from INV whenever it changes: COUNT + kind; potions in doses, food and free slots in pieces
KIND_OTHER, KIND_RANGING, KIND_COMBAT, KIND_RESTORE, KIND_BREW, KIND_ANGLERFISH, KIND_KARAMBWAN, KIND_SHARK = range(8)
KIND_EMPTY = 8
KINDS = 9
COUNT = _take(KINDS)

HITS = _take()  # entries of the two queues below
DUES = _take()

# remembered for observations
SEEN_HP = _take()  # the opponent's HP when its last new hitsplat was noticed (11), 0 before
TAKEN_SUM = _take()  # damage shown on me over the match (65), in points

# what this fighter's own hits looked like (63…95): counted when the hit is created
N_HITS = _take()
N_STYLE = _take(3)  # melee, ranged, magic
N_PRAYED = _take(3)  # the victim prayed against melee, ranged, magic
N_MATCHED = _take()  # the victim's protection matched
RECENT_STYLE = _take(3)  # counts of the values in the three lists
RECENT_PRAYED = _take(3)
RECENT_MATCHED = _take(3)
MEMORY = _take(15)  # 145…159 as this fighter remembers the opponent, −1 unknown
MEMORY_STR = _take()  # Melee strength of the remembered melee gear
SEEN_LUNAR = _take()  # 165

# this tick only, cleared before every tick
TICK_FIRST = _width
SPLATS = _take()  # hitsplats shown on this fighter, 0…2
SPLAT_DAMAGE = _take()
TICK_HITS = _take()  # hits created this tick
TICK_LAST_DAMAGE = _take()  # total of the last of them
TICK_STYLE = _take()  # style + 1 of the last of them
TICK_PRAYED = _take()  # victim's protection style + 1 at the last of them, 0 none
TICK_MATCHED = _take()  # the last of them met a matching prayer
TICK_GENERATED = _take()  # sum of totals
TICK_EXTRA = _take()  # damage not belonging to an attack that this fighter caused
TICK_SPEED = _take()
TICK_SMITE = _take()
TICK_HEALED = _take()
TICK_ATE = _take()  # entries of `meta`, in HP; ATE counts pieces
TICK_EATEN = _take()
TICK_WASTED = _take()
TICK_EAT_AT = _take()
TICK_EAT_TO = _take()
TICK_BREWED = _take()
TICK_BREW_WASTED = _take()
TICK_BREW_AT = _take()
TICK_BREW_TO = _take()
TICK_SPECIALS = _take()  # specials started, for metrics
TICK_SPELL = _take()  # spell that was cast
TICK_ENERGY = _take()  # special energy that was spent
TICK_LAST = _width

# previous tick, for reward terms over two steps (trainer rules 15…18)
WAS_PRAYER = _take()  # protection style + 1
WAS_STYLE = _take()  # weapon class seen
WAS_FROZEN = _take()

# constant observations 96…141 of this fighter, in order
CONST = _take(46)

# below: columns that few ticks touch, so that the others share cache lines
INVENTORY_SIZE = 28
INV = _take(INVENTORY_SIZE)
SET_SIZE = 12
SETS = _take(5 * SET_SIZE)  # item codes in equip order, 0 after the last; SETS + k * SET_SIZE is set k
SET_MAGE, SET_RANGED, SET_MELEE, SET_SPEC, SET_TANK = range(5)
LAST_STYLES = _take(5)  # of N_HITS … N_MATCHED, newest first, style + 1, 0 empty
LAST_PRAYERS = _take(5)
LAST_MATCHED = _take(5)  # 1 not matched, 2 matched, 0 empty
# hits queued on this fighter, oldest first; see HIT_* for one entry
HIT_DELAY, HIT_TOTAL, HIT_ACCURATE, HIT_STYLE, HIT_METHOD, HIT_PARTS, HIT_PART = range(7)
HIT_SIZE = HIT_PART + 4
HIT_SLOTS = 8
HIT_QUEUE = _take(HIT_SLOTS * HIT_SIZE)
DUE_SLOTS = 16
DUE_QUEUE = _take(DUE_SLOTS)  # damage parts that are due and not yet shown
PATH_AT = _take()  # tiles of PATH that have been walked
PATH = _take(10)  # a route around blocked ground: ten steps to a column, three bits each, see kernels/ground.py
FIGHTER_SIZE = _width

# --- match row -------------------------------------------------------------------------------------------------------
_width = 0
TICK = _take()
KEY0 = _take()  # random key, from the plan's seed alone
KEY1 = _take()
DRAWS = _take()  # numbers drawn so far
FIGHT_TYPE = _take()  # 0 NORMAL, 1 LMS, 2 PVP_ARENA
MAX_TICKS = _take()
DEATH_MATCH = _take()
PRAYER_GATE = _take()  # onlySwitchPrayerWhenAboutToAttack
GEAR_GATE = _take()  # onlySwitchGearWhenAttackSoon
ALLOW_SMITE = _take()
ALLOW_REDEMPTION = _take()
ALLOW_MOVING = _take()  # allowMovingIfCanAttack
BUILD_OPTIONS = _take()  # bit set of builds to draw from
FIGHT_RULE = _take()  # 0…2 that fight type, FIGHT_OF_BUILD, FIGHT_DRAWN
RANDOM_GEAR = _take()
RANDOM_TILES = _take()
LIVE = _take()  # 1: a match is running in this row
TERRAIN = _take()  # 1: the ground of the wilderness, 0: open ground
# quirks of the reference, 1 = as in the reference (see switches.py for the list)
Q_SPECIAL_ACCURACY_MELEE_ONLY = _take()
Q_CLAWS_PATTERN = _take()
Q_SPECIALS_IGNORE_PROTECTION = _take()
Q_WEAPON_SPEEDS = _take()
Q_OPAL_ON_MISS = _take()
Q_DRAGONSTONE_BLOCKED = _take()
Q_AHRIM_UNARMED = _take()
Q_FREEZE_TICKS = _take()
Q_TWO_SPLATS = _take()
Q_PID_EACH = _take()
Q_DRINK_STOPS_ATTACK = _take()
Q_PRAYER_DRAIN_RATES = _take()
Q_REDEMPTION_BEFORE_DAMAGE = _take()
Q_REGEN_FROM_DRAIN = _take()
Q_REGEN_PHASE_CARRIED = _take()
Q_LMS_REFILL = _take()
Q_MOVING_MELEE = _take()
Q_POISON_CHANCE = _take()
Q_TENTACLE_POISON = _take()
Q_BLOOD_FURY_CHANCE = _take()
Q_FOOD_COUNT_ANGLERFISH = _take()
Q_DAMAGE_RECEIVED_ZERO = _take()
Q_BOT_POTS_UP = _take()
MATCH_SIZE = _width

# --- codes -----------------------------------------------------------------------------------------------------------
# attack styles; protection prayers and attack types follow this order
MELEE, RANGE, MAGE = range(3)

# walking queues: the path on free ground to DEST, or the steps of PATH
STRAIGHT, ON_PATH = 1, 2

# attack methods
METHOD_MELEE, METHOD_RANGED, METHOD_SPELL, METHOD_SPECIAL = range(4)

# spells: rush, burst, blitz, barrage of ice, then of blood; 0 = none
SPELL_NONE = 0
ICE_RUSH, ICE_BURST, ICE_BLITZ, ICE_BARRAGE, BLOOD_RUSH, BLOOD_BURST, BLOOD_BLITZ, BLOOD_BARRAGE = range(1, 9)

# special attacks, the number in the items table
(
    SPECIAL_NONE,
    DRAGON_DAGGER,
    ARMADYL_GODSWORD,
    ANCIENT_GODSWORD,
    DRAGON_CLAWS,
    GRANITE_MAUL,
    VESTAS_LONGSWORD,
    STATIUS_WARHAMMER,
    ARMADYL_CROSSBOW,
    ZARYTE_CROSSBOW,
    BALLISTA,
    MORRIGANS_JAVELIN,
    DRAGON_KNIFE,
    DARK_BOW,
    VOLATILE_STAFF,
    ABYSSAL_WHIP,
    ABYSSAL_TENTACLE,
    DRAGON_SCIMITAR,
) = range(18)

# prayers as bits, bit = the game's prayer number
STEEL_SKIN = 1 << 13
ULTIMATE_STRENGTH = 1 << 14
INCREDIBLE_REFLEXES = 1 << 15
PROTECT_MAGIC = 1 << 16
PROTECT_RANGED = 1 << 17
PROTECT_MELEE = 1 << 18
EAGLE_EYE = 1 << 19
MYSTIC_MIGHT = 1 << 20
REDEMPTION = 1 << 22
SMITE = 1 << 23
PIETY = 1 << 26
RIGOUR = 1 << 27
AUGURY = 1 << 28
OVERHEADS = PROTECT_MAGIC | PROTECT_RANGED | PROTECT_MELEE | REDEMPTION | SMITE

FIGHT_NORMAL, FIGHT_LMS, FIGHT_ARENA, FIGHT_OF_BUILD, FIGHT_DRAWN = range(5)
BUILDS = ("PURE", "ZERKER", "MED", "MAXED", "LMS_PURE", "LMS_ZERKER", "LMS_MED", "DHAROK")
ANCIENT, LUNAR = 0, 1
BOT_NONE, BOT_NH, BOT_DHAROK = range(3)

# forced dice: `dice` [CHANNELS, 1 + n] per match; see kernels/dice.py
FREE = -(1 << 31)
CHANNEL_HITS = 0  # + seat of the attacker: accurate, parts, part 1…4 for every hit that is created
CHANNEL_WALK = 2  # + seat: x, y of every walk destination that is drawn among equals
CHANNEL_POISON = 4  # + seat of the attacker: 1 poisoned, 0 not, for every hit that could poison
CHANNEL_FURY = 6  # + seat of the attacker: 1 healed, 0 not, for every hit that could heal through blood fury
CHANNELS = 8
