"""Walking, following, reach.

On free ground a walking queue is described by its last tile: the path to it is first straight along the longer axis,
then diagonal, and every suffix of such a path is the path from where it starts. Near blocked ground the queue
holds its steps (kernels/ground.py). Nothing stops a shot or a blow.
"""

from __future__ import annotations

from pvp_ml.games.osrs import ground as G
from pvp_ml.games.osrs import items as I
from pvp_ml.games.osrs import state as S
from pvp_ml.games.osrs.kernels.combat import MAGIC_RANGE
from pvp_ml.games.osrs.kernels.dice import below, forced
from pvp_ml.games.osrs.kernels.fighter import left, stop_attacking
from pvp_ml.games.osrs.kernels.ground import (
    has_line,
    is_blocked,
    is_row_free,
    is_wild,
    queue_route,
    room_around,
    room_at,
    step_on_path,
)
from pvp_ml.games.osrs.kernels.jit import kernel

WILDERNESS_Y = 3525
"""Tiles south of this row are outside the wilderness; walk orders never lead there."""


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
    """Replace the walking queue by the path to a tile; nothing is queued while frozen."""
    me[S.WALKING] = 0
    if left(me, match, S.T_FREEZE) == 0:
        queue_route(me, match, x, y)


@kernel
def order_walk(me, match, x, y):
    """A walk order also drops the selected spell and the attack."""
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
def is_inside(match, x, y):
    """Walk orders may lead to the tile: it is in the wilderness; open ground has no other border than the south."""
    return is_wild(x, y) if match[S.TERRAIN] else y >= WILDERNESS_Y


@kernel
def is_walkable(me, match, x, y):
    """Terrain 5: a walk order may choose the tile: in the wilderness, and straight ahead all the way."""
    if match[S.TERRAIN] == 0:
        return y >= WILDERNESS_Y
    far = chebyshev(me[S.X], me[S.Y], x, y)
    return is_wild(x, y) and (far < room_at(x, y) or has_line(me[S.X], me[S.Y], x, y))


@kernel
def search_ring(me, opp, match, radius, shape, far, skip):
    """Tiles of the ring around the opponent that I could walk to and that are `far` from me, row by row from the south.

    With `skip` below 0: (how many, 0). Otherwise the (x, y) of the one that comes after `skip` others.
    """
    is_free = far < room_around(me, match)
    count = 0
    for dy in range(-radius, radius + 1):
        y = opp[S.Y] + dy
        if y < WILDERNESS_Y or abs(y - me[S.Y]) > far:
            continue
        stride = 1 if dy in (-radius, radius) else 2 * radius
        for dx in range(-radius, radius + 1, stride):
            x = opp[S.X] + dx
            if chebyshev(x, y, me[S.X], me[S.Y]) != far or not is_wanted(dx, dy, shape):
                continue
            if is_free or is_walkable(me, match, x, y):
                if count == skip:
                    return x, y
                count += 1
    return count, 0


@kernel
def walk_near(me, opp, match, dice, seat, radius, shape):
    """Walk to the best tile of a ring around the opponent: nearest to me, ties by chance; not when already there."""
    away = distance(me, opp)
    far, count = abs(away - radius), 0
    while far <= away + radius:
        count, _ = search_ring(me, opp, match, radius, shape, far, -1)
        if count > 0:
            break
        far += 1
    if count == 0 or far == 0:
        return
    x = forced(dice, S.CHANNEL_WALK + seat)
    if x != S.FREE:
        order_walk(me, match, x, forced(dice, S.CHANNEL_WALK + seat))
        return
    x, y = search_ring(me, opp, match, radius, shape, far, below(match, count) if count > 1 else 0)
    order_walk(me, match, x, y)


@kernel
def has_tile(me, opp, match, radius, shape):
    """Some tile of the ring can be walked to. Inside the ring, the way east or west along the row is tried first."""
    x, y = me[S.X], me[S.Y]
    west, east = opp[S.X] - radius, opp[S.X] + radius
    if shape == 0 and west < x < east and abs(y - opp[S.Y]) < radius and G.LOW_Y <= y <= G.HIGH_Y:
        if west >= G.LOW_X and is_row_free(y, west, x - 1):
            return True
        if east <= G.HIGH_X and is_row_free(y, x + 1, east):
            return True
    for dy in range(-radius, radius + 1):
        stride = 1 if dy in (-radius, radius) else 2 * radius
        for dx in range(-radius, radius + 1, stride):
            if is_wanted(dx, dy, shape) and is_walkable(me, match, opp[S.X] + dx, opp[S.Y] + dy):
                return True
    return False


@kernel
def method_of(me):
    """How the fighter attacks now."""
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
    """Tiles that the attack reaches."""
    if style == S.MAGE:
        return MAGIC_RANGE
    if style == S.RANGE:
        return I.ITEM_RANGE[me[S.WORN + S.WEAPON]]
    return 1


@kernel
def is_free_line(me, x, y):
    """A chase may choose the tile: nobody stands in water, and the way to it is straight."""
    return not is_blocked(x, y) and has_line(me[S.X], me[S.Y], x, y)


@kernel
def nearest_beside(me, opp, match):
    """A chase at distance 1: the best of the opponent's orthogonal neighbours S, N, W, E as (x, y, found).

    Of equally near tiles the last one on the own row or column wins, else the first: so the recorded fighters walk.
    """
    room = room_around(me, match)
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
        nearer = far < best or (far == best and (x == me[S.X] or y == me[S.Y]))
        if nearer and (far < room or far < room_at(x, y) or is_free_line(me, x, y)):
            best_x, best_y, best = x, y, far
    return best_x, best_y, best < 1 << 20


@kernel
def nearest_at(me, opp, reach):
    """A chase at larger distances: the unblocked tile at that distance of the opponent nearest to me, as (x, y, found).

    Nearest as the crow flies, then nearest to the opponent so, then the smallest x, then y; else one distance less.
    """
    for radius in range(reach, 0, -1):
        best_x, best_y, best, best_side = 0, 0, 1 << 40, 1 << 40
        for dx in range(-radius, radius + 1):
            stride = 1 if dx in (-radius, radius) else 2 * radius
            for dy in range(-radius, radius + 1, stride):
                x, y = opp[S.X] + dx, opp[S.Y] + dy
                far = (x - me[S.X]) ** 2 + (y - me[S.Y]) ** 2
                side = dx * dx + dy * dy
                if (far < best or (far == best and side < best_side)) and not is_blocked(x, y):
                    best_x, best_y, best, best_side = x, y, far, side
        if best < 1 << 40:
            return best_x, best_y, True
    return 0, 0, False


@kernel
def chase_tile(me, opp, match, reach):
    """Where a chase leads, as (x, y, found)."""
    if reach == 1 or distance(me, opp) == 0:
        x, y, found = nearest_beside(me, opp, match)
        if found:
            return x, y, found
    else:
        x = min(max(me[S.X], opp[S.X] - reach), opp[S.X] + reach)
        y = min(max(me[S.Y], opp[S.Y] - reach), opp[S.Y] + reach)
        if match[S.TERRAIN] == 0 or not is_blocked(x, y):
            return x, y, True
    return nearest_at(me, opp, reach)


@kernel
def reach_of(me, opp, match, method):
    """1 reachable, 0 not, −1 not because a melee attacker stands diagonal to its standing victim."""
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
    """As the game tests it: a diagonal melee attacker queues the walk to its victim's side."""
    reach = reach_of(me, opp, match, method)
    if reach < 0:
        x, y, found = nearest_beside(me, opp, match)
        if found:
            queue_walk(me, match, x, y)
    return reach > 0


@kernel
def follow(me, opp, match):
    """Queue the way to a tile from which the attack reaches."""
    me[S.WALKING] = 0
    me[S.MOVING] = 0
    if opp[S.DYING] or abs(me[S.X] - opp[S.X]) > 15 or abs(me[S.Y] - opp[S.Y]) > 15:
        stop_attacking(me)
        return
    method = method_of(me)
    if can_reach(me, opp, match, method):
        return
    x, y, found = chase_tile(me, opp, match, attack_range(me, style_of(me, method)))
    if found:
        queue_walk(me, match, x, y)
    else:
        stop_attacking(me)


@kernel
def step_once(me):
    """One tile along the queue: on free ground the surplus of the longer axis first, then diagonally."""
    dx, dy = me[S.DEST_X] - me[S.X], me[S.DEST_Y] - me[S.Y]
    if me[S.WALKING] == S.ON_PATH:
        step_on_path(me)
    else:
        if abs(dx) >= abs(dy):
            me[S.X] += 1 if dx > 0 else -1
        if abs(dy) >= abs(dx):
            me[S.Y] += 1 if dy > 0 else -1
    if me[S.X] == me[S.DEST_X] and me[S.Y] == me[S.DEST_Y]:
        me[S.WALKING] = 0


@kernel
def move(me, opp, match):
    """The movement step of a fighter: up to two tiles, always running."""
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
