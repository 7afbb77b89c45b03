"""What a server serves: policies from bundles and scripted players (plugins), checked requests in, answers out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from pvp_ml.match import BoolArray, FloatArray, IntArray
from pvp_ml.model.actor import Actor
from pvp_ml.model.bundle import Bundle
from pvp_ml.model.decision import Decision
from pvp_ml.model.sampling.heads import legal_given
from pvp_ml.players import Player, actor_of
from pvp_ml.serve.runtimes import NUMPY, SIZES, RuntimeType, fastest, size_index
from pvp_ml.serve.wire import Answer, Request, WireError
from pvp_ml.spec import GameSpec, Interface

WINRATE = "winrate"
MAX_EXTENSIONS = 8
_LARGEST = 3e38


@dataclass(slots=True)
class Task:
    """A checked request: obs [N], mask [A]; `memory` [G] belongs to the connection and is updated in place."""

    request: Request
    obs: FloatArray
    mask: BoolArray
    key: int
    memory: FloatArray | None = None


class Model(Protocol):
    """One name that can be asked."""

    name: str
    memory: int  # units that a connection keeps for it; 0 = none
    is_unasked: bool  # served beside what the user named; never meant by a request that names no model

    @property
    def interface(self) -> Interface:
        """What it reads and chooses."""

    @property
    def frames(self) -> int:
        """How many observations a request holds, newest first."""

    def check(self, request: Request, key: int) -> Task:
        """The request as arrays, or WireError naming what does not fit."""

    def run(self, tasks: list[Task]) -> list[Answer | WireError]:
        """Answers in the same order."""


class _Shape:
    """Checks what a client sends against an interface."""

    def __init__(self, name: str, interface: Interface, frames: int) -> None:
        self._name = name
        self._frames = frames
        self._interface = interface
        self._sizes = interface.head_sizes
        self._offsets = np.concatenate([[0], np.cumsum(self._sizes)]).astype(np.intp)
        self._lengths = list(self._sizes)
        vocab = np.array([f.vocab if f.kind == "id" else 0 for f in interface.features], np.float32)
        self._ids = np.flatnonzero(vocab)
        self._vocab = vocab[self._ids]

    def obs(self, request: Request) -> FloatArray:
        """[N] finite numbers, ids inside their vocabulary."""
        width = self._interface.obs_size
        if len(request.obs) != self._frames:
            raise WireError(
                "bad_obs", f"model '{self._name}' reads {self._frames} frame(s), obs has {len(request.obs)}"
            )
        for i, frame in enumerate(request.obs):
            if len(frame) != width:
                raise WireError(
                    "bad_obs", f"model '{self._name}' reads {width} features, frame {i} of obs has {len(frame)}"
                )
        obs = np.array(request.obs, np.float64)
        if not (abs(obs) < _LARGEST).all():
            row, column = (int(x) for x in np.argwhere(~(abs(obs) < _LARGEST))[0])
            raise WireError("bad_obs", f"obs[{row}][{column}] is too large for a 32-bit number")
        if len(self._ids):
            ids = obs[:, self._ids]
            wrong = (ids < 0) | (ids >= self._vocab) | (ids != np.floor(ids))
            if wrong.any():
                row, column = (int(x) for x in np.argwhere(wrong)[0])
                at = int(self._ids[column])
                feature = self._interface.features[at]
                raise WireError("bad_obs", f"obs[{row}][{at}] ('{feature.name}') is no id in 0…{feature.vocab}")
        return obs.reshape(-1).astype(np.float32)

    def mask(self, request: Request) -> BoolArray:
        """[A] flags with something legal in every head that has no fallback."""
        masks = request.actionMasks
        if len(masks) != len(self._sizes):
            raise WireError(
                "bad_mask", f"model '{self._name}' has {len(self._sizes)} heads, actionMasks has {len(masks)}"
            )
        if [len(given) for given in masks] != self._lengths:
            head, given = next((h, m) for h, m in zip(self._interface.heads, masks, strict=True) if len(m) != h.size)
            raise WireError("bad_mask", f"head '{head.name}' expects {head.size} flags, got {len(given)}")
        if not all(map(any, masks)):
            for head, given in zip(self._interface.heads, masks, strict=True):
                if head.fallback is None and not any(given):
                    raise WireError("bad_mask", f"head '{head.name}' has no legal choice")
        mask = np.fromiter(chain.from_iterable(masks), np.bool_, self._interface.mask_size)
        if isinstance(request.deterministic, list) and len(request.deterministic) != len(self._sizes):
            raise WireError(
                "bad_request", f"deterministic has {len(request.deterministic)} flags for {len(self._sizes)} heads"
            )
        return mask

    def split(self, row: npt.NDArray[np.float32]) -> list[npt.NDArray[np.float32]]:
        """A row [A] head by head."""
        return [row[a:b] for a, b in zip(self._offsets[:-1], self._offsets[1:], strict=True)]

    def quiet(self, request: Request) -> BoolArray:
        """[H]: heads that must take their preferred choice."""
        flags = request.deterministic
        return np.array(flags if isinstance(flags, list) else [flags] * len(self._sizes))


class PolicyModel:
    """A bundle's policy: plain requests through the fastest runtime for their number, the rest in numpy."""

    is_unasked = False

    def __init__(self, name: str, bundle: Bundle, batch: int, float_values: bool = False,
                 types: Sequence[RuntimeType] = (NUMPY,)) -> None:  # fmt: skip
        self.name = name
        self.bundle = bundle
        self.memory = bundle.network.memory
        self.interface = bundle.interface
        self.frames = len(bundle.network.frames)
        self._actor: Actor = actor_of(bundle)
        runtimes = [kind.make(bundle) for kind in types]
        chosen = fastest(runtimes, bundle, batch)
        self.engines = dict(zip(SIZES, (types[i].name for i in chosen), strict=False))
        self._runtimes = [runtimes[i] for i in chosen]
        self._shape = _Shape(name, bundle.interface, len(bundle.network.frames))
        self._float_values = float_values
        width = bundle.interface.obs_size * len(bundle.network.frames)
        self._obs = np.zeros((batch, width), np.float32)
        self._mask = np.zeros((batch, bundle.interface.mask_size), np.bool_)
        self._keys = np.zeros(batch, np.uint64)
        self._greedy = np.zeros(batch, np.bool_)
        self._out = self._actor.heads.decision(batch)

    def check(self, request: Request, key: int) -> Task:
        """Refuse what the network cannot give."""
        network = self.bundle.network
        if len(request.extensions) > MAX_EXTENSIONS:
            raise WireError("bad_request", f"{len(request.extensions)} extensions, the limit is {MAX_EXTENSIONS}")
        for extension in request.extensions:
            if extension != WINRATE or not network.win_head:
                raise WireError("unsupported", f"model '{self.name}' has no extension {extension[:60]!r}")
        return Task(request, self._shape.obs(request), self._shape.mask(request), key)

    def warm_up(self) -> None:
        """One request of each kind, so that compiled code is loaded before a client waits for it."""
        interface, network = self.bundle.interface, self.bundle.network
        obs = np.zeros(interface.obs_size * len(network.frames), np.float32)
        mask = np.ones(interface.mask_size, np.bool_)
        flags: list[list[bool | Literal[0, 1]]] = [[True] * size for size in interface.head_sizes]
        for with_probs in (False, True):
            self.run([Task(Request([], flags, returnProbs=with_probs), obs, mask, 0) for _ in range(2)])

    def run(self, tasks: list[Task]) -> list[Answer | WireError]:
        """Plain requests in one pass, those that ask for more in another."""
        answers: dict[int, Answer | WireError] = {}
        plain = [t for t in tasks if not t.request.wants_details and isinstance(t.request.deterministic, bool)]
        detailed = [t for t in tasks if t.request.wants_details or not isinstance(t.request.deterministic, bool)]
        for group, run in ((plain, self._act), (detailed, self._explain)):
            if group:
                answers.update(zip(map(id, group), run(group), strict=True))
        return [answers[id(task)] for task in tasks]

    def _load(self, tasks: list[Task]) -> FloatArray | None:
        for i, task in enumerate(tasks):
            self._obs[i] = task.obs
            self._mask[i] = task.mask
            self._keys[i] = task.key
            self._greedy[i] = task.request.deterministic is True
        units = self.bundle.network.memory
        if not units:
            return None
        return np.stack([np.zeros(units, np.float32) if t.memory is None else t.memory for t in tasks])

    def _keep(self, tasks: list[Task], memory: FloatArray | None) -> None:
        for i, task in enumerate(tasks):
            if memory is not None and task.memory is not None:
                task.memory[:] = memory[i]

    def _act(self, tasks: list[Task]) -> list[Answer | WireError]:
        n = len(tasks)
        memory = self._load(tasks)
        out = self._out.part(slice(n))
        runtime = self._runtimes[size_index(n)]
        empty = runtime.act(self._obs[:n], self._mask[:n], self._keys[:n], self._greedy[:n], out, memory=memory)
        self._keep(tasks, memory)
        answers: list[Answer | WireError] = [Answer(action) for action in out.actions.tolist()]
        return answers if empty < 0 else self._mark_empty(answers, out.actions)

    def _mark_empty(self, answers: list[Answer | WireError], actions: IntArray) -> list[Answer | WireError]:
        """Rules, not the mask, can leave a head without a choice: say so for the rows that it happened to."""
        heads = self._actor.heads
        legal = legal_given(heads, self._mask[: len(actions)], actions)
        is_empty = ~np.take_along_axis(legal, heads.offset[:-1] + actions, axis=1)
        for i in np.flatnonzero(is_empty.any(1)).tolist():
            head = self.bundle.interface.heads[int(is_empty[i].argmax())].name
            answers[i] = WireError("bad_mask", f"rules leave head '{head}' without a legal choice")
        return answers

    def _explain(self, tasks: list[Task]) -> list[Answer | WireError]:
        n = len(tasks)
        memory = self._load(tasks)
        out = self._actor.heads.decision(
            n,
            value=any(task.request.returnValue for task in tasks) and not self.bundle.network.privileged,
            win=any(task.request.extensions for task in tasks),
            probs=True,
        )
        greedy = np.stack([self._shape.quiet(task.request) for task in tasks])
        self._actor.act(self._obs[:n], self._mask[:n], self._keys[:n], greedy, out, memory=memory)
        self._keep(tasks, memory)
        answers: list[Answer | WireError] = [self._answer(task.request, i, out) for i, task in enumerate(tasks)]
        return self._mark_empty(answers, out.actions)

    def _answer(self, request: Request, i: int, out: Decision) -> Answer:
        assert out.probs is not None
        probs = self._shape.split(out.probs[i])
        value: list[float] | float | None = None
        if request.returnValue and out.value is not None:
            value = float(out.value[i]) if self._float_values else [float(out.value[i])]
        wins = [] if out.win is None else [float(out.win[i])] * len(request.extensions)
        return Answer(
            action=out.actions[i].tolist(),
            logProb=float(out.log_prob[i]) if request.returnLogProb else None,
            entropy=[_entropy(p) for p in probs] if request.returnEntropy else None,
            values=value,
            probs=[p.tolist() for p in probs] if request.returnProbs else None,
            extensionResults=[{"WIN": [win], "LOSE": [1.0 - win]} for win in wins],
        )


def _entropy(probs: FloatArray) -> float:
    present = probs[probs > 0.0].astype(np.float64)
    return float(-(present * np.log(present)).sum()) + 0.0


class PluginModel:
    """A scripted player behind the same messages; it only chooses."""

    memory = 0

    def __init__(self, name: str, player: Player, spec: GameSpec, is_unasked: bool = False) -> None:
        self.name = name
        self.is_unasked = is_unasked
        self.interface = spec.interface
        self.frames = 1
        self._player = player
        self._shape = _Shape(name, spec.interface, 1)

    def check(self, request: Request, key: int) -> Task:
        """Older frames are welcome and ignored."""
        if request.wants_details:
            raise WireError("unsupported", f"'{self.name}' is a scripted player: it has no probabilities or values")
        newest = Request(request.obs[:1], request.actionMasks, deterministic=request.deterministic)
        return Task(request, self._shape.obs(newest), self._shape.mask(newest), key)

    def run(self, tasks: list[Task]) -> list[Answer | WireError]:
        """Every request is a match of its own, in seat 0."""
        serials = np.arange(len(tasks), dtype=np.int64)
        self._player.begin(serials)
        actions = self._player.decide(
            serials,
            np.zeros(len(tasks), np.int32),
            np.stack([task.obs for task in tasks]),
            np.stack([task.mask for task in tasks]),
            np.array([task.key for task in tasks], np.uint64),
        )
        self._player.end(serials)
        return [Answer(action) for action in actions.tolist()]
