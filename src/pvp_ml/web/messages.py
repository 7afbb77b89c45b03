"""What a page says to the server, checked, and what the server says to pages, encoded once for everybody.

A message is one JSON object with a `type`. Strangers send them: sizes are limited before anything is parsed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta, Struct

from pvp_ml.errors import UserError
from pvp_ml.serve.transports.websocket import text_frame
from pvp_ml.web.live import Frame

MAX_MESSAGE_BYTES = 8192
Name = Annotated[str, Meta(max_length=100)]
Text = Annotated[str, Meta(max_length=5000)]
Setting = bool | Name | Annotated[list[Name], Meta(max_length=32)]


class Start(Struct, tag="start", forbid_unknown_fields=True):
    """Begin a match: a contestant per seat, the game's options, its scenario; without a seed one is drawn.

    `brings`: what each seat brings along (a team), '' = what the game deals.
    """

    seats: Annotated[list[Name], Meta(min_length=1, max_length=16)]
    settings: Annotated[dict[Name, Setting], Meta(max_length=32)] = {}
    scenario: Name = ""
    seed: Annotated[int, Meta(ge=0, lt=2**53)] | None = None
    tick_ms: Annotated[int, Meta(ge=16, le=10_000)] = 600
    paused: bool = False
    brings: Annotated[list[Text], Meta(max_length=16)] = []


class Bring(Struct, tag="bring", forbid_unknown_fields=True):
    """Judge what a seat would bring to a match under that scenario."""

    text: Text
    scenario: Name = ""


class Order(Struct, tag="order", forbid_unknown_fields=True):
    """What you do in the step after `step`; replaces what you said before. No picks: do nothing."""

    step: Annotated[int, Meta(ge=0, le=10_000_000)]
    picks: Annotated[list[tuple[Name, Name]], Meta(max_length=32)]


class Pace(Struct, tag="pace", forbid_unknown_fields=True):
    """How fast: milliseconds a step, or not at all."""

    tick_ms: Annotated[int, Meta(ge=16, le=10_000)]
    paused: bool = False


class Step(Struct, tag="step", forbid_unknown_fields=True):
    """One step, while paused."""


class Watch(Struct, tag="watch", forbid_unknown_fields=True):
    """Look on. With the key that the starter was given, be the starter again."""

    room: Annotated[str, Meta(max_length=40)]
    key: Annotated[str, Meta(max_length=80)] = ""


class Leave(Struct, tag="leave", forbid_unknown_fields=True):
    """Stop the match, or stop watching."""


Message = Start | Bring | Order | Pace | Step | Watch | Leave
_decoder = msgspec.json.Decoder(Message)
_encoder = msgspec.json.Encoder()


def read_message(text: str | bytes) -> Message:
    """The message, or UserError saying what is wrong with it."""
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if len(data) > MAX_MESSAGE_BYTES:
        raise UserError(f"a message of {len(data)} bytes", f"at most {MAX_MESSAGE_BYTES}")
    try:
        message: Message = _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"not a message: {str(error)[:160]}", "see docs/play.md") from None
    return message


@dataclass(frozen=True, slots=True)
class Encoded:
    """A message as JSON, and as the bytes of a whole WebSocket frame that every listener gets."""

    text: bytes
    wire: bytes


def encode(kind: str, **facts: Any) -> Encoded:
    """A message of that type."""
    text = _encoder.encode({"type": kind, **facts})
    return Encoded(text, text_frame(text))


def frame_facts(frame: Frame) -> dict[str, Any]:
    """A frame as JSON values. `legal` is a string of 0 and 1 over all choices; probabilities are in thousandths."""
    thoughts = {
        str(seat): {
            "probs": np.rint(t.probs * 1000).astype(int).tolist(),
            "value": round(t.value, 4),
            "win": None if t.win is None else round(t.win, 4),
        }
        for seat, t in frame.thoughts.items()
    }
    legal = None if frame.mask is None else "".join("1" if is_open else "0" for is_open in frame.mask.tolist())
    return {
        "step": frame.step,
        "scene": frame.scene,
        "acting": frame.acting,
        "legal": legal,
        "actions": frame.actions,
        "thoughts": thoughts,
        "result": frame.result,
        "cut": frame.is_cut,
    }
