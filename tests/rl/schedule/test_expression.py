import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pvp_ml.errors import UserError
from pvp_ml.rl.schedule.expression import FUNCTIONS, MAX_LENGTH, Expression, ExpressionError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3 - 4 / 8", 6.5),
        ("-t ** 2", -9.0),
        ("7 // 2 + 7 % 4", 6.0),
        ("min(t, 1, 2) + max(t, 5)", 6.0),
        ("0.1 if t < 3 else 0.7", 0.7),
        ("1 < t <= 3", 1.0),
        ("t > 5 or t == 3 and not t != 3", 1.0),
        ("round(2.345, 1) + abs(-1)", 3.3),
        ("log10(1000) + log2(8) + log(exp(1)) + sqrt(16)", 11.0),
        ("clip(t * 10, 0, 1)", 1.0),
        ("sin(0) + cos(0) + floor(1.9) + ceil(0.1)", 3.0),
    ],
)
def test_values(text, value):
    assert Expression(text).evaluate({"t": 3.0}) == pytest.approx(value)


def test_arrays_are_computed_element_by_element():
    damage, mine = np.array([[0.0, 0.5], [1.0, 0.2]]), np.array([[1.0, 1.0], [0.0, 1.0]])
    value = Expression("damage * 2 if mine > 0.5 and damage > 0.3 else -1").evaluate({"damage": damage, "mine": mine})
    assert value.tolist() == [[-1.0, 1.0], [-1.0, -1.0]]
    assert Expression("max(damage, 0.4)").evaluate({"damage": damage}).tolist() == [[0.4, 0.5], [1.0, 0.4]]
    assert Expression("0 < damage < 1").evaluate({"damage": damage}).tolist() == [[0.0, 1.0], [0.0, 1.0]]


def test_names_excludes_functions():
    assert Expression("min(a, b) + log(c)").names == {"a", "b", "c"}
    assert Expression("normal(a, 1)").draws
    assert not Expression("a").draws


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "1 +", "a = 1", "1; 2", "x.y", "x[0]", "().__class__", "'a' * 10", "f'{t}'", "b'1'", "1j", "None",
        "...", "lambda: 1", "[1, 2]", "(1, 2)", "{1: 2}", "[i for i in t]", "(i for i in t)", "__import__('os')",
        "open(1)", "min", "min(min)", "getattr(t, 1)", "t if t", "min()", "min(*t)", "clip(1, x=2)", "round(1, 2, 3)",
        "random(1)", "t & 1", "t << 99", "~t", "t is 1", "t in 1", "await t", "yield", "t := 1", "(t := 1)", "9" * 400,
        "1 @ 2", "min(" * 40 + "1" + ")" * 40, "-" * 100 + "1", "1" + "+1" * 200, "(" * 201 + "1", "\x00", "t\n+1;",
        "1" * (MAX_LENGTH + 1), "abs(1)(2)", "(abs)(1)(2)", "t" + "**9" * 60,
    ],
)  # fmt: skip
def test_what_is_not_arithmetic_is_refused(text):
    with pytest.raises(ExpressionError) as caught:
        Expression(text).evaluate({"t": 1.0})
    assert str(caught.value).isprintable()


def test_powers_cannot_stall():
    start = time.process_time()
    assert Expression("9 ** 9 ** 9 ** 9 ** 9").evaluate({}) == math.inf
    assert Expression("2 ** 0.5 ** -99").evaluate({}) == math.inf
    assert math.isnan(Expression("(0 - 8) ** 0.5").evaluate({}))
    assert time.process_time() - start < 0.5


def test_every_function_is_callable():
    rng = np.random.default_rng(0)
    for name in FUNCTIONS:
        arguments = {"clip": "0.5, 0, 1", "random": "", "normal": "0, 1"}.get(name, "0.5")
        assert math.isfinite(Expression(f"{name}({arguments})").evaluate({}, rng))


pieces = st.sampled_from(
    ["t", "1", "0.5", "9e99", "+", "-", "*", "/", "**", "//", "%", "(", ")", ",", "min(", "log(", "if", "else", "and",
     "not", "<", "==", "__class__", ".", "[", "]", "lambda", ":", "random()", "normal(", "'", "{", "}", "=", "import",
     " ", "\n", "t.t"]
)  # fmt: skip


@given(st.lists(pieces, max_size=40).map(" ".join) | st.text(max_size=60))
@settings(max_examples=500, deadline=None)
def test_fuzzed_text_gives_a_number_or_a_user_error(text):
    try:
        value = Expression(text).evaluate({"t": 2.0}, np.random.default_rng(0))
    except UserError as error:
        assert str(error)
    else:
        assert isinstance(value, float)
