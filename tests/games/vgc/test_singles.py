"""Battle Stadium Singles: one Pokémon a side, three of six brought, the same heads as doubles."""

import numpy as np
import pytest
from vgc_playing import bots, plans, play

from pvp_ml.games.vgc.actions import PASS, PREVIEWS, SLOT_SIZE
from pvp_ml.games.vgc.layout import column

RIGHT = 1 + len(PREVIEWS) + SLOT_SIZE


def leader(order):
    """Who leads, by the rule of the documentation."""
    a, b, *waiting = order
    ring = [n for n in range(1, 7) if n not in waiting]
    after = dict(zip(ring, ring[1:] + ring[:1], strict=True))
    return a if after[a] == b else b if after[b] == a else None


def test_sixty_line_ups_and_nothing_on_the_right(build):
    game = build(8, format="gen9bssregi")
    masks, obs = [], []

    def watch(out, count):
        masks.append(out.mask[:count][out.acting[:count]].copy())
        obs.append(out.obs[:count][out.acting[:count]].copy())

    tally = play(game, plans(8), watch=watch)
    assert sum(stats["rejected"] for stats in game.stats()) == 0 and tally is not None
    mask, seen = np.concatenate(masks), np.concatenate(obs)
    preview = seen[:, column("global", 0, "at_preview")] == 1
    assert preview.sum() == 16 and (mask[preview][:, 1 : 1 + len(PREVIEWS)].sum(1) == 60).all()
    legal = {order for order, ok in zip(PREVIEWS, mask[preview][0][1 : 1 + len(PREVIEWS)], strict=True) if ok}
    assert legal == {order for order in PREVIEWS if leader(order)}
    assert len({(leader(order), *order[2:]) for order in legal}) == 60
    right = mask[:, RIGHT : RIGHT + SLOT_SIZE]
    assert right[:, PASS].all() and right.sum() == len(right)
    turns = seen[:, column("global", 0, "at_turn")] == 1
    assert (seen[turns][:, column("pokemon", 0, "on_left")] == 1).all()
    assert not seen[:, column("pokemon", 1, "on_right")].any()


@pytest.mark.nightly
def test_two_thousand_random_battles_are_legal(build):
    game = build(64, format="gen9bssregi")
    play(game, plans(2000), timeout_s=600.0)
    assert sum(stats["rejected"] for stats in game.stats()) == 0 and game.fault_texts == []


def test_bots_play_singles(build):
    game = build(8, format="gen9bssregi")
    results = []
    play(
        game,
        plans(30, bots("heuristics", "random")),
        watch=lambda out, n: results.extend(out.result[:n][out.ended[:n], 0]),
    )
    assert sum(np.array(results) == 1) >= 20
