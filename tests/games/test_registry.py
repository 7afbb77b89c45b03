from dataclasses import replace
from importlib.metadata import EntryPoint

import pytest

from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.games.tooling import Demo, Tooling
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


def test_every_game_comes_once_and_one_that_does_not_load_is_left_out(monkeypatch):
    entries = registry._entries() | {"bad": EntryPoint("bad", "no_such_package:GAME", registry.GROUP)}
    monkeypatch.setattr(registry, "_entries", lambda: entries)
    names = [game.name for game in registry.every()]
    assert len(names) == len(set(names)) and {"connect4", "nh"} <= set(names) and not {"bad", "NhEnv"} & set(names)


def test_an_ability_is_that_of_the_named_game_or_of_the_only_one(monkeypatch):
    def demo(tools):
        return tools.demo

    plan = Demo("own/preset")
    own = {"connect4": replace(CONNECT4, tooling=Tooling(demo=plan)), "probe": PROBE}
    monkeypatch.setattr(registry, "names", lambda: sorted(own))
    monkeypatch.setattr(registry, "find", own.__getitem__)
    assert registry.ability(demo, "demo") is registry.ability(demo, "demo", "connect4") is plan
    with pytest.raises(UserError, match="game 'probe' has no demo — choose from: connect4"):
        registry.ability(demo, "demo", "probe")
    own["more"] = replace(PROBE, name="more", tooling=Tooling(demo=plan))
    with pytest.raises(UserError, match="which game's demo\\? — name one with --game, choose from: connect4, more"):
        registry.ability(demo, "demo")
    own["connect4"] = own["more"] = PROBE
    with pytest.raises(UserError, match="which game's demo\\? — no installed game has it"):
        registry.ability(demo, "demo")


class Elsewhere:
    """A game that does not run here although its type says so."""

    runs_elsewhere = True
    is_closed = False

    def close(self):
        self.is_closed = True


def test_a_game_is_built_here_or_refused_in_one_sentence():
    words = "game '{}' runs in other processes — this works with games that run here"
    assert registry.build_here(CONNECT4, CONNECT4.config(), 3).matches == 3
    vgc, nh = registry.find("vgc"), registry.find("nh")
    with pytest.raises(UserError, match=words.format("vgc")):
        registry.build_here(vgc, vgc.config(), 1)
    there = registry.configure(nh, {"remote": "127.0.0.1:7070"})
    assert nh.runs_elsewhere(there) and not nh.runs_elsewhere(nh.config())
    with pytest.raises(UserError, match=words.format("nh")):
        registry.build_here(nh, there, 1)
    built = Elsewhere()
    with pytest.raises(UserError, match=words.format("connect4")):
        registry.build_here(replace(CONNECT4, build=lambda config, matches: built), CONNECT4.config(), 1)
    assert built.is_closed


def test_a_plug_in_needs_five_fields():
    made = registry.GameType(CONNECT4.name, CONNECT4.title, CONNECT4.config, CONNECT4.spec, CONNECT4.build)
    assert (made.presentation.page, made.tooling.setup, made.tooling.bench_matches) == (None, None, 1024)
    assert not made.runs_elsewhere(made.config()) and made.reproducible and not made.symmetric
    assert hash(made) == hash(replace(made)), "configurations are kept by game"


def test_every_page_view_is_there():
    for game in registry.every():
        page = game.presentation.page
        for name in (page.module, *page.styles) if page is not None else ():
            assert (page.folder / name).is_file(), f"{game.name}: {name}"
