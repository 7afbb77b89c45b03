import json

from pvp_ml.cli import run
from pvp_ml.games.vgc import teams

FORMAT = "gen9vgc2025regi"


def files(folder):
    good = teams.shipped()[FORMAT]["shadow-rider"]
    (folder / "many.txt").write_text(f"=== good ===\n{good}\n\n=== bad ===\n{good.replace('Fake Out', 'Spore')}\n")
    return str(folder / "many.txt")


def test_check_names_pokemon_and_rule(installation, tmp_path, capsys):
    assert run(["team", "check", files(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "bad: not legal\n  Incineroar can't learn Spore.\n" in out
    assert "1 of 2 teams are legal in gen9vgc2025regi" in out
    assert run(["team", "check", files(tmp_path), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["refused"] == {
        "bad": ["Incineroar can't learn Spore.", "Rillaboom can't learn Spore."]
    }
    assert run(["team", "check", "kyogre-rain", "lunala-room"]) == 0


def test_show_gives_the_team_as_it_is_played(installation, tmp_path, capsys):
    assert run(["team", "show", "kyogre-rain"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("=== kyogre-rain ===\nKyogre") and out.count("Level: 50") == 6
    assert run(["team", "show", "kyogre-rain", "--packed"]) == 0
    packed = capsys.readouterr().out.strip()
    (tmp_path / "packed.txt").write_text(packed)
    assert run(["team", "show", str(tmp_path / "packed.txt"), "--packed"]) == 0
    assert capsys.readouterr().out.strip() == packed


def test_mistakes_are_one_line(installation, capsys):
    assert run(["team", "check"]) == 2
    assert run(["team", "check", "nobody"]) == 2
    assert "there is no team 'nobody'" in capsys.readouterr().err


def test_split_keeps_teams_of_the_same_six_together(installation, tmp_path, capsys):
    shipped = teams.shipped()[FORMAT]
    texts = {**shipped, "copy": shipped["kyogre-rain"].replace("Timid", "Modest")}
    (tmp_path / "all.txt").write_text("\n\n".join(f"=== {name} ===\n{text}" for name, text in texts.items()))
    assert run(["team", "split", str(tmp_path / "all.txt"), "--out", str(tmp_path / "parts"), "--share", "0.4"]) == 0
    parts = [
        set(teams.split_teams((tmp_path / "parts" / name).read_text(), "")) for name in ("train.txt", "held-out.txt")
    ]
    assert parts[0] | parts[1] == set(texts) and not parts[0] & parts[1] and min(map(len, parts)) >= 2
    assert any({"copy", "kyogre-rain"} <= part for part in parts)
    assert "teams in" in capsys.readouterr().out


def test_the_part_kept_back_is_the_same_everywhere():
    assert [teams.is_held_out((str(i), "b", "a"), 0.5) for i in range(8)] == [
        teams.is_held_out(("a", "b", str(i)), 0.5) for i in range(8)
    ]
    share = sum(teams.is_held_out((str(i),), 0.2) for i in range(2000)) / 2000
    assert 0.17 < share < 0.23
