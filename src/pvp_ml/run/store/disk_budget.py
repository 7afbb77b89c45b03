"""Room on the disk: what a run is going to need, estimated before it starts, and the limit that it keeps."""

from __future__ import annotations

import logging
import shutil
from dataclasses import dataclass
from pathlib import Path

from pvp_ml.errors import UserError
from pvp_ml.model.network_config import tensor_shapes
from pvp_ml.run.config.schema import Config
from pvp_ml.run.tracking.alarms import size_text
from pvp_ml.spec import GameSpec

log = logging.getLogger(__name__)

COPIES = 4
"""Arrays of the size of the weights in a checkpoint: the weights, two moments of the optimiser, the magnet."""

STATE_BYTES_PER_MATCH = 4096
"""A match in play and the rows carried over, about."""

METRICS_BYTES = 3000
"""A line of metrics and its TensorBoard event, about."""


@dataclass(frozen=True, slots=True)
class Need:
    """Bytes by what they are for."""

    checkpoints: int
    milestones: int
    members: int
    metrics: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.checkpoints + self.milestones + self.members + self.metrics

    def text(self) -> str:
        """For people."""
        parts = ("checkpoints", "milestones", "members", "metrics")
        sizes = ", ".join(f"{name} {size_text(getattr(self, name))}" for name in parts if getattr(self, name))
        return f"{size_text(self.total)} ({sizes})"


def estimate(config: Config, spec: GameSpec) -> Need:
    """What the whole run will have written when it ends; of a run without an end, what 1,000 rollouts write."""
    weights = 4 * sum(_product(shape) for shape in tensor_shapes(config.network, spec.interface).values())
    trainees = 1 + len(config.self_play.exploiters)
    checkpoint = trainees * COPIES * weights + config.env.matches * STATE_BYTES_PER_MATCH
    rollout = config.env.matches * config.ppo.n_steps
    steps = config.run.total_steps or 1000 * rollout
    milestones = steps // config.run.milestone_every if config.run.milestone_every else 0
    has_league = config.self_play.has_league and config.self_play.snapshot_every
    members = steps // config.self_play.snapshot_every if has_league else 0
    return Need(
        checkpoints=(config.run.keep_checkpoints + 1) * checkpoint,
        milestones=milestones * checkpoint,
        members=members * weights,
        metrics=-(-steps // rollout) * METRICS_BYTES,
    )


def check_room(config: Config, spec: GameSpec, folder: Path) -> Need:
    """Refuse a run that would pass its own limit; warn of one that the disk has no room for."""
    need = estimate(config, spec)
    limit = config.run.max_disk_gb * 1e9
    if limit and need.total > limit:
        raise UserError(
            f"the run will need about {need.text()}, run.max_disk_gb allows {size_text(limit)}",
            "raise it, keep fewer checkpoints, or use a longer --milestone-every",
        )
    free = shutil.disk_usage(next(parent for parent in (folder, *folder.resolve().parents) if parent.exists())).free
    if need.total > free:
        log.warning("the run will need about %s of disk, but only %s are free", need.text(), size_text(free))
    return need


def is_within(folder: Path, max_disk_gb: float, more: int) -> bool:
    """Whether `more` bytes still fit under the limit (0 = no limit), given what the run's folder holds now."""
    return not max_disk_gb or used_bytes(folder) + more <= max_disk_gb * 1e9


def used_bytes(folder: Path) -> int:
    """Bytes of all files below, one that has several names counted once."""
    seen: dict[tuple[int, int], int] = {}
    for path in folder.rglob("*"):
        try:
            facts = path.stat()
        except OSError:
            continue
        if path.is_file():
            seen[facts.st_dev, facts.st_ino or hash(path)] = facts.st_size
    return sum(seen.values())


def _product(shape: tuple[int, ...]) -> int:
    total = 1
    for size in shape:
        total *= size
    return total
