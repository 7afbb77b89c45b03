"""Which trial runs next, from what is on disk: run folders are written by hand, the last test uses real runs."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from pvp_ml.sweep import scheduler
from pvp_ml.sweep.scheduler import Sweep, ranking
from pvp_ml.sweep.space import SweepConfig

CONFIG = SweepConfig(
    preset="toys/connect4", ranges={"ppo.learning_rate": {"low": 1e-4, "high": 1e-2, "log": True}}, search="random",
    trial_seconds=40.0, rungs=3, max_trials=8, reference=False,
)  # fmt: skip


@pytest.fixture
def sweep(tmp_path, monkeypatch):
    """A sweep whose runs are done as soon as they are started: their score is 1 − the distance of the rate to 1e-3."""
    begun = []

    def start(store, words):
        rung, name = float(words[words.index("--run.max-seconds") + 1]), words[words.index("--name") + 1]
        begun.append((name, rung))
        (store.path / "checkpoints").mkdir(parents=True, exist_ok=True)
        rate = float((tmp_path / f"{name}.yml").read_text().split("learning_rate:")[1])
        row = {"steps": rung, "seconds": rung + 0.1, "eval/win_rate": 1 - abs(rate - 1e-3) * 100 + rung / 1e6}
        with (store.path / "metrics.jsonl").open("a") as file:
            file.write(json.dumps(row) + "\n")

    monkeypatch.setattr(scheduler, "start_detached", start)
    made = Sweep(CONFIG, tmp_path, workers=2)
    made.begun = begun
    return made


def finish(sweep):
    for _ in range(50):
        if not sweep.advance(sweep.trials()):
            return
    raise AssertionError("it never ends")


def test_the_better_half_goes_on_and_the_best_is_trained_whole(sweep):
    finish(sweep)
    trials = sweep.trials()
    assert [trial.number for trial in trials] == list(range(1, 9))
    whole = [trial for trial in trials if trial.score_at(40.0) is not None]
    assert 1 <= len(whole) <= 4
    best = max(trials, key=lambda trial: trial.score_at(10.0))
    assert ranking(trials, CONFIG.rung_seconds)[0].number == best.number
    worst = min(trials, key=lambda trial: trial.score_at(10.0))
    assert len(worst.curve) <= 2, "whoever is weak is stopped"
    assert len(sweep.begun) < 8 * 3, "stopping saves runs"


def test_the_first_trial_is_the_preset_and_is_trained_whole(sweep, tmp_path, monkeypatch):
    def start(store, words):
        rung, name = float(words[words.index("--run.max-seconds") + 1]), words[words.index("--name") + 1]
        (store.path / "checkpoints").mkdir(parents=True, exist_ok=True)
        score = 0.0 if name == "t001" else 0.5  # the weakest of all
        with (store.path / "metrics.jsonl").open("a") as file:
            file.write(json.dumps({"steps": rung, "seconds": rung + 0.1, "eval/win_rate": score}) + "\n")

    monkeypatch.setattr(scheduler, "start_detached", start)
    finish(Sweep(CONFIG.model_copy(update={"reference": True}), tmp_path, workers=2))
    first, *others = sweep.trials()
    assert first.is_reference and first.settings == {"ppo.learning_rate": None}
    assert first.score_at(40.0) == 0.0, "it is never stopped"
    assert not any(trial.is_reference for trial in others)
    assert "learning_rate" not in (tmp_path / "t001.yml").read_text()


def test_another_process_continues_where_it_was(sweep, tmp_path):
    sweep.advance(sweep.trials())
    assert len(sweep.begun) == 2
    later = Sweep(CONFIG, tmp_path, workers=2)
    finish(later)
    assert len(later.trials()) == 8
    assert len(set(sweep.begun)) == len(sweep.begun), "nothing is trained twice"


def test_a_trial_that_fails_is_given_up(sweep, monkeypatch):
    tries = []
    monkeypatch.setattr(scheduler, "start_detached", lambda store, words: tries.append(store.path.name))
    finish(sweep)
    assert len(tries) == 8 * scheduler.MAX_STARTS
    assert ranking(sweep.trials(), CONFIG.rung_seconds) == []


@pytest.mark.nightly
def test_a_sweep_survives_kill_9(tmp_path):
    (tmp_path / "s.yml").write_text(
        "preset: toys/connect4-demo\nsearch: random\ntrial_seconds: 8\nrungs: 2\nmax_trials: 4\n"
        "settings: {eval.matches: 40, env.matches: 32}\n"
        "ranges: {ppo.learning_rate: {low: 1e-4, high: 1e-2, log: true}}\n"
    )
    words = ["-m", "pvp_ml", "sweep", "s.yml", "--name", "s", "--seconds", "600", "--workers", "2", "--json"]
    for wait in (15.0, 25.0):
        process = subprocess.Popen([sys.executable, *words], cwd=tmp_path)
        time.sleep(wait)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    done = subprocess.run([sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["trials"]
    assert len(rows) == 4
    assert sum(row["curve"][-1]["seconds"] >= 7.5 for row in rows) >= 1
