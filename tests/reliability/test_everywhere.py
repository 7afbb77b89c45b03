"""R20: the same run in other places and times gives the same bits: locales, clocks that jump, odd and long paths."""

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pvp_ml.run.config.schema import load_config
from pvp_ml.run.store.run_store import RunStore
from pvp_ml.run.tracking.tracker import JsonLines, Tracker
from pvp_ml.run.trainer import Run, train

SCRIPT = f"""
import locale, sys
locale.setlocale(locale.LC_ALL, sys.argv[2])
sys.path.insert(0, {str(Path(__file__).parent)!r})
from pathlib import Path
from test_everywhere import trained
print(locale.str(1.5))
print(trained(Path(sys.argv[1])))
"""


def trained(folder: Path) -> str:
    """SHA-256 over everything that a short run leaves in its checkpoint, but for the clock."""
    words = ["--env.name", "connect4", "--env.matches", "8", "--ppo.n-steps", "8", "--ppo.batch-size", "32",
             "--run.shards", "1", "--network.trunk", "[8]", "--eval.every", "0", "--run.directory", str(folder),
             "--run.name", "r", "--run.total-steps", "192", "--run.milestone-every", "64",
             "--self-play.strategy", "past", "--self-play.snapshot-every", "64"]  # fmt: skip
    config = load_config("", words, Path.cwd())
    store, tracker = RunStore(folder, "r"), Tracker()
    with contextlib.closing(Run(config, store, tracker)) as run:
        tracker.add("metrics.jsonl", JsonLines(store.metrics, 0))
        train(run)
    with contextlib.closing(Run(config, store, Tracker())) as run:  # what was written is read again there
        assert run.resume()
        assert run.progress.steps == 192
    assert store.milestone_names() == ["64", "128", "192"]
    files = {k: v for k, v in store.latest().files.items() if k not in ("clock.json", "config.json")}
    return hashlib.sha256(b"".join(name.encode() + data for name, data in sorted(files.items()))).hexdigest()


@pytest.fixture(scope="module")
def wanted(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("plain"))


@pytest.mark.parametrize(
    "name", ["spaces and ' quotes", "ünïcödé 漢字 🥊", "İstanbul ıi", "-dash", "a" * 200 + "/" + "b" * 200]
)
def test_odd_and_long_paths(tmp_path, wanted, name):
    assert trained(tmp_path / name) == wanted


@pytest.mark.parametrize("jump_s", [3600.0, -3600.0])
def test_clocks_that_jump(tmp_path, wanted, monkeypatch, jump_s):
    """The wall clock jumps by an hour at every other look; milestones keep their order by what is in them."""
    real, looks = time.time, [0]

    def jumping():
        looks[0] += 1
        return real() + (jump_s if looks[0] % 2 else 0.0)

    monkeypatch.setattr(time, "time", jumping)
    assert trained(tmp_path) == wanted


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["tr_TR", "de_DE"])
def test_locales(tmp_path, wanted, name):
    """Turkish (its i is special) and German (its comma is), made here where the system does not have them."""
    if shutil.which("localedef") is None or not Path(f"/usr/share/i18n/locales/{name}").exists():
        pytest.skip("needs localedef and the sources of locales")
    subprocess.run(["localedef", "-i", name, "-f", "UTF-8", str(tmp_path / f"{name}.UTF-8")], check=False)
    there = {**os.environ, "LOCPATH": str(tmp_path), "LC_ALL": f"{name}.UTF-8"}
    words = [sys.executable, "-c", SCRIPT, str(tmp_path / "run"), f"{name}.UTF-8"]
    done = subprocess.run(words, env=there, capture_output=True, text=True)
    assert done.stdout.splitlines() == [{"tr_TR": "1,5", "de_DE": "1,5"}[name], wanted], done.stderr[-2000:]
