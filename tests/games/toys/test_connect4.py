import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pvp_ml.games.conformance.playthrough import Playthrough
from pvp_ml.games.toys.connect4 import CELLS, GAME, Connect4Config, drops, has_line, winning_columns
from pvp_ml.match import ActionError, Bot, External, MatchPlan, StepBuffers

HUMANS = (External("a"), External("b"))


class Plain:
    """Connect 4 the slow way: a list of columns."""

    def __init__(self):
        self.columns = [[] for _ in range(7)]

    def at(self, column, row):
        inside = 0 <= column < 7 and 0 <= row < len(self.columns[column])
        return self.columns[column][row] if inside else None

    def drop(self, column, who):
        self.columns[column].append(who)
        row = len(self.columns[column]) - 1
        for dc, dr in ((1, 0), (0, 1), (1, 1), (1, -1)):
            run = 1
            for sign in (1, -1):
                k = 1
                while self.at(column + sign * k * dc, row + sign * k * dr) == who:
                    run, k = run + 1, k + 1
            if run >= 4:
                return True
        return False

    def stones(self, who):
        return [float(self.at(i % 7, i // 7) == who) for i in range(CELLS)]


def build(matches=1, lineup=HUMANS, scenario="default", plans=None):
    game = GAME.build(Connect4Config(), matches)
    out = StepBuffers.allocate(game.spec, matches)
    game.queue([MatchPlan(i, 7 * i + 1, lineup, scenario) for i in range(plans or matches)])
    game.start(out)
    return game, out


def drop(game, out, column):
    actions = np.full((game.matches, 2, 1), -1, np.int32)
    actions[out.acting] = column
    game.step(actions, out)


def test_every_step_agrees_with_plain_rules_over_200_random_matches():
    game = GAME.build(Connect4Config(), 8)
    play = Playthrough(game, [MatchPlan(i, i, HUMANS) for i in range(200)])
    play.begin()
    play.finish(20_000)
    results = {1: 0, 0: 0, -1: 0}
    for trace in play.traces.values():
        plain, won = Plain(), False
        for step in trace.steps:
            assert not won
            (mover,) = np.flatnonzero(step["acting"])
            for seat in (0, 1):
                assert step["obs"][seat].tolist() == plain.stones(seat) + plain.stones(1 - seat)
            assert step["mask"][mover].tolist() == [len(column) < 6 for column in plain.columns]
            won = plain.drop(int(step["actions"][mover, 0]), mover)
            full = all(len(column) == 6 for column in plain.columns)
            assert step["ended"] == (won or full)
            assert step["reward"][:, 0].tolist() == [won * (1 if seat == mover else -1) for seat in (0, 1)]
        assert trace.ending["final_obs"][0].tolist() == plain.stones(0) + plain.stones(1)
        expected = [0, 0]
        if won:
            expected[mover], expected[1 - mover] = 1, -1
        assert trace.ending["result"].tolist() == expected
        results[int(trace.ending["result"][0])] += 1
    assert sum(results.values()) == 200
    assert min(results[1], results[-1]) > 70


@settings(max_examples=200, deadline=None)
@given(st.integers(0, (1 << 49) - 1))
def test_lines_agree_with_a_search(bits):
    sentinel = sum(1 << (7 * c + 6) for c in range(7))
    bits &= ~sentinel
    at = {(c, r) for c in range(7) for r in range(6) if bits >> (7 * c + r) & 1}
    ways = ((1, 0), (0, 1), (1, 1), (1, -1))
    expected = any(all((c + k * a, r + k * b) in at for k in range(4)) for c, r in at for a, b in ways)
    assert bool(has_line(np.array([bits], np.uint64))[0]) == expected


def test_a_full_column_takes_no_stone():
    full = np.array([0b111111], np.uint64)
    cells = drops(full)[0].tolist()
    assert cells == [0] + [1 << (7 * c) for c in range(1, 7)]
    assert not winning_columns(full, full)[0, 0]


@pytest.mark.parametrize(("scenario", "starter"), [("seat0-starts", 0), ("seat1-starts", 1)])
def test_scenarios_say_who_starts(scenario, starter):
    _, out = build(4, scenario=scenario)
    assert (out.acting == (np.arange(2) == starter)).all()


def test_the_seed_says_who_starts_by_default():
    _, out = build(400)
    assert 150 < out.acting[:, 0].sum() < 250


def test_a_full_column_is_refused_by_name():
    game, out = build()
    for _ in range(6):
        drop(game, out, 2)
    with pytest.raises(ActionError, match="head 'column' may not pick '3' now — legal are: 1, 2, 4, 5, 6, 7"):
        drop(game, out, 2)
    assert game.view(0)["step"] == 6


def moves(game, out, columns):
    for column in columns:
        drop(game, out, column)


def test_the_tactician_wins_when_it_can_and_blocks_when_it_must():
    wins, blocks = 0, 0
    for seed in range(20):
        game = GAME.build(Connect4Config(), 1)
        out = StepBuffers.allocate(game.spec, 1)
        game.queue([MatchPlan(0, seed, HUMANS, "seat0-starts")])
        game.start(out)
        moves(game, out, [0, 6, 0, 6, 0])  # seat 0 has three on column 1, seat 1 two on column 7: seat 1 must block
        game.bot[0, 1] = game.spec.bots.index("tactician")
        blocks += game.bot_picks("tactician", np.array([0]), np.array([1]))[0, 0] == 0
        moves(game, out, [])
        game.bot[0, 1] = -1
        moves(game, out, [6])  # seat 1 did not block: seat 0 wins although it could also block
        wins += game.bot_picks("tactician", np.array([0]), np.array([0]))[0, 0] == 0
    assert (wins, blocks) == (20, 20)


def test_the_tactician_beats_the_random_bot():
    game = GAME.build(Connect4Config(), 64)
    plans = [MatchPlan(i, i, (Bot("tactician"), Bot("random"))) for i in range(400)]
    play = Playthrough(game, plans)
    play.begin()
    play.finish(2_000)
    results = np.array([t.ending["result"][0] for t in play.traces.values()])
    assert (results == 1).mean() == pytest.approx(0.96, abs=0.03)


def test_the_view_shows_the_board():
    game, out = build(scenario="seat0-starts")
    moves(game, out, [3, 3, 0])
    assert game.view(0)["board"][4:] == [". . . O . . .", "X . . X . . .", "1 2 3 4 5 6 7"]
    assert game.view(0)["turn"] == [1]


def test_an_opening_lies_on_the_board_without_a_line():
    game, out = build(matches=600, scenario="opening")
    stones = np.bitwise_count(game.stones).astype(int)
    assert (stones.sum(1) <= 12).all()
    assert len(set(stones.sum(1).tolist())) == 13, "every number of stones from 0 to 12"
    assert 5.0 < stones.sum(1).mean() < 6.5, "six on average, less those that a line cut short"
    assert not has_line(game.stones).any()
    assert (game.stones[:, 0] & game.stones[:, 1] == 0).all()
    mover = out.acting.argmax(1)
    assert (
        stones[np.arange(600), game.starter] - stones[np.arange(600), 1 - game.starter] == (mover != game.starter)
    ).all()
