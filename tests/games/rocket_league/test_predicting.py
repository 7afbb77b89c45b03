"""Bots that foresee the ball: the forecast against the simulator, shots, saves, and advice through the table."""

from __future__ import annotations

import numpy as np
import pytest

from pvp_ml.games.rocket_league import simulator as sim
from pvp_ml.games.rocket_league.actions import BOOST, JUMP, STEER, THROTTLE, action_set
from pvp_ml.games.rocket_league.config import RocketLeagueConfig
from pvp_ml.games.rocket_league.kernels.ball_path import MOMENT_S, MOMENTS, fly, meet
from pvp_ml.match import Bot, MatchPlan


def forecast(ball: np.ndarray, velocity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    path, goal_s = np.empty((len(ball), MOMENTS, 6)), np.empty(len(ball))
    fly(ball.astype(np.float64), velocity.astype(np.float64), path, goal_s)
    return path, goal_s


def test_the_forecast_follows_the_simulator_for_a_second(play):
    p = play(matches=48, bots=("idle", "idle"), scenario="random", no_touch_s=0)
    balls = p.game.arenas.ball[:, 0]
    path, _ = forecast(balls[:, sim.BALL_POS].copy(), balls[:, sim.BALL_VEL].copy())
    for moment in range(1, 16):
        p.step()
        error = np.linalg.norm(balls[:, sim.BALL_POS] - path[:, moment, :3], axis=1)
        assert np.median(error) < 4.0 * moment  # uu; 60 after a second
    assert np.median(np.linalg.norm(balls[:, sim.BALL_POS] - path[:, 0, :3], axis=1)) > 300.0  # they did move


@pytest.mark.parametrize(("start", "after"), [(2000.0, 1440.0), (1000.0, 546.0), (400.0, 383.0)])
def test_a_rolling_ball_slows_down_as_in_the_simulator(start, after):
    """Recorded from RocketSim 2.2.1: y speed two seconds later, spin as a rolling ball of that speed has it."""
    path, _ = forecast(np.array([[0.0, -4000.0, 93.0]]), np.array([[0.0, start, 0.0]]))
    assert path[0, 30, 4] == pytest.approx(after, rel=0.02)


def test_the_forecast_knows_both_goals():
    ball = np.array([[0.0, 3000.0, 93.0], [0.0, -3000.0, 93.0], [2000.0, 3000.0, 93.0]])
    velocity = np.array([[0.0, 2000.0, 0.0], [0.0, -2000.0, 0.0], [0.0, 2000.0, 0.0]])
    _, goal_s = forecast(ball, velocity)
    assert goal_s[0] == pytest.approx(1.25, abs=0.1) and goal_s[1] == pytest.approx(-goal_s[0]) and goal_s[2] == 0.0


def test_a_meeting_is_where_the_car_can_be_and_no_higher_than_it_reaches():
    path = np.zeros((2, MOMENTS, 6))
    path[:, :, 1], path[:, :, 2] = 2000.0, 93.0
    path[1, :30, 2] = 500.0  # too high for two seconds
    car, speed = np.zeros((2, 3)), np.array([[0.0, 1400.0, 0.0], [0.0, 1400.0, 0.0]])
    meeting = np.empty((2, 7))
    meet(path, car, speed, np.zeros(2), 190.0, meeting)
    assert meeting[0, 0] == pytest.approx((2000.0 - 170.0) / 1400.0, abs=2 * MOMENT_S)
    assert meeting[1, 0] == pytest.approx(30 * MOMENT_S) and meeting[1, 2] == 2000.0


def scores(play, pack, bot: str, ball: list[list[float]], car: list[float]) -> bool:
    cars = [
        {"team": "blue", "position": [*car, 17], "angles": [0, 1.57, 0], "boost": 50},
        {"team": "orange", "position": [3500, 0, 17]},
    ]
    p = play(bots=(bot, "idle"), **pack(ball, cars), end_on_goal=True, no_touch_s=0)
    for _ in range(75):
        p.step()
        if p.out.ended[0]:
            return bool(p.out.result[0, 0] > 0)
    return False


@pytest.mark.parametrize("bot", ["shooter", "keeper", "flipper"])
def test_they_score_from_the_side_where_a_chaser_does_not(play, pack, bot):
    ball, car = [[-1500.0, 2500.0, 93.15], [0.0, 0.0, 1.0]], [-1500.0, 0.0]
    assert scores(play, pack, bot, ball, car)
    assert not scores(play, pack, "chaser", ball, car)


def test_advice_is_the_legal_row_most_like_the_bot(play):
    p = play(matches=16, scenario="random")
    p.game.advise("shooter")
    rows, seats = np.nonzero(p.out.acting)
    for _ in range(40):
        actions = np.full((16, 2, 1), -1, np.int32)
        rows, seats = np.nonzero(p.out.acting)
        actions[rows, seats] = p.game.advice(p.out.serial[rows], seats)
        assert p.out.mask[rows, seats, actions[rows, seats, 0]].all()
        p.game.step(actions, p.out)
        p.game.queue([MatchPlan(100, 1, (Bot("idle"), Bot("idle")))] * int((p.out.ended | p.out.truncated).sum()))


def test_the_nearest_row_keeps_buttons_and_what_steers():
    actions = action_set(RocketLeagueConfig())
    wanted = np.zeros((3, 8), np.float32)
    wanted[0, [THROTTLE, STEER, BOOST]] = 1.0, -0.8, 1.0
    wanted[1, [THROTTLE, STEER]] = 1.0, 0.2
    wanted[2, [THROTTLE, JUMP, 2]] = 1.0, 1.0, -1.0  # a flip forwards, in the air
    rows = actions.rows[actions.nearest(wanted, np.array([False, False, True]))[:, 0]]
    assert rows[0, [THROTTLE, STEER, BOOST, JUMP]].tolist() == [1.0, -1.0, 1.0, 0.0]
    assert rows[1, [THROTTLE, STEER, BOOST, JUMP]].tolist() == [1.0, 0.0, 0.0, 0.0]
    assert rows[2, [2, 4, JUMP, BOOST]].tolist() == [-1.0, 0.0, 1.0, 0.0]
