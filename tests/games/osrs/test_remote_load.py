"""Remote fights under load, kills and stalls, against a real server process: `remote_load.py` prints the table."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from remote_load import MODES, Sizes, table


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform == "win32", reason="stops and goes on with processes")
@pytest.mark.parametrize("mode", MODES)
def test_nothing_hangs_and_nobody_is_left_behind(mode):
    results = table([mode], Sizes())
    assert [result.what for result in results if not result.holds] == []
