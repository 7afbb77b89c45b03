"""A rollout worker: one shard's games on some machine. It gets orders and gives rollouts; it never learns.

Everything that it depends on is in the blueprint and in the request, so a worker that died is replaced by a new one.
"""

from __future__ import annotations

import hashlib
import logging
import os
import socket
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

import pvp_ml
from pvp_ml.cluster.blueprint import Blueprint
from pvp_ml.cluster.codec import decode, encode
from pvp_ml.cluster.memory import fill_statistics, lay_out, memory_bytes
from pvp_ml.cluster.messages import (
    Arrays,
    Delivery,
    Facts,
    RolloutRequest,
    hash_of,
    pack_rollout,
    weight_arrays,
)
from pvp_ml.errors import UserError
from pvp_ml.model.actor import Actor
from pvp_ml.model.bundle import read_bundle
from pvp_ml.rl.exploration import is_plain
from pvp_ml.selfplay.plans import members_in
from pvp_ml.selfplay.shard import Shard
from pvp_ml.spec import GameSpec

log = logging.getLogger(__name__)

Handle = Any
"""Something that the transport turns into arrays, here or over the network."""

WorkerReply = tuple[bytes, Arrays]
"""An encoded [True, value] or [False, why], and the arrays that go with it."""


class OfferedMembers:
    """League members by content hash. The trainer offers handles; each is fetched once, at the first meeting."""

    def __init__(self, spec: GameSpec, fetch: Callable[[Handle], Sequence[Any]]) -> None:
        self._spec = spec
        self._fetch = fetch
        self._handles: dict[str, Handle] = {}

    @property
    def known(self) -> set[str]:
        """Hashes of those that can be fetched."""
        return set(self._handles)

    def offer(self, handles: Mapping[str, Handle]) -> None:
        """These can be fetched from now on."""
        self._handles.update(handles)

    def keep(self, wanted: set[str]) -> None:
        """Let go of all others, so that the transport may free them."""
        self._handles = {key: handle for key, handle in self._handles.items() if key in wanted}

    def actor(self, content_hash: str) -> Actor:
        """The member, checked: it is what its name says, and it fits the game."""
        if content_hash not in self._handles:
            raise UserError(f"league member {content_hash[:12]} was not offered to this worker")
        bundle = read_bundle(np.asarray(self._fetch(self._handles[content_hash])[0], np.uint8).tobytes())
        if bundle.content_hash != content_hash or bundle.interface.digest != self._spec.interface.digest:
            raise UserError(f"league member {content_hash[:12]} holds another policy or plays another game")
        return Actor(bundle.network, bundle.interface, bundle.tensors, bundle.normalizer)


class RolloutWorker:
    """Holds one shard's games. Every method answers; none raises for what a user can act on."""

    def __init__(
        self, rank: int, blueprint: str, mix: bytes, fetch: Callable[[Handle], Sequence[Any]], ray_version: str = ""
    ) -> None:
        self._rank = rank
        self._text = blueprint
        self._mix = mix
        self._fetch = fetch
        self._ray_version = ray_version
        self._shard: Shard | None = None
        self._content_hash = ""
        self._fetches = 0

    def hello(self) -> WorkerReply:
        """Build the games; says what is installed here."""
        return self._answer(self._hello)

    def roll_out(self, request: bytes, weights: Handle, members: Mapping[str, Handle]) -> WorkerReply:
        """One rollout, as ordered."""
        return self._answer(lambda: self._roll_out(decode(request), weights, members))

    def state(self) -> WorkerReply:
        """What the next rollout depends on besides weights and what the learner carries."""
        return self._answer(lambda: (self._ready().state(), []))

    def _answer(self, act: Callable[[], tuple[Any, Arrays]]) -> WorkerReply:
        try:
            value, arrays = act()
            return encode([True, value]), arrays
        except UserError as error:
            return encode([False, str(error)]), []
        except Exception as error:  # whatever a game throws must reach the person at the other end
            return encode([False, f"{error}\n{traceback.format_exc(limit=8)}"]), []

    def _hello(self) -> tuple[Facts, Arrays]:
        torch.set_num_threads(1)
        plan = Blueprint.model_validate_json(self._text)
        spec = plan.spec()
        shapes = plan.shapes(spec)
        self._memories = lay_out(bytearray(memory_bytes(shapes, 1)), shapes, 1)
        for memory, (network, interface) in zip(self._memories, shapes, strict=True):
            fill_statistics(memory, network, interface)
        self._members = OfferedMembers(spec, self._fetch)
        self._is_privileged = any(trainee.network.privileged for trainee in plan.trainees)
        self._is_plain = all(is_plain(trainee.ppo) for trainee in plan.trainees)
        self._shard = plan.build(self._rank, self._memories, decode(self._mix), self._members)
        return self._facts(spec), []

    def _facts(self, spec: GameSpec) -> Facts:
        return Facts(
            package=pvp_ml.__version__,
            ray=self._ray_version,
            game_digest=spec.game_digest,
            blueprint_hash=text_hash(self._text),
            host=socket.gethostname(),
            pid=os.getpid(),
        )

    def _roll_out(
        self, request: RolloutRequest, weights: Handle, members: Mapping[str, Handle]
    ) -> tuple[Delivery, Arrays]:
        shard = self._ready()
        self._members.offer(members)
        if request.content_hash != self._content_hash:
            self._load(request.content_hash, self._fetch(weights))
        if request.state is not None:
            shard.restore(request.state)
        shard.skip_plans(request.drawn)
        if not self._members.known <= request.mix.members:
            self._members.keep(request.mix.members | members_in(plan.lineup for plan in shard.collector.active.plans))
        shard.use_mix(request.mix)
        shard.set_rewards(request.progress)
        if not self._is_plain:
            shard.set_exploration(request.progress)
        report = shard.collect()
        delivery = Delivery(request.number, report, shard.drawn(), self._fetches)
        return delivery, pack_rollout(shard.collector.rollout, self._is_privileged)

    def _load(self, content_hash: str, arrays: Sequence[Any]) -> None:
        if hash_of(arrays) != content_hash:
            raise UserError(f"weights {content_hash[:12]} arrived as something else", "the network or a disk is broken")
        for target, array in zip(weight_arrays(self._memories), arrays, strict=True):
            np.copyto(target, array)
        self._ready().refresh()
        self._content_hash = content_hash
        self._fetches += 1

    def _ready(self) -> Shard:
        assert self._shard is not None, "hello() comes first"
        return self._shard


def text_hash(text: str) -> str:
    """Short hash of a text, to compare it across machines."""
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
