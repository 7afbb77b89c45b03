"""A run folder that somebody else filled: no command waits at a pipe, follows a device, eats the memory, falls over or
lets a name steer the terminal. Each case is run through the command line, with a deadline.
"""

import hashlib
import json
import os
import shutil
import signal
from pathlib import Path

import pytest

from pvp_ml.cli import run
from pvp_ml.run.store.manifest import seal

TRAIN = [
    "train", "--game", "connect4", "--env.matches", "4", "--ppo.n-steps", "8", "--ppo.batch-size", "32",
    "--run.shards", "1", "--network.trunk", "[4]", "--eval.every", "0", "--run.name", "r",
    "--self-play.strategy", "past", "--self-play.snapshot-every", "32", "--tracking.tensorboard", "false",
    "--view", "off", "--run.milestone-every", "32",
]  # fmt: skip
SECONDS = 120
STEERING = "\x1b]0;owned\x07\x1b[2J"


def pipe(path):
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def endless(path):
    path.unlink(missing_ok=True)
    path.symlink_to("/dev/zero")


def huge(path):
    path.unlink(missing_ok=True)
    with path.open("wb") as file:
        file.truncate(1 << 42)  # 4 TB of nothing


def text(data):
    return lambda path: path.write_bytes(data)


WAYS = {
    "pipe": pipe, "endless": endless, "huge": huge, "deep": text(b"[" * 100_000 + b"\n"), "list": text(b"[1]\n"),
    "infinite": text(b'{"steps": 1e999, "seconds": NaN}\n'), "words": text(b'{"steps": "12", "seconds": [1]}\n'),
    "steering": text(STEERING.encode() + b"\n"),
}  # fmt: skip


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The folder of a short run with a league and milestones."""
    here, before = tmp_path_factory.mktemp("made"), Path.cwd()
    os.chdir(here)
    try:
        assert run([*TRAIN, "--total-timesteps", "64"]) == 0
    finally:
        os.chdir(before)
    return here / "experiments/r"


@pytest.fixture
def folder(trained, tmp_path, monkeypatch):
    """A copy to spoil; whatever a test does there ends after SECONDS."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(trained, tmp_path / "experiments/r")
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.alarm(SECONDS)
    yield tmp_path / "experiments/r"
    signal.alarm(0)


def ends_well(words, capsys):
    """Exit code; neither exception nor escape sequence on the way."""
    code = run(words)
    printed = capsys.readouterr()
    assert "\x1b]" not in printed.out + printed.err
    assert code in (0, 2), printed.err
    return code


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["metrics.jsonl", "config.yml", "logs/train.log", "lock", "job.json"])
def test_listing_and_reading(folder, capsys, name, way):
    (folder / name).unlink(missing_ok=True)
    WAYS[way](folder / name)
    assert ends_well(["jobs", "list"], capsys) == 0
    ends_well(["jobs", "logs", "r"], capsys)
    ends_well(["compare", "--metric", "ppo/entropy"], capsys)
    ends_well(["jobs", "stop", "all"], capsys)


@pytest.mark.parametrize("way", ["pipe", "endless", "huge", "deep", "list"])
@pytest.mark.parametrize("name", ["progress.json", "manifest.json", "policy.safetensors", "clock.json"])
def test_checkpoints(folder, capsys, name, way):
    """The only checkpoint is spoilt, and sealed again where that is possible."""
    newest = sorted((folder / "checkpoints").glob("ckpt-*"))[-1]
    for other in (folder / "checkpoints").glob("ckpt-*"):
        if other != newest:
            shutil.rmtree(other)
    WAYS[way](newest / name)
    if name != "manifest.json":
        sealed_again(newest)
    assert ends_well(["league", "show", "r"], capsys) in ({0, 2} if name != "progress.json" else {2})
    ends_well([*TRAIN, "--run.name", "other", "--total-timesteps", "32", "--warm-start", "r"], capsys)


def sealed_again(folder):
    body = json.loads((folder / "manifest.json").read_bytes())["manifest"]
    for name in body["files"]:
        is_plain = (folder / name).is_file() and (folder / name).stat().st_size < 1 << 30
        data = (folder / name).read_bytes() if is_plain else b""
        body["files"][name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    (folder / "manifest.json").write_bytes(seal(body))


PROGRESS = {
    "steps": ["x", -1, None, 1e308, 2**70, True], "rollouts": ["x", -1, [], 2**64], "shards": [0, -1, 2**40, "1"],
    "extra.phase": [-1, 0.5, "0", None, 7], "extra.phase_since": ["x", -1], "extra.results": [[], None, {"a": 1}],
    "extra.competition": [[], {"league": 1, "hunts": {}}], "extra.owes_milestone": ["x", 3],
    "extra.competition.league.ratings": [{"main": [1e8, 1.0]}, {"main": [25.0, -1.0]}, {"main": [25.0, 1e7]}],
}  # fmt: skip


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in PROGRESS.items() for value in values])
def test_progress_that_is_none_is_refused(folder, capsys, key, value):
    """Sealed again, so that only its content is wrong. 7 phases and true steps included."""
    for checkpoint in (folder / "checkpoints").glob("ckpt-*"):
        data = json.loads((checkpoint / "progress.json").read_bytes())
        *way, last = key.split(".")
        place = data
        for part in way:
            place = place[part]
        place[last] = value
        (checkpoint / "progress.json").write_text(json.dumps(data))
        sealed_again(checkpoint)
    assert ends_well([*TRAIN, "--total-timesteps", "96"], capsys) == 2


@pytest.mark.parametrize("name", ["metrics.jsonl.tmp", "logs/train.log", "checkpoints/HEAD.tmp-1", "league/x.zip"])
def test_a_run_does_not_begin_beside_a_pipe(folder, capsys, name):
    (folder / name).parent.mkdir(exist_ok=True)
    pipe(folder / name)
    assert run([*TRAIN, "--total-timesteps", "96"]) == 2
    assert "is a pipe" in capsys.readouterr().err


def test_names_of_folders_do_not_steer_the_terminal(folder, capsys):
    for name in (STEERING.replace("/", ""), "[red]r", "a b"):
        (folder.parent / name / "checkpoints").mkdir(parents=True)
    assert ends_well(["jobs", "list"], capsys) == 0
    assert ends_well(["jobs", "list", "--json"], capsys) == 0


def test_milestones_that_cannot_be_read_are_listed_without_their_facts(folder):
    from pvp_ml.run.store.milestones import pick_milestone
    from pvp_ml.run.store.run_store import RunStore

    WAYS["pipe"](folder / "milestones/32/meta.json")
    (folder / "milestones/64/meta.json").write_text('{"metrics": [], "steps": 1, "written": 2}')
    (folder / "milestones" / STEERING.replace("/", "")).mkdir()
    (folder / "milestones" / STEERING.replace("/", "") / "manifest.json").write_text("{}")
    told = []
    assert pick_milestone(RunStore(folder.parent, "r"), lambda question: "1", told.append) in ("32", "64")
    assert len(told) == 2
