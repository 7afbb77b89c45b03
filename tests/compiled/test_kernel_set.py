"""Compiled code is kept between starts, in one place whatever the checkout, and never stale."""

import gc
import importlib.util
import io
import subprocess
import sys
import threading
import time

import pytest

from pvp_ml.compiled import progress
from pvp_ml.compiled.kernel_set import KernelSet

KERNEL = """
from pathlib import Path

from pvp_ml.compiled.kernel_set import KernelSet

SET = KernelSet("twice", lambda: [Path(__file__)])


@SET.kernel
def twice(x):
    return 2 * x
"""


@pytest.fixture
def kernels(monkeypatch, tmp_path):
    """A set of its own in an empty cache."""
    monkeypatch.setenv("PVP_ML_CACHE", str(tmp_path / "cache"))
    return KernelSet("few", lambda: ())


def checkout(folder, text=KERNEL):
    """A module with a kernel in a folder of its own."""
    folder.mkdir()
    (folder / "doubling.py").write_text(text)
    spec = importlib.util.spec_from_file_location("doubling", folder / "doubling.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_second_checkout_with_the_same_sources_compiles_nothing(monkeypatch, tmp_path):
    monkeypatch.setenv("PVP_ML_CACHE", str(tmp_path / "cache"))
    first = checkout(tmp_path / "first")
    assert first.twice(21) == 42
    assert sum(first.twice.stats.cache_misses.values()) == 1
    second = checkout(tmp_path / "second")
    assert second.twice(21) == 42
    assert sum(second.twice.stats.cache_hits.values()) == 1 and not second.twice.stats.cache_misses


def test_other_sources_have_another_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("PVP_ML_CACHE", str(tmp_path / "cache"))
    first = checkout(tmp_path / "first")
    other = checkout(tmp_path / "other", KERNEL.replace("2 * x", "3 * x"))
    assert (first.twice(5), other.twice(5)) == (10, 15)
    assert first.SET.folder != other.SET.folder


@pytest.mark.parametrize("setting", ["NUMBA_BOUNDSCHECK", "NUMBA_CPU_NAME"])
def test_what_changes_the_code_changes_the_folder(kernels, setting):
    code = "from pvp_ml.compiled.kernel_set import KernelSet; print(KernelSet('few', lambda: ()).key)"
    value = "1" if setting == "NUMBA_BOUNDSCHECK" else "generic"
    done = subprocess.run(
        [sys.executable, "-c", f"import os; os.environ['{setting}'] = '{value}'; {code}"],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert len(done.stdout.strip()) == 16 and done.stdout.strip() != kernels.key


def test_an_unwritable_cache_folder_is_replaced_by_a_temporary_one(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("PVP_ML_CACHE", str(tmp_path / "file"))
    instead = KernelSet("few", lambda: ()).folder
    assert instead.is_dir() and tmp_path not in instead.parents
    instead.rmdir()


def test_only_one_of_two_compiles_and_the_other_waits(kernels, capsys):
    began, may_end, played = threading.Event(), threading.Event(), []

    def compile_slowly():
        began.set()
        assert may_end.wait(120) and not gc.isenabled()
        played.append("first")

    first = threading.Thread(target=kernels.compile_once, args=(compile_slowly, "it"))
    first.start()
    assert began.wait(120)
    second = threading.Thread(target=kernels.compile_once, args=(lambda: played.append("second"), "it"))
    second.start()
    while "waiting for another process" not in capsys.readouterr().err:
        assert second.is_alive()
        time.sleep(0.01)
    may_end.set()
    first.join(120)
    second.join(120)
    assert played == ["first"] and gc.isenabled()
    kernels.compile_once(lambda: played.append("later"), "it")
    assert played == ["first"]


class Terminal(io.StringIO):
    """Somebody is looking."""

    def isatty(self):
        return True


def test_a_terminal_gets_a_bar_and_a_log_one_line(kernels, monkeypatch):
    monkeypatch.setattr(progress, "REFRESH_S", 0.01)
    twice, thrice = kernels.kernel(lambda x: 2 * x), kernels.kernel(lambda x: 3 * x)
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)

    def play():
        twice(1)
        until = time.monotonic() + 60
        while "1 of 2 functions" not in shown.getvalue() and time.monotonic() < until:
            time.sleep(0.01)
        thrice(1)

    kernels.compile_once(play, "it")
    assert "pvp-ml: compiling it (only once, about a minute) …\n" in shown.getvalue()
    assert f"{'█' * 15}{'░' * 15} 1 of 2 functions" in shown.getvalue()
    assert shown.getvalue().endswith(progress.ERASE)
    (kernels.folder / "complete").unlink()
    monkeypatch.setattr(sys, "stderr", log := io.StringIO())
    kernels.compile_once(lambda: time.sleep(0.05), "it")
    assert log.getvalue() == "pvp-ml: compiling it (only once, about a minute) …\n"


def test_a_compile_that_broke_off_is_made_up_for(kernels):
    with pytest.raises(KeyboardInterrupt):
        kernels.compile_once(lambda: (_ for _ in ()).throw(KeyboardInterrupt), "it")
    assert gc.isenabled()
    played = []
    kernels.compile_once(lambda: played.append("again"), "it")
    assert played == ["again"]
