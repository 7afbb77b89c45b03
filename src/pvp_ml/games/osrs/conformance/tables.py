"""The tables of recorded fights: both fighters every tick, and every calculated attack. Nothing is trusted.

Limits come first: file size, line length, columns, value ranges. Then the text is parsed, and whatever does not fit is
refused with file and line.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pvp_ml.errors import UserError
from pvp_ml.games.osrs import items as I
from pvp_ml.games.osrs import state as S

Parsed = TypeVar("Parsed")

MAX_FILE_BYTES = 256 << 20
MAX_TEXT_BYTES = 4 << 30
MAX_LINE_BYTES = 1 << 16
MAX_VALUE = 1e6

STYLE_NAMES = {"MELEE": S.MELEE, "RANGED": S.RANGE, "MAGIC": S.MAGE}
SPELLS = {12861: 1, 12881: 2, 12871: 3, 12891: 4, 12901: 5, 12919: 6, 12911: 7, 12929: 8}
"""Our spell number of a game spell id: ice rush, burst, blitz, barrage, then blood."""
METHODS = {
    "DragonDagger": S.DRAGON_DAGGER,
    "ArmadylGodsword": S.ARMADYL_GODSWORD,
    "AncientGodsword": S.ANCIENT_GODSWORD,
    "DragonClaw": S.DRAGON_CLAWS,
    "GraniteMaul": S.GRANITE_MAUL,
    "VestasLongsword": S.VESTAS_LONGSWORD,
    "StatiusWarhammer": S.STATIUS_WARHAMMER,
    "ArmadylCrossbow": S.ARMADYL_CROSSBOW,
    "ZaryteCrossbow": S.ZARYTE_CROSSBOW,
    "Ballista": S.BALLISTA,
    "MorrigansJavelin": S.MORRIGANS_JAVELIN,
    "DragonKnife": S.DRAGON_KNIFE,
    "DarkBow": S.DARK_BOW,
    "VolatileNightmareStaff": S.VOLATILE_STAFF,
    "Melee": S.SPECIAL_NONE,
    "Ranged": S.SPECIAL_NONE,
    "Magic": S.SPECIAL_NONE,
}
TIMERS = (
    "COMBAT_ATTACK",
    "FOOD",
    "POTION",
    "KARAMBWAN",
    "FREEZE",
    "FREEZE_IMMUNITY",
    "VENGEANCE_COOLDOWN",
    "STAT_CHANGE",
)
"""Recorded timers, in the order of the timer columns of state.py."""


class TraceError(UserError):
    """A recorded file that does not keep to the format."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One fighter at the end of one tick."""

    tick: int
    pid: float
    x: int
    y: int
    levels: tuple[int, ...]
    prayers: int
    worn: tuple[int, ...]
    energy: int
    special_on: int
    vengeance: int
    inventory: tuple[int, ...]
    timers: tuple[int, ...]
    pending: int
    run_energy: int


@dataclass(frozen=True, slots=True)
class Fighter:
    """One side of a recorded attack at launch."""

    levels: tuple[int, ...]
    base_hp: int
    prayers: int
    worn: tuple[int, ...]
    bonuses: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Hit:
    """One calculated attack, with what the recording side computed for it."""

    number: int
    tick: int
    style: int
    special: int
    spell: int
    accurate: int
    parts: tuple[int, ...]
    delay: int
    speed: int
    attack_roll: int
    defence_roll: int
    chance: float
    max_hit: int
    distance: int
    protected: int
    attacker: Fighter
    victim: Fighter


# --- text ------------------------------------------------------------------------------------------------------------


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """(line number, text) of a gzip file, within limits."""
    if path.stat().st_size > MAX_FILE_BYTES:
        raise TraceError(f"{path.name} has {path.stat().st_size:,} bytes", f"the limit is {MAX_FILE_BYTES:,}")
    total = 0
    try:
        with gzip.open(path, "rb") as file:
            number = 0
            while raw := file.readline(MAX_LINE_BYTES + 1):
                number += 1
                total += len(raw)
                if len(raw) > MAX_LINE_BYTES or total > MAX_TEXT_BYTES:
                    raise TraceError(f"{path.name} line {number} passes the size limit", "is this a recorded fight?")
                yield number, raw.decode("utf-8").rstrip("\n")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise TraceError(f"{path.name} cannot be read: {error}", "it must be gzip with UTF-8 text") from error


def table_of(path: Path, wanted: tuple[str, ...]) -> Iterator[tuple[int, list[str]]]:
    """(line number, wanted columns) of a tab-separated file with a heading."""
    rows = lines_of(path)
    heading = next(rows, (0, ""))[1].split("\t")
    if missing := [name for name in wanted if name not in heading]:
        raise TraceError(f"{path.name} lacks the columns {missing}", f"it has {heading}")
    places = [heading.index(name) for name in wanted]
    for number, text in rows:
        cells = text.split("\t")
        if len(cells) != len(heading):
            raise TraceError(f"{path.name} line {number} has {len(cells)} columns, not {len(heading)}")
        yield number, [cells[place] for place in places]


def numbers(text: str, count: int = 0) -> tuple[int, ...]:
    """Whole numbers separated by commas; `count` 0 accepts 1…64 of them."""
    cells = text.split(",")
    if (count and len(cells) != count) or len(cells) > 64:
        raise ValueError(f"'{text[:40]}' must hold {count or 'at most 64'} numbers")
    values = tuple(int(cell) for cell in cells)
    if any(abs(value) > MAX_VALUE for value in values):
        raise ValueError(f"'{text[:40]}' leaves ±{MAX_VALUE:.0f}")
    return values


def prayer_bits(text: str) -> int:
    """Prayer numbers as a bit set; '-' is none."""
    if text == "-":
        return 0
    ids = numbers(text)
    if any(not 0 <= i < 31 for i in ids):
        raise ValueError(f"prayers '{text[:40]}' outside 0…30")
    return sum(1 << i for i in ids)


def items_of(ids: tuple[int, ...]) -> tuple[int, ...]:
    """Our item numbers of game item ids; an id that no loadout has (blood money after a death) becomes −1."""
    return tuple(I.INDEX_OF_ID.get(i, -1) for i in ids)


def worn_of(text: str) -> tuple[int, ...]:
    """Our 11 worn items from the game's 14 slots."""
    ids = numbers(text, 14)
    worn = items_of(tuple(ids[slot] for slot in I.GAME_SLOTS))
    if min(worn) < 0:
        raise ValueError(f"unknown item among the worn ids {text}")
    return worn


# --- tables ----------------------------------------------------------------------------------------------------------

STATE_TEXT = "server_tick ep ep_tick pid xy lvl prayers gear spec_pct spec_active veng inv timers pending run_energy"
STATE_COLUMNS = tuple(STATE_TEXT.split())
HIT_TEXT = "seq server_tick att_ep att_tick type method accurate hits delay speed att_roll def_roll hit_chance max_hit"
FIGHTER_TEXT = "lvl base prayers gear att_bonus def_bonus other_bonus"
HIT_COLUMNS = (
    *HIT_TEXT.split(),
    "spell",
    "distance",
    "target_protects",
    *(prefix + name for prefix in ("att_", "tgt_") for name in FIGHTER_TEXT.split()),
)


def _timers(text: str) -> tuple[int, ...]:
    """Ticks left of each of TIMERS; −1000 when it was never set."""
    found = dict.fromkeys(TIMERS, -1000)
    for entry in text.split(",") if text not in ("", "-") else ():
        name, _, value = entry.partition("=")
        if name in found:
            found[name] = int(value)
    return tuple(found.values())


def parse_sample(cells: list[str]) -> Sample:
    """One row of a state table."""
    x, y = numbers(cells[4], 2)
    return Sample(
        tick=int(cells[0]),
        pid=float(cells[3]),
        x=x,
        y=y,
        levels=numbers(cells[5], 7),
        prayers=prayer_bits(cells[6]),
        worn=worn_of(cells[7]),
        energy=int(cells[8]),
        special_on=int(cells[9]),
        vengeance=int(cells[10]),
        inventory=items_of(numbers(cells[11], 28)),
        timers=_timers(cells[12]),
        pending=int(cells[13]),
        run_energy=int(cells[14]),
    )


def _bonuses(attack: str, defence: str, other: str) -> tuple[int, ...]:
    return (*numbers(attack, 5), *numbers(defence, 5), *numbers(other, 4))


def parse_hit(cells: list[str]) -> Hit:
    """One row of a hit table."""
    c = dict(zip(HIT_COLUMNS, cells, strict=True))
    special = METHODS[c["method"].removesuffix("CombatMethod")]
    style = STYLE_NAMES[c["type"]]
    plain_spell = c["method"] == "MagicCombatMethod"

    def fighter(prefix: str) -> Fighter:
        return Fighter(
            levels=numbers(c[prefix + "lvl"], 7),
            base_hp=numbers(c[prefix + "base"], 7)[S.HITPOINTS],
            prayers=prayer_bits(c[prefix + "prayers"]),
            worn=worn_of(c[prefix + "gear"]),
            bonuses=_bonuses(c[prefix + "att_bonus"], c[prefix + "def_bonus"], c[prefix + "other_bonus"]),
        )

    parts = numbers(c["hits"])
    if not 1 <= len(parts) <= 4:
        raise ValueError(f"a hit has 1…4 parts, not {len(parts)}")
    return Hit(
        number=int(c["seq"]),
        tick=int(c["server_tick"]),
        style=style,
        special=special,
        spell=SPELLS[int(c["spell"])] if plain_spell else S.SPELL_NONE,
        accurate=int(c["accurate"]),
        parts=parts,
        delay=int(c["delay"]),
        speed=int(c["speed"]),
        attack_roll=int(c["att_roll"]),
        defence_roll=int(c["def_roll"]),
        chance=float(c["hit_chance"]),
        max_hit=int(c["max_hit"]),
        distance=int(c["distance"]),
        protected=int(c["target_protects"]),
        attacker=fighter("att_"),
        victim=fighter("tgt_"),
    )


def guarded(path: Path, number: int, parse: Callable[[list[str]], Parsed], cells: list[str]) -> Parsed:
    """Parse one row; a value that does not fit is refused with its place."""
    try:
        return parse(cells)
    except (ValueError, KeyError) as error:
        raise TraceError(
            f"{path.name} line {number}: {error}", "the README of the recordings lists the columns"
        ) from error
