import numpy as np
import pytest

from pvp_ml.errors import UserError
from pvp_ml.games.registry import configure, find
from pvp_ml.games.toys.matrix import BIASED, PENNIES, ROCK_PAPER_SCISSORS, RockPaperScissorsConfig, equilibrium
from pvp_ml.match import Bot, External, MatchPlan, StepBuffers

HUMANS = (External("a"), External("b"))


def round_of(game_type, picks, config=None):
    config = config or game_type.config()
    game = game_type.build(config, 1)
    out = StepBuffers.allocate(game.spec, 1)
    game.queue([MatchPlan(0, 0, HUMANS)])
    game.start(out)
    game.step(np.array([[[picks[0]], [picks[1]]]], np.int32), out)
    return out


@pytest.mark.parametrize("game_type", [PENNIES, ROCK_PAPER_SCISSORS, BIASED], ids=lambda t: t.name)
def test_every_cell_of_the_table_is_paid(game_type):
    payoff = np.array(game_type.config().payoff)
    for i in range(len(payoff)):
        for j in range(len(payoff)):
            out = round_of(game_type, (i, j))
            assert out.reward[0, :, 0].tolist() == [payoff[i, j], -payoff[i, j]]
            assert out.result[0].tolist() == [np.sign(payoff[i, j]), -np.sign(payoff[i, j])]
            assert out.ended[0]


@pytest.mark.parametrize(
    ("name", "first", "second", "value"),
    [
        ("pennies", [1 / 2, 1 / 2], [1 / 2, 1 / 2], 0),
        ("rps", [1 / 3] * 3, [1 / 3] * 3, 0),
        ("biased_rps", [1 / 4, 1 / 2, 1 / 4], [1 / 4, 1 / 2, 1 / 4], 0),
    ],
)
def test_known_equilibria(name, first, second, value):
    mix0, mix1, worth = equilibrium(find(name).config().payoff)
    assert mix0 == pytest.approx(first, abs=1e-12)
    assert mix1 == pytest.approx(second, abs=1e-12)
    assert worth == pytest.approx(value, abs=1e-12)


def test_an_equilibrium_cannot_be_exploited_and_a_pure_one_is_refused():
    payoff = ((3.0, -1.0), (-2.0, 1.0))
    mix0, mix1, worth = equilibrium(payoff)
    table = np.array(payoff)
    assert mix0 @ table == pytest.approx([worth, worth])
    assert table @ mix1 == pytest.approx([worth, worth])
    with pytest.raises(UserError, match="leaves a choice out"):
        equilibrium(((1.0, 2.0), (-1.0, 1.0)))


def test_rounds_add_up_and_the_last_picks_are_seen_by_both():
    config = RockPaperScissorsConfig(rounds=3)
    game = ROCK_PAPER_SCISSORS.build(config, 1)
    out = StepBuffers.allocate(game.spec, 1)
    game.queue([MatchPlan(0, 0, HUMANS)])
    game.start(out)
    assert not out.obs[0, :, 2:].any()
    game.step(np.array([[[0], [1]]], np.int32), out)  # rock loses to paper
    assert out.obs[0, 0].tolist() == pytest.approx([0, 1 / 3, 1, 0, 0, 0, 1, 0])
    assert out.obs[0, 1].tolist() == pytest.approx([1, 1 / 3, 0, 1, 0, 1, 0, 0])
    game.step(np.array([[[2], [1]]], np.int32), out)
    game.step(np.array([[[2], [1]]], np.int32), out)
    assert out.ended[0]
    assert out.result[0].tolist() == [1, -1]


def test_a_step_with_an_idle_seat_plays_no_round():
    game = PENNIES.build(PENNIES.config(), 1)
    out = StepBuffers.allocate(game.spec, 1)
    game.queue([MatchPlan(0, 0, HUMANS)])
    game.start(out)
    game.step(np.array([[[0], [-1]]], np.int32), out)
    assert (out.ended[0], out.reward.any(), game.view(0)["step"]) == (False, False, 1)


def test_the_first_bot_always_picks_the_first_choice():
    game = ROCK_PAPER_SCISSORS.build(RockPaperScissorsConfig(), 8)
    out = StepBuffers.allocate(game.spec, 8)
    game.queue([MatchPlan(i, i, (External("a"), Bot("first"))) for i in range(8)])
    game.start(out)
    game.step(np.full((8, 2, 1), 1, np.int32), out)  # paper against rock
    assert (out.result == [1, -1]).all()


def test_a_crooked_table_is_refused():
    with pytest.raises(UserError, match="3 × 3 table"):
        configure(ROCK_PAPER_SCISSORS, {"payoff": ((0, 1), (1, 0))})
