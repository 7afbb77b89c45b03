"""R8: a simulator that breaks the contract is found out within one step; the match is void, the run goes on."""

import logging

import numpy as np
import pytest

from pvp_ml.chance import scramble
from pvp_ml.match import RESTING, Fault, Live, StepBuffers
from pvp_ml.model.actor import Actor
from pvp_ml.model.network_config import NetworkConfig
from pvp_ml.rl.kernels.gae import CLOSED
from pvp_ml.rl.policy.policy import Policy
from pvp_ml.rl.rewards import RewardConfig, RewardMixer
from pvp_ml.rl.rollout import ReturnTerms
from pvp_ml.selfplay.collect.collector import Collector
from pvp_ml.selfplay.collect.inspection import ContractError
from pvp_ml.selfplay.collect.seat_actors import SeatActors
from pvp_ml.selfplay.plans import LineupMix, PlanSource
from pvp_ml.spec import Block, Feature, GameSpec, Head, RewardTerm, Signal

ROW, WHEN, LENGTH, CAP = 1, 3, 9, 20
NAN, INF = np.nan, np.inf


class Countdown:
    """Two seats, LENGTH steps a match, everything legal; `lie` may change what it wrote in its step WHEN."""

    spec = GameSpec(
        "countdown", 1, ((0,), (1,)), (Block("b", 1, (Feature("x"), Feature("kind", "id", 5), Feature("y"))),),
        (Head("h", ("a", "b")), Head("k", ("c", "d"), (), "c")), (RewardTerm("win"),), max_steps=CAP,
        privileged=(Block("p", 1, (Feature("z"),)),), signals=(Signal("s"),),
    )  # fmt: skip

    def __init__(self, matches, lie=None, truncates=False):
        self.matches, self.lie, self.truncates = matches, lie, truncates
        self.plans, self.serial = [], np.full(matches, RESTING, np.int64)
        self.age, self.steps = np.zeros(matches, np.int64), 0

    def queue(self, plans):
        self.plans += plans

    def begin(self, row):
        plan = self.plans.pop(0) if self.plans else None
        self.serial[row], self.age[row] = (plan.serial if plan else RESTING), 0

    def start(self, out):
        for row in range(self.matches):
            self.begin(row)
        self.write(out)

    def write(self, out):
        out.serial[:], out.obs[:], out.privileged[:] = self.serial, 1.0, 2.0
        out.mask[:], out.acting[:] = True, (self.serial != RESTING)[:, None]

    def step(self, actions, out):
        self.steps += 1
        self.age += 1
        out.reward[:], out.signals[:], out.faults[:] = 0.5, 1.0, 0
        over = self.age == LENGTH
        out.ended[:], out.truncated[:] = over & (not self.truncates), over & self.truncates
        out.result[:] = (1, -1)
        out.final_obs[:], out.final_privileged[:] = 1.0, 2.0
        for row in np.flatnonzero(over):
            self.begin(row)
        self.write(out)
        if self.lie and self.steps == WHEN:
            self.lie(self, out)

    def close(self):
        pass


def collector(lie=None, matches=4, truncates=False, steps=6):
    game = Countdown(matches, lie, truncates)
    policy = Policy(NetworkConfig(trunk=(4,)), game.spec.interface)
    actor = policy.actor()
    assert isinstance(actor, Actor)
    seat_actors = SeatActors(game.spec, {"main": actor}, None)
    plans = PlanSource(7, 0, 1, game.spec.teams, LineupMix(((1.0, (Live(), Live())),)))
    return Collector(game, steps, seat_actors, RewardMixer(game.spec, RewardConfig()), plans)


def put(name, *index, value):
    """A lie: write `value` at this index of row ROW."""

    def lie(game, out: StepBuffers):
        array = getattr(out, name)
        array[(ROW, *index)] = value

    lie.__name__ = f"{name}={value}"
    return lie


def stays(game, out):
    """The match ended, but its row goes on with the same serial."""
    out.ended[ROW] = True


def replaced(game, out):
    out.serial[ROW] = 3_000


def repeated(game, out):
    """Ended, and the next match is one that another row is playing — or nobody planned."""
    out.ended[ROW], out.serial[ROW] = True, 999_999


def never_ends(game, out):
    game.age[ROW] = -(10**6)


VOIDED = {
    "obs nan": (put("obs", 0, 0, value=NAN), "observation"), "obs inf": (put("obs", 1, 2, value=INF), "observation"),
    "obs -inf": (put("obs", 0, 2, value=-INF), "observation"), "obs all nan": (put("obs", value=NAN), "observation"),
    "id too large": (put("obs", 0, 1, value=5), "vocabulary"),
    "id negative": (put("obs", 1, 1, value=-1), "vocabulary"),
    "id fraction": (put("obs", 0, 1, value=1.5), "vocabulary"), "id nan": (put("obs", 0, 1, value=NAN), "observation"),
    "privileged nan": (put("privileged", 0, 0, value=NAN), "privileged"),
    "privileged inf": (put("privileged", 1, 0, value=INF), "privileged"),
    "reward nan": (put("reward", 0, 0, value=NAN), "reward"), "reward inf": (put("reward", 1, 0, value=INF), "reward"),
    "signal nan": (put("signals", 0, 0, value=NAN), "signal"),
    "signal inf": (put("signals", 1, 0, value=-INF), "signal"),
    "empty head": (put("mask", 0, slice(0, 2), value=False), "no legal choice"),
    "empty everything": (put("mask", value=False), "no legal choice"),
    "never ends": (never_ends, "step cap"),
}  # fmt: skip


@pytest.mark.parametrize("name", VOIDED)
def test_a_match_that_lies_is_void_and_the_others_go_on(name, caplog):
    lie, words = VOIDED[name]
    collected = collector(lie)
    outcomes, rows = [], 0
    with caplog.at_level(logging.WARNING):
        for number in range(6):
            outcomes += collected.collect().outcomes
            if number == 0 and name != "never ends":
                assert collected.inspector.violations == 1  # found within the step, not at the end
            collected.rollout.advantages(ReturnTerms.of(1.0, 1.0))
            state, owner = collected.rollout._state, collected.rollout.owner[:-1]
            rows += int((state == CLOSED).sum())
            assert np.isfinite(collected.rollout._advantage[state == CLOSED]).all()
            assert np.isfinite(collected.rollout.obs).all() and np.isfinite(collected.rollout.reward).all()
            assert owner.max() <= 0
            collected.rollout.carry()
    assert collected.inspector.violations == 1
    message = caplog.records[0].getMessage()
    assert words in message and "match 1 (seed " in message and str(scramble(collected.plans.seed, 1)) in message
    faults = {o.plan.serial: o.fault for o in outcomes}
    if name == "never ends":
        assert set(faults.values()) == {Fault.NONE} and 1 not in faults
    else:
        assert faults[1] == Fault.BAD_DATA and sum(fault != 0 for fault in faults.values()) == 1
    assert rows > 3 * 2 * 25


ENDING = {
    "result 7": (put("result", value=7), "result"), "result -2": (put("result", 0, value=-2), "result"),
    "both ends": (put("truncated", value=True), "both ended and truncated"),
    "fault 99": (put("faults", value=99), "fault code"), "fault -1": (put("faults", value=-1), "fault code"),
    "final nan": (put("final_obs", 0, 0, value=NAN), "final"),
    "final inf": (put("final_privileged", 0, 0, value=INF), "final"),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDING)
def test_lies_about_the_end_of_a_match_void_it(name, caplog):
    lie, words = ENDING[name]

    def at_the_end(game, out):
        if game.steps == LENGTH:
            lie(game, out)

    collected = collector(truncates=name.startswith("final"), steps=LENGTH + 2)
    step = collected.game.step
    collected.game.step = lambda actions, out: (step(actions, out), at_the_end(collected.game, out))[0]
    with caplog.at_level(logging.WARNING):
        outcomes = collected.collect().outcomes
    assert words in caplog.text and collected.inspector.violations == 1
    assert {o.plan.serial: o.fault != 0 for o in outcomes} == {0: False, 1: True, 2: False, 3: False}
    assert np.isfinite(collected.rollout.final_value).all()


@pytest.mark.parametrize(("lie", "words"), [
    (stays, "stopped, but continues"), (replaced, "replaced by match 3000"), (repeated, "999999"),
])  # fmt: skip
def test_a_match_that_cannot_be_followed_stops_the_run_by_name(lie, words):
    with pytest.raises(ContractError, match=words):
        collector(lie).collect()


def test_a_first_observation_that_lies_voids_the_match_that_begins():
    def lie(game, out):
        if game.steps == LENGTH:
            out.obs[ROW, 0, 0] = NAN

    collected = collector(steps=2 * LENGTH + 2)
    step = collected.game.step
    collected.game.step = lambda actions, out: (step(actions, out), lie(collected.game, out))[0]
    outcomes = collected.collect().outcomes
    assert [o.plan.serial for o in outcomes if o.fault] == [5]  # 0…3 were dealt first, row 1 got the sixth plan


@pytest.mark.parametrize("error", [ValueError("shape (3,) into (2,)"), TypeError("float64"), KeyError("x")])
def test_a_game_that_fails_in_a_step_is_named(error):
    def fails(game, out):
        raise error

    with pytest.raises(ContractError, match="'countdown' failed in a step of matches 0…3"):
        collector(fails).collect()


def test_the_third_lie_within_a_thousand_matches_stops_the_run():
    def lie(game, out):
        out.obs[: game.steps, 0, 0] = NAN

    collected = collector(matches=6)
    step = collected.game.step
    collected.game.step = lambda actions, out: (step(actions, out), lie(collected.game, out))[0]
    with pytest.raises(ContractError, match="3 such matches within 1000"):
        collected.collect()
    assert collected.inspector.violations == 3
