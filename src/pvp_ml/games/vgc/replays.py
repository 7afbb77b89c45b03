"""Battles that others recorded, as decisions to learn from: Showdown replays, their logs, and input logs.

An input log holds every choice and is played again: exact. A replay shows what happened, not what was chosen: what a
side saw is rebuilt from the log, and decisions that stay hidden are left out (js/replays/reconstruct.js says which).
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pvp_ml.errors import UserError
from pvp_ml.games.vgc.config import VgcConfig, make_spec
from pvp_ml.games.vgc.formats import FORMATS, modern_name
from pvp_ml.games.vgc.node import install
from pvp_ml.model.recording import Recording

MAX_FILE_BYTES = 512 << 20
MAX_LINES = 50_000
SUFFIXES = (".json", ".log", ".txt")
BATCH = 50  # battles in one call of Node


class ReplayError(UserError):
    """A file that holds no battle that can be read."""


@dataclass(frozen=True, slots=True)
class Battle:
    """One recorded battle. `rating` is 0 where the file does not say."""

    name: str
    format: str
    lines: tuple[str, ...]
    rating: int = 0


@dataclass(slots=True)
class ImportReport:
    """What came of it."""

    battles: int = 0
    decisions: int = 0
    hidden: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)


def find_files(paths: Iterable[Path]) -> list[Path]:
    """The files themselves, and those in folders."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += sorted(p for p in path.rglob("*") if p.suffix in SUFFIXES and p.is_file())
        elif path.is_file():
            found.append(path)
        else:
            raise ReplayError(f"there is no file or folder '{path}'")
    if not found:
        raise ReplayError("no battles were found", f"give files that end in {', '.join(SUFFIXES)}, or folders of them")
    return found


def read_battles(path: Path, format: str = "") -> Iterator[Battle | ReplayError]:
    """The battles of a file, or why one cannot be read.

    A file holds a replay (JSON), a spectator's log, an input log, or many logs as JSON {id: [time, log]}; `format`
    helps a bare log that does not name its own.
    """
    with path.open("rb") as file:
        data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        yield ReplayError(f"'{path}' is larger than {MAX_FILE_BYTES} bytes", "split it")
        return
    try:
        fields = _object(path, data) if data.lstrip()[:1] == b"{" else None
    except ReplayError as error:
        yield error
        return
    if fields and all(_is_timed_log(value) for value in fields.values()):
        for name, (_, log) in fields.items():
            yield _battle(f"{path.name}: {name[:80]}", log.splitlines(), format, {})
    elif fields is not None:
        try:
            yield _battle(str(path), _log_of(path, fields), format, fields)
        except ReplayError as error:
            yield error
    else:
        yield _battle(str(path), data.decode("utf-8", "replace").splitlines(), format, {})


def _is_timed_log(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and isinstance(value[1], str)


def _battle(name: str, lines: list[str], format: str, fields: dict[str, Any]) -> Battle | ReplayError:
    if len(lines) > MAX_LINES:
        return ReplayError(f"'{name}' has {len(lines)} lines, the limit is {MAX_LINES}")
    said = fields.get("formatid") or fields.get("format")
    rating = fields["rating"] if isinstance(fields.get("rating"), int) else _rating(lines)
    try:
        return Battle(name, _format(name, lines, str(said) if isinstance(said, str) else format), tuple(lines), rating)
    except ReplayError as error:
        return error


def _rating(lines: Sequence[str]) -> int:
    """The lower of the players' ratings, where the log gives both (`|player|p1|name|avatar|rating`); else 0."""
    found = [line.split("|")[5] for line in lines[:50] if line.startswith("|player|") and line.count("|") >= 5]
    return min(int(text) for text in found) if len(found) > 1 and all(text.isdigit() for text in found) else 0


def _object(path: Path | str, data: bytes) -> dict[str, Any]:
    """JSON with texts longer than the strict reader allows: a whole log is one text."""
    try:
        value = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ReplayError(f"'{path}' is not JSON: {str(error)[:120]}") from None
    if not isinstance(value, dict):
        raise ReplayError(f"'{path}' is not a JSON object", "is it a Showdown replay?")
    return value


def _log_of(path: Path, fields: dict[str, Any]) -> list[str]:
    """Input logs are preferred, because they are exact."""
    for key in ("inputLog", "inputlog", "log"):
        log = fields.get(key)
        if isinstance(log, str):
            return log.splitlines()
        if isinstance(log, list) and all(isinstance(line, str) for line in log):
            return log
    raise ReplayError(f"'{path}' has neither 'log' nor 'inputLog'", "is it a Showdown replay?")


def _format(path: str, lines: Sequence[str], said: str) -> str:
    known = {format.id: format.id for format in FORMATS}
    for line in lines[:50]:
        if line.startswith(">start "):
            said = str(_object(path, line[7:].encode()).get("formatid", said))
        elif line.startswith("|tier|") and not said:
            said = line[6:]
    plain = modern_name(said).removeprefix("gen9") if said else ""
    for name in known:
        if plain == name.removeprefix("gen9") or plain.removesuffix("bo3") == name.removeprefix("gen9"):
            return name
    raise ReplayError(f"'{path}': format '{said[:60]}' is not played here", f"formats: {', '.join(known)}")


def import_battles(
    battles: Sequence[Battle], config: VgcConfig, winners: bool = False
) -> tuple[Recording, ImportReport]:
    """All decisions that the battles show; with `winners`, only those of the side that won."""
    report = ImportReport()
    rows: list[dict[str, Any]] = []
    spec, installation = make_spec(config), install.find()
    for first in range(0, len(battles), BATCH):
        part = battles[first : first + BATCH]
        request = {
            "sheets": config.sheets,
            "battles": [{"format": battle.format, "lines": battle.lines} for battle in part],
        }
        rows += _decisions(installation.run("replays/import.js", request), part, first, report, winners)
    if not rows:
        raise ReplayError("no decision could be read", "; ".join(report.refused[:3]) or "the battles hide all of them")
    mask = np.zeros((len(rows), spec.mask_size), np.bool_)
    for i, row in enumerate(rows):
        mask[i, row["mask"]] = True
    obs = np.stack([np.frombuffer(base64.b64decode(row["obs"]), np.float32) for row in rows])
    actions = np.array([row["picks"] for row in rows], np.int32)
    lane = np.array([row["lane"] for row in rows], np.int64)
    return Recording(obs, mask, actions, lane, lane // spec.seats), report


def _decisions(
    text: str, battles: Sequence[Battle], first: int, report: ImportReport, winners: bool
) -> Iterator[dict[str, Any]]:
    """The rows of one call of Node, battle by battle."""
    rows: list[dict[str, Any]] = []
    for line in text.splitlines():
        said = json.loads(line)
        number = said["battle"]
        if "picks" in said:
            rows.append({**said, "lane": 2 * (first + number) + said["seat"]})
            continue
        if "error" in said:
            report.refused.append(f"{battles[number].name}: {said['error']}"[:200])
            rows = []
            continue
        report.battles += 1
        report.decisions += said["decisions"]
        report.hidden += said["hidden"]
        report.reasons.update(said["reasons"])
        yield from (row for row in rows if not winners or row["seat"] == said["won"])
        rows = []
