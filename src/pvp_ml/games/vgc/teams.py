"""Teams: the shipped ones, those that users bring in files and folders, and the simulator's judgement of them."""

from __future__ import annotations

import hashlib
import json
import logging
import re
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from pvp_ml.errors import UserError
from pvp_ml.games.vgc.formats import FORMATS, find_format
from pvp_ml.games.vgc.node.install import Installation, find
from pvp_ml.games.vgc.usage import read_usage

FOLDER = Path(__file__).parent / "teams"
MAX_FILE_BYTES = 16 << 20
MAX_TEAMS = 20_000
GENERATED_AT_ONCE = 250
TEAM_FILES = (".txt", ".paste", ".packed")
_HEADER = re.compile(r"^=== (\S+) ===$", re.MULTILINE)
_TITLE = re.compile(r"^=== *(?:\[[^\]]*\] *)?(.+?) *===[ \t]*$", re.MULTILINE)
_PACKED = re.compile(r"^[^|\n]*(\|[^|\n]*){10,}$")

log = logging.getLogger(__name__)


class TeamError(UserError):
    """A team that cannot be read, or that the format does not allow."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A team as the format plays it, in the simulator's packed form.

    `text` is the same in Showdown's text form, `species` its Pokémon. `problems`: what the rules say against it, one
    sentence each. `completed`: the Pokémon of a sheet without effort values, with the spread that each was given.
    """

    packed: str
    problems: tuple[str, ...]
    completed: tuple[str, ...]
    text: str = ""
    species: tuple[str, ...] = ()


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


def read_teams(name: str, format: str) -> dict[str, str]:
    """Name → text of a shipped team, of all teams in a file, or of all files in a folder (and its folders).

    A team that is given as text instead of a name is called after its content.
    """
    known = shipped()[format]
    if name in known:
        return {name: known[name]}
    if is_text(name):
        return {f"own-{hashlib.sha256(name.encode()).hexdigest()[:8]}": name}
    path = Path(name)
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.suffix in TEAM_FILES and file.is_file())
        found: dict[str, str] = {}
        for file in files:
            place = file.relative_to(path).with_suffix("").as_posix()
            texts = split_teams(_read(file), place)
            found.update(texts if len(texts) == 1 else {f"{place}/{key}": text for key, text in texts.items()})
            if len(found) > MAX_TEAMS:
                raise TeamError(f"folder '{name}' has more than {MAX_TEAMS} teams", "name fewer files")
        if not found:
            raise TeamError(f"folder '{name}' has no teams", f"put files into it that end in {', '.join(TEAM_FILES)}")
        return found
    if not path.is_file():
        raise TeamError(
            f"there is no team '{name}' for {format}",
            f"give a file in Showdown's text or packed form, a folder of them, or one of: {', '.join(known)}",
        )
    return split_teams(_read(path), path.stem)


def is_text(name: str) -> bool:
    """Whether it is a whole team in Showdown's text or packed form, not a name or a path."""
    return "\n" in name or bool(_PACKED.match(name))


def by_format(names: tuple[str, ...], format: str) -> dict[str, tuple[str, ...]]:
    """Names of teams by the format they are for: `FORMAT=FILE` names one, all others belong to `format`."""
    found: dict[str, tuple[str, ...]] = {}
    for name in names:
        other, given, file = name.partition("=")
        names_one = given and not is_text(name) and not Path(name).exists()
        here, file = (find_format(other).id, file) if names_one else (format, name)
        found[here] = (*found.get(here, ()), file)
    return found


def split_teams(text: str, label: str) -> dict[str, str]:
    """Name → text of each team: `=== name ===` before each (Showdown's backup form too), or one packed team a line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if lines and all(_PACKED.match(line) for line in lines):
        return {label: lines[0]} if len(lines) == 1 else {f"{label}-{i}": line for i, line in enumerate(lines, 1)}
    parts = _TITLE.split(text)
    if len(parts) == 1:
        return {label: text}
    found: dict[str, str] = {}
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        found[title if title not in found else f"{title}-{len(found)}"] = body.strip()
    return found


def _read(path: Path) -> str:
    with path.open("rb") as file:
        data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise TeamError(f"team file '{path}' is larger than {MAX_FILE_BYTES} bytes", "split it")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TeamError(f"team file '{path}' is not UTF-8 text: {error.reason}", "export it as text") from None


def prepare(texts: dict[str, str], format: str, installation: Installation | None = None) -> dict[str, Prepared]:
    """Each team completed and judged by the simulator's own validator; nothing is refused here."""
    if not texts:
        return {}
    format = find_format(format).id
    answer = json.loads((installation or find()).run("teams/validate.js", {format: texts}))[format]
    return {
        name: Prepared(
            found["packed"], tuple(found["problems"]), tuple(found["completed"]), found["text"], tuple(found["species"])
        )
        for name, found in answer.items()
    }


def prepare_legal(texts: dict[str, str], format: str, installation: Installation | None = None) -> dict[str, Prepared]:
    """The legal ones. A single team that is not legal is refused with the rules it breaks; of many, it is left out."""
    prepared = prepare(texts, format, installation)
    legal = {name: team for name, team in prepared.items() if not team.problems}
    refused = {name: team for name, team in prepared.items() if team.problems}
    for name, team in refused.items():
        sentence = f"team '{name}' is not legal in {format}: {' '.join(team.problems)}"
        if len(texts) == 1 or not legal:
            raise TeamError(sentence, "correct the team (`pvp-ml team check FILE`)")
        log.warning("left out: %s", sentence)
    completed = [name for name, team in legal.items() if team.completed]
    if completed:
        log.warning("%d of %d teams have no effort values and were given plausible ones", len(completed), len(legal))
    return legal


@lru_cache(64)
def judged(text: str, format: str) -> Prepared:
    """One team, remembered: a page asks before a match and the match asks again."""
    return prepare({"own": text}, format)["own"]


def _own(text: str, format: str) -> str:
    """The packed form of a team that was handed over as text."""
    team = judged(text, format)
    if team.problems:
        raise TeamError(f"the team is not legal in {format}: {' '.join(team.problems)}", "correct it")
    return team.packed


def generate_teams(format: str, count: int, seed: int = 0, usage: Path | None = None) -> dict[str, str]:
    """Name → text of invented teams that the format allows; fewer than `count` where its rules leave too little."""
    statistics = read_usage(usage) if usage else None
    installation, found = find(), find_format(format).id
    made: dict[str, str] = {}
    for first in range(0, count, GENERATED_AT_ONCE):
        order = {
            "format": found,
            "count": min(GENERATED_AT_ONCE, count - first),
            "seed": seed + first,
            "usage": statistics,
        }
        for team in json.loads(installation.run("teams/generate.js", order)):
            made[f"generated-{hashlib.sha256(team['packed'].encode()).hexdigest()[:12]}"] = team["text"]
    if not made:
        raise TeamError(f"no team could be invented for {format}", "give usage statistics of it (--usage)")
    return made


def is_held_out(species: tuple[str, ...], share: float) -> bool:
    """Whether a team of these Pokémon, in any order, belongs to the part that is kept back from training."""
    word = hashlib.sha256("/".join(sorted(species)).encode()).digest()[:8]
    return int.from_bytes(word, "big") < share * 2.0**64


def load_teams(names: tuple[str, ...], format: str, installation: Installation | None = None) -> dict[str, str]:
    """Name → text or packed form of the named teams, ready to play; all shipped ones when none is named.

    Shipped teams are judged by the tests, a user's here.
    """
    known = shipped()[format]
    ready: dict[str, str] = {}
    for name in names or known:
        texts = read_teams(name, format)
        if name in known:
            ready.update(texts)
        elif is_text(name):
            ready.update({team: _own(text, format) for team, text in texts.items()})
        else:
            legal = prepare_legal(texts, format, installation)
            ready.update({team: found.packed for team, found in legal.items()})
    return ready


def packed_teams(names: tuple[str, ...], format: str, installation: Installation | None = None) -> dict[str, str]:
    """Name → packed form of the named teams, as a server takes them."""
    teams = load_teams(names, format, installation)
    texts = {name: text for name, text in teams.items() if "\n" in text}
    return teams | {name: found.packed for name, found in prepare(texts, format, installation).items()}
