"""The known answers are right: playing them wins every match and earns the stated value."""

from typing import get_args

import numpy as np
import pytest

from pvp_ml.games.conformance.check import check_game
from pvp_ml.games.conformance.playthrough import Playthrough
from pvp_ml.games.toys.probes import GAME, Kind, ProbeConfig, cases
from pvp_ml.match import External, MatchPlan, StepBuffers

GAMMA = 0.8
KINDS = get_args(Kind)


def answers(config):
    return {(c.obs, c.privileged, c.mask): c for c in cases(config, GAMMA)}


def play_right(config, matches=32, plans=96):
    """Plays the known best picks; gives traces and, per own decision, (case, discounted return)."""
    game = GAME.build(config, matches)
    lineup = tuple(External(str(s)) for s in range(game.spec.seats))
    play = Playthrough(game, [MatchPlan(i, i * 31 + 5, lineup) for i in range(plans)])
    play.begin()
    known = {c.obs: c for c in cases(config, GAMMA)}
    while (play.out.serial >= 0).any() and play.step_count < 2000:
        actions = play.actions()
        for row, seat in np.argwhere(play.out.acting):
            case = known[tuple(play.out.obs[row, seat].tolist())]
            if case.best is not None:
                actions[row, seat] = case.best
        play.step(actions)
    return play.traces


def returns(trace, seat):
    """(step, return) of each own decision: rewards until the next one belong to it, γ counts own decisions."""
    found, total = [], 0.0
    for at in reversed(range(len(trace.steps))):
        total += float(trace.steps[at]["reward"][seat, 0])
        if trace.steps[at]["acting"][seat]:
            found.append((at, total))
            total *= GAMMA
    return found[::-1]


@pytest.mark.parametrize("kind", [k for k in KINDS if k not in ("truncation", "memory")])
def test_the_known_picks_win_every_match_and_earn_the_known_value(kind):
    config = ProbeConfig(kind=kind)
    known = answers(config)
    seen = set()
    for trace in play_right(config).values():
        assert set(trace.ending["result"].tolist()) == ({0} if kind == "two_seats" else {1})
        for seat in range(trace.steps[0]["acting"].shape[0]):
            for at, earned in returns(trace, seat):
                step = trace.steps[at]
                key = tuple(tuple(step[name][seat].tolist()) for name in ("obs", "privileged", "mask"))
                if kind == "masked_identity":
                    continue
                case = known[key]
                seen.add(key)
                if case.value is not None:
                    assert earned == pytest.approx(case.value, abs=1e-6)
    assert kind == "masked_identity" or seen == set(known)


@pytest.mark.parametrize("kind", [k for k in KINDS if k not in ("truncation", "memory", "constant_value",
                                                                "observed_value", "discounted_value",
                                                                "privileged_value")])  # fmt: skip
def test_random_picks_do_not_win_every_match(kind):
    config = ProbeConfig(kind=kind)
    game = GAME.build(config, 16)
    lineup = tuple(External(str(s)) for s in range(game.spec.seats))
    play = Playthrough(game, [MatchPlan(i, i, lineup) for i in range(64)])
    play.begin()
    play.finish(1000)
    assert {-1} <= {int(t.ending["result"][0]) for t in play.traces.values()}


def test_truncation_pays_every_step_and_never_ends_by_itself():
    traces = play_right(ProbeConfig(kind="truncation"))
    for trace in traces.values():
        assert [float(s["reward"][0, 0]) for s in trace.steps] == [1.0] * 8
        assert trace.steps[-1]["truncated"]
        assert not trace.steps[-1]["ended"]
    (case,) = cases(ProbeConfig(kind="truncation"), 0.9)
    assert case.value == pytest.approx(10.0)


def test_memory_shows_the_cue_only_at_the_beginning():
    game = GAME.build(ProbeConfig(kind="memory", gap=3), 1)
    for seed in range(20):
        out = StepBuffers.allocate(game.spec, 1)
        game.queue([MatchPlan(seed, seed, (External("a"),))])
        game.start(out)
        cue = out.obs[0, 0, 0]
        assert abs(cue) == 1
        for gap in range(3):
            game.step(np.zeros((1, 1, 1), np.int32), out)
            assert out.obs[0, 0].tolist() == [0.0, float(gap == 2)]
        game.step(np.full((1, 1, 1), int(cue == 1), np.int32), out)
        assert (out.ended[0], out.reward[0, 0, 0], out.result[0, 0]) == (True, 1.0, 1)


@pytest.mark.parametrize(("masked", "legal"), [(True, 15), (False, 70)])
def test_masked_identity_leaves_fifteen_of_seventy(masked, legal):
    game = GAME.build(ProbeConfig(kind="masked_identity", masked=masked), 64)
    out = StepBuffers.allocate(game.spec, 64)
    game.queue([MatchPlan(i, i, (External("a"),)) for i in range(64)])
    game.start(out)
    masks = set()
    for _ in range(20):
        wanted = out.obs[:, 0].argmax(1)
        assert (out.mask[:, 0].sum(1) == legal).all()
        assert out.mask[np.arange(64), 0, wanted].all()
        masks |= {row.tobytes() for row in out.mask[:, 0]}
        game.step(wanted.astype(np.int32)[:, None, None], out)
        assert (out.reward[:, 0, 0] == 1).all()
    assert len(masks) == (64 * 20 if masked else 1)


@pytest.mark.parametrize("kind", KINDS)
def test_every_probe_keeps_every_promise(kind):
    report = check_game(GAME, ProbeConfig(kind=kind), matches=2)
    assert report.passed, report.text()
