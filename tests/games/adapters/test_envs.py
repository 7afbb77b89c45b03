import re
import sys
import warnings
from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from pettingzoo.test import parallel_api_test

from pvp_ml.errors import UserError, pip_install
from pvp_ml.games.adapters.envs import MatchEnv, MatchParallelEnv, MatchVectorEnv
from pvp_ml.games.adapters.gymnasium_game import GAME as GYM
from pvp_ml.games.adapters.gymnasium_game import GymnasiumConfig
from pvp_ml.games.conformance.check import check_game
from pvp_ml.games.registry import find
from pvp_ml.games.toys.kuhn import GAME as KUHN
from pvp_ml.games.toys.kuhn import KuhnGame
from pvp_ml.match import External, MatchPlan, StepBuffers

DEPENDENT = {"kind": "dependent_heads"}


class Always:
    """A player that gives one pick in every head, and remembers what it was given."""

    def __init__(self, pick=0):
        self.pick, self.log = pick, []

    def begin(self, serials):
        self.log.append(("begin", serials.tolist()))

    def end(self, serials):
        self.log.append(("end", serials.tolist()))

    def decide(self, serials, seats, obs, mask, keys):
        assert keys.dtype == np.uint64
        return np.full((len(serials), 1), self.pick, np.int32)


@pytest.mark.parametrize(
    ("game", "settings", "seat"),
    [
        ("connect4", None, 0),
        ("connect4", None, 1),
        ("kuhn", None, 1),
        ("rps", {"rounds": 5}, 0),
        ("probe", DEPENDENT, 0),
        ("probe", {"kind": "delayed_acting"}, 0),
    ],
)
def test_gymnasium_accepts_the_env(game, settings, seat):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*Box observation space m(in|ax)imum value.*")
        env = gymnasium.make("pvp_ml/Match-v0", game=game, settings=settings, seat=seat, render_mode="ansi")
        check_env(env.unwrapped)


@pytest.mark.parametrize(
    ("game", "settings"),
    [("connect4", None), ("kuhn", None), ("pennies", {"rounds": 9}), ("probe", DEPENDENT), ("probe", None)],
)
def test_pettingzoo_accepts_the_env(game, settings, capsys):
    parallel_api_test(MatchParallelEnv(game, settings), num_cycles=300)
    assert "Passed" in capsys.readouterr().out


def episode(env, seed=None):
    """Plays random legal actions; gives observations and (reward, info) of the end."""
    obs, info = env.reset(seed=seed)
    rng, seen, total = np.random.default_rng(seed or 0), [obs], 0.0
    while True:
        mask = env.action_masks()
        assert (mask == info["action_mask"]).all()
        obs, reward, ended, truncated, info = env.step(int(rng.choice(np.flatnonzero(mask))))
        seen.append(obs)
        total += reward
        assert not info["replaced"]
        if ended or truncated:
            return np.array(seen), total, info


@pytest.mark.parametrize("seat", [0, 1])
def test_a_step_lasts_until_the_seat_decides_again(seat):
    env = MatchEnv("connect4", seat=seat, opponent="tactician")
    results = []
    for seed in range(30):
        seen, reward, info = episode(env, seed)
        assert reward == info["result"]
        own, theirs = seen[:-1, :42].sum(1), seen[:-1, 42:].sum(1)
        assert (np.diff(own) == 1).all()
        assert (theirs - own == theirs[0]).all()  # always our turn: they are level or, where they started, one ahead
        results.append(info["result"])
    assert np.mean(results) < -0.7


def test_same_seed_same_episodes_also_after_a_reset_in_the_middle():
    one, two = MatchEnv("connect4", opponent="random"), MatchEnv("connect4", opponent="random")
    two.reset(seed=3)
    two.step(0)
    for seed in (11, None, None):
        for a, b in zip(episode(one, seed), episode(two, seed), strict=True):
            assert np.array_equal(a, b) if isinstance(a, np.ndarray) else str(a) == str(b)


def test_a_player_object_sits_opposite_and_hears_of_every_match():
    opponent = Always(0)
    env = MatchEnv("kuhn", opponent=opponent, scenario="seat0-starts")
    for seed in (1, None, None):
        env.reset(seed=seed)
        _, reward, ended, _, _ = env.step(1)  # we bet, it folds
        assert (reward, ended) == (1.0, True)
    assert opponent.log == [("begin", [0]), ("end", [0]), ("begin", [1]), ("end", [1]), ("begin", [2]), ("end", [2])]


def test_a_scripted_player_is_found_by_name():
    env = MatchEnv("kuhn", opponent="noop", scenario="seat0-starts")
    env.reset(seed=0)
    assert env.step(1)[1] == 1.0


def test_reward_terms_are_weighed_by_name():
    env = MatchEnv("kuhn", opponent=Always(0), scenario="seat0-starts", weights={"chips": 0.25})
    env.reset(seed=0)
    assert env.step(1)[1] == 0.25
    with pytest.raises(UserError, match="no reward term 'gold' — its terms: chips"):
        MatchEnv("kuhn", weights={"gold": 1.0})


def test_picks_that_rules_forbid_are_replaced_and_reported():
    env = MatchEnv("probe", DEPENDENT)
    env.reset(seed=0)
    assert env.step(np.array([0, 2]))[4]["replaced"]  # keep + some_y becomes keep + nothing
    env.reset(seed=0)
    assert not env.step(np.array([1, 2]))[4]["replaced"]


def test_stepping_a_finished_match_is_refused():
    env = MatchEnv("probe")
    with pytest.raises(UserError, match="call reset first"):
        env.step(0)
    env.reset(seed=0)
    env.step(0)
    with pytest.raises(UserError, match="call reset first"):
        env.step(0)


def test_wrong_seats_and_opponents_are_refused():
    with pytest.raises(UserError, match="seats 0 to 1"):
        MatchEnv("kuhn", seat=2)
    with pytest.raises(UserError, match="no scripted player 'nobody'"):
        MatchEnv("kuhn", opponent="nobody")


def test_a_void_match_is_truncated_with_its_fault():
    class Crashing(KuhnGame):
        def step(self, actions, out):
            super().step(actions, out)
            out.faults[out.ended] = 1

    crashing = replace(KUHN, build=lambda c, m: Crashing(KUHN.spec(c), m))
    env = MatchEnv(crashing, opponent=Always(0), scenario="seat0-starts")
    env.reset(seed=0)
    _, _, ended, truncated, info = env.step(1)
    assert (ended, truncated, info["fault"]) == (False, True, "CRASHED")


def test_the_vector_env_restarts_in_the_same_step_and_gives_finals():
    env = MatchVectorEnv("connect4", num_envs=5, opponent="random")
    assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    obs, info = env.reset(seed=4)
    assert env.observation_space.contains(obs)
    rng, endings = np.random.default_rng(0), 0
    for _ in range(120):
        masks = env.action_masks()
        assert masks.any(1).all()
        actions = np.array([rng.choice(np.flatnonzero(m)) for m in masks])
        acting, before = info["acting"], obs
        obs, rewards, ended, truncated, info = env.step(actions)
        assert not truncated.any()
        assert not info["replaced"].any()
        stones = obs[:, :42].sum(1) - before[:, :42].sum(1)
        assert (stones[~ended] == acting[~ended]).all()
        if ended.any():
            endings += int(ended.sum())
            assert (info["_final_obs"] == ended).all()
            for row in np.flatnonzero(ended):
                assert info["final_obs"][row][:42].sum() >= 4 - (rewards[row] <= 0) * 4
                assert obs[row].sum() <= 1
            assert (info["final_info"]["result"][ended] == rewards[ended]).all()
    assert endings > 10
    env.close()


def test_the_vector_env_plays_what_single_envs_play_in_a_game_without_turns():
    """Same opponent pick every time, so that both see the same course."""
    vector = MatchVectorEnv("rps", {"rounds": 3}, num_envs=3, opponent="first")
    single = SyncVectorEnv(
        [lambda: MatchEnv("rps", {"rounds": 3}, opponent="first")] * 3, autoreset_mode=AutoresetMode.SAME_STEP
    )
    for env in (vector, single):
        env.reset(seed=0)
    for picks in np.random.default_rng(1).integers(0, 3, (20, 3)):
        a, b = vector.step(picks), single.step(picks)
        for x, y in zip(a[:4], b[:4], strict=True):
            assert np.array_equal(x, y)
        if a[2].any():
            assert all(np.array_equal(x, y) for x, y in zip(a[4]["final_obs"], b[4]["final_obs"], strict=True))
    for env in (vector, single):
        env.close()


def test_sb3_contrib_finds_the_masks():
    maskable = pytest.importorskip("sb3_contrib.common.maskable.utils")
    env = MatchEnv("connect4")
    env.reset(seed=0)
    assert maskable.is_masking_supported(env)
    assert maskable.get_action_masks(env).tolist() == [True] * 7


def test_parallel_rewards_are_zero_sum_and_results_are_given():
    env = MatchParallelEnv("connect4", render_mode="ansi")
    obs, infos = env.reset(seed=2)
    while env.agents:
        assert sum(info["acting"] for info in infos.values()) == 1
        actions = {agent: env.action_space(agent).sample(mask=obs[agent]["action_mask"]) for agent in env.agents}
        obs, rewards, terminations, _, infos = env.step(actions)
        assert sum(rewards.values()) == 0
    assert set(terminations.values()) == {True}
    assert infos["seat_0"]["result"] == rewards["seat_0"]
    assert "board" in env.render()


@pytest.mark.parametrize("name", ["CartPole-v1", "FrozenLake-v1"])
def test_a_gymnasium_env_is_a_game_that_keeps_every_promise(name):
    report = check_game(GYM, GymnasiumConfig(id=name, max_steps=40), matches=2)
    assert report.passed, report.text()


def test_cartpole_as_a_game_is_cartpole():
    config = GymnasiumConfig()
    game = GYM.build(config, 3)
    assert (game.spec.obs_size, game.spec.head_sizes, game.spec.max_steps) == (4, (2,), 500)
    out = StepBuffers.allocate(game.spec, 3)
    game.queue([MatchPlan(i, 2 * (100 + i), (External("a"),)) for i in range(3)])
    game.start(out)
    plain = [gymnasium.make("CartPole-v1") for _ in range(3)]
    for row, env in enumerate(plain):
        assert out.obs[row, 0] == pytest.approx(env.reset(seed=100 + row)[0])
    rng, alive = np.random.default_rng(0), {0, 1, 2}
    while alive:
        picks = rng.integers(0, 2, 3)
        game.step(picks.astype(np.int32)[:, None, None], out)
        for row in sorted(alive):
            obs, reward, ended, _, _ = plain[row].step(int(picks[row]))
            assert out.reward[row, 0, 0] == reward
            assert out.ended[row] == ended
            assert (out.final_obs if ended else out.obs)[row, 0] == pytest.approx(obs)
            if ended:
                alive.remove(row)


def test_cartpole_is_truncated_at_the_cap_and_not_before():
    game = GYM.build(GymnasiumConfig(max_steps=5), 1)
    out = StepBuffers.allocate(game.spec, 1)
    game.queue([MatchPlan(0, 0, (External("a"),))])
    game.start(out)
    flags = []
    for step in range(5):
        game.step(np.full((1, 1, 1), step % 2, np.int32), out)
        flags.append((bool(out.ended[0]), bool(out.truncated[0])))
    assert flags == [(False, False)] * 4 + [(False, True)]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"id": "NoSuch-v9"}, "'NoSuch-v9' cannot be made"),
        ({"id": "Pendulum-v1"}, "'Pendulum-v1' acts in Box"),
        ({"id": "Blackjack-v1"}, "'Blackjack-v1' observes Tuple"),
    ],
)
def test_envs_that_do_not_fit_are_refused(settings, says):
    with pytest.raises(UserError, match=says):
        GYM.spec(GymnasiumConfig(**settings))


def test_without_the_extra_the_missing_library_is_named(monkeypatch):
    monkeypatch.delitem(sys.modules, "pvp_ml.games.adapters.envs")
    monkeypatch.setitem(sys.modules, "pettingzoo", None)
    with pytest.raises(UserError, match=re.escape(f"need 'pettingzoo' — {pip_install('gym')}")):
        find("gym").spec(GymnasiumConfig())
