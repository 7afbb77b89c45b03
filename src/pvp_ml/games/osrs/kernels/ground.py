"""Blocked ground: steps, straight walks, and routes around what is in the way.

Almost every walk is on free ground, where it follows from its last tile alone: first straight along the longer axis,
then diagonal. So the questions here come in two sizes: a look at the room around a tile, which answers nearly all
of them, and the search itself.
"""

from __future__ import annotations

import numpy as np

from pvp_ml.games.osrs import ground as G
from pvp_ml.games.osrs import state as S
from pvp_ml.games.osrs.kernels.jit import inlined_kernel, kernel, scratch

ENDLESS = 1 << 20
"""Room around a fighter on open ground, and its longest straight walk."""

WINDOW = 104
CELLS = WINDOW * WINDOW
"""Tiles that a route search knows; scratch() holds their discoverers, then the queue."""
START = 9
DETOUR = 8
"""Tiles more than the crow needs; ways up to that are looked for before longer ones."""
MOST_STEPS = 100
NEAR, NEAREST = 4, MOST_STEPS - 1
"""How far from a goal that cannot be reached another tile may be, and how long the way to it."""

# W, E, S, N, SW, SE, NW, NE: the order in which a search tries its steps
STEP_X = np.array([-1, 1, 0, 0, -1, 1, -1, 1], np.int64)
STEP_Y = np.array([0, 0, -1, 1, -1, -1, 1, 1], np.int64)
STEPS_PER_WORD, STEP_BITS = 10, 3


@kernel
def is_blocked(x, y):
    """Nobody can stand there; so it is past the edge of the map, too."""
    column, row = x - G.ORIGIN_X, y - G.ORIGIN_Y
    if column < 0 or column >= G.WIDTH or row < 0 or row >= G.HEIGHT:
        return True
    return (G.WORDS[row, column >> 5] >> (column & 31)) & 1 != 0


@kernel
def is_wild(x, y):
    """Inside the wilderness rectangle, which walk orders do not leave."""
    return G.LOW_X <= x <= G.HIGH_X and G.LOW_Y <= y <= G.HIGH_Y


@kernel
def can_step(x, y, dx, dy):
    """Section 2: one step of at most one tile along each axis; only tiles that are entered or cut are looked at."""
    if is_blocked(x + dx, y + dy):
        return False
    return dx == 0 or dy == 0 or not (is_blocked(x + dx, y) or is_blocked(x, y + dy))


@kernel
def has_line(ax, ay, bx, by):
    """Diagonally while both coordinates differ, then straight, every step allowed."""
    x, y = ax, ay
    while x != bx or y != by:
        dx = 0 if x == bx else (1 if bx > x else -1)
        dy = 0 if y == by else (1 if by > y else -1)
        if not can_step(x, y, dx, dy):
            return False
        x += dx
        y += dy
    return True


@inlined_kernel
def space_at(x, y):
    """What SPACE says about a tile; 0 past the edge of the map."""
    column, row = (x - G.ORIGIN_X) >> 1, (y - G.ORIGIN_Y) >> 1
    if column < 0 or column >= G.WIDTH // 2 or row < 0 or row >= G.HEIGHT // 2:
        return np.int64(0)
    return np.int64(G.SPACE[row, column])


@inlined_kernel
def room_at(x, y):
    """Every tile nearer than this (Chebyshev) is free and in the wilderness; 0 says nothing."""
    return space_at(x, y) & 15


@inlined_kernel
def space_around(me, match):
    """(room, straight) of the fighter's tile, both free and in the wilderness; 0 says nothing.

    Room: every tile nearer than this (Chebyshev). Straight: so many steps to the west, east, south or north.
    """
    if match[S.TERRAIN] == 0:
        return ENDLESS, ENDLESS
    both = space_at(me[S.X], me[S.Y])
    return both & 15, both >> 4


@inlined_kernel
def room_around(me, match):
    """Every tile nearer to the fighter than this (Chebyshev) is free and in the wilderness; 0 says nothing."""
    room, _ = space_around(me, match)
    return room


@kernel
def is_row_free(y, low, high):
    """No blocked tile from x = low to x = high, both included; at most WORD of them, else False."""
    column, row, count = low - G.ORIGIN_X, y - G.ORIGIN_Y, high - low + 1
    if column < 0 or count > G.WORD or column + 2 * G.WORD > G.WIDTH or row < 0 or row >= G.HEIGHT:
        return False
    word = column >> 5
    both = np.int64(G.WORDS[row, word]) | (np.int64(G.WORDS[row, word + 1]) << 32)
    return (both >> (column & 31)) & ((1 << count) - 1) == 0


@kernel
def is_way_free(ax, ay, bx, by):
    """All shortest ways from a to b are free, and the tiles that they cut: then the search finds the usual one.

    Discoverers of a tile lie on shortest ways to it, so nothing else can change what the search finds.
    """
    dx, dy = bx - ax, by - ay
    far = max(abs(dx), abs(dy))
    if abs(dx) < far:  # up or down, a row each
        for k in range(far + 1):
            low, high = max(-k, dx - (far - k)), min(k, dx + (far - k))
            if not is_row_free(ay + (k if dy > 0 else -k), ax + low - 1, ax + high + 1):
                return False
        return True
    aside = (far - abs(dy)) // 2
    for k in range(min(0, dy) - aside, max(0, dy) + aside + 1):
        low, high = abs(k), far - abs(dy - k)
        if dx < 0:
            low, high = -high, -low
        if not is_row_free(ay + k, ax + low - 1, ax + high + 1):
            return False
    return True


# --- route search ----------------------------------------------------------------------------------------------------


@kernel
def flood(cells, west, south, ax, ay, bx, by, limit):
    """Breadth first from a until b is found; cells[tile] = step that discovered it + 1, 0 not reached. True when found.

    A tile of the window is x + WINDOW × y, counted from its south-west corner. The start gets a step of its own, START.
    Tiles through which the way would be longer than `limit` are left out, which does not change a way that is not:
    what discovers a tile of a shortest way lies on one itself.
    """
    x, y, bx, by = ax - west, ay - south, bx - west, by - south
    low, high = max(0, x - limit), min(WINDOW - 1, x + limit)
    for row in range(max(0, y - limit), min(WINDOW - 1, y + limit) + 1):
        for k in range(row * WINDOW + low, row * WINDOW + high + 1):
            cells[k] = 0
    cells[x + WINDOW * y] = START
    cells[CELLS] = x + WINDOW * y
    first, last, level, depth = CELLS, CELLS + 1, CELLS + 1, 1
    while first < last:
        if first == level:
            level, depth = last, depth + 1
        tile = np.int64(cells[first])
        first += 1
        x, y = tile % WINDOW, tile // WINDOW
        for step in range(8):
            dx, dy = STEP_X[step], STEP_Y[step]
            to_x, to_y = x + dx, y + dy
            if not (0 <= to_x < WINDOW and 0 <= to_y < WINDOW) or depth + max(abs(bx - to_x), abs(by - to_y)) > limit:
                continue
            found = to_x + WINDOW * to_y
            if cells[found] == 0 and can_step(west + x, south + y, dx, dy):
                cells[found] = step + 1
                if to_x == bx and to_y == by:
                    return True
                cells[last] = found
                last += 1
    return False


@kernel
def steps_to(cells, tile):
    """Length of the way to a tile that was reached."""
    count = 0
    while cells[tile] != START:
        step = cells[tile] - 1
        tile -= STEP_X[step] + WINDOW * STEP_Y[step]
        count += 1
    return count


@kernel
def nearest_reached(cells, west, south, bx, by):
    """The tile to walk to instead of a goal that was not reached: of the nearest ring that has any, the shortest way.

    −1 when there is none. It need not be the tile nearest to the goal.
    """
    for radius in range(1, NEAR + 1):
        best, found = NEAREST + 1, -1
        for x in range(bx - radius - west, bx + radius + 1 - west):
            for y in range(by - radius - south, by + radius + 1 - south):
                if 0 <= x < WINDOW and 0 <= y < WINDOW and cells[x + WINDOW * y] != 0:
                    steps = steps_to(cells, x + WINDOW * y)
                    if steps < best:
                        best, found = steps, x + WINDOW * y
        if found >= 0:
            return found
    return -1


@kernel
def search_route(me, bx, by):
    """Queue the route from where the fighter stands to b, or near it, tile by tile; nothing when there is none."""
    cells = scratch()
    ax, ay = me[S.X], me[S.Y]
    west, south = 8 * ((ax >> 3) - 6), 8 * ((ay >> 3) - 6)
    far = max(abs(bx - ax), abs(by - ay))
    tile = bx - west + WINDOW * (by - south)
    if not (
        flood(cells, west, south, ax, ay, bx, by, far)
        or flood(cells, west, south, ax, ay, bx, by, far + DETOUR)
        or flood(cells, west, south, ax, ay, bx, by, CELLS)
    ):
        tile = nearest_reached(cells, west, south, bx, by)
    if tile < 0 or cells[tile] == START:
        return
    steps = steps_to(cells, tile)
    for k in range(MOST_STEPS // STEPS_PER_WORD):
        me[S.PATH + k] = 0
    for k in range(steps - 1, -1, -1):
        step = np.int64(cells[tile]) - 1
        if k < MOST_STEPS:
            me[S.PATH + k // STEPS_PER_WORD] |= step << (STEP_BITS * (k % STEPS_PER_WORD))
        if k == min(steps, MOST_STEPS) - 1:
            me[S.DEST_X], me[S.DEST_Y] = west + tile % WINDOW, south + tile // WINDOW
        tile -= STEP_X[step] + WINDOW * STEP_Y[step]
    me[S.WALKING], me[S.PATH_AT] = S.ON_PATH, 0


@kernel
def queue_route(me, match, bx, by):
    """Replace the walking queue by the route to a tile; an empty one when the fighter stands there."""
    me[S.WALKING] = 0
    far = max(abs(bx - me[S.X]), abs(by - me[S.Y]))
    if far == 0:
        return
    # all shortest ways, and the tiles that they cut, are no farther from either end than the ends are from each other
    if far < room_around(me, match) or far < room_at(bx, by) or is_way_free(me[S.X], me[S.Y], bx, by):
        me[S.WALKING] = S.STRAIGHT
        me[S.DEST_X] = bx
        me[S.DEST_Y] = by
    else:
        search_route(me, bx, by)


@kernel
def step_on_path(me):
    """One tile of a queued route; queued tiles are not tested again."""
    at = me[S.PATH_AT]
    if at >= MOST_STEPS:  # only in a state that was tampered with: its route never comes to its end
        me[S.WALKING] = 0
        return
    step = (me[S.PATH + at // STEPS_PER_WORD] >> (STEP_BITS * (at % STEPS_PER_WORD))) & 7
    me[S.X] += STEP_X[step]
    me[S.Y] += STEP_Y[step]
    me[S.PATH_AT] = at + 1
