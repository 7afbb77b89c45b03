"""Evaluation: right counts, fair seatings, the same answer in any batch."""

import json
from pathlib import Path

import numpy as np
import pytest

from pvp_ml.errors import UserError
from pvp_ml.games.registry import find
from pvp_ml.match import LOSS, RESTING, TIE, WIN, Bot, External, Fault, StepBuffers
from pvp_ml.model.actor import empty_normalizer
from pvp_ml.model.bundle import make_bundle, write_bundle
from pvp_ml.model.network_config import NetworkConfig, tensor_shapes
from pvp_ml.selfplay.evaluate import Contestant, evaluate, find_contestant, make_plans
from pvp_ml.selfplay.tally import Tally, wilson
from pvp_ml.spec import Block, Feature, GameSpec, Head, RewardTerm, Scenario, Signal


def connect4(matches):
    game = find("connect4")
    return game.build(game.config(), matches)


def contestant(name, spec):
    return find_contestant(name, spec, Path("."))


def play(first, second, matches=200, rows=32, seed=1, **more):
    game = connect4(rows)
    return evaluate(game, contestant(first, game.spec), contestant(second, game.spec), matches, seed, **more)


@pytest.mark.parametrize(
    ("points", "trials", "low", "high"),
    [
        (8, 10, 0.4902, 0.9433),
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (0, 0, 0.0, 1.0),
        (200, 400, 0.4512, 0.5488),
    ],
)
def test_wilson_interval(points, trials, low, high):
    assert wilson(points, trials) == pytest.approx((low, high), abs=1e-4)


def test_a_tactician_beats_random_and_random_loses_by_the_same():
    forward, backward = play("bot:tactician", "random"), play("random", "bot:tactician")
    assert forward.total.matches == 200
    assert forward.total.score > 0.9
    assert forward.total.interval[0] < forward.total.score < forward.total.interval[1]
    assert (backward.total.wins, backward.total.losses) == (forward.total.losses, forward.total.wins)


def test_equals_split_the_points_exactly():
    even = play("player:random", "player:random")
    assert even.total.wins == even.total.losses
    assert [t.matches for t in even.by_team] == [100, 100]


def test_the_batch_changes_nothing():
    results = [play("player:random", "player:random", rows=rows).to_json() for rows in (1, 7, 64)]
    assert results[0] == results[1] == results[2]


def test_the_seed_changes_the_matches():
    assert play("bot:tactician", "random", seed=1).to_json() != play("bot:tactician", "random", seed=2).to_json()


def test_plans_are_paired_and_swapped():
    spec = connect4(1).spec
    sides = (Contestant("a", make=lambda s: None), Contestant("b", bot="random"))
    plans = make_plans(spec, sides, 5, 3, ("default", "seat0-starts"))
    assert [p.serial for p in plans] == list(range(6))  # rounded up to whole rounds
    for one, other in zip(plans[::2], plans[1::2], strict=True):
        assert (one.seed, one.scenario) == (other.seed, other.scenario)
        assert one.lineup == (External("0"), Bot("random"))
        assert other.lineup == (Bot("random"), External("0"))
    assert [p.scenario for p in plans[::2]] == ["default", "seat0-starts", "default"]
    assert len({p.seed for p in plans}) == 3


def test_scenarios_are_broken_down():
    report = play("player:random", "player:random", matches=80, scenarios=["all"])
    assert [(t.label, t.matches) for t in report.by_scenario] == [
        ("default", 20),
        ("seat0-starts", 20),
        ("seat1-starts", 20),
        ("opening", 20),
    ]
    default = play("player:random", "player:random", matches=10)
    assert [(t.label, t.matches) for t in default.by_scenario] == [("default", 10)]
    only = play("player:random", "player:random", matches=10, scenarios=["seat1-starts"])
    assert [(t.label, t.matches) for t in only.by_scenario] == [("seat1-starts", 10)]
    with pytest.raises(UserError, match="no scenario 'moon'"):
        play("player:random", "player:random", scenarios=["moon"])


def test_the_report_is_json_and_a_table():
    report = play("bot:tactician", "player:random", matches=20)
    data = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert data["matches"] == 20 and data["game"] == "connect4" and data["second"] == "random"
    assert report.rows()[0][:2] == ("all", "20")
    shares = [second for _, second in report.choices["column"].values()]
    assert sum(shares) == pytest.approx(1.0)
    result = report.to_result("2026-11-15")
    assert (result.opponent, result.matches, result.score) == ("random", 20, report.total.score)


def test_progress_reaches_the_end():
    seen = []
    play("player:random", "player:random", matches=20, progress=lambda done, planned: seen.append((done, planned)))
    assert seen[-1] == (20, 20) and [d for d, _ in seen] == sorted(d for d, _ in seen)


# A game whose outcomes are written in its scenario: it ends after `length` steps with `first`, `second` as results.
SCRIPT = GameSpec(
    name="script",
    version=1,
    teams=((0,), (1,)),
    blocks=(Block("o", 1, (Feature("x"),)),),
    heads=(Head("h", ("a", "b")),),
    rewards=(RewardTerm("r"),),
    max_steps=9,
    signals=tuple(Signal(fold, fold=fold) for fold in ("sum", "mean", "last", "max", "min")),
    scenarios=(
        Scenario("won", (("seat0", WIN), ("seat1", LOSS), ("length", 3))),
        Scenario("both-win", (("seat0", WIN), ("seat1", WIN), ("length", 2))),
        Scenario("both-lose", (("seat0", LOSS), ("seat1", LOSS), ("length", 2))),
        Scenario("cut", (("seat0", TIE), ("seat1", TIE), ("length", 9))),
        Scenario("broken", (("seat0", WIN), ("seat1", LOSS), ("length", 1))),
    ),
)


class ScriptGame:
    """Seat 0's signal at step t is −t, seat 1's is 10 t; seat 1 rests at odd steps."""

    runs_elsewhere = False

    def __init__(self, matches):
        self.spec, self.matches = SCRIPT, matches
        self.plans, self.rows = [], [None] * matches
        self.seen = []

    def queue(self, plans):
        self.plans += plans

    def start(self, out):
        for row in range(self.matches):
            self._deal(row, out)

    def _deal(self, row, out):
        plan = self.plans.pop(0) if self.plans else None
        self.rows[row] = (plan, 0) if plan else None
        out.serial[row] = plan.serial if plan else RESTING
        out.acting[row] = plan is not None
        out.mask[row] = True

    def step(self, actions, out):
        out.ended[:] = out.truncated[:] = out.faults[:] = 0
        for row, state in enumerate(self.rows):
            if state is None:
                continue
            plan, t = state[0], state[1] + 1
            self.seen.append((plan.serial, t, actions[row].tolist()))
            out.signals[row] = np.array([[-t] * 5, [10 * t] * 5])
            facts = dict(SCRIPT.scenario(plan.scenario).parameters)
            out.acting[row] = (True, t % 2 == 0)
            self.rows[row] = (plan, t)
            if t == facts["length"]:
                out.result[row] = facts["seat0"], facts["seat1"]
                out.ended[row] = plan.scenario != "cut"
                out.truncated[row] = plan.scenario == "cut"
                out.faults[row] = Fault.CRASHED if plan.scenario == "broken" else 0
                self._deal(row, out)


class SlowScriptGame:
    """The same as an AsyncVecGame that answers a few rows at a time, in another order."""

    runs_elsewhere = True

    def __init__(self, matches):
        self.game, self.spec, self.matches = ScriptGame(matches), SCRIPT, matches
        self.whole = StepBuffers.allocate(SCRIPT, matches)
        self.ready = []

    def queue(self, plans):
        self.game.queue(plans)

    def start(self):
        self.game.start(self.whole)
        self.ready = list(range(self.matches))

    def send(self, match, actions):
        everything = self.game.rows
        for row, action in zip(match.tolist(), actions, strict=True):
            self.game.rows = [state if i == row else None for i, state in enumerate(everything)]
            full = np.zeros((self.matches, 2, 1), np.int32)
            full[row] = action
            self.game.step(full, self.whole)
            everything[row] = self.game.rows[row]
            self.ready.insert(0, row)
            self.kept = getattr(self, "kept", {})
            self.kept[row] = {n: getattr(self.whole, n)[row].copy() for n in ("ended", "truncated", "faults")}
        self.game.rows = everything

    def recv(self, at_least, timeout_s, out):
        rows, self.ready = self.ready[:2], self.ready[2:]
        for i, row in enumerate(rows):
            for name in ("serial", "obs", "mask", "acting", "signals", "result"):
                getattr(out, name)[i] = getattr(self.whole, name)[row]
            for name in ("ended", "truncated", "faults"):
                getattr(out, name)[i] = getattr(self, "kept", {}).get(row, {}).get(name, 0)
            out.match[i] = row
        return len(rows)


NOOP = Contestant("noop", make=lambda spec: __import__("pvp_ml.players").players.make("noop", spec))


@pytest.mark.parametrize("make_game", [ScriptGame, SlowScriptGame])
@pytest.mark.parametrize("rows", [1, 3, 64])
def test_outcomes_and_signals_are_counted_as_written(make_game, rows):
    report = evaluate(make_game(rows), NOOP, NOOP, matches=10, scenarios=["all"])
    by_name = {t.label: t for t in report.by_scenario}
    assert (by_name["won"].wins, by_name["won"].losses) == (1, 1)  # once from each seat
    assert by_name["both-win"].ties == by_name["both-lose"].ties == 2
    assert (by_name["cut"].ties, by_name["cut"].truncated) == (2, 2)
    assert (by_name["broken"].voids, by_name["broken"].matches) == (2, 0)
    assert (report.total.matches, report.total.voids, report.total.steps) == (8, 2, 2 * (3 + 2 + 2 + 9 + 1))
    assert report.total.score == 0.5
    # match lengths 3, 2, 2, 9 without the broken one; seat 0 and seat 1 average out over the swap
    lengths = np.array([3, 2, 2, 9])
    expected = {
        "sum": np.mean([sum(range(1, n + 1)) for n in lengths]) * 9 / 2,
        "mean": np.mean([(n + 1) / 2 for n in lengths]) * 9 / 2,
        "last": np.mean(lengths) * 9 / 2,
        "max": np.mean([(-1 + 10 * n) / 2 for n in lengths]),
        "min": np.mean([(-n + 10) / 2 for n in lengths]),
    }
    for signal, first, second in report.signals:
        assert first == second == pytest.approx(expected[signal.fold]), signal.name


def test_seats_that_do_not_act_get_no_input():
    game = ScriptGame(2)
    evaluate(game, NOOP, NOOP, matches=10, scenarios=["won"])
    for _, step, (seat0, seat1) in game.seen:
        assert seat0 == [0]
        assert seat1 == ([0] if step in (1, 3) else [-1])  # seat 1 acts first and after even steps


def test_players_hear_of_each_match_once():
    calls = []

    class Listener:
        def begin(self, serials):
            calls.extend(("begin", s) for s in serials.tolist())

        def end(self, serials):
            calls.extend(("end", s) for s in serials.tolist())

        def decide(self, serials, seats, obs, mask, keys):
            assert {("begin", s) for s in serials.tolist()} <= set(calls)
            assert not {("end", s) for s in serials.tolist()} & set(calls)
            return np.zeros((len(obs), 1), np.int32)

    evaluate(ScriptGame(4), Contestant("listener", make=lambda s: Listener()), NOOP, matches=10)
    assert sorted(calls) == sorted([("begin", i) for i in range(10)] + [("end", i) for i in range(10)])


def test_a_bundle_is_found_by_path_and_plays(tmp_path):
    game = connect4(32)
    network = NetworkConfig(trunk=(16,))
    rng = np.random.default_rng(1)
    tensors = {n: rng.normal(size=s).astype(np.float32) for n, s in tensor_shapes(network, game.spec.interface).items()}
    write_bundle(
        tmp_path / "mine.zip", make_bundle(game.spec, network, tensors, empty_normalizer(network, game.spec.interface))
    )
    mine = find_contestant(str(tmp_path / "mine.zip"), game.spec, tmp_path)
    assert mine.name == "mine"
    report = evaluate(game, mine, contestant("random", game.spec), 40)
    assert report.total.matches == 40
    greedy = find_contestant("mine", game.spec, tmp_path, greedy=True)
    first, again = (evaluate(connect4(8), greedy, greedy, 10, scenarios=["seat0-starts"]).to_json() for _ in range(2))
    assert first == again


def test_unknown_names_list_what_there_is(tmp_path):
    spec = connect4(1).spec
    with pytest.raises(UserError, match=r"neither a bot of 'connect4', nor .* bots: .*tactician.*players: .*random"):
        find_contestant("nobody", spec, tmp_path)
    assert find_contestant("bot:random", spec, tmp_path).bot == "random"
    assert find_contestant("player:random", spec, tmp_path).bot == ""
    with pytest.raises(UserError, match="at least 1"):
        evaluate(connect4(1), NOOP, NOOP, 0)


def test_an_empty_tally_is_undecided():
    assert Tally("x").score == 0.5 and Tally("x").interval == (0.0, 1.0)


def test_torch_is_not_needed():
    import subprocess
    import sys

    code = "import sys, pvp_ml.selfplay.evaluate; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_players_that_never_draw_are_not_counted_twice():
    """Two bots that put their stone into the first free column: every match of a seating and opening is the same."""
    game = connect4(16)
    sides = [Contestant(name, make=lambda s: Edge(), draws=False) for name in ("a", "b")]
    report = evaluate(game, *sides, 40, scenarios=("seat0-starts",))
    total = report.total
    assert (total.matches, total.distinct) == (40, 2)
    assert total.interval == wilson(1.0, 2)
    assert report.to_json()["distinct"] == 2
    drawing = [Contestant(side.name, make=side.make) for side in sides]
    again = evaluate(connect4(16), *drawing, 40, scenarios=("seat0-starts",)).total
    assert again.distinct == 2 and again.interval == wilson(20.0, 40), "equal matches of players that draw are luck"


class Edge:
    """Always the leftmost legal choice."""

    def begin(self, serials):
        pass

    def end(self, serials):
        pass

    def decide(self, serials, seats, obs, mask, keys):
        return mask.argmax(1).astype(np.int32)[:, None]
