from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from pvp_ml.errors import UserError
from pvp_ml.rl.schedule.schedule import Constant, Schedule
from pvp_ml.run.config.flags import options_of, read_flags, short_names
from pvp_ml.run.config.presets import Layer
from pvp_ml.run.config.validate import Section, read_settings


class Inner(BaseModel):
    weight: Schedule = Field(Constant(0.5), description="how much")


class Learner(Section):
    learning_rate: Schedule = Field(Constant(3e-4), description="step size")
    layers: tuple[int, ...] = (64, 64)
    normalize: bool = True
    device: Literal["auto", "cpu"] = "auto"
    limit: Annotated[float, Field(gt=0)] | None = None
    by_head: dict[str, Schedule] = Field({})
    magnet: Inner = Inner()


class Other(Section):
    name: str = ""
    seed: int = 0
    weight: int = 0


class Whole(Section):
    learner: Learner = Learner()
    other: Other = Other()


OPTIONS = list(options_of(Whole))
ALIASES = {**short_names(OPTIONS), "lr": ("learner", "learning_rate")}


def read(*words: str) -> Whole:
    return read_settings(Whole, read_flags(words, OPTIONS, ALIASES))


def test_every_field_is_a_flag():
    assert [(o.flag, o.kind) for o in OPTIONS] == [
        ("--learner.learning-rate", "schedule"),
        ("--learner.layers", "list of whole numbers"),
        ("--learner.normalize", "true/false"),
        ("--learner.device", "auto, cpu"),
        ("--learner.limit", "number or none"),
        ("--learner.by-head", "mapping"),
        ("--learner.magnet.weight", "schedule"),
        ("--other.name", "text"),
        ("--other.seed", "whole number"),
        ("--other.weight", "whole number"),
    ]
    assert OPTIONS[0].doc == "step size"
    assert OPTIONS[0].default == Constant(3e-4)


def test_values():
    whole = read(
        "--lr", "3e-5", "--learner.layers", "[8, 8, 8]", "--no-normalize", "--device=cpu", "--limit", "2",
        "--by-head.move-left", "{type: linear, initial_value: 1, final_value: 0, change_over_time_steps: 3}",
        "--name", "007", "--seed", "5",
    )  # fmt: skip
    assert whole.learner.learning_rate == Constant(3e-5)
    assert whole.learner.layers == (8, 8, 8)
    assert not whole.learner.normalize
    assert (whole.learner.device, whole.learner.limit) == ("cpu", 2.0)
    assert list(whole.learner.by_head) == ["move-left"]
    assert (whole.other.name, whole.other.seed) == ("007", 5)


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (["--normalize"], True),
        (["--normalize", "false"], False),
        (["--no-normalize"], False),
        (["--normalize=no"], False),
    ],
)
def test_switches(words, value):
    assert read(*words, "--seed", "3").learner.normalize is value


@pytest.mark.parametrize(
    ("words", "layers"),
    [
        (["--layers", "8", "16", "32"], (8, 16, 32)),
        (["--layers", "8,16"], (8, 16)),
        (["--layers", "8"], (8,)),
        (["--layers", "[8, 16]"], (8, 16)),
        (["--layers=8,16"], (8, 16)),
    ],
)
def test_a_list_is_written_with_blanks_commas_or_brackets(words, layers):
    whole = read(*words, "--seed", "3")
    assert (whole.learner.layers, whole.other.seed) == (layers, 3)


def test_entries_of_mappings_and_fields_inside_them():
    words = ["--by-head.move-left.final-value", "2", "--learner.by_head.x", "3"]
    layer = read_flags(words, OPTIONS, ALIASES)
    assert layer.data == {"learner": {"by_head": {"move-left": {"final_value": 2}, "x": 3}}}


def test_the_last_of_two_equal_flags_wins():
    assert read("--seed", "1", "--other.seed", "2").other.seed == 2


def test_short_names_are_only_those_that_are_unique():
    assert short_names(OPTIONS)["learning-rate"] == ("learner", "learning_rate")
    assert "weight" not in short_names(OPTIONS)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--leerning-rate", "1"], "there is no flag --leerning-rate — did you mean --learning-rate?"),
        (["--zzz"], "`pvp-ml config options` lists all"),
        (["seed", "1"], "'seed' is not a flag"),
        (["--seed"], "--seed needs a value (whole number)"),
        (["--seed", "--normalize"], "--seed needs a value"),
        (["--seed", "x"], "--seed: other.seed = 'x': input should be a valid integer"),
        (["--layers", "[1"], "--layers '[1': line 1"),
        (["--device", "gpu"], "--device: learner.device = 'gpu': input should be 'auto' or 'cpu'"),
        (["--lr", "fast"], "--lr: learner.learning_rate = 'fast': 'fast' is not a number — use a finite number"),
        (["--other.seed.x", "1"], "there is no flag --other.seed.x"),
        (["--no-seed"], "there is no flag --no-seed"),
    ],
)
def test_errors_are_one_line(words, says):
    with pytest.raises(UserError) as caught:
        read(*words)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (
            {"learner": {"learning-rat": 1}},
            "a.yml: there is no setting 'learner.learning-rat' — did you mean 'learning_rate'?",
        ),
        ({"lerner": {}}, "a.yml: there is no setting 'lerner' — did you mean 'learner'?"),
        ({"learner": 3}, "a.yml: learner = 3: "),
        ({"other": {"seed": "x", "weight": "y"}}, "other.seed = 'x'"),
        ({"other": {"seed": "x", "weight": "y"}}, "(and 1 more)"),
        ({"learner": {"magnet": {"weight": "x" * 500}}}, "learner.magnet.weight = '" + "x" * 58 + "…"),
    ],
)
def test_file_errors_name_the_file(data, says):
    with pytest.raises(UserError) as caught:
        read_settings(Whole, Layer.of(data, "a.yml"))
    assert says in str(caught.value)


def test_dashes_and_underscores_are_the_same():
    data = {"learner": {"learning-rate": 1, "by-head": {"move-left": 2}}}
    assert read_settings(Whole, Layer.of(data, "a.yml")).learner.by_head == {"move-left": Constant(2.0)}
