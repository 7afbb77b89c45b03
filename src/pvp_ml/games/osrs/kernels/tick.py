"""One tick of a fight; `play_tick` has the order of its steps."""

from __future__ import annotations

from pvp_ml.games.osrs import items as I
from pvp_ml.games.osrs import state as S
from pvp_ml.games.osrs.kernels.actions import act_dharok, act_nh
from pvp_ml.games.osrs.kernels.attack import attack
from pvp_ml.games.osrs.kernels.bots import decide, retaliate
from pvp_ml.games.osrs.kernels.dice import below
from pvp_ml.games.osrs.kernels.fighter import food_left, left, protection
from pvp_ml.games.osrs.kernels.impact import receive_hits, restore_stats, scheduled_effects
from pvp_ml.games.osrs.kernels.jit import kernel
from pvp_ml.games.osrs.kernels.move import move

PID_RANGE = 1 << 30

RUNNING, WON_0, WON_1, TIED, TRUNCATED = range(5)


@kernel
def observed_style(me, match):
    """Observations 0…2: class of the held weapon as melee, ranged or magic."""
    weapon = me[S.WORN + S.WEAPON]
    if weapon == I.AHRIMS_STAFF and match[S.Q_AHRIM_UNARMED]:
        return S.MELEE
    return I.ITEM_OBSERVED[weapon]


@kernel
def notice_health(me, opp):
    """New hitsplats are noticed after observation 11 was written, so it lags one tick."""
    if opp[S.SPLATS] > 0:
        me[S.SEEN_HP] = opp[S.HP]


@kernel
def open_tick(me, match):
    """Forget what belonged to the last tick; note what rewards compare with (before the clock moves)."""
    me[S.WAS_PRAYER] = protection(me)
    me[S.WAS_STYLE] = observed_style(me, match)
    me[S.WAS_FROZEN] = left(me, match, S.T_FREEZE)
    for column in range(S.TICK_FIRST, S.TICK_LAST):
        me[column] = 0


@kernel
def count_down_pid(me, match):
    """Own re-roll every 40…60 ticks, except in the arena."""
    if match[S.FIGHT_TYPE] == S.FIGHT_ARENA:
        return
    me[S.PID_LEFT] -= 1
    if me[S.PID_LEFT] <= 0:
        me[S.PID] = below(match, PID_RANGE)
        me[S.PID_LEFT] = 40 + below(match, 21) if match[S.Q_PID_EACH] else 100 + below(match, 51)


@kernel
def close_tick(me, opp, match):
    """The end of the tick: LMS refills Prayer; a charged vengeance has been seen; sums for the observations."""
    if match[S.FIGHT_TYPE] == S.FIGHT_LMS and match[S.Q_LMS_REFILL]:
        me[S.PRAY] = me[S.BASE_PRAY]
    if opp[S.VENGEANCE]:
        me[S.SEEN_LUNAR] = 1
    me[S.TAKEN_SUM] += me[S.SPLAT_DAMAGE]


@kernel
def take_turn(fighters, match, actions, dice, seat, enemy_first, dharok):
    """One seat decides: a bot decides on last tick's clock, an agent's action is executed on this one's."""
    me, opp = fighters[seat], fighters[1 - seat]
    if me[S.IS_BOT]:
        match[S.TICK] -= 1
        decide(me, opp, match, enemy_first)
        match[S.TICK] += 1
    elif actions[seat, 0] >= 0:
        if dharok:
            act_dharok(me, match, actions[seat])
        else:
            act_nh(me, opp, match, dice, seat, actions[seat])


@kernel
def fight_step(fighters, match, dice, seat, hit):
    """One seat moves and fights: PID, movement, combat, stat restoration."""
    me, opp = fighters[seat], fighters[1 - seat]
    count_down_pid(me, match)
    move(me, opp, match)
    receive_hits(me, opp, match, dice, 1 - seat)
    attack(me, opp, match, dice, seat, hit)
    restore_stats(me, match)


@kernel
def outcome(fighters, match):
    """Death, an empty supply and the step cap. Both dying is a tie (the original has two winners)."""
    first, second = fighters[0], fighters[1]
    if first[S.DYING] and second[S.DYING]:
        return TIED
    if second[S.DYING]:
        return WON_0
    if first[S.DYING]:
        return WON_1
    if not match[S.DEATH_MATCH] and (food_left(first) == 0 or food_left(second) == 0):
        return TIED
    return TRUNCATED if match[S.TICK] >= match[S.MAX_TICKS] else RUNNING


@kernel
def play_tick(fighters, match, drained, actions, dice, hit, dharok):
    """One tick of one match: fighters [2,F], match [G], drained [2] float64, actions [2,H], scratch hit [HIT_SIZE]."""
    first, second = fighters[0], fighters[1]
    notice_health(first, second)
    notice_health(second, first)
    open_tick(first, match)
    open_tick(second, match)
    match[S.TICK] += 1
    scheduled_effects(first, second, match, drained[0:1])
    scheduled_effects(second, first, match, drained[1:2])
    lead = 0 if first[S.PID] <= second[S.PID] else 1
    for turn in range(2):
        seat = lead if turn == 0 else 1 - lead
        if fighters[seat, S.IS_BOT]:
            retaliate(fighters[seat], match)
        take_turn(fighters, match, actions, dice, seat, turn, dharok)
    for turn in range(2):
        fight_step(fighters, match, dice, lead if turn == 0 else 1 - lead, hit)
    if not match[S.Q_PID_EACH]:
        share_shuffle(first, second, match)
    close_tick(first, second, match)
    close_tick(second, first, match)
    return outcome(fighters, match)


@kernel
def share_shuffle(first, second, match):
    """Section 8: in the live game one shuffle serves everybody; the second fighter's re-roll waits for the first's."""
    second[S.PID_LEFT] = first[S.PID_LEFT]


@kernel
def are_in_range(actions, sizes):
    """True when in every row of actions [M,2,H] each seat is all IDLE or inside its heads, whether it acts or not."""
    heads = sizes.shape[0]
    for m in range(actions.shape[0]):
        for seat in range(2):
            idle = 0
            for h in range(heads):
                value = actions[m, seat, h]
                if value == -1:
                    idle += 1
                elif value < 0 or value >= sizes[h]:
                    return False
            if idle > 0 and idle < heads:
                return False
    return True
