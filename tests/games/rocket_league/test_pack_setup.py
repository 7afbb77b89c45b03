"""The tools' packs: converted, checked, and what lies outside the field named."""

from __future__ import annotations

import gzip
import io
import json
import tarfile

import pytest

from pvp_ml.cli import run
from pvp_ml.errors import UserError
from pvp_ml.games.rocket_league import pack_setup
from pvp_ml.games.rocket_league.pack_setup import MEMBER, convert, member
from pvp_ml.games.rocket_league.packs import packs_folder, parse_pack, read_packs


def shot(position=(0.0, 2000.0, 100.0), yaw=0.0, seconds=4.0):
    still = [0.0, 0.0, 0.0]
    ball = {"position": list(position), "linear_velocity": [0.0, 500.0, 0.0], "euler_angles": still}
    car = {"position": [10.0, -300.0, 25.0], "linear_velocity": still, "euler_angles": [0.0, yaw, 0.0]}
    return {"time_limit": seconds, "ball": ball, "car": car}


def line(*shots, title="Wall / shots", kind="Striker"):
    return json.dumps({"metadata": {"title": title, "type": kind}, "shots": list(shots)})


def archive(text: str, name: str = MEMBER) -> bytes:
    data, out = gzip.compress(text.encode()), io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        entry = tarfile.TarInfo(f"rlgym_tools-2.6.5/rlgym_tools/{name}")
        entry.size = len(data)
        tar.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def test_a_pack_is_converted():
    done = convert(line(shot(yaw=7.4), shot(), kind="Goalie"))
    assert list(done.files) == ["000-wall-shots.json"] and done.shots == 2 and done.outside == ()
    first, _ = parse_pack(done.files["000-wall-shots.json"], "p")
    assert (first.pack, first.kind, first.seconds, first.noise) == ("Wall / shots", "goalie", 4.0, 0.0)
    assert first.ball[0] == (0.0, 2000.0, 100.0) and first.ball[1] == (0.0, 500.0, 0.0)
    (car,) = first.cars
    assert (car.team, car.boost, car.position) == (0, 100.0, (10.0, -300.0, 25.0))
    assert car.angles[1] == pytest.approx(7.4 - 6.283185307), "angles beyond a turn are turned back"


def test_shots_outside_the_field_are_left_out_and_named():
    done = convert("\n".join([line(shot(), shot((4182.0, 0.0, 100.0))), line(shot((0.0, -6400.0, 100.0)))]))
    assert done.shots == 1 and len(done.files) == 1, "a pack without shots is no file"
    assert done.outside == (
        "Wall / shots, shot 2: ball.position is 4182.0",
        "Wall / shots, shot 1: ball.position is -6400.0",
    )


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"metadata": {"title": "x"}}', '{"metadata": {"title": "x"}, "shots": [1]}']
)
def test_damaged_lines_are_one_line(text):
    with pytest.raises(UserError, match="line 1 is no pack"):
        convert(text)


def test_the_file_is_found_in_the_archive_and_nowhere_else():
    assert member(archive("hello")) == "hello"
    with pytest.raises(UserError, match="holds no"):
        member(archive("hello", "other.gz"))
    with pytest.raises(UserError, match="cannot be read"):
        member(b"no archive")


def test_setup_with_packs_fills_the_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PVP_ML_CACHE", str(tmp_path))
    monkeypatch.setattr("pvp_ml.games.rocket_league.arena.mesh_setup.setup", lambda progress: None)
    monkeypatch.setattr(pack_setup, "download", lambda what: archive(line(shot(), shot((9000.0, 0.0, 100.0)))))
    assert run(["game", "setup", "rocket_league", "--packs"]) == 0
    printed = capsys.readouterr().out
    assert "left out: Wall / shots, shot 2" in printed and "1 training packs with 1 shots" in printed
    assert len(list(packs_folder().glob("*.json"))) == 1 and len(read_packs(("setup",))[0]) == 1
    assert run(["game", "setup", "connect4", "--packs"]) == 2
    assert "has no training packs" in capsys.readouterr().err
