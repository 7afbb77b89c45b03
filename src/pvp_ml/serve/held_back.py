"""A served policy that is held back by a dial: flatter choices, late sight, mistakes.

What it saw before lies in the connection's memory, behind the network's own; where a request has no connection (plain
HTTP), it sees at once.
"""

from __future__ import annotations

import math
from dataclasses import replace

import msgspec
import numpy as np

from pvp_ml.chance import mix
from pvp_ml.errors import UserError
from pvp_ml.match import FloatArray
from pvp_ml.model.actor import Actor
from pvp_ml.model.bundle import Bundle
from pvp_ml.model.dial import Dial
from pvp_ml.model.sampling.heads import choose, gumbel_noise
from pvp_ml.players import actor_of, uniform
from pvp_ml.serve.models import PolicyModel, Task
from pvp_ml.serve.runtimes import RuntimeType
from pvp_ml.serve.wire import Answer, WireError

_CHANNEL = np.uint64(0xD1A1)
"""Apart from the numbers that the policy draws from the same keys."""


class HeldBackModel(PolicyModel):
    """A bundle's policy at a dial, in numpy."""

    def __init__(self, name: str, bundle: Bundle, batch: int, float_values: bool, dial: Dial) -> None:
        if dial.skip != 1:
            raise UserError(f"model '{name}': skip is {dial.skip}", "a server answers every request; leave skip out")

        def warm(own: Bundle) -> Actor:
            actor = actor_of(own)
            actor.temperature = dial.temperature
            return actor

        super().__init__(name, bundle, batch, float_values, (RuntimeType("numpy", warm),))
        self._actor.temperature = dial.temperature
        self._dial = dial
        self._late = math.ceil(dial.delay)
        self._width = bundle.interface.obs_size * len(bundle.network.frames)
        self.memory = bundle.network.memory + self._late * (self._width + 1)
        self.warm_up()

    def run(self, tasks: list[Task]) -> list[Answer | WireError]:
        """What the policy says to what was there before, with mistakes among it."""
        chance = uniform(mix(np.array([task.key for task in tasks], np.uint64) ^ _CHANNEL), 2)
        seen = [self._seen(task, float(c)) for task, c in zip(tasks, chance[:, 0], strict=True)]
        units = self.bundle.network.memory
        late = [
            replace(task, obs=obs, memory=None if task.memory is None or not units else task.memory[:units])
            for task, obs in zip(tasks, seen, strict=True)
        ]
        answers = super().run(late)
        wrong = [i for i in range(len(tasks)) if chance[i, 1] < self._dial.mistakes]
        return self._err(tasks, answers, wrong) if wrong else answers

    def _seen(self, task: Task, chance: float) -> FloatArray:
        """The observation of some requests ago; the newest is put in front of those kept."""
        if task.memory is None or not self._late:
            return task.obs
        kept = task.memory[self.bundle.network.memory :].reshape(self._late, self._width + 1)
        ago = math.floor(self._dial.delay) + (chance < self._dial.delay % 1.0)
        known = int(kept[:, -1].sum())
        at = min(ago, known)
        seen = task.obs if at == 0 else kept[at - 1, :-1].copy()
        kept[1:] = kept[:-1].copy()
        kept[0, :-1], kept[0, -1] = task.obs, 1.0
        return seen

    def _err(self, tasks: list[Task], answers: list[Answer | WireError], wrong: list[int]) -> list[Answer | WireError]:
        heads = self._actor.heads
        mask = np.stack([tasks[i].mask for i in wrong])
        noise = np.zeros(mask.shape, np.float32)
        gumbel_noise(mix(np.array([tasks[i].key for i in wrong], np.uint64) + _CHANNEL), mask, noise)
        out = heads.decision(len(wrong))
        choose(heads, np.zeros_like(noise), mask, noise, np.zeros(len(wrong), np.bool_), out)
        for row, i in enumerate(wrong):
            answer = answers[i]
            if isinstance(answer, Answer):
                answers[i] = msgspec.structs.replace(answer, action=out.actions[row].tolist())
        return answers
