"""What hangs on a run: details on demand, W&B, histograms, a milestone chosen by hand, another run's league."""

import logging
import re
import sys
from types import SimpleNamespace

import pytest

from pvp_ml.cli import run
from pvp_ml.errors import UserError, pip_install
from pvp_ml.run.store.milestones import pick_milestone
from pvp_ml.run.store.run_store import RunStore
from pvp_ml.run.tracking.tracker import read_metrics

SMALL = [
    "--game", "connect4", "--num-envs", "8", "--n-steps", "24", "--batch-size", "64", "--trunk", "[8]", "--shards", "1",
    "--eval.matches", "4", "--view", "off", "--no-tensorboard",
]  # fmt: skip


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_debug_tells_every_topic(here, caplog):
    caplog.set_level(logging.DEBUG, "pvp_ml.run.tracking.debug")
    words = ["--debug", "actions,rewards,resets,learning,checkpoints", "--name", "a", "--total-timesteps", "384"]
    assert run(["train", *SMALL, *words]) == 0
    lines = [r.getMessage() for r in caplog.records]

    def one(start: str) -> str:
        found = [line for line in lines if line.startswith(start)]
        assert found, f"no line '{start}' in {lines}"
        return found[-1]

    shares = [float(part.split()[1].rstrip("%")) for part in one("actions: column: ").split(": ", 2)[2].split("), ")]
    assert sum(shares) == pytest.approx(100.0, abs=1.0)
    paid = re.fullmatch(r"rewards: (\d+\.\d)% of steps pay, (\S+) per step in size; mean .*", one("rewards: "))
    assert float(paid[1]) / 100 == pytest.approx(float(paid[2]), abs=1e-3), "a win or loss pays 1"
    assert one("resets: first observations: ").endswith("0 not finite")
    assert "against" not in one("resets: match "), "both seats are the trainee"
    assert "entropy" in one("learning: rollout 2: ")
    assert "policy.safetensors" in one("checkpoint ckpt-000001-384: ")
    assert logging.getLogger("pvp_ml.run.store.run_store").level == logging.NOTSET, "quiet again"


def test_an_unknown_topic_is_refused(here, capsys):
    assert run(["train", *SMALL, "--debug", "actions,thoughts", "--name", "a"]) == 2
    assert "tracking.debug" in capsys.readouterr().err


class FakeWandb:
    def __init__(self) -> None:
        self.runs: list[SimpleNamespace] = []

    def init(self, **settings):
        made = SimpleNamespace(settings=settings, points=[], finished=False)
        made.log = lambda values, step: made.points.append((step, dict(values)))
        made.finish = lambda: setattr(made, "finished", True)
        self.runs.append(made)
        return made


def test_wandb_gets_every_point_and_goes_on_after_resume(here, monkeypatch):
    fake = FakeWandb()
    monkeypatch.setitem(sys.modules, "wandb", fake)
    for steps in ("384", "576"):
        assert run(["train", *SMALL, "--wandb", "mine", "--name", "a", "--total-timesteps", steps]) == 0
    first, second = fake.runs
    assert (first.settings["project"], first.settings["name"]) == ("mine", "a")
    assert first.settings["config"]["env"]["matches"] == 8
    assert first.settings["id"] == second.settings["id"]
    assert [step for step, _ in first.points] == [192, 384, 384]
    assert [step for step, _ in second.points] == [576, 576]
    assert first.points[1][1]["policy_loss"] == pytest.approx(
        read_metrics(here / "experiments/a/metrics.jsonl")[1]["policy_loss"], rel=1e-5
    )
    assert first.finished


def test_wandb_that_is_not_installed_names_the_extra(here, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "wandb", None)
    assert run(["train", *SMALL, "--wandb", "mine", "--name", "a", "--total-timesteps", "192"]) == 2
    assert pip_install("wandb") in capsys.readouterr().err


def test_histograms_reach_tensorboard(here):
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    words = [word for word in SMALL if word != "--no-tensorboard"]
    assert run(["train", *words, "--histograms", "--name", "a", "--total-timesteps", "192"]) == 0
    (file,) = (here / "tensorboard/a").glob("events*")
    found = {}
    for event in EventFileLoader(str(file)).Load():
        found |= {value.tag: value for value in event.summary.value}
    assert {"weights/actor/0/weight", "rollout/reward", "ppo/rows", "episode_length"} <= set(found)


def test_a_session_of_so_many_rollouts(here):
    for _ in range(2):
        assert run(["train", *SMALL, "--train-rollouts", "2", "--name", "a", "--total-timesteps", "0"]) == 0
    assert [p["steps"] for p in read_metrics(here / "experiments/a/metrics.jsonl")] == [192, 384, 384, 576, 768, 768]


@pytest.fixture(scope="module")
def marked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("marked")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert run(["train", *SMALL, "--name", "a", "--total-timesteps", "384", "--milestone-every", "192",
                    "--self-play.strategy", "past", "--snapshot-every", "192"]) == 0  # fmt: skip
    return folder


@pytest.mark.parametrize(("answers", "label"), [(["1"], "192"), ([""], "384"), (["9", "x", "192"], "192")])
def test_a_milestone_is_picked_by_number(marked, answers, label):
    shown: list[str] = []
    left = list(answers)
    assert pick_milestone(RunStore(marked / "experiments", "a"), lambda text: left.pop(0), shown.append) == label
    assert shown[0].split()[:4] == ["1", "192", "192", "steps,"]


def test_nothing_picked_and_no_terminal(marked, monkeypatch, capsys):
    with pytest.raises(UserError, match="no milestone was chosen — there are: 192, 384"):
        pick_milestone(RunStore(marked / "experiments", "a"), lambda text: "no", lambda text: None)
    monkeypatch.chdir(marked)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: False))
    assert run(["train", *SMALL, "--name", "a", "--milestone", "pick"]) == 2
    assert "needs a terminal — name one; there are: 192, 384" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("builtins.input", lambda text: "1")
    assert (
        run(["train", *SMALL, "--name", "a", "--milestone", "pick", "--train-rollouts", "1", "--total-timesteps", "0"])
        == 0
    )
    assert read_metrics(marked / "experiments/a/metrics.jsonl")[-1]["steps"] == 384


def test_a_milestone_is_an_opponent(marked, monkeypatch, capsys):
    monkeypatch.chdir(marked)
    old = "experiments/a/milestones/192/model.zip"
    assert run(["eval", "--model", "experiments/a/model.zip", "--against", old, "--matches", "4", "--json"]) == 0
    assert '"matches": 4' in capsys.readouterr().out
    words = ["--self-play-percent", "0.5", "--target-self-play-percent", "0.5", "--target", old]
    assert run(["train", *SMALL, "--name", "c", *words, "--total-timesteps", "192"]) == 0
    assert read_metrics(marked / "experiments/c/metrics.jsonl")[0]["match/win_rate"] >= 0.0


def test_another_runs_league_is_met_and_its_state_is_a_start(marked, monkeypatch, caplog):
    from pvp_ml.run.store.checkpoint_facts import read_league

    monkeypatch.chdir(marked)
    caplog.set_level(logging.INFO, "pvp_ml")
    words = ["--self-play-percent", "0.5", "--past-self-play-percent", "0.5", "--past-self-play-experiment", "a"]
    start = ["--bootstrap-from-experiment", "a", "--total-timesteps", "192"]
    assert run(["train", *SMALL, "--name", "b", *words, *start]) == 0
    members = read_league(marked / "experiments/b").of_kind("past")
    assert {member.name for member in members} >= {"a-192", "a-384"}
    assert "warm start left out" not in caplog.text, "the same network fits as a whole"
