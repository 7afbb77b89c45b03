"""The check must find each breach: for every promise there is a game here that breaks it."""

import json
from dataclasses import replace

import numpy as np
import pytest

from pvp_ml.errors import UserError
from pvp_ml.games.conformance.check import check_game
from pvp_ml.games.conformance.promises import PROMISES
from pvp_ml.games.legal import check_actions
from pvp_ml.games.registry import elsewhere, find
from pvp_ml.games.toys.connect4 import GAME as CONNECT4
from pvp_ml.games.toys.connect4 import Connect4Game
from pvp_ml.games.toys.kuhn import GAME as KUHN
from pvp_ml.games.toys.kuhn import KuhnGame
from pvp_ml.games.toys.matrix import PENNIES, ROCK_PAPER_SCISSORS, MatrixGame
from pvp_ml.games.toys.probes import GAME as PROBE
from pvp_ml.games.toys.probes import ProbeConfig
from pvp_ml.match import Fault, StepBuffers
from pvp_ml.spec import Block, Feature


def test_every_promise_has_a_text():
    for promise in PROMISES:
        assert promise.__doc__.endswith("."), promise.__name__
        assert "\n" not in promise.__doc__


@pytest.mark.parametrize("name", ["matching_pennies", "rock_paper_scissors", "biased_rps", "kuhn", "connect4"])
def test_the_toys_keep_every_promise(name):
    report = check_game(find(name))
    assert report.passed, report.text()
    assert {c.name: c.outcome for c in report.checks}["same plan same match"] == "kept"
    assert json.loads(json.dumps(report.to_json()))["passed"] is True


def mutant(game_type, change):
    """The game type with a game class changed by `change(cls)`."""
    original = {CONNECT4.name: Connect4Game, KUHN.name: KuhnGame}.get(game_type.name, MatrixGame)
    changed = change(original)

    def build(config, matches):
        spec = game_type.spec(config)
        return changed(spec, config, matches) if original is MatrixGame else changed(spec, matches)

    return replace(game_type, build=build)


def after_step(effect):
    """A mutation that does something after each step, to game and buffers."""

    def change(original):
        class Mutant(original):
            def step(self, actions, out):
                super().step(actions, out)
                effect(self, actions, out)

        return Mutant

    return change


def method(name, function):
    def change(original):
        return type("Mutant", (original,), {name: function})

    return change


def shared_dice(self, rows, channel):
    """Numbers from a generator that all rows share."""
    self.dice = getattr(self, "dice", None) or np.random.default_rng(0)
    return self.dice.random((len(self.seed[rows]), *np.shape(channel)))


def write_finals_always(game, actions, out):
    out.final_obs[...] = 0


def double_ending(game, actions, out):
    out.truncated |= out.ended


def both_win(game, actions, out):
    out.result[out.ended] = 1


def forget_time(game, actions, out):
    game.clock[:] = np.minimum(game.clock, 5)


def ignore_wrong(original):
    class Mutant(original):
        def step(self, actions, out):
            if isinstance(actions, np.ndarray) and actions.shape == (self.matches, 2, 1):
                actions = np.clip(actions, -1, self.spec.heads[0].size - 1).astype(np.int32)
            super().step(actions, out)

    return Mutant


def count_refusals(original):
    """Refuses wrong actions, but not before it swapped the cards."""

    class Mutant(original):
        def step(self, actions, out):
            try:
                check_actions(self.spec, actions, self.turn & (self.bot < 0))
            except Exception:
                self.card[:] = self.card[:, ::-1].copy()
                raise
            super().step(actions, out)

    return Mutant


def lifo(original):
    class Mutant(original):
        def queue(self, plans):
            super().queue(list(reversed(plans)))

    return Mutant


def acting_bots(game, actions, out):
    out.acting |= game.turn
    out.mask |= game.mask


def poke_neighbour(game, actions, out):
    base = out.reward.base
    if base is not None and len(base) == len(out.reward) + 2:
        base[-1] = 0


BREACHES = [
    ("spec survives json", CONNECT4, method("matches", property(lambda self: 3, lambda self, value: None))),
    ("buffers are written inside", CONNECT4, after_step(poke_neighbour)),
    ("buffers are written inside", CONNECT4, after_step(write_finals_always)),
    ("buffers are written inside", CONNECT4, after_step(lambda g, a, out: out.match.fill(0))),
    ("values are in range", CONNECT4, after_step(lambda g, a, out: out.obs.__setitem__((0, 0, 0), np.inf))),
    ("values are in range", CONNECT4, after_step(lambda g, a, out: out.obs.__setitem__((0, 0, 0), 0.5))),
    ("values are in range", KUHN, after_step(lambda g, a, out: out.signals.__setitem__((0, 0, 0), np.nan))),
    ("values are in range", KUHN, after_step(lambda g, a, out: out.faults.__setitem__(out.ended, Fault.CRASHED))),
    ("acting seats can choose", CONNECT4, after_step(lambda g, a, out: out.mask.fill(False))),
    ("queue is served in order", CONNECT4, lifo),
    ("rows without plan rest", KUHN, after_step(lambda g, a, out: out.obs.__setitem__((..., 0), 1))),
    ("rows without plan rest", KUHN, after_step(lambda g, a, out: out.acting.fill(True))),
    ("same plan same match", KUHN, method("chance", shared_dice)),
    ("waiting seats are ignored", PENNIES, method("_gather", lambda self, a, acting, p: (a.clip(0, 1), p))),
    ("cap truncates", CONNECT4, after_step(forget_time)),
    ("idle seats are accepted", CONNECT4, after_step(forget_time)),
    ("cap truncates", CONNECT4, after_step(double_ending)),
    ("results agree with teams", CONNECT4, after_step(both_win)),
    ("results agree with teams", CONNECT4, after_step(lambda g, a, out: out.result.__setitem__(out.ended, 3))),
    ("wrong actions are refused", CONNECT4, ignore_wrong),
    ("wrong actions are refused", KUHN, count_refusals),
    ("unknown plans are refused", KUHN, method("queue", lambda self, plans: None)),
    ("bots play", CONNECT4, after_step(acting_bots)),
    ("snapshot continues", CONNECT4, method("restore", lambda self, data: None)),
    ("view is json", CONNECT4, method("describe", lambda self, row: {"board": self.stones[row]})),
]


@pytest.mark.parametrize(("promise", "game_type", "change"), BREACHES, ids=lambda p: p if isinstance(p, str) else "")
def test_each_breach_is_found(promise, game_type, change):
    report = check_game(mutant(game_type, change), most_steps=200, only=[promise])
    assert [check.name for check in report.broken] == [promise]


def test_a_favoured_seat_breaks_declared_symmetry():
    def favour(game, actions, out):
        out.result[out.ended] = (1, -1)

    report = check_game(mutant(CONNECT4, after_step(favour)), most_steps=5000)
    assert [c.name for c in report.broken] == ["seats are symmetric"], report.text()


def test_seat_dependent_view_breaks_declared_symmetry():
    report = check_game(replace(ROCK_PAPER_SCISSORS, symmetric=True))
    assert [c.name for c in report.broken] == ["seats are symmetric"], report.text()
    assert "first observation" in report.broken[0].detail


def test_declared_exemptions_are_reported_as_excused():
    report = check_game(replace(mutant(KUHN, method("chance", shared_dice)), reproducible=False, symmetric=False))
    excused = {c.name for c in report.checks if c.outcome == "excused"}
    assert excused == {
        "same plan same match",
        "waiting seats are ignored",
        "snapshot continues",
        "seats are symmetric",
    }
    assert report.passed, report.text()


def test_an_unknown_promise_is_refused():
    with pytest.raises(UserError, match="no promise 'bots sing'"):
        check_game(KUHN, only=["bots sing"])


def test_an_id_outside_its_vocabulary_is_found():
    def spec(config):
        blocks = (Block("cue", 1, (Feature("cue", "id", vocab=2),)),)
        return replace(PROBE.spec(config), blocks=blocks)

    def build(config, matches):
        game = PROBE.build(config, matches)
        game.spec = spec(config)
        return game

    config = ProbeConfig(kind="observed_action")
    report = check_game(replace(PROBE, spec=spec, build=build), config)
    assert "id 'cue' is [-1.0]" in {c.name: c.detail for c in report.broken}["values are in range"]


class Detached:
    """An AsyncVecGame for the test: each row is a toy of its own, answers come back in shuffled portions."""

    runs_elsewhere = True

    def __init__(self, game_type, config, matches, lose=-1):
        self.spec, self.matches = game_type.spec(config), matches
        self._rows = [game_type.build(config, 1) for _ in range(matches)]
        self._outs = [StepBuffers.allocate(self.spec, 1) for _ in range(matches)]
        self._plans, self._answers, self._lose, self._count = [], [], lose, 0
        self._rng = np.random.default_rng(0)
        self._probe = game_type.build(config, 1)
        self._begun = False

    def queue(self, plans):
        self._probe.queue(plans)
        self._plans += plans
        if self._begun:
            self._wake()

    def start(self):
        self._begun = True
        self._wake()

    def _wake(self):
        for row, out in enumerate(self._outs):
            if out.serial[0] == -1 and self._plans and row not in self._answers:
                self._rows[row].queue([self._plans.pop(0)])
                self._rows[row].start(out)
                self._answers.append(row)

    def send(self, match, actions):
        check_actions(self.spec, actions, np.concatenate([self._outs[row].acting for row in match]))
        for row, action in zip(match, actions, strict=True):
            game, out = self._rows[row], self._outs[row]
            game.step(action[None], out)
            if (out.ended[0] or out.truncated[0]) and self._plans:
                game.queue([self._plans.pop(0)])
                fresh = StepBuffers.allocate(self.spec, 1)
                game.start(fresh)
                for name in ("serial", "obs", "privileged", "mask", "acting"):
                    getattr(out, name)[...] = getattr(fresh, name)
            self._count += 1
            if self._count != self._lose:
                self._answers.append(row)

    def recv(self, at_least, timeout_s, out):
        self._rng.shuffle(self._answers)
        count = min(len(self._answers), at_least + 1)
        for i, row in enumerate(self._answers[:count]):
            for name in StepBuffers.__dataclass_fields__:
                getattr(out, name)[i] = getattr(self._outs[row], name)[0]
            out.match[i] = row
        del self._answers[:count]
        return count

    def view(self, match):
        return self._rows[match].view(0)

    def close(self):
        pass


@pytest.mark.parametrize("game_type", [KUHN, PENNIES, CONNECT4], ids=lambda t: t.name)
def test_an_asynchronous_game_keeps_every_promise(game_type):
    asynchronous = replace(game_type, build=lambda c, m: Detached(game_type, c, m), runs_elsewhere=elsewhere)
    report = check_game(asynchronous)
    assert report.passed, report.text()
    assert {c.name: c.outcome for c in report.checks}["snapshot continues"] == "excused"


def test_an_asynchronous_game_that_loses_an_answer_is_reported():
    asynchronous = replace(KUHN, build=lambda c, m: Detached(KUHN, c, m, lose=5), runs_elsewhere=elsewhere)
    report = check_game(asynchronous)
    assert any("no answer in" in check.detail for check in report.broken)


@pytest.mark.parametrize(
    ("game_type", "words"),
    [
        (replace(KUHN, runs_elsewhere=elsewhere), "a VecGame where runs_elsewhere promises an AsyncVecGame"),
        (replace(KUHN, build=lambda c, m: Detached(KUHN, c, m)), "an AsyncVecGame where runs_elsewhere promises a Vec"),
    ],
    ids=["said elsewhere", "said here"],
)
def test_a_game_that_does_not_run_where_it_says_is_reported(game_type, words):
    report = check_game(game_type)
    assert report.broken and all(words in check.detail for check in report.broken[:1]), report.text()
