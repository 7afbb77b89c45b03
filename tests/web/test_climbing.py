"""The arena offers the game's ladder in order, and models held back where their dial was measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.web.arena import Arena, ArenaConfig
from pvp_ml.web.minds import PolicyMind, ScriptedMind
from pvp_ml.web.player_list import STRENGTHS, PlayerList


def test_rungs_are_numbered_in_the_order_of_the_ladder():
    facts = Arena(ArenaConfig("nh"), Path.cwd(), lambda: 0.0).facts()
    rungs = {c["rung"]: c for c in facts["contestants"] if c["rung"]}
    ladder = registry.find("nh").presentation.ladder
    assert [rungs[n]["name"] for n in range(1, 9)] == [name for name, _ in ladder]
    assert rungs[8]["about"].startswith(f"rung 8 of 8, {ladder[-1][1]:.0f} points: ")
    assert next(c for c in facts["contestants"] if c["name"] == "nh-bot")["rung"] == 0


def test_a_measured_model_is_listed_at_several_strengths():
    listed = PlayerList(registry.find("nh"), Path.cwd(), "").listed
    names = [p.name for p in listed.values() if p.kind == "strength"]
    assert names == [f"GeneralizedNh@strength={strength}" for strength in STRENGTHS]


def test_a_strength_may_be_named_and_then_decides_without_a_thought():
    players = PlayerList(registry.find("nh"), Path.cwd(), "GeneralizedNh@strength=33")
    assert players.default == "model:GeneralizedNh@strength=33"
    seats = ["you", players.default]
    assert isinstance(players.mind(players.default, 1, seats), ScriptedMind)
    assert isinstance(players.mind("model:GeneralizedNh", 1, seats), PolicyMind)
    with pytest.raises(UserError, match="strength is 900"):
        PlayerList(registry.find("nh"), Path.cwd(), "GeneralizedNh@strength=900")


def test_settings_of_the_game_given_with_the_command_hold_on_the_page():
    account = {"account": "maxed"}
    arena = Arena(ArenaConfig("nh", given=account), Path.cwd(), lambda: 0.0)
    assert dict(arena.spec.parameters)["account"]
