"""Every reward term with numbers worked out by hand: two seats, seat 0 in its own frame, own goal at −y."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from pvp_ml.errors import UserError
from pvp_ml.games.rocket_league.derived_state import Facts, Moment
from pvp_ml.games.rocket_league.rewards import table as rewards
from pvp_ml.games.rocket_league.rewards.table import CONDITIONS, TERMS

FACT_NUMBERS = ("boost", "on_ground", "demoed", "touching", "has_flip", "is_jumping", "is_supersonic", "has_contact")
MOMENT_NUMBERS = {
    "touch": bool,
    "scored": np.float32,
    "conceded": np.float32,
    "scorer": bool,
    "own_goal": bool,
    "new_demoed": bool,
    "gained": np.float32,
    "spent": np.float32,
    "touched_last": bool,
    "streak": np.int32,
    "air_steps": np.int32,
    "steps_since_jump": np.int32,
    "landed": bool,
    "turtled": bool,
    "recovered": bool,
    "stayed_down": bool,
    "recovery_steps": np.int32,
    "flip_reset": bool,
    "is_drill": bool,
}


def moment(**given) -> Moment:
    """One match with two seats; what is given holds for seat 0, seat 1 stands 8000 uu away on its wheels."""
    vectors = {
        "ball": (0.0, 0.0, 92.75),
        "ball_velocity": (0.0, 0.0, 0.0),
        "position": (0.0, -1000.0, 17.0),
        "velocity": (0.0, 0.0, 0.0),
        "forward": (0.0, 1.0, 0.0),
        "right": (-1.0, 0.0, 0.0),
        "up": (0.0, 0.0, 1.0),
        "ball_velocity_before": (0.0, 0.0, 0.0),
        "up_before": (0.0, 0.0, 1.0),
        "rival": (0.0, 5000.0, 17.0),
    }
    v = {name: np.array(given.pop(name, default), np.float32) for name, default in vectors.items()}

    def both(vector: np.ndarray, other: tuple[float, ...] | None = None) -> np.ndarray:
        return np.stack([vector, vector if other is None else np.array(other, np.float32)])[None]

    def numbers(name: str, kind: type, default: float = 0) -> np.ndarray:
        return np.array([[given.pop(name, default), default]], kind)

    facts = {n: numbers(n, np.float32 if n == "boost" else bool, n == "on_ground") for n in FACT_NUMBERS}
    cars = np.zeros((1, 2, 2, 36), np.float32)
    cars[:, :, 0, 11:14], cars[:, :, 1, 11:14] = v["position"], v["rival"]
    cars[:, :, 1, 1] = 1.0
    now = Facts(
        ball=both(v["ball"]),
        ball_velocity=both(v["ball_velocity"]),
        ball_spin=np.zeros((1, 2, 3), np.float32),
        position=both(v["position"], tuple(v["rival"])),
        velocity=both(v["velocity"], (0, 0, 0)),
        spin=np.zeros((1, 2, 3), np.float32),
        axes=np.stack([np.stack([v["forward"], v["right"], v["up"]])] * 2)[None],
        cars=cars,
        pads=np.ones((1, 2, 34), bool),
        pad_timer=np.zeros((1, 2, 34), np.float32),
        flags=np.zeros((1, 2, 4), np.float32),
        **facts,
    )
    gap = now.ball - now.position
    distance = np.linalg.norm(gap, axis=-1)
    counts = np.zeros((1, 2, 5), np.float32)
    counts[0, 0] = given.pop("counts", (0, 0, 0, 0, 0))
    rest = {name: numbers(name, kind) for name, kind in MOMENT_NUMBERS.items()}
    assert not given, given
    return Moment(
        now=now,
        gap=gap,
        distance=distance,
        toward=gap / np.maximum(distance, 1e-6)[..., None],
        counts=counts,
        ball_velocity_before=both(v["ball_velocity_before"]),
        up_before=both(v["up_before"]),
        **rest,
    )


def paid(term: str, **given) -> float:
    return float(np.asarray(TERMS[term](moment(**given)))[0, 0])


LEVEL = {"position": (0.0, -1000.0, 92.75)}  # at the ball's height: distances are round numbers
GOAL = 321.3875
CASES = [
    ("touch", {"touch": True}, 1.0),
    ("touch", {"touching": True}, 0.0),
    ("goal", {"scored": 1}, 1.0),
    ("concede", {"conceded": 1}, 1.0),
    ("own_goal", {"own_goal": True, "conceded": 1}, 1.0),
    ("shot", {"counts": (0, 0, 1, 0, 0)}, 1.0),
    ("save", {"counts": (0, 1, 0, 0, 0)}, 1.0),
    ("demo", {"counts": (0, 0, 0, 1, 0)}, 1.0),
    ("demoed", {"new_demoed": True}, 1.0),
    ("boost_gain", {"gained": 0.12}, 0.12),
    ("constant", {}, 1.0),
    ("speed_toward_ball", {**LEVEL, "velocity": (0, 1150, 0)}, 0.5),
    ("speed_toward_ball", {**LEVEL, "velocity": (0, -1150, 0)}, 0.0),
    ("speed_toward_ball", {"position": (0, -6100, 92.75), "velocity": (0, 2300, 0)}, 0.0),
    ("velocity_player_to_ball", {**LEVEL, "velocity": (0, -1150, 0)}, -0.5),
    ("velocity_player_to_ball", {**LEVEL, "velocity": (1000, 460, 0)}, 0.2),
    ("face_ball", LEVEL, 1.0),
    ("face_ball", {**LEVEL, "forward": (1, 0, 0)}, 0.0),
    ("face_ball", {**LEVEL, "forward": (0, -1, 0)}, -1.0),
    ("in_air", {"on_ground": False}, 1.0),
    ("in_air", {"on_ground": True}, 0.0),
    ("in_air", {"on_ground": False, "demoed": True}, 0.0),
    ("velocity", {"velocity": (0, 1150, 0)}, 0.5),
    ("velocity_ball_to_goal", {"ball": (0, 0, GOAL), "ball_velocity": (0, 3000, 0)}, 0.5),
    ("velocity_ball_to_goal", {"ball": (0, 0, GOAL), "ball_velocity": (0, -3000, 0)}, -0.5),
    ("basic_shot", {"ball": (0, 0, GOAL), "ball_velocity": (0, 3000, 0)}, 0.5),
    ("clear", {"ball": (0, 0, GOAL), "ball_velocity": (0, 1500, 0)}, 0.25),
    ("clear", {"ball": (0, 0, GOAL), "ball_velocity": (0, -1500, 0)}, 0.0),
    ("velocity_toward_own_goal", {"ball": (0, 0, GOAL), "ball_velocity": (0, -1500, 0)}, -0.25),
    ("velocity_toward_own_goal", {"ball": (0, 0, GOAL), "ball_velocity": (0, 1500, 0)}, 0.0),
    ("liu_distance_ball_to_goal", {"ball": (0, 6000 - 972.75, GOAL)}, 1.0),
    ("liu_distance_ball_to_goal", {"ball": (0, 0, GOAL)}, np.exp(-0.5 * (6000 - 972.75) / 6000)),
    ("liu_distance_player_to_ball", {"position": (0, -92.75, 92.75)}, 1.0),
    ("liu_distance_player_to_ball", {"position": (0, -92.75 - 2300, 92.75)}, np.exp(-0.5)),
    ("strong_hit", {"touch": True, "ball_velocity": (0, 60, 0)}, 0.1),
    ("strong_hit", {"touch": True, "ball_velocity": (0, 1500, 0)}, 0.5),
    ("strong_hit", {"touch": True, "ball_velocity": (0, 3000, 0), "ball_velocity_before": (0, -3000, 0)}, 1.0),
    ("strong_hit", {"touched_last": True, "ball_velocity": (0, 2500, 0)}, 0.0),
    ("touch_to_goal", {"touch": True, "ball": (0, 0, GOAL), "ball_velocity": (0, 1500, 0)}, 0.25),
    ("touch_to_goal", {"touch": True, "ball": (0, 0, GOAL), "ball_velocity": (0, -1500, 0)}, -0.25),
    ("touch_to_goal", {"ball": (0, 0, GOAL), "ball_velocity": (0, 1500, 0)}, 0.0),
    ("shot_quality", {"touch": True, "ball": (0, 3000, 93), "ball_velocity": (0, 1500, 0)}, 0.5),
    ("shot_quality", {"touch": True, "ball": (0, 3000, 93), "ball_velocity": (0, 4500, 0)}, 1.0),
    ("shot_quality", {"touch": True, "ball": (0, 3000, 93), "ball_velocity": (700, 1500, 0)}, 0.0),  # 989 uu wide
    ("shot_quality", {"touch": True, "ball": (0, 3000, 93), "ball_velocity": (0, 1500, 900)}, 0.0),  # over the bar
    ("shot_quality", {"touch": True, "ball": (0, 3000, 93), "ball_velocity": (0, 1500, 700)}, 0.5),
    ("shot_quality", {"touch": True, "ball": (0, -3000, 93), "ball_velocity": (0, 1500, 0)}, 0.0),  # 5.4 s away
    ("shot_quality", {"ball": (0, 3000, 93), "ball_velocity": (0, 1500, 0)}, 0.0),
    ("touch_ball", {"touch": True}, 1.0),
    ("touch_ball", {"touch": True, "ball": (0, 0, 3 * 92.75)}, 2.0),
    ("touch_ball", {}, 0.0),
    ("air_touch", {"touch": True, "on_ground": False, "ball": (0, 0, 1022)}, 0.5),
    ("air_touch", {"touch": True, "on_ground": True, "ball": (0, 0, 1022)}, 0.0),
    ("jump_shot", {"touch": True, "on_ground": False, "steps_since_jump": 90, "position": (0, 0, 511)}, 0.25),
    ("jump_shot", {"touch": True, "on_ground": False, "steps_since_jump": 91, "position": (0, 0, 511)}, 0.0),
    ("basic_aerial", {"position": (0, -400, 92.75), "on_ground": False, "air_steps": 45}, 0.1),
    (
        "basic_aerial",
        {
            "position": (0, 0, -307.25),
            "on_ground": False,
            "air_steps": 200,
            "forward": (0, 0, 1),
            "spent": 0.02,
            "velocity": (0, 0, 500),
        },
        1.0,
    ),
    ("basic_aerial", {"position": (0, -400, 92.75), "on_ground": True, "air_steps": 45}, 0.0),
    ("basic_aerial", {"position": (0, -600, 92.75), "on_ground": False, "air_steps": 45}, 0.0),
    ("recovery_and_landing", {"on_ground": True}, 0.0),
    ("recovery_and_landing", {"on_ground": False, "up_before": (1, 0, 0)}, 0.3 + 0.2),
    ("recovery_and_landing", {"on_ground": False, "up": (0, 0, -1), "up_before": (0, 0, 1)}, -0.3),
    ("recovery_and_landing", {"on_ground": True, "landed": True}, 1.2),
    ("recovery_and_landing", {"on_ground": True, "landed": True, "touching": True}, 1.5),
    ("recovery_and_landing", {"on_ground": True, "landed": True, "up_before": (1, 0, 0)}, -0.5),
    ("bad_orientation", {"on_ground": True}, 0.0),
    ("bad_orientation", {"on_ground": True, "up": (0.8, 0, 0.6)}, -0.1),
    ("bad_orientation", {"on_ground": False, "has_contact": True, "up": (0, 0, -1)}, -0.3),
    ("bad_orientation", {"on_ground": False, "up": (0, 0, -1)}, 0.0),
    ("save_boost", {"boost": 0.25}, 0.5),
    ("collect_boost", {"gained": 0.06}, 0.5),
    ("collect_boost", {"gained": 0.12}, 1.0),
    ("collect_boost", {"gained": 0.9}, 0.3),
    ("boost_pickup", {"gained": 0.12}, 0.5),
    ("boost_pickup", {"gained": 0.9}, 1.0),
    ("boost_pickup", {}, 0.0),
    ("steal_boost", {"gained": 0.9, "position": (3072, 4096, 17)}, 1.0),
    ("steal_boost", {"gained": 0.12, "position": (0, 2816, 17)}, 0.25),
    ("steal_boost", {"gained": 0.9, "position": (3072, -4096, 17)}, 0.0),
    ("steal_boost", {"position": (3072, 4096, 17)}, 0.0),
    ("align_ball_goal", {"ball": (0, 0, GOAL), "position": (0, -1000, GOAL)}, 2.0),
    ("align_ball_goal", {"ball": (0, 0, GOAL), "position": (0, 1000, GOAL)}, -2.0),
    ("shot_setup", {"ball": (0, 0, GOAL), "position": (0, -1000, GOAL)}, 1.0),
    ("shot_setup", {"ball": (0, 0, GOAL), "position": (1000, 0, GOAL)}, 0.0),
    (
        "goal_line_save",
        {"touch": True, "position": (0, -5100, 17), "ball_velocity_before": (0, -900, 0), "ball_velocity": (0, 900, 0)},
        1.0,
    ),
    (
        "goal_line_save",
        {"touch": True, "position": (0, -3000, 17), "ball_velocity_before": (0, -900, 0), "ball_velocity": (0, 900, 0)},
        0.0,
    ),
    (
        "goal_line_save",
        {"touch": True, "position": (0, -5100, 17), "ball_velocity_before": (0, 900, 0), "ball_velocity": (0, -900, 0)},
        0.0,
    ),
    ("possession", {"streak": 3}, 0.6),
    ("possession", {"streak": 9}, 1.0),
    (
        "fifty_fifty",
        {"position": (0, -300, 17), "rival": (0, 300, 17), "touched_last": True, "ball_velocity": (0, 100, 0)},
        1.0,
    ),
    (
        "fifty_fifty",
        {"position": (0, -300, 17), "rival": (0, 700, 17), "touched_last": True, "ball_velocity": (0, 100, 0)},
        0.0,
    ),
    ("fifty_fifty", {"position": (0, -300, 17), "rival": (0, 300, 17), "ball_velocity": (0, 100, 0)}, 0.0),
    ("offside", {"position": (0, 500, 17)}, -1.0),
    ("offside", {"position": (0, 500, 17), "ball": (0, 900, 93)}, 0.0),
    ("offside", {"position": (0, -500, 17), "ball": (0, -900, 93)}, 0.0),
    ("in_net", {"position": (0, -5300, 17)}, -0.5),
    ("in_net", {"position": (0, 5300, 17)}, -1.0),
    ("in_net", {"position": (0, 5000, 17)}, 0.0),
    ("dribbling", {"position": (0, 0, 17), "ball": (30, 40, 150), "on_ground": True}, 1.0),
    ("dribbling", {"position": (0, 0, 17), "ball": (30, 40, 150), "on_ground": True, "velocity": (0, 900, 0)}, 0.0),
    ("dribbling", {"position": (0, 0, 17), "ball": (300, 0, 150), "on_ground": True}, 0.0),
    ("control", {"position": (0, -300, 17), "touched_last": True, "velocity": (0, 1150, 0)}, 0.5),
    ("control", {"position": (0, -300, 17), "velocity": (0, 1150, 0)}, 0.0),
    ("wall_hit", {"touch": True, "on_ground": True, "up": (1, 0, 0), "position": (4000, 0, 1022)}, 0.5),
    ("wall_hit", {"touch": True, "on_ground": True, "position": (4000, 0, 1022)}, 0.0),
]


@pytest.mark.parametrize(("term", "given", "expected"), CASES)
def test_value(term, given, expected):
    assert paid(term, **given) == pytest.approx(float(expected), abs=1e-4)


def test_every_term_has_a_case_that_pays_something():
    assert {term for term, _, expected in CASES if expected} == set(TERMS)


@pytest.mark.parametrize(
    ("condition", "given", "expected"),
    [
        ("closest", {}, [True, False]),
        ("closest", {"position": (0, -4000, 17), "rival": (0, 1000, 17)}, [False, True]),
        ("closest", {"demoed": True, "on_ground": False}, [False, True]),
        ("touched_last", {"touched_last": True}, [True, False]),
        ("behind_ball", {}, [True, False]),
    ],
)
def test_conditions(condition, given, expected):
    assert np.asarray(CONDITIONS[condition](moment(**given)))[0].tolist() == expected


def test_term_with_condition_is_their_product():
    chosen = rewards.choose(("face_ball@closest", "face_ball", "constant@touched_last"))
    out = np.full((1, 2, 3), np.nan, np.float32)
    chosen.write(moment(**LEVEL), out)
    assert out[0, 0].tolist() == pytest.approx([1.0, 1.0, 0.0])
    assert out[0, 1, 0] == 0.0 and out[0, 1, 1] != 0.0
    assert chosen.describe()[0].name == "face_ball@closest"


def test_aerial_weight_bends_the_touch():
    values = []
    for weight in (0.0, 1.0, 2.0):
        out = np.zeros((1, 2, 1), np.float32)
        rewards.choose(("touch_ball",), weight).write(moment(touch=True, ball=(0, 0, 3 * 92.75)), out)
        values.append(float(out[0, 0, 0]))
    assert values == pytest.approx([1.0, 2.0, 4.0])


def test_aerial_weight_zero_pays_touches_only():
    out = np.zeros((1, 2, 1), np.float32)
    rewards.choose(("touch_ball",), 0.0).write(moment(), out)
    assert out[0, :, 0].tolist() == [0.0, 0.0]


def test_wrong_names_are_one_line_with_the_nearest():
    with pytest.raises(UserError, match="no reward term 'face_bal'") as caught:
        rewards.choose(("face_bal",))
    assert caught.value.hint == "did you mean 'face_ball'?"
    with pytest.raises(UserError, match="no condition 'near'"):
        rewards.choose(("face_ball@near",))


def test_nothing_is_paid_without_a_reason():
    """Standing cars far from everything: event-like terms are zero for both seats."""
    quiet = moment()
    silent = set(TERMS) - {
        "constant",
        "face_ball",
        "liu_distance_ball_to_goal",
        "liu_distance_player_to_ball",
        "align_ball_goal",
        "shot_setup",
        "offside",
    }
    assert {name for name in silent if np.asarray(TERMS[name](quiet)).any()} == set()
    assert dataclasses.is_dataclass(quiet)


def test_a_demolished_car_is_paid_for_nothing_that_its_body_does():
    """What the ball does and what the team scores still counts; where the wreck lies and looks does not."""
    names = tuple(TERMS)
    given = {"velocity": (0, 1150, 0), "boost": 0.5, "up": (0, 0, -1), "touched_last": True, "streak": 3}
    given |= {"position": (0, -400, 17), "ball": (0, 0, 150), "rival": (0, 400, 17), "ball_velocity": (0, 100, 0)}
    out = np.zeros((2, 1, 2, len(names)), np.float32)
    for i, demoed in enumerate((False, True)):
        rewards.choose(names).write(moment(**given, demoed=demoed, on_ground=True), out[i])
    alive, wreck = ({name for name, value in zip(names, row, strict=True) if value} for row in out[:, 0, 0])
    about_the_body = {
        "speed_toward_ball",
        "velocity_player_to_ball",
        "face_ball",
        "velocity",
        "liu_distance_player_to_ball",
        "align_ball_goal",
        "shot_setup",
        "fifty_fifty",
        "control",
        "bad_orientation",
        "save_boost",
    }
    assert alive - wreck == about_the_body
    assert {"velocity_ball_to_goal", "liu_distance_ball_to_goal", "possession", "constant"} <= wreck
    assert (out[0, 0, 1] == out[1, 0, 1]).all(), "the other car is paid as before"


def test_a_wreck_in_a_net_is_not_punished():
    out = np.zeros((1, 2, 1), np.float32)
    rewards.choose(("in_net",)).write(moment(position=(0, 5300, 17), demoed=True), out)
    assert out[0, 0, 0] == 0.0
