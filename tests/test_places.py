from pathlib import Path

import pytest

from pvp_ml import places


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
    assert places.find("models", name, (".zip",), here).read_text() == text


@pytest.mark.parametrize("name", ["", ".", "..", "c", "/", "models", "models/", "x/../../a", "C:\\a.zip"])
def test_what_is_not_there(here, name):
    assert places.find("models", name, (".zip",), here) is None


def test_a_climbing_name_is_only_a_path(here):
    assert places.find("models", "../secret.zip", (".zip",), here) == here / "../secret.zip"
    assert places.find("models", "../../secret", (".zip",), here) is None
    (here.parent / "home/secret.zip").write_text("no")
    assert places.find("models", "models/../../secret", (".zip",), Path(here / "models")) is None


def test_listed_once_each(here):
    found = dict(places.listed("models", (".zip",), here))
    assert found["a"].read_text() == "mine"
    assert found["b"].read_text() == "user"
