"""Links in a run folder. Somebody else may have made the folder, and writing follows links."""

from __future__ import annotations

import os
from pathlib import Path

from pvp_ml.errors import UserError

OTHERS = frozenset({"wandb"})
"""Folders that other programs keep in a run folder, with links of their own."""


def refuse_links(run: Path) -> None:
    """Refuse to begin in a run folder that holds a link at any depth; no folder is fine."""
    for folder, folders, files in os.walk(run):
        for name in (*folders, *files):
            if (path := Path(folder, name)).is_symlink():
                raise UserError(
                    f"run folder '{run}': '{path.relative_to(run)}' is a link",
                    "a run writes inside its own folder; remove the link, or copy what it leads to",
                )
        folders[:] = [name for name in folders if name not in OTHERS]
