"""What a person sees of a game without a scene: their own observation, and nothing else."""

import numpy as np
from ringside import spec_of

from pvp_ml.games import registry
from pvp_ml.match import Bot, External, MatchPlan
from pvp_ml.web.live import LiveMatch
from pvp_ml.web.seen import seen


def kuhn(seed, human):
    kind = registry.find("kuhn")
    config = kind.config()
    lineup = tuple(External("0") if seat == human else Bot("random") for seat in range(2))
    return LiveMatch(kind, config, MatchPlan(0, seed, lineup, "default"), [None, None], human)


def test_the_other_card_is_in_no_frame_before_the_end():
    """All deals that 40 seeds give: what the page is sent is the same whatever the other one holds."""
    shown = {}
    for seed in range(40):
        match = kuhn(seed, human=0)
        mine, theirs = match._game.view(0)["cards"]
        scene = match.frame.scene
        assert scene["card"] == [mine] and "cards" not in scene
        shown.setdefault((mine, match._game.view(0)["starter"], str(match._game.view(0)["stage"])), set()).add(
            str(scene)
        )
        while not match.is_over:
            bet = match.orders.read([("move", "bet")], match.frame.mask) if match.awaits_person else None
            match.advance(bet)
        last = match.frame.scene
        assert (last["seat_1"]["card"], last["seat_2"]["card"]) == ([mine], [theirs]), "at the end both are shown"
    assert all(len(scenes) == 1 for scenes in shown.values()) and len(shown) >= 4


def test_flags_numbers_and_repeated_blocks_have_words():
    spec = spec_of("kuhn")
    obs = np.zeros(spec.obs_size, np.float32)
    assert seen(spec, obs) == {"card": "none", "table": "none"}
    obs[[2, 3, 5]] = 1
    assert seen(spec, obs) == {"card": ["king"], "table": ["is_starter", "somebody_bet"]}
