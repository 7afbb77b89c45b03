"""What a bot author reads about a model."""

from pathlib import Path

import pytest

from pvp_ml.data_files import PACKAGE
from pvp_ml.model.bundle import read_bundle
from pvp_ml.serve.describe import describe
from pvp_ml.serve.models import PolicyModel


def test_features_say_what_they_looked_like_in_training():
    bundle = read_bundle(Path(PACKAGE / "models" / "GeneralizedNh.zip"))
    facts = describe(PolicyModel("GeneralizedNh", bundle, 1))
    row = next(row for row in facts["features"] if row["name"] == "player_health_percent")
    mean, variance = (float(bundle.normalizer[f"obs/{part}"][row["index"]]) for part in ("mean", "var"))
    assert row["seen"]["mean"] == pytest.approx(mean, rel=1e-3)
    assert row["seen"]["std"] == pytest.approx(variance**0.5, rel=1e-3)
    assert 0.3 < row["seen"]["mean"] < 1.0, "a share of hitpoints"
