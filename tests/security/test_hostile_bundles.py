"""R13: every hostile bundle is refused, quickly, in little memory, and nothing happens besides."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hostile_bundles import big_network_bundle, cases, good, zipped
from hostile_bundles import good_members as members_of_good

from pvp_ml.model.bundle import pack_bundle, read_bundle


def read_watched(folder, files):
    """Reports of read_hostile.py; the valid bundle goes first."""
    (folder / "000.zip").write_bytes(pack_bundle(good()))
    for number, data in enumerate(files, 1):
        (folder / f"{number:03d}.zip").write_bytes(data)
    script = Path(__file__).with_name("read_hostile.py")
    done = subprocess.run([sys.executable, str(script), str(folder)], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def check(name, report):
    """What R13 promises of one file."""
    assert report["error"], f"{name}: accepted"
    assert "ACCIDENT" not in report["error"], f"{name}: {report['error']}"
    assert "\n" not in report["error"] and len(report["error"]) < 600, f"{name}: {report['error']}"
    assert report["seconds"] < 1.0, f"{name}: {report['seconds']} s"
    assert report["peak"] < 64 << 20, f"{name}: {report['peak']} bytes"
    assert report["events"] == [], f"{name}: {report['events']}"


def test_all_hostile_files_are_refused(tmp_path):
    named = list(cases())
    assert len(named) >= 120
    assert len({name for name, _ in named}) == len(named)
    reports = read_watched(tmp_path, [data for _, data in named])
    assert len(reports) == len(named)
    for (name, _), report in zip(named, reports, strict=True):
        check(name, report)
    slowest, most = (max(report[key] for report in reports) for key in ("seconds", "peak"))
    print(f"figures: {len(reports)} hostile files refused, slowest {slowest:.2f} s, {most / 2**20:.0f} MiB at most")


def test_a_big_file_is_refused_without_keeping_it(tmp_path):
    (report,) = read_watched(tmp_path, [big_network_bundle(fill_nan_at_end=True)])
    check("200 MiB, one NaN", report)
    assert "not finite" in report["error"]


def test_the_untouched_bundle_is_accepted_stored_and_deflated():
    members = members_of_good()
    assert read_bundle(zipped(members.values())).content_hash == good().content_hash
    text = {name for name in members if not name.endswith("safetensors")}
    from dataclasses import replace

    packed = [replace(m, method=8) if name in text else m for name, m in members.items()]
    assert read_bundle(zipped(packed)).content_hash == good().content_hash


@pytest.mark.skipif(sys.platform == "win32", reason="no FIFO there")
def test_a_pipe_is_not_waited_for(tmp_path):
    import os

    from pvp_ml.model.bundle import BundleError

    os.mkfifo(tmp_path / "pipe.zip")
    with pytest.raises(BundleError, match="is not a file"):
        read_bundle(tmp_path / "pipe.zip")
