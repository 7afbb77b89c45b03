"""docs/coming-from.md is the truth: what stands left and right of a row loads to the same configuration."""

import re
import shlex
from functools import cache
from pathlib import Path

import pytest

from pvp_ml.compat.options import NAMES, OLD, plain
from pvp_ml.errors import UserError
from pvp_ml.run.config.schema import Config, load_config

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/coming-from.md").read_text()
DEFAULTS = {"--tensorboard", "--action-heads '{}'"}
"""Rows whose value is our default."""

FLAG_OF_COMMAND = {"load-file", "bootstrap-from-experiment"}


def rows() -> list[tuple[str, str, str]]:
    """(base, there, here) of every row of options."""
    found, base = [], ""
    for line in PAGE.splitlines():
        if mark := re.fullmatch(r"<!-- base: (.*) -->", line):
            base = mark[1]
        cells = re.split(r" \| ", line.strip("| "))
        if line.startswith("| `--"):
            found.append((base, cells[0].strip("`"), cells[1].strip("` |")))
    return found


ROWS = rows()


@cache
def load(base: str, words: str) -> Config:
    flags = [*shlex.split(base), *shlex.split(words)]
    preset = flags.pop(flags.index("--preset") + 1) if "--preset" in flags else ""
    return load_config(preset, [flag for flag in flags if flag != "--preset"], ROOT)


def test_the_page_has_rows():
    assert len(ROWS) > 160


@pytest.mark.parametrize(("base", "there", "here"), ROWS, ids=[f"{there[:60]}" for _, there, _ in ROWS])
def test_both_columns_are_the_same(base, there, here):
    if here == "refused":
        with pytest.raises(UserError) as caught:
            load(base, there)
        assert caught.value.hint
        return
    expected = load(base, "" if here == "not needed" else here)
    if here == "not needed" and "reward-scale" in there:
        for name in ("wasted_food", "player_food_on_death"):
            assert load(base, there).reward.weights.get(name) == expected.reward.weights.get(name)
        return
    if here != "not needed" and there not in DEFAULTS:
        assert expected != load(base, ""), "a row that changes nothing shows nothing"
    assert load(base, there) == with_rest(base, there, expected)


def with_rest(base: str, there: str, expected: Config) -> Config:
    """Rows about food also set the scales of damage; they have rows of their own."""
    if "food-multiplier" not in there:
        return expected
    scale = " ".join(re.findall(r"--damage-\w+-reward-scale \S+", there))
    weights = {**load(base, scale).reward.weights, **expected.reward.weights}
    changed = load(base, scale).reward.weights
    merged = {**weights, **{k: v for k, v in changed.items() if k not in expected.reward.weights}}
    return expected.model_copy(update={"reward": expected.reward.model_copy(update={"weights": merged})})


def test_every_option_of_the_trainer_is_on_the_page():
    names = (ROOT / "tests/data/original_options.txt").read_text().split()
    assert len(names) == 119
    listed = {word for _, there, _ in ROWS for word in re.findall(r"--([\w-]+)", there)}
    assert sorted(set(names) - listed - FLAG_OF_COMMAND) == []
    assert all(f"`--{name} " in PAGE for name in FLAG_OF_COMMAND)


def test_every_option_that_is_read_is_on_the_page():
    listed = {plain(word) for _, there, _ in ROWS for word in re.findall(r"--([\w-]+)", there)}
    assert sorted(NAMES - listed) == []


FLAT = """
env-name: NhEnv
num-envs: 100
num-rollout-steps: 1024
batch-size: 2048
epochs: 1
gamma: 0.995
continue-training: null
entropy-coef: {type: linear, initial-value: 0.01, final-value: 0.001, change-over-time-steps: 1000}
damage-dealt-reward-scale: 0.25
damage-received-reward-scale: -0.25
smite-damage-dealt-reward-multiplier: 0.1
smite-damage-received-reward-multiplier: 0.1
player-wasted-food-multiplier: 5
player-died-with-food-multiplier: {type: expression, expression: (scale + 1.2) ** 1.5, defaults: {scale: 0}}
no-prayer-tick-reward: -0.01
protected-correct-prayer-reward: 0.025
actor: {layers: [{size: 512, activation: relu, repeat: 2}]}
critic: {layers: [{size: 512, activation: relu, repeat: 2}]}
action-heads: {layers: [{size: 128, activation: relu, repeat: 2}]}
include-target-obs-in-critic: true
remote-processor-type: ray
remote-processor-pool-size: 4
num-eval-agent: 10
add-win-rate-extension: true
env-kwargs: {reset-params: {randomizeBuild: true, randomizeGear: true, randomizeFightType: true}}
"""


def test_a_flat_preset_of_the_original_loads(tmp_path):
    (tmp_path / "config").mkdir()
    (tmp_path / "config/old.yml").write_text(FLAT)
    (tmp_path / "config/older.yml").write_text("import: [old]\nself-play-percent: 0.75\nlearning-rate: 1e-4\n")
    config = load_config("older", ["--past-self-play-percent", "0.25"], tmp_path)
    core = load_config("nh/core", [], tmp_path)
    assert config.env.matches == 100
    assert config.env.settings.builds == ("PURE", "ZERKER", "MED")
    assert (config.network.trunk, config.network.critic_trunk) == ((512, 512), (512, 512))
    assert (config.network.heads, config.network.privileged, config.network.win_head) == ("mlp", True, True)
    assert config.eval.opponents == ("nh-bot",)
    assert {name: o.share.to_data() for name, o in config.self_play.opponents.items()} == {"self": 0.75, "past": 0.25}
    for name, weight in config.reward.weights.items():
        assert weight.to_data() == core.reward.weights[name].to_data(), name
    assert [e.weight.to_data() for e in config.reward.expressions.values()] == [-0.25, 0.25]
    numbers = {"target_food_on_death": 0.3, "target_brews_on_death": 0.2}
    mine = config.reward.expressions["target_food_on_death_scaled"].expression.evaluate(numbers)
    assert mine == pytest.approx(0.5 * 1.7**1.5)
    theirs = core.reward.expressions["target_died_with_food"].expression.evaluate(numbers)
    assert mine == pytest.approx(theirs)


def test_ours_wins_over_an_old_option_of_the_preset(tmp_path):
    (tmp_path / "a.yml").write_text("env-name: nh\nactor: {layers: [{size: 32, activation: tanh}]}\n")
    config = load_config("a.yml", ["--network.trunk", "[16]"], tmp_path)
    assert config.network.trunk == (16,)
    assert config.network.activation == "tanh"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--self-play-percent 0.8 --past-self-play-percent 0.4", "sum to 1.2"),
        ("--past-self-play-delay-chance 0.1", "no share of 'past'"),
        ('--actor \'{"layers": [{"size": 8, "activation": "gelu"}]}\'', "activation 'gelu'"),
        ('--actor \'{"layers": [{"dropout": 0.1}]}\'', "dropout"),
        ("--policy-kwargs '{\"x\": 1}'", "policy-kwargs: 'x'"),
    ],
)
def test_what_cannot_be_said_here_is_refused(words, says):
    with pytest.raises(UserError, match=re.escape(says)):
        load("--preset nh/core", words)


def test_no_old_option_hides_one_of_ours():
    for name in OLD:
        assert name not in Config.model_fields
