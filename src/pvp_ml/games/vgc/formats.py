"""The formats that this game plays, by the names that the simulator and its players use. Stdlib only."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from pvp_ml.errors import UserError


@dataclass(frozen=True, slots=True)
class Format:
    """`gimmick` is what the one gimmick bit of a choice means there."""

    id: str
    title: str
    gimmick: str
    group: str  # of the shipped teams, see teams/teams.json


FORMATS: tuple[Format, ...] = (
    Format("gen9vgc2023regc", "VGC 2023 Regulation C", "terastallize", "paldea"),
    Format("gen9vgc2023regd", "VGC 2023 Regulation D", "terastallize", "paldea"),
    Format("gen9vgc2024regg", "VGC 2024 Regulation G", "terastallize", "restricted"),
    Format("gen9vgc2025regi", "VGC 2025 Regulation I", "terastallize", "restricted"),
    Format("gen9championsvgc2026regma", "Champions VGC 2026 Regulation M-A", "mega", "champions"),
    Format("gen9championsvgc2026regmb", "Champions VGC 2026 Regulation M-B", "mega", "champions"),
    Format("gen9bssregi", "Battle Stadium Singles, Regulation I", "terastallize", "restricted"),
    Format("gen9championsbssregma", "Champions Battle Stadium Singles, Regulation M-A", "mega", "champions"),
    Format("gen9championsbssregmb", "Champions Battle Stadium Singles, Regulation M-B", "mega", "champions"),
)
_BY_ID = {format.id: format for format in FORMATS}
_SAME_RULES = {"gen9vgc2025regg": "gen9vgc2024regg"}
"""Names of other seasons, and the format above that has their rules."""


def modern_name(name: str) -> str:
    """The spelling of today: 'gen9vgc2023regulationc' is 'gen9vgc2023regc' since the simulator renamed it.

    Battles of a best of three have the rules of one, and Regulation G of 2025 is that of 2024.
    """
    plain = "".join(character for character in name.lower() if character.isalnum())
    plain = plain.replace("regulation", "reg").removesuffix("bo3")
    return _SAME_RULES.get(plain, plain)


def server_name(name: str) -> str:
    """The format as a server calls it: today's spelling; a best of three and the season keep their names."""
    plain = "".join(character for character in name.lower() if character.isalnum())
    return plain.replace("regulation", "reg")


def renamed(name: str) -> str:
    """A hint when `name` is an old spelling that was accepted, else ''."""
    modern = modern_name(name)
    return f"format '{name}' is called '{modern}' now" if name != modern and modern in _BY_ID else ""


def find_format(name: str) -> Format:
    """The format of that id, old spellings included."""
    modern = modern_name(name)
    if modern in _BY_ID:
        return _BY_ID[modern]
    close = difflib.get_close_matches(modern, _BY_ID, 1)
    hint = f"did you mean '{close[0]}'?" if close else f"choose one of: {', '.join(_BY_ID)}"
    raise UserError(f"vgc has no format '{name}'", hint)
