"""The fixture that holds learned quantities to their bars, and the table made from what it wrote."""

import importlib.util
import json
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parent.parent
INNER = """
def test_learns(margin, learning_seed):
    margin("score", 0.5 + learning_seed, at_least=0.9)
    margin("error", 0.2, at_most=0.1)

def test_other():
    pass
"""
THREE = """
import pytest

@pytest.mark.learning_seeds(3)
def test_learns(margin, learning_seed):
    margin("seed", learning_seed, at_most=2)
"""


@pytest.fixture
def inner(pytester):
    """Another pytest with the same fixture and two tests."""
    pytester.makeconftest((ROOT / "tests/margins.py").read_text())
    pytester.makepyfile(INNER)
    pytester.makeini("[pytest]\nmarkers =\n  learning: x\n  learning_seeds(count): x\n")
    return pytester


def test_a_missed_bar_fails_and_tells_both_numbers(inner):
    result = inner.runpytest_inprocess()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*score is 0.5, its bar 0.9*"])


def test_measuring_writes_every_quantity_once_and_judges_none(inner, monkeypatch):
    monkeypatch.delenv("ATEN_CPU_CAPABILITY", raising=False)
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    measure = ("-m", "learning", "--margins", "m.jsonl", "--learning-seeds")
    inner.runpytest_inprocess(*measure, "3").assert_outcomes(passed=1, deselected=1)
    rows = [json.loads(line) for line in (inner.path / "m.jsonl").read_text().splitlines()]
    one = {"test": "test_learns", "seed": 3, "rounding": "OPENBLAS_CORETYPE=Haswell"}
    assert rows == [
        one | {"quantity": "score", "value": 3.5, "bar": 0.9, "is_least": True},
        one | {"quantity": "error", "value": 0.2, "bar": 0.1, "is_least": False},
    ]
    inner.runpytest_inprocess(*measure, "3", "4").assert_outcomes(passed=1, deselected=2)
    rows = [json.loads(line) for line in (inner.path / "m.jsonl").read_text().splitlines()]
    assert [(row["test"], row["seed"], row["value"]) for row in rows[2:]] == [
        ("test_learns", 4, 4.5), ("test_learns", 4, 0.2),
    ]  # fmt: skip
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Prescott")
    inner.runpytest_inprocess(*measure, "3").assert_outcomes(passed=1, deselected=1)


def test_a_mark_gives_seeds_only_while_nobody_names_any(inner):
    inner.makepyfile(THREE)
    inner.runpytest_inprocess("-v").assert_outcomes(passed=3)
    result = inner.runpytest_inprocess("--learning-seeds", "7")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*seed is 7, its bar 2*"])


@pytest.mark.parametrize(("values", "bar", "is_least", "margin", "is_near"), [
    ([0.9, 1.0, 1.1], 0.6, True, "4.0", False), ([0.9, 1.0, 1.1], 0.8, True, "2.0", True),
    ([0.1, 0.2, 0.3], 0.6, False, "4.0", False), ([1.0, 1.0], 1.0, True, "all alike", False),
    ([0.5, 0.5], 1.0, True, "-inf", True), ([1.0] * 99 + [0.4], 0.5, True, "8.2", True),
])  # fmt: skip
def test_a_margin_is_counted_in_deviations_and_no_value_may_miss_the_bar(values, bar, is_least, margin, is_near):
    rows = [{"test": "t", "quantity": "q", "value": value, "bar": bar, "is_least": is_least} for value in values]
    lines, near = margins_module().table(rows)
    assert lines.splitlines()[-1].endswith(f"| {margin} |")
    assert near == (["t: q"] if is_near else [])


def margins_module():
    spec = importlib.util.spec_from_file_location("learning_margins", ROOT / "benchmarks/learning_margins.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
