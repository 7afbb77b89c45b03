"""The table of promises names tests that exist: a promise whose file moved would fail only at night."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from table import PROMISES, ROOT, run


def test_every_promise_names_files_that_exist():
    assert [f"R{i}" for i in range(1, 21)] == [name for name in PROMISES if name.startswith("R")]
    named = {
        (word.split("::")[0], word) for _, words in PROMISES.values() for word in words if word.startswith("tests")
    }
    assert not [file for file, _ in named if not (ROOT / file).exists()]
    for file, word in named:
        if "::" in word:
            assert f"def {word.split('::')[1]}" in Path(ROOT / file).read_text()


@pytest.mark.parametrize(
    ("body", "holds"), [("pass", "yes"), ("assert False", "NO"), ("__import__('pytest').skip('x')", "–")]
)
def test_a_promise_whose_tests_were_all_skipped_does_not_hold(tmp_path, body, holds):
    file = tmp_path / "test_promise.py"
    file.write_text(f"def test_it():\n    {body}\n")
    assert run([str(file)])[0] == holds
