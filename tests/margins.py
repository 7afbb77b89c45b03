"""One seed and one way to hold a learned quantity to its bar, for every test that trains.

`--learning-seed N` gives all of them another seed. `--margins FILE` measures instead of judging: each quantity becomes
a line of that file, and benchmarks/learning_margins.py says how far it stays from its bar over seeds and roundings.
"""

import json
from pathlib import Path

import pytest


def pytest_addoption(parser):
    parser.addoption("--learning-seed", type=int, default=0, help="seed of tests that train")
    parser.addoption("--margins", default="", help="write what tests with a bar measure to this file, judge nothing")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if "margin" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.learning)


@pytest.fixture
def learning_seed(request):
    """The seed of everything that a learning test draws."""
    return request.config.getoption("--learning-seed")


@pytest.fixture
def margin(request):
    """`margin(name, value, at_least=…)` or `at_most=…`: a learned quantity and its bar."""
    path = request.config.getoption("--margins")

    def hold(name, value, at_least=None, at_most=None):
        assert (at_least is None) != (at_most is None), "a quantity has one bar"
        is_least = at_least is not None
        bar = at_least if is_least else at_most
        if path:
            row = {"test": request.node.name, "quantity": name, "value": float(value), "bar": float(bar)}
            row["is_least"] = is_least
            with Path(path).open("a") as file:
                file.write(json.dumps(row) + "\n")
            return
        assert value >= bar if is_least else value <= bar, f"{name} is {value:.4g}, its bar {bar:.4g}"

    return hold
