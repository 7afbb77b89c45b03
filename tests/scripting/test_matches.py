"""Games, models and evaluations from a script."""

import numpy as np
import pytest

import pvp_ml
from pvp_ml.games import registry
from pvp_ml.match import WIN
from pvp_ml.players import BundlePlayer


@pytest.fixture(scope="module")
def general():
    return pvp_ml.load("GeneralizedNh", seed=3)


def first_legal(turn, spec):
    """[M,S,H] the first legal choice of every head, or 0."""
    borders = np.cumsum(spec.head_sizes)[:-1]
    return np.stack([part.argmax(-1) for part in np.split(turn.mask, borders, axis=-1)], axis=-1)


def test_a_model_decides_like_the_player_that_matches_use(general):
    kind = registry.find("nh")
    with pvp_ml.make("nh", matches=6) as fights:
        turn = fights.reset(seed=5)
        seen, legal = turn.obs[:, 0].copy(), turn.mask[:, 0].copy()
    greedy = pvp_ml.load("GeneralizedNh", greedy=True)
    player = BundlePlayer(general.bundle, kind.spec(kind.config()), greedy=True)
    rows = np.arange(6)
    expected = player.decide(rows, np.zeros(6, np.int32), seen, legal, np.zeros(6, np.uint64))
    assert (greedy.act(seen, legal) == expected).all()
    assert (greedy.act(seen[2], legal[2]) == expected[2]).all(), "one row in, one row out"


def test_without_greedy_a_model_draws_as_often_as_it_says(general):
    """In the middle of 128 fights, where it is not sure of everything, as it is at their start."""
    with pvp_ml.make("nh", matches=128) as fights:
        turn = fights.reset(seed=5)
        for _ in range(30):
            turn = fights.step(first_legal(turn, fights.spec))
        seen, legal = turn.obs[:, 0].copy(), turn.mask[:, 0].copy()
    said = general.decide(seen, legal).probs[:, : general.spec.head_sizes[0]]
    drawn = np.stack([general.act(seen, legal)[:, 0] for _ in range(200)])
    often = np.stack([(drawn == choice).mean(0) for choice in range(said.shape[1])], axis=1)
    assert (drawn != drawn[0]).any() and np.abs(often - said).max() < 0.18  # five deviations of 200 draws


def test_a_decision_has_probabilities_that_sum_to_one(general):
    with pvp_ml.make("nh", matches=3) as fights:
        turn = fights.reset(seed=2)
        decision = general.decide(turn.obs[:, 1], turn.mask[:, 1])
    sums = [part.sum(1) for part in np.split(decision.probs, np.cumsum(general.spec.head_sizes)[:-1], axis=1)]
    assert np.allclose(sums, 1.0, atol=1e-5)


@pytest.mark.parametrize(("obs", "mask", "said"), [((3, 5), (3, 45), "features a row"), ((3, None), (2, None), "mask")])
def test_wrong_shapes_are_named(general, obs, mask, said):
    obs = (obs[0], obs[1] or general.spec.obs_size)
    mask = (mask[0], mask[1] or general.spec.mask_size)
    with pytest.raises(pvp_ml.UserError, match=said):
        general.act(np.zeros(obs), np.ones(mask))


def test_a_stepped_game_pays_a_win_and_goes_on():
    with pvp_ml.make("connect4", matches=4, opponent="tactician") as games:
        turn, spec = games.reset(seed=1), games.spec
        paid, results = [], []
        for _ in range(60):
            turn = games.step(first_legal(turn, spec))
            stopped = turn.ended | turn.truncated
            paid += turn.reward[stopped, 0].tolist()
            results += turn.result[stopped, 0].tolist()
    assert len(results) >= 4
    assert paid == [float(result) for result in results], "1 for a win, −1 for a loss, nothing else"


def test_illegal_actions_are_replaced_and_said():
    with pvp_ml.make("connect4", matches=1) as game:
        turn = game.reset(seed=0)
        for _ in range(6):
            turn = game.step(np.zeros((1, 2, 1), int))
            assert not turn.replaced.any()
        turn = game.step(np.zeros((1, 2, 1), int))
    assert turn.replaced.sum() == 1, "the first column holds six"


def test_actions_of_the_wrong_shape_are_refused():
    with pvp_ml.make("rps", matches=2) as game, pytest.raises(pvp_ml.UserError, match=r"\[2, 2, 1\], got \[2, 1\]"):
        game.step(np.zeros((2, 1), int))


def test_an_evaluation_knows_who_is_better():
    result = pvp_ml.evaluate("tactician", "random", game="connect4", matches=60, seed=1)
    assert result.total.matches == 60
    assert result.total.interval[0] > 0.6
    again = pvp_ml.evaluate("tactician", "random", game="connect4", matches=60, seed=1)
    assert again.total.wins == result.total.wins, "the same seed gives the same matches"


def test_a_loaded_model_can_be_evaluated_and_be_an_opponent(general):
    result = pvp_ml.evaluate(general, "noop", matches=8)
    assert result.first == "GeneralizedNh"
    assert result.total.score > 0.9
    with pvp_ml.make("nh", matches=2, opponent=general) as fights:
        turn, lost = fights.reset(seed=4), 0
        for _ in range(250):
            turn = fights.step(np.zeros((2, 2, len(fights.spec.heads)), int))
            lost += int((turn.ended & (turn.result[:, 1] == WIN)).sum())
    assert lost >= 2, "whoever stands still dies"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: pvp_ml.load("NoSuch"), "there is no model 'NoSuch'"),
        (lambda: pvp_ml.make("nhh"), "did you mean 'nh'"),
        (lambda: pvp_ml.make("nh", matchez=3), "no setting 'matchez'"),
        (lambda: pvp_ml.evaluate("random", "random"), "does not say which game"),
    ],
)
def test_mistakes_are_one_sentence(call, said):
    with pytest.raises(pvp_ml.UserError, match=said):
        call()
