"""R17: files of every released format load for ever. These were written on 2026-11-15; never write them again."""

from pathlib import Path

import numpy as np

from pvp_ml.model.bundle import content_hash, pack_bundle, read_bundle
from pvp_ml.players import BundlePlayer
from pvp_ml.run.store.run_store import load
from pvp_ml.spec import GameSpec, RewardTerm

HERE = Path(__file__).parent


def test_bundle_format_1_loads_and_plays_as_it_did():
    bundle = read_bundle(HERE / "bundle-1.zip")
    assert bundle.content_hash == "7982f8c688024b414586e5f2f1a0f06c4bf6b132733c1a3a047e2234d0a6bb18"
    assert (bundle.metadata.game, bundle.metadata.game_version) == ("duel", 3)
    assert (bundle.metadata.training.steps, bundle.metadata.results[0].wins) == (1000, 3)
    assert bundle.interface.head_sizes == (3, 2) and bundle.interface.privileged_size == 1
    spec = GameSpec("duel", 3, ((0,), (1,)), bundle.interface.blocks, bundle.interface.heads, (RewardTerm("win"),), 5)
    player = BundlePlayer(bundle, spec, greedy=True)
    obs = (np.arange(3 * 2 * 7).reshape(3, 2, 7) % 5).astype(np.float32)
    serials, seats, keys = np.array([0, 1]), np.zeros(2, np.int32), np.zeros(2, np.uint64)
    played = [player.decide(serials, seats, obs[t], np.ones((2, 5), bool), keys).tolist() for t in range(3)]
    assert played == [[[1, 0], [1, 1]], [[1, 1], [1, 1]], [[1, 1], [2, 0]]]


def test_bundle_format_1_can_be_written_again_under_the_same_name():
    bundle = read_bundle(HERE / "bundle-1.zip")
    assert content_hash(bundle.network, bundle.interface, bundle.tensors, bundle.normalizer) == bundle.content_hash
    assert read_bundle(pack_bundle(bundle)).content_hash == bundle.content_hash


def test_checkpoint_format_1_loads():
    checkpoint = load(HERE / "checkpoint-1")
    assert (checkpoint.step, checkpoint.spec_digest) == (4096, "f" * 64)
    assert sorted(checkpoint.files) == ["policy.safetensors", "progress.json"]
    assert checkpoint.files["progress.json"] == b'{"steps": 4096}'
