from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pvp_ml.games.rocket_league import resets
from pvp_ml.games.rocket_league.config import RocketLeagueConfig
from pvp_ml.games.rocket_league.describe import describe
from pvp_ml.games.rocket_league.simulator import Scene

RLGYM = json.loads((Path(__file__).parent / "rlgym_default_obs.json").read_text())


def test_sizes_and_versions():
    advanced, first, default = (
        describe(RocketLeagueConfig(meshes="generated", observation=o)) for o in ("advanced", "advanced1", "default")
    )
    assert advanced.obs_size == 6 + 18 + 3 + 10 + 5 * 19 + 6 * 6 + 12 == 180
    assert first.obs_size == 6 + 18 + 3 + 10 + 5 * 11 + 6 * 6 + 12 == 140
    assert default.obs_size == 172
    assert all(b.name.startswith("advanced2.") for b in advanced.blocks)
    assert all(b.name.startswith("advanced1.") for b in first.blocks)
    assert all(b.name.startswith("default1.") for b in default.blocks)


def test_all_modes_share_one_interface():
    digests = {describe(RocketLeagueConfig(meshes="generated", mode=m)).interface_digest for m in ("1v0", "1v1", "3v3")}
    assert len(digests) == 1


def turned(scene: Scene, sizes: tuple[int, int]) -> Scene:
    """The same scene seen from the other side: everything turned by 180°, teams swapped."""
    cars = resets.turn_cars(scene.cars)
    order = [*range(sizes[0], sum(sizes)), *range(sizes[0])]
    return Scene(resets.turn_ball(scene.ball), cars[order], scene.boost[order])


def show(p, scene: Scene) -> np.ndarray:
    game = p.game
    game.arenas.place(0, scene)
    game._settle(np.array([0]))
    game.start(p.out)
    return p.out.obs[0].copy()


@pytest.mark.parametrize("observation", ["advanced", "advanced1", "default"])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_orange_sees_the_turned_world(play, observation, size):
    """Orange's observation equals blue's of the turned state, at the start and after ten steps of play."""
    sizes = (size, size)
    mine, other = (play(mode=f"{size}v{size}", observation=observation, no_touch_s=0) for _ in range(2))
    rng = np.random.default_rng(3)
    swap = [*range(size, 2 * size), *range(size)]
    for number in range(8):
        scene = resets.scattered(rng, sizes, 0.5)
        assert np.abs(show(mine, scene) - show(other, turned(scene, sizes))[swap]).max() < 1e-5, number
        choices = rng.integers(0, 90, (10, 1, 2 * size))
        for choice in choices:
            for p, one in ((mine, choice), (other, choice[:, swap])):
                p.game._mask[...] = True
                p.step(one)
        assert np.abs(mine.out.obs[0] - other.out.obs[0][swap]).max() < 0.02, number
        assert np.abs(mine.out.reward[0] - other.out.reward[0][swap]).max() < 0.02, number


def test_default_observation_and_actions_agree_with_rlgym(play, pack):
    """Twelve steps of driving, jumping and boosting 2v2, recorded in rlgym v2 (record_rlgym.py)."""
    scene = RLGYM["scene"]
    cars = [
        dict(zip(("position", "angles", "velocity", "spin", "boost"), car, strict=True))
        | {"team": "blue" if i < 2 else "orange"}
        for i, car in enumerate(scene["cars"])
    ]
    p = play(mode="2v2", observation="default", **pack(scene["ball"], cars))
    recorded = iter(RLGYM["obs"])
    for number, choices in enumerate(RLGYM["actions"], 1):
        p.game._mask[...] = True  # rlgym has no masks
        p.step([choices])
        if number in RLGYM["shown_after"]:
            assert np.abs(p.out.obs[0] - np.array(next(recorded))).max() < 5e-4, number


def test_a_flip_turns_for_065_seconds_and_no_longer(play, pack):
    """rlgym's `is_flipping`: flipped, and less than 0.65 s ago. The simulator's own flag stays up until the landing."""
    car = {"team": "blue", "position": [0, -3000, 900], "angles": [0, np.pi / 2, 0], "velocity": [0, 0, 400]}
    p = play(mode="1v0", observation="default", **pack([[2000.0, 0.0, 93.15]], [car]))
    table = [tuple(row) for row in RLGYM["table"]]
    flip = next(i for i, row in enumerate(table) if row[2] == -1.0 and row[5] == 1.0 and row[3] == row[4] == 0.0)
    p.step(flip)
    shown = []
    for _ in range(15):
        p.step(8)
        shown.append((p.feature("flags", "has_flipped")[0, 0], p.feature("flags", "is_flipping")[0, 0]))
    assert [flipped for flipped, _ in shown] == [1.0] * 15, "the car is still in the air"
    # the flip began one tick into the first step: 7 + 8n ticks have passed after n more steps, 78 are 0.65 s
    assert [flipping for _, flipping in shown] == [float((7 + 8 * n) / 120 < 0.65) for n in range(1, 16)]


def test_numbers_of_a_known_scene(play, pack):
    """A car at the origin facing +y (yaw 90°), the ball 1200 ahead and 600 to its right at +x… seen from inside."""
    car = {"team": "blue", "position": [0, 0, 17], "angles": [0, np.pi / 2, 0], "velocity": [0, 1150, 0], "boost": 40}
    rival = {"team": "orange", "position": [0, 3000, 17], "angles": [0, -np.pi / 2, 0], "boost": 100}
    p = play(**pack([[600.0, 1200.0, 617.0], [0.0, 600.0, 0.0]], [car, rival]))
    values = {name: float(p.feature("ball", name)[0, 0]) for name in ("position_x", "position_y", "position_z")}
    assert values["position_x"] == pytest.approx(0.2, abs=1e-4)
    assert abs(values["position_y"]) == pytest.approx(0.1, abs=1e-4)
    assert values["position_z"] == pytest.approx(0.1, abs=1e-4)
    assert p.feature("ball", "velocity_x")[0, 0] == pytest.approx((600 - 1150) / 6000, abs=1e-4)
    assert p.feature("self", "velocity_x")[0, 0] == pytest.approx(0.5, abs=1e-4)
    assert p.feature("self", "boost")[0, 0] == pytest.approx(0.4)
    assert p.feature("self", "roof_z")[0, 0] == pytest.approx(1.0)
    assert p.feature("opponent", "position_x")[0, 0] == pytest.approx(0.5, abs=1e-4)
    assert p.feature("opponent", "boost")[0, 0] == pytest.approx(1.0)
    assert p.feature("goals", "car_theirs_x")[0, 0] == pytest.approx(1.0, abs=1e-4)
    assert p.feature("goals", "car_own_x")[0, 0] == pytest.approx(-1.0, abs=1e-4)
    assert p.feature("goals", "car_theirs_x")[0, 1] == pytest.approx(1.5, abs=1e-4)  # orange's goal is at −y
    assert p.feature("context", "kickoff")[0].tolist() == [0.0, 0.0]


def test_version_2_shows_how_the_others_lie_and_the_last_minute(play, pack):
    """An opponent ahead, coming at us, on its roof side in the air; the clock stands still until a minute is left."""
    car = {"team": "blue", "position": [0, 0, 17], "angles": [0, np.pi / 2, 0]}
    rival = {"team": "orange", "position": [0, 3000, 500], "angles": [0, -np.pi / 2, np.pi], "boost": 100}
    shot = pack([[600.0, 1200.0, 617.0], [0.0, 600.0, 0.0]], [car, rival])
    p = play(timeout_s=62.0, **shot)
    nose, roof = ([float(p.feature("opponent", f"{what}_{a}")[0, 0]) for a in "xyz"] for what in ("nose", "roof"))
    assert nose == pytest.approx([-1.0, 0.0, 0.0], abs=1e-3) and roof == pytest.approx([0.0, 0.0, -1.0], abs=1e-3)
    assert p.feature("opponent", "on_ground")[0].tolist() == [0.0, 1.0]
    assert p.feature("opponent", "has_flip")[0].tolist() == [1.0, 1.0]
    assert p.feature("context", "time_left")[0].tolist() == [1.0, 1.0]
    p.step(8, 30)
    assert p.feature("context", "time_left")[0, 0] == pytest.approx(1.0)
    p.step(8, 15)
    assert p.feature("context", "time_left")[0, 0] == pytest.approx(59 / 60, abs=1e-4)


def test_right_is_right(play, pack):
    """A ball on the right of the car has positive y, and steering right (+1) reduces the angle."""
    car = {"team": "blue", "position": [0, -2000, 17], "angles": [0, np.pi / 2, 0], "velocity": [0, 1000, 0]}
    p = play(**pack([[-1500.0, 1000.0, 93.15], [0.0, 0.0, 0.0]], [car]))
    before = float(p.feature("ball", "position_y")[0, 0])
    p.step([[20, 8]], 4)  # row 20: throttle 1, steer right
    assert RLGYM["table"][20][:2] == [1.0, 1.0]
    assert before > 0 and float(p.feature("ball", "position_y")[0, 0]) < before


def test_empty_slots_are_zero_and_kickoff_is_flagged(play):
    p = play(scenario="kickoff")
    spec, at = p.spec, 0
    for block in spec.blocks:
        part = p.out.obs[:, :, at : at + block.width]
        if block.name == "advanced2.ally":
            assert not part.any()
        if block.name == "advanced2.opponent":
            assert part[:, :, :19].any() and not part[:, :, 19:].any()
        at += block.width
    assert (p.feature("context", "kickoff") == 1.0).all()
    assert (p.feature("context", "time_left") == 1.0).all()


def test_a_taken_pad_shows_its_timer(play, pack):
    """Driving over the big pad at (3584, 0): 10 s until it is back, counted down for both teams."""
    car = {"team": "blue", "position": [3400, 0, 17], "angles": [0, 0, 0], "velocity": [1500, 0, 0], "boost": 0}
    p = play(**pack([[0.0, 3000.0, 500.0], [0.0, 0.0, 1.0]], [car]))
    p.step(8, 3)
    assert p.feature("self", "boost")[0, 0] == pytest.approx(1.0)
    timers = p.game.arenas.pad_timer[0]
    assert (timers > 0).sum() == 1 and 9.7 < timers[18] <= 10.0
    assert p.feature("pad_near_car", "there")[0, 0] == 0.0
    first = float(p.feature("pad_near_car", "timer")[0, 0])
    p.step(8, 15)  # one second
    assert first - float(p.feature("pad_near_car", "timer")[0, 0]) == pytest.approx(0.1, abs=0.001)
    exact = p.game.arenas._pads[0][18].get_state().cooldown
    assert p.game.arenas.pad_timer[0, 18] == pytest.approx(exact, abs=1e-3)


def test_timers_of_the_pads_are_exact_over_a_match(play):
    p = play(mode="2v2", bots=("chaser",) * 4, no_touch_s=0, setters={"random_ground": 1.0})
    for _ in range(150):
        p.step()
        if p.out.ended[0]:
            break
        exact = [pad.get_state().cooldown for pad in p.game.arenas._pads[0]]
        assert np.abs(p.game.arenas.pad_timer[0] - exact).max() < 2e-3
