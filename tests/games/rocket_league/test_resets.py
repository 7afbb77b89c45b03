from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pvp_ml.errors import UserError
from pvp_ml.games.rocket_league import GAME, derived_state, resets
from pvp_ml.games.rocket_league.arena.field import KICKOFF_SPAWNS
from pvp_ml.games.rocket_league.config import RocketLeagueConfig
from pvp_ml.games.rocket_league.describe import describe
from pvp_ml.games.rocket_league.resets import ANGLES, POSITION, SETTERS, SPIN, VELOCITY
from pvp_ml.selfplay.evaluate import Contestant, evaluate
from pvp_ml.selfplay.tally import wilson

DRAWS = 2000


def draw(name: str, sizes: tuple[int, int] = (1, 1), count: int = DRAWS) -> list:
    return [SETTERS[name](np.random.default_rng(seed), sizes) for seed in range(count)]


@pytest.mark.parametrize("sizes", [(1, 0), (1, 1), (2, 2), (3, 3)])
@pytest.mark.parametrize("name", list(SETTERS))
def test_every_setter_puts_everything_inside_the_field(name, sizes):
    for scene in draw(name, sizes, 60):
        assert scene.cars.shape == (sum(sizes), 4, 3) and scene.boost.shape == (sum(sizes),)
        assert np.isfinite(scene.ball).all() and np.isfinite(scene.cars).all()
        for place, low in [(scene.ball[0], 90.0), *((car[POSITION], 16.0) for car in scene.cars)]:
            assert abs(place[0]) < 4000 and abs(place[1]) < 5020 and low <= place[2] < 2030
            assert abs(place[0]) + abs(place[1]) < 8064 - 60
        assert np.linalg.norm(scene.cars[:, VELOCITY], axis=1).max() <= 2300.01
        assert np.linalg.norm(scene.cars[:, SPIN], axis=1).max() <= 5.51
        assert np.linalg.norm(scene.ball[1]) <= 3000.01
        assert ((scene.boost >= 0) & (scene.boost <= 100)).all()


@pytest.mark.parametrize("name", ["random", "random_ground", "random_one_side"])
def test_scattered_cars_and_balls_keep_clear_of_the_corner_ramps(name):
    """The corner planes are |x|+|y| = 8064; their ramps begin within 600 uu of them."""
    places = np.concatenate([[scene.ball[0], *scene.cars[:, POSITION]] for scene in draw(name, (3, 3), 400)])
    gap = (8064.0 - np.abs(places[:, :2]).sum(1)) / np.sqrt(2)
    assert gap.min() >= 600.0
    assert np.abs(places[:, 0]).max() > 3400 and np.abs(places[:, 1]).max() > 4400, "walls are still approached"


def test_grounded_cars_stand_on_the_floor_after_their_first_step(play):
    p = play(matches=200, mode="1v0", scenario="random_ground", no_touch_s=0, setters={"random_ground": 1.0})
    p.step(8)
    seen = derived_state.look(p.game.arenas, p.game.team)
    stands = seen.on_ground[:, 0] & (seen.up[:, 0, 2] > 0.99)
    near_ball = np.linalg.norm(seen.ball[:, 0] - seen.position[:, 0], axis=1) < 300.0
    assert (stands | near_ball).all(), seen.position[:, 0][~(stands | near_ball)]


def test_kickoff_uses_the_five_places_alike_and_mirrored():
    counts: dict[tuple[float, float], int] = {}
    for scene in draw("kickoff"):
        blue, orange = scene.cars
        assert blue[POSITION][:2].tolist() == (-orange[POSITION][:2]).tolist()
        assert np.cos(blue[ANGLES, 1] - orange[ANGLES, 1]) == pytest.approx(-1.0)
        counts[(blue[POSITION, 0], blue[POSITION, 1])] = counts.get((blue[POSITION, 0], blue[POSITION, 1]), 0) + 1
        assert scene.boost.tolist() == pytest.approx([100 / 3] * 2)
    assert set(counts) == {(x, y) for x, y, _ in KICKOFF_SPAWNS}
    assert all(abs(c / DRAWS - 0.2) < 0.04 for c in counts.values())


def test_jitter_moves_kickoff_cars_a_little_and_nothing_else():
    plain, shaken = (resets.choose({"kickoff": 1.0}, (), jitter=jitter) for jitter in (0.0, 1.0))
    moved, turned = [], []
    for seed in range(300):
        exact, near = (s.scene("kickoff", np.random.default_rng(seed), (1, 1)) for s in (plain, shaken))
        assert (exact.ball == near.ball).all() and (exact.boost == near.boost).all()
        moved.append((near.cars - exact.cars)[:, POSITION])
        turned.append((near.cars - exact.cars)[:, ANGLES, 1])
    moved, turned = np.array(moved), np.degrees(turned)
    assert np.abs(moved[..., :2]).max() == pytest.approx(10.0, abs=0.2) and not moved[..., 2].any()
    assert np.abs(turned).max() == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize(("jitter", "fewest", "most"), [(0.0, 2, 10), (1.0, 24, 24)])
def test_bots_play_as_many_matches_as_begin_differently(rocketsim, jitter, fewest, most):
    game = GAME.build(RocketLeagueConfig(meshes="generated", start_jitter=jitter, timeout_s=4.0), 24)
    first, second = (Contestant(name, bot=name, draws=False) for name in ("chaser", "kickoff_and_clear"))
    total = evaluate(game, first, second, 24, scenarios=("kickoff",)).total
    assert fewest <= total.distinct <= most
    assert total.interval == wilson(total.score * total.distinct, total.distinct)


def test_kickoff_places_are_distinct_within_a_team():
    for scene in draw("kickoff", (3, 3), 50):
        assert len({tuple(car[POSITION]) for car in scene.cars}) == 6


def test_kickoff_cars_look_at_the_ball():
    for x, y, yaw in KICKOFF_SPAWNS:
        to_ball = np.array([-x, -y]) / np.hypot(x, y)
        assert to_ball @ [np.cos(yaw), np.sin(yaw)] > 0.9


def test_random_is_half_in_the_air_and_fills_its_ranges():
    scenes = draw("random")
    height = np.array([scene.cars[0, POSITION, 2] for scene in scenes])
    ball = np.array([scene.ball[0] for scene in scenes])
    speed = np.array([np.linalg.norm(scene.ball[1]) for scene in scenes])
    boost = np.array([scene.boost[0] for scene in scenes])
    assert abs((height > 20).mean() - 0.5) < 0.04
    assert (height[height > 20] >= 150).all()
    assert np.abs(ball.mean(0) - [0, 0, 1025]).max() < 150
    assert np.abs(ball.std(0) - np.array([7000, 9000, 1850]) / np.sqrt(12)).max() < 80
    assert abs(speed.mean() - 1500) < 60 and speed.max() > 2900
    assert abs(boost.mean() - 50) < 3
    grounded = [scene.cars[0] for scene in scenes if scene.cars[0, POSITION, 2] < 20]
    assert all(car[ANGLES, 0] == car[ANGLES, 2] == car[VELOCITY, 2] == 0 for car in grounded)
    yaw = np.array([scene.cars[0, ANGLES, 1] for scene in scenes])
    assert abs((np.sin(yaw) > 0).mean() - 0.5) < 0.04 and abs((np.cos(yaw) > 0).mean() - 0.5) < 0.04


def test_random_ground_is_never_in_the_air():
    assert all((scene.cars[:, POSITION, 2] == 17.0).all() for scene in draw("random_ground", (2, 2), 200))


def test_one_side_is_one_side_and_both_sides_come_up():
    signs = []
    for scene in draw("random_one_side", (2, 2), 600):
        y = np.append(scene.cars[:, POSITION, 1], scene.ball[0, 1])
        assert (y >= 0).all() or (y <= 0).all()
        signs.append(y[0] > 0)
    assert abs(np.mean(signs) - 0.5) < 0.07


def test_set_ups_are_for_both_teams_alike():
    for name in ("wall", "air_dribble", "flip_reset", "jump"):
        by_blue = [
            np.linalg.norm(s.cars[0, POSITION] - s.ball[0]) < np.linalg.norm(s.cars[1, POSITION] - s.ball[0])
            for s in draw(name, (1, 1), 600)
        ]
        assert abs(np.mean(by_blue) - 0.5) < 0.07, name


def test_turning_twice_changes_nothing():
    scene = resets.scattered(np.random.default_rng(0), (2, 2), 0.5)
    again = resets.turn_cars(resets.turn_cars(scene.cars))
    assert np.allclose(again[:, [POSITION, VELOCITY, SPIN]], scene.cars[:, [POSITION, VELOCITY, SPIN]])
    assert np.allclose(np.exp(1j * again[:, ANGLES]), np.exp(1j * scene.cars[:, ANGLES]))
    assert np.allclose(resets.turn_ball(resets.turn_ball(scene.ball)), scene.ball)


def test_turtled_cars_land_on_their_roofs(play):
    p = play(mode="3v3", scenario="turtled")
    p.step(8, 15)
    up = p.game.arenas.cars[0, :, 0, 32]
    assert (up < -0.8).all()
    spacing = np.abs(np.diff(p.game.arenas.cars[0, :3, 0, 11]))
    assert np.abs(spacing - 600).max() < 120


def test_jump_set_up_is_reachable(play):
    """The ball is above the car's driving height and comes near within two seconds of driving straight."""
    p = play(matches=8, scenario="jump", no_touch_s=0)
    best = np.full((8, 2), np.inf)
    for _ in range(30):
        p.step(16)
        best = np.minimum(best, p.signal("distance_to_ball"))
    assert (best.min(1) < 700).all()


def test_mixture_follows_its_weights():
    setters = resets.choose({"kickoff": 3.0, "random_ground": 1.0, "wall": 0.0}, ())
    assert setters.names == ("kickoff", "random_ground") and setters.weights == (0.75, 0.25)
    drawn = [setters.draw("default", np.random.default_rng(i)) for i in range(DRAWS)]
    assert abs(drawn.count("kickoff") / DRAWS - 0.75) < 0.04
    assert (setters.scene("kickoff", np.random.default_rng(0), (1, 1)).ball[0][:2] == 0).all()


def test_a_share_of_matches_begins_in_the_mechanics_lane():
    setters = resets.choose({"kickoff": 1.0}, (), mechanics_weight=0.2)
    drawn = [setters.draw("default", np.random.default_rng(i)) for i in range(4 * DRAWS)]
    for name in ("wall", "air_dribble", "flip_reset", "jump"):
        assert abs(drawn.count(name) / len(drawn) - 0.05) < 0.01
    assert abs(drawn.count("kickoff") / len(drawn) - 0.8) < 0.02
    assert setters.draw("turtled", np.random.default_rng(0)) == "turtled", "a plan that names its setter gets it"


def test_the_lane_has_metrics_of_its_own(play):
    lane = play(matches=24, mode="1v0", mechanics_weight=1.0)
    touches, inside = np.zeros(24), np.zeros(24)
    for _ in range(40):
        lane.step(16)
        touches += lane.signal("touches")[:, 0]
        inside += lane.signal("mechanics_touches")[:, 0]
    assert (lane.signal("mechanics")[lane.out.serial >= 0] == 1).all()
    assert touches.sum() >= 4 and (touches == inside).all()
    other = play(matches=4, scenario="kickoff", mechanics_weight=1.0)
    other.step(16, count=60)
    assert not other.signal("mechanics").any() and not other.signal("mechanics_touches").any()


def test_a_flip_reset_needs_the_ball_and_air_around(play):
    p = play(matches=1, scenario="flip_reset", mode="1v0")
    memory, seen = p.game._memory, derived_state.look(p.game.arenas, p.game.team)
    high, floor = (np.array([[[0.0, 0.0, z]]], np.float32) for z in (900.0, 18.0))
    above = np.array([0.0, 0.0, 1.0], np.float32)
    seen = replace(seen, has_flip=np.ones((1, 1), bool))

    def is_reset(had_flip, place, gap):
        memory.has_flip[:] = had_flip
        facts = replace(seen, position=place, ball=place + gap * above)
        return bool(memory.advance(facts, p.game.arenas, np.zeros((1, 1), bool)).flip_reset.all())

    assert is_reset(False, high, 150.0)
    assert not is_reset(False, high, 400.0)
    assert not is_reset(False, floor, 150.0), "that was the floor"
    assert not is_reset(True, high, 150.0), "it had one"


def test_scenarios_name_the_setters():
    spec = describe(RocketLeagueConfig(meshes="generated"))
    assert [s.name for s in spec.scenarios] == ["default", *SETTERS]


@pytest.mark.parametrize(
    ("weights", "message", "hint"),
    [
        ({"kickof": 1.0}, "no state setter 'kickof'", "did you mean 'kickoff'?"),
        ({"kickoff": -1.0}, "weight -1.0", "not negative"),
        ({"kickoff": float("nan")}, "weight nan", "finite"),
        ({"kickoff": 0.0}, "no positive weight", "at least one"),
        ({}, "no positive weight", "at least one"),
        ({"training_pack": 1.0}, "has no shots", "packs"),
    ],
)
def test_wrong_mixtures_are_one_line(weights, message, hint):
    with pytest.raises(UserError, match=message) as caught:
        describe(RocketLeagueConfig(meshes="generated", setters=weights))
    assert hint in caught.value.hint and "\n" not in str(caught.value)
