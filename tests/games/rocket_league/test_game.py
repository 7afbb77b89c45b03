from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from pvp_ml.errors import UserError
from pvp_ml.games.conformance.check import check_game
from pvp_ml.games.registry import find
from pvp_ml.games.rocket_league import GAME
from pvp_ml.games.rocket_league.config import RocketLeagueConfig
from pvp_ml.games.rocket_league.describe import describe
from pvp_ml.match import RESTING, Bot, Live, MatchPlan, StepBuffers

SHORT = {"meshes": "generated", "timeout_s": 1.2, "no_touch_s": 1.0, "setters": {"random": 1.0, "kickoff": 1.0}}
PLAIN = [
    "spec survives json",
    "buffers are written inside",
    "values are in range",
    "acting seats can choose",
    "view is json",
    "queue is served in order",
    "rows without plan rest",
    "same plan same match",
    "idle seats are accepted",
    "cap truncates",
    "results agree with teams",
    "wrong actions are refused",
    "masked choices do no harm",
    "unknown plans are refused",
    "snapshot continues",
]


def test_it_is_registered():
    assert find("rocket_league") is GAME and GAME.tooling.setup is not None


@pytest.mark.parametrize(
    "settings",
    [
        {"mode": "1v1"},
        {"mode": "2v2", "actions": "heads", "sticky_steps": 2, "repeat": 2, "observation": "default"},
        {"mode": "1v0", "actions": "hybrid", "end_on_goal": False},
    ],
    ids=["1v1", "2v2", "1v0"],
)
def test_it_keeps_the_promises_of_a_game(rocketsim, settings):
    report = check_game(GAME, RocketLeagueConfig(**SHORT, **settings), matches=2, only=PLAIN)
    assert report.passed, report.text()
    assert not [check for check in report.checks if check.outcome == "excused"]


@pytest.mark.nightly
@pytest.mark.parametrize("mode", ["1v0", "1v1", "2v2", "3v3"])
def test_it_keeps_every_promise(rocketsim, mode):
    report = check_game(GAME, RocketLeagueConfig(**{**SHORT, "timeout_s": 8.0, "no_touch_s": 6.0}, mode=mode))
    assert report.passed, report.text()


@pytest.mark.parametrize("mode", ["0v1", "4v4", "1v4", "11", "twos", "1v1v1", "-1v1"])
def test_wrong_team_size_is_one_line(mode):
    with pytest.raises(UserError, match=f"mode '{mode}'") as caught:
        describe(RocketLeagueConfig(mode=mode, meshes="generated"))
    assert "\n" not in str(caught.value) and "3v3" in caught.value.hint


def test_settings_that_contradict_each_other_are_one_line():
    with pytest.raises(UserError, match="delay_ticks is 8 with tick_skip 8"):
        describe(RocketLeagueConfig(delay_ticks=8, meshes="generated"))
    with pytest.raises(UserError, match="does not fit observations of 1 allies"):
        describe(RocketLeagueConfig(mode="3v3", allies=1, meshes="generated"))


def test_teams_follow_the_mode():
    teams = {m: describe(RocketLeagueConfig(mode=m, meshes="generated")).teams for m in ("1v0", "1v1", "2v2", "3v3")}
    assert teams == {"1v0": ((0,),), "1v1": ((0,), (1,)), "2v2": ((0, 1), (2, 3)), "3v3": ((0, 1, 2), (3, 4, 5))}


def test_what_changes_play_changes_the_game_digest():
    def digest(**settings) -> str:
        return describe(RocketLeagueConfig(meshes="generated", **settings)).game_digest

    changed = [{"tick_skip": 4}, {"delay_ticks": 0}, {"repeat": 2}, {"sticky_steps": 1}, {"end_on_goal": False}]
    changed += [{"no_touch_s": 5.0}, {"timeout_s": 60.0}, {"setters": {"random": 1.0}}, {"rewards": ("goal",)}]
    assert len({digest(), *(digest(**settings) for settings in changed)}) == len(changed) + 1


def test_no_touch_and_timeout_truncate(play):
    """Neither is an end that the rules know, so the value of what would have followed is not lost."""
    p = play(mode="1v0", scenario="kickoff", no_touch_s=1.0, timeout_s=5.0)
    p.step(8, 14)
    assert not p.out.truncated[0]
    p.step(8)
    assert p.out.truncated[0] and not p.out.ended[0] and p.out.result[0].tolist() == [0]
    p = play(mode="1v0", scenario="kickoff", no_touch_s=0, timeout_s=1.0)
    p.step(8, 15)
    assert p.out.truncated[0] and not p.out.ended[0] and p.spec.max_steps == 15


def test_a_goal_ends_or_leads_to_the_next_kickoff(play, pack):
    flying = [[0.0, 4300.0, 300.0], [0.0, 3000.0, 0.0]]
    p = play(**pack(flying, []))
    p.step(8, 10)
    assert p.out.ended[0] or p.out.serial[0] == RESTING
    p = play(end_on_goal=False, **pack(flying, []))
    scored = 0.0
    for _ in range(10):
        p.step(8)
        scored += float(p.signal("team_goals")[0, 0])
    assert scored == 1 and not p.out.ended[0]
    assert p.game.view(0)["score"] == [1, 0]
    assert p.feature("context", "kickoff")[0].tolist() == [1.0, 1.0]
    assert p.feature("context", "score")[0] == pytest.approx([np.tanh(1 / 3), -np.tanh(1 / 3)])


def test_final_observation_is_of_the_old_match(play, pack):
    p = play(**pack([[0.0, 4300.0, 300.0], [0.0, 3000.0, 0.0]], []))
    p.game.queue([MatchPlan(7, 7, (Live(), Live()), "kickoff")])
    for _ in range(10):
        p.step(8)
        if p.out.ended[0]:
            break
    assert p.out.serial[0] == 7 and p.feature("context", "kickoff")[0, 0] == 1.0
    assert np.abs(p.out.final_obs[0] - p.out.obs[0]).max() > 0.5


def crowded(mode: str, matches: int, seeds: int, steps: int) -> list[bytes]:
    """Bots that crowd round the ball and bump each other; one line of bytes per seed, equal in all rows or it fails."""
    config = RocketLeagueConfig(
        mode=mode, meshes="generated", no_touch_s=0, timeout_s=steps * 8 / 120, rewards=("touch",), end_on_goal=False
    )
    game = GAME.build(config, matches)
    out = StepBuffers.allocate(game.spec, matches)
    lineup = tuple(Bot(("chaser", "kickoff_and_clear")[i % 2]) for i in range(game.spec.seats))
    plans = [MatchPlan(i * matches + row, i, lineup, "random_ground") for i in range(seeds) for row in range(matches)]
    game.queue(plans)
    game.start(out)
    nothing = np.full((matches, game.spec.seats, 1), -1, np.int32)
    ends = []
    for _ in range(seeds * steps):
        game.step(nothing, out)
        if out.truncated.any():
            assert out.truncated.all() and (out.final_obs == out.final_obs[:1]).all()
            ends.append(out.final_obs[0].tobytes())
    game.close()
    return ends


@pytest.mark.parametrize("mode", ["1v1", "3v3"])
def test_equal_plans_give_equal_bits_in_every_row_and_round(rocketsim, mode):
    assert crowded(mode, 3, 2, 60) == crowded(mode, 2, 2, 60)


@pytest.mark.nightly
@pytest.mark.parametrize("mode", ["2v2", "3v3"])
def test_equal_plans_give_equal_bits_over_long_crowded_matches(rocketsim, mode):
    assert crowded(mode, 12, 6, 300) == crowded(mode, 5, 6, 300)


def test_equal_plans_give_equal_bits_in_another_process(rocketsim):
    code = "from test_game import crowded; import hashlib; junk = [bytearray(i) for i in range(500, 9000, 7)][::2]; "
    code += "print(hashlib.sha256(b''.join(crowded('3v3', 2, 1, 60))).hexdigest())"
    here = __file__.rsplit("/", 1)[0]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=here, capture_output=True, text=True, timeout=120, check=True
    )
    import hashlib

    assert done.stdout.strip() == hashlib.sha256(b"".join(crowded("3v3", 2, 1, 60))).hexdigest()


def test_restore_replays_to_the_same_bits(play):
    p = play(mode="2v2", matches=3, scenario="random", no_touch_s=0)
    rng = np.random.default_rng(0)

    def act(out: StepBuffers) -> np.ndarray:
        return np.where(out.mask, rng.random(out.mask.shape), -1).argmax(2)[..., None].astype(np.int32)

    for _ in range(40):
        p.game.step(act(p.out), p.out)
    data = p.game.snapshot()
    other = GAME.build(RocketLeagueConfig(meshes="generated", mode="2v2", no_touch_s=0), 3)
    other.restore(data)
    assert other.replayed_exactly
    out = StepBuffers.allocate(other.spec, 3)
    other.start(out)
    assert np.array_equal(out.obs, p.out.obs) and np.array_equal(out.mask, p.out.mask)
    assert len(data) < 100_000


def test_snapshots_of_another_game_are_refused(play):
    data = play(matches=2).game.snapshot()
    for settings, matches, message in (({"tick_skip": 4}, 2, "another game"), ({}, 3, "2 matches, this game has 3")):
        with pytest.raises(UserError, match=message):
            play(matches=matches, **settings).game.restore(data)
    with pytest.raises(UserError, match="not a snapshot"):
        play(matches=2).game.restore(data[:100])


def test_a_snapshot_with_a_wrong_input_is_refused(play):
    import safetensors.numpy

    p = play(matches=1, scenario="kickoff")
    p.step(16, 3)
    arrays = safetensors.numpy.load(p.game.snapshot())
    arrays["inputs"][0, 0, 0, 0] = 90
    with pytest.raises(UserError, match="outside its head"):
        p.game.restore(safetensors.numpy.save(arrays))


def test_long_matches_outgrow_the_first_history(play):
    p = play(mode="1v0", scenario="kickoff", no_touch_s=0, tick_skip=1, delay_ticks=0)
    p.step(8, 300)
    assert p.game._history.inputs.shape[1] == 512
    data = p.game.snapshot()
    p.game.restore(data)
    assert p.game.replayed_exactly


def test_the_simulator_is_asked_for_in_one_line(monkeypatch):
    from pvp_ml.games.rocket_league import simulator
    from pvp_ml.games.rocket_league.arena.meshes import generated_set

    monkeypatch.setitem(sys.modules, "RocketSim", None)
    with pytest.raises(UserError, match="needs RocketSim") as caught:
        simulator.simulator(generated_set())
    assert "[rocket-league]" in caught.value.hint


def test_describing_the_game_needs_no_simulator(monkeypatch):
    monkeypatch.setitem(sys.modules, "RocketSim", None)
    assert describe(RocketLeagueConfig(meshes="generated")).name == "rocket_league"


def test_speed_is_measured(rocketsim):
    from pvp_ml.games.rocket_league.bench import measure

    speed = measure(RocketLeagueConfig(meshes="generated", rewards=("goal", "touch")), matches=4, cpu_s=0.2)
    assert speed.agent_steps >= 8 and speed.agent_steps % 8 == 0
    assert speed.agent_steps_per_cpu_s == pytest.approx(speed.agent_steps / speed.cpu_s, rel=0.02)
    assert speed.game_agent_steps_per_cpu_s > speed.agent_steps_per_cpu_s > 500
