"""Metrics for Weights & Biases; the only module that imports it."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

from pvp_ml.errors import UserError, pip_install
from pvp_ml.run.tracking.tracker import Point

ID_FILE = "wandb-id"


class WeightsAndBiases:
    """One W&B run per run folder: a resumed run continues the same curves."""

    def __init__(self, project: str, folder: Path, config: dict[str, Any]) -> None:
        try:
            import wandb
        except ImportError:
            raise UserError(
                "tracking.wandb is set, but wandb is not installed", f"{pip_install('wandb')}, or leave it out"
            ) from None
        name = folder / ID_FILE
        if not name.is_file():
            folder.mkdir(parents=True, exist_ok=True)
            name.write_text(secrets.token_hex(8))
        self._run = wandb.init(
            project=project,
            name=folder.name,
            id=name.read_text().strip(),
            resume="allow",
            config=config,
            dir=str(folder),
        )

    def write(self, point: Point) -> None:
        """Send one point; W&B queues it and never waits."""
        self._run.log({**point.values, "rollouts": point.rollouts, "seconds": point.seconds}, step=point.steps)

    def close(self) -> None:
        """Send what is queued."""
        self._run.finish()
