"""Battles of our own, written down as others do, read back: input logs exactly, replays as far as they show."""

import json
import re
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from vgc_playing import OPEN, plans, play

from pvp_ml.cli import run
from pvp_ml.errors import UserError
from pvp_ml.games.vgc import layout, replays
from pvp_ml.games.vgc.config import VgcConfig, make_spec
from pvp_ml.games.vgc.teams import shipped
from pvp_ml.model.recording import read_recording

HERE = Path(__file__).parent
SHARED = HERE.parents[3] / "shared" / "data" / "vgc"
HUMAN = {
    "gen9vgc2025regi": "regi-teams.txt",
    "gen9championsvgc2026regma": "regma-teams.txt",
    "gen9championsvgc2026regmb": "regmb-teams.txt",
}
MOMENT = [layout.column("global", 0, f) for f in ("turn", "at_preview", "at_turn", "at_forced_switch")]
HIDDEN = {"stat_hp", "stat_atk", "stat_def", "stat_spa", "stat_spd", "stat_spe"}
FOES = [
    layout.column("pokemon", row, f.name)
    for row in range(6, 12)
    for f in layout.blocks()[3].features
    if not f.name.startswith(("deals_", "takes_"))  # match-ups rest on our own stats, which a replay does not show
]


def battles(build, count, format, seed=0):
    """(battle logs, rows) of random battles: rows are (obs, mask, actions) per lane, as they were really decided."""
    game, logs, rows = build(1, format=format), [], []  # one at a time: choices are drawn in the order of answers
    game.listen(logs.append)
    wanted = plans(count, OPEN)
    sent = game.send

    def send(match, actions):
        for i, row in enumerate(np.asarray(match).tolist()):
            serial = int(game._stage.serial[row])
            for seat in np.flatnonzero(game._stage.acting[row]).tolist():
                stage = game._stage
                rows.append((serial, seat, stage.obs[row, seat].copy(), stage.mask[row, seat].copy(), actions[i, seat]))
        sent(match, actions)

    game.send = send
    assert not play(game, wanted, seed=seed).faults
    return logs, rows


def rows_by_moment(recording):
    """(battle, seat, moment) → rows of a recording."""
    found = defaultdict(list)
    for i, lane in enumerate(recording.lane.tolist()):
        found[lane, *recording.obs[i, MOMENT].round(3).tolist()].append(i)
    return found


@pytest.mark.parametrize("format", ["gen9vgc2025regi", "gen9championsvgc2026regma"])
def test_input_logs_give_exactly_what_was_decided(build, format):
    logs, rows = battles(build, 4, format)
    recording, report = replays.import_battles(
        [replays.Battle(str(log.serial), format, log.inputs) for log in logs], VgcConfig(format=format)
    )
    assert report.hidden == 0 and report.battles == 4
    order = {log.serial: number for number, log in enumerate(logs)}
    retries = 0
    for number in range(8):
        mine = [row for row in rows if 2 * order[row[0]] + row[1] == number]
        theirs = np.flatnonzero(recording.lane == number)
        if len(mine) != len(theirs):  # a choice that turned out unavailable was made twice
            retries += 1
            continue
        for (_, _, obs, mask, actions), i in zip(mine, theirs, strict=True):
            assert np.array_equal(recording.mask[i], mask) and np.array_equal(recording.obs[i], obs)
            assert np.array_equal(recording.actions[i], actions)
    assert retries <= 2


@pytest.mark.parametrize(
    ("format", "seed"), [("gen9vgc2025regi", 3), ("gen9championsvgc2026regmb", 3), ("gen9championsvgc2026regmb", 4)]
)
def test_replays_give_what_they_show(build, format, seed):
    logs, _ = battles(build, 6, format, seed=seed)
    config = VgcConfig(format=format)
    exact, _ = replays.import_battles([replays.Battle("", format, log.inputs) for log in logs], config)
    seen, report = replays.import_battles([replays.Battle("", format, log.lines) for log in logs], config)
    assert report.decisions == len(seen) and 0.5 < report.decisions / (report.decisions + report.hidden) < 1.0
    truth, same = rows_by_moment(exact), 0
    for moment, rows in rows_by_moment(seen).items():
        for i in rows:
            there = [j for j in truth[moment] if _equal(exact, j, seen, i)]
            assert there, (moment, exact.actions[truth[moment]], seen.actions[i])
            same += 1
            assert np.abs(exact.obs[there[0], FOES] - seen.obs[i, FOES]).max() < 0.02
    assert same == len(seen)


def _equal(exact, j, seen, i):
    """The same choice; where one foe stands, both targets are the same."""
    a, b = exact.actions[j], seen.actions[i]
    standing = sum(
        exact.obs[j, layout.column("pokemon", row, f)] * (1 - exact.obs[j, layout.column("pokemon", row, "fainted")])
        for row in range(6, 12)
        for f in ("on_left", "on_right")
    )

    def without_target(pick):
        return pick - pick % 5 if pick < 40 and pick % 5 >= 3 and standing < 2 else pick

    return [without_target(p) for p in a.tolist()] == [without_target(p) for p in b.tolist()]


def held_against_truth(installation, format, sheets, teams, battles, seed, scripts=layout.SCRIPTS):
    request = {"format": format, "sheets": sheets, "teams": teams, "battles": battles, "seed": seed}
    done = subprocess.run(
        [str(installation.node), str(HERE / "replay_truth.js"), str(scripts)],
        input=json.dumps(request), env=installation.environment(), capture_output=True, text=True, encoding="utf-8",
        timeout=580,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-800:]
    return json.loads(done.stdout)


@pytest.mark.nightly
@pytest.mark.parametrize("sheets", ["open", "closed"])
@pytest.mark.parametrize("format", HUMAN)
def test_replays_of_human_teams_give_what_was_chosen(installation, format, sheets):
    """Teams of people have what ours have not: Lightning Rod, Ally Switch, Eject Button, Illusion, Commander."""
    if not (SHARED / HUMAN[format]).is_file():
        pytest.skip(f"no human teams at {SHARED / HUMAN[format]}")
    teams = re.split(r"^=== \S+ ===$", (SHARED / HUMAN[format]).read_text("utf-8"), flags=re.MULTILINE)[1:]
    report = held_against_truth(installation, format, sheets, teams, 200, 9000)
    assert report["wrong"] == [] and report["battles"] == 200
    assert report["seen"] + report["hidden"] == report["exact"] and report["seen"] > 0.6 * report["exact"]


def test_a_redirected_blow_is_no_choice(installation, tmp_path):
    """An importer that believes every target is caught: on these teams somebody always draws blows."""
    shutil.copytree(layout.SCRIPTS, tmp_path / "js")
    file = tmp_path / "js" / "replays" / "reconstruct.js"
    text = file.read_text("utf-8")
    gullible = text.replace("if (this.mayBeRedirected(", "if (false && this.mayBeRedirected(")
    assert gullible != text
    file.write_text(gullible, "utf-8")
    format = "gen9championsvgc2026regmb"
    teams = [text for text in shipped()[format].values() if "Follow Me" in text or "Rage Powder" in text]
    assert held_against_truth(installation, format, "open", teams, 8, 20)["wrong"] == []
    assert held_against_truth(installation, format, "open", teams, 8, 20, tmp_path / "js")["wrong"]


def test_the_command_reads_files_and_folders(build, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    logs, _ = battles(build, 2, "gen9vgc2025regi")
    (tmp_path / "folder").mkdir()
    replay = {"id": "x-1", "formatid": "gen9vgc2025regi", "log": "\n".join(logs[0].lines), "rating": 1500}
    (tmp_path / "folder/a.json").write_text(json.dumps(replay))
    (tmp_path / "b.log").write_text("\n".join(logs[1].inputs))
    (tmp_path / "c.json").write_text("{")
    (tmp_path / "d.json").write_text(json.dumps({"formatid": "gen9ou", "log": "|turn|1"}))
    assert run(["bc", "import", "folder", "b.log", "c.json", "d.json", "--out", "r.zip"]) == 0
    said = capsys.readouterr().out
    assert "of 2 battles in r.zip" in said and "left out:" in said
    assert "is not JSON" in said and "format 'gen9ou' is not played here" in said
    spec = make_spec(VgcConfig())
    whole = read_recording(tmp_path / "r.zip", "vgc", spec.interface)
    assert run(["bc", "import", "folder", "--out", "w.zip", "--winners", "--min-rating", "1400"]) == 0
    winners = read_recording(tmp_path / "w.zip", "vgc", spec.interface)
    assert len(np.unique(winners.lane)) == 1 and 0 < len(winners) < len(whole)
    assert run(["bc", "import", "folder", "--min-rating", "1600"]) == 2
    assert run(["bc", "import", "nowhere"]) == 2


def test_files_that_are_no_battles_are_refused(tmp_path, monkeypatch):
    for name, text, why in (
        ("a.json", "[]", "format"),
        ("b.json", '{"formatid": "gen9vgc2025regi"}', "neither 'log' nor"),
        ("c.log", "hello", "format ''"),
        ("d.log", ">start {", "not JSON"),
    ):
        (tmp_path / name).write_text(text)
        (found,) = replays.read_battles(tmp_path / name)
        assert isinstance(found, UserError) and why in str(found)
    monkeypatch.setattr(replays, "MAX_FILE_BYTES", 1000)
    (tmp_path / "e.log").write_bytes(b"x" * 1001)
    (found,) = replays.read_battles(tmp_path / "e.log")
    assert "larger than 1000 bytes" in str(found)


def test_many_logs_in_one_file(tmp_path):
    """{id: [time, log]}: each is a battle of its own; one that cannot be read does not spoil the others."""
    log = "|player|p1|a|1|1600\n|player|p2|b|2|1550\n|tier|[Gen 9] VGC 2025 Reg I (Bo3)\n|turn|1"
    logs = {
        "x-1": [1700000000, log],
        "x-2": [1700000001, log.replace("Reg I", "Reg G")],
        "x-3": [0, "|tier|[Gen 9] OU"],
    }
    (tmp_path / "many.json").write_text(json.dumps(logs))
    first, second, third = replays.read_battles(tmp_path / "many.json")
    assert (first.name, first.format, first.rating, len(first.lines)) == ("many.json: x-1", "gen9vgc2025regi", 1550, 4)
    assert second.format == "gen9vgc2024regg"
    assert isinstance(third, UserError) and "x-3" in str(third)
