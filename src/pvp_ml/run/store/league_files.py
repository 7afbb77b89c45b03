"""The files of league members that left: removed once no checkpoint that is kept names them any more."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from pathlib import Path

from pvp_ml.documents.plain_file import read_plain
from pvp_ml.errors import UserError
from pvp_ml.run.store.checkpoint import PROGRESS
from pvp_ml.selfplay.members import MemberFolder

MAX_PROGRESS_BYTES = 64 << 20

log = logging.getLogger(__name__)


def remove_unneeded(league: MemberFolder, kept: Iterable[Path]) -> int:
    """Remove the members that no checkpoint folder in `kept` names; returns how many.

    A checkpoint names the members of its league and those of its matches in play. While one of them does not say whom
    it needs (it was written by an older version, or cannot be read), nothing is removed.
    """
    needed: set[str] = set()
    for folder in kept:
        try:
            needed.update(json.loads(read_plain(folder / PROGRESS, MAX_PROGRESS_BYTES))["members"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            log.debug("no league member is removed: %s does not say whom it needs (%s)", folder.name, error)
            return 0
    gone = league.hashes() - needed
    for content_hash in gone:
        try:
            league.remove(content_hash)
        except UserError as error:
            log.warning("%s", error)
    return len(gone)
