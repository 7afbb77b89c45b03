"""Models to serve, and one server that all tests of this folder share."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from served_duel import NETWORKS, bundle_of, running

from pvp_ml.model.bundle import write_bundle


@pytest.fixture(scope="session")
def models_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for i, (name, network) in enumerate(NETWORKS.items()):
        write_bundle(folder / f"{name}.zip", bundle_of(network, i))
    return folder


@pytest.fixture(scope="session")
def server(models_dir):
    with running(models_dir=models_dir) as server:
        yield server
