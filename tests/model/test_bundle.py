"""Bundles: what is written comes back, plays without torch, and says what it is."""

import os
import subprocess
import sys

import numpy as np
import pytest

from pvp_ml.documents.strict_json import JsonError, parse_json
from pvp_ml.errors import UserError
from pvp_ml.model import bundle as bundles
from pvp_ml.model.actor import empty_normalizer
from pvp_ml.model.bundle import (
    BundleError,
    MatchResult,
    Training,
    make_bundle,
    pack_bundle,
    read_bundle,
    write_bundle,
)
from pvp_ml.model.network_config import NetworkConfig, normalizer_shapes, tensor_shapes
from pvp_ml.model.tensors import TensorError, layout_of, read_tensors, write_tensors
from pvp_ml.spec import Block, Feature, GameSpec, Head, RewardTerm, Rule

SPEC = GameSpec(
    name="duel",
    version=3,
    teams=((0,), (1,)),
    blocks=(
        Block("me", 2, (Feature("hp", doc="hit points"), Feature("weapon", "id", 7))),
        Block("foe", 3, (Feature("d"),)),
    ),
    heads=(Head("style", ("a", "b", "c")), Head("eat", ("no", "yes"), (Rule("yes", "none", (("style", "c"),)),))),
    privileged=(Block("hidden", 1, (Feature("mana"),)),),
    rewards=(RewardTerm("win"),),
    max_steps=5,
)
SHAPES = [
    NetworkConfig(),
    NetworkConfig(trunk=(32,), heads="mlp", head_layers=(8,), critic="separate", privileged=True, win_head=True),
    NetworkConfig(trunk=(16,), encoder=(8,), pooling="mean_max", memory=8, frames=(0, 2), heads="independent"),
]


def make(network=SHAPES[0], seed=0, **facts):
    rng = np.random.default_rng(seed)
    tensors = {n: rng.normal(size=s).astype(np.float32) for n, s in tensor_shapes(network, SPEC.interface).items()}
    return make_bundle(SPEC, network, tensors, empty_normalizer(network, SPEC.interface), **facts)


@pytest.mark.parametrize("network", SHAPES)
def test_round_trip(tmp_path, network):
    training = Training(steps=12345, preset="duel/core", seed=7, date="2026-11-15", versions={"pvp_ml": "0.1"})
    result = MatchResult(opponent="random", matches=10, wins=7, ties=1, losses=2, score=0.75, low=0.43, high=0.92)
    written = make(network, training=training, results=(result,))
    write_bundle(tmp_path / "a b.zip", written)
    found = read_bundle(tmp_path / "a b.zip")
    assert found.metadata == written.metadata
    assert found.interface == SPEC.interface
    assert found.interface.blocks[0].features[0].doc == "hit points"
    assert found.card == written.card and "| random | 10 | 7 | 1 | 2 | 75.0% | 43.0%–92.0% |" in found.card
    for name, shape in tensor_shapes(network, SPEC.interface).items():
        assert found.tensors[name].shape == shape
        assert (found.tensors[name] == written.tensors[name]).all()
    assert {name: a.shape for name, a in found.normalizer.items()} == normalizer_shapes(network, SPEC.interface)
    assert [p.name for p in tmp_path.iterdir()] == ["a b.zip"]
    assert bundles.read_metadata(tmp_path / "a b.zip") == (written.metadata, SPEC.interface)


def test_the_arrays_cannot_be_changed_and_are_copies():
    network = SHAPES[0]
    tensors = {n: np.ones(s, np.float32) for n, s in tensor_shapes(network, SPEC.interface).items()}
    made = make_bundle(SPEC, network, tensors, empty_normalizer(network, SPEC.interface))
    tensors["head/bias"][:] = 5
    assert (made.tensors["head/bias"] == 1).all()
    for kept in (made, read_bundle(pack_bundle(made))):
        with pytest.raises(ValueError, match="read-only"):
            kept.tensors["head/bias"][0] = 2


def test_same_bundle_same_bytes_and_the_hash_names_the_policy():
    assert pack_bundle(make()) == pack_bundle(make())
    assert make().content_hash == make(training=Training(steps=9)).content_hash
    others = [make(seed=1), make(NetworkConfig(activation="tanh")), make(NetworkConfig(clip=4.0))]
    assert len({made.content_hash for made in (make(), *others)}) == 4


def test_zeros_do_not_look_like_a_bomb():
    network = NetworkConfig(trunk=(512, 512))
    tensors = {n: np.zeros(s, np.float32) for n, s in tensor_shapes(network, SPEC.interface).items()}
    made = make_bundle(SPEC, network, tensors, empty_normalizer(network, SPEC.interface), card="same line\n" * 20_000)
    assert read_bundle(pack_bundle(made)).content_hash == made.content_hash


def test_the_onnx_member_is_carried_and_optional():
    assert bundles.read_onnx(pack_bundle(make())) is None
    assert bundles.read_onnx(pack_bundle(make(), onnx=b"model")) == b"model"
    assert read_bundle(pack_bundle(make(), onnx=b"model")).content_hash == make().content_hash


def test_a_bundle_is_refused_by_a_game_that_it_does_not_fit():
    bundles.require_fit(make(), SPEC)
    from dataclasses import replace

    with pytest.raises(BundleError, match="plays 'duel', not 'chess'"):
        bundles.require_fit(make(), replace(SPEC, name="chess"))
    with pytest.raises(BundleError, match=r"another layout of 'duel' \(7 features, heads \(3, 2\); here 4"):
        bundles.require_fit(make(), replace(SPEC, blocks=SPEC.blocks[:1]))


def test_a_missing_file_and_a_folder_are_one_clear_line(tmp_path):
    with pytest.raises(BundleError, match=r"cannot read bundle .*nothing\.zip': No such file"):
        read_bundle(tmp_path / "nothing.zip")
    with pytest.raises(BundleError, match="is not a file"):
        read_bundle(tmp_path)
    with pytest.raises(BundleError, match="cannot write"):
        write_bundle(tmp_path / "no" / "x.zip", make())


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    write_bundle(tmp_path / "m.zip", make())
    before = (tmp_path / "m.zip").read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BundleError, match="No space left"):
        write_bundle(tmp_path / "m.zip", make(seed=1))
    assert (tmp_path / "m.zip").read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m.zip"]


def test_reading_needs_neither_torch_nor_numba():
    heavy = ("torch", "numba", "pvp_ml.games")
    code = f"import sys, pvp_ml.model.bundle; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_tensor_files_round_trip_and_match_the_library():
    from safetensors.numpy import load

    arrays = {
        "a": np.arange(6, dtype=np.float64).reshape(2, 3),
        "b": np.arange(3),
        "empty": np.zeros((0, 4), np.float32),
    }
    data = write_tensors(arrays)
    for found in (load(data), read_tensors([data], layout_of(arrays), "x")):
        assert all((found[n] == arrays[n]).all() and found[n].dtype == arrays[n].dtype for n in arrays)
    # any slicing of the stream gives the same arrays
    pieces = [data[i : i + 7] for i in range(0, len(data), 7)]
    assert (read_tensors(pieces, layout_of(arrays), "x")["a"] == arrays["a"]).all()
    with pytest.raises(TensorError, match="x lacks tensor 'c'"):
        read_tensors([data], {**layout_of(arrays), "c": ((1,), "F32")}, "x")


@pytest.mark.parametrize("text", [b'{"a":1,"a":2}', b'{"a":NaN}', b'{"a":-Infinity}', b"[]", b"{", b'{"a":"\\u0000"}'])
def test_loose_json_is_refused(text):
    with pytest.raises(JsonError):
        parse_json(text, "test")
    assert issubclass(JsonError, UserError)
