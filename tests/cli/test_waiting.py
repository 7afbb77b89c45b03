"""The line that people see while a command loads."""

import io
import os
import pty
import subprocess
import sys
import time

import pytest

from pvp_ml.cli import waiting
from pvp_ml.cli.waiting import ERASE, WaitingLine


class Stream(io.StringIO):
    """A text stream whose methods can be replaced, as those of a terminal can."""


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(waiting, "DELAY_S", 0.01)
    monkeypatch.setattr(waiting, "REFRESH_S", 0.01)


def test_the_first_output_erases_the_line(quick):
    out, err = Stream(), Stream()
    line = WaitingLine("pvp-ml train", err, (out, err))
    line.start()
    until = time.monotonic() + 5
    while "working" not in err.getvalue() and time.monotonic() < until:
        time.sleep(0.01)
    assert err.getvalue().startswith(f"{ERASE}pvp-ml train: working … 0 s")
    print("result", file=out)
    shown = err.getvalue()
    assert shown.endswith(ERASE)
    time.sleep(0.05)
    assert err.getvalue() == shown, "nothing is shown once the command speaks"
    assert out.getvalue() == "result\n"
    assert "write" not in vars(out) and "write" not in vars(err), "the streams are as they were"


def test_a_quick_command_shows_nothing(monkeypatch):
    monkeypatch.setattr(waiting, "DELAY_S", 5.0)
    out, err = Stream(), Stream()
    line = WaitingLine("pvp-ml", err, (out, err))
    line.start()
    out.write("at once")
    line.stop()
    assert (out.getvalue(), err.getvalue()) == ("at once", "")


SLOW = """
import sys, time
from pvp_ml.cli.waiting import waiting_line
with waiting_line("pvp-ml eval"):
    time.sleep(1.0)
    print("done")
"""


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs pseudo-terminals")
def test_on_a_terminal_it_is_erased_and_in_a_log_it_is_one_line():
    ours, theirs = pty.openpty()
    subprocess.run([sys.executable, "-c", SLOW], stdout=theirs, stderr=theirs, timeout=60, check=True)
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    os.close(theirs)
    assert "pvp-ml eval: working … " in shown and shown.rstrip().endswith(f"{ERASE}done")
    piped = subprocess.run([sys.executable, "-c", SLOW], capture_output=True, text=True, timeout=60, check=True)
    assert (piped.stdout, piped.stderr) == ("done\n", "pvp-ml eval: working …\n")


def test_it_names_the_library_that_our_code_asked_for(tmp_path, monkeypatch):
    """Seen from the middle of an import: `outer` is what was asked for, `inner` is what that needs."""
    (tmp_path / "outer_library.py").write_text("import inner_library as inner\n")
    (tmp_path / "inner_library.py").write_text("from pvp_ml.cli import waiting\nSEEN = waiting.what_is_loading()\n")
    monkeypatch.syspath_prepend(tmp_path)
    import outer_library

    assert outer_library.inner.SEEN == "loading outer_library"
    assert waiting.what_is_loading() == "working"
