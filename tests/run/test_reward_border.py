"""A change of what is rewarded, by a phase or by a resume with other weights, leaves the critic as good as it was."""

import contextlib

import pytest
import yaml

from pvp_ml.run.config.schema import load_config
from pvp_ml.run.store.run_store import RunStore
from pvp_ml.run.tracking.tracker import Tracker
from pvp_ml.run.trainer import Run, train

MATCHES, BEFORE, AFTER = 32, 50, 16


class Memory:
    """A metrics sink."""

    def __init__(self):
        self.points = []

    def write(self, point):
        self.points.append(point)

    def close(self):
        pass


def opened(folder, kind, steps, rollouts, weight, phases=()):
    preset = {
        "env": {"name": "probe", "kind": kind, "matches": MATCHES}, "network": {"trunk": [16]},
        "ppo": {"n_steps": steps, "batch_size": 64, "n_epochs": 4, "learning_rate": 1e-2, "gamma": 0.8,
                "normalize_observations": False},
        "reward": {"weights": {"reward": weight}},
        "run": {"shards": 1, "total_steps": rollouts * steps * MATCHES}, "phases": list(phases),
    }  # fmt: skip
    (folder / "preset.yml").write_text(yaml.safe_dump(preset))
    flags = ["--run.directory", str(folder), "--run.name", "r"]
    return contextlib.closing(
        Run(load_config(str(folder / "preset.yml"), flags, folder), RunStore(folder, "r"), Tracker())
    )


def course(folder, border, kind, steps):
    """Metrics of each rollout before and after rewards become 20 times as large."""
    seen = Memory()
    if border == "phases":
        phases = [{"name": "small", "promote": f"phase_steps >= {BEFORE * steps * MATCHES}"},
                  {"name": "large", "settings": {"reward": {"weights": {"reward": 20.0}}}}]  # fmt: skip
        with opened(folder, kind, steps, BEFORE + AFTER, 1.0, phases) as run:
            run.tracker.add("memory", seen)
            train(run)
    else:
        for rollouts, weight in ((BEFORE, 1.0), (BEFORE + AFTER, 20.0)):
            with opened(folder, kind, steps, rollouts, weight) as run:
                run.tracker.add("memory", seen)
                run.resume()
                train(run)
    values = [(point.rollouts, point.values) for point in seen.points]
    return [v for n, v in values if n <= BEFORE], [v for n, v in values if n > BEFORE]


@pytest.mark.parametrize("border", ["phases", "resume"])
def test_values_explain_returns_across_the_border(tmp_path, border):
    before, after = course(tmp_path, border, "discounted_value", 4)
    assert before[-1]["ppo/explained_variance"] > 0.95
    explained = [v["ppo/explained_variance"] for v in after if "ppo/explained_variance" in v]
    assert len(explained) >= AFTER - 4, "it only looks for as long as a return takes to form"
    assert min(explained) > 0.95


@pytest.mark.parametrize("border", ["phases", "resume"])
def test_the_scale_is_not_taken_from_the_first_steps_of_new_matches(tmp_path, border):
    """A reward in each of eight steps: in the first step of a match the return is a third of what it will be."""
    before, after = course(tmp_path, border, "truncation", 1)
    loss = [v["ppo/value_loss"] for v in after if "ppo/value_loss" in v]
    assert before[-1]["ppo/value_loss"] < 0.02 and len(loss) >= AFTER - 10
    assert max(loss) < 0.1  # values are about 1.6


def test_the_same_rewards_are_not_looked_at_again(tmp_path):
    for rollouts in (4, 8):
        seen = Memory()
        with opened(tmp_path, "discounted_value", 4, rollouts, 1.0) as run:
            run.tracker.add("memory", seen)
            run.resume()
            train(run)
        assert ["ppo/value_loss" in point.values for point in seen.points] == [True] * 4


def test_a_run_that_only_looks_goes_on_looking_after_a_resume(tmp_path):
    with opened(tmp_path, "truncation", 1, 4, 1.0) as run:
        train(run)
    with opened(tmp_path, "truncation", 1, 6, 20.0) as run:
        run.resume()
        assert run.learning.trainees["main"].looking == 10  # γ = 0.8
        train(run)
    with opened(tmp_path, "truncation", 1, 20, 20.0) as run:
        run.resume()
        assert run.learning.trainees["main"].looking == 8
