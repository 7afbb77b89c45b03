"""Mapped memory: shared between processes, and nothing of dead ones stays."""

import os
import subprocess
import sys

from pvp_ml.cluster.memory import Segment, remove_orphans


def test_two_maps_of_one_file_see_each_other():
    first = Segment.create(4096)
    second = Segment(first.path, 4096)
    first.buffer[10:14] = b"abcd"
    assert bytes(second.buffer[10:14]) == b"abcd"
    first.remove()
    assert not first.path.exists()
    assert bytes(second.buffer[10:14]) == b"abcd", "what is mapped stays valid"


def test_files_of_dead_processes_are_removed_and_those_of_living_ones_stay(tmp_path):
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    child.wait()
    dead = tmp_path / f"pvp-ml-{child.pid}-abc.mem"
    mine = tmp_path / f"pvp-ml-{os.getpid()}-abc.mem"
    other = tmp_path / "notes.mem"
    for path in (dead, mine, other):
        path.write_bytes(b"x")
    remove_orphans(tmp_path)
    assert not dead.exists()
    assert mine.exists()
    assert other.exists()
