"""Writes model files as the old trainer did: opcodes by hand, a zip by hand, and an independent forward in numpy."""

import io
import struct
import zipfile
import zlib

import numpy as np


class Obj:
    """An object of the original: class by module and name, and its state."""

    def __init__(self, name, module="pvp_ml.ppo.model", **state):
        self.module, self.name, self.state = module, name, state


class Scalar:
    """A numpy scalar, as numpy pickles it under protocol 2."""

    def __init__(self, value, code="f8", form="<d"):
        self.data, self.code = struct.pack(form, value), code


class Ordered(dict):
    pass


class Raw:
    """Opcodes as they are."""

    def __init__(self, data):
        self.data = data


def text(value):
    data = value.encode()
    return b"X" + struct.pack("<I", len(data)) + data


def name(module, attribute):
    return b"c" + module.encode() + b"\n" + attribute.encode() + b"\n"


class Writer:
    def __init__(self):
        self.storages = {}
        self.memo = 0

    def dump(self, value):
        return b"\x80\x02" + self.emit(value) + b"."

    def put(self):
        self.memo += 1
        return b"q" + bytes([self.memo]) if self.memo < 256 else b"r" + struct.pack("<I", self.memo)

    def emit(self, value):
        if isinstance(value, Raw):
            return value.data
        if value is None:
            return b"N"
        if isinstance(value, bool):
            return b"\x88" if value else b"\x89"
        if isinstance(value, int):
            return b"K" + bytes([value]) if 0 <= value < 256 else b"J" + struct.pack("<i", value)
        if isinstance(value, float):
            return b"G" + struct.pack(">d", value)
        if isinstance(value, str):
            return text(value) + self.put()
        if isinstance(value, list):
            return b"]" + self.put() + b"(" + b"".join(map(self.emit, value)) + b"e"
        if isinstance(value, tuple):
            return b"(" + b"".join(map(self.emit, value)) + b"t"
        if isinstance(value, set):
            return name("__builtin__", "set") + self.emit(list(value)) + b"\x85R"
        if isinstance(value, Ordered):
            return name("collections", "OrderedDict") + b")R" + self.put() + self.items(value)
        if isinstance(value, dict):
            return b"}" + self.put() + self.items(value)
        if isinstance(value, Obj):
            return name(value.module, value.name) + b")\x81" + self.put() + self.emit(value.state) + b"b"
        if isinstance(value, Scalar):
            kind = name("numpy", "dtype") + self.emit((value.code, False, True)) + b"R"
            kind += self.emit((3, "<", None, None, None, -1, -1, 0)) + b"b"
            data = name("_codecs", "encode") + self.emit((value.data.decode("latin1"), "latin1")) + b"R"
            return name("numpy.core.multiarray", "scalar") + kind + data + b"\x86R"
        return self.tensor(np.asarray(value))

    def items(self, value):
        return b"(" + b"".join(self.emit(k) + self.emit(v) for k, v in value.items()) + b"u"

    def tensor(self, array):
        key = str(len(self.storages))
        kind = {"float32": "FloatStorage", "float64": "DoubleStorage", "int64": "LongStorage"}[array.dtype.name]
        self.storages[key] = np.ascontiguousarray(array).tobytes()
        stride = tuple(s // array.itemsize for s in np.ascontiguousarray(array).strides)
        storage = b"(" + text("storage") + name("torch", kind) + text(key) + text("cpu") + self.emit(array.size) + b"tQ"
        rest = self.emit(0) + self.emit(tuple(array.shape)) + self.emit(stride) + b"\x89"
        hooks = name("collections", "OrderedDict") + b")R"
        return name("torch._utils", "_rebuild_tensor_v2") + b"(" + storage + rest + hooks + b"tR"


def write_zip(files, top="main-270080-steps"):
    """Stored entries with padding in the local header, as torch writes them."""
    out, directory = io.BytesIO(), b""
    for file, data in files.items():
        path = f"{top}/{file}".encode()
        at, crc = out.tell(), zlib.crc32(data)
        pad = -(at + 30 + len(path) + 4) % 64
        out.write(struct.pack("<4s5H3L2H", b"PK\x03\x04", 0, 0, 0, 0, 0, crc, len(data), len(data), len(path), pad + 4))
        out.write(path + b"FB" + struct.pack("<H", pad) + b"Z" * pad + data)
        directory += struct.pack("<4s6H3L5H2L", b"PK\x01\x02", 0, 0, 0, 0, 0, 0, crc, len(data), len(data), len(path),
                                 0, 0, 0, 0, 0, at) + path  # fmt: skip
    at = out.tell()
    out.write(directory)
    out.write(struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, len(files), len(files), len(directory), at, 0))
    assert zipfile.ZipFile(out).testzip() is None
    return out.getvalue()


def model_file(content, top="main-270080-steps"):
    writer = Writer()
    data = writer.dump(content)
    files = {"data.pkl": data, "byteorder": b"little"}
    files |= {f"data/{key}": raw for key, raw in writer.storages.items()}
    return write_zip({**files, "version": b"3\n", ".data/serialization_id": b"1234"}, top)


def mlp(sizes):
    return {"layers": [{"size": size, "activation": "relu"} for size in sizes]} if sizes else {}


def network(rng, own, hidden, frames, heads, trunk=(16,), critic=(12, 12), head=(8,), chained=True):
    """Tensors under the old names: `hidden` 0 means a critic without privileged features."""
    tensors = Ordered()

    def linear(key, inputs, outputs):
        tensors[f"{key}.weight"] = rng.normal(0, inputs**-0.5, (outputs, inputs)).astype(np.float32)
        tensors[f"{key}.bias"] = rng.normal(0, 0.3, outputs).astype(np.float32)
        return outputs

    total = sum(heads)
    tensors["actor.action_mean"] = rng.uniform(0, 1, total).astype(np.float32)
    tensors["actor.action_var"] = rng.uniform(0.01, 0.25, total).astype(np.float32)
    tensors["actor.action_count"] = np.array([100.0], np.float32)
    width = frames * own
    for k, size in enumerate(trunk):
        width = linear(f"actor.hidden.{2 * k}", width, size)
    for i, size in enumerate(heads):
        reads = width + (sum(heads[:i]) if chained else 0)
        for j, units in enumerate(head):
            reads = linear(f"actor.heads.{i}.0.{2 * j}", reads, units)
        linear(f"actor.heads.{i}.1", reads, size)
    width = frames * (own + hidden)
    for k, size in enumerate(critic):
        width = linear(f"critic.hidden.{2 * k}", width, size)
    linear("critic.head", width, 1)
    return tensors


def layers(tensors, key, x):
    """Linear layers under a key, a relu after each."""
    for place in sorted(int(n.split(".")[-2]) for n in tensors if n.startswith(key + ".") and n.endswith("weight")):
        x = np.maximum(tensors[f"{key}.{place}.weight"].astype(float) @ x + tensors[f"{key}.{place}.bias"], 0)
    return x


def forward(tensors, flat, heads, mask, depends, actor_inputs, chained=True, normalised=True):
    """The old network in float64, greedy: actions, joint log-probability, value, probabilities of head 0."""
    features = layers(tensors, "actor.hidden", flat[:actor_inputs])
    onehot, actions, joint, first = np.zeros(sum(heads)), [], 0.0, None
    mean, var = tensors["actor.action_mean"].astype(float), tensors["actor.action_var"].astype(float)
    at = 0
    for i, size in enumerate(heads):
        seen = onehot[:at]
        if normalised:
            seen = np.clip((seen - mean[:at]) / np.sqrt(var[:at] + 1e-8), -5, 5)
        x = np.concatenate([features, seen]) if chained else features
        x = layers(tensors, f"actor.heads.{i}.0", x)
        logits = tensors[f"actor.heads.{i}.1.weight"].astype(float) @ x + tensors[f"actor.heads.{i}.1.bias"]
        legal = np.array([mask[at + c] and depends(i, c, actions) for c in range(size)])
        if not legal.any():
            legal[0] = True
        logits = np.where(legal, logits, -1e30)
        p = np.exp(logits - logits.max())
        p /= p.sum()
        actions.append(int(p.argmax()))
        joint += np.log(p[actions[-1]])
        onehot[at + actions[-1]] = 1.0
        first = p if first is None else first
        at += size
    value = layers(tensors, "critic.hidden", flat) @ tensors["critic.head.weight"][0].astype(float)
    return actions, joint, float(value + tensors["critic.head.bias"][0]), first
