"""The inference messages, one JSON object a line, as servers and clients read and write them.

Requests and the six keys of an answer are those that clients in the wild use; `id`, `token`, `deadlineMs` and `reset`
are ours and optional. Unknown fields are refused by name: a misspelt flag must not be ignored in silence.
"""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from pvp_ml.errors import UserError

MAX_ID_CHARS = 128
RequestId = str | int | None

ErrorCode = Literal[
    "bad_json", "bad_request", "unknown_model", "bad_obs", "bad_mask", "unsupported", "too_large", "timeout",
    "deadline", "overloaded", "unauthorized", "internal",
]  # fmt: skip
"""Stable: clients may branch on it."""


class WireError(UserError):
    """A request that gets an error for an answer; the connection lives on."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code: ErrorCode = code


class Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One decision to make. `obs` [F][D], newest frame first; `actionMasks` one list of flags per head."""

    obs: list[list[float | bool]]
    actionMasks: list[list[bool | Literal[0, 1]]]  # noqa: N815 - the name on the wire
    model: str = ""
    deterministic: bool | list[bool] = False
    returnLogProb: bool = False  # noqa: N815
    returnEntropy: bool = False  # noqa: N815
    returnValue: bool = False  # noqa: N815
    returnProbs: bool = False  # noqa: N815
    extensions: list[str] = []
    id: RequestId = None
    token: str = ""
    deadlineMs: float | None = None  # noqa: N815
    reset: bool = False

    @property
    def wants_details(self) -> bool:
        """Whether more than the action is asked for."""
        return self.returnLogProb or self.returnEntropy or self.returnValue or self.returnProbs or bool(self.extensions)


class Answer(msgspec.Struct, frozen=True):
    """All six keys are always present."""

    action: list[int]
    logProb: float | None = None  # noqa: N815
    entropy: list[float] | None = None
    values: list[float] | float | None = None
    probs: list[list[float]] | None = None
    extensionResults: list[Any] = []  # noqa: N815


_decoder = msgspec.json.Decoder(Request)
_encoder = msgspec.json.Encoder()


def decode_request(line: bytes | bytearray | memoryview) -> Request:
    """Read one request line; raises WireError with `bad_json` or `bad_request`."""
    try:
        request = _decoder.decode(line)
    except msgspec.ValidationError as error:
        raise WireError("bad_request", str(error)[:300]) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise WireError("bad_json", f"not one JSON object on one line: {str(error)[:200]}") from error
    if isinstance(request.id, str) and len(request.id) > MAX_ID_CHARS:
        raise WireError("bad_request", f"id has {len(request.id)} characters, the limit is {MAX_ID_CHARS}")
    return request


class _Named(msgspec.Struct):
    """A request of which only the id matters."""

    id: str | int | float | None = None


_named = msgspec.json.Decoder(_Named)
_ID = re.compile(rb'"id"\s*:\s*("(?:[^"\\]|\\.){0,128}"|-?\d{1,20}(?:\.\d{1,20})?(?:[eE][+-]?\d{1,3})?)(?=\s*[,}])')


def find_id(line: bytes | bytearray | memoryview) -> RequestId | float:
    """The id of a request that is answered with an error, so that the error can be matched.

    Read from the line if that is JSON at all; otherwise searched for near its ends, which is a guess but harmless.
    """
    try:
        return _echoed(_named.decode(line).id)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    found = _ID.search(bytes(line[:4096])) or _ID.search(bytes(line[-4096:]))
    if found is None:
        return None
    try:
        return _echoed(msgspec.json.decode(found[1], type=str | int | float))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _echoed(found: str | float | None) -> RequestId | float:
    """The id, if it can be sent back."""
    if isinstance(found, str):
        return found if len(found) <= MAX_ID_CHARS else None
    return found if found is None or -(1 << 63) <= found < 1 << 64 else None


def encode_request(request: Request) -> bytes:
    """One line, defaults left out."""
    return _encoder.encode(request) + b"\n"


def encode_answer(answer: Answer, request_id: RequestId = None) -> bytes:
    """One line; `id` only when the request had one."""
    line = _encoder.encode(answer)
    return line + b"\n" if request_id is None else _with_id(line, request_id)


def encode_action(action: list[int], request_id: RequestId = None) -> bytes:
    """The short answer to a short request."""
    line = _encoder.encode({"action": action})
    return line + b"\n" if request_id is None else _with_id(line, request_id)


def encode_error(code: ErrorCode, message: str, request_id: RequestId | float = None) -> bytes:
    """`{"error": {"code": …, "message": …}}`."""
    line = _encoder.encode({"error": {"code": code, "message": message}})
    return line + b"\n" if request_id is None else _with_id(line, request_id)


def is_error(line: bytes) -> bool:
    """Whether a line of ours is an error."""
    return line.startswith(b'{"error"')


def _with_id(line: bytes, request_id: RequestId | float) -> bytes:
    return line[:-1] + b',"id":' + _encoder.encode(request_id) + b"}\n"
