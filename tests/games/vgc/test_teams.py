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
    verdict = teams.judge(teams.shipped(), installation)
    assert {f: {n: p for n, p in group.items() if p} for f, group in verdict.items()} == {f.id: {} for f in FORMATS}


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
    assert keys == (f"gen9vgc2025regi/{file}", "gen9vgc2025regi/kyogre-rain")


def test_files_from_outside_have_limits(tmp_path):
    big = tmp_path / "big.txt"
    big.write_bytes(b"x" * (teams.MAX_PASTE_BYTES + 1))
    with pytest.raises(teams.TeamError, match="larger than 65536 bytes"):
        teams.read_team(str(big), "gen9vgc2025regi")
    odd = tmp_path / "odd.txt"
    odd.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(teams.TeamError, match="not UTF-8"):
        teams.read_team(str(odd), "gen9vgc2025regi")
    with pytest.raises(teams.TeamError, match="there is no team 'nobody' for gen9vgc2023regc"):
        teams.read_team("nobody", "gen9vgc2023regc")


def test_text_that_is_no_team(installation):
    problems = teams.judge({"gen9vgc2025regi": {"x": "hello"}}, installation)
    assert problems["gen9vgc2025regi"]["x"]
