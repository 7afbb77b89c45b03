"""The first rungs of the ladder: nobody, one that drives at the ball, one that clears."""

from __future__ import annotations

import numpy as np

from pvp_ml.games.rocket_league.arena.field import BACK_WALL_Y, OWN_GOAL
from pvp_ml.games.rocket_league.bots.driver import Driver, drive_to, flip_at
from pvp_ml.games.rocket_league.derived_state import Floats


def idle(d: Driver) -> Floats:
    """Touches nothing."""
    return np.zeros((len(d.boost), 8), np.float32)


def chaser(d: Driver) -> Floats:
    """Drives at the ball by the shortest way, boosts when it points at it, gets back on its wheels."""
    return drive_to(d, d.ball)


def kickoff_and_clear(d: Driver) -> Floats:
    """Rushes kickoffs with a flip; else gets behind the ball and hits it away from its own goal, or falls back."""
    gap = np.linalg.norm(d.ball - d.position, axis=1)
    kickoff = (np.abs(d.ball[:, :2]) < 1.0).all(1) & (np.abs(d.ball_velocity) < 1.0).all(1)
    behind = d.position[:, 1] < d.ball[:, 1] - 100.0
    from_goal = d.ball - OWN_GOAL
    from_goal[:, 2] = 0.0
    away = from_goal / np.maximum(np.linalg.norm(from_goal, axis=1, keepdims=True), 1.0)
    approach = d.ball - away * np.clip(gap * 0.35, 60.0, 900.0)[:, None]
    retreat = np.stack([d.ball[:, 0] * 0.4, np.minimum(d.ball[:, 1] - 1500.0, 0.0), np.zeros(len(gap))], axis=1)
    retreat[:, 1] = np.maximum(retreat[:, 1], 300.0 - BACK_WALL_Y)
    target = np.where(behind[:, None], approach, retreat).astype(np.float32)
    target[kickoff] = d.ball[kickoff]
    controls = drive_to(d, target)
    return flip_at(d, controls, kickoff & (gap < 650.0))
