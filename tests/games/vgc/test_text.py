"""A whole battle in the terminal, typed blindly: the first line-up, then Enter, which lets the simulator choose."""

import re

from pvp_ml.cli.play.command import PlayOptions, play


def test_a_battle_in_words(installation, monkeypatch, capsys):
    answers = iter(["?", "1234", "left=move-1"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(answers, ""))
    play("vgc", options=PlayOptions(text=True, against="heuristics", seed=5))
    out = capsys.readouterr().out
    assert "you against heuristics, seed 5" in out and "They show: " in out and "Choose four" in out
    assert "preview: 1234 1235 1236" in out
    assert re.search(r"left=move-1(-at-left-foe or -at-right-foe)?  \w+", out) and "switch-3  " in out
    assert "Seat 1 sends out" in out and re.search(r"You (won|lost)\.", out)


def test_half_a_choice_is_explained(installation, monkeypatch, capsys):
    answers = iter(["1234", "move-1", "q"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(answers))
    play("vgc", options=PlayOptions(text=True, against="random", seed=6))
    assert re.search(r"'move-1' could be (left|right)=move-1", capsys.readouterr().out)
