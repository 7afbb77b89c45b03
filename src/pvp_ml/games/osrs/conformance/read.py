"""Recorded fights of the reference simulation, read as typed arrays. Any folder of that format; nothing is trusted.

A set `name` is up to four files: `name.jsonl.gz` (per fight a header, then each side's lines with action, observation
and masks; one side where the opponent was the server's own), `name.state.tsv.gz` (both fighters every tick),
`name.hits.tsv.gz` (every calculated attack) and `name.applied.tsv.gz` (damage outside attacks; not needed here). Only
the first is needed; a fight without state is tested in what is there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pvp_ml.errors import UserError
from pvp_ml.games.osrs import state as S
from pvp_ml.games.osrs.conformance.tables import (
    HIT_COLUMNS,
    STATE_COLUMNS,
    Hit,
    Sample,
    TraceError,
    guarded,
    lines_of,
    parse_hit,
    parse_sample,
    table_of,
)

MAX_SETS = 64
MAX_TICKS = 50_000
HEADS = {"NhEnv": (4, 3, 3, 4, 5, 2, 2, 2, 2, 5, 7, 6), "DharokEnv": (4, 4, 2, 2, 2, 3)}
OBSERVATIONS = {"NhEnv": 176, "DharokEnv": 40}
MAX_META = 128
META_STYLES = {"null": 0.0, "MELEE": 1.0, "RANGED": 2.0, "MAGIC": 3.0}
META_NAMES = tuple(META_STYLES)
GAMES = {"nh": "NhEnv", "dharok": "DharokEnv"}


@dataclass(frozen=True, slots=True)
class Side:
    """One seat's stream: row n answers the action of server tick `ticks[n]`; row 0 answers the reset."""

    episode: str
    ticks: npt.NDArray[np.int64]
    actions: npt.NDArray[np.int32]  # [n,H]; row 0 is −1
    obs: npt.NDArray[np.float64]  # [n,D]
    mask: npt.NDArray[np.bool_]  # [n,A]
    meta: list[
        dict[str, float]
    ]  # per row the numbers of the reply's meta; styles as 0 none, 1 melee, 2 ranged, 3 magic
    ended: str
    samples: dict[int, Sample]  # by server tick
    hits: dict[int, list[Hit]]  # by server tick of the launch


@dataclass(frozen=True, slots=True)
class Fight:
    """One recorded fight; `params` are the reset parameters, `kind` the fight type that observations report."""

    source: str
    number: int
    env: str
    build: str
    kind: str
    params: dict[str, Any]
    sides: tuple[Side, ...]  # one where the opponent was the server's own
    is_random: bool  # both sides played random legal actions, so that random play can be compared with it

    @property
    def has_state(self) -> bool:
        """Both sides were recorded every tick, so that the fight can be played again."""
        return len(self.sides) == 2 and all(side.samples for side in self.sides)

    @property
    def place(self) -> str:
        """Where to look this fight up."""
        return f"{self.source} fight {self.number}"


# --- fights ----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Tables:
    """Raw rows by episode; parsed when their fight is reached, dropped afterwards."""

    states: dict[str, list[tuple[int, list[str]]]]
    hits: dict[str, list[tuple[int, list[str]]]]


def _by_episode(path: Path, columns: tuple[str, ...], key: int) -> dict[str, list[tuple[int, list[str]]]]:
    found: dict[str, list[tuple[int, list[str]]]] = {}
    if path.is_file():
        for number, cells in table_of(path, columns):
            found.setdefault(cells[key], []).append((number, cells))
    return found


def _meta(fields: dict[str, Any]) -> dict[str, float]:
    """The numbers among a reply's meta fields; a style is given by its name."""
    if len(fields) > MAX_META:
        raise ValueError(f"a reply has {len(fields)} meta fields, allowed are {MAX_META}")
    out = {key: float(value) for key, value in fields.items() if isinstance(value, bool | int | float)}
    return out | {key: META_STYLES[value] for key, value in fields.items() if value in META_NAMES}


def _stream(env: str, lines: list[dict[str, Any]]) -> tuple[list[int], Any, Any, Any, str]:
    """(episode ticks, actions, obs, mask, terminal state) of one side's lines."""
    heads, width = HEADS[env], OBSERVATIONS[env]
    if not lines or len(lines) > MAX_TICKS:
        raise ValueError(f"a side has {len(lines)} lines, allowed are 1…{MAX_TICKS}")
    actions = np.full((len(lines), len(heads)), -1, np.int32)
    obs = np.zeros((len(lines), width))
    mask = np.zeros((len(lines), sum(heads)), np.bool_)
    ticks, ended = [], ""
    for n, line in enumerate(lines):
        reply = line.get("reset", line)
        if len(reply["o"]) != width or len(reply["m"].replace(" ", "")) != sum(heads):
            raise ValueError(f"line k={line['k']} has {len(reply['o'])} observations and mask '{reply['m'][:60]}'")
        obs[n] = reply["o"]
        mask[n] = [bit == "1" for bit in reply["m"].replace(" ", "")]
        if "a" in line:
            choice = np.array(line["a"], np.int32)
            if choice.shape != (len(heads),) or (choice < 0).any() or (choice >= heads).any():
                raise ValueError(f"line k={line['k']} has the action {line['a']}")
            actions[n] = choice
        ticks.append(int(reply["x"]["episodeTicks"]))
        ended = str(line.get("t", ended))
    if not np.isfinite(obs).all():
        raise ValueError("observations are not finite")
    return ticks, actions, obs, mask, ended


def _side(path: Path, env: str, episode: str, lines: list[dict[str, Any]], tables: _Tables) -> Side:
    try:
        ticks, actions, obs, mask, ended = _stream(env, lines)
        meta = [_meta(line.get("reset", line)["x"]) for line in lines]
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise TraceError(f"{path.name}, episode {episode}: {error}") from error
    rows = tables.states.pop(episode, [])
    samples = [guarded(path, number, parse_sample, cells) for number, cells in rows]
    base = samples[0].tick - int(rows[0][1][2]) if samples else 0
    hits: dict[int, list[Hit]] = {}
    for number, cells in tables.hits.pop(episode, []):
        hit = guarded(path, number, parse_hit, cells)
        hits.setdefault(hit.tick, []).append(hit)
    return Side(
        episode=episode,
        ticks=np.array(ticks, np.int64) + base,
        actions=actions,
        obs=obs,
        mask=mask,
        meta=meta,
        ended=ended,
        samples={sample.tick: sample for sample in samples},
        hits=hits,
    )


def _fight(path: Path, header: dict[str, Any], lines: list[dict[str, Any]], tables: _Tables) -> Fight:
    try:
        env = header["env"]
        episodes = header["episodeIds"]
        if env not in HEADS or not 1 <= len(episodes) <= 2:
            raise ValueError(f"environment '{str(env)[:20]}' with {len(episodes)} episodes")
        params = dict(header["params"])
        by_side = [[line for line in lines if line["w"] == w] for w in range(len(episodes))]
        build = params.get("accountBuild", "PURE") if env == "NhEnv" else "DHAROK"
        if build not in S.BUILDS or params.get("randomizeBuild"):
            raise ValueError(f"build '{build}' (drawn builds are not supported)")
        number = int(header["ep"])
        kind = str(header.get("fight") or "NORMAL")
        is_random = set(header.get("policies", ["random"])) == {"random"}
    except (ValueError, KeyError, TypeError) as error:
        raise TraceError(f"{path.name}: a fight's header does not fit: {error}") from error
    sides = tuple(_side(path, env, str(e), own, tables) for e, own in zip(episodes, by_side, strict=True))
    return Fight(path.name.removesuffix(".jsonl.gz"), number, env, build, kind, params, sides, is_random)


def read_fights(path: Path) -> Iterator[Fight]:
    """The fights of one `.jsonl.gz` with their state and hit tables from beside it, one at a time."""
    stem = path.name.removesuffix(".jsonl.gz")
    tables = _Tables(
        _by_episode(path.with_name(f"{stem}.state.tsv.gz"), STATE_COLUMNS, 1),
        _by_episode(path.with_name(f"{stem}.hits.tsv.gz"), HIT_COLUMNS, 2),
    )
    header: dict[str, Any] | None = None
    lines: list[dict[str, Any]] = []
    for number, text in lines_of(path):
        try:
            record = json.loads(text)
        except ValueError as error:
            raise TraceError(f"{path.name} line {number} is not JSON: {error}") from error
        if not isinstance(record, dict):
            raise TraceError(f"{path.name} line {number} is not an object")
        if "episodeIds" in record:
            if header is not None:
                yield _fight(path, header, lines, tables)
            header, lines = record, []
        else:
            lines.append(record)
            if len(lines) > 2 * MAX_TICKS:
                raise TraceError(f"{path.name} line {number}: a fight has more than {2 * MAX_TICKS} lines")
    if header is None:
        raise TraceError(f"{path.name} holds no fights", "a fight begins with a header line that names its episodeIds")
    yield _fight(path, header, lines, tables)


def sets_in(folder: Path, game: str) -> list[Path]:
    """The `.jsonl.gz` files of a folder that hold fights of that game, sorted by name."""
    if game not in GAMES:
        raise UserError(f"there are no recorded fights of '{game}'", f"choose one of: {', '.join(GAMES)}")
    if not folder.is_dir():
        raise UserError(f"'{folder}' is not a folder", "give the folder with the .jsonl.gz files")
    found = []
    for path in sorted(folder.glob("*.jsonl.gz"))[:MAX_SETS]:
        first = next(lines_of(path), (0, ""))[1]
        if not first:
            raise TraceError(f"{path.name} is empty", "remove it, or record fights into it")
        try:
            header = json.loads(first)
        except ValueError as error:
            raise TraceError(f"{path.name} line 1 is not JSON: {error}") from error
        if isinstance(header, dict) and header.get("env") == GAMES[game]:
            found.append(path)
    if not found:
        raise UserError(f"'{folder}' has no recorded fights of '{game}'", "expected *.jsonl.gz with a header line")
    return found
