"""The two contract files: counts, order, flags and dependencies that models outside this repository rely on."""

import hashlib
import json
from importlib import resources

import pytest

FOLDER = resources.files("pvp_ml.contracts.environments")


def contract(name):
    return json.loads(FOLDER.joinpath(f"{name}.json").read_text(encoding="utf-8"))


def shape(data):
    """Everything but prose: a change of it breaks models, a change of a description does not."""
    heads = [[h["id"], [[a["id"], a.get("dependencies", {})] for a in h["actions"]]] for h in data["actions"]]
    return [heads, [[o["id"], o.get("partial", False), o.get("constant", False)] for o in data["observations"]]]


@pytest.mark.parametrize(
    ("name", "sizes", "observations", "partial", "constant", "digest"),
    [
        ("NhEnv", [4, 3, 3, 4, 5, 2, 2, 2, 2, 5, 7, 6], 176, 93, 69, "29dc84afa25cce48"),
        ("DharokEnv", [4, 4, 2, 2, 2, 3], 40, 15, 0, "2334fad06d0a2682"),
    ],
)
def test_shape_is_frozen(name, sizes, observations, partial, constant, digest):
    data = contract(name)
    assert [len(head["actions"]) for head in data["actions"]] == sizes
    assert len(data["observations"]) == observations
    assert sum(o.get("partial", False) for o in data["observations"]) == partial
    assert sum(o.get("constant", False) for o in data["observations"]) == constant
    assert hashlib.sha256(json.dumps(shape(data)).encode()).hexdigest()[:16] == digest


@pytest.mark.parametrize("name", ["NhEnv", "DharokEnv"])
def test_schema(name):
    data = contract(name)
    assert set(data) == {"actions", "observations"}
    earlier: set[str] = set()
    for head in data["actions"]:
        assert set(head) == {"id", "description", "actions"}
        for action in head["actions"]:
            assert {"id", "description"} <= set(action) <= {"id", "description", "dependencies"}
            dependencies = action.get("dependencies", {})
            assert set(dependencies) <= {"require_all", "require_any", "require_none"}
            assert {i for ids in dependencies.values() for i in ids} <= earlier
        earlier |= {action["id"] for action in head["actions"]}
    assert len(earlier) == sum(len(head["actions"]) for head in data["actions"])
    for observation in data["observations"]:
        assert {"id", "description"} <= set(observation) <= {"id", "description", "partial", "constant"}
        assert 10 <= len(observation["description"]) <= 240
