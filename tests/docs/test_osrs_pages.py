"""The numbers on docs/games/nh.md and dharok.md are those of the code."""

import re
from pathlib import Path

import pytest

from pvp_ml.games import registry
from pvp_ml.games.osrs import items as I
from pvp_ml.games.osrs import state as S
from pvp_ml.games.osrs.fights import NH_BUILDS, NhConfig
from pvp_ml.games.osrs.kernels import combat
from pvp_ml.games.osrs.kernels.fighter import brew_heal

ROOT = Path(__file__).parents[2]
NH = (ROOT / "docs/games/nh.md").read_text(encoding="utf-8")
DHAROK = (ROOT / "docs/games/dharok.md").read_text(encoding="utf-8")
SPELLS = (
    "Ice Rush",
    "Ice Burst",
    "Ice Blitz",
    "Ice Barrage",
    "Blood Rush",
    "Blood Burst",
    "Blood Blitz",
    "Blood Barrage",
)
SPECIALS = {
    "Dragon dagger": S.DRAGON_DAGGER,
    "Armadyl godsword": S.ARMADYL_GODSWORD,
    "Ancient godsword": S.ANCIENT_GODSWORD,
    "Dragon claws": S.DRAGON_CLAWS,
    "Granite maul": S.GRANITE_MAUL,
    "Vesta's longsword": S.VESTAS_LONGSWORD,
    "Statius's warhammer": S.STATIUS_WARHAMMER,
    "Armadyl crossbow": S.ARMADYL_CROSSBOW,
    "Zaryte crossbow": S.ZARYTE_CROSSBOW,
    "Heavy and light ballista": S.BALLISTA,
    "Morrigan's javelin": S.MORRIGANS_JAVELIN,
    "Dragon knives": S.DRAGON_KNIFE,
    "Dark bow": S.DARK_BOW,
    "Volatile nightmare staff": S.VOLATILE_STAFF,
}


def cells(page: str, first: str) -> list[str]:
    """The row of a table that begins with this cell."""
    return [cell.strip() for cell in re.search(rf"^\| {re.escape(first)} \|(.*)\|$", page, re.MULTILINE)[1].split("|")]


@pytest.mark.parametrize(("name", "number"), [(name, i + 1) for i, name in enumerate(SPELLS)])
def test_spells(name, number):
    level, most, freeze, heal = cells(NH, name)
    assert (int(level), int(most)) == (combat.SPELL_LEVEL[number], combat.SPELL_MAX[number])
    assert int(freeze or 0) == combat.SPELL_FREEZE[number]
    assert int(heal.removesuffix(" %") or 0) == round(100 * combat.SPELL_HEAL[number])


@pytest.mark.parametrize("name", SPECIALS)
def test_specials(name):
    energy, effect = cells(NH, name)
    special = SPECIALS[name]
    assert int(energy) == I.SPEC_COST[special]
    factors = [float(found) for found in re.findall(r"× (\d+(?:\.\d+)?)(?! /)", effect)] if "263" not in effect else []
    known = {combat.SPECIAL_ACCURACY[0, special], combat.SPECIAL_STRENGTH[special]} - {1.0}
    assert set(factors) <= known | {2.0}
    assert known - {1.5} <= set(factors), "a factor is missing; the dark bow's is hidden by its limits"


@pytest.mark.parametrize("build", NH_BUILDS)
def test_builds(build):
    levels = I.loadout(build)["levels"]
    row = cells(NH, build)
    shown = [int(cell) for cell in row[:6]]
    assert shown == [levels[skill] for skill in ("attack", "strength", "defence", "ranged", "magic", "prayer")]
    for cell, style in zip(row[6:], ("mage", "ranged", "melee", "spec"), strict=True):
        weapon = I.loadout(build)["sets"][style][0]
        assert weapon.startswith(cell.lower().replace("'", "").replace(" ", "_"))


def test_food_and_limits():
    assert "heals 16 at 99, up to 115" in NH
    assert (brew_heal(99), 99 + brew_heal(99)) == (16, 115)
    assert f"{NhConfig().max_ticks:,}" in NH
    assert combat.protected(100) == 60 and "leaves 60 %" in NH


@pytest.mark.parametrize(("game", "page"), [("nh", NH), ("dharok", DHAROK)])
def test_every_head_is_listed(game, page):
    kind = registry.find(game)
    for head in kind.spec(kind.config()).heads:
        assert f"`{head.name}`" in page


def test_dharok():
    assert round(float(combat.dharok_factor(1, 99)), 2) == 1.97 and "× 1.97" in DHAROK
    for name, item in (("Abyssal tentacle", I.ABYSSAL_TENTACLE), ("Dharok's greataxe", I.DHAROKS_AXE)):
        assert cells(DHAROK, name) == [str(I.ITEM_SPEED[item])]
