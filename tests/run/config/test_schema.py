from pathlib import Path

import pytest
from pydantic import ValidationError

from pvp_ml.documents.strict_yaml import read_yaml
from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.games.registry import GameConfig, GameType
from pvp_ml.rl.schedule.schedule import Constant, Linear
from pvp_ml.run.config.presets import Layer, list_presets
from pvp_ml.run.config.schema import WELL_KNOWN, config_model, config_options, load_config, read_config


def test_flags_on_top_of_a_preset(tmp_path):
    (tmp_path / "mine.yml").write_text("env: {name: connect4, num-envs: 16}\nppo: {n-steps: 8, learning-rate: 1e-3}\n")
    config = load_config("mine.yml", ["--learning-rate", "3e-4", "--total-timesteps", "1000"], tmp_path)
    assert (config.env.name, config.env.matches, config.run.total_steps) == ("connect4", 16, 1000)
    assert (config.ppo.n_steps, config.ppo.learning_rate) == (8, Constant(3e-4))
    assert config.run.name == "mine"


def test_a_run_without_a_name_is_called_like_its_preset(tmp_path):
    (tmp_path / "config/own").mkdir(parents=True)
    (tmp_path / "config/own/mine.v2.yml").write_text("env: {name: connect4}\n")
    for preset, name in (
        ("own/mine.v2.yml", "own-mine.v2"),
        ("config/own/mine.v2.yml", "own-mine.v2"),
        (str(tmp_path / "config/own/mine.v2.yml"), "mine.v2"),
    ):
        assert load_config(preset, [], tmp_path).run.name == name
    assert load_config("", ["--game", "connect_four"], tmp_path).run.name == "connect4"


def test_the_documented_command_line(tmp_path):
    words = "--game connect4 --experiment Mine --total-timesteps 10000000 --num-envs 100 --learning-rate 3e-4"
    more = "--n-steps 1024 --batch-size 64 --reward-ko 0.5"
    config = load_config("", [*words.split(), *more.split()], tmp_path)
    assert (config.run.name, config.run.total_steps, config.env.matches) == ("Mine", 10_000_000, 100)
    assert (config.ppo.n_steps, config.ppo.batch_size) == (1024, 64)
    assert config.reward.weights == {"win": Constant(0.5)}


def test_round_trip_through_yaml():
    line = "{type: linear, initial_value: 0.01, final_value: 0.001, change_over_time_steps: 1000}"
    config = load_config(
        "", ["--game", "kuhn", "--entropy-coef", line, "--trunk", "[32]", "--self-play.opponents.random", "0.5"], Path()
    )
    assert config.ppo.entropy_coef == Linear(0.01, 0.001, 1000)
    assert read_config(Layer.of(read_yaml(config.to_yaml()), "config.yml")) == config


def test_the_games_own_settings_stand_in_env():
    game = registry.find("rock_paper_scissors")
    own = set(game.config.model_fields)
    assert own, "the test needs a game with settings"
    config = load_config("", ["--game", "rps"], Path())
    assert isinstance(config.env.settings, game.config)
    assert own <= set(config.to_data()["env"])
    assert {f"--env.{name.replace('_', '-')}" for name in own} <= {o.flag for o in config_options(game)[0]}


def test_a_game_cannot_take_a_name_that_every_game_has():
    class Clash(GameConfig):
        matches: int = 3

    game = GameType("clash", "Clash", Clash, lambda config: None, lambda config, matches: None)
    with pytest.raises(UserError, match="has a setting 'matches'"):
        config_model(game)


def test_every_well_known_name_means_a_field():
    options, aliases = config_options(registry.find("connect4"))
    paths = {option.path for option in options}
    assert {name: path for name, path in WELL_KNOWN.items() if path not in paths} == {}
    assert aliases["num-envs"] == ("env", "matches")


def test_frozen():
    config = load_config("", ["--game", "connect4"], Path())
    with pytest.raises(ValidationError):
        config.run.seed = 3


def test_flat_and_nested_form_are_the_same(tmp_path):
    (tmp_path / "flat.yml").write_text(
        "env-name: connect4\nnum-envs: 16\nlearning-rate: {type: constant, value: 1e-3}\nreward-win: 2\n"
        "entropy-by-head: {column: 0.1}\n"
    )
    (tmp_path / "nested.yml").write_text(
        "env: {name: connect4, matches: 16}\nppo: {learning_rate: 1e-3, entropy_by_head: {column: 0.1}}\n"
        "reward: {weights: {win: 2}}\nrun: {name: flat, preset: flat.yml}\n"
    )
    assert load_config("flat.yml", [], tmp_path) == load_config("nested.yml", [], tmp_path)


GAME = "env: {name: connect4}\n"
MISTAKES = [
    ("", [], "no game is chosen"),
    ("env: connect4", [], "no game is chosen"),
    ("env: {name: conect4}", [], "there is no game 'conect4' — did you mean 'connect4'?"),
    (
        GAME + "ppo: {learning_rte: 1}",
        [],
        "a.yml: there is no setting 'ppo.learning_rte' — did you mean 'learning_rate'?",
    ),
    (GAME + "lerning-rate: 1", [], "a.yml: there is no setting 'lerning-rate'"),
    (GAME + "'a b!': 1", [], "a.yml: there is no setting 'a b!'"),
    ("env: {name: connect4, rows: 7}", [], "a.yml: there is no setting 'env.rows'"),
    (GAME + "ppo: {gamma: 1.5}", [], "a.yml: ppo.gamma = 1.5: 1.5 is out of range — use at least 0 and at most 1"),
    (GAME + "ppo: {n_steps: many}", [], "a.yml: ppo.n_steps = 'many': input should be a valid integer"),
    (GAME, ["--privileged"], "network: privileged: true needs critic: separate"),
    (GAME + "ppo: 3", [], "a.yml: ppo = 3: "),
    (
        GAME + "reward: {weights: {wim: 1}}",
        [],
        "a.yml: reward: game 'connect4' has no reward term 'wim' — did you mean 'win'?",
    ),
    (GAME, ["--reward-wim", "1"], "there is no flag --reward-wim — did you mean --reward-win?"),
    (
        "env: {name: connect4, scenarios: {night: 1}}",
        [],
        "a.yml: env.scenarios: game 'connect4' has no 'night' — choose from: ",
    ),
    (GAME + "ppo: {entropy_by_head: {x: 1}}", [], "a.yml: ppo.entropy_by_head: game 'connect4' has no 'x'"),
    (
        GAME + "reward: {expressions: {own: {expression: 'speed * 2'}}}",
        [],
        "a.yml: reward: game 'connect4' has no signal or term 'speed'",
    ),
]


@pytest.mark.parametrize(("text", "flags", "says"), MISTAKES)
def test_mistakes_are_one_line_with_place_and_next_step(tmp_path, text, flags, says):
    (tmp_path / "a.yml").write_text(text)
    with pytest.raises(UserError) as caught:
        load_config("a.yml", flags, tmp_path)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_shipped_preset_loads(tmp_path):
    presets = list(list_presets(tmp_path))
    assert presets
    for info in presets:
        config = load_config(info.name, [], tmp_path)
        assert config.run.name == info.name.replace("/", "-")
        assert info.title, f"{info.name} has no title"


@pytest.mark.parametrize(
    ("words", "matches"),
    [([], 512), (["--env.remote", "localhost:7070"], 32), (["--remote-env-host", "localhost"], 32)],
)
def test_auto_matches_are_few_where_a_server_plays_them(tmp_path, monkeypatch, words, matches):
    monkeypatch.setattr("pvp_ml.run.config.schema.cores", lambda: 2)
    monkeypatch.setattr("pvp_ml.run.config.schema.free_bytes", lambda: None)
    assert load_config("", ["--game", "nh", "--num-envs", "auto", *words], tmp_path).env.matches == matches
