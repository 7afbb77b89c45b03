"""`import pvp_ml`: light, complete, and usable from a plain script."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import pvp_ml


def python(code, **options):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=300, **options
    )


def test_importing_it_imports_nothing_heavy():
    done = python("""
        import sys
        before = set(sys.modules)
        import pvp_ml
        new = {name.split(".")[0] for name in set(sys.modules) - before}
        assert not new & {"numpy", "torch", "pydantic", "numba", "rich", "yaml", "msgspec"}, new
        print(len(set(sys.modules) - before))
    """)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 20


def test_every_name_that_it_promises_is_there():
    for name in pvp_ml.__all__:
        assert callable(getattr(pvp_ml, name)), name
    assert set(pvp_ml.__all__) <= set(dir(pvp_ml))
    with pytest.raises(AttributeError, match="has no attribute 'tarin'"):
        pvp_ml.tarin  # noqa: B018


@pytest.mark.parametrize("order", ["gymnasium, pvp_ml", "pvp_ml, gymnasium"])
def test_games_are_gymnasium_envs_in_either_order_of_imports(order):
    done = python(f"""
        import {order}
        env = gymnasium.make("pvp_ml/connect4-v0", opponent="random")
        obs, info = env.reset(seed=1)
        print(env.action_space.n, env.unwrapped.action_masks().sum(), "pvp_ml/nh-v0" in gymnasium.registry)
    """)
    assert done.stdout.split() == ["7", "7", "True"], done.stderr


def test_loading_and_evaluating_need_no_torch():
    done = python("""
        import sys
        import pvp_ml
        score = pvp_ml.evaluate("tactician", "random", game="connect4", matches=20).total.score
        assert score > 0.6, score
        assert "torch" not in sys.modules
    """)
    assert done.returncode == 0, done.stderr


def test_a_script_without_a_main_guard_trains_on_two_shards(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
            import pvp_ml
            print("script runs")
            run = pvp_ml.train(game="pennies", name="a", total_steps=256, shards=2, view="off", tensorboard=False,
                               env={"matches": 16}, ppo={"n_steps": 8, "batch_size": 64}, eval={"matches": 4})
            print("trained", int(run.metrics["steps"][-1]))
        """)
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:2] == ["script runs", "trained 256"]


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "opponent", "has_rules"), [("connect4", "random", False), ("nh", "nh-bot", True)])
def test_maskable_ppo_trains_on_a_registered_env_and_stays_legal(name, opponent, has_rules):
    """What a user of Stable-Baselines3 would type, on a small and on the largest built-in action space.

    A flat mask cannot say that a choice depends on an earlier head, so where there are such rules the env may replace
    a choice that the mask allows.
    """
    gymnasium = pytest.importorskip("gymnasium")
    maskable = pytest.importorskip("sb3_contrib").MaskablePPO

    env = gymnasium.make(f"pvp_ml/{name}-v0", opponent=opponent)
    learner = maskable("MlpPolicy", env, n_steps=128, batch_size=64, seed=1, device="cpu")
    learner.learn(256)
    assert learner.num_timesteps == 256
    obs, _ = env.reset(seed=2)
    for _ in range(50):
        mask = env.unwrapped.action_masks()
        action, _ = learner.predict(obs, action_masks=mask)
        sizes = np.atleast_1d(getattr(env.action_space, "nvec", getattr(env.action_space, "n", 0)))
        starts = np.cumsum(sizes) - sizes
        assert mask[starts + np.atleast_1d(action)].all(), "a masked choice was taken"
        obs, _, ended, truncated, info = env.step(action)
        assert has_rules or not info["replaced"]
        if ended or truncated:
            obs, _ = env.reset()
