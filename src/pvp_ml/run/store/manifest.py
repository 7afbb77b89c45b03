"""The manifest of a checkpoint folder: what its writer wrote, byte for byte, and reading it back.

A folder may come from anywhere. Whoever changes it can also seal it again: a seal shows damage, not malice.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
from safetensors import SafetensorError

from pvp_ml.documents.plain_file import read_plain
from pvp_ml.errors import UserError

FORMAT = 1
MANIFEST = "manifest.json"
MAX_BYTES = 8 << 30
"""Of all files of a checkpoint."""
_MAX_MANIFEST_BYTES = 1 << 20
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class DamagedCheckpointError(UserError):
    """A folder that is not exactly what its writer wrote."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One verified checkpoint or milestone; `files` is what was written, byte for byte."""

    path: Path
    step: int
    spec_digest: str
    files: Mapping[str, bytes]


def load(path: Path) -> Checkpoint:
    """Read a checkpoint folder and verify every byte of it; raises DamagedCheckpointError naming file and damage."""
    manifest = _read_manifest(path)
    files: dict[str, bytes] = {}
    if (total := sum(facts.bytes for facts in manifest.files.values())) > MAX_BYTES:
        raise DamagedCheckpointError(f"{MANIFEST} lists {total} bytes, the limit is {MAX_BYTES}")
    for name, facts in manifest.files.items():
        if not _FILE_NAME.fullmatch(name):
            raise DamagedCheckpointError(f"{MANIFEST} names a file {name[:100]!r}")
        try:
            data = read_plain(path / name, facts.bytes)
        except OSError as error:
            raise DamagedCheckpointError(f"{name} cannot be read: {error.strerror}") from error
        if len(data) != facts.bytes:
            raise DamagedCheckpointError(f"{name} does not have its {facts.bytes} bytes")
        if hashlib.sha256(data).hexdigest() != facts.sha256:
            raise DamagedCheckpointError(f"{name} does not match its SHA-256")
        files[name] = data
    return Checkpoint(path, manifest.step, manifest.spec_digest, files)


def manifest_bytes(folder: Path) -> bytes | None:
    """The manifest of a checkpoint folder as it lies there; None when there is none to read."""
    try:
        return read_plain(folder / MANIFEST, _MAX_MANIFEST_BYTES)
    except OSError:
        return None


def make_manifest(step: int, files: Mapping[str, bytes], spec_digest: str) -> bytes:
    """The manifest of these files."""
    facts = {name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()} for name, data in files.items()}
    return seal({"format": FORMAT, "step": step, "spec_digest": spec_digest, "files": facts})


def seal(body: dict[str, Any]) -> bytes:
    """The only spelling of a manifest: any other byte means damage."""
    text = json.dumps(body, sort_keys=True, indent=1)
    seal = hashlib.sha256(text.encode()).hexdigest()
    return json.dumps({"manifest": body, "sha256": seal}, sort_keys=True, indent=1).encode()


def _read_manifest(path: Path) -> _Manifest:
    try:
        data = read_plain(path / MANIFEST, _MAX_MANIFEST_BYTES)
        body = json.loads(data)["manifest"]
        sealed = isinstance(body, dict) and seal(body) == data
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DamagedCheckpointError(f"{MANIFEST} cannot be read: {error}") from error
    if not sealed:
        raise DamagedCheckpointError(f"{MANIFEST} does not match its SHA-256")
    if body.get("format") != FORMAT:
        raise DamagedCheckpointError(
            f"checkpoint format {body.get('format')!r} is not {FORMAT}", "load it with the version that wrote it"
        )
    try:
        return msgspec.convert(body, _Manifest)
    except msgspec.ValidationError as error:
        raise DamagedCheckpointError(f"{MANIFEST} is not one: {error}") from error


class _FileFacts(msgspec.Struct, frozen=True):
    bytes: Annotated[int, msgspec.Meta(ge=0)]
    sha256: str


class _Manifest(msgspec.Struct, frozen=True):
    """The shape of a manifest's body."""

    format: int
    step: Annotated[int, msgspec.Meta(ge=0)]
    spec_digest: str
    files: dict[str, _FileFacts]


@contextlib.contextmanager
def checking(path: Path) -> Iterator[None]:
    """Read from a checkpoint whose hashes are right but whose content may have been changed and resealed."""
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError, OverflowError, SafetensorError,
            msgspec.MsgspecError) as error:  # fmt: skip
        raise UserError(
            f"checkpoint '{path.name}' does not hold what it must: {type(error).__name__} {error}"[:300],
            "it was changed or made by another version; resume from another one with --resume",
        ) from error
