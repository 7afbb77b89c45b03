import math
from typing import Annotated

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, ValidationError

from pvp_ml.errors import UserError
from pvp_ml.rl.schedule.schedule import Constant, Linear, Log, Progress, Schedule, ScheduleError, Within, at


def after(rollouts: int) -> Progress:
    return Progress(steps=rollouts * 1000, rollouts=rollouts, total_steps=10_000)


@pytest.mark.parametrize(
    ("text", "value"), [(3, 3.0), (0.25, 0.25), ("3e-4", 3e-4), ({"type": "constant", "value": 7}, 7.0)]
)
def test_a_number_is_constant(text, value):
    schedule = Schedule.parse(text)
    assert [schedule.at(after(t)) for t in (0, 5, 10**6)] == [value] * 3
    assert schedule == Constant(value)


def test_linear_interpolates_and_stays():
    schedule = Schedule.parse(
        {"type": "linear", "initial-value": 0.8, "final-value": 0.2, "change-over-time-steps": 200}
    )
    assert [round(schedule.at(after(t)), 6) for t in (0, 50, 100, 200, 999)] == [0.8, 0.65, 0.5, 0.2, 0.2]


def test_linear_rounds():
    data = {"type": "linear", "initial_value": 0.8, "final_value": 0.2, "change_over_time_steps": 200}
    schedule = Schedule.parse({**data, "round_value": True, "round_digits": 1})
    assert [schedule.at(after(t)) for t in (0, 40, 90)] == [0.8, 0.7, 0.5]
    assert Schedule.parse({**data, "round_value": True}).at(after(0)) == 1.0


def test_log_is_geometric():
    schedule = Schedule.parse({"type": "log", "initial_value": 1e-2, "final_value": 1e-4, "change_over_time_steps": 10})
    assert [schedule.at(after(t)) for t in (0, 5, 10, 20)] == pytest.approx([1e-2, 1e-3, 1e-4, 1e-4])
    other = Schedule.parse(
        {"type": "log", "initial_value": 8, "final_value": 2, "change_over_time_steps": 2, "base": 2}
    )
    assert other.at(after(1)) == pytest.approx(4.0)


@pytest.mark.parametrize("kind", ["jump", "steps"])
def test_jump_takes_the_last_threshold_reached(kind):
    nested = {"type": "linear", "initial_value": 0, "final_value": 10, "change_over_time_steps": 100}
    schedule = Schedule.parse({"type": kind, "jumps": {"0": 1, "10": 2, 50: nested}})
    assert [schedule.at(after(t)) for t in (0, 9, 10, 49)] == [1, 1, 2, 2]
    assert schedule.at(after(50)) == 5.0  # the nested schedule sees the absolute time


def test_expression_with_substitutions_and_defaults():
    line = {"type": "linear", "initial-value": 0.8, "final-value": 0.2, "change-over-time-steps": 200}
    past = Schedule.parse({"type": "expression", "expression": "1 - self", "substitutions": {"self": line}})
    assert past.at(after(100)) == pytest.approx(0.5)
    meals = Schedule.parse({"type": "expression", "expression": "(scale + 1.2) ** 1.5", "defaults": {"scale": 0}})
    assert meals.at(after(0)) == pytest.approx(1.2**1.5)
    assert meals.at(after(0), scale=0.3) == pytest.approx(1.5**1.5)


def test_clocks():
    def line(clock, span=None):
        spans = {} if span is None else {"change_over_time_steps": span}
        return Schedule.parse({"type": "linear", "initial_value": 1, "final_value": 0, "clock": clock, **spans})

    now = Progress(steps=2500, rollouts=5, total_steps=10_000)
    assert line("rollouts", 10).at(now) == 0.5
    assert line("steps", 10_000).at(now) == 0.75
    assert line("run").at(now) == 0.75
    assert line("run", 0.5).at(now) == 0.5
    with pytest.raises(ScheduleError, match=r"set run\.total_steps"):
        line("run").at(Progress(1, 1, 0))
    with pytest.raises(ScheduleError, match="change_over_time_steps"):
        line("steps")


def test_randomness_comes_from_the_given_generator():
    schedule = Schedule.parse({"type": "expression", "expression": "random() * 0.2"})
    draws = [schedule.at(after(0), np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert draws[0] == draws[1] == np.random.default_rng(1).random() * 0.2
    assert draws[2] != draws[0]
    with pytest.raises(UserError, match="random numbers"):
        schedule.at(after(0))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"type": "lineer", "value": 1}, "schedule type 'lineer' is unknown — choose one of: constant, linear"),
        ({"value": 1}, "schedule type None is unknown"),
        ({"type": "constant"}, "needs 'value'"),
        ({"type": "constant", "valeu": 1, "value": 1}, "has no field 'valeu' — fields: value"),
        (
            {"type": "linear", "initial_value": 0, "final_value": 1, "change_over_time_steps": 0},
            "change_over_time_steps is 0",
        ),
        (
            {"type": "linear", "initial_value": "a", "final_value": 1, "change_over_time_steps": 1},
            "'initial_value' is 'a'",
        ),
        ({"type": "log", "initial_value": 0, "final_value": 1, "change_over_time_steps": 1}, "above 0"),
        ({"type": "jump", "jumps": {5: 1}}, "the first must be 0"),
        ({"type": "jump", "jumps": {0: 1, 9: 2, 5: 1}}, "must rise"),
        ({"type": "expression", "expression": "1 / t"}, "is inf at t = 0"),
        ({"type": "expression", "expression": "speed * 2"}, "reads 'speed', which has no value here"),
        (True, "got True"),
        ([1, 2], "got [1, 2]"),
        (math.nan, "use a finite number"),
        ("fast", "'fast' is not a number"),
        (10**400, "use a finite number"),
    ],
)
def test_errors_name_the_field_and_the_next_step(data, says):
    with pytest.raises(ScheduleError if "expression" not in str(data) else UserError) as caught:
        Schedule.parse(data)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_nesting_is_limited():
    data = 1
    for _ in range(50):
        data = {"type": "jump", "jumps": {0: data}}
    with pytest.raises(ScheduleError, match="nested more than 4"):
        Schedule.parse(data)


class Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    rate: Schedule = Constant(1.0)
    share: Annotated[Schedule, Within(0, 1)] = Constant(0.5)
    either: Schedule | float = 2.0


def test_as_a_config_field():
    line = {"type": "linear", "initial_value": 1.0, "final_value": 0.0, "change_over_time_steps": 5.0}
    config = Settings.model_validate({"rate": line, "share": 0.25, "either": 3})
    assert config.rate == Linear(1.0, 0.0, 5.0)
    assert config.model_dump()["rate"] == line
    assert Settings.model_validate(config.model_dump()) == config
    assert Settings.model_validate_json(config.model_dump_json()) == config
    assert at(config.either, after(0)) == 3.0
    with pytest.raises(ValidationError, match="use at least 0 and at most 1"):
        Settings(share=1.5)
    with pytest.raises(ValidationError, match=r"1\.5 is out of range"):
        Settings(share={"type": "jump", "jumps": {0: 0.5, 10: 1.5}})


numbers = st.floats(-1e6, 1e6)
spans = st.floats(0.5, 1e9)
clocks = st.sampled_from(["rollouts", "steps"])
shapes = st.one_of(
    numbers.map(lambda v: {"type": "constant", "value": v}),
    st.builds(
        lambda a, b, n, c: {
            "type": "linear", "initial_value": a, "final_value": b, "change_over_time_steps": n, "clock": c
        },
        numbers, numbers, spans, clocks,
    ),
    st.builds(
        lambda a, b, n: {"type": "log", "initial_value": a, "final_value": b, "change_over_time_steps": n},
        st.floats(1e-9, 1e6), st.floats(1e-9, 1e6), spans,
    ),
)  # fmt: skip
nested = st.recursive(
    shapes,
    lambda inner: st.lists(st.tuples(st.integers(1, 1000), inner), max_size=3).map(
        lambda jumps: {"type": "jump", "jumps": {0: 1.0, **dict(sorted(dict(jumps).items()))}}
    ),
    max_leaves=4,
)


@given(nested, st.integers(0, 10**7))
@settings(max_examples=200, deadline=None)
def test_round_trip_and_range(data, rollouts):
    try:
        schedule = Schedule.parse(data)
    except ScheduleError as error:
        assert "nested more than" in str(error)
        return
    assert Schedule.parse(schedule.to_data()) == schedule
    value, known = schedule.at(after(rollouts)), schedule.known_values()
    slack = 1e-6 * max(map(abs, known), default=0) + 1e-12
    assert min(known) - slack <= value <= max(known) + slack


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["type", "value", "jumps", "initial_value", "final-value", "expression", "clock", "defaults"])
        | st.integers() | st.text(max_size=5), inner | st.sampled_from(["linear", "jump", "constant", "expression"]),
        max_size=4),
    max_leaves=8,
))  # fmt: skip
@settings(max_examples=300, deadline=None)
def test_anything_parses_or_is_refused_by_a_user_error(data):
    try:
        schedule = Schedule.parse(data)
    except UserError as error:
        assert str(error)
    else:
        assert math.isfinite(schedule.at(Progress(0, 0, 1), np.random.default_rng(0)))


def test_log_base_changes_only_rounding():
    ten = Log(1e-3, 1e-5, 10)
    assert Log(1e-3, 1e-5, 10, base=2.0).at(after(3)) == pytest.approx(ten.at(after(3)), rel=1e-12)
