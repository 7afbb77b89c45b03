"""Reading the one pickle that old model files hold, without unpickling: opcodes are interpreted against an allow-list.

Nothing is imported and nothing is called. A class of the original becomes a `Record` that only holds its state; tensors
become `TensorRef`s; a handful of builders (ordered dict, numpy scalar, …) are done here by hand. Everything else is
refused by name. Work and memory are bounded: opcodes, memo and work are counted while reading, and the value that comes
out may neither contain itself, nor nest deeply, nor be large when it is written out (shared parts count each time). No
value is hashed, compared or shown before its type is known: nested tuples would overflow the stack there.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pvp_ml.compat.old_values import Global, LegacyError, Record, StorageRef, TensorRef, check_extent, show

MAX_PICKLE_BYTES = 4 << 20
MAX_OPCODES = 400_000
MAX_MEMO = 100_000
MAX_WORK = 2_000_000
MAX_NAME = 200
MAX_ENCODED = 64
MAX_DIMENSIONS = 4

STORAGES = {"FloatStorage": "<f4", "DoubleStorage": "<f8", "LongStorage": "<i8", "IntStorage": "<i4"}
ORIGINAL = re.compile(r"pvp_ml(\.[A-Za-z_][A-Za-z0-9_]*)+")
BUILDERS = {
    ("collections", "OrderedDict"): "ordered dict",
    ("torch._utils", "_rebuild_tensor_v2"): "tensor",
    ("torch._utils", "_rebuild_parameter"): "parameter",
    ("numpy", "dtype"): "dtype",
    ("numpy.core.multiarray", "scalar"): "scalar",
    ("numpy._core.multiarray", "scalar"): "scalar",
    ("_codecs", "encode"): "encode",
    ("__builtin__", "set"): "set",
    ("builtins", "set"): "set",
}
_NUMBERS = {"f8": "<d", "f4": "<f", "i8": "<q", "i4": "<i", "u8": "<Q", "u4": "<I", "b1": "<?"}


@dataclass(frozen=True, slots=True)
class _Dtype:
    code: str


class _Mark:
    """A place on the stack."""


_MARK = _Mark()


def read_pickle(data: bytes) -> Any:
    """The value in the bytes of `data.pkl`; raises LegacyError for anything that is not on the list."""
    if len(data) > MAX_PICKLE_BYTES:
        raise LegacyError(f"data.pkl has {len(data)} bytes, the limit is {MAX_PICKLE_BYTES}")
    try:
        value = _Machine(data).run()
        check_extent(value)
        return value
    except (IndexError, struct.error, UnicodeDecodeError, TypeError, ValueError, OverflowError, KeyError) as error:
        raise LegacyError(f"data.pkl is damaged: {type(error).__name__}") from error


class _Machine:
    """A stack, a memo and a position."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}
        self._work = 0

    def run(self) -> Any:
        for _ in range(MAX_OPCODES):
            code = self._take(1)
            if code == b".":
                if self._at != len(self._data):
                    raise LegacyError("data.pkl has bytes after its end")
                if len(self._stack) != 1:
                    raise LegacyError("data.pkl leaves more than one value")
                return self._stack[0]
            action = _ACTIONS.get(code)
            if action is None:
                raise LegacyError(f"data.pkl uses opcode {code!r}, which no model file needs")
            action(self)
        raise LegacyError(f"data.pkl has more than {MAX_OPCODES} opcodes")

    def _spend(self, work: int) -> None:
        """Opcodes that look at a whole container pay for each of its values."""
        self._work += work
        if self._work > MAX_WORK:
            raise LegacyError(f"data.pkl takes more than {MAX_WORK} steps to read")

    def _take(self, count: int) -> bytes:
        part = self._data[self._at : self._at + count]
        if len(part) < count:
            raise LegacyError("data.pkl is cut short")
        self._at += count
        return part

    def _number(self, form: str) -> Any:
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def _line(self) -> str:
        end = self._data.find(b"\n", self._at, self._at + MAX_NAME + 1)
        if end < 0:
            raise LegacyError("data.pkl names something that is too long")
        text = self._take(end - self._at).decode("ascii")
        self._at += 1
        return text

    def _since_mark(self) -> list[Any]:
        for at in range(len(self._stack) - 1, -1, -1):
            if self._stack[at] is _MARK:
                items = self._stack[at + 1 :]
                del self._stack[at:]
                return items
        raise LegacyError("data.pkl has no mark where one is needed")

    def proto(self) -> None:
        if (version := self._take(1)[0]) != 2:
            raise LegacyError(f"data.pkl has protocol {version}, not 2")

    def text(self) -> None:
        count = self._number("<I")
        self._stack.append(self._take(count).decode("utf-8", "surrogatepass"))

    def long(self) -> None:
        count = self._take(1)[0]
        if count > 8:
            raise LegacyError(f"data.pkl holds a number of {count} bytes, the limit is 8")
        self._stack.append(int.from_bytes(self._take(count), "little", signed=True))

    def put(self, form: str) -> None:
        self._memo[self._number(form)] = self._stack[-1]
        if len(self._memo) > MAX_MEMO:
            raise LegacyError(f"data.pkl remembers more than {MAX_MEMO} values")

    def get(self, form: str) -> None:
        self._stack.append(self._memo[self._number(form)])

    def tuple_of(self, count: int) -> None:
        items = tuple(self._stack[len(self._stack) - count :])
        if len(items) < count or _MARK in items:
            raise LegacyError("data.pkl has too few values on its stack")
        del self._stack[len(self._stack) - count :]
        self._stack.append(items)

    def append(self) -> None:
        item = self._stack.pop()
        self._as(list, self._stack[-1]).append(item)

    def appends(self) -> None:
        items = self._since_mark()
        self._as(list, self._stack[-1]).extend(items)

    def set_item(self) -> None:
        value, key = self._stack.pop(), self._stack.pop()
        self._as(dict, self._stack[-1])[_key(key)] = value

    def set_items(self) -> None:
        items = self._since_mark()
        target = self._as(dict, self._stack[-1])
        for key, value in zip(items[::2], items[1::2], strict=True):
            target[_key(key)] = value

    @staticmethod
    def _as(kind: type, value: Any) -> Any:
        if type(value) is not kind:
            raise LegacyError(f"data.pkl treats {type(value).__name__} as {kind.__name__}")
        return value

    def find_global(self) -> None:
        module, name = self._line(), self._line()
        self._stack.append(resolve(module, name))

    def new_object(self) -> None:
        arguments, kind = self._stack.pop(), self._stack.pop()
        if not isinstance(kind, Global) or kind.kind != "record" or type(arguments) is not tuple or arguments:
            raise LegacyError(f"data.pkl makes an object of {_say(kind)}")
        self._stack.append(Record(kind.name))

    def build(self) -> None:
        state, target = self._stack.pop(), self._stack[-1]
        if isinstance(target, _Dtype):
            return  # byte order and flags of a plain number
        if type(state) is tuple and len(state) == 2 and (state[0] is None or (type(state[0]) is dict and not state[0])):
            state = state[1]
        if type(state) is dict:
            self._spend(len(state))
        if type(target) is dict and type(state) is dict and not state:
            return  # attributes of an ordered dict
        if type(target) is dict and type(state) is dict and set(state) == {"_metadata"}:
            return  # torch keeps version numbers there
        if not isinstance(target, Record) or type(state) is not dict or not all(type(k) is str for k in state):
            raise LegacyError(f"data.pkl sets the state of {_say(target)}")
        target.state = state

    def reduce(self) -> None:
        arguments, kind = self._stack.pop(), self._stack.pop()
        if not isinstance(kind, Global) or type(arguments) is not tuple:
            raise LegacyError(f"data.pkl calls {_say(kind)}")
        if kind.kind == "record":
            if len(arguments) > 1:
                raise LegacyError(f"data.pkl calls {kind.name} with {len(arguments)} arguments")
            self._stack.append(Record(kind.name, {"value": arguments[0]} if arguments else {}))
            return
        self._stack.append(_build(kind.kind, arguments))

    def persistent(self) -> None:
        """A storage, by its five-part name."""
        reference = self._stack.pop()
        if (
            type(reference) is not tuple
            or len(reference) != 5
            or type(reference[0]) is not str
            or reference[0] != "storage"
        ):
            raise LegacyError("data.pkl has a persistent id that is no storage")
        _, kind, key, place, count = reference
        if not isinstance(kind, Global) or kind.kind != "storage":
            raise LegacyError(f"data.pkl has a storage of type {_say(kind)}")
        if type(key) is not str or not re.fullmatch(r"\d{1,6}", key, re.ASCII) or type(place) is not str:
            raise LegacyError(f"data.pkl names storage {show(key)}")
        if type(count) is not int or not 0 <= count < 1 << 31:
            raise LegacyError(f"data.pkl has a storage of {show(count)} elements")
        self._stack.append(StorageRef(key, kind.code, count))


def resolve(module: str, name: str) -> Global:
    """What a mentioned name stands for; refuses every name that is not on the list, and imports none."""
    if (module, name) in BUILDERS:
        return Global(BUILDERS[module, name], f"{module}.{name}")
    if module == "torch" and name in STORAGES:
        return Global("storage", name, STORAGES[name])
    if ORIGINAL.fullmatch(module) and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        return Global("record", f"{module}.{name}")
    raise LegacyError(
        f"data.pkl mentions '{module}.{name}'"[:200], "only what model files of the old trainer need is read"
    )


def _build(kind: str, arguments: tuple[Any, ...]) -> Any:
    if kind == "ordered dict" and not arguments:
        return {}
    if kind == "set" and len(arguments) == 1 and type(arguments[0]) is list:
        return arguments[0]
    if kind == "parameter" and len(arguments) == 3 and isinstance(arguments[0], TensorRef):
        return arguments[0]
    if kind == "dtype" and len(arguments) == 3 and type(arguments[0]) is str and arguments[0] in _NUMBERS:
        return _Dtype(arguments[0])
    if kind == "encode" and len(arguments) == 2 and type(arguments[0]) is type(arguments[1]) is str:
        if arguments[1] != "latin1":
            raise LegacyError(f"data.pkl encodes text as {show(arguments[1])}")
        if len(arguments[0]) > MAX_ENCODED:
            raise LegacyError(f"data.pkl encodes {len(arguments[0])} characters, the limit is {MAX_ENCODED}")
        return arguments[0].encode("latin1")
    if kind == "scalar" and len(arguments) == 2 and isinstance(arguments[0], _Dtype) and type(arguments[1]) is bytes:
        return struct.unpack(_NUMBERS[arguments[0].code], arguments[1])[0]
    if kind == "tensor" and len(arguments) in (6, 7) and isinstance(arguments[0], StorageRef):
        return _tensor(*arguments[:4])
    raise LegacyError(f"data.pkl builds a {kind} from {len(arguments)} unexpected values")


def _tensor(storage: StorageRef, offset: Any, size: Any, stride: Any) -> TensorRef:
    """Checked against its storage: a view may not leave it."""
    if type(size) is not tuple or type(stride) is not tuple or len(size) != len(stride) or len(size) > MAX_DIMENSIONS:
        raise LegacyError("data.pkl has a tensor without shape")
    numbers = (offset, *size, *stride)
    if any(type(number) is not int or not 0 <= number < 1 << 31 for number in numbers):
        raise LegacyError("data.pkl has a tensor with impossible sizes")
    last = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if all(size) else offset
    if math.prod(size) > storage.count:
        raise LegacyError(f"data.pkl has a tensor of shape {size} over {storage.count} numbers")
    if last >= storage.count and all(size):
        raise LegacyError(f"data.pkl has a tensor that ends at element {last} of {storage.count}")
    return TensorRef(storage, offset, size, stride)


def _key(key: Any) -> Any:
    if type(key) not in (str, int, float, bool):
        raise LegacyError(f"data.pkl has a {type(key).__name__} for a key")
    return key


def _say(value: Any) -> str:
    return value.name if isinstance(value, Global | Record) else type(value).__name__


def _push(value: Any) -> Callable[[_Machine], None]:
    return lambda machine: machine._stack.append(value)


def _read(form: str) -> Callable[[_Machine], None]:
    return lambda machine: machine._stack.append(machine._number(form))


_ACTIONS: dict[bytes, Callable[[_Machine], None]] = {
    b"\x80": _Machine.proto,
    b"}": lambda machine: machine._stack.append({}),
    b"]": lambda machine: machine._stack.append([]),
    b")": _push(()),
    b"(": _push(_MARK),
    b"N": _push(None),
    b"\x88": _push(True),
    b"\x89": _push(False),
    b"K": _read("<B"),
    b"M": _read("<H"),
    b"J": _read("<i"),
    b"G": _read(">d"),
    b"\x8a": _Machine.long,
    b"X": _Machine.text,
    b"q": lambda machine: machine.put("<B"),
    b"r": lambda machine: machine.put("<I"),
    b"h": lambda machine: machine.get("<B"),
    b"j": lambda machine: machine.get("<I"),
    b"t": lambda machine: machine._stack.append(tuple(machine._since_mark())),
    b"\x85": lambda machine: machine.tuple_of(1),
    b"\x86": lambda machine: machine.tuple_of(2),
    b"\x87": lambda machine: machine.tuple_of(3),
    b"a": _Machine.append,
    b"e": _Machine.appends,
    b"s": _Machine.set_item,
    b"u": _Machine.set_items,
    b"c": _Machine.find_global,
    b"R": _Machine.reduce,
    b"\x81": _Machine.new_object,
    b"b": _Machine.build,
    b"Q": _Machine.persistent,
}
