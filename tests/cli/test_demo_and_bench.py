import json

import pytest

from pvp_ml.cli import run
from pvp_ml.cli.bench.command import PARTS, Measurement
from pvp_ml.cli.demo import configuration


def test_the_demo_takes_a_free_name(tmp_path):
    assert configuration(tmp_path, "toys/connect4-demo", 5).run.name == "demo"
    (tmp_path / "experiments/demo").mkdir(parents=True)
    (tmp_path / "experiments/demo-2").mkdir()
    config = configuration(tmp_path, "toys/connect4-demo", 5)
    assert (config.run.name, config.run.max_seconds, config.run.total_steps) == ("demo-3", 5, 0)


@pytest.mark.parametrize(
    ("words", "says"),
    [(["--seconds", "0"], "use 1 to 86400"), (["--game", "kuhn"], "no demo — choose from: connect4, nh")],
)
def test_demo_mistakes(words, says, capsys):
    assert run(["demo", *words]) == 2
    assert says in capsys.readouterr().err


FIELDS = {"metric", "value", "unit", "baseline", "ratio", "repeats", "spread", "split", "against"}


def test_bench_sim_prints_one_object(capsys):
    assert (
        run(["bench", "sim", "--game", "kuhn", "--matches", "64", "--seconds", "0.05", "--repeats", "2", "--json"]) == 0
    )
    result = json.loads(capsys.readouterr().out)
    assert set(result) == FIELDS
    assert (result["metric"], result["repeats"], result["unit"]) == ("sim/kuhn", 2, "agent-steps per CPU-second")
    assert result["value"] > 1000
    assert set(result["split"]) == set(PARTS)
    assert sum(result["split"].values()) == pytest.approx(1.0, abs=1e-3)


def test_bench_train_compares_in_the_same_run(capsys):
    flags = "--game kuhn --num-envs 16 --n-steps 8 --batch-size 64 --trunk [16] --rollouts 2 --repeats 1"
    assert run(["bench", "train", *flags.split(), "--compare", "original", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert set(result) == FIELDS
    assert result["against"] == "the original's network"
    assert result["ratio"] == pytest.approx(result["value"] / result["baseline"], rel=1e-3)
    assert result["ratio"] > 1
    assert result["split"]["learn"] > 0.1


def test_bench_train_beside_sb3(capsys):
    pytest.importorskip("sb3_contrib")
    flags = "--game rps --num-envs 16 --n-steps 8 --batch-size 64 --trunk [16] --rollouts 2 --repeats 1"
    assert run(["bench", "train", *flags.split(), "--compare", "sb3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["baseline"] > 0


def test_spread_and_median():
    result = Measurement.of("x/none", "steps", [90.0, 100.0, 120.0], {"learn": 3.0, "infer": 1.0})
    assert (result.value, result.spread) == (100.0, 0.3)
    assert result.split["learn"] == 0.75
    assert (result.baseline, result.ratio) == (None, None)


@pytest.mark.nightly
def test_the_loop_is_faster_than_maskable_ppo(capsys):
    """At least 1.3 × the steps per CPU-second on the same game, network and match count."""
    flags = "--game nh --num-envs 128 --n-steps 32 --batch-size 1024 --rollouts 6 --repeats 3 --compare sb3 --json"
    assert run(["bench", "train", *flags.split()]) == 0
    assert json.loads(capsys.readouterr().out)["ratio"] >= 1.3
