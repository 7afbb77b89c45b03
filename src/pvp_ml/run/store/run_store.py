"""Where a run lives on disk, and the only code that writes checkpoints.

    experiments/<name>/  config.yml  model.zip  metrics.jsonl  logs/  lock
        checkpoints/     HEAD  ckpt-<save>-<step>/ {files…, manifest.json}
        milestones/      <label>/ {files…, manifest.json}       never pruned

A checkpoint is a folder of files that is written aside, flushed, and renamed into place as a whole; it never changes
afterwards. Whoever loads trusts no pointer and no clock: the newest folder whose manifest and hashes verify wins, so a
crash at any instant costs at most one interval. No torch here: a writer may be a small child process.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pvp_ml.documents.plain_file import read_plain
from pvp_ml.errors import SaveError as SaveError
from pvp_ml.errors import UserError
from pvp_ml.run.store.disk import Disk
from pvp_ml.run.store.lock import RunLock
from pvp_ml.run.store.manifest import MANIFEST as MANIFEST
from pvp_ml.run.store.manifest import Checkpoint as Checkpoint
from pvp_ml.run.store.manifest import DamagedCheckpointError as DamagedCheckpointError
from pvp_ml.run.store.manifest import load as load
from pvp_ml.run.store.manifest import make_manifest, manifest_bytes

log = logging.getLogger(__name__)

HEAD = "HEAD"
NOTES = "meta.json"
MAX_FAILED_SAVES = 3
_FOLDER = re.compile(r"ckpt-(\d{6,12})-(\d{1,18})")
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_RESERVED = {"all", "con", "prn", "aux", "nul", *(f"{d}{n}" for d in ("com", "lpt") for n in range(1, 10))}


def check_run_name(name: str) -> str:
    """The name if it can be a folder everywhere; refuses '', '../x', 'all', device names and the like."""
    return _check_name("run", name)


def is_run_name(name: str) -> bool:
    """Whether a run can be called that."""
    return bool(_FILE_NAME.fullmatch(name)) and not name.endswith(".") and name.split(".")[0].lower() not in _RESERVED


def _check_name(what: str, name: str) -> str:
    if not is_run_name(name):
        raise UserError(
            f"{what} name {name[:120]!r} is not usable",
            "use 1 to 100 letters, digits, '.', '_' or '-', beginning with a letter or digit; 'all' is taken",
        )
    return name


class RunStore:
    """The folder of one run. Hold `lock()` while training: there is one writer at a time.

    keep: how many checkpoints stay (at least 2, so that a corrupt newest one has a predecessor).
    """

    def __init__(self, experiments: Path, name: str, keep: int = 3, disk: Disk | None = None) -> None:
        if keep < 2:
            raise UserError(f"checkpoints to keep is {keep}", "keep at least 2")
        self.path = experiments / check_run_name(name)
        self.checkpoints = self.path / "checkpoints"
        self.milestones = self.path / "milestones"
        self.metrics = self.path / "metrics.jsonl"
        self.logs = self.path / "logs"
        self._keep = keep
        self._disk = disk or Disk()
        self._failures: Counter[str] = Counter()

    def create(self) -> None:
        """Make the folders; harmless when they exist."""
        try:
            for folder in (self.checkpoints, self.milestones, self.logs):
                folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(
                f"cannot create run folder '{self.path}': {error.strerror}", "choose another --experiments-dir"
            ) from error

    def lock(self, now_s: float) -> RunLock:
        """A context manager that keeps other trainers out; `now_s` (Unix time) is written beside pid and host."""
        return RunLock(self.path / "lock", now_s)

    def save(self, step: int, files: Mapping[str, bytes], spec_digest: str = "") -> Path:
        """Write a checkpoint; it exists completely when this returns, and not at all when it raises SaveError.

        (An error after the rename, while HEAD is written or old ones are pruned, leaves the new one in place as well.)
        """
        for name in files:
            _check_name("checkpoint file", name)
        if MANIFEST in files:
            raise UserError(f"'{MANIFEST}' is written by the store", "choose another file name")
        self.create()
        aside: Path | None = None
        try:
            self._remove_leftovers()
            save = 1 + max((number for number, _, _ in self._folders()), default=0)
            final = self.checkpoints / f"ckpt-{save:06d}-{step}"
            aside = final.with_name(f"{final.name}.tmp-{os.getpid()}")
            self._write_aside(aside, files, make_manifest(step, files, spec_digest))
            self._disk.rename(aside, final)
            self._disk.reached("renamed")
            self._disk.sync_folder(self.checkpoints)
            self._disk.reached("folder-synced")
            self._point_head(final)
            self._prune(final)
            sizes = ", ".join(f"{name} {len(data):,}" for name, data in files.items())
            log.debug("checkpoint %s: %s bytes", final.name, sizes)
        except OSError as error:
            if aside is not None:
                self._disk.remove_folder(aside)
            raise SaveError(
                f"cannot save step {step} of run '{self.path.name}' to '{self.checkpoints}': {error.strerror or error}",
                "free disk space or make the folder writable; the previous checkpoint is untouched",
            ) from error
        return final

    def try_save(self, step: int, files: Mapping[str, bytes], spec_digest: str = "") -> Path | None:
        """Like `save`, but a failure is a warning, so that training continues; the third in a row raises SaveError."""
        with self.tolerating("checkpoint"):
            return self.save(step, files, spec_digest)
        return None

    @contextlib.contextmanager
    def tolerating(self, what: str) -> Iterator[None]:
        """A write that may fail: a SaveError inside becomes a warning, unless it is the third of its kind in a row."""
        try:
            yield
        except SaveError as error:
            self._failures[what] += 1
            if self._failures[what] >= MAX_FAILED_SAVES:
                raise
            log.warning("%s (failure %d of %d)", error, self._failures[what], MAX_FAILED_SAVES)
        else:
            self._failures[what] = 0

    def latest(self) -> Checkpoint | None:
        """The newest checkpoint that verifies; each one that was passed over is named in the log with its damage."""
        for _, _, path in sorted(self._folders(), reverse=True):
            try:
                found = load(path)
                log.debug("the newest checkpoint that verifies is %s", path.name)
                return found
            except DamagedCheckpointError as damage:
                log.warning("skipping %s: %s", path.name, damage.message)
        return None

    def mark(
        self, label: str, source: Path | None = None, notes: Mapping[str, Any] | None = None, model: bytes = b""
    ) -> Path:
        """Keep a checkpoint (default: the newest that verifies) for ever as milestones/<label>, by links or copies.

        A label may have two parts (`Phase1-BallTouching/025M`). `notes` go into meta.json beside the files, and `model`
        into model.zip, which plays wherever a model does.
        """
        target = self._milestone_path(label)
        if target.exists():
            raise UserError(f"run '{self.path.name}' already has a milestone '{label}'", "choose another label")
        found = load(source) if source else self.latest()
        if found is None:
            raise UserError(f"run '{self.path.name}' has no checkpoint to keep", "save one first")
        self.create()
        aside = target.with_name(f"{target.name}.tmp-{os.getpid()}")
        self._disk.remove_folder(aside)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            self._disk.make_folder(aside)
            for name in (*found.files, MANIFEST):
                self._disk.link(found.path / name, aside / name)
            texts = {NOTES: json.dumps(dict(notes or {}), indent=1).encode()}
            for name, data in (texts | ({"model.zip": model} if model else {})).items():
                file = self._disk.write(aside / name, data)
                try:
                    self._disk.sync(file)
                finally:
                    os.close(file)
            self._disk.sync_folder(aside)
            self._disk.rename(aside, target)
            self._disk.sync_folder(target.parent)
        except OSError as error:
            self._disk.remove_folder(aside)
            raise SaveError(
                f"cannot write milestone '{label}': {error.strerror or error}", "free disk space"
            ) from error
        return target

    def kept(self) -> list[Path]:
        """The folders of all checkpoints and milestones."""
        return [*(path for *_, path in self._folders()), *(self.milestones / name for name in self.milestone_names())]

    def is_kept(self, checkpoint: Path) -> bool:
        """Whether a milestone holds exactly what this checkpoint folder holds."""
        wanted = manifest_bytes(checkpoint)
        return wanted is not None and any(
            manifest_bytes(self.milestones / label) == wanted for label in self.milestone_names()
        )

    def milestone_names(self) -> list[str]:
        """Labels, oldest first."""
        if not self.milestones.is_dir():
            return []
        found = [p.parent for p in self.milestones.glob(f"**/{MANIFEST}") if ".tmp-" not in p.parent.name]
        ordered = sorted(found, key=lambda p: (p.stat().st_mtime_ns, p.name))
        labels = [p.relative_to(self.milestones).as_posix() for p in ordered]
        return [label for label in labels if all(map(is_run_name, label.split("/")))]

    def milestone(self, label: str) -> Checkpoint:
        """Load and verify a milestone."""
        path = self._milestone_path(label)
        if not path.is_dir():
            known = ", ".join(self.milestone_names()) or "none"
            raise UserError(f"run '{self.path.name}' has no milestone '{label}'", f"there are: {known}")
        return load(path)

    def _milestone_path(self, label: str) -> Path:
        parts = label.split("/")
        if len(parts) > 2:
            raise UserError(f"milestone label '{label[:120]}' has more than two parts")
        return self.milestones.joinpath(*(_check_name("milestone", part) for part in parts))

    def export(self, name: str, data: bytes) -> Path:
        """Replace <run>/<name> (config.yml, model.zip …) at once: readers see the old file or the new, never a mix."""
        target = self.path / _check_name("file", name)
        self.create()
        try:
            self._replace_file(target, data)
        except OSError as error:
            raise SaveError(
                f"cannot write '{target}': {error.strerror or error}", "free disk space; the old file is untouched"
            ) from error
        return target

    def try_export(self, name: str, data: bytes) -> bool:
        """Like `export`, but a failure is only a warning: the checkpoint has everything, the next save tries again."""
        try:
            self.export(name, data)
        except SaveError as error:
            log.warning("%s", error)
            return False
        return True

    def _write_aside(self, aside: Path, files: Mapping[str, bytes], manifest: bytes) -> None:
        self._disk.make_folder(aside)
        self._disk.reached("begun")
        opened: list[int] = []
        try:
            opened.extend(self._disk.write(aside / name, data) for name, data in files.items())
            self._disk.reached("files-written")
            for file in opened:
                self._disk.sync(file)
        finally:
            for file in opened:
                os.close(file)
        self._disk.reached("files-synced")
        file = self._disk.write(aside / MANIFEST, manifest)
        try:
            self._disk.reached("manifest-written")
            self._disk.sync(file)
        finally:
            os.close(file)
        self._disk.sync_folder(aside)
        self._disk.reached("manifest-synced")

    def _point_head(self, final: Path) -> None:
        self._replace_file(self.checkpoints / HEAD, final.name.encode(), "head-written")
        self._disk.reached("head-replaced")
        named = read_plain(self.checkpoints / HEAD, 1 << 10).decode("ascii")
        try:
            load(self.checkpoints / named)
        except DamagedCheckpointError as damage:
            raise OSError(damage.message) from damage
        self._disk.reached("head-verified")

    def _replace_file(self, target: Path, data: bytes, stage: str = "") -> None:
        aside = target.with_name(f"{target.name}.tmp-{os.getpid()}")
        aside.unlink(missing_ok=True)
        try:
            file = self._disk.write(aside, data)
            try:
                self._disk.sync(file)
            finally:
                os.close(file)
            if stage:
                self._disk.reached(stage)
            self._disk.replace(aside, target)
            self._disk.sync_folder(target.parent)
        except OSError:
            with contextlib.suppress(OSError):
                aside.unlink(missing_ok=True)
            raise

    def _prune(self, newest: Path) -> None:
        """Only runs after HEAD was read back and the checkpoint that it names verified."""
        by_age = sorted(self._folders(), reverse=True)
        for _, _, path in by_age[self._keep :]:
            if path != newest:
                self._disk.remove_folder(path)
        self._disk.reached("pruned")

    def _remove_leftovers(self) -> None:
        for path in self.checkpoints.glob("*.tmp-*"):
            if path.is_dir():
                self._disk.remove_folder(path)
            else:
                path.unlink(missing_ok=True)

    def _folders(self) -> list[tuple[int, int, Path]]:
        """(save number, step, path) of everything that is named like a checkpoint."""
        if not self.checkpoints.is_dir():
            return []
        named = ((_FOLDER.fullmatch(path.name), path) for path in self.checkpoints.iterdir())
        return [(int(match[1]), int(match[2]), path) for match, path in named if match]
