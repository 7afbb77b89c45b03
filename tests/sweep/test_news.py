"""What a log of a sweep says."""

from pathlib import Path

from pvp_ml.cli.sweep import News
from pvp_ml.sweep.trials import Measured, Trial


def test_a_log_is_told_of_starts_and_scores_once_each():
    lines = []
    news = News(lines.append)
    preset = Trial(1, {"ppo.gamma": None}, Path("t001"))
    drawn = Trial(2, {"ppo.gamma": 0.9, "env.matches": 64}, Path("t002"))
    news.show([preset])
    news.show([preset, drawn])
    measured = Trial(2, drawn.settings, drawn.folder, (Measured(15.2, 0.5), Measured(30.4, 0.625)))
    news.show([preset, measured])
    news.show([preset, measured])
    assert lines == [
        "t001 started: the preset as it is",
        "t002 started: gamma 0.9, matches 64",
        "t002 after 15 s: 0.500",
        "t002 after 30 s: 0.625",
    ]
