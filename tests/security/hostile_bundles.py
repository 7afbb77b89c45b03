"""Bundles that somebody might send us. `good()` is a valid one; `cases()` yields (name, bytes) that must be refused."""

import json
import struct
import zlib
from dataclasses import dataclass, replace

import numpy as np

from pvp_ml.model.bundle import make_bundle, pack_bundle
from pvp_ml.model.network_config import NetworkConfig, normalizer_shapes, tensor_shapes
from pvp_ml.model.tensors import write_tensors
from pvp_ml.spec import Block, Feature, GameSpec, Head, RewardTerm, Rule

SPEC = GameSpec(
    name="duel",
    version=1,
    teams=((0,), (1,)),
    blocks=(Block("me", 2, (Feature("hp"), Feature("ready", "flag"))), Block("map", 1, (Feature("tile", "id", 9),))),
    heads=(
        Head("style", ("none", "hit")),
        Head("eat", ("no", "yes"), (Rule("yes", "none", (("style", "hit"),)),), fallback="no", table=((0.0,), (1.0,))),
    ),
    rewards=(RewardTerm("win"),),
    max_steps=10,
)
NETWORK = NetworkConfig(trunk=(16, 8))


def weights(network=NETWORK):
    rng = np.random.default_rng(1)
    return {n: rng.normal(size=s).astype(np.float32) for n, s in tensor_shapes(network, SPEC.interface).items()}


def statistics(network=NETWORK):
    return {name: np.ones(shape) for name, shape in normalizer_shapes(network, SPEC.interface).items()}


def good():
    return make_bundle(SPEC, NETWORK, weights(), statistics())


@dataclass(frozen=True)
class Member:
    """One zip member with every field that a liar could set."""

    name: bytes
    data: bytes
    method: int = 0
    packed: bytes | None = None
    crc: int | None = None
    size: int | None = None
    packed_size: int | None = None
    flags: int = 0
    mode: int = 0o600 << 16
    made: int = 3 << 8
    extra: bytes = b""
    local_name: bytes | None = None
    local_size: int | None = None
    header_at: int | None = None


def deflate(data, level=9):
    packer = zlib.compressobj(level, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def zipped(members, before=b"", between=b"", comment=b"", count=None, directory_extra=b"", tail=b""):
    """A zip file of these members, lies included."""
    body, directory = bytearray(before), bytearray()
    for m in members:
        packed = m.packed if m.packed is not None else deflate(m.data) if m.method == 8 else m.data
        crc = zlib.crc32(m.data) if m.crc is None else m.crc
        size = len(m.data) if m.size is None else m.size
        packed_size = len(packed) if m.packed_size is None else m.packed_size
        local = m.name if m.local_name is None else m.local_name
        local_size = size if m.local_size is None else m.local_size
        at = len(body) if m.header_at is None else m.header_at
        if m.header_at is None:
            body += struct.pack(
                "<4s5H3L2H",
                b"PK\3\4",
                20,
                m.flags,
                m.method,
                0,
                33,
                crc,
                packed_size,
                local_size,
                len(local),
                len(m.extra),
            )
            body += local + m.extra + packed
        directory += struct.pack(
            "<4s6H3L5H2L", b"PK\1\2", m.made | 20, 20, m.flags, m.method, 0, 33, crc, packed_size, size, len(m.name),
            len(m.extra), 0, 0, 0, m.mode, at,
        )  # fmt: skip
        directory += m.name + m.extra
    directory += directory_extra
    body += between
    count = len(members) if count is None else count
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count, count, len(directory), len(body), len(comment))
    return bytes(body + directory + end + comment + tail)


def good_members():
    """The members of the valid bundle, stored."""
    import io
    import zipfile

    archive = zipfile.ZipFile(io.BytesIO(pack_bundle(good())))
    return {name: Member(name.encode(), archive.read(name)) for name in archive.namelist()}


def rezip(members=None, **changes):
    """The valid bundle with some members replaced (name → bytes or Member; None removes)."""
    found = good_members() if members is None else dict(members)
    for key, value in changes.items():
        name = {"meta": "metadata.json", "policy": "policy.safetensors", "norm": "normalizer.safetensors",
                "card": "card.md", "onnx": "policy.onnx"}[key]  # fmt: skip
        if value is None:
            del found[name]
        else:
            found[name] = value if isinstance(value, Member) else Member(name.encode(), value)
    return zipped(found.values())


def with_metadata(change):
    """The valid bundle after `change(metadata)`, which may return something else instead."""
    data = json.loads(good_members()["metadata.json"].data)
    changed = change(data)
    return rezip(meta=json.dumps(data if changed is None else changed).encode())


def with_header(change, member="policy"):
    """The valid bundle after `change(header)` of a tensor file."""
    name = {"policy": "policy.safetensors", "norm": "normalizer.safetensors"}[member]
    data = good_members()[name].data
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    changed = change(header)
    text = json.dumps(header if changed is None else changed).encode()
    return rezip(**{member: struct.pack("<Q", len(text)) + text + data[8 + length :]})


def with_weights(change):
    tensors = weights()
    change(tensors)
    return rezip(policy=write_tensors(tensors))


def set_in(*path, value):
    """A change that sets data[path…] = value."""

    def change(data):
        for key in path[:-1]:
            data = data[key]
        data[path[-1]] = value

    return change


def big_network_bundle(fill_nan_at_end):
    """A stored bundle of 200 MiB of weights whose last number is bad: it must be refused without keeping it."""
    network = NetworkConfig(trunk=(7000, 7000))
    shapes = tensor_shapes(network, SPEC.interface)
    tensors = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    if fill_nan_at_end:
        tensors[sorted(shapes)[-1]].flat[-1] = np.nan
    return pack_bundle(make_bundle(SPEC, network, tensors, statistics(network)))


def zip_cases():
    members = good_members()
    meta, policy, card = members["metadata.json"], members["policy.safetensors"], members["card.md"]
    valid = zipped(members.values())
    yield "empty file", b""
    yield "not a zip", b"\x80\x04N." * 100
    yield "random bytes", np.random.default_rng(0).bytes(50_000)
    yield "cut in half", valid[: len(valid) // 2]
    yield "cut by one byte", valid[:-1]
    yield "trailing byte", valid + b"\0"
    yield "two zips glued", valid + valid
    yield "bytes in front", zipped(members.values(), before=b"#!/bin/sh\n")
    yield "bytes before the directory", zipped(members.values(), between=b"hidden")
    yield "archive comment", zipped(members.values(), comment=b"hello")
    yield "end record lies about count", zipped(members.values(), count=3)
    yield "65535 files", zipped(members.values(), count=65535)
    yield "many entries", zipped([Member(b"x%d" % i, b"") for i in range(60_000)])
    yield "directory has bytes left over", zipped(members.values(), directory_extra=b"\0" * 40)
    yield "zip64 sizes", rezip(meta=replace(meta, size=0xFFFFFFFF, packed_size=0xFFFFFFFF))
    bomb = Member(b"policy.safetensors", b"\0" * (32 << 20), 8)
    yield "zip bomb", rezip(policy=bomb)
    yield "zip bomb in the card", rezip(card=Member(b"card.md", b" " * (32 << 20), 8))
    yield "zip bomb that lies about its size", rezip(policy=replace(bomb, size=1000, local_size=1000))
    yield "zip bomb in the onnx", rezip(onnx=Member(b"policy.onnx", b"\0" * (32 << 20), 8))
    yield "declares 4 GiB", rezip(policy=replace(policy, size=0xFFFFFFF0, packed_size=0xFFFFFFF0))
    yield "sum over the limit", rezip(onnx=Member(b"policy.onnx", b"", size=300 << 20, packed_size=300 << 20))
    yield "nested zip", rezip(policy=valid)
    yield "overlapping entries", rezip(policy=replace(policy, header_at=0))
    yield "entry outside the file", rezip(policy=replace(policy, header_at=0x7FFFFFFF))
    yield "same data twice", zipped([*members.values(), replace(card, header_at=0)])
    bad_names = (
        b"../card.md",
        b"/etc/passwd",
        b"C:\\card.md",
        b"..\\card.md",
        b"card.md\0.txt",
        b"CARD.MD",
        b"a/card.md",
    )
    bad_names += (b"card.md/", b"data.pkl", b"model.py", b"card.md ", b"\xff\xfe.md", b"bundle.json", b"")
    for name in bad_names:
        yield f"member {name!r}", zipped([*members.values(), Member(name, b"x")])
        yield f"renamed to {name!r}", rezip(card=Member(name, card.data))
    yield "pickle beside the weights", zipped([*members.values(), Member(b"policy.pkl", b"cos\nsystem\n(S'id'\ntR.")])
    yield "pickle as weights", rezip(policy=b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00\x8c\x02os\x94.")
    yield "duplicate name", zipped([*members.values(), card])
    yield "different local name", rezip(card=replace(card, local_name=b"dard.md"))
    yield "different local size", rezip(card=replace(card, local_size=1))
    yield "wrong checksum", rezip(policy=replace(policy, crc=1))
    yield "checksum of other data", rezip(policy=replace(policy, crc=zlib.crc32(card.data)))
    yield "symlink", rezip(card=Member(b"card.md", b"/etc/passwd", mode=0o120777 << 16))
    yield "device", rezip(card=replace(card, mode=0o020666 << 16))
    yield "folder flag", rezip(card=replace(card, made=0, mode=0x10))
    yield "encrypted", rezip(policy=replace(policy, flags=1))
    yield "data descriptor", rezip(policy=replace(policy, flags=8))
    yield "bzip2", rezip(policy=replace(policy, method=12))
    yield "lzma", rezip(policy=replace(policy, method=14))
    yield "extra field", rezip(card=replace(card, extra=b"\x75\x70\x05\x00\x01abcd"))
    yield "stored with two sizes", rezip(card=replace(card, size=len(card.data) + 1, local_size=len(card.data) + 1))
    yield "deflate cut short", rezip(card=replace(card, method=8, packed=deflate(card.data)[:-4]))
    yield "deflate with a tail", rezip(card=replace(card, method=8, packed=deflate(card.data) + b"tail"))
    yield "deflate of rubbish", rezip(card=replace(card, method=8, packed=b"\xff" * 40))
    yield "inflates to less", rezip(card=Member(b"card.md", b"abc", 8, size=50, local_size=50))
    for key in ("meta", "policy", "norm", "card"):
        yield f"without {key}", rezip(**{key: None})


def metadata_cases():
    yield "metadata is empty", rezip(meta=b"")
    yield "metadata is a list", rezip(meta=b"[]")
    yield "metadata is not UTF-8", rezip(meta=b'{"format": "\xff"}')
    yield "metadata too long", rezip(meta=b'{"a": "' + b"x" * (1 << 20) + b'"}')
    yield "depth bomb", rezip(meta=b'{"a": ' + b"[" * 500_000 + b"]" * 500_000 + b"}")
    yield "depth 40", rezip(meta=b'{"a": ' + b"[" * 40 + b"]" * 40 + b"}")
    yield "objects bomb", rezip(meta=b'{"a": [' + b"{}," * 300_000 + b"{}]}")
    yield "key twice", rezip(meta=b'{"format": 1, "format": 1}')
    yield "huge integer", rezip(meta=b'{"format": ' + b"9" * 100_000 + b"}")
    yield "format 2", with_metadata(set_in("format", value=2))
    yield "format true", with_metadata(set_in("format", value="1"))
    yield "unknown key", with_metadata(set_in("entry_point", value="os:system"))
    yield "import path as game", with_metadata(set_in("game", value="os:system"))
    yield "path as game", with_metadata(set_in("game", value="../../etc"))
    yield "terminal codes", with_metadata(set_in("training", "preset", value="\x1b]0;owned\x07"))
    yield "NUL in a text", with_metadata(set_in("training", "run", value="a\0b"))
    yield "NaN in the metadata", with_metadata(set_in("training", "seconds", value=float("nan")))
    yield (
        "infinite number",
        rezip(meta=good_members()["metadata.json"].data.replace(b'"seconds": 0.0', b'"seconds": 1e999')),
    )
    yield "negative steps", with_metadata(set_in("training", "steps", value=-1))
    yield "text as number", with_metadata(set_in("training", "steps", value="7"))
    yield "unknown layer kind", with_metadata(set_in("network", "activation", value="os.system"))
    yield "unknown network key", with_metadata(set_in("network", "class", value="torch.nn.Module"))
    yield "wide network", with_metadata(set_in("network", "trunk", value=[10**9]))
    yield "heavy network", with_metadata(set_in("network", "trunk", value=[8192] * 8))
    yield "far frames", with_metadata(set_in("network", "frames", value=[0, 10**9]))
    yield "other network than the weights", with_metadata(set_in("network", "trunk", value=[16, 9]))
    yield "foreign interface digest", with_metadata(set_in("interface_digest", value="0" * 64))
    yield "digest is not hex", with_metadata(set_in("interface_digest", value="z" * 64))
    yield "foreign content hash", with_metadata(set_in("content_hash", value="0" * 64))
    yield "no interface", with_metadata(lambda data: data.pop("interface") and None)
    yield "interface of another type", with_metadata(set_in("interface", value=[1, 2]))
    yield "changed head", with_metadata(set_in("interface", "heads", 0, "choices", value=["none", "kick"]))
    yield "unknown feature key", with_metadata(set_in("interface", "blocks", 0, "features", 0, "code", value="x"))
    yield "count bomb", with_metadata(set_in("interface", "blocks", 0, "count", value=10**12))
    yield "negative count", with_metadata(set_in("interface", "blocks", 0, "count", value=-5))
    yield "text as count", with_metadata(set_in("interface", "blocks", 0, "count", value="2"))
    yield "vocabulary bomb", with_metadata(set_in("interface", "blocks", 1, "features", 0, "vocab", value=10**10))
    yield (
        "choices bomb",
        with_metadata(set_in("interface", "heads", 0, "choices", value=[f"c{i}" for i in range(4096)])),
    )
    rule = {"choice": "yes", "when": "all", "picks": [["style", "hit"]]}
    yield "rules bomb", with_metadata(set_in("interface", "heads", 1, "rules", value=[rule] * 4096))
    yield (
        "rule on a later head",
        with_metadata(
            set_in(
                "interface", "heads", 1, "rules", value=[{"choice": "yes", "when": "all", "picks": [["later", "x"]]}]
            )
        ),
    )
    yield "head twice", with_metadata(lambda data: data["interface"]["heads"].append(data["interface"]["heads"][0]))
    yield "card with control characters", rezip(card=b"# hi \x1b[2J")
    yield "card too long", rezip(card=b"x" * (1 << 19))


def tensor_cases():
    yield "weights are empty", rezip(policy=b"")
    yield "header length huge", rezip(policy=struct.pack("<Q", 2**63) + b"{}")
    yield "header length beyond the file", rezip(policy=struct.pack("<Q", 5000) + b"{}")
    bloat = json.dumps({"__metadata__": {"a": "x" * 100}}).encode().ljust(2 << 20)
    yield "header bloat", rezip(policy=struct.pack("<Q", len(bloat)) + bloat)
    yield (
        "header of 5000 tensors",
        with_header(
            lambda h: h.update({f"t{i}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for i in range(5000)})
        ),
    )
    yield "header is not JSON", rezip(policy=struct.pack("<Q", 4) + b"abcd")
    yield "header names twice", rezip(policy=struct.pack("<Q", 14) + b'{"a":1,"a": 2}')
    yield "tensor missing", with_header(lambda h: h.pop("value/bias") and None)
    yield (
        "tensor added",
        with_header(lambda h: h.update({"extra": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}})),
    )
    yield "shape differs", with_header(set_in("actor/0/bias", "shape", value=[4, 4]))
    yield "overflow shape", with_header(set_in("actor/0/bias", "shape", value=[2**62, 4]))
    yield "negative shape", with_header(set_in("actor/0/bias", "shape", value=[-16]))
    yield "shape of true", with_header(set_in("value/bias", "shape", value=[True]))
    yield "dtype swap to I32", with_header(set_in("actor/0/bias", "dtype", value="I32"))
    yield "dtype swap to F64", with_header(set_in("actor/0/bias", "dtype", value="F64"))
    yield "dtype unknown", with_header(set_in("actor/0/bias", "dtype", value="pickle"))
    yield "offsets overlap", with_header(set_in("actor/0/bias", "data_offsets", value=[32, 96]))
    yield "offsets outside", with_header(set_in("actor/0/bias", "data_offsets", value=[10**9, 10**9 + 64]))
    yield "offsets negative", with_header(set_in("actor/0/bias", "data_offsets", value=[-64, 0]))
    yield "offsets as floats", with_header(set_in("actor/0/bias", "data_offsets", value=[0.0, 64.0]))
    yield "description is a text", with_header(set_in("actor/0/bias", value="os.system"))
    yield "bytes after the last tensor", rezip(policy=good_members()["policy.safetensors"].data + b"\0" * 8)
    yield "weights cut short", rezip(policy=good_members()["policy.safetensors"].data[:-8])
    for name, bad in (("NaN", np.nan), ("infinite", np.inf), ("minus infinite", -np.inf)):
        yield f"{name} weight", with_weights(lambda t, bad=bad: t["actor/1/weight"].fill(bad))
    yield "other weights than hashed", with_weights(lambda t: t["actor/1/weight"].fill(0.5))
    bad_statistics = statistics()
    bad_statistics["obs/var"][0] = -1.0
    yield "negative variance", rezip(norm=write_tensors(bad_statistics))
    yield "statistics as float32", rezip(norm=write_tensors({k: v.astype(np.float32) for k, v in statistics().items()}))
    yield "statistics of another game", rezip(norm=write_tensors({**statistics(), "obs/mean": np.zeros(99)}))


def cases():
    """Every (name, bytes) that must be refused."""
    yield from zip_cases()
    yield from metadata_cases()
    yield from tensor_cases()
