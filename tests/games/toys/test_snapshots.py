"""A toy's snapshot is a file: what no match can reach is refused by name, and nothing changes."""

import numpy as np
import pytest
import safetensors.numpy

from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.match import External, MatchPlan, StepBuffers


def begun(name: str):
    kind = registry.find(name)
    game = kind.build(kind.config(), 2)
    game.queue([MatchPlan(i, i, tuple(External(str(s)) for s in range(game.spec.seats))) for i in range(4)])
    game.start(StepBuffers.allocate(game.spec, 2))
    return game


@pytest.mark.parametrize(
    ("name", "part", "change", "said"),
    [
        ("connect4", "queue.serial", None, "does not hold 2 matches ('queue.serial')"),
        ("connect4", "queue.bot", np.zeros((2, 3), np.int8), "('queue.bot')"),
        ("connect4", "queue.scenario", np.full(2, 99, np.int32), "'queue.scenario' is not between 0 and 3"),
        ("connect4", "mover", np.array([0, 7], np.int8), "'mover' is not between 0 and 1"),
        ("connect4", "stones", np.full((2, 2), 1 << 63, np.uint64), "'stones' is not between 0 and"),
        ("connect4", "bot", np.full((2, 2), 9, np.int8), "'bot' is not between -1 and 1"),
        ("connect4", "obs", np.full((2, 2, 84), np.nan, np.float32), "'obs' holds a number that is not finite"),
        ("kuhn", "card", np.full((2, 2), 3, np.int8), "'card' is not between 0 and 2"),
        ("kuhn", "stage", np.full(2, -1, np.int8), "'stage' is not between 0 and 3"),
        ("rps", "last", np.full((2, 2), 3, np.int8), "'last' is not between 0 and 2"),
        ("rps", "clock", np.full(2, -5, np.int32), "'clock' is not between 0 and"),
    ],
)
def test_impossible_snapshots_are_refused(name, part, change, said):
    game = begun(name)
    before = game.snapshot()
    arrays = safetensors.numpy.load(before)
    if change is None:
        del arrays[part]
    else:
        arrays[part] = change
    with pytest.raises(UserError) as refusal:
        game.restore(safetensors.numpy.save(arrays))
    assert said in str(refusal.value)
    assert game.snapshot() == before
    game.restore(before)
