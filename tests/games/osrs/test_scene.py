"""A fight as a page draws it: the rows' own numbers, nothing that a screen would not show."""

import json

import numpy as np
import pytest

from pvp_ml import players
from pvp_ml.games import registry
from pvp_ml.games.osrs import items
from pvp_ml.games.osrs import state as S
from pvp_ml.games.osrs.show.scene import _dress, scene
from pvp_ml.match import External, MatchPlan, StepBuffers


@pytest.fixture(scope="module")
def fight():
    """(rows before the next tick, match row, scene) after every tick of a fight between random players."""
    kind = registry.find("nh")
    game = kind.build(kind.config(), 1)
    out = StepBuffers.allocate(game.spec, 1)
    player = players.make("random", game.spec)
    game.queue([MatchPlan(0, 5, (External("0"), External("1")), "default")])
    game.start(out)
    ticks, tick = [(game.fighters[0].copy(), game.state[0].copy(), scene(game))], 0
    while not (out.ended[0] or out.truncated[0]):
        keys = np.array([2 * tick + 1, 2 * tick + 2], np.uint64)
        actions = player.decide(np.zeros(2, np.int64), np.arange(2, dtype=np.int32), out.obs[0], out.mask[0], keys)
        game.step(actions[None].astype(np.int32), out)
        tick += 1
        ticks.append((game.fighters[0].copy(), game.state[0].copy(), scene(game)))
    return ticks


def test_numbers_are_those_of_the_rows(fight):
    for rows, match, drawn in fight:
        assert json.loads(json.dumps(drawn)) == drawn and drawn["tick"] == match[S.TICK]
        for me, shown in zip(rows, drawn["fighters"], strict=True):
            assert shown["hp"] == [me[S.HP], me[S.BASE_HP]] and shown["position"] == [me[S.X], me[S.Y]]
            assert shown["energy"] == me[S.ENERGY] and shown["dying"] == bool(me[S.DYING])
            assert (shown["attack"] is not None) == bool(me[S.TICK_HITS])
            assert shown["splats"] == {"count": me[S.SPLATS], "damage": me[S.SPLAT_DAMAGE]}
            assert shown["worn"].get("weapon") == (items.KEYS[me[S.WORN + S.WEAPON]] if me[S.WORN + S.WEAPON] else None)


def test_what_flies_shows_its_style_and_not_its_damage(fight):
    under_way = [hit for _, _, drawn in fight for fighter in drawn["fighters"] for hit in fighter["incoming"]]
    assert len(under_way) > 10 and all(set(hit) == {"delay", "style"} for hit in under_way)
    assert {hit["style"] for hit in under_way} <= {"melee", "ranged", "magic"}


def test_the_attack_is_shown_with_its_means(fight):
    attacks = [(f, f["attack"]) for _, _, drawn in fight for f in drawn["fighters"] if f["attack"]]
    assert len(attacks) > 20
    for fighter, attack in attacks:
        if attack["spell"]:
            assert attack["style"] == "magic"
        if attack["froze"]:
            assert attack["spell"].startswith("Ice")
        if attack["special"]:
            assert attack["energy"] > 0 or fighter["weapon_class"] == "granite_maul"


def test_the_last_tick_shows_the_fallen(fight):
    assert [any(f["dying"] for f in drawn["fighters"]) for *_, drawn in fight] == [False] * (len(fight) - 1) + [True]


@pytest.mark.parametrize(
    ("item", "made_for"),
    [("mystic_robe_top", "magic"), ("black_dhide_body", "ranged"), ("dharoks_platebody", "melee"), ("nothing", "none")],
)
def test_clothes_make_the_fighter(item, made_for):
    assert _dress(items.ITEM[item]) == made_for
