"""Every preset trains for two iterations, in small: presets are discovered, so a new one is tested by being there."""

from pathlib import Path

import pytest

from pvp_ml.errors import UserError
from pvp_ml.run.config.presets import list_presets
from pvp_ml.run.config.schema import load_config
from pvp_ml.run.store.run_store import RunStore
from pvp_ml.run.tracking.tracker import Tracker
from pvp_ml.run.trainer import Run, train

NOWHERE = Path("/nonexistent")
PRESETS = [info.name for info in list_presets(NOWHERE)]
MATCHES, STEPS = 8, 8
SMALL = [
    "--env.matches", str(MATCHES), "--ppo.n-steps", str(STEPS), "--ppo.batch-size", "64", "--run.shards", "1",
    "--eval.every", "0", "--eval.matches", "4", "--run.milestone-every", "0", "--self-play.snapshot-every",
    str(MATCHES * STEPS), "--run.total-steps", str(2 * MATCHES * STEPS), "--tracking.tensorboard", "false",
]  # fmt: skip
MISSING = ("not installed", "setup", "pip install", "needs Node", "--bc-model")


def test_there_are_presets():
    assert len(PRESETS) >= 16


@pytest.mark.parametrize("name", PRESETS)
def test_two_iterations(name, tmp_path, monkeypatch, request):
    if name.startswith("vgc/"):
        request.getfixturevalue("installation")
    monkeypatch.chdir(tmp_path)
    # The test for a new frozen opponent plays hundreds of whole matches; it has tests of its own.
    monkeypatch.setattr("pvp_ml.selfplay.competition.Competition._is_stronger", lambda *asked: False)
    config = load_config(name, SMALL, NOWHERE)
    if not config.ppo.teacher.model:  # a preset for `--bc-model` names no model itself
        config = load_config(name, [*SMALL, "--ppo.teacher.weight", "0"], NOWHERE)
    try:
        run = Run(config, RunStore(tmp_path, "a"), Tracker())
    except UserError as error:
        if any(word in str(error) for word in MISSING):
            pytest.skip(str(error))
        raise
    try:
        train(run)
    finally:
        run.close()
    assert run.progress.rollouts == 2
    assert run.progress.steps == 2 * MATCHES * STEPS
    assert run.tracker.last["ppo/rows"] > 0
    saved = RunStore(tmp_path, "a").latest()
    assert saved is not None
    assert saved.step == run.progress.steps
