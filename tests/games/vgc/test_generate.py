"""Invented teams: legal by the simulator's own judgement, the same for the same seed, and like the statistics."""

import gzip

import pytest

from pvp_ml.cli import run
from pvp_ml.errors import UserError
from pvp_ml.games.vgc import teams
from pvp_ml.games.vgc.usage import read_usage

BOX = " +----------------------------------------+ \n"


def species_text(name, count, **sections):
    lines = [BOX, f" | {name:<38} | \n", BOX, f" | Raw count: {count:<27} | \n", BOX]
    for title, entries in sections.items():
        lines.append(f" | {title.replace('_', ' '):<38} | \n")
        lines += [f" | {entry:<38} | \n" for entry in (*entries, "Other  1.000%")]
        lines.append(BOX)
    return "".join(lines) + " | Checks and Counters                    | \n" + BOX


def statistics():
    """Seven species that all teams are made of; Incineroar is used far more than the others."""
    names = ("Rillaboom", "Urshifu-Rapid-Strike", "Amoonguss", "Tornadus", "Flutter Mane", "Miraidon")
    moves = {
        "Rillaboom": ("Fake Out", "Wood Hammer", "Grassy Glide", "U-turn"),
        "Amoonguss": ("Spore", "Rage Powder", "Protect", "Pollen Puff"),
        "Urshifu-Rapid-Strike": ("Surging Strikes", "Close Combat", "Aqua Jet", "Detect"),
        "Tornadus": ("Tailwind", "Bleakwind Storm", "Protect", "Taunt"),
        "Flutter Mane": ("Moonblast", "Shadow Ball", "Protect", "Icy Wind"),
        "Miraidon": ("Electro Drift", "Draco Meteor", "Volt Switch", "Protect"),
    }  # fmt: skip
    abilities = {"Rillaboom": "Grassy Surge", "Urshifu-Rapid-Strike": "Unseen Fist", "Amoonguss": "Regenerator",
                 "Tornadus": "Prankster", "Flutter Mane": "Protosynthesis", "Miraidon": "Hadron Engine"}  # fmt: skip
    items = ("Assault Vest", "Mystic Water", "Sitrus Berry", "Covert Cloak", "Booster Energy", "Choice Specs")
    text = species_text(
        "Incineroar", 900, Abilities=["Intimidate 100.000%"], Items=["Rocky Helmet 90.000%"],
        Spreads=["Impish:252/0/252/0/4/0 99.000%"],
        Moves=[f"{m} 90.000%" for m in ("Fake Out", "Knock Off", "Parting Shot", "Flare Blitz")],
        Tera_Types=["Ghost 99.000%"], Teammates=["Rillaboom 50.000%"],
    )  # fmt: skip
    for name, item in zip(names, items, strict=True):
        text += species_text(
            name, 100, Abilities=[f"{abilities[name]} 99.000%"], Items=[f"{item} 99.000%"],
            Spreads=["Bold:252/0/4/0/252/0 99.000%"], Moves=[f"{m} 80.000%" for m in moves[name]],
            Tera_Types=["Water 99.000%"], Teammates=["Incineroar 50.000%"],
        )  # fmt: skip
    return text


def test_usage_is_read_plain_and_gzipped(tmp_path):
    (tmp_path / "plain.txt").write_text(statistics())
    (tmp_path / "packed.txt.gz").write_bytes(gzip.compress(statistics().encode()))
    found = read_usage(tmp_path / "plain.txt")
    assert found == read_usage(tmp_path / "packed.txt.gz") and len(found) == 7
    assert found["Incineroar"]["count"] == 900
    assert found["Incineroar"]["items"] == {"Rocky Helmet": 0.9} and found["Incineroar"]["teras"] == {"Ghost": 0.99}
    assert found["Miraidon"]["mates"] == {"Incineroar": 0.5}
    (tmp_path / "empty.txt").write_text("nothing")
    with pytest.raises(UserError, match="no usage"):
        read_usage(tmp_path / "empty.txt")


def test_teams_of_the_packages_sets_are_legal_and_follow_the_seed(installation):
    made = teams.generate_teams("gen9vgc2025regi", 4, seed=3)
    assert made == teams.generate_teams("gen9vgc2025regi", 4, seed=3)
    assert len(made) == 4 and set(made) != set(teams.generate_teams("gen9vgc2025regi", 4, seed=4))
    assert all(not team.problems and len(team.species) == 6 for team in teams.prepare(made, "gen9vgc2025regi").values())


def test_teams_follow_the_statistics(installation, tmp_path, capsys):
    (tmp_path / "usage.txt").write_text(statistics())
    out = tmp_path / "made.txt"
    assert run(["team", "generate", str(out), "--count", "8", "--usage", str(tmp_path / "usage.txt")]) == 0
    assert "8 teams in" in capsys.readouterr().out
    judged = teams.prepare(teams.split_teams(out.read_text(), ""), "gen9vgc2025regi")
    assert all(not team.problems and not team.completed for team in judged.values())
    assert sum("Incineroar" in team.species for team in judged.values()) >= len(judged) - 1
    text = next(team.text for team in judged.values() if "Incineroar" in team.species)
    assert "Incineroar @ Rocky Helmet" in text and "EVs: 252 HP / 252 Def / 4 SpD" in text


@pytest.mark.nightly
@pytest.mark.parametrize(
    "format", ["gen9vgc2023regc", "gen9vgc2024regg", "gen9championsvgc2026regma", "gen9championsvgc2026regmb"]
)
def test_every_format_gets_teams(installation, format):
    made = teams.generate_teams(format, 25)
    assert len(made) == 25 and all(not team.problems for team in teams.prepare(made, format).values())
