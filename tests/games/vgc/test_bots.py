"""Bots inside the game, by strength. Teams are drawn alike for both seats; seats alternate."""

import pytest
from vgc_playing import bots, plans, play

from pvp_ml.games.vgc.formats import FORMATS


def win_rate(build, first, second, battles, format="gen9vgc2025regi"):
    game = build(32)
    half = battles // 2
    wanted = plans(half, bots(first, second), format) + plans(half, bots(second, first), format, first=half + 1)
    order = {plan.serial: 0 if i < half else 1 for i, plan in enumerate(wanted)}
    current, won = {}, 0

    def watch(out, count):
        nonlocal won
        for i in range(count):
            row = int(out.match[i])
            if out.ended[i]:
                won += out.result[i, order[current[row]]] == 1
            current[row] = int(out.serial[i])

    tally = play(game, wanted, watch=watch)
    assert not tally.faults
    return won / len(wanted)


def test_max_power_beats_random(build):
    assert win_rate(build, "max-power", "random", 60) >= 0.85


def test_heuristics_beat_max_power(build):
    assert win_rate(build, "heuristics", "max-power", 60) >= 0.60


@pytest.mark.nightly
@pytest.mark.parametrize("format", [format.id for format in FORMATS])
def test_strength_in_every_format(build, format):
    assert win_rate(build, "max-power", "random", 1000, format) >= 0.85
    assert win_rate(build, "heuristics", "max-power", 1000, format) >= 0.60
    assert win_rate(build, "heuristics", "random", 1000, format) >= 0.95
