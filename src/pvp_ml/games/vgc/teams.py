"""Teams: the shipped ones, users' PokePaste files, and the simulator's judgement of them."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

from pvp_ml.errors import UserError
from pvp_ml.games.vgc.formats import FORMATS, find_format
from pvp_ml.games.vgc.node.install import Installation, find

FOLDER = Path(__file__).parent / "teams"
MAX_PASTE_BYTES = 64 * 1024
_HEADER = re.compile(r"^=== (\S+) ===$", re.MULTILINE)


class TeamError(UserError):
    """A team that cannot be read, or that the format does not allow."""


@cache
def _sets(file: str) -> dict[str, str]:
    """PokePaste blocks of a set file by key."""
    parts = _HEADER.split((FOLDER / file).read_text("utf-8"))
    return dict(zip(parts[1::2], (text.strip() for text in parts[2::2]), strict=True))


@cache
def shipped() -> dict[str, dict[str, str]]:
    """Format id → team name → PokePaste text of the teams that come with this package."""
    groups = json.loads((FOLDER / "teams.json").read_text("utf-8"))
    found: dict[str, dict[str, str]] = {}
    for format in FORMATS:
        group = groups[format.group]
        sets = _sets(group["sets"])
        found[format.id] = {name: "\n\n".join(sets[key] for key in keys) for name, keys in group["teams"].items()}
    return found


def read_team(name: str, format: str) -> str:
    """PokePaste text of a shipped team name, or of a file."""
    known = shipped()[format]
    if name in known:
        return known[name]
    path = Path(name)
    if not path.is_file():
        raise TeamError(
            f"there is no team '{name}' for {format}",
            f"give a PokePaste file, or one of: {', '.join(known)}",
        )
    with path.open("rb") as file:
        data = file.read(MAX_PASTE_BYTES + 1)
    if len(data) > MAX_PASTE_BYTES:
        raise TeamError(f"team file '{name}' is larger than {MAX_PASTE_BYTES} bytes", "a PokePaste has six Pokémon")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TeamError(f"team file '{name}' is not UTF-8 text: {error.reason}", "export it as PokePaste") from None


def judge(
    teams: dict[str, dict[str, str]], installation: Installation | None = None
) -> dict[str, dict[str, list[str]]]:
    """The simulator's complaints about {format: {name: text}}; an empty list means legal."""
    answer: dict[str, dict[str, list[str]]] = json.loads((installation or find()).run("validate.js", teams))
    return answer


def refuse_illegal(texts: dict[str, str], format: str, installation: Installation | None = None) -> None:
    """Raise TeamError with the validator's sentences for the first team that `format` does not allow."""
    if not texts:
        return
    for name, problems in judge({find_format(format).id: texts}, installation)[format].items():
        if problems:
            raise TeamError(f"team '{name}' is not legal in {format}: {' '.join(problems)}", "correct the team file")


def pool(names: tuple[str, ...], format: str) -> dict[str, str]:
    """Texts of the named teams, or of all shipped ones when none is named."""
    if not names:
        return dict(shipped()[format])
    return {name: read_team(name, format) for name in names}
