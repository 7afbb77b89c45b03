"""What a server takes from strangers before it says no. Every number is a default that a flag can change."""

from __future__ import annotations

import hmac
import ipaddress
import re
from dataclasses import dataclass

from pvp_ml.errors import UserError

_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._-]{1,253})(:(?P<port>\d{1,5}))?", re.ASCII)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{0,30}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in bytes, times in seconds."""

    connections: int = 256  # of the line port
    side_connections: int = 128  # of the side port, which has places of its own
    message_bytes: int = 1 << 20
    in_flight: int = 64  # requests of one connection that wait for their answer; more are left in its socket
    line_s: float = 10.0  # from the first byte of a message to its last
    idle_s: float = 60.0  # without any message; 0 = for ever
    unsent_bytes: int = 1 << 20  # answers that a client does not collect
    unsent_s: float = 10.0
    deadline_s: float = 0.1  # a request that waits longer is answered with an error instead
    batch: int = 64
    batch_s: float = 0.003  # a batch is cut so that it keeps the event loop busy for about this long
    queue: int = 128
    wait_s: float = 0.03  # requests that would wait longer than this behind the others are refused at once


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server bound to `host`."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def host_name(text: str) -> str | None:
    """The name in a Host header, without port; None when it is none. An address in brackets stays in them."""
    found = _HOST.fullmatch(text)
    if found is None or (found["port"] and int(found["port"]) > 65535):
        return None
    return found["name"]


def is_origin(text: str) -> bool:
    """Whether an Origin header is well-formed: `null`, or scheme, host (which files have not) and perhaps port."""
    scheme, mark, rest = text.partition("://")
    return text == "null" or bool(mark and _SCHEME.fullmatch(scheme) and (not rest or host_name(rest)))


def check_exposure(host: str, token: str) -> None:
    """Refuse to listen beyond this machine without a token."""
    if not is_loopback(host) and not token:
        raise UserError(
            f"refusing to listen on {host or 'all addresses'} without a token",
            "set PVP_ML_TOKEN or --token-file, or listen on 127.0.0.1",
        )
    if token and len(token) < 16:
        raise UserError(f"the token has {len(token)} characters", "use at least 16")


def is_token(given: str, token: str) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(given.encode(), token.encode())
