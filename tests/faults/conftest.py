"""Shards that start in a moment: forked from a server that has imported everything, where a user's are spawned.

A spawned one takes seconds to import torch, which proves nothing more. Tests that start a real trainer still spawn.
"""

import multiprocessing
import os

import pytest

from pvp_ml.cluster import local


@pytest.fixture(autouse=True)
def quick_shards(monkeypatch):
    if os.name != "nt":
        multiprocessing.set_forkserver_preload(["pvp_ml.cluster.local"])
        monkeypatch.setattr(local, "CONTEXT", multiprocessing.get_context("forkserver"))
