"""What a log of a sweep says."""

from pathlib import Path

from pvp_ml.cli.sweep import News
from pvp_ml.sweep.scheduler import ranking
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


def test_a_rung_reached_late_is_no_better_than_one_reached_in_time():
    late = Trial(1, {}, Path("t001"), (Measured(15.0, 0.4), Measured(34.0, 0.5)))
    good = Trial(2, {}, Path("t002"), (Measured(15.0, 0.4), Measured(30.1, 0.8)))
    short = Trial(3, {}, Path("t003"), (Measured(15.0, 0.9),))
    assert [trial.number for trial in ranking([late, short, good], (15.0, 30.0))] == [2, 1, 3]
