"""The table of promises names tests that exist: a promise whose file moved would fail only at night."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from table import PROMISES, ROOT


def test_every_promise_names_files_that_exist():
    assert [f"R{i}" for i in range(1, 21)] == [name for name in PROMISES if name.startswith("R")]
    named = {
        (word.split("::")[0], word) for _, words in PROMISES.values() for word in words if word.startswith("tests")
    }
    assert not [file for file, _ in named if not (ROOT / file).exists()]
    for file, word in named:
        if "::" in word:
            assert f"def {word.split('::')[1]}" in Path(ROOT / file).read_text()
