"""A small served game, and a server on ports that the system chooses."""

import asyncio
import threading
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from pvp_ml.model.bundle import make_bundle
from pvp_ml.model.network_config import NetworkConfig, normalizer_shapes, tensor_shapes
from pvp_ml.serve.limits import Limits
from pvp_ml.serve.server import ServeConfig, Server
from pvp_ml.spec import Block, Feature, GameSpec, Head, RewardTerm, Rule

SPEC = GameSpec(
    name="duel",
    version=1,
    teams=((0,), (1,)),
    blocks=(Block("me", 2, (Feature("hp"), Feature("ready", "flag"))), Block("map", 1, (Feature("tile", "id", 9),))),
    heads=(
        Head("style", ("none", "hit", "cast")),
        Head("weapon", ("keep", "sword"), (Rule("sword", "any", (("style", "hit"),)),)),
        Head(
            "eat", ("no", "yes"), (Rule("yes", "none", (("style", "hit"),)), Rule("no", "none", (("style", "cast"),)))
        ),
        Head("aim", ("low", "high"), (Rule("low", "none", (("style", "cast"),)),), fallback="low"),
    ),
    privileged=(Block("hidden", 1, (Feature("mana"),)),),
    rewards=(RewardTerm("win"),),
    max_steps=10,
)
PATIENT = replace(Limits(), deadline_s=20.0, wait_s=20.0)  # tests run on busy machines
NETWORKS = {
    "plain": NetworkConfig(trunk=(16, 16)),
    "deep": NetworkConfig(trunk=(16,), heads="mlp", head_layers=(8,), win_head=True, frames=(0, 1)),
    "secret": NetworkConfig(trunk=(16,), critic="separate", privileged=True),
    "recalls": NetworkConfig(trunk=(16,), memory=6, heads="independent", win_head=True),
}


def bundle_of(network, seed=0, scale=0.5):
    rng = np.random.default_rng(seed)
    shapes = tensor_shapes(network, SPEC.interface)
    tensors = {n: rng.normal(size=s, scale=scale).astype(np.float32) for n, s in shapes.items()}
    statistics = {n: np.full(s, 1.0) for n, s in normalizer_shapes(network, SPEC.interface).items()}
    return make_bundle(SPEC, network, tensors, statistics)


@contextmanager
def running(**config):
    """A server in a thread of its own; yields it."""
    started, loop = threading.Event(), asyncio.new_event_loop()
    held = {}

    async def main():
        held["stop"] = asyncio.Event()
        try:
            async with Server(ServeConfig(**{"port": 0, "side_port": 0, "limits": PATIENT, **config})) as server:
                held["server"] = server
                started.set()
                await held["stop"].wait()
        except BaseException as error:
            held["error"] = error
            started.set()

    thread = threading.Thread(target=loop.run_until_complete, args=(main(),))
    thread.start()
    assert started.wait(120), "the server does not start"
    if "error" in held:
        thread.join()
        loop.close()
        raise held["error"]
    try:
        yield held["server"]
    finally:
        loop.call_soon_threadsafe(held["stop"].set)
        thread.join(120)
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
    assert "error" not in held, held["error"]


OBS = [0.5, True, -1.0, False, 3]
MASKS = [[True, True, True], [True, True], [True, True], [True, True]]
