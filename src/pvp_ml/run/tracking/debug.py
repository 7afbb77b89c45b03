"""`--debug actions,rewards,resets,learning,checkpoints`: after every rollout, what happened in detail.

Lines go to the log. They describe the first shard, which holds its share of all matches. What a checkpoint is made of
is logged by the store itself.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from pvp_ml.match import Bot, Live, Member, Occupant, Scripted
from pvp_ml.run.tracking.tracker import Point
from pvp_ml.selfplay.collect.collector import Collector

if TYPE_CHECKING:
    from pvp_ml.run.trainer import Run

log = logging.getLogger(__name__)

MOST = 8
"""Choices or terms that one line names."""

MATCHES_TOPICS = 3


class Teller:
    """A sink that describes the rollout it was called after."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._topics = run.config.tracking.debug
        if "checkpoints" in self._topics:
            logging.getLogger("pvp_ml.run.store.run_store").setLevel(logging.DEBUG)

    def write(self, point: Point) -> None:
        """Tell every topic that was asked for."""
        if "ppo/rows" not in point.values:
            return
        for topic in self._topics:
            if topic == "learning":
                log.info("learning: %s", learning_line(point))
            elif topic in TOPICS and (own := getattr(self._run.learning.shards, "own", None)) is not None:
                for line in TOPICS[topic](own.collector, point):
                    log.info("%s: %s", topic, line)

    def close(self) -> None:
        """Leave the store as quiet as it was."""
        logging.getLogger("pvp_ml.run.store.run_store").setLevel(logging.NOTSET)


def learning_line(point: Point) -> str:
    """Every number of the update."""
    values = {name.removeprefix("ppo/"): value for name, value in point.values.items() if name.startswith("ppo/")}
    return f"rollout {point.rollouts}: " + ", ".join(f"{name} {value:.4g}" for name, value in values.items())


def actions(collector: Collector, point: Point) -> Iterator[str]:
    """Per head: how often each choice was taken by a trainee, and how often it was legal."""
    rollout, spec = collector.rollout, collector.spec
    mine = rollout.owner[1:-1] >= 0
    taken, legal = rollout.actions[1:-1][mine], rollout.mask[1:-1][mine]
    start = 0
    for h, head in enumerate(spec.heads):
        share = np.bincount(np.maximum(taken[:, h], 0), minlength=len(head.choices)) / max(1, len(taken))
        could = legal[:, start : start + len(head.choices)].mean(axis=0) if len(legal) else share
        start += len(head.choices)
        order = np.argsort(-share)[:MOST]
        shares = ", ".join(f"{head.choices[i]} {share[i]:.1%} (legal {could[i]:.0%})" for i in order if share[i] > 0)
        yield f"{head.name}: {shares or 'no decision'}"


def rewards(collector: Collector, point: Point) -> Iterator[str]:
    """What a step paid, and the terms by what they contributed: value × weight per agent-step, over all seats.

    Between two seats of the same policy gains and losses cancel, so the size of what was paid is shown too.
    """
    paid = collector.rollout.reward[1:][collector.rollout.played() >= 0]
    size, share = (float(np.abs(paid).mean()), float((paid != 0.0).mean())) if paid.size else (0.0, 0.0)
    weights = dict(zip((term.name for term in collector.spec.rewards), collector.mixer.weights, strict=True))
    parts = {name: point.values.get(f"reward/{name}", 0.0) * float(weight) for name, weight in weights.items()}
    order = sorted((name for name in parts if parts[name]), key=lambda name: -abs(parts[name]))
    terms = ", ".join(f"{name} {parts[name]:+.3g} (weight {weights[name]:g})" for name in order[:MOST])
    mean = sum(parts.values())
    yield f"{share:.1%} of steps pay, {size:.3g} per step in size; mean {mean:+.3g}: {terms or 'it cancels'}"


def resets(collector: Collector, point: Point) -> Iterator[str]:
    """Matches that began in this rollout, and what was odd about what they first showed."""
    rollout, active = collector.rollout, collector.active
    began = np.flatnonzero(active.clock < rollout.shape.steps)
    yield f"{len(began)} of {len(active.clock)} matches began in this rollout"
    for row in began[:MATCHES_TOPICS].tolist():
        plan = active.plan(row)
        if plan is not None:
            who = " against ".join(dict.fromkeys(_name(occupant) for occupant in plan.lineup))
            yield f"match {plan.serial}: seed {plan.seed}, scenario {plan.scenario}, {who}"
    first = np.array([rollout.obs[rollout.shape.steps + 1 - active.clock[row], row] for row in began])
    if first.size:
        flat = first.reshape(-1, first.shape[-1])
        names = [feature.name for feature in collector.spec.interface.features]
        largest = int(np.abs(flat).max(axis=0).argmax())
        odd = int((~np.isfinite(flat)).sum())
        yield (
            f"first observations: {int((flat == flat[0]).all(axis=0).sum())} of {flat.shape[1]} features are the same "
            f"in all of them, largest {names[largest]} {flat[:, largest].max():.4g}, {odd} not finite"
        )


def _name(occupant: Occupant) -> str:
    match occupant:
        case Live(trainee):
            return trainee
        case Member(content_hash):
            return content_hash[:8]
        case Bot(name) | Scripted(name):
            return name
    return type(occupant).__name__


TOPICS: dict[str, Callable[[Collector, Point], Iterator[str]]] = {
    "actions": actions,
    "rewards": rewards,
    "resets": resets,
}
