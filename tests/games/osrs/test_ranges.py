"""A snapshot whose checksums are right and whose numbers are not: refused, or played without leaving any table."""

import subprocess
import sys

import numpy as np
import pytest

from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.games.legal import Legality
from pvp_ml.games.osrs import state as S
from pvp_ml.games.osrs.kernels.fighter import count_inventory
from pvp_ml.games.osrs.kernels.ground import step_on_path
from pvp_ml.games.osrs.ranges import FIGHTER_BOUNDS, MATCH_BOUNDS
from pvp_ml.match import External, MatchPlan, StepBuffers

INDEXES = (S.SPELL, S.BUILD, S.HITS, S.DUES, S.WORN + S.WEAPON, S.W_SPEC, S.INV, S.SETS, S.HIT_QUEUE + S.HIT_PARTS)
EXTREMES = (-(1 << 31), -1, 1000, (1 << 31) - 1)

PLAY = """
import sys, numpy as np
sys.path.insert(0, sys.argv[1])
import test_ranges
test_ranges.play_all()
"""


def played(name="nh", ticks=60, seed=0):
    kind = registry.find(name)
    game = kind.build(kind.config(), 4)
    scenarios = [scenario.name for scenario in game.spec.scenarios]
    plans = [
        MatchPlan(i, 31 * i + seed, (External("0"), External("1")), scenarios[i % len(scenarios)]) for i in range(99)
    ]
    game.queue(plans)
    out = StepBuffers.allocate(game.spec, 4)
    game.start(out)
    rng = np.random.default_rng(seed)
    for _ in range(ticks):
        step(game, out, rng)
    return game, out


def step(game, out, rng):
    """Random legal picks; in a state that was changed there may be none, then the first of each head."""
    rows = out.mask.reshape(-1, game.spec.mask_size)
    rows[~rows.any(axis=1)] = True
    picks = Legality(game.spec).choose(rows, rng.random((len(rows), len(game.spec.heads))))
    game.step(picks.reshape(game.matches, 2, -1), out)


@pytest.mark.parametrize("name", ["nh", "dharok"])
def test_every_real_state_is_within_the_ranges(name):
    game, out = played(name, 0, seed=5)
    rng = np.random.default_rng(5)
    for _ in range(300):
        step(game, out, rng)
        game.restore(game.snapshot())


def changed(game, column, value):
    before = game.fighters[:, :, column].copy()
    game.fighters[:, :, column] = value
    data = game.snapshot()
    game.fighters[:, :, column] = before
    return data


@pytest.mark.parametrize("column", INDEXES)
@pytest.mark.parametrize("value", EXTREMES)
def test_a_number_that_indexes_a_table_is_held_to_it(column, value):
    game, _ = played()
    before = game.snapshot()
    with pytest.raises(UserError, match=f"fighter column {column} is {value}, allowed are 0 to"):
        game.restore(changed(game, column, value))
    assert game.snapshot() == before, "a refused snapshot changes nothing"


def test_match_numbers_and_drain_are_held_too():
    game, _ = played()
    for column in (S.FIGHT_TYPE, S.FIGHT_RULE, S.BUILD_OPTIONS, S.TICK):
        before = game.state.copy()
        game.state[0, column] = -7
        data = game.snapshot()
        game.state[:] = before
        with pytest.raises(UserError, match=f"match column {column} is -7"):
            game.restore(data)
    game.drained[0, 0] = np.nan
    with pytest.raises(UserError, match="prayer drain"):
        game.restore(game.snapshot())


@pytest.mark.parametrize("key", ["serials", "scenarios", "queue"])
@pytest.mark.parametrize("value", [b"[]", b"null", b"[99, 99, 99, 99]", b'[["x", 0, 0, 0, 0]]', b"[[0, 0, 0, 0, 9]]"])
def test_the_head_is_held_to_the_game(key, value):
    game, _ = played()
    head, _, body = game.snapshot()[23:].partition(b"\n")
    at = head.index(f'"{key}": '.encode()) + len(key) + 4
    end = head.index(b', "', at) if key != "queue" else len(head) - 1
    data = game.snapshot()[:23] + head[:at] + value + head[end:] + b"\n" + body
    if (key, value) in (("serials", b"[99, 99, 99, 99]"), ("queue", b"[]")):
        return
    with pytest.raises(UserError, match="snapshot"):
        game.restore(data)


def play_all():
    """Each column at the ends of its range, alone, then many at once: what is accepted must play."""
    game, out = played()
    clean = game.snapshot()
    rng = np.random.default_rng(1)
    for array, bounds in ((game.fighters, FIGHTER_BOUNDS), (game.state, MATCH_BOUNDS)):
        for column in range(array.shape[-1]):
            for bound in bounds:
                game.restore(clean)
                array[..., column] = bound[column]
                try:
                    game.restore(game.snapshot())
                except UserError as error:  # within its range, but not what the inventory holds
                    assert "counts supplies" in str(error)
                    continue
                for _ in range(3):
                    step(game, out, rng)
    for trial in range(60):
        game.restore(clean)
        for array, (low, high) in ((game.fighters, FIGHTER_BOUNDS), (game.state, MATCH_BOUNDS)):
            chosen = rng.random(array.shape) < (0.03, 0.3, 1.0)[trial % 3]
            array[chosen] = rng.integers(low, high, array.shape, endpoint=True)[chosen]
        for me in game.fighters.reshape(-1, S.FIGHTER_SIZE):
            count_inventory(me)
        game.restore(game.snapshot())
        for _ in range(12):
            step(game, out, rng)


def test_what_is_accepted_plays(tmp_path):
    """In a process of its own: a mistake would end it."""
    done = subprocess.run(
        [sys.executable, "-c", PLAY, str(__file__).rpartition("/")[0]], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_supplies_that_are_counted_but_not_there_are_refused():
    """Each number is within its range; together they made the rules drink from slot −1, outside the inventory."""
    game, _ = played(ticks=5)
    data = game.snapshot()
    at = len(data) - sum(array.nbytes for array in game._arrays()) + 4 * (S.COUNT + S.KIND_BREW)
    spoilt = data[:at] + np.int32(3).tobytes() + data[at + 4 :]
    assert int(np.frombuffer(data[at : at + 4], np.int32)[0]) != 3
    with pytest.raises(UserError, match="counts supplies that its inventories do not hold"):
        game.restore(spoilt)


def test_a_route_without_end_ends_where_its_queue_does():
    """PATH_AT is within its range, but the route never comes to its end: the queue is not read beyond its words."""
    me = np.zeros(S.FIGHTER_SIZE, np.int32)
    me[S.WALKING], me[S.PATH_AT], me[S.DEST_X] = S.ON_PATH, 98, 5000
    for _ in range(4000):
        if me[S.WALKING]:
            step_on_path(me)
    assert (me[S.WALKING], me[S.PATH_AT]) == (0, 100)
