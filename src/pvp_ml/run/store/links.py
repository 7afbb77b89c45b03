"""What does not belong into a run folder: writing follows links, and waits for ever at a pipe."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from pvp_ml.errors import UserError

OTHERS = frozenset({"wandb"})
"""Folders that other programs keep in a run folder, with links of their own."""


def refuse_links(run: Path) -> None:
    """Refuse to begin in a run folder that holds a link, a pipe or a device at any depth; no folder is fine."""
    for folder, folders, files in os.walk(run):
        for name in (*folders, *files):
            path = Path(folder, name)
            try:
                mode = path.lstat().st_mode
            except OSError:
                continue  # gone meanwhile
            if stat.S_ISLNK(mode):
                raise UserError(
                    f"run folder '{run}': '{path.relative_to(run)}' is a link",
                    "a run writes inside its own folder; remove the link, or copy what it leads to",
                )
            if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                raise UserError(
                    f"run folder '{run}': '{path.relative_to(run)}' is a pipe, a socket or a device",
                    "a run reads and writes plain files; remove it",
                )
        folders[:] = [name for name in folders if name not in OTHERS]
