"""Frozen policies on disk, stored once by the hash of what they are: the weights of a league."""

from __future__ import annotations

from pathlib import Path

from pvp_ml import data_files
from pvp_ml.errors import SaveError, UserError
from pvp_ml.model.actor import Actor
from pvp_ml.model.bundle import Bundle, pack_bundle, read_bundle
from pvp_ml.spec import Interface


class MemberFolder:
    """Bundles named by their content hash. Files never change; the same policy is stored once."""

    def __init__(self, path: Path, interface: Interface) -> None:
        self.path = path
        self._interface = interface

    def file(self, content_hash: str) -> Path:
        """Where a member's bundle lies."""
        return self.path / f"{content_hash}.zip"

    def add(self, bundle: Bundle) -> str:
        """Store a bundle unless it is there; returns its hash."""
        if bundle.interface.digest != self._interface.digest:
            raise UserError(f"model {bundle.content_hash[:12]} was made for another game or version", "retrain it")
        target = self.file(bundle.content_hash)
        if not target.exists():
            try:
                self.path.mkdir(parents=True, exist_ok=True)
                data_files.replace_file(target, pack_bundle(bundle))
            except OSError as error:
                raise SaveError(
                    f"cannot keep league member {bundle.content_hash[:12]}: {error.strerror or error}",
                    "free disk space; the league continues without it",
                ) from error
        return bundle.content_hash

    def hashes(self) -> set[str]:
        """Everybody that is kept here."""
        return {path.stem for path in self.path.glob("*.zip")}

    def remove(self, content_hash: str) -> None:
        """Delete a member's file; harmless when it is gone."""
        try:
            self.file(content_hash).unlink(missing_ok=True)
        except OSError as error:
            raise SaveError(f"cannot remove league member {content_hash[:12]}: {error.strerror or error}") from error

    def read(self, content_hash: str) -> Bundle:
        """The member, checked: it is what its name says, and it fits the game."""
        path = self.file(content_hash)
        if not path.is_file():
            raise UserError(f"league member {content_hash[:12]} is missing", f"expected {path.name} in {path.parent}")
        bundle = read_bundle(path)
        if bundle.content_hash != content_hash:
            raise UserError(f"league member {content_hash[:12]} holds another policy", "delete the file")
        if bundle.interface.digest != self._interface.digest:
            raise UserError(
                f"league member {content_hash[:12]} was made for another game or version", "delete the file"
            )
        return bundle

    def actor(self, content_hash: str) -> Actor:
        """The member, ready to play."""
        bundle = self.read(content_hash)
        return Actor(bundle.network, bundle.interface, bundle.tensors, bundle.normalizer)
