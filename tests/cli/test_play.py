"""`pvp-ml play --text`: words become legal actions, and a match can be played to its end."""

import numpy as np
import pytest

from pvp_ml.cli import run
from pvp_ml.cli.play.command import PlayOptions, play
from pvp_ml.cli.play.text import TypedOrders, play_text
from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.games.osrs.show.sketch import sketch
from pvp_ml.games.registry import find
from pvp_ml.players import BundlePlayer
from pvp_ml.selfplay.evaluate import Contestant, find_contestant
from pvp_ml.spec import Block, Feature, GameSpec, Head, RewardTerm, Rule

MAGE = (("attack", "mage_attack"),)
SPELL_RULES = (Rule("ice_spell", "all", MAGE), Rule("blood_spell", "any", MAGE))
SPEC = GameSpec(
    name="duel",
    version=1,
    teams=((0,), (1,)),
    blocks=(Block("me", 1, (Feature("hp"),)),),
    heads=(
        Head("attack", ("no_attack", "mage_attack", "melee_attack")),
        Head("spell", ("no_spell", "ice_spell", "blood_spell"), SPELL_RULES),
        Head("food", ("no_food", "eat_food"), (Rule("eat_food", "none", (("attack", "melee_attack"),)),)),
    ),
    rewards=(RewardTerm("win"),),
    max_steps=10,
)  # fmt: skip
ALL = np.ones(SPEC.mask_size, np.bool_)


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("", [0, 0, 0]),
        ("melee", [2, 0, 0]),
        ("ice", [1, 1, 0]),  # brings mage_attack along
        ("blood eat", [1, 2, 1]),
        ("spell=ice_spell food=eat_food", [1, 1, 1]),
        ("mage_attack", [1, 0, 0]),
    ],
)
def test_words_become_actions(text, action):
    assert TypedOrders(SPEC).read(text, ALL)[0].tolist() == action


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("attack", "could be attack=no_attack"),
        ("melee eat", "not possible with the rest"),
        ("mage_attack melee_attack", "both 'attack'"),
        ("fly", "'fly' is not legal now"),
        ("spell=melee_attack", "not legal now"),
    ],
)
def test_what_cannot_be_is_explained(text, words):
    with pytest.raises(UserError, match=words):
        TypedOrders(SPEC).read(text, ALL)


def test_masked_choices_are_not_legal():
    mask = ALL.copy()
    mask[2] = False
    with pytest.raises(UserError, match="'melee' is not legal now"):
        TypedOrders(SPEC).read("melee", mask)
    assert TypedOrders(SPEC).legal(mask)["attack"] == ["no_attack", "mage_attack"]


def script(*lines):
    said = []
    answers = iter(lines)

    def listen():
        try:
            return next(answers)
        except StopIteration:
            raise EOFError from None

    return said, said.append, listen


def connect4():
    game = find("connect4")
    return game.build(game.config(), 1)


def test_four_in_a_column_win_against_somebody_who_plays_elsewhere():
    class Edge:
        def begin(self, serials):
            pass

        def end(self, serials):
            pass

        def decide(self, serials, seats, obs, mask, keys):
            return np.full((len(obs), 1), 6, np.int32)

    said, say, listen = script("?", "9", "1", "", "!", "1", "1", "1")
    result = play_text(connect4(), Contestant("edge", make=lambda s: Edge()), "seat0-starts", 1, 0, say, listen)
    assert result == 1 and said[-1] == "\nYou won."
    assert "  column: 1 2 3 4 5 6 7" in said
    assert any("'9' is not legal now" in line for line in said)


@pytest.mark.parametrize("rival", ["bot:tactician", "player:random"])
def test_giving_up_and_the_end_of_input_end_the_match(rival):
    for lines in (["4", "q"], ["4"]):
        said, say, listen = script(*lines)
        game = connect4()
        opponent = find_contestant(rival, game.spec, None)
        assert play_text(game, opponent, "default", 3, 1, say, listen) == 0
        assert "You won" not in "".join(said)


def test_the_other_fighter_shows_only_what_is_on_the_screen():
    one = {
        "levels": {"hitpoints": [80, 99], "prayer": [50, 99]}, "position": [3, 4], "prayers": ["smite"],
        "worn": {"weapon": "whip"}, "special_energy": 75,
        "supplies": {"shark": 3, "brew": 0}, "timers": {"attack": 2, "food": 0},
    }  # fmt: skip
    other = {
        **one,
        "levels": {"hitpoints": [12, 99], "prayer": [1, 99]},
        "position": [5, 4],
        "supplies": {"anglerfish": 9},
    }
    text = sketch({"fighters": [one, other], "tick": 7}, 0)
    assert "tick 7, 2 tile(s) apart" in text and "you:  80/99 hp  whip  smite" in text and "they:  12/99 hp" in text
    assert "shark 3" in text and "attack 2" in text and "anglerfish" not in text and "brew" not in text


def test_the_command(monkeypatch, capsys):
    answers = iter(["4", "q"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(answers))
    play("connect4", options=PlayOptions(text=True, seed=5))
    assert "you against SelfTaughtConnect4, seed 5" in capsys.readouterr().out
    for wrong, words in (({"seat": 2}, "seat 2 does not exist"), ({"scenario": "x"}, "no scenario 'x'")):
        with pytest.raises(UserError, match=words):
            play("connect4", options=PlayOptions(text=True, **wrong))


def test_a_game_that_is_not_played_on_servers_is_refused():
    with pytest.raises(UserError, match="game 'nh' has no server that people play on — choose from: vgc"):
        play("nh", options=PlayOptions(server="local"))
    with pytest.raises(UserError, match="'http://x' is not the address of a websocket"):
        play("vgc", options=PlayOptions(server="http://x"))


def test_a_seat_on_a_server_gets_the_games_settings_and_the_shipped_model_or_a_bot(monkeypatch):
    seen = []

    def sit_down(seat, player_of, tell):
        seen.append((seat.settings, player_of(registry.find("vgc").spec(registry.find("vgc").config()))))

    monkeypatch.setattr(registry, "ability", lambda *asked: sit_down)
    play("vgc", "--set", "sheets=closed", "--teams", "[a, b]", options=PlayOptions(server="local"))
    play("vgc", options=PlayOptions(server="local", against="heuristics"))
    assert seen[0][0] == {"sheets": "closed", "teams": ("a", "b")} and isinstance(seen[0][1], BundlePlayer)
    assert seen[1] == ({}, "heuristics")


def test_the_terminal_takes_the_games_settings(monkeypatch, capsys):
    monkeypatch.setattr("builtins.input", lambda prompt: "heads")
    play("matching_pennies", "--rounds", "2", options=PlayOptions(text=True, seed=5))
    long = capsys.readouterr().out.count("\n")
    play("matching_pennies", "--rounds", "1", options=PlayOptions(text=True, seed=5))
    assert capsys.readouterr().out.count("\n") < long


@pytest.mark.parametrize("flag", ["--team rain", "--format gen9vgc2025regi", "--battles 3", "--user me"])
def test_flags_of_a_server_are_refused_without_one(flag, capsys):
    assert run(["play", "connect4", "--text", *flag.split()]) == 2
    assert f"{flag.split()[0]} is for matches on a server" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "terminal", "answer", "fetched"),
    [
        (["--setup"], False, None, True),
        ([], False, None, False),
        ([], True, "", True),
        ([], True, "n", False),
    ],
    ids=["the flag", "nobody there", "yes", "no"],
)
def test_what_a_game_lacks_is_fetched_when_somebody_says_so(monkeypatch, capsys, words, terminal, answer, fetched):
    from pvp_ml.games.vgc.node import install

    monkeypatch.delenv("PVP_ML_SHOWDOWN", raising=False)
    monkeypatch.setenv("PVP_ML_CACHE", "/nowhere")
    calls = []
    monkeypatch.setattr(install, "setup", calls.append)
    monkeypatch.setattr("sys.stdin.isatty", lambda: terminal, raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal, raising=False)
    monkeypatch.setattr("builtins.input", lambda asked: answer if "150 MB" in asked else None)
    assert run(["play", "vgc", "--text", *words]) == 2  # nothing was really fetched
    assert "pvp-ml game setup vgc" in capsys.readouterr().err
    assert bool(calls) == fetched
