"""Charts: what is marked is what the numbers say."""

from pvp_ml.cli.runs.plots import Dot, front, pareto


def test_the_front_holds_what_nothing_beats_in_less_time():
    dots = [
        Dot("slow", 60.0, 0.9),
        Dot("quick", 15.0, 0.6),
        Dot("equal", 30.0, 0.6),
        Dot("twin", 15.0, 0.5),
        Dot("preset", 30.0, 0.7, is_reference=True),
        Dot("late", 61.0, 0.9),
    ]
    assert [dot.trial for dot in front(dots)] == ["quick", "preset", "slow"]


def test_a_sweep_without_measurements_is_drawn(tmp_path):
    pareto(tmp_path / "none.png", [], "nothing yet", "win rate (ties count half)")
    assert (tmp_path / "none.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
