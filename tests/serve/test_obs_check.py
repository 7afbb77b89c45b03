"""`pvp-ml obs check`: each planted mistake is named, and a good log passes."""

import json

import numpy as np
import pytest

from pvp_ml.errors import UserError
from pvp_ml.games.registry import find
from pvp_ml.serve.obs_check import Reference, check_rows, read_log, sample_game
from pvp_ml.spec import Block, Feature, Head, Interface

NAMES = [f"f{i}" for i in range(20)]
INTERFACE = Interface(
    blocks=(
        Block("numbers", 1, tuple(Feature(name) for name in NAMES)),
        Block("rest", 1, (Feature("ready", "flag"), Feature("weapon", "id", 5), Feature("build", constant=True))),
    ),
    heads=(Head("h", ("a", "b")),),
)


def world(seed, count=400):
    """Column i has mean 3·i (in no order) and deviation 1 + i/10."""
    rng = np.random.default_rng(seed)
    i = np.arange(20)
    numbers = rng.normal(3.0 * ((i * 7) % 20), 1 + i / 10, (count, 20))
    return np.column_stack([numbers, rng.integers(0, 2, count), rng.integers(0, 5, count), np.full(count, 2.0)])


REFERENCE = Reference.of_rows(world(1))


def check(change):
    rows = world(2)
    change(rows)
    return [(f.columns, f.what) for f in check_rows(rows, INTERFACE, REFERENCE)]


def test_a_good_log_passes():
    assert check(lambda rows: None) == []


def test_a_constant_column_is_named_but_not_one_that_may_be_constant():
    ((columns, what),) = check(lambda rows: rows[:, 4].fill(REFERENCE.mean[4]))
    assert columns == (4, 4) and "never changes" in what


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        (3, 900.0, "out of range"),
        (20, 0.5, "is a flag, but holds 0.5"),
        (21, 5.0, "is an id in 0…5, but holds 5"),
        (21, 1.5, "but holds 1.5"),
        (21, -1.0, "but holds -1"),
        (7, np.nan, "1 values are not numbers"),
    ],
)
def test_a_single_bad_value_is_named(column, value, words):
    def plant(rows):
        rows[17, column] = value

    ((columns, what),) = check(plant)
    assert columns == (column, column) and words in what


def test_other_units_are_guessed():
    def percent(rows):
        rows[:, 5] *= 100

    ((columns, what),) = check(percent)
    assert columns == (5, 5) and "times too large: other units?" in what


def test_a_missing_column_shifts_the_rest():
    def drop(rows):
        rows[:, 6:19] = rows[:, 7:20].copy()  # feature 6 was forgotten

    (columns, what), *rest = check(drop)
    assert columns[0] == 6 and columns[1] >= 17 and "1 further on" in what and "missing in front" in what
    assert len(rest) <= 1


def test_an_extra_column_shifts_the_rest_the_other_way():
    def insert(rows):
        rows[:, 9:20] = rows[:, 8:19].copy()

    (columns, what), *_ = check(insert)
    assert columns[0] == 9 and "1 before" in what and "too many in front" in what


def test_the_wrong_width_is_said_first():
    (finding,) = check_rows(world(2)[:, :-1], INTERFACE, REFERENCE)
    assert finding.what == "22 numbers a row, the game has 23"


def test_logs_are_read_as_they_are_sent():
    lines = ['{"obs": [[1, true], [0, 0]], "model": "x"}', "", '{"obs": [2, 3.5]}', "[4, 5]"]
    assert read_log(lines).tolist() == [[1, 1], [2, 3.5], [4, 5]]
    for bad in (["{"], ['{"x": 1}'], ["[1, 2]", "[1]"], [], ['["a"]'], ["[" * 100_000]):
        with pytest.raises(UserError):
            read_log(bad)


def test_the_game_is_its_own_measure(tmp_path, capsys):
    game = find("connect4")
    built = game.build(game.config(), 16)
    rows = np.random.default_rng(0).permutation(sample_game(built, 300, 1))
    assert rows.shape[1] == built.spec.obs_size
    log = tmp_path / "log.jsonl"
    log.write_text("\n".join(json.dumps({"obs": [row]}) for row in rows[:300].tolist()))
    from pvp_ml.cli.obs import check as command

    assert command(log, game="connect4") == 0
    assert "300 rows, 0 finding(s)" in capsys.readouterr().out
    log.write_text("\n".join(json.dumps({"obs": [(np.array(row) * 7).tolist()]}) for row in rows[:300]))
    assert command(log, game="connect4") == 1
