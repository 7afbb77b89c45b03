"""Every command line that help shows can be typed."""

import re
import shlex

import pytest

from pvp_ml.cli import COMMANDS, build
from pvp_ml.cli.examples import EXAMPLES
from pvp_ml.games import registry
from pvp_ml.run.config.schema import config_options, load_config

LINES = [re.split(r"\s{2,}", line.strip())[0] for text in EXAMPLES.values() for line in text.splitlines()]
COMMAND_LINES = [line for line in LINES if line.startswith("pvp-ml ")]


@pytest.mark.parametrize("line", COMMAND_LINES)
def test_an_example_parses(line, tmp_path):
    command, bound, _ = build().parse_args(shlex.split(line)[1:], exit_on_error=False, print_error=False)
    assert callable(command)
    flags = bound.arguments.get("flags", ())
    if shlex.split(line)[1] == "train":
        assert load_config(bound.arguments.get("preset", ""), flags, tmp_path).run.name
    else:
        assert flags == (), "the command does not know this flag"


def test_every_setting_that_train_help_lists_exists():
    options, aliases = config_options(registry.find("connect4"))
    known = {option.flag[2:] for option in options} | set(aliases)
    listed = [line.split()[0][2:] for line in LINES if line.startswith("--")]
    assert len(listed) >= 10
    assert [flag for flag in listed if flag not in known] == []


def test_examples_belong_to_commands_and_fit_a_terminal():
    assert set(EXAMPLES) == set(COMMANDS)
    assert [line for text in EXAMPLES.values() for line in text.splitlines() if len(line) > 80] == []
