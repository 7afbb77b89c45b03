"""The part of RFC 6455 that a server of small text messages needs."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import struct

_MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_CONTINUE, _TEXT, _BINARY, _CLOSE, _PING, _PONG = 0, 1, 2, 8, 9, 10


class WebSocketError(Exception):
    """The peer broke the protocol; `code` goes into the close frame."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code


def accept_key(key: str) -> str:
    """The answer to a handshake's Sec-WebSocket-Key."""
    return base64.b64encode(hashlib.sha1(key.encode() + _MAGIC, usedforsecurity=False).digest()).decode()


def frame(kind: int, payload: bytes) -> bytes:
    """One unmasked, final frame."""
    if len(payload) < 126:
        return struct.pack("!BB", 0x80 | kind, len(payload)) + payload
    if len(payload) < 1 << 16:
        return struct.pack("!BBH", 0x80 | kind, 126, len(payload)) + payload
    return struct.pack("!BBQ", 0x80 | kind, 127, len(payload)) + payload


def text_frame(text: bytes) -> bytes:
    """A whole text message."""
    return frame(_TEXT, text)


def close_frame(code: int, reason: str = "") -> bytes:
    """Says goodbye."""
    return frame(_CLOSE, struct.pack("!H", code) + reason.encode()[:100])


async def read_message(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, max_bytes: int) -> bytes | None:
    """The next text message, None when the peer says goodbye; pings are answered on the way."""
    parts: list[bytes] = []
    size = 0
    while True:
        is_last, kind, payload = await _read_frame(reader, max_bytes)
        if kind == _CLOSE:
            return None
        if kind == _PING:
            writer.write(frame(_PONG, payload))
        elif kind == _BINARY:
            raise WebSocketError(1003, "only text messages are read")
        elif kind in (_TEXT, _CONTINUE):
            if (kind == _TEXT) == bool(parts):
                raise WebSocketError(1002, "fragments out of order")
            size += len(payload)
            if size > max_bytes:
                raise WebSocketError(1009, f"a message may have {max_bytes} bytes")
            parts.append(payload)
            if len(parts) > 1024:
                raise WebSocketError(1008, "too many fragments")
            if is_last:
                return b"".join(parts)
        elif kind != _PONG:
            raise WebSocketError(1002, f"unknown frame kind {kind}")


async def _read_frame(reader: asyncio.StreamReader, max_bytes: int) -> tuple[bool, int, bytes]:
    first, second = await reader.readexactly(2)
    kind, length = first & 0x0F, second & 0x7F
    if first & 0x70 or not second & 0x80:
        raise WebSocketError(1002, "reserved bits, or a frame that is not masked")
    if kind >= _CLOSE and (length > 125 or not first & 0x80):
        raise WebSocketError(1002, "a control frame must be short and whole")
    if length == 126:
        (length,) = struct.unpack("!H", await reader.readexactly(2))
    elif length == 127:
        (length,) = struct.unpack("!Q", await reader.readexactly(8))
    if length > max_bytes:
        raise WebSocketError(1009, f"a message may have {max_bytes} bytes")
    mask = await reader.readexactly(4)
    payload = await reader.readexactly(length)
    return bool(first & 0x80), kind, unmask(payload, mask)


def unmask(payload: bytes, mask: bytes) -> bytes:
    """Payload XOR repeated mask."""
    repeated = (mask * (len(payload) // 4 + 1))[: len(payload)]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(repeated, "big")).to_bytes(len(payload), "big")
