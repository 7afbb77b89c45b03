"""Expert iteration: matches are kept in portions, the student moves towards its teacher, nothing is done twice."""

import json

import numpy as np
import pytest

from pvp_ml.cli import run
from pvp_ml.errors import UserError
from pvp_ml.model.bundle import read_bundle
from pvp_ml.run.config.schema import load_config
from pvp_ml.run.expert import ExpertRound, iterate, measure, taught
from pvp_ml.run.teachers import load_policy

GAME = ("--env.name", "rock_paper_scissors", "--network.trunk", "[8]")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A clone of a player who does anything."""
    folder = tmp_path_factory.mktemp("model")
    recording, clone = folder / "any.zip", folder / "model.zip"
    played = ["player:random", "--game", "rock_paper_scissors", "--matches", "40", "--out", str(recording)]
    assert run(["bc", "record", *played]) == 0
    assert run(["bc", "train", *GAME, "--recording", str(recording), "--out", str(clone), "--epochs", "1"]) == 0
    return clone


def asked(tmp_path, model, matches=120, **changes):
    """A round whose teacher always takes the first choice."""
    given = {"teacher": "noop", "opponents": ("random", "{model}"), "portion": 40, "epochs": 30, "learning_rate": 0.03}
    return ExpertRound(
        folder=tmp_path / "round", model=str(model), matches=matches, measured=60, against="random", settings={},
        **given | changes,
    )  # fmt: skip


def first_choices(config, model):
    """How often the model alone would take the first choice."""
    out = load_policy(config, str(model)).actor()
    decision = out.heads.decision(1, probs=True)
    spec = config.env.spec
    out.act(np.zeros((1, spec.obs_size), np.float32), np.ones((1, spec.mask_size), np.bool_), np.zeros(1, np.uint64),
            np.ones(1, np.bool_), decision)  # fmt: skip
    return float(decision.probs[0, 0])


def test_a_student_learns_what_the_teacher_does_and_a_second_call_does_nothing(tmp_path, model):
    config, said = load_config("", list(GAME), tmp_path), []
    wanted = asked(tmp_path, model)
    report = iterate(config, wanted, said.append)
    assert first_choices(config, model) < 0.6 and first_choices(config, wanted.folder / "student.zip") > 0.9
    assert [text.split(":")[0] for text in said] == ["0000.zip of 3", "0001.zip of 3", "0002.zip of 3", "student"]
    assert len(taught(config, wanted)) == 120  # one decision a match
    assert (report["before"]["matches"], report["after"]["matches"]) == (60, 60)
    assert report["before"]["low"] < report["before"]["score"] < report["before"]["high"]
    before = read_bundle(model)
    after = read_bundle(wanted.folder / "student.zip")
    for key, array in before.normalizer.items():
        np.testing.assert_array_equal(array, after.normalizer[key])  # its statistics stay
    said.clear()
    assert iterate(config, wanted, said.append) == report and said == []


def test_what_was_recorded_before_a_stop_is_kept(tmp_path, model):
    config, said = load_config("", list(GAME), tmp_path), []
    iterate(config, asked(tmp_path, model, matches=40), said.append)
    (tmp_path / "round" / "student.zip").unlink()
    iterate(config, asked(tmp_path, model, matches=80), said.append)
    assert [text.split(":")[0] for text in said if text.startswith("0")] == ["0000.zip of 1", "0001.zip of 2"]
    assert json.loads((tmp_path / "round" / "report.json").read_text())["teacher"] == "noop"


def test_what_cannot_teach_or_be_taught_is_named(tmp_path, model):
    config = load_config("", list(GAME), tmp_path)
    with pytest.raises(UserError, match="no recording"):
        taught(config, asked(tmp_path, model))
    with pytest.raises(UserError, match="no model 'nobody'"):
        load_policy(config, "nobody")
    other = load_config("", ["--env.name", "rock_paper_scissors", "--network.trunk", "[16]"], tmp_path)
    with pytest.raises(UserError, match=r"network of .* differs"):
        load_policy(other, str(model))
    assert measure(config, asked(tmp_path, model), str(model)).against == "random"
