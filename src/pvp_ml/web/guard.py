"""Who may ask the arena, and how often."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pvp_ml.serve.limits import check_exposure, host_name, is_loopback, is_origin, is_token


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """Where to listen and what to take from one connection."""

    host: str = "127.0.0.1"
    port: int = 0
    token: str = ""
    origins: frozenset[str] = frozenset()
    connections: int = 512
    head_s: float = 10.0  # from the first byte of a request's head to its last
    newcomers: int = 128  # connections that have not finished a head; the oldest makes room for the next
    messages_per_s: float = 40.0
    burst: float = 120.0
    unsent_bytes: int = 8 << 20  # what a page that does not read may owe us; a whole match must fit


class Allowance:
    """A token bucket: `rate` messages a second, `burst` at once; a page that ignores it is shown the door."""

    PATIENCE = 200

    def __init__(self, rate: float, burst: float, clock: Callable[[], float]) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._left, self._seen = burst, clock()
        self.refused = 0

    def take(self) -> bool:
        """Whether one more message may be read."""
        now = self._clock()
        self._left = min(self._burst, self._left + (now - self._seen) * self._rate)
        self._seen = now
        if self._left >= 1.0:
            self._left -= 1.0
            self.refused = max(0, self.refused - 1)  # patience comes back as slowly as it went
            return True
        self.refused += 1
        return False

    @property
    def is_abused(self) -> bool:
        """Whether the page keeps sending after a warning."""
        return self.refused > self.PATIENCE


class Guard:
    """Who may ask: pages of this server (and of allowed origins), through a name of this machine or with the token."""

    def __init__(self, config: ServerConfig) -> None:
        check_exposure(config.host, config.token)
        self._config = config

    def trouble(self, headers: Mapping[str, str], token: str = "", needs_token: bool = True) -> str:
        """Why the request is refused; '' when it is not."""
        host = host_name(headers.get("host", "")) or ""
        if is_loopback(self._config.host) and not is_loopback(host):
            return f"host {host[:80]!r} is not this machine"  # a name that was pointed here: DNS rebinding
        origin = headers.get("origin")
        if origin is not None and origin not in self._config.origins:
            scheme, _, place = origin.partition("://")
            if scheme not in ("http", "https") or place != headers.get("host", ""):
                return f"origin {origin[:80]!r} may not ask"
        if needs_token and self._config.token and not is_token(self.token_of(headers, token), self._config.token):
            return "the token is missing or wrong"
        return ""

    @staticmethod
    def is_malformed(headers: Mapping[str, str]) -> bool:
        """Whether Host or Origin is no name at all: the request is not even refused, it is wrong."""
        return host_name(headers.get("host", "")) is None or not is_origin(headers.get("origin", "null"))

    @staticmethod
    def token_of(headers: Mapping[str, str], token: str = "") -> str:
        """The token that came with a request."""
        scheme, _, given = headers.get("authorization", "").partition(" ")
        return given.strip() if scheme.lower() == "bearer" else token

    def watch_key(self, room: str) -> str:
        """What a share link carries in place of the token: it lets you watch this room and nothing else."""
        if not self._config.token:
            return ""
        seal = hmac.new(self._config.token.encode(), f"watch {room}".encode(), hashlib.sha256).hexdigest()[:32]
        return f"{room}.{seal}"

    def watched_room(self, key: str) -> str:
        """The room that a watch key is for; '' when it is none."""
        room = key.rpartition(".")[0]
        return room if room and self._config.token and is_token(key, self.watch_key(room)) else ""
