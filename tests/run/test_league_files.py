"""League members that left are neither held in memory nor kept on disk, unless a checkpoint still needs them."""

import contextlib

import pytest

from pvp_ml.model.actor import Actor
from pvp_ml.run.config.schema import load_config
from pvp_ml.run.resume import Start
from pvp_ml.run.store.league_files import remove_unneeded
from pvp_ml.run.store.run_store import RunStore
from pvp_ml.run.tracking.tracker import Tracker
from pvp_ml.run.trainer import Run, train

STEPS = 8 * 8  # one rollout: 8 matches × 8 steps
FLAGS = ["--env.name", "connect4", "--env.matches", "8", "--ppo.n-steps", "8", "--ppo.batch-size", "64",
         "--network.trunk", "[8]", "--eval.every", "0", "--run.shards", "1", "--self-play.strategy", "past",
         "--self-play.league-size", "3", "--self-play.snapshot-every", str(STEPS)]  # fmt: skip


def opened(folder, rollouts, *flags):
    named = ["--run.directory", str(folder), "--run.name", "r", "--run.total-steps", str(rollouts * STEPS)]
    config = load_config("", [*FLAGS, *named, "--run.checkpoint-every", str(STEPS), *flags], folder)
    return contextlib.closing(Run(config, RunStore(folder, "r"), Tracker()))


def files(folder):
    return {path.stem for path in (folder / "r/league").glob("*.zip")}


def test_members_that_left_are_freed_and_their_files_removed(tmp_path):
    with opened(tmp_path, 25) as run:
        train(run)
        held = {id(who) for who in run.learning.shards.own.collector.seat_actors._table if isinstance(who, Actor)}
        table = len(run.learning.shards.own.collector.seat_actors._table)
        kept = {member.content_hash for member in run.competition.league.members}
    assert len(kept) == 3
    assert len(held) <= 16 and table <= 16, "the trainee, three members, and those of matches that go on"
    assert kept <= files(tmp_path)
    assert len(files(tmp_path)) <= 16, "25 policies joined"


@pytest.mark.parametrize("number", [0, 1])
def test_every_checkpoint_that_is_kept_can_still_be_resumed(tmp_path, caplog, number):
    with opened(tmp_path, 12) as run:
        train(run)
    older = sorted(RunStore(tmp_path, "r").checkpoints.glob("ckpt-*"))[number]
    with opened(tmp_path, 20) as again:
        assert again.resume(Start(checkpoint=str(older)))
        assert len(again.competition.league.members) == 3
        train(again)
    assert "missing" not in caplog.text and "void" not in caplog.text


def test_a_milestone_keeps_its_league(tmp_path):
    with opened(tmp_path, 20, "--run.milestone-every", str(5 * STEPS)) as run:
        train(run)
    store = RunStore(tmp_path, "r")
    with opened(tmp_path, 20) as again:
        assert again.resume(Start(milestone=store.milestone_names()[0]))
        assert again.progress.steps == 5 * STEPS
        assert {m.content_hash for m in again.competition.league.members} <= files(tmp_path)
        assert len(again.competition.league.members) == 3


def test_nothing_is_removed_while_an_older_checkpoint_does_not_name_its_members(tmp_path):
    with opened(tmp_path, 4) as run:
        train(run)
        folder = run.competition.members
    (tmp_path / "old").mkdir()
    (tmp_path / "old/progress.json").write_text('{"steps": 1, "extra": {}}')
    before = files(tmp_path)
    assert remove_unneeded(folder, [tmp_path / "old"]) == 0 and files(tmp_path) == before
    assert remove_unneeded(folder, []) == len(before) > 0 and files(tmp_path) == set()
