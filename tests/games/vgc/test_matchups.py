"""What an observation says about who beats whom, against the attack rows, whose estimates are checked elsewhere."""

import numpy as np
from vgc_playing import plans, play

from pvp_ml.games.vgc.actions import PREVIEWS, SLOT_CHOICES, heads
from pvp_ml.games.vgc.layout import blocks, column


def read(obs, block, row, feature):
    return obs[:, column(block, row, feature)]


def seen(build, battles=24, **settings):
    """Observations [n,D] of every decision of random play."""
    rows = []
    game = build(16, **settings)
    play(game, plans(battles), watch=lambda out, count: rows.append(out.obs[:count][out.acting[:count]].copy()))
    return np.concatenate(rows)


def test_the_best_attack_is_the_best_of_the_attack_rows(build):
    obs = seen(build)
    obs = obs[read(obs, "global", 0, "at_turn") == 1]
    compared = 0
    for place in (0, 1):
        here = read(obs, "slot", place, "must_choose") == 1
        rows = range(4 * place, 4 * place + 4)
        for side in ("left", "right"):
            usable = np.stack([read(obs, "attacks", r, "usable") for r in rows])
            damage = np.stack([read(obs, "attacks", r, f"damage_{side}") for r in rows])
            accuracy = np.stack([read(obs, "attacks", r, "accuracy") for r in rows])
            best, said = (damage * accuracy * usable).max(0), read(obs, "pokemon", place, f"deals_{side}")
            plain = here & (damage.max(0) < 1.9) & (usable.min(0) == 1) & (read(obs, "slot", place, "locked") == 0)
            assert np.abs(best - said)[plain].max() < 1e-5
            compared += int((said[plain] > 0).sum())
    assert compared > 200


def test_threats_and_types_to_turn_into(build):
    obs = seen(build)
    for place in (0, 1):
        threat, after = (read(obs, "slot", place, name) for name in ("threat", "threat_tera"))
        can = read(obs, "slot", place, "can_terastallize") == 1
        assert (after[~can] == threat[~can]).all() and (after[can] != threat[can]).mean() > 0.3
        total = read(obs, "pokemon", place, "takes_left") + read(obs, "pokemon", place, "takes_right")
        awake = threat > 0
        assert awake.mean() > 0.2 and (threat[awake] <= total[awake] + 1e-5).all()
        tera = np.stack([read(obs, "attacks", 4 * place + m, "tera_left") for m in range(4)])
        assert (tera[:, ~can] == 0).all() and (tera[:, can] > 0).any()


def test_preview_compares_whole_teams(build):
    obs = seen(build, 8)
    preview = read(obs, "global", 0, "at_preview") == 1
    for row in range(12):
        for name in ("deals_all", "takes_all"):
            said = read(obs, "pokemon", row, name)
            assert (said[~preview] == 0).all() and (said <= 1).all()
    mine = sum(read(obs, "pokemon", row, "deals_all") for row in range(6))
    theirs = sum(read(obs, "pokemon", row, "takes_all") for row in range(6, 12))
    assert mine[preview].min() > 1 and np.allclose(mine, theirs, atol=1e-4)


def test_every_move_switch_and_line_up_is_about_a_row():
    counts = {block.name: block.count for block in blocks()}
    preview, left, right = heads()
    assert len(preview.links) == 4 * len(PREVIEWS) and len(left.links) == len(right.links) == len(SLOT_CHOICES) - 1
    assert all(link.row < counts[link.block] for head in (preview, left, right) for link in head.links)
    by_choice = {link.choice: link for link in right.links}
    assert (by_choice["move 2 at left ally"].row, by_choice["move 2 at left ally"].role) == (5, "ally")
    assert {link.choice: link for link in left.links}["gimmick move 1 at right ally"].role == "gimmick ally"
