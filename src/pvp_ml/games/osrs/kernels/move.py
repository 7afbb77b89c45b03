"""Walking, following, reach (2.5, 3.4, 3.7 R1–R5) on open ground.

The fight area has no obstacles here, so a walking queue is described by its last tile: the path to it is first straight
along the longer axis, then diagonal (M6), and every suffix of such a path is the path from where it starts.
"""

from __future__ import annotations

from pvp_ml.games.osrs import items as I
from pvp_ml.games.osrs import state as S
from pvp_ml.games.osrs.kernels.combat import MAGIC_RANGE
from pvp_ml.games.osrs.kernels.dice import below, forced
from pvp_ml.games.osrs.kernels.fighter import left, stop_attacking
from pvp_ml.games.osrs.kernels.jit import kernel

WILDERNESS_Y = 3525
"""Tiles south of this row are outside the wilderness; walk orders never lead there (2.5)."""


@kernel
def chebyshev(ax, ay, bx, by):
    """cheb(a, b) of 0."""
    return max(abs(ax - bx), abs(ay - by))


@kernel
def distance(me, opp):
    """Chebyshev distance of the fighters."""
    return chebyshev(me[S.X], me[S.Y], opp[S.X], opp[S.Y])


@kernel
def is_beside(me, opp):
    """Observation 33: next to the opponent and not diagonal to it."""
    return abs(me[S.X] - opp[S.X]) + abs(me[S.Y] - opp[S.Y]) == 1


@kernel
def queue_walk(me, match, x, y):
    """Replace the walking queue by the path to a tile; nothing is queued while frozen (M8)."""
    me[S.WALKING] = 0
    if left(me, match, S.T_FREEZE) == 0 and (x != me[S.X] or y != me[S.Y]):
        me[S.WALKING] = 1
        me[S.DEST_X] = x
        me[S.DEST_Y] = y


@kernel
def order_walk(me, match, x, y):
    """2.5: a walk order also drops the selected spell and the attack."""
    me[S.SPELL] = S.SPELL_NONE
    me[S.MOVING] = 0
    stop_attacking(me)
    queue_walk(me, match, x, y)


@kernel
def is_wanted(dx, dy, shape):
    """Shape of a destination: 0 the whole ring, 1 orthogonal neighbours, 2 diagonal neighbours."""
    if shape == 1:
        return dx == 0 or dy == 0
    return shape == 0 or (dx != 0 and dy != 0)


@kernel
def search_ring(me, opp, radius, shape, best, skip):
    """Tiles of the ring around the opponent that I could walk to, row by row from the south.

    With `best` below 0: (least distance from me, how many tiles have it). Otherwise the (x, y) of the tile at distance
    `best` that comes after `skip` others.
    """
    nearest, count = 1 << 20, 0
    for dy in range(-radius, radius + 1):
        y = opp[S.Y] + dy
        if y < WILDERNESS_Y:
            continue
        stride = 1 if dy in (-radius, radius) else 2 * radius
        for dx in range(-radius, radius + 1, stride):
            x = opp[S.X] + dx
            far = max(abs(x - me[S.X]), abs(y - me[S.Y]))
            if far > nearest or not is_wanted(dx, dy, shape):
                continue
            if best >= 0:
                if far == best:
                    if skip == 0:
                        return x, y
                    skip -= 1
            elif far < nearest:
                nearest, count = far, 1
            else:
                count += 1
    return nearest, count


@kernel
def walk_near(me, opp, match, dice, seat, radius, shape):
    """Walk to the best tile of a ring around the opponent: nearest to me, ties by chance; not when already there."""
    best, count = search_ring(me, opp, radius, shape, -1, 0)
    if count == 0 or best == 0:
        return
    x = forced(dice, S.CHANNEL_WALK + seat)
    if x != S.FREE:
        order_walk(me, match, x, forced(dice, S.CHANNEL_WALK + seat))
        return
    x, y = search_ring(me, opp, radius, shape, best, below(match, count) if count > 1 else 0)
    order_walk(me, match, x, y)


@kernel
def is_off_best(me, opp, radius, shape):
    """Masks 9 and 10: a tile of the ring exists that is not my own. There always is one to the north of the border."""
    dx, dy = me[S.X] - opp[S.X], me[S.Y] - opp[S.Y]
    here = max(abs(dx), abs(dy)) == radius and is_wanted(dx, dy, shape) and me[S.Y] >= WILDERNESS_Y
    return not here


@kernel
def method_of(me):
    """3.7 A2: how the fighter attacks now."""
    if me[S.SPELL] != S.SPELL_NONE:
        return S.METHOD_SPELL
    weapon = me[S.WORN + S.WEAPON]
    if me[S.SPEC_ON] or (me[S.MAUL_QUEUED] > 0 and weapon == I.GRANITE_MAUL):
        return S.METHOD_SPECIAL
    if I.ITEM_ATTACK_TYPE[weapon] == 4:
        return S.METHOD_RANGED
    return S.METHOD_MELEE


@kernel
def style_of(me, method):
    """Style of a method: melee, ranged or magic."""
    if method == S.METHOD_SPELL:
        return S.MAGE
    weapon = me[S.WORN + S.WEAPON]
    if I.ITEM_ATTACK_TYPE[weapon] == 4:
        return S.RANGE
    if method == S.METHOD_SPECIAL and I.ITEM_SPECIAL[weapon] == S.VOLATILE_STAFF:
        return S.MAGE
    return S.MELEE


@kernel
def attack_range(me, style):
    """3.7 R2: tiles that the attack reaches."""
    if style == S.MAGE:
        return MAGIC_RANGE
    if style == S.RANGE:
        return I.ITEM_RANGE[me[S.WORN + S.WEAPON]]
    return 1


@kernel
def nearest_beside(me, opp):
    """M5 at distance 1: the best of the opponent's orthogonal neighbours S, N, W, E as (x, y).

    Of equally near tiles the last one on the own row or column wins, else the first: so the recorded fighters walk.
    """
    best_x, best_y, best = 0, 0, 1 << 20
    for index in range(4):
        x, y = opp[S.X], opp[S.Y]
        if index == 0:
            y -= 1
        elif index == 1:
            y += 1
        elif index == 2:
            x -= 1
        else:
            x += 1
        far = chebyshev(me[S.X], me[S.Y], x, y)
        if far < best or (far == best and (x == me[S.X] or y == me[S.Y])):
            best_x, best_y, best = x, y, far
    return best_x, best_y


@kernel
def reach_of(me, opp, match, method):
    """3.7 R1–R4: 1 reachable, 0 not, −1 not because a melee attacker stands diagonal to its standing victim."""
    far = distance(me, opp)
    if far == 0:
        return 0
    style = style_of(me, method)
    reach = attack_range(me, style)
    if style == S.MELEE and me[S.MOVING] and opp[S.MOVING] and match[S.Q_MOVING_MELEE]:
        reach += 1
    if far > reach:
        return 0
    diagonal = style == S.MELEE and me[S.X] != opp[S.X] and me[S.Y] != opp[S.Y]
    if diagonal and not (match[S.Q_MOVING_MELEE] and opp[S.MOVING]):
        return -1
    return 1


@kernel
def can_reach(me, opp, match, method):
    """3.7 R1–R4 as the game tests it: a diagonal melee attacker queues the walk to its victim's side (R4)."""
    reach = reach_of(me, opp, match, method)
    if reach < 0:
        x, y = nearest_beside(me, opp)
        queue_walk(me, match, x, y)
    return reach > 0


@kernel
def follow(me, opp, match):
    """M2, M5, M9: queue the way to a tile from which the attack reaches."""
    me[S.WALKING] = 0
    me[S.MOVING] = 0
    if opp[S.DYING] or abs(me[S.X] - opp[S.X]) > 15 or abs(me[S.Y] - opp[S.Y]) > 15:
        stop_attacking(me)
        return
    method = method_of(me)
    if can_reach(me, opp, match, method):
        return
    reach = attack_range(me, style_of(me, method))
    if reach == 1 or distance(me, opp) == 0:
        x, y = nearest_beside(me, opp)
    else:
        x = min(max(me[S.X], opp[S.X] - reach), opp[S.X] + reach)
        y = min(max(me[S.Y], opp[S.Y] - reach), opp[S.Y] + reach)
    queue_walk(me, match, x, y)


@kernel
def step_once(me):
    """One tile along the queue: the surplus of the longer axis first, then diagonally (M6)."""
    dx, dy = me[S.DEST_X] - me[S.X], me[S.DEST_Y] - me[S.Y]
    if abs(dx) >= abs(dy):
        me[S.X] += 1 if dx > 0 else -1
    if abs(dy) >= abs(dx):
        me[S.Y] += 1 if dy > 0 else -1
    if me[S.X] == me[S.DEST_X] and me[S.Y] == me[S.DEST_Y]:
        me[S.WALKING] = 0


@kernel
def move(me, opp, match):
    """The movement step of a fighter (M1–M4): up to two tiles, always running."""
    if left(me, match, S.T_FREEZE) > 0:
        me[S.WALKING] = 0
        me[S.MOVING] = 0
        return
    if me[S.FOLLOW]:
        follow(me, opp, match)
    me[S.MOVING] = 0
    if me[S.WALKING]:
        me[S.MOVING] = 1
        step_once(me)
        if me[S.WALKING] and not me[S.WALKS]:
            step_once(me)
