import sys
from pathlib import Path

import pytest

from pvp_ml import data_files


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.setenv("PVP_ML_HOME", str(tmp_path / "home"))
    for folder, text in (("here/models", "mine"), ("home/models", "user")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "a.zip").write_text(text)
    (tmp_path / "home/models/b.zip").write_text("user")
    (tmp_path / "secret.zip").write_text("secret")
    return tmp_path / "here"


@pytest.mark.parametrize(
    ("name", "text"), [("a", "mine"), ("a.zip", "mine"), ("models/a.zip", "mine"), ("b", "user"), ("models/b", "user")]
)
def test_order(here, name, text):
    assert data_files.find("models", name, (".zip",), here).read_text() == text


@pytest.mark.parametrize("name", ["", ".", "..", "c", "/", "models", "models/", "x/../../a", "C:\\a.zip"])
def test_what_is_not_there(here, name):
    assert data_files.find("models", name, (".zip",), here) is None


def test_a_climbing_name_is_only_a_path(here):
    assert data_files.find("models", "../secret.zip", (".zip",), here) == here / "../secret.zip"
    assert data_files.find("models", "../../secret", (".zip",), here) is None
    (here.parent / "home/secret.zip").write_text("no")
    assert data_files.find("models", "models/../../secret", (".zip",), Path(here / "models")) is None


def test_listed_once_each(here):
    found = dict(data_files.listed("models", (".zip",), here))
    assert found["a"].read_text() == "mine"
    assert found["b"].read_text() == "user"


def test_one_variable_moves_everything_that_can_be_made_again(monkeypatch, tmp_path):
    from pvp_ml.compiled.kernel_set import CORE, KernelSet
    from pvp_ml.games.rocket_league.arena import meshes
    from pvp_ml.games.vgc.node import install

    monkeypatch.setenv("PVP_ML_CACHE", str(tmp_path))
    kernels = KernelSet("core", lambda: ()).folder
    assert kernels.parent == tmp_path / "kernels" and kernels != CORE.folder
    assert meshes.cache_folder().parent == install._home().parent == tmp_path


@pytest.mark.skipif(sys.platform != "linux", reason="each platform has its own habit")
def test_the_cache_lies_where_linux_keeps_caches(monkeypatch):
    monkeypatch.delenv("PVP_ML_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/y")
    assert str(data_files.cache_folder()) == "/y/pvp-ml"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/h")
    assert str(data_files.cache_folder()) == "/h/.cache/pvp-ml"
