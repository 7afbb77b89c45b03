"""Blocked ground: the map, steps, straight walks, routes, chases and masks."""

import json
from collections import deque
from pathlib import Path

import numpy as np
import pytest

from pvp_ml.games.osrs import ground as G
from pvp_ml.games.osrs import state as S
from pvp_ml.games.osrs.kernels import ground as K
from pvp_ml.games.osrs.kernels import move as M
from pvp_ml.games.osrs.show.scene import blocked_runs, scene

EXAMPLES = json.loads((Path(__file__).parents[2] / "data/osrs/ground_examples.json").read_text())
STEPS = [(-1, 0), (1, 0), (0, -1), (0, 1), (-1, -1), (1, -1), (-1, 1), (1, 1)]
WILD = np.zeros(S.MATCH_SIZE, np.int32)
WILD[S.TERRAIN] = 1


def fighter(x, y):
    row = np.zeros(S.FIGHTER_SIZE, np.int32)
    row[S.X], row[S.Y], row[S.T_FREEZE] = x, y, S.NEVER
    return row


def walked(start, goal):
    """The tiles that a fighter walks who is sent to a tile."""
    me, tiles = fighter(*start), []
    K.queue_route(me, WILD, *goal)
    while me[S.WALKING]:
        M.step_once(me)
        tiles.append([int(me[S.X]), int(me[S.Y])])
    return tiles


def blocked(x, y):
    return bool(G.BLOCKED[y - G.ORIGIN_Y, x - G.ORIGIN_X])


def plain_route(start, goal):
    """Section 4 once more, as plainly as it can be said."""
    low = [8 * (c // 8 - 6) for c in start]
    came, queue = {start: None}, deque([start])
    while queue and goal not in came:
        x, y = queue.popleft()
        for dx, dy in STEPS:
            tile = x + dx, y + dy
            inside = all(c <= v < c + 104 for c, v in zip(low, tile, strict=True))
            cut = blocked(*tile) or (dx and dy and (blocked(x + dx, y) or blocked(x, y + dy)))
            if inside and tile not in came and not cut:
                came[tile] = (x, y)
                queue.append(tile)

    def way(tile):
        out = []
        while came[tile] is not None:
            out.append(list(tile))
            tile = came[tile]
        return out[::-1]

    for r in range(5):
        near = [(goal[0] + dx, goal[1] + dy) for dx in range(-r, r + 1) for dy in range(-r, r + 1)]
        ways = [way(tile) for tile in near if tile in came]
        ways = [one for one in ways if len(one) < 100 or r == 0]
        if ways:
            return min(ways, key=len)
    return []


def test_the_map_is_the_one_that_was_measured():
    assert G.BLOCKED.shape == (576, 576) and G.BLOCKED.sum() == 112_938
    low_x, high_x, low_y, high_y = G.WILDERNESS
    wild = G.BLOCKED[low_y - G.ORIGIN_Y : high_y + 1 - G.ORIGIN_Y, low_x - G.ORIGIN_X : high_x + 1 - G.ORIGIN_X]
    assert wild.shape == (444, 453) and wild.sum() == 30_137
    start = G.BLOCKED[3530 - G.ORIGIN_Y : 3558 - G.ORIGIN_Y, 3041 - G.ORIGIN_X : 3102 - G.ORIGIN_X]
    assert start.shape == (28, 61) and not start.any()
    assert [blocked(x, 3540) for x in (3024, 3025, 3027, 3028)] == [False, True, True, False]


def test_every_bit_is_where_the_kernels_look_for_it():
    rng = np.random.default_rng(0)
    for x, y in zip(rng.integers(2880, 3456, 4000).tolist(), rng.integers(3456, 4032, 4000).tolist(), strict=True):
        assert K.is_blocked(x, y) == blocked(x, y)
    assert K.is_blocked(2879, 3600) and K.is_blocked(3000, 4032)  # past the edge


def test_room_is_a_promise_about_every_nearer_tile():
    rng = np.random.default_rng(1)
    for x, y in zip(rng.integers(2940, 3393, 300).tolist(), rng.integers(3525, 3620, 300).tolist(), strict=True):
        room = int(K.room_around(fighter(x, y), WILD))
        near = range(1 - room, room)
        tiles = [(x + dx, y + dy) for dx in near for dy in near] if room else []
        assert not any(blocked(*tile) or not K.is_wild(*tile) for tile in tiles)
    assert K.room_around(fighter(3070, 3536), WILD) == 12  # the border in the south
    assert K.room_around(fighter(3070, 3540), np.zeros(S.MATCH_SIZE, np.int32)) == K.ENDLESS


def test_a_straight_walk_is_there_towards_one_side():
    rng = np.random.default_rng(4)
    lengths = set()
    for x, y in zip(rng.integers(2940, 3393, 300).tolist(), rng.integers(3525, 3620, 300).tolist(), strict=True):
        _, straight = K.space_around(fighter(x, y), WILD)
        walks = [[(x + k * dx, y + k * dy) for k in range(1, straight + 1)] for dx, dy in STEPS[:4]]
        assert any(all(K.is_wild(*tile) and not blocked(*tile) for tile in walk) for walk in walks)
        lengths.add(int(straight))
    assert {0, 15} < lengths


def plain_line(start, goal):
    """Section 3."""
    (x, y), (gx, gy) = start, goal
    while (x, y) != (gx, gy):
        dx, dy = int(np.sign(gx - x)), int(np.sign(gy - y))
        if blocked(x + dx, y + dy) or (dx and dy and (blocked(x + dx, y) or blocked(x, y + dy))):
            return False
        x, y = x + dx, y + dy
    return True


def plain_bits(me, opp):
    """Section 7: next to, diagonal, and farcast 2 to 7, each open or not."""
    low_x, high_x, low_y, high_y = G.WILDERNESS

    def is_open(tiles):
        far = [max(abs(x - me[0]), abs(y - me[1])) for x, y in tiles
               if low_x <= x <= high_x and low_y <= y <= high_y and plain_line(me, (x, y))]  # fmt: skip
        return bool(far) and min(far) > 0

    def ring(radius):
        near = range(-radius, radius + 1)
        return [(opp[0] + dx, opp[1] + dy) for dx in near for dy in near if max(abs(dx), abs(dy)) == radius]

    beside = [tile for tile in ring(1) if tile[0] == opp[0] or tile[1] == opp[1]]
    diagonal = [tile for tile in ring(1) if tile not in beside]
    return [is_open(beside), is_open(diagonal), *(is_open(ring(d)) for d in range(2, 8))]


def test_masks_of_movement_are_those_of_a_plain_look_at_every_tile(fight):
    """Near water, lava and the border, where the short cuts of the kernel do not hold."""
    f, rng = fight(allow_moving_if_can_attack=True), np.random.default_rng(5)
    seen = np.zeros((8, 2), int)
    while seen.sum() < 8 * 400:
        me = int(rng.integers(3020, 3130)), int(rng.choice([3525, 3526, 3528, 3531, *range(3555, 3580)]))
        opp = me[0] + int(rng.integers(-9, 10)), me[1] + int(rng.integers(-9, 10))
        if blocked(*me) or blocked(*opp) or (K.room_around(fighter(*me), WILD) > 7 and rng.random() < 0.9):
            continue
        f.place(me, opp)
        f.play()
        bits = f.mask[0].tolist()
        wanted = plain_bits(me, opp)
        assert [bits[28], bits[31], *bits[33:39]] == wanted, (me, opp)
        seen[range(8), np.array(wanted, int)] += 1
    assert seen.min() >= 20, seen


@pytest.mark.parametrize("example", EXAMPLES["routes"], ids=lambda e: f"{e[0]} {e[1]} {e[2]}")
def test_routes_are_those_of_the_reference(example):
    _, start, goal, tiles = example
    assert walked(start, goal) == tiles


@pytest.mark.parametrize("example", EXAMPLES["attack_tiles"], ids=lambda e: f"{e[0]} {e[1]} {e[2]}")
def test_chases_lead_where_those_of_the_reference_do(example):
    attacker, target, reach, tile = example
    x, y, found = M.chase_tile(fighter(*attacker), fighter(*target), WILD, reach)
    assert found and [x, y] == tile


def test_routes_are_those_of_a_plain_search():
    """The look at the room and at all shortest ways may save the search, never change what it finds."""
    rng = np.random.default_rng(2)
    kinds = {0: 0, S.STRAIGHT: 0, S.ON_PATH: 0}
    for _ in range(150):
        x, y = int(rng.integers(3020, 3130)), int(rng.integers(3526, 3590))
        goal = x + int(rng.integers(-9, 10)), y + int(rng.integers(-9, 10))
        if blocked(x, y):
            continue
        me = fighter(x, y)
        K.queue_route(me, WILD, *goal)
        kinds[int(me[S.WALKING])] += 1
        assert walked((x, y), goal) == plain_route((x, y), goal), ((x, y), goal)
    assert min(kinds[S.STRAIGHT], kinds[S.ON_PATH]) >= 15, kinds


def test_a_diagonal_step_needs_both_corners():
    tile = next(
        (x, y) for y in range(3520, 3590) for x in range(3020, 3130)
        if not blocked(x, y) and not blocked(x + 1, y + 1) and not blocked(x, y + 1) and blocked(x + 1, y)
    )  # fmt: skip
    assert not K.can_step(*tile, 1, 1) and K.can_step(*tile, 0, 1)
    assert not K.has_line(*tile, tile[0] + 1, tile[1] + 1) and K.has_line(*tile, *tile)


def test_orders_take_the_nearest_tile_that_can_be_walked_to_straight(fight):
    """Lava lies at (3025…3027, 3540): from its east shore only the tiles on this side are left."""
    f = fight(allow_moving_if_can_attack=True)
    f.place((3028, 3540), (3029, 3540))
    for _ in range(12):
        f.play({"movement": "move_to_farcast_tile", "farcast_distance": "farcast_2_tiles"})
        assert not blocked(int(f.rows[0, S.X]), int(f.rows[0, S.Y]))
        f.place((3028, 3540), (3029, 3540))


def test_masks_close_what_is_behind_water(fight):
    """A pool lies at (3079…3099, 3561…3575): nothing near a fighter on its north shore is open from the south."""
    for terrain, opened in (("wilderness", [False] * 8), ("open", [True] * 8)):
        f = fight(allow_moving_if_can_attack=True, terrain=terrain)
        f.place((3087, 3560), (3087, 3581))
        f.play()
        bits = f.mask[0].tolist()
        assert [bits[28], bits[31], *bits[33:39]] == opened, terrain
        assert bits[30] == opened[0]


def test_a_fighter_walks_around_and_arrives(fight):
    """A recorded detour, two tiles a tick: west along the shore, then north; the sight tells the end of the queue."""
    f = fight(allow_moving_if_can_attack=True)
    f.place((3083, 3560), (3078, 3564))
    f.rows[1, S.T_FREEZE] = f.tick + 20
    f.play({"movement": "move_under_target"})
    assert (f.rows[0, S.X], f.rows[0, S.Y]) == (3081, 3560)
    assert f.obs[0, 61] == 4 and f.obs[0, 60] == 0
    f.idle(3)
    assert (f.rows[0, S.X], f.rows[0, S.Y]) == (3078, 3564) and f.rows[0, S.WALKING] == 0


def test_open_ground_is_as_it_was(fight):
    f = fight(allow_moving_if_can_attack=True, terrain="open")
    f.place((3083, 3560), (3078, 3564))
    f.rows[1, S.T_FREEZE] = f.tick + 20
    f.play({"movement": "move_under_target"})
    assert (f.rows[0, S.X], f.rows[0, S.Y]) == (3081, 3561)
    f = fight(allow_moving_if_can_attack=True, scenario="open-ground")
    assert f.match[S.TERRAIN] == 0 and fight().match[S.TERRAIN] == 1


def test_the_queue_is_part_of_a_snapshot(fight):
    f = fight(allow_moving_if_can_attack=True)
    f.place((3083, 3560), (3078, 3564))
    f.rows[1, S.T_FREEZE] = f.tick + 20
    f.play({"movement": "move_under_target"})
    kept = f.game.snapshot()
    other = fight(allow_moving_if_can_attack=True, seed=5)
    other.game.restore(kept)
    for one in (f, other):
        one.idle(2)
    assert (f.rows == other.rows).all() and f.rows[0, S.PATH_AT] == 6


def test_the_scene_tells_the_ground_around(fight):
    f = fight()
    f.place((3028, 3540), (3029, 3541))
    spans = scene(f.game)["blocked"]
    tiles = {(x, y) for y, first, last in spans for x in range(first, last + 1)}
    around = range(-24, 25)
    assert tiles == {(3028 + dx, 3540 + dy) for dx in around for dy in around if blocked(3028 + dx, 3540 + dy)}
    assert (3027, 3540) in tiles and (3028, 3540) not in tiles
    f = fight(terrain="open")
    assert scene(f.game)["blocked"] == []
    assert blocked_runs(2881, 3457, 3) and blocked_runs(2000, 2000, 3) == []  # at the edge, and past it
