from itertools import permutations, product

import numpy as np
import pytest

from pvp_ml.games.conformance.playthrough import Playthrough
from pvp_ml.games.toys import kuhn_exact
from pvp_ml.games.toys.kuhn import GAME, KuhnConfig
from pvp_ml.match import External, MatchPlan, StepBuffers

HUMANS = (External("a"), External("b"))
# starter's chips for each course of moves (p = pass, b = bet), by whether the starter holds the higher card
PAYS = {"pp": (1, -1), "pbp": (-1, -1), "pbb": (2, -2), "bp": (1, 1), "bb": (2, -2)}


def course(game, out, moves, starter):
    """Play the moves; gives the starter's chips and result."""
    for move in moves:
        actions = np.full((1, 2, 1), -1, np.int32)
        actions[out.acting] = "pb".index(move)
        game.step(actions, out)
    assert out.ended[0]
    return float(out.reward[0, starter, 0]), int(out.result[0, starter])


@pytest.mark.parametrize(("moves", "starter"), product(PAYS, (0, 1)))
def test_every_course_of_moves_pays_what_the_rules_say(moves, starter):
    seen = set()
    for seed in range(40):
        game = GAME.build(KuhnConfig(), 1)
        out = StepBuffers.allocate(game.spec, 1)
        game.queue([MatchPlan(0, seed, HUMANS, f"seat{starter}-starts")])
        game.start(out)
        cards = out.obs[0, :, :3].argmax(1)
        assert (out.privileged[0].argmax(1) == cards[::-1]).all()
        seen.add(tuple(cards.tolist()))
        higher = cards[starter] > cards[1 - starter]
        chips, result = course(game, out, moves, starter)
        assert chips == PAYS[moves][0 if higher else 1]
        assert result == np.sign(chips)
        assert out.reward[0].sum() == 0
    assert seen == set(permutations(range(3), 2))


def test_uniform_play_has_the_known_exploitability():
    uniform = np.full((4, 3), 0.5)
    assert kuhn_exact.nash_conv(uniform) == pytest.approx(11 / 12, abs=1e-12)
    assert kuhn_exact.value(uniform) == pytest.approx(1 / 8, abs=1e-12)


@pytest.mark.parametrize("alpha", [0, 1 / 6, 1 / 3])
def test_the_known_equilibria_cannot_be_exploited(alpha):
    bet = np.zeros((4, 3))
    bet[0] = alpha, 0, 3 * alpha  # starter opens
    bet[3] = 0, alpha + 1 / 3, 1  # starter answers a bet after its pass
    bet[1] = 1 / 3, 0, 1  # second seat after a pass
    bet[2] = 0, 1 / 3, 1  # second seat after a bet
    assert kuhn_exact.nash_conv(bet) == pytest.approx(0, abs=1e-12)
    assert kuhn_exact.value(bet) == pytest.approx(-1 / 18, abs=1e-12)


def test_a_bad_strategy_can_be_exploited():
    always = np.ones((4, 3))
    assert kuhn_exact.nash_conv(always) == pytest.approx(2 / 3, abs=1e-9)


def test_the_game_agrees_with_the_enumeration_under_uniform_play():
    game = GAME.build(KuhnConfig(), 200)
    play = Playthrough(game, [MatchPlan(i, i, HUMANS, "seat0-starts") for i in range(6000)])
    play.begin()
    play.finish(1000)
    chips = [sum(float(s["reward"][0, 0]) for s in t.steps) for t in play.traces.values()]
    assert len(chips) == 6000
    assert np.mean(chips) == pytest.approx(1 / 8, abs=5 * np.std(chips) / np.sqrt(6000))


def test_the_questions_are_what_the_game_shows():
    game = GAME.build(KuhnConfig(), 50)
    play = Playthrough(game, [MatchPlan(i, i, HUMANS) for i in range(400)])
    play.begin()
    play.finish(200)
    shown = {
        tuple(step["obs"][np.flatnonzero(step["acting"])[0]].tolist()) for t in play.traces.values() for step in t.steps
    }
    obs, mask = kuhn_exact.questions()
    assert {tuple(row) for row in obs.tolist()} == shown
    assert len(shown) == 12
    assert mask.all()
