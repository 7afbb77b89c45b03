"""Recorded decisions: what somebody saw, what was legal and what they chose. The file that cloning learns from.

A zip of metadata.json and rows.safetensors, read like a bundle: within limits, in memory, nothing executed. Rows of one
seat in one match stand in the order in which they were decided. Shape letters as in `spec`; B rows.
"""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pvp_ml import data_files
from pvp_ml.documents.strict_json import parse_json
from pvp_ml.errors import UserError
from pvp_ml.match import BoolArray, FloatArray, IntArray
from pvp_ml.model.archive import MAX_TOTAL_BYTES, read_directory, read_entry, write_archive
from pvp_ml.model.archive import chunks as pieces_of
from pvp_ml.model.sampling.heads import Heads, legal_given
from pvp_ml.model.tensors import read_tensors, write_tensors
from pvp_ml.spec import Interface

FORMAT = 4
METADATA, ROWS = "metadata.json", "rows.safetensors"
MAX_ROWS = 4_000_000
MAX_METADATA_BYTES = 1 << 16


class RecordingError(UserError):
    """A recording that is not what it says, or that does not fit."""


class Facts(BaseModel):
    """What the file says of itself."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int
    game: str = Field(max_length=100)
    interface_digest: str = Field(pattern="^[0-9a-f]{64}$")
    rows: int = Field(ge=1, le=MAX_ROWS)
    player: str = Field("", max_length=200)


@dataclass(frozen=True, slots=True)
class Recording:
    """Rows, grouped by `lane`: one seat of one match, and by `match`: what is learned or held out as a whole.

    Without `match`, every lane is a match of its own. A mixed decision is several rows of one observation whose weights
    add up to 1; without `weight`, every row weighs 1. The player may have said what it expected.
    """

    obs: FloatArray  # [B,D]
    mask: BoolArray  # [B,A]
    actions: IntArray  # [B,H]
    lane: npt.NDArray[np.int64]  # [B]
    match: npt.NDArray[np.int64] | None = None  # [B]
    weight: FloatArray | None = None  # [B] above 0, at most 1
    value: FloatArray | None = None  # [B] −1 lost … 1 won; NaN: nobody said

    @property
    def weights(self) -> FloatArray:
        """[B] how much each row counts."""
        return np.ones(len(self.lane), np.float32) if self.weight is None else self.weight

    @property
    def values(self) -> FloatArray:
        """[B] what the player expected, NaN where it did not say."""
        return np.full(len(self.lane), np.nan, np.float32) if self.value is None else self.value

    @property
    def matches(self) -> npt.NDArray[np.int64]:
        """[B] the match of each row."""
        return self.lane if self.match is None else self.match

    def picked(self, rows: npt.NDArray[np.int64]) -> Recording:
        """These rows of it."""
        weight, value = (None if column is None else column[rows] for column in (self.weight, self.value))
        return Recording(
            self.obs[rows], self.mask[rows], self.actions[rows], self.lane[rows], self.matches[rows], weight, value
        )

    def __len__(self) -> int:
        """B."""
        return len(self.lane)


def write_recording(path: Path, recording: Recording, game: str, interface: Interface, player: str = "") -> None:
    """Write the file at once: readers see the old one or the new one."""
    facts = Facts(format=FORMAT, game=game, interface_digest=interface.digest, rows=len(recording), player=player)
    arrays: dict[str, npt.NDArray[Any]] = {
        "obs": recording.obs.astype(np.float32),
        "mask": recording.mask.astype(np.uint8),
        "actions": np.asarray(recording.actions, np.int64),
        "lane": recording.lane.astype(np.int64),
        "match": recording.matches.astype(np.int64),
        "weight": recording.weights.astype(np.float32),
        "value": np.nan_to_num(recording.values.astype(np.float32)),
        "valued": (~np.isnan(recording.values)).astype(np.uint8),
    }
    data = write_archive({METADATA: facts.model_dump_json().encode(), ROWS: write_tensors(arrays)})
    try:
        data_files.replace_file(path, data)
    except OSError as error:
        raise RecordingError(f"cannot write '{path}': {error.strerror}", "choose a writable folder") from error


def read_recording(path: Path, game: str, interface: Interface) -> Recording:
    """Read and check a recording made for this game and layout; every action in it is legal."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise RecordingError(f"'{path}' is not a file")
        with path.open("rb") as file:
            entries = read_directory(file, frozenset({METADATA, ROWS}))
            if missing := {METADATA, ROWS} - set(entries):
                raise RecordingError(f"it lacks '{min(missing)}'", "make one with `pvp-ml bc record`")
            facts = _facts(read_entry(file, entries[METADATA], MAX_METADATA_BYTES))
            if facts.game != game or facts.interface_digest != interface.digest:
                raise RecordingError(
                    f"it was recorded for another game or layout ('{facts.game}', {facts.interface_digest[:12]}; "
                    f"here '{game}', {interface.digest[:12]})",
                    "record it again with these game settings",
                )
            b = facts.rows
            layout = {
                "obs": ((b, interface.obs_size), "F32"),
                "mask": ((b, interface.mask_size), "U8"),
                "actions": ((b, len(interface.heads)), "I64"),
                "lane": ((b,), "I64"),
            }
            if facts.format > 1:  # the first format did not say which lanes belong to one match
                layout["match"] = ((b,), "I64")
            if facts.format > 2:
                layout["weight"] = ((b,), "F32")
            if facts.format > 3:
                layout |= {"value": ((b,), "F32"), "valued": ((b,), "U8")}
            rows = read_tensors(pieces_of(file, entries[ROWS]), layout, ROWS)
    except OSError as error:
        raise RecordingError(f"cannot read recording '{path}': {error.strerror}") from error
    except UserError as error:
        raise RecordingError(f"recording '{path}': {error.message}", error.hint) from error
    _check_range(path, rows["actions"], interface)
    actions = rows["actions"].astype(np.int32)
    weight = rows.get("weight")
    if weight is not None and not ((weight > 0.0) & (weight <= 1.0)).all():
        raise RecordingError(f"recording '{path}': a weight is not above 0 and at most 1")
    value = rows.get("value")
    if value is not None:
        if not (np.abs(value) <= 1.0).all():
            raise RecordingError(f"recording '{path}': a value is not from -1 to 1")
        value = np.where(rows["valued"] != 0, value, np.float32(np.nan))
    recording = Recording(rows["obs"], rows["mask"] != 0, actions, rows["lane"], rows.get("match"), weight, value)
    _check_rows(path, recording, interface)
    return recording


def join(recordings: list[Recording]) -> Recording:
    """Several recordings of different matches as one; their lanes and matches are renumbered."""
    lanes, matches = (_apart(column) for column in zip(*((r.lane, r.matches) for r in recordings), strict=True))
    whole = stacked(recordings)
    return Recording(whole.obs, whole.mask, whole.actions, lanes, matches, whole.weight, whole.value)


def stacked(recordings: list[Recording]) -> Recording:
    """Several recordings of the same matches as one: lanes and matches keep their numbers."""
    parts = ((r.obs, r.mask, r.actions, r.lane, r.matches, r.weights, r.values) for r in recordings)
    return Recording(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _apart(columns: tuple[npt.NDArray[np.int64], ...]) -> npt.NDArray[np.int64]:
    """Numbers of several recordings, none of them in two."""
    parts, first = [], 0
    for column in columns:
        unique = np.unique(column, return_inverse=True)[1]
        parts.append(unique + first)
        first += int(unique.max(initial=-1)) + 1
    return np.concatenate(parts)


def parts_of(recording: Recording, interface: Interface) -> list[Recording]:
    """The recording in pieces that fit into a file each; a match stays in one piece."""
    others = 8 + 8 + 4 + 4 + 1  # lane, match, weight, value, valued
    row_bytes = 4 * interface.obs_size + interface.mask_size + 8 * len(interface.heads) + others
    most = min(MAX_ROWS, (MAX_TOTAL_BYTES - MAX_METADATA_BYTES) // row_bytes)
    if len(recording) <= most:
        return [recording]
    order = np.lexsort((recording.lane, recording.matches))
    matches = recording.matches[order]
    borders = np.append(np.flatnonzero(np.diff(matches, prepend=matches[0] - 1)), len(matches))
    pieces, start = [], 0
    while start < len(matches):
        end = int(borders[np.searchsorted(borders, start + most, side="right") - 1])
        if end <= start:
            raise RecordingError(f"one match holds more than {most} decisions", "record shorter matches")
        pieces.append(recording.picked(order[start:end]))
        start = end
    return pieces


def _facts(data: bytes) -> Facts:
    values = parse_json(data, METADATA, MAX_METADATA_BYTES)
    if values.get("format") not in range(1, FORMAT + 1):
        raise RecordingError(f"recording format {str(values.get('format'))[:20]!r} is not from 1 to {FORMAT}")
    try:
        return Facts.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        raise RecordingError(f"{METADATA}: {'.'.join(map(str, first['loc']))}: {first['msg']}"[:300]) from None


def _check_range(path: Path, actions: npt.NDArray[np.int64], interface: Interface) -> None:
    """Refuse picks outside their head, before they are narrowed."""
    _refuse(path, actions, (actions >= 0) & (actions < np.array(interface.head_sizes)), interface)


def _check_rows(path: Path, recording: Recording, interface: Interface) -> None:
    """Refuse actions that could not be chosen, and ids outside their vocabulary: they would index out of tables."""
    for d, feature in enumerate(interface.features):
        seen = recording.obs[:, d]
        if feature.vocab and not ((seen >= 0) & (seen < feature.vocab) & (seen == np.floor(seen))).all():
            raise RecordingError(f"recording '{path}': feature '{feature.name}' is outside its vocabulary")
    heads = Heads.compile(interface.heads)
    legal = legal_given(heads, recording.mask, recording.actions)
    columns = heads.offset[:-1] + recording.actions
    _refuse(path, recording.actions, np.take_along_axis(legal, columns.astype(np.int64), axis=1), interface)


def _refuse(path: Path, actions: npt.NDArray[Any], fine: BoolArray, interface: Interface) -> None:
    if not fine.all():
        row, head = (int(i) for i in np.argwhere(~fine)[0])
        raise RecordingError(
            f"recording '{path}': row {row} picks {int(actions[row, head])} in head '{interface.heads[head].name}', "
            "which is not legal there"
        )
