import pytest

from pvp_ml.games.vgc import teams
from pvp_ml.games.vgc.formats import FORMATS
from pvp_ml.games.vgc.matchbook import Matchbook


def test_a_dozen_teams_for_every_format():
    shipped = teams.shipped()
    assert {f: len(t) for f, t in shipped.items()} == {f.id: 12 for f in FORMATS}
    assert len({text for group in shipped.values() for text in group.values()}) == 36


def test_every_set_is_used():
    import json

    groups = json.loads((teams.FOLDER / "teams.json").read_text())
    for file in {g["sets"] for g in groups.values()}:
        used = {key for g in groups.values() if g["sets"] == file for team in g["teams"].values() for key in team}
        assert used == set(teams._sets(file))


def test_the_simulators_validator_accepts_all_of_them(installation):
    for format, texts in teams.shipped().items():
        found = teams.prepare(texts, format, installation)
        assert {name: team.problems for name, team in found.items()} == dict.fromkeys(texts, ())
        assert not any(team.completed for team in found.values())


def test_a_users_illegal_team_is_refused_with_the_validators_sentences(build, tmp_path):
    text = teams.shipped()["gen9vgc2025regi"]["shadow-rider"].replace("Fake Out", "Spore")
    file = tmp_path / "mine.txt"
    file.write_text(text)
    with pytest.raises(teams.TeamError) as caught:
        build(teams=(str(file),))
    assert "Incineroar can't learn Spore." in str(caught.value) and "gen9vgc2025regi" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_users_legal_team_plays(build, tmp_path):
    from pvp_ml.match import MatchPlan

    file = tmp_path / "mine.txt"
    file.write_text(teams.shipped()["gen9vgc2025regi"]["lunala-room"])
    game = build(teams=(str(file),), opponent_teams=("kyogre-rain",))
    book: Matchbook = game._book
    keys = book.teams(MatchPlan(1, 5, ()))
    assert keys == ("gen9vgc2025regi/mine", "gen9vgc2025regi/kyogre-rain")


def test_teams_go_with_the_players_not_with_the_seats(build):
    from pvp_ml.match import External, MatchPlan

    game = build(teams=("lunala-room",), opponent_teams=("kyogre-rain",))
    lineup = (External("0"), External("1"))
    plans = [MatchPlan(i, 5, lineup, "default", home) for i, home in enumerate((0, 1))]
    assert [game.tags(plan, plan.home) for plan in plans] == [{"with": "lunala-room", "against": "kyogre-rain"}] * 2
    assert [game._book.order(plan, 0)["teams"][plan.home] for plan in plans] == ["gen9vgc2025regi/lunala-room"] * 2


def test_with_one_pool_a_pair_of_matches_changes_teams(build):
    """Each contestant plays both teams of a pair, so that a better team helps nobody."""
    from pvp_ml.match import External, MatchPlan

    game = build()
    lineup = (External("0"), External("1"))
    first, second = (game.tags(MatchPlan(home, 8, lineup, "default", home), home) for home in (0, 1))
    assert first["with"] == second["against"] != first["against"] == second["with"]


def test_a_weak_team_loses_on_both_seats(build):
    """Two equal bots, one with level-1 Magikarp: 0 %, where seats that swap teams would give 50 %."""
    from pvp_ml.selfplay.evaluate import Contestant, evaluate

    game = build(matches=4, teams=("lunala-room",), opponent_teams=("kyogre-rain",))
    book = game._book
    weak = "\n\n".join("Magikarp\nAbility: Swift Swim\nLevel: 1\n- Splash" for _ in range(6))
    assert "gen9vgc2025regi/lunala-room" in book.texts
    for worker in game._pool._workers:
        worker.send_json(4, {"gen9vgc2025regi/lunala-room": weak})
    result = evaluate(game, Contestant("max-power", bot="max-power"), Contestant("max-power", bot="max-power"), 8)
    assert result.total.losses == 8
    assert [(tally.label, tally.losses) for tally in result.by_tag] == [
        ("against kyogre-rain", 8), ("with lunala-room", 8),
    ]  # fmt: skip


def test_files_from_outside_have_limits(tmp_path, monkeypatch):
    monkeypatch.setattr(teams, "MAX_FILE_BYTES", 1000)
    big = tmp_path / "big.txt"
    big.write_bytes(b"x" * 1001)
    with pytest.raises(teams.TeamError, match="larger than 1000 bytes"):
        teams.read_teams(str(big), "gen9vgc2025regi")
    odd = tmp_path / "odd.txt"
    odd.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(teams.TeamError, match="not UTF-8"):
        teams.read_teams(str(odd), "gen9vgc2025regi")
    with pytest.raises(teams.TeamError, match="there is no team 'nobody' for gen9vgc2023regc"):
        teams.read_teams("nobody", "gen9vgc2023regc")


def test_files_of_many_teams_and_folders(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "two.txt").write_text("=== first ===\nA\n- x\n\n=== [gen9vgc2025regi] the second ===\nB\n")
    (tmp_path / "sub" / "one.txt").write_text("C\n- y\n")
    (tmp_path / "notes.md").write_text("no team")
    assert teams.read_teams(str(tmp_path / "two.txt"), "gen9vgc2025regi") == {"first": "A\n- x", "the second": "B"}
    assert sorted(teams.read_teams(str(tmp_path), "gen9vgc2025regi")) == ["sub/one", "two/first", "two/the second"]
    packed = "Ditto||||Transform|||||||]Ditto||||Transform|||||||"
    assert teams.split_teams(f"{packed}\n{packed}\n", "mine") == {"mine-1": packed, "mine-2": packed}
    assert teams.split_teams(packed, "mine") == {"mine": packed}
    with pytest.raises(teams.TeamError, match="has no teams"):
        (tmp_path / "empty").mkdir()
        teams.read_teams(str(tmp_path / "empty"), "gen9vgc2025regi")


def test_text_and_packed_form_give_the_same_team(installation):
    text = teams.shipped()["gen9vgc2025regi"]["kyogre-rain"]
    first = teams.prepare({"a": text}, "gen9vgc2025regi", installation)["a"]
    again = teams.prepare({"a": first.packed}, "gen9vgc2025regi", installation)["a"]
    assert again.packed == first.packed and not again.problems


def test_a_sheet_without_effort_values_is_completed(installation):
    import re

    text = teams.shipped()["gen9vgc2025regi"]["shadow-rider"]
    sheet = re.sub(r"^(EVs: .*|Level: .*|\w+ Nature|IVs: .*)\n", "", text, flags=re.MULTILINE)
    found = teams.prepare({"a": sheet.replace("As One (Spectrier)", "As One")}, "gen9vgc2025regi", installation)["a"]
    assert found.problems == () and len(found.completed) == 6
    assert any(line.startswith("Calyrex-Shadow: Timid, 4 hp / 252 spa / 252 spe") for line in found.completed)
    assert all("|50|" in mon for mon in found.packed.split("]"))


def test_of_many_teams_illegal_ones_are_left_out_with_a_reason(installation, caplog):
    good = teams.shipped()["gen9vgc2025regi"]["shadow-rider"]
    bad = good.replace("Fake Out", "Spore")
    legal = teams.prepare_legal({"good": good, "bad": bad}, "gen9vgc2025regi", installation)
    assert list(legal) == ["good"]
    assert "team 'bad' is not legal in gen9vgc2025regi: Incineroar can't learn Spore." in caplog.text


def test_text_that_is_no_team(installation):
    found = teams.prepare({"x": "hello"}, "gen9vgc2025regi", installation)
    assert found["x"].problems
