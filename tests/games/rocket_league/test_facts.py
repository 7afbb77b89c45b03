from __future__ import annotations

import numpy as np
import pytest

ATTACK = {"team": "blue", "position": [0, 2000, 17], "angles": [0, np.pi / 2, 0], "velocity": [0, 2000, 0], "boost": 50}
AWAY = {"team": "orange", "position": [3000, -4000, 17]}


def test_a_touch_counts_once_and_the_streak_grows(play, pack):
    p = play(**pack([[0.0, 2600.0, 93.15]], [ATTACK, AWAY]))
    touches, last = [], []
    for _ in range(12):
        p.step([[16, 8]])
        touches.append(int(p.signal("touches")[0, 0]))
        last.append(int(p.signal("touched_last")[0, 0]))
    assert sum(touches) >= 1 and touches.count(1) < 6
    first = touches.index(1)
    assert last[:first] == [0] * first and all(last[first:])
    assert p.signal("touched_last")[0, 1] == 0
    assert p.game._memory.streak[0].tolist() == [sum(touches), 0]


def test_a_goal_is_the_scorers_and_the_own_goal_the_defenders(play, pack):
    p = play(**pack([[0.0, 3500.0, 93.15]], [{**ATTACK, "position": [0, 2800, 17]}, AWAY]))
    for _ in range(60):
        p.step([[16, 8]])
        if p.out.ended[0]:
            break
    assert p.out.ended[0] and p.out.result[0].tolist() == [1, -1]
    assert p.signal("goals")[0].tolist() == [1, 0] and p.signal("own_goals")[0].tolist() == [0, 0]
    assert p.reward("goal")[0].tolist() == [1, 0] and p.reward("concede")[0].tolist() == [0, 1]


def test_own_goal(play, pack):
    backwards = {**ATTACK, "position": [0, -2800, 17], "angles": [0, -np.pi / 2, 0], "velocity": [0, -2000, 0]}
    p = play(**pack([[0.0, -3500.0, 93.15]], [backwards, {**AWAY, "position": [3000, 4000, 17]}]))
    for _ in range(60):
        p.step([[16, 8]])
        if p.out.ended[0]:
            break
    assert p.out.result[0].tolist() == [-1, 1]
    assert p.signal("own_goals")[0].tolist() == [1, 0] and p.signal("goals")[0].tolist() == [0, 0]
    assert p.reward("own_goal")[0].tolist() == [1, 0]


def test_boost_is_counted_when_it_comes_and_goes(play, pack):
    car = {
        "team": "blue",
        "position": [0, -3100, 17],
        "angles": [0, np.pi / 2, 0],
        "velocity": [0, 1400, 0],
        "boost": 0,
    }
    p = play(**pack([[0.0, 3000.0, 500.0], [0, 0, 1]], [car, AWAY]))
    collected = pads = 0.0
    for _ in range(6):
        p.step([[16, 8]])
        collected += float(p.signal("boost_collected")[0, 0])
        pads += float(p.signal("pads")[0, 0])
    assert collected == pytest.approx(0.12, abs=1e-4) and pads == 1  # the small pad at (0, −2816)
    p.step([[18, 8]])
    used = float(p.signal("boost_used")[0, 0])
    assert used == pytest.approx(100 / 3 / 100 * 7 / 120, rel=0.2)  # 33.3 a second, one tick late


def test_turtles_are_counted_and_recoveries_timed(play):
    """Idle cars stay on their roofs: one event, one failure after 45 steps, then 45 steps of looking away."""
    p = play(bots=("chaser", "idle"), scenario="turtled", no_touch_s=0)
    names = ("turtles", "turtle_recoveries", "turtle_failures", "turtle_recovery_steps")
    totals = {name: np.zeros(2) for name in names}
    at_45 = None
    for step in range(135):
        p.step()
        for name in names:
            totals[name] += p.signal(name)[0]
        if step == 60:
            at_45 = {name: totals[name].copy() for name in names}
        if p.out.ended[0]:
            break
    assert totals["turtles"][0] == totals["turtle_recoveries"][0] == 1
    assert 5 <= totals["turtle_recovery_steps"][0] <= 40
    assert (at_45["turtles"][1], at_45["turtle_failures"][1]) == (1, 1)
    assert totals["turtle_recoveries"][1] == 0
    assert totals["turtles"][1] == 2  # the second window opens after 45 + 45 steps


def test_turtle_windows_never_straddle_matches(play):
    """A match that stops with a car on its roof takes the open window with it."""
    p = play(scenario="turtled", timeout_s=2.0)
    p.step(8, 20)
    assert (p.game._memory.turtle_clock[0] > 0).all()
    p.step(8, 10)
    assert p.out.truncated[0]
    p.game.queue([])
    from pvp_ml.match import Live, MatchPlan

    p.game.queue([MatchPlan(9, 9, (Live(), Live()), "kickoff")])
    p.step(8)
    assert (p.game._memory.turtle_clock[0] == 0).all()


def test_driving_on_the_ceiling_is_not_a_turtle(play, pack):
    car = {"team": "blue", "position": [0, 0, 2030], "angles": [0, 0, np.pi], "velocity": [1400, 0, 100]}
    p = play(**pack([[0.0, 3000.0, 500.0], [0, 0, 1]], [car, AWAY]))
    seen = 0.0
    for _ in range(6):
        p.step([[16, 8]])
        seen += float(p.signal("turtles")[0, 0])
    assert p.game.arenas.cars[0, 0, 0, 32] < -0.2  # the roof points down
    assert seen == 0


def test_demolished_cars_do_not_act_and_come_back(play, pack):
    car = {**ATTACK, "position": [0, -1500, 17], "velocity": [0, 2299, 0], "boost": 100}
    victim = {"team": "orange", "position": [0, -500, 17], "angles": [0, np.pi / 2, 0]}
    p = play(no_touch_s=0, **pack([[2000.0, 4000.0, 500.0], [0, 0, 1]], [car, victim]))
    acting = []
    for _ in range(70):
        choice = 18 if p.out.mask[0, 0, 18] else 16
        p.step([[choice, 8]])
        acting.append(bool(p.out.acting[0, 1]))
        if len(acting) < 12 and p.signal("demoed")[0, 1]:
            assert p.signal("demos")[0, 0] == 1 and p.reward("demoed")[0, 1] == 1
    gone = acting.index(False)
    away = acting[gone:].index(True)
    assert 40 <= away <= 46  # 3 s are 45 steps; a car comes back at the step border before
    assert all(acting[gone + away :])
