"""What can be read of a run without building it. No torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pvp_ml.errors import UserError
from pvp_ml.run.store.manifest import checking
from pvp_ml.run.store.run_store import RunStore
from pvp_ml.selfplay.league import League


def read_facts(folder: Path) -> dict[str, Any]:
    """progress.json of a run's newest checkpoint."""
    if not folder.is_dir():
        raise UserError(f"there is no run '{folder.name}' in '{folder.parent}'", "see `pvp-ml jobs list`")
    checkpoint = RunStore(folder.parent, folder.name).latest()
    if checkpoint is None:
        raise UserError(f"run '{folder.name}' has no checkpoint yet", "wait for its first one")
    with checking(checkpoint.path):
        facts: dict[str, Any] = json.loads(checkpoint.files["progress.json"])
    return facts


def read_league(folder: Path) -> League:
    """The league of a run's newest checkpoint."""
    with checking(folder):
        return League.from_json(read_facts(folder)["extra"]["competition"]["league"])
