"""The model file that people share: a zip of weights, statistics, a description and a card, and no code.

Members: metadata.json policy.safetensors normalizer.safetensors card.md [policy.onnx]. A bundle names its game only by
registry name and digest and its network only by a validated configuration. Reading it happens in memory, imports and
runs nothing, and refuses anything that is not exactly what the description implies. Limits: docs/file-formats.md.
"""

from __future__ import annotations

import hashlib
import io
import json
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pvp_ml import data_files
from pvp_ml.digest import LINKS
from pvp_ml.documents.strict_json import check_text, parse_json
from pvp_ml.errors import UserError
from pvp_ml.model.archive import Entry, chunks, read_directory, read_entry, write_archive
from pvp_ml.model.calibration import Calibration
from pvp_ml.model.network_config import NetworkConfig, normalizer_shapes, tensor_shapes
from pvp_ml.model.tensors import check_tensors, data_bytes, max_file_bytes, read_tensors, write_tensors
from pvp_ml.spec import GameSpec, Interface

FORMAT = 1
METADATA, POLICY, NORMALIZER = "metadata.json", "policy.safetensors", "normalizer.safetensors"
CARD, ONNX = "card.md", "policy.onnx"
REQUIRED = frozenset({METADATA, POLICY, NORMALIZER, CARD})
MEMBERS = REQUIRED | {ONNX}

MAX_METADATA_BYTES = 1 << 20
MAX_CARD_BYTES = 1 << 18
MAX_OBSERVATION = 1 << 16
MAX_CHOICES = 4096
MAX_RULE_PARTS = 8192
MAX_FRAMES_BACK = 256
MAX_WEIGHT_BYTES = 240 << 20
LOAD_ON_TRUST_BYTES = 8 << 20
"""A longer weight file is read through once before any of it is kept."""

_HASHED_ALWAYS = frozenset({"trunk", "activation", "critic", "critic_trunk", "privileged", "heads", "head_layers",
                            "embedding", "encoder", "pooling", "frames", "memory", "win_head", "clip"})  # fmt: skip

CHANCE = "## Chance to win"
"""Heading of the part of a card that `with_calibration` writes."""

Array = npt.NDArray[Any]
Source = Path | bytes


class BundleError(UserError):
    """A file that is not a bundle, or not one that this version reads."""


class Training(BaseModel):
    """How the policy came to be."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    steps: int = Field(0, ge=0, description="environment steps of the trainee's seats")
    seconds: float = Field(0.0, ge=0)
    preset: str = ""
    run: str = ""
    seed: int | None = None
    date: str = Field("", description="ISO 8601 day on which the weights were written")
    versions: dict[str, str] = Field(default_factory=dict, description="package → version")


class MatchResult(BaseModel):
    """One measured result; `low`…`high` is the Wilson 95 % interval of the score."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    opponent: str
    matches: int = Field(ge=0)
    wins: int = Field(ge=0)
    ties: int = Field(ge=0)
    losses: int = Field(ge=0)
    voids: int = Field(0, ge=0)
    score: float = Field(ge=0, le=1)
    low: float = Field(ge=0, le=1)
    high: float = Field(ge=0, le=1)
    scenario: str = ""
    date: str = ""


class Metadata(BaseModel):
    """metadata.json without the interface, which `Bundle` holds."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    format: int
    game: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")
    game_version: int
    interface_digest: str = Field(pattern=r"^[0-9a-f]{64}$")
    content_hash: str = Field(pattern=r"^[0-9a-f]{64}$")
    network: NetworkConfig
    training: Training = Training()
    results: tuple[MatchResult, ...] = ()
    calibration: tuple[Calibration, ...] = Field((), max_length=64, description="of the win head, by opponent")

    @property
    def hardest(self) -> MatchResult | None:
        """Its result against whoever troubles it most: what it makes of `random` says nothing."""
        return min(self.results, key=lambda result: result.score, default=None)


@dataclass(frozen=True)
class Bundle:
    """A policy that can be played: description, weights, observation statistics. The arrays are read-only."""

    metadata: Metadata
    interface: Interface
    tensors: Mapping[str, Array]
    normalizer: Mapping[str, Array]
    card: str = field(repr=False)

    @property
    def network(self) -> NetworkConfig:
        """The network's configuration."""
        return self.metadata.network

    @property
    def content_hash(self) -> str:
        """Names the policy: equal hashes play alike."""
        return self.metadata.content_hash


def make_bundle(spec: GameSpec, network: NetworkConfig, tensors: Mapping[str, Array], normalizer: Mapping[str, Array],
                training: Training | None = None, results: tuple[MatchResult, ...] = (),
                card: str | None = None) -> Bundle:  # fmt: skip
    """A bundle of these weights; copies them, so that the trainer can continue."""
    kept = {name: _frozen(tensors[name], np.float32) for name in tensor_shapes(network, spec.interface)}
    statistics = {name: _frozen(normalizer[name], np.float64) for name in normalizer_shapes(network, spec.interface)}
    metadata = Metadata(
        format=FORMAT,
        game=spec.name,
        game_version=spec.version,
        interface_digest=spec.interface_digest,
        content_hash=content_hash(network, spec.interface, kept, statistics),
        network=network,
        training=training or Training(),
        results=results,
    )
    return Bundle(metadata, spec.interface, kept, statistics, default_card(metadata) if card is None else card)


def _frozen(array: Array, dtype: npt.DTypeLike) -> Array:
    copy = np.array(array, dtype, order="C")
    copy.setflags(write=False)
    return copy


def content_hash(network: NetworkConfig, interface: Interface, tensors: Mapping[str, Array],
                 normalizer: Mapping[str, Array]) -> str:  # fmt: skip
    """SHA-256 (hex) of everything that decides how the policy plays; free of how the file is written."""
    sha = hashlib.sha256(f"{interface.digest}\n{_network_text(network)}\n".encode())
    for group, arrays in (("policy", tensors), ("normalizer", normalizer)):
        for name in sorted(arrays):
            array = np.ascontiguousarray(arrays[name])
            sha.update(f"{group}/{name} {array.dtype.str} {array.shape}\n".encode())
            sha.update(array.data)
    return sha.hexdigest()


def _network_text(network: NetworkConfig) -> str:
    """The configuration as it is hashed: a setting that format 1 did not have yet counts only when it is used."""
    every, changed = network.model_dump(mode="json"), network.model_dump(mode="json", exclude_defaults=True)
    return json.dumps({k: every[k] for k in every if k in _HASHED_ALWAYS or k in changed}, separators=(",", ":"))


def model_name(path: Path) -> str:
    """What a model file is called: its name without .zip, or its run's name when it is a run's model.zip."""
    return path.resolve().parent.name if path.stem == "model" else path.stem


def default_card(metadata: Metadata) -> str:
    """A model card from the facts in the metadata."""
    training = metadata.training
    lines = [
        f"# A policy for {metadata.game}",
        "",
        f"Trained for {training.steps:,} steps"
        + (f" with preset `{training.preset}`" if training.preset else "")
        + (f" on {training.date}" if training.date else "")
        + ".",
        "",
    ]
    if metadata.results:
        lines += ["| opponent | matches | won | tied | lost | score | 95 % interval |", "|---|--:|--:|--:|--:|--:|---|"]
        lines += [
            f"| {r.opponent} | {r.matches} | {r.wins} | {r.ties} | {r.losses} | {r.score:.1%} "
            f"| {r.low:.1%}–{r.high:.1%} |"
            for r in metadata.results
        ]
    else:
        lines.append("No results were measured.")
    return "\n".join(lines) + "\n"


def pack_bundle(bundle: Bundle, onnx: bytes | None = None) -> bytes:
    """The bundle as a file's bytes: same bundle, same bytes."""
    metadata = {**bundle.metadata.model_dump(mode="json"), "interface": bundle.interface.to_json()}
    files = {
        METADATA: json.dumps(metadata, sort_keys=True, indent=1).encode(),
        POLICY: write_tensors(bundle.tensors),
        NORMALIZER: write_tensors(bundle.normalizer),
        CARD: bundle.card.encode(),
    }
    return write_archive(files if onnx is None else {**files, ONNX: onnx})


def write_bundle(path: Path, bundle: Bundle, onnx: bytes | None = None) -> None:
    """Write the file at once: readers see the old one or the new one. A run's own files go through RunStore.export."""
    try:
        data_files.replace_file(path, pack_bundle(bundle, onnx))
    except OSError as error:
        raise BundleError(f"cannot write '{path}': {error.strerror}", "choose a writable folder") from error


def read_metadata(source: Source) -> tuple[Metadata, Interface]:
    """What the bundle says of itself; no weights are read."""
    with _opened(source) as file:
        return _read_metadata(file, _directory(file))


def read_bundle(source: Source) -> Bundle:
    """Read and check all of a bundle; raises UserError, and allocates little, when anything is not as it must be."""
    with _opened(source) as file:
        entries = _directory(file)
        metadata, interface = _read_metadata(file, entries)
        card = _read_card(file, entries)
        if ONNX in entries:
            for _ in chunks(file, entries[ONNX]):
                pass
        normalizer = _read_arrays(file, entries[NORMALIZER], normalizer_shapes(metadata.network, interface), "F64")
        if any((array < 0).any() for name, array in normalizer.items() if not name.endswith("/mean")):
            raise BundleError(f"{NORMALIZER} holds a negative variance or count")
        tensors = _read_arrays(file, entries[POLICY], tensor_shapes(metadata.network, interface), "F32")
    if content_hash(metadata.network, interface, tensors, normalizer) != metadata.content_hash:
        raise BundleError("the weights are not those that the metadata names", "the file was changed or mixed up")
    return Bundle(metadata, interface, tensors, normalizer, card)


def read_onnx(source: Source) -> bytes | None:
    """The ONNX member, if there is one; it is data for a runtime, and nothing here looks inside."""
    with _opened(source) as file:
        entries = _directory(file)
        return read_entry(file, entries[ONNX], MAX_WEIGHT_BYTES) if ONNX in entries else None


def with_calibration(bundle: Bundle, found: tuple[Calibration, ...]) -> Bundle:
    """The same policy with these measurements of its win head instead of those that it had."""
    kept = [line for line in bundle.card.rstrip().split("\n\n") if not line.startswith(CHANCE)]
    rows = [f"| {c.opponent} | {c.matches} | {c.brier:.3f} | {c.constant:.3f} | {c.error:.3f} |" for c in found]
    head = f"{CHANCE}\n| against | matches | Brier score | of a constant | calibration error |\n|---|--:|--:|--:|--:|"
    card = "\n\n".join([*kept, "\n".join([head, *rows])]) + "\n"
    return replace(bundle, metadata=bundle.metadata.model_copy(update={"calibration": found}), card=card)


def read_card(source: Source) -> str:
    """The card alone."""
    with _opened(source) as file:
        return _read_card(file, _directory(file))


def _read_card(file: BinaryIO, entries: Mapping[str, Entry]) -> str:
    card = read_entry(file, entries[CARD], MAX_CARD_BYTES).decode("utf-8", "replace").replace("\r\n", "\n")
    check_text(card, CARD, MAX_CARD_BYTES)
    return card


def require_fit(bundle: Bundle, spec: GameSpec) -> None:
    """Refuse a bundle whose observations or actions are not those of the game as configured."""
    if bundle.metadata.game != spec.name:
        raise BundleError(f"the bundle plays '{bundle.metadata.game}', not '{spec.name}'")
    if bundle.interface.digest != spec.interface_digest:
        raise BundleError(
            f"the bundle was made for another layout of '{spec.name}' ({bundle.interface.obs_size} features, heads "
            f"{bundle.interface.head_sizes}; here {spec.obs_size}, {spec.head_sizes})",
            "use the game settings that it was trained with, or train a new one",
        )


@contextmanager
def _opened(source: Source) -> Iterator[BinaryIO]:
    if isinstance(source, bytes):
        yield io.BytesIO(source)
        return
    try:
        if not stat.S_ISREG(source.stat().st_mode):
            raise BundleError(f"'{source}' is not a file")
        with source.open("rb") as file:
            yield file
    except OSError as error:
        raise BundleError(f"cannot read bundle '{source}': {error.strerror}", "see `pvp-ml model list`") from error
    except UserError as error:
        raise BundleError(f"bundle '{source}': {error.message}", error.hint) from error


def _directory(file: BinaryIO) -> dict[str, Entry]:
    entries = read_directory(file, MEMBERS)
    if missing := sorted(REQUIRED - set(entries)):
        raise BundleError(f"it lacks '{missing[0]}'", "is it a bundle at all?")
    return entries


def _read_metadata(file: BinaryIO, entries: Mapping[str, Entry]) -> tuple[Metadata, Interface]:
    data = parse_json(read_entry(file, entries[METADATA], MAX_METADATA_BYTES), METADATA, MAX_METADATA_BYTES)
    if data.get("format") != FORMAT:
        raise BundleError(
            f"bundle format {str(data.get('format'))[:20]!r} is not {FORMAT}",
            "install the version of pvp-ml that wrote it",
        )
    interface = _read_interface(data.pop("interface", None))
    try:
        metadata = Metadata.model_validate_json(json.dumps(data), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])[:80]
        raise BundleError(f"{METADATA}: {where}: {first['msg'][:120]}") from error
    if metadata.interface_digest != interface.digest:
        raise BundleError("the interface in the metadata does not have the digest that it names")
    if metadata.network.frames[-1] > MAX_FRAMES_BACK:
        raise BundleError(f"the network looks {metadata.network.frames[-1]} frames back, limit {MAX_FRAMES_BACK}")
    weights = {name: (shape, "F32") for name, shape in tensor_shapes(metadata.network, interface).items()}
    if data_bytes(weights) > MAX_WEIGHT_BYTES:
        raise BundleError(f"the network has {data_bytes(weights)} bytes of weights, the limit is {MAX_WEIGHT_BYTES}")
    return metadata, interface


def _as_written(head: dict[str, Any]) -> dict[str, Any]:
    """Without the empty list of links that some bundles have."""
    return {key: value for key, value in head.items() if value or key != LINKS}


def _read_interface(data: Any) -> Interface:
    """Blocks and heads; counted before anything is built from them."""
    try:
        parts = sum(1 + len(rule["picks"]) for head in data["heads"] for rule in head["rules"])
        if parts > MAX_RULE_PARTS:
            raise BundleError(f"the heads have {parts} rules and picks, the limit is {MAX_RULE_PARTS}")
        interface = msgspec.convert(data, Interface, strict=True)
        if interface.to_json() != {**data, "heads": [_as_written(head) for head in data["heads"]]}:
            raise BundleError("the interface holds keys that are not known")
        blocks = (*interface.blocks, *interface.privileged)
        if len({b.name for b in blocks}) < len(blocks) or len({h.name for h in interface.heads}) < len(interface.heads):
            raise BundleError("two blocks or two heads of the interface have the same name")
        if any(block.count < 1 for block in blocks):
            raise BundleError("a block of the interface repeats less than once")
        sizes = (interface.obs_size, interface.privileged_size, interface.mask_size)
        if max(sizes[:2]) > MAX_OBSERVATION or sizes[2] > MAX_CHOICES or not sizes[0] or not sizes[2]:
            raise BundleError(
                f"the interface has {sizes[0]} features, {sizes[1]} privileged ones and {sizes[2]} choices",
                f"limits: {MAX_OBSERVATION}, {MAX_OBSERVATION} and {MAX_CHOICES}",
            )
        for feature in (f for block in blocks for f in block.features):
            is_fine = 0 < (feature.vocab or 0) <= 1 << 20 if feature.kind == "id" else not feature.vocab
            if not is_fine:
                raise BundleError(
                    f"feature '{feature.name[:60]}' of kind '{feature.kind}' has a vocabulary of {feature.vocab}",
                    "id features have one of 1 to 1,048,576, others have none",
                )
        return Interface.from_json(data)
    except (KeyError, TypeError, ValueError, msgspec.ValidationError) as error:
        raise BundleError(f"{METADATA}: interface: {str(error)[:120]}") from error


def _read_arrays(file: BinaryIO, entry: Entry, shapes: Mapping[str, tuple[int, ...]], code: str) -> dict[str, Array]:
    layout = {name: (shape, code) for name, shape in shapes.items()}
    if entry.size > max_file_bytes(layout):
        raise BundleError(f"'{entry.name}' has {entry.size} bytes, its network needs {data_bytes(layout)}")
    if entry.size > LOAD_ON_TRUST_BYTES:
        check_tensors(chunks(file, entry), layout, entry.name)
    return read_tensors(chunks(file, entry), layout, entry.name)
