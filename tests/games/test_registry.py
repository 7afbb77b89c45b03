from importlib.metadata import EntryPoint

import pytest

from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.games.toys.connect4 import GAME as CONNECT4
from pvp_ml.games.toys.probes import GAME as PROBE


def test_games_are_found_by_name_and_by_alias():
    assert registry.find("connect4") is registry.find("connect_four") is CONNECT4
    assert {"connect4", "kuhn", "matching_pennies", "rock_paper_scissors", "probe"} <= set(registry.names())


def test_every_alias_is_registered_and_leads_to_its_game():
    for name in ("connect4", "kuhn", "matching_pennies", "rock_paper_scissors", "biased_rock_paper_scissors"):
        game = registry.find(name)
        assert game.name == name
        assert all(registry.find(alias) is game for alias in game.aliases)


def test_an_unknown_name_gets_the_nearest_one():
    with pytest.raises(UserError, match="there is no game 'conect4' — did you mean 'connect4'"):
        registry.find("conect4")
    with pytest.raises(UserError, match=r"known games: .*kuhn"):
        registry.find("zzzzzz")


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("pvp_ml.games.registry:GROUP", "gives str — it must give a GameType"),
        ("no_such_package:GAME", "does not load: ModuleNotFoundError.*repair its package"),
        ("pvp_ml.games.registry:NOTHING", "does not load: AttributeError"),
    ],
)
def test_a_broken_entry_point_is_named(monkeypatch, value, says):
    monkeypatch.setattr(registry, "_entries", lambda: {"bad": EntryPoint("bad", value, registry.GROUP)})
    with pytest.raises(UserError, match=says):
        registry.find("bad")


def test_settings_are_checked_by_name():
    assert registry.configure(PROBE, {"kind": "memory", "gap": 9}).gap == 9
    with pytest.raises(UserError, match="game 'probe' has no setting 'knd' — did you mean 'kind'"):
        registry.configure(PROBE, {"knd": "memory"})
    with pytest.raises(UserError, match="setting 'gap': Input should be greater than or equal to 1 — got 0"):
        registry.configure(PROBE, {"gap": 0})
    with pytest.raises(UserError, match="its settings: none"):
        registry.configure(CONNECT4, {"x": 1})
