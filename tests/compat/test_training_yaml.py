"""A training.yaml of the old trainer becomes a preset of today."""

from pathlib import Path

import pytest

from pvp_ml.compat.training_yaml import is_training_yaml, translate
from pvp_ml.errors import UserError
from pvp_ml.run.config.presets import load_preset
from pvp_ml.run.config.schema import load_config

TEXT = """
algorithm: PPO
seed: 7
total_timesteps: 5_000_000
n_envs: 16
save_every_steps: 50_000
checkpoint_dir: checkpoints
env:
  map: DFHStadium
  frame_skip: 6
  team_size: 2
  state_setter: TurtledStart
  reward:
    name: VelocityBallToGoalReward
    params: {scale: 2.5}
obs:
  normalize: false
  clip_obs: 8.0
policy:
  hidden_sizes: [128, 64]
  activation: tanh
  action_space: simple_hybrid_discrete
"""


def write(folder: Path, text: str) -> str:
    path = folder / "training.yaml"
    path.write_text(text)
    return str(path)


def test_every_key_arrives(tmp_path):
    config = load_config(write(tmp_path, TEXT), ["--env.meshes", "generated"], tmp_path)
    assert (config.run.seed, config.run.total_steps, config.run.checkpoint_every) == (7, 5_000_000, 50_000)
    assert config.run.directory == "checkpoints"
    assert config.run.name == "training"
    assert (config.env.name, config.env.mode, config.env.matches, config.env.tick_skip) == (
        "rocket_league",
        "2v2",
        16,
        6,
    )
    assert config.env.setters == {"turtled": 1.0}
    assert config.env.actions == "hybrid"
    assert config.env.rewards == ("velocity_ball_to_goal",)
    assert {name: weight.value for name, weight in config.reward.weights.items()} == {"velocity_ball_to_goal": 2.5}
    assert (config.network.trunk, config.network.activation, config.network.clip) == ((128, 64), "tanh", 8.0)
    assert not config.ppo.normalize_observations
    assert not config.phases


@pytest.mark.parametrize(
    ("name", "preset"),
    [
        ("BallTouching", "ball-touching"),
        (2, "bronze-skills-1"),
        ("GoldSkills1", "silver-skills-2"),
        ("default", "training"),
    ],
)
def test_a_phase_is_a_preset(name, preset):
    data = {"algorithm": "ppo", "n_envs": 8, "env": {"reward": {"name": name, "params": {"scale": 3.0}}}}
    assert translate(data, "t.yaml") == {"extends": f"rocket_league/{preset}", "env": {"matches": 8}}


def test_without_a_reward_it_is_the_curriculum(tmp_path):
    layer = load_preset(write(tmp_path, "algorithm: ppo\nseed: 1\nn_envs: 4\n"), tmp_path)
    assert [phase["name"] for phase in layer.data["phases"]][:2] == ["BronzeSkills1", "SilverSkills1"]
    assert layer.data["env"]["matches"] == 4
    assert layer.source(("env", "matches")) == "training.yaml"


def test_presets_of_today_are_not_mistaken():
    assert not is_training_yaml({"env": {"name": "kuhn"}, "run": {"seed": 1}})
    assert not is_training_yaml({"extends": "nh/core", "seed": 3})
    assert is_training_yaml({"algorithm": "ppo", "env": {"team_size": 1}})


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"algorithm": "dqn"}, "t.yaml: algorithm: 'dqn' is not there"),
        ({"env": {"team_size": 4}}, "t.yaml: env.team_size: 4 cars a side"),
        ({"env": {"reward": {"name": "FaceBal"}}}, "there is no reward 'facebal' — did you mean 'faceball'?"),
        ({"env": {"state_setter": "moon"}}, "there is no state setter 'moon'"),
        ({"policy": {"action_space": "continuous"}}, "there is no action space 'continuous'"),
        (
            {"obs": {"normalise": True}},
            "there is no 'obs.normalise' in a training.yaml — did you mean 'obs.normalize'?",
        ),
        ({"env": {"map": "hoops"}}, "t.yaml: env.map: 'hoops' is not played here"),
        ({"env": {"reward": {"name": "touch", "params": {"scale": "x"}}}}, "'x' is not a number"),
        ({3: 4}, "3 is not a name"),
    ],
)
def test_what_has_no_counterpart_is_refused_by_name(data, says):
    with pytest.raises(UserError) as caught:
        translate({"n_envs": 8, **data}, "t.yaml")
    assert says in str(caught.value)
