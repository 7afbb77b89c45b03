"""The trust table of SECURITY.md: flag > own preset > run folder > downloaded file > network peer.

Only a flag starts a program, imports by name or reaches another host. Each row below is such an attempt from a place
with less trust; a canary module or program would leave a file behind if it were obeyed.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pvp_ml.cli import run
from pvp_ml.errors import UserError
from pvp_ml.games import registry, replay
from pvp_ml.match import External, MatchPlan
from pvp_ml.run.config.flags import options_of
from pvp_ml.run.config.schema import config_model, load_config
from pvp_ml.run.trust import GUARDED, is_here

SECURITY = (Path(__file__).parent.parent.parent / "SECURITY.md").read_text()
CANARY = "from pathlib import Path\nPath(__file__).with_name('obeyed').touch()\nraise ImportError('canary')\n"

HOSTILE = {
    "a command": ("env: {name: nh, remote_command: 'touch obeyed'}", "--env.remote-command touch obeyed"),
    "a command, dashed": ("env: {name: nh, remote-command: 'touch obeyed'}", "--env.remote-command touch obeyed"),
    "a command at the top": ("game: nh\nremote-command: 'touch obeyed'", "--env.remote-command touch obeyed"),
    "a command in a phase": (
        "env: {name: nh}\nphases: [{name: a, settings: {env: {remote_command: 'touch obeyed'}}}]",
        "--env.remote-command touch obeyed",
    ),
    "another host": ("env: {name: nh, remote: '10.0.0.2:7070'}", "--env.remote 10.0.0.2:7070"),
    "another host, as the original wrote it": ("env: {name: nh}\nremote-env-host: 10.0.0.2", "--env.remote 10.0.0.2"),
    "a module": ("env: {name: gym, id: 'canary:Env-v0'}", "--env.id canary:Env-v0"),
    "a cluster": ("env: {name: nh}\ncluster: {ray_address: 'ray://10.0.0.2:10001'}", "--cluster.ray-address ray://"),
    "a service": ("env: {name: nh}\ntracking: {wandb: mine}", "--tracking.wandb mine"),
    "a service, as the original wrote it": ("env: {name: rocket_league}\nlog-to-wandb: true", "--tracking.wandb"),
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "canary.py").write_text(CANARY)
    yield tmp_path
    assert not (tmp_path / "obeyed").exists()
    assert "canary" not in sys.modules


@pytest.mark.parametrize("which", HOSTILE, ids=lambda w: w.replace(" ", "-"))
@pytest.mark.parametrize("words", [["train"], ["config", "show"]], ids=["train", "show"])
def test_a_preset_that_acts_is_refused_with_the_flag(here, capsys, which, words):
    text, flag = HOSTILE[which]
    (here / "foreign.yml").write_text(text)
    assert run([*words, "--preset", "foreign.yml"]) == 2
    printed = capsys.readouterr().err
    assert "foreign.yml" in printed
    assert flag in printed


def test_an_extended_preset_is_no_way_around(here, capsys):
    (here / "foreign.yml").write_text("env: {name: nh, remote_command: 'touch obeyed'}")
    (here / "mine.yml").write_text("extends: foreign.yml\nppo: {n_steps: 16}")
    assert run(["config", "show", "--preset", "mine.yml"]) == 2
    assert "foreign.yml: env.remote_command" in capsys.readouterr().err


def test_a_flag_is_obeyed_and_this_machine_is_no_other_host(here):
    (here / "mine.yml").write_text("env: {name: nh, remote: 'localhost:7070'}")
    config = load_config("mine.yml", ["--env.remote-command", "server", "--wandb", "mine"], here)
    assert (config.env.remote, config.env.remote_command, config.tracking.wandb) == ("localhost:7070", "server", "mine")
    assert load_config("", ["--game", "nh", "--env.remote", "10.0.0.2:70"], here).env.remote == "10.0.0.2:70"


@pytest.mark.parametrize(
    ("address", "answer"),
    [("localhost:1", True), ("127.0.0.1:7070", True), ("[::1]:70", True), ("127.0.0.1", True), ("localhost", True),
     ("10.0.0.2:70", False), ("localhost.evil.org:70", False), ("127.0.0.1.evil.org", False), ("auto", False),
     ("ray://127.0.0.1:1", False), ("", False)],
)  # fmt: skip
def test_what_counts_as_here(address, answer):
    assert is_here(address) is answer


def test_no_setting_that_acts_is_forgotten():
    """Settings whose names speak of commands, hosts, services or ids are guarded, in every game."""
    telling = re.compile(r"command|address|host|url|^remote$|^id$|wandb|module|class")
    found = set()
    for name in registry.names():
        for option in options_of(config_model(registry.find(name))):
            if telling.search(option.path[-1]) and option.path != ("phases",):
                found.add(option.path)
    assert found == {guarded.path for guarded in GUARDED}


@pytest.mark.parametrize("game", ["gym", "remote"])
def test_a_replay_cannot_choose_a_game_that_acts(here, game):
    config = {"id": "canary:Env-v0"} if game == "gym" else {"remote_command": "touch obeyed"}
    plan = MatchPlan(0, 1, (External("0"),))
    (here / "x.replay").write_text(replay.replay_text(replay.Replay(game, "d", config, plan, ())))
    with pytest.raises(UserError, match=f"matches of '{game}' cannot be played again from a file"):
        next(replay.play(replay.read_replay(here / "x.replay")))
    assert run(["replay", "x.replay"]) == 2


def test_a_replay_of_a_fight_cannot_name_a_server(here):
    plan = MatchPlan(0, 1, (External("0"), External("1")))
    made = replay.Replay("nh", "d", {"remote_command": "touch obeyed"}, plan, ())
    with pytest.raises(UserError, match="on a server"):
        next(replay.play(made))


def test_the_config_of_a_run_folder_is_not_believed(here, capsys):
    """A run folder from elsewhere: its config.yml is not what a run of that name trains with."""
    folder = here / "experiments" / "far"
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "config.yml").write_text("env: {name: nh, remote_command: 'touch obeyed'}")
    (folder / "job.json").write_text(json.dumps({"command": ["touch", "obeyed"]}))
    assert run(["jobs", "list"]) == 0
    assert run(["train", "--preset", "experiments/far/config.yml"]) == 2
    assert "--env.remote-command" in capsys.readouterr().err


def test_showing_a_foreign_preset_imports_nothing_of_it(here):
    """In a process of its own, as a user would: the folder is on the path there."""
    (here / "foreign.yml").write_text("env: {name: gym, id: 'canary:Env-v0'}")
    done = subprocess.run(
        [sys.executable, "-m", "pvp_ml", "config", "show", "--preset", "foreign.yml"], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_the_table_names_every_place_and_every_guarded_setting():
    rows = ["command-line flag", "your own preset", "run folder", "downloaded file", "network peer"]
    places = [SECURITY.index(f"| {row}") for row in rows]
    assert places == sorted(places)
    for guarded in GUARDED:
        assert f"`{guarded.flag}`" in SECURITY
