"""Every parser of a file that somebody else may have written, as a function of bytes: it may refuse, and nothing else.

A target's seeds are valid files, or the part of a file that is worth changing; `attempt` wraps that part up (checksums,
seals, zips) so that changes reach the parser behind them. A refusal is a UserError; any other exception is a finding.
"""

import contextlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "compat"))

import legacy_writer

from pvp_ml.compat.convert import convert
from pvp_ml.compat.old_model import read_legacy
from pvp_ml.errors import UserError
from pvp_ml.games import registry, replay
from pvp_ml.games.contract import parse_contract
from pvp_ml.games.vgc.replays import read_battles
from pvp_ml.match import Bot, External, MatchPlan, StepBuffers
from pvp_ml.model import bundle as bundles
from pvp_ml.model.archive import read_directory, read_entry, write_archive
from pvp_ml.model.recording import Recording, read_recording, write_recording
from pvp_ml.run.config.schema import load_config
from pvp_ml.run.store import manifest
from pvp_ml.selfplay.league import Entry, League

ROOT = Path(__file__).parent.parent.parent
GOLDEN = ROOT / "tests/golden/bundle-1.zip"


@dataclass(frozen=True)
class Target:
    seeds: Callable[[], list[bytes]]
    attempt: Callable[[bytes], object]


@cache
def scratch() -> Path:
    """A folder in memory where there is one."""
    shared = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="pvp-ml-fuzz-", dir=shared if os.access(shared, os.W_OK) else None))


def file_of(name: str, data: bytes) -> Path:
    path = scratch() / f"{os.getpid()}-{name}"
    path.write_bytes(data)
    return path


def members(path: Path, names: frozenset[str]) -> dict[str, bytes]:
    with path.open("rb") as file:
        return {name: read_entry(file, entry, 1 << 26) for name, entry in read_directory(file, names).items()}


# --- archives ---------------------------------------------------------------------------------------------------------


def try_archive(data: bytes) -> None:
    file = io.BytesIO(data)
    for entry in read_directory(file, bundles.MEMBERS).values():
        read_entry(file, entry, 1 << 20)


def try_bundle_metadata(data: bytes) -> None:
    bundles.read_bundle(write_archive({**golden_members(), bundles.METADATA: data}))


def try_bundle_weights(data: bytes) -> None:
    bundles.read_bundle(write_archive({**golden_members(), bundles.POLICY: data}))


@cache
def golden_members() -> dict[str, bytes]:
    return members(GOLDEN, bundles.MEMBERS)


@cache
def recorded() -> tuple[bytes, dict[str, bytes]]:
    spec = toy().spec
    legal = np.ones((4, spec.mask_size), np.bool_)
    rows = Recording(np.zeros((4, spec.obs_size), np.float32), legal, np.zeros((4, len(spec.heads)), np.int32),
                     np.zeros(4, np.int64))  # fmt: skip
    path = scratch() / "recording.zip"
    write_recording(path, rows, spec.name, spec.interface)
    return path.read_bytes(), members(path, frozenset({"metadata.json", "rows.safetensors"}))


def try_recording(data: bytes) -> None:
    spec = toy().spec
    read_recording(file_of("recording.zip", data), spec.name, spec.interface)


def try_recording_part(name: str) -> Callable[[bytes], None]:
    return lambda data: try_recording(write_archive({**recorded()[1], name: data}))


# --- old models -------------------------------------------------------------------------------------------------------


def try_pickle(data: bytes) -> None:
    storages = legacy_parts()[1]
    convert(read_legacy(file_of("old.zip", legacy_writer.write_zip({"data.pkl": data, **storages, "version": b"3"}))))


@cache
def legacy_parts() -> tuple[bytes, dict[str, bytes]]:
    import test_old_model

    writer = legacy_writer.Writer()
    data = writer.dump(test_old_model.content()[0])
    return data, {f"data/{key}": raw for key, raw in writer.storages.items()}


def legacy_file() -> bytes:
    data, storages = legacy_parts()
    return legacy_writer.write_zip({"data.pkl": data, **storages, "version": b"3"})


# --- texts ------------------------------------------------------------------------------------------------------------


def replay_seed() -> bytes:
    game = toy()
    lineup = (External("0"), Bot("random"))
    plan = MatchPlan(0, 7, lineup)
    return replay.replay_text(replay.Replay("connect4", game.spec.game_digest, {}, plan, (((3,), (0,)),) * 4)).encode()


def try_replay(data: bytes) -> None:
    found = replay.parse_replay(io.BytesIO(data), "fuzz")
    if len(found.actions) < 64:
        for _ in replay.narrate(found.game, replay.play(found)):
            pass


def preset_seeds() -> list[bytes]:
    folder = ROOT / "src/pvp_ml/presets"
    names = ("toys/connect4.yml", "nh/core.yml", "rocket_league/training.yml", "vgc/self-play.yml")
    own = b"env: {name: connect4}\nppo: {learning_rate: 3e-4, entropy_coef: {type: jump, jumps: {0: 0.1}}}"
    return [own, *((folder / name).read_bytes() for name in names)]


def try_preset(data: bytes) -> None:
    load_config(str(file_of("preset.yml", data)), [], scratch())


def try_manifest(data: bytes) -> None:
    """The body of a manifest, sealed anew: whoever changes a checkpoint can do that too."""
    folder = scratch() / f"{os.getpid()}-checkpoint"
    folder.mkdir(exist_ok=True)
    (folder / "progress.json").write_bytes(b"{}")
    try:
        sealed = manifest.seal(json.loads(data))
    except (ValueError, RecursionError):
        sealed = data
    (folder / manifest.MANIFEST).write_bytes(sealed)
    manifest.load(folder)


def league_seed() -> bytes:
    league = League()
    for i in range(3):
        league.add(Entry(content_hash=f"{i:064x}", name=f"m{i}", kind="past", steps=i))
        league.book("main", league.members[-1].key, 1.0)
    return json.dumps(league.to_json()).encode()


def try_league(data: bytes) -> None:
    try:
        parsed = json.loads(data)
    except (ValueError, RecursionError):
        return
    league = League.from_json(parsed)
    league.past_chances()
    league.pfsp_chances("hard")
    league.book("main", "bot:random", 1.0)
    league.to_json()


def try_showdown(data: bytes) -> None:
    for found in read_battles(file_of("battle.json", data)):
        if isinstance(found, UserError):
            raise found


def showdown_seeds() -> list[bytes]:
    log = "|j|A\n|tier|[Gen 9] VGC 2024 Reg G\n|start\n|move|p1a: A|Protect|p1a: A\n|win|A"
    fields = {"id": "x", "formatid": "gen9vgc2024regg", "log": log, "rating": 1500}
    start = b'>start {"formatid":"gen9vgc2024regg","seed":[1,2,3,4]}\n>player p1 {"name":"A"}\n>p1 team 1234\n'
    return [json.dumps(fields).encode(), log.encode(), start]


# --- simulators -------------------------------------------------------------------------------------------------------


@cache
def toy():
    kind = registry.find("connect4")
    return kind.build(kind.config(), 2)


@cache
def fight():
    kind = registry.find("nh")
    return kind.build(kind.config(), 2)


def snapshot_seed(build: Callable[[], object]) -> bytes:
    game = build()
    game.queue([MatchPlan(i, i, (External("0"), External("1"))) for i in range(4)])
    game.start(StepBuffers.allocate(game.spec, game.matches))
    return game.snapshot()


def try_snapshot(build: Callable[[], object]) -> Callable[[bytes], None]:
    def attempt(data: bytes) -> None:
        game = build()
        game.restore(data)
        out = StepBuffers.allocate(game.spec, game.matches)
        idle = np.zeros((game.matches, game.spec.seats, len(game.spec.heads)), np.int32)
        for _ in range(3):
            with contextlib.suppress(UserError):  # an action that is not legal in that state
                game.step(idle, out)

    return attempt


TARGETS = {
    "archive": Target(lambda: [GOLDEN.read_bytes()], try_archive),
    "bundle": Target(lambda: [GOLDEN.read_bytes()], bundles.read_bundle),
    "bundle-metadata": Target(lambda: [golden_members()[bundles.METADATA]], try_bundle_metadata),
    "bundle-weights": Target(lambda: [golden_members()[bundles.POLICY]], try_bundle_weights),
    "recording": Target(lambda: [recorded()[0]], try_recording),
    "recording-metadata": Target(lambda: [recorded()[1]["metadata.json"]], try_recording_part("metadata.json")),
    "recording-rows": Target(lambda: [recorded()[1]["rows.safetensors"]], try_recording_part("rows.safetensors")),
    "old-model": Target(lambda: [legacy_file()], lambda data: read_legacy(file_of("old.zip", data))),
    "old-model-pickle": Target(lambda: [legacy_parts()[0]], try_pickle),
    "contract": Target(
        lambda: [(ROOT / "src/pvp_ml/contracts/environments/NhEnv.json").read_bytes()],
        lambda data: parse_contract(data, "fuzz"),
    ),
    "replay": Target(lambda: [replay_seed()], try_replay),
    "preset": Target(preset_seeds, try_preset),
    "manifest": Target(
        lambda: [json.dumps(json.loads(manifest.make_manifest(5, {"progress.json": b"{}"}, ""))["manifest"]).encode()],
        try_manifest,
    ),
    "league": Target(lambda: [league_seed()], try_league),
    "snapshot-nh": Target(lambda: [snapshot_seed(fight)], try_snapshot(fight)),
    "snapshot-connect4": Target(lambda: [snapshot_seed(toy)], try_snapshot(toy)),
    "showdown": Target(showdown_seeds, try_showdown),
}
"""Name → seeds and parser."""
