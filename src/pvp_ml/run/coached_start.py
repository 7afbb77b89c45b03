"""A run that begins with lessons: before its first step a bot of the game or a model teaches the policy (`coach`).

The pupil is written into the run's folder. It is what the policy begins with, and the teacher of the phases that set
`ppo.teacher.weight` and name no other. A resumed run finds it there; a run that names its own start is not coached.
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from pathlib import Path

import torch

from pvp_ml.model.actor import Actor
from pvp_ml.players import actor_of
from pvp_ml.rl.policy.policy import Policy
from pvp_ml.run.coaching import Round, coach
from pvp_ml.run.config.schema import Config
from pvp_ml.run.resume import Start, find_checkpoint
from pvp_ml.run.store.run_store import RunStore
from pvp_ml.run.teachers import clone_bundle, find_model, learner_of

log = logging.getLogger(__name__)

COACHED = "coached.zip"
MAX_MATCHES = 64  # side by side: more make rounds that learn from few different moments


def coached_start(config: Config, store: RunStore, start: Start) -> tuple[Config, Start]:
    """The configuration with its teacher and the start with its pupil; teaches it if that was not done yet."""
    if not config.coach.name:
        return config, start
    path = store.path / COACHED
    if find_checkpoint(store, start) is None and not start.source:
        if not path.is_file():
            store.create()
            with store.lock(time.time()):
                teach(config, path)
        start = replace(start, bc_model=str(path))
    if path.is_file() and not config.ppo.teacher.model:
        teacher = config.ppo.teacher.model_copy(update={"model": str(path)})
        config = config.model_copy(update={"ppo": config.ppo.model_copy(update={"teacher": teacher})})
    return config, start


def teach(config: Config, path: Path) -> None:
    """Coach a fresh policy in the first phase's game and write it as a model file."""
    first, seed, rounds = config.in_phase(0), config.run.seed, config.coach.rounds
    torch.set_num_threads(1)
    policy, model = pupil_and_coach(first, seed)

    def tell(done: Round) -> None:
        if done.number % 10 == 9 or done.number + 1 == rounds:
            text = "coached by %s, round %d of %d: %d decisions, as the coach %.1f %%, loss %.3f nats"
            share = 100.0 * done.agreement
            log.info(text, config.coach.name, done.number + 1, rounds, done.rows, share, done.loss)

    game = first.env.type.build(first.env.settings, min(first.env.matches, MAX_MATCHES))
    try:
        coach(game, policy, config.coach, seed, tell, model)
    finally:
        game.close()
    aside = path.with_suffix(".tmp")
    clone_bundle(aside, first.env.spec, policy, seed)
    aside.replace(path)


def pupil_and_coach(config: Config, seed: int) -> tuple[Policy, Actor | None]:
    """A new policy, or a copy of the model that coaches if it has the configured network; and that model."""
    spec = config.env.spec
    bundle = find_model(config.coach.model, spec, "coach.model") if config.coach.model else None
    if bundle is not None and bundle.network == config.network:
        return learner_of(bundle), actor_of(bundle)
    policy = Policy(config.network, spec.interface)
    policy.initialise(torch.Generator().manual_seed(seed))
    return policy, None if bundle is None else actor_of(bundle)
