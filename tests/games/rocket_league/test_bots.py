from __future__ import annotations

import numpy as np
import pytest


def run(p, steps: int) -> dict[str, np.ndarray]:
    names = [s.name for s in p.spec.signals]
    total = np.zeros((p.matches, p.spec.seats, len(names)))
    live = np.ones(p.matches, bool)
    for _ in range(steps):
        p.step()
        total += p.out.signals * live[:, None, None]
        live &= ~(p.out.ended | p.out.truncated)
        if not live.any():
            break
    return {name: total[:, :, i] for i, name in enumerate(names)}


def test_idle_does_nothing(play):
    p = play(mode="1v0", bots=("idle",), scenario="kickoff")
    seen = run(p, 30)
    assert not p.out.acting.any() and seen["touches"].sum() == 0
    assert seen["boost_used"].sum() == 0 and p.game.arenas.cars[0, 0, 0, 18:21].max() < 1.0


def test_chaser_reaches_the_ball_from_anywhere(play):
    p = play(matches=8, bots=("chaser", "idle"), scenario="random_ground", no_touch_s=0)
    seen = run(p, 150)
    assert (seen["touches"][:, 0] >= 1).sum() >= 7
    assert (seen["touches"][:, 0] > seen["touches"][:, 1]).mean() > 0.7


def test_chaser_gets_off_its_roof(play):
    p = play(matches=4, bots=("chaser", "chaser"), scenario="turtled", no_touch_s=0)
    seen = run(p, 60)
    assert (seen["turtles"] >= 1).all()
    assert (seen["turtle_recoveries"] >= 1).mean() >= 0.9


def test_chaser_lands_on_its_wheels(play, pack):
    tumbling = {"team": "blue", "position": [0, -2000, 900], "angles": [0.5, 1.5, 2.5], "spin": [1, 2, -1]}
    p = play(bots=("chaser", "idle"), **pack([[0.0, 3000.0, 500.0], [0, 0, 1]], [tumbling]))
    run(p, 45)
    assert p.game.arenas.cars[0, 0, 0, 8] == 1.0 and p.game.arenas.cars[0, 0, 0, 32] > 0.95


@pytest.mark.parametrize("bot", ["chaser", "kickoff_and_clear"])
def test_kickoffs_are_reached_within_four_seconds(play, bot):
    p = play(matches=10, bots=(bot, "idle"), scenario="kickoff")
    seen = run(p, 60)
    assert (seen["touches"][:, 0] >= 1).all()
    assert (seen["boost_used"][:, 0] > 0.1).all()


def test_kickoff_bot_flips_into_the_ball(play):
    p = play(matches=10, bots=("kickoff_and_clear", "idle"), scenario="kickoff")
    jumped = np.zeros(10, bool)
    for _ in range(50):
        p.step()
        jumped |= p.feature("action", "jump")[:, 0] > 0
    assert jumped.all()


@pytest.mark.nightly
def test_kickoff_and_clear_defends_better_than_idle(play):
    """Balls that roll to the own goal: it turns more of them round than a car that stands there."""

    def conceded(bot: str) -> float:
        p = play(matches=12, bots=(bot, "chaser"), scenario="kickoff", no_touch_s=0, timeout_s=30)
        return float(run(p, 450)["conceded"][:, 0].mean())

    assert conceded("kickoff_and_clear") <= conceded("idle")
