"""Warnings while there is still time: rewards of an unwise size, memory that runs out, penalties that reward."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable

from pvp_ml.rl.schedule.schedule import Progress
from pvp_ml.run.config.schema import Config
from pvp_ml.run.machine import bytes_per_match, free_bytes
from pvp_ml.run.tracking.tracker import Point

log = logging.getLogger(__name__)

LARGEST_REWARD = 10.0
"""Mean size of a match's reward above which learning is known to suffer."""

MATCHES_WITHOUT_REWARD = 400
LOW_MEMORY_BYTES = 512 << 20
ROLLOUTS_SHARE = 0.8
"""Of the free memory; a run whose rollouts alone need more will not fit."""

PENALTIES = ("lost",)
"""Terms that count what goes wrong in any game: a weight above 0 rewards it. A game may name more."""


def warn_at_start(config: Config, free: int | None) -> None:
    """What can be said before the first rollout."""
    spec = config.env.spec
    need = config.env.matches * bytes_per_match(spec, config.ppo.n_steps, len(config.network.frames))
    if free is not None and need > ROLLOUTS_SHARE * free:
        log.warning(
            "rollouts need about %s of memory, but only %s are free: use a smaller --num-envs or --n-steps",
            size_text(need), size_text(free),
        )  # fmt: skip
    for name in (*PENALTIES, *config.env.type.tooling.penalties):
        schedule = config.reward.weights.get(name)
        weight = schedule.at(Progress(total_steps=1)) if schedule is not None else 0.0
        if weight > 0.0:
            log.warning("reward.weights.%s is %g, which rewards a bad event; penalties are negative", name, weight)


class Alarms:
    """A sink that only looks: says each thing once. With normalised rewards their size does not matter."""

    def __init__(self, is_normalised: bool = False, memory: Callable[[], int | None] = free_bytes) -> None:
        self._is_normalised = is_normalised
        self._memory = memory
        self._said: set[str] = set()
        self._unpaid = 0.0

    def write(self, point: Point) -> None:
        """Look at one rollout."""
        size = point.values.get("match/reward_size", math.nan)
        self._unpaid = self._unpaid + point.values.get("match/finished", 0.0) if size == 0.0 else 0.0
        if size > LARGEST_REWARD and not self._is_normalised:
            self._say(
                "size",
                f"a match pays about {size:.3g} (match/reward_size); between 0 and {LARGEST_REWARD:g} works best: "
                "use smaller reward weights, or set ppo.normalize_rewards",
            )
        if self._unpaid >= MATCHES_WITHOUT_REWARD:
            self._say("unpaid", f"{self._unpaid:.0f} matches paid no reward at all: check the reward weights")
        if "ppo/rows" in point.values:
            free = self._memory()
            if free is not None and free < LOW_MEMORY_BYTES:
                self._say(
                    "memory",
                    f"only {size_text(free)} of memory are free: stop (it saves) and resume with fewer --num-envs or "
                    "--n-steps, or --run.shards 1",
                )

    def close(self) -> None:
        """Nothing to close."""

    def _say(self, kind: str, text: str) -> None:
        if kind not in self._said:
            self._said.add(kind)
            log.warning("%s", text)


def size_text(count: float) -> str:
    """Bytes for people."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"
