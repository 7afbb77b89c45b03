from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pvp_ml.games.rocket_league.actions import BOOST, JUMP, action_set, report, row_name
from pvp_ml.games.rocket_league.config import RocketLeagueConfig
from pvp_ml.match import ActionError

RLGYM = json.loads((Path(__file__).parent / "rlgym_default_obs.json").read_text())


def rows_of(name: str, **more) -> np.ndarray:
    return action_set(RocketLeagueConfig(actions=name, **more)).rows


def test_rlgym_table_is_rlgyms_row_for_row():
    assert rows_of("rlgym").tolist() == RLGYM["table"]


def test_report_of_the_rlgym_table():
    facts = report(RocketLeagueConfig())
    assert (facts.rows, facts.idle, facts.turning, facts.turning_left) == (90, 8, 48, 24)
    assert (facts.jumping, facts.boosting, facts.steer_equals_yaw, facts.straight) == (18, 39, 90, [16])
    assert facts.unique["steer"] == facts.unique["pitch"] == facts.unique["yaw"] == [-1.0, 0.0, 1.0]
    assert "idle row: 8" in facts.lines() and "turning rows: 48 (24 left)" in facts.lines()


def test_hybrid_table_is_sensible():
    facts = report(RocketLeagueConfig(actions="hybrid"))
    rows = rows_of("hybrid")
    assert (facts.rows, facts.turning, facts.turning_left, facts.jumping) == (204, 150, 75, 24)
    assert facts.unique["steer"] == facts.unique["pitch"] == facts.unique["yaw"] == [-1.0, -0.5, 0.0, 0.5, 1.0]
    assert len(np.unique(rows, axis=0)) == len(rows)
    wanted = {"throttle+1", "throttle+1 boost", "throttle-1", "idle", "throttle+1 jump"}
    assert wanted <= {row_name(tuple(row)) for row in rows.tolist()}
    assert (rows[:, 2] != rows[:, 1]).sum() > 100  # pitch is not a copy of steer


@pytest.mark.parametrize(("bins", "count"), [(3, 3**5 * 8), (5, 5**5 * 8)])
def test_heads_reach_every_combination_once(bins, count):
    actions = action_set(RocketLeagueConfig(actions="heads", bins=bins))
    sizes = [head.size for head in actions.heads]
    assert sizes == [bins] * 5 + [2] * 3
    rng = np.random.default_rng(0)
    picks = rng.integers(0, sizes, (50, 1, 8)).astype(np.int32)
    numbers = actions.row_numbers(picks)
    expected = [[head.table[p][0] for head, p in zip(actions.heads, pick[0], strict=True)] for pick in picks]
    assert len(actions.rows) == count
    assert np.allclose(actions.rows[numbers[:, 0]], expected)
    assert not actions.rows[actions.neutral].any()


def test_the_table_is_part_of_the_interface(play):
    from pvp_ml.games.rocket_league.describe import describe

    specs = [describe(RocketLeagueConfig(meshes="generated", actions=a)) for a in ("rlgym", "hybrid", "heads")]
    assert len({s.interface_digest for s in specs}) == 3
    assert specs[0].heads[0].table == tuple(tuple(row) for row in RLGYM["table"])


@pytest.mark.parametrize("table", ["rlgym", "hybrid", "heads"])
def test_every_row_reaches_the_simulator_unchanged(play, table):
    """One row per match, both seats: blue and orange get the same controls."""
    p = play(matches=1, actions=table, setters={"kickoff": 1.0})
    actions = action_set(RocketLeagueConfig(actions=table))
    rng = np.random.default_rng(1)
    numbers = range(len(actions.rows)) if table != "heads" else rng.integers(0, len(actions.rows), 120).tolist()
    p.game._mask[...] = True
    for number in numbers:
        p.game._pedals.row[...] = number
        inputs = p.game._pedals.press([0], np.zeros((1, 2), bool), np.zeros((1, 2, 8), np.float32))
        p.game.arenas.step([0], inputs, 0, 1)
        for seat in (0, 1):
            assert p.game.arenas.applied(0, seat) == pytest.approx(actions.rows[number].tolist())


def test_choices_go_through_step_to_the_simulator(play):
    p = play(actions="rlgym", setters={"kickoff": 1.0})
    for number in (0, 5, 16, 22, 23):
        p.step(number)
        assert p.game.arenas.applied(0, 0) == pytest.approx(RLGYM["table"][number])
        assert p.game.arenas.applied(0, 1) == pytest.approx(RLGYM["table"][number])
    p.step(-1)
    assert p.game.arenas.applied(0, 0) == (0.0,) * 8


def ball_far() -> list[list[float]]:
    return [[0.0, 4000.0, 500.0], [0.0, 0.0, 1.0]]


def test_no_boost_masks_the_boost_rows(play, pack):
    car = {"team": "blue", "position": [0, -3000, 17], "boost": 0}
    full = {"team": "orange", "position": [500, 3000, 17], "boost": 50}
    p = play(**pack(ball_far(), [car, full]))
    boosting = np.array(RLGYM["table"])[:, BOOST] > 0
    assert (p.out.mask[0, 0] == ~boosting).all()
    assert p.out.mask[0, 1].all()
    with pytest.raises(ActionError, match="may not pick"):
        p.step(int(np.flatnonzero(boosting)[0]))


def test_used_flip_masks_the_jump_rows_until_landing(play, pack):
    p = play(**pack(ball_far(), [{"team": "blue", "position": [0, -3000, 17], "boost": 0}]))
    table = np.array(RLGYM["table"])
    jumping = (table[:, JUMP] > 0) & (table[:, BOOST] == 0)
    plain = int(np.flatnonzero((table == [0, 0, 0, 0, 0, 1, 0, 0]).all(1))[0])
    flip = int(np.flatnonzero((table == [0, 0, -1, 0, 0, 1, 0, 1]).all(1))[0])
    legal = []
    for choice in (plain, 8, flip, *([8] * 40)):
        both = [[choice if p.out.mask[0, s, choice] else 8 for s in (0, 1)]]
        p.step(both)
        legal.append(bool(p.out.mask[0, 0, jumping].all()))
    assert legal[:2] == [True, True]  # a jump leaves the flip
    assert legal[2] is False  # the flip is used
    assert legal[-1] is True  # and back after landing
    assert set(map(bool, p.out.mask[0, 0, ~jumping & (table[:, BOOST] == 0)])) == {True}


def test_a_turtle_may_jump(play):
    p = play(scenario="turtled")
    p.step(8, 10)
    assert p.game.arenas.flags[0, 0, 3] == 1.0  # the body touches the floor
    assert p.out.mask[0, 0, np.array(RLGYM["table"])[:, JUMP] > 0].any()


def test_sticky_buttons_stay_down(play):
    boost_row = 18  # throttle 1, straight, boost
    p = play(sticky_steps=2, setters={"kickoff": 1.0})
    pressed = []
    for choice in (boost_row, 16, 16, 16):
        p.step(choice)
        pressed.append(p.game.arenas.applied(0, 0)[BOOST])
    assert pressed == [1.0, 1.0, 0.0, 0.0]
    assert p.feature("action", "boost")[0, 0] == 0.0


def test_repeat_asks_every_other_step_and_holds_the_row(play):
    p = play(repeat=3, setters={"kickoff": 1.0})
    acting, held = [], []
    for choice in (16, 8, 8, 8):
        acting.append(bool(p.out.acting[0, 0]))
        p.step(choice)
        held.append(p.game.arenas.applied(0, 0)[0])
    assert acting == [True, False, False, True]
    assert held == [1.0, 1.0, 1.0, 0.0]


def test_delay_moves_the_controls_by_ticks(play, pack):
    """From rest, full throttle: the later the controls arrive, the slower after one step."""
    start = pack(ball_far(), [{"team": "blue", "position": [0, -3000, 17], "angles": [0, 1.5708, 0]}])
    speeds = []
    for delay in (0, 1, 4):
        p = play(delay_ticks=delay, **start)
        p.step(16)
        speeds.append(float(p.signal("speed")[0, 0]))
    assert speeds[0] > speeds[1] > speeds[2] > 0
    assert (speeds[0] - speeds[1]) / (speeds[1] - speeds[2]) == pytest.approx(1 / 3, rel=0.25)
