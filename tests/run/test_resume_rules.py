"""Where a run begins, and what a milestone keeps."""

import contextlib
import json

import numpy as np
import pytest
from rich.console import Console

from pvp_ml.errors import UserError
from pvp_ml.match import Member
from pvp_ml.run.config.schema import load_config
from pvp_ml.run.resume import Start, warm_start
from pvp_ml.run.session import open_run
from pvp_ml.run.store.milestones import milestone_label
from pvp_ml.run.store.run_store import RunStore
from pvp_ml.run.tracking.tracker import Tracker
from pvp_ml.run.trainer import Run, train

STEPS = 8 * 8


def configured(folder, rollouts: int, *flags: str, name: str = "r"):
    words = ["--env.name", "connect4", "--env.matches", "8", "--ppo.n-steps", "8", "--ppo.batch-size", "32",
             "--run.shards", "1", "--network.trunk", "[8]", "--eval.every", "0", "--run.directory", str(folder),
             "--run.name", name, "--run.total-steps", str(rollouts * STEPS), *flags]  # fmt: skip
    return load_config("", words, folder)


def opened(folder, rollouts: int, *flags: str, name: str = "r"):
    return contextlib.closing(Run(configured(folder, rollouts, *flags, name=name), RunStore(folder, name), Tracker()))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    with opened(folder, 6, "--run.milestone-every", str(2 * STEPS)) as run:
        train(run)
    return folder


def test_labels():
    assert [milestone_label(n) for n in (512, 999_999, 1_000_000, 25_300_000)] == ["512", "999999", "001M", "025M"]


def test_milestones_are_whole_states_with_notes(trained):
    store = RunStore(trained, "r")
    assert store.milestone_names() == ["128", "256", "384"]
    notes = json.loads((store.milestones / "256" / "meta.json").read_text())
    assert notes["steps"] == 256
    assert notes["metrics"]["ppo/entropy"] > 0.0
    assert store.milestone("256").step == 256


def test_own_newest_checkpoint_then_milestone_then_explicit_folder(trained):
    store = RunStore(trained, "r")
    for start, steps in (
        (Start(), 384),
        (Start(milestone="128"), 128),
        (Start(checkpoint=str(store.milestones / "256"), milestone="128"), 256),
    ):
        with opened(trained, 6) as run:
            assert run.resume(start)
            assert run.progress.steps == steps


def test_a_new_name_is_a_new_run_and_another_run_is_only_taken_when_named(trained):
    with opened(trained, 6, name="other") as run:
        assert not run.resume()
        assert run.progress.steps == 0
    with opened(trained, 6, name="other") as run:
        assert run.resume(Start(checkpoint=str(RunStore(trained, "r").milestones / "128")))
        assert run.progress.steps == 128


def test_what_does_not_exist_is_named_with_what_does(trained):
    with opened(trained, 6) as run:
        with pytest.raises(UserError, match=r"no milestone '999'.*128, 256, 384"):
            run.resume(Start(milestone="999"))
        with pytest.raises(UserError, match="no checkpoint folder"):
            run.resume(Start(checkpoint="nowhere"))


def test_warm_start_takes_what_fits_and_names_the_rest(trained):
    source = str(RunStore(trained, "r").milestones / "256")
    with opened(trained, 6, "--network.trunk", "[8, 4]", name="bigger") as run:
        trainee = run.learning.trainees["main"]
        left = warm_start(trainee, Start(warm_start=source), trained)
        kept = trainee.policy.tensors()["actor/0/weight"].copy()
        assert any(line.startswith("head/weight") for line in left)
        assert not any(line.startswith("actor/0") for line in left)
    with opened(trained, 6) as run:
        run.resume(Start(milestone="256"))
        np.testing.assert_array_equal(run.learning.trainees["main"].policy.tensors()["actor/0/weight"], kept)


def test_a_warm_start_names_a_run_beside_this_one_wherever_runs_are_kept(trained):
    with opened(trained, 6) as run:
        run.resume()
        weights = run.learning.trainees["main"].policy.flat.clone()
    with opened(trained, 6, name="next") as run:
        assert not run.resume(Start(warm_start="r"))
        assert (run.learning.trainees["main"].policy.flat == weights).all()


def test_a_preset_may_say_what_a_run_begins_with_and_the_command_line_may_say_otherwise(trained):
    def begins_with(name, start, *flags):
        config = configured(trained, 6, "--tracking.tensorboard", "false", "--tracking.view", "off", *flags, name=name)
        with open_run(config, Console(), start) as run:
            return run.learning.trainees["main"].policy.flat.clone()

    weights = {name: begins_with(f"at-{name}", Start(warm_start=str(RunStore(trained, "r").milestones / name)))
               for name in ("128", "256")}  # fmt: skip
    preset = ["--run.warm-start", str(RunStore(trained, "r").milestones / "128")]
    assert (begins_with("preset", None, *preset) == weights["128"]).all()
    named = Start(warm_start=str(RunStore(trained, "r").milestones / "256"))
    assert (begins_with("named", named, *preset) == weights["256"]).all()
    assert not (weights["128"] == weights["256"]).all()


def met(plan):
    """The member that sits in a match."""
    (member,) = [seat.content_hash for seat in plan.lineup if isinstance(seat, Member)]
    return member


@pytest.mark.parametrize("kind", ["past", "frozen"])
def test_what_a_warm_start_begins_as_is_its_first_opponent(kind, trained, tmp_path):
    flags = ["--self-play.opponents", f"{{{kind}: 1.0}}", "--self-play.snapshot-every", "0"]
    source = Start(warm_start=str(RunStore(trained, "r").milestones / "256"))
    with opened(tmp_path, 6, *flags) as run:
        run.resume(source)
        begun, (member,) = run.bundle().content_hash, run.competition.league.of_kind(kind)
        assert member.content_hash == begun and member.steps == 0
        run.collect()
        assert {met(plan) for plan in run.learning.shards.own.collector.active.plans} == {begun}
        train(run)
        assert run.bundle().content_hash != begun
    with opened(tmp_path, 7, *flags) as run:
        assert run.resume(source), "a run that was begun before goes on"
        assert [m.content_hash for m in run.competition.league.of_kind(kind)] == [begun], "and still has that member"


def test_without_a_start_or_a_league_nobody_joins(trained, tmp_path):
    with opened(tmp_path, 1, "--self-play.strategy", "past") as run:
        run.resume()
        assert not run.competition.league.members
    with opened(tmp_path, 1, name="pure") as run:
        run.resume(Start(warm_start=str(RunStore(trained, "r").milestones / "256")))
        assert not run.competition.league.members


@pytest.mark.parametrize(
    "words",
    [["--run.warm-start", "missing.zip"], ["--bc-model", "missing.zip"], ["--warm-start", "missing.zip"],
     ["--resume", "missing"], ["--ppo.teacher.model", "missing", "--ppo.teacher.weight", "0.1"]],
    ids=lambda words: words[0],
)  # fmt: skip
def test_missing_files_are_refused_before_anything_starts(words, tmp_path, monkeypatch, capsys):
    """Starting the workers of a run took 41 s before this."""
    from pvp_ml.cli import run

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pvp_ml.run.session.Run", lambda *_: pytest.fail("the run was built"))
    assert run(["train", "--game", "connect4", "--name", "a", *words]) == 2
    assert "'missing" in capsys.readouterr().err
    assert not (tmp_path / "experiments").exists()
