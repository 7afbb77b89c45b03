"""One seed and one way to hold a learned quantity to its bar, for every test that trains.

`--learning-seeds 3 4 5` gives all of them other seeds, each in a test of its own. `--margins FILE` measures instead of
judging: each quantity becomes a line of that file, what the file has already is not measured again, and
benchmarks/learning_margins.py says how far it stays from its bar over seeds and roundings.
"""

import json
import os
import re
from pathlib import Path

import pytest

ROUNDED_BY = ("ATEN_CPU_CAPABILITY", "OPENBLAS_CORETYPE")


def pytest_addoption(parser):
    parser.addoption("--learning-seeds", type=int, nargs="+", default=[], help="seeds of tests that train")
    parser.addoption("--margins", default="", help="write what tests with a bar measure to this file, judge nothing")


def pytest_generate_tests(metafunc):
    """A test is run once for each seed that was given, else for as many as it is marked with (`learning_seeds(3)`)."""
    mark = metafunc.definition.get_closest_marker("learning_seeds")
    seeds = metafunc.config.getoption("--learning-seeds") or range(mark.args[0] if mark else 1)
    if "learning_seed" in metafunc.fixturenames and len(seeds) > 1:
        metafunc.parametrize("learning_seed", seeds, ids=[f"seed {seed}" for seed in seeds])


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    for item in items:
        if "margin" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.learning)
    path = Path(config.getoption("--margins") or os.devnull)
    if path.is_file():
        done = {one_run(json.loads(line)) for line in path.read_text().splitlines()}
        known = [item for item in items if one_run(origin(item)) in done]
        config.hook.pytest_deselected(items=known)
        items[:] = [item for item in items if item not in known]


@pytest.fixture
def learning_seed(request):
    """The seed of everything that a learning test draws."""
    return first_seed(request.config)


def first_seed(config):
    """The seed of a test that runs once."""
    return (config.getoption("--learning-seeds") or [0])[0]


def origin(item):
    """Which test, seed and rounding a measurement comes from."""
    found = re.search(r"seed (\d+)", item.name)
    seed = int(found[1]) if found else first_seed(item.config)
    name = re.sub(r"-?seed \d+-?", "", item.name).removesuffix("[]")
    rounding = " ".join(f"{name}={os.environ[name]}" for name in ROUNDED_BY if name in os.environ)
    return {"test": name, "seed": seed, "rounding": rounding}


def one_run(row):
    return row["test"], row["seed"], row["rounding"]


@pytest.fixture
def margin(request):
    """`margin(name, value, at_least=…)` or `at_most=…`: a learned quantity and its bar."""
    path, lines = request.config.getoption("--margins"), []

    def hold(name, value, at_least=None, at_most=None):
        assert (at_least is None) != (at_most is None), "a quantity has one bar"
        is_least = at_least is not None
        bar = at_least if is_least else at_most
        if path:
            row = {"quantity": name, "value": float(value), "bar": float(bar), "is_least": is_least}
            lines.append(json.dumps(origin(request.node) | row) + "\n")
            return
        assert value >= bar if is_least else value <= bar, f"{name} is {value:.4g}, its bar {bar:.4g}"

    yield hold
    if lines:  # all at once: what is in the file is done
        with Path(path).open("a") as file:
            file.write("".join(lines))
