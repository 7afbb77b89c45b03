"""The chance to win: measured, corrected, and checked on other matches."""

import numpy as np
import pytest

from pvp_ml.cli.model.calibrate import calibrate
from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.model.actor import empty_normalizer
from pvp_ml.model.bundle import make_bundle, read_bundle, write_bundle
from pvp_ml.model.network_config import NetworkConfig, tensor_shapes
from pvp_ml.selfplay.win_chance import Stated, judged


def test_a_correction_is_judged_by_what_came_of_it():
    """Two matches, one won and one lost; a long match counts no more than a short one."""
    seen = Stated(match=np.array([0, 0, 0, 1]), logit=np.zeros(4), points=np.array([1.0, 1.0, 1.0, 0.0]),
                  features=np.zeros((0, 1), np.float32), kept=np.zeros(4, bool), matches=2)  # fmt: skip
    plain, bold = judged("self", 1.0, 0.0, seen), judged("self", 1.0, float(np.log(3.0)), seen)
    assert plain.brier == pytest.approx(0.25) and plain.error == pytest.approx(0.0)
    assert bold.brier == pytest.approx((0.25**2 + 0.75**2) / 2) and bold.error == pytest.approx(0.25)
    assert plain.constant == bold.constant == pytest.approx(0.25)


@pytest.fixture
def model(tmp_path):
    """A policy of small random weights for Connect 4."""
    kind = registry.find("connect4")
    spec = kind.spec(kind.config())
    shape = NetworkConfig(trunk=(16,), win_head=True)
    rng = np.random.default_rng(0)
    tensors = {
        name: rng.normal(0, 0.3, size).astype(np.float32) for name, size in tensor_shapes(shape, spec.interface).items()
    }
    write_bundle(tmp_path / "m.zip", make_bundle(spec, shape, tensors, empty_normalizer(shape, spec.interface)))
    return tmp_path / "m.zip"


def test_a_check_measures_what_the_file_says_on_other_matches_and_changes_nothing(model, capsys):
    with pytest.raises(UserError, match="was never measured"):
        calibrate(str(model), check=True)
    calibrate(str(model), against=["self", "random"], matches=100)
    kept, data = read_bundle(model).metadata.calibration, model.read_bytes()
    assert [(c.opponent, c.matches) for c in kept] == [("self", 100), ("random", 100)]
    capsys.readouterr()
    assert calibrate(str(model), matches=100, check=True, seed=5) == 0
    rows = [line.split("│")[1:-1] for line in capsys.readouterr().out.splitlines() if line.startswith("│")]
    rows = {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows}
    assert list(rows) == ["self", "random"] and model.read_bytes() == data
    for c in kept:
        matches, *_, slope, offset = rows[c.opponent]
        assert (matches, slope, offset) == ("100", f"{c.slope:.3f}", f"{c.offset:+.3f}")
    assert rows["random"][1:4] != [f"{n:.4f}" for n in (kept[1].brier, kept[1].constant, kept[1].error)], (
        "other matches"
    )
    with pytest.raises(UserError, match="never measured against 'tactician'"):
        calibrate(str(model), against=["tactician"], check=True)
