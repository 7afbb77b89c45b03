"""R9: a run whose gradients stop being finite ends with a diagnosis beside its last good state."""

import json

import numpy as np
import pytest

from pvp_ml.errors import UserError
from pvp_ml.run.config.schema import load_config
from pvp_ml.run.store.run_store import RunStore
from pvp_ml.run.tracking.tracker import Tracker
from pvp_ml.run.trainer import Run


def test_the_run_stops_with_finite_weights_and_a_file(tmp_path):
    flags = ["--env.name", "connect4", "--env.matches", "8", "--network.trunk", "[8]", "--ppo.n-steps", "16",
             "--ppo.batch-size", "8", "--run.shards", "1", "--run.name", "x",
             "--run.directory", str(tmp_path)]  # fmt: skip
    run = Run(load_config("", flags, tmp_path), RunStore(tmp_path, "x", 3), Tracker())
    run.collect()
    run.learn()  # the first rollout only gathers statistics
    run.collect()
    run.learn()
    before = run.learning.trainees["main"].policy.flat.clone()
    run.collect()
    run.learning.shards.own.collector.rollout.log_prob[:] = -np.inf  # every ratio is infinite
    with pytest.raises(UserError, match="5 updates in a row") as error:
        run.learn()
    policy = run.learning.trainees["main"].policy
    assert (policy.flat == before).all()
    run.close()
    (path,) = (tmp_path / "x").glob("not-finite-*.json")
    assert str(path) in str(error.value)
    facts = json.loads(path.read_text())
    print("figures: 5 updates in a row not finite: stopped, weights finite, diagnosis written")
    assert facts["weights_finite"] and facts["skipped"] == 5 and facts["gradients_not_finite"]
