"""The connections of one port, and which one is dropped when all are taken: the one that was silent longest."""

from __future__ import annotations

from collections.abc import Callable

GRACE_S = 1.0
"""Nobody is sent away sooner than this after arriving."""


MOST_DELAY_S = 30.0
"""Nobody waits longer than this for the answer to a wrong token: waiting takes room, too."""


class Quota:
    """At most `places` clients, of them at most `newcomers` that have not settled.

    A client settles when it has finished a message or, where a token is needed, when it has shown it. `evict` ends its
    connection. clock: seconds, monotonic.
    """

    def __init__(self, places: int, newcomers: int, clock: Callable[[], float]) -> None:
        self._places, self._most_newcomers, self._clock = places, newcomers, clock
        self._newcomers: dict[object, tuple[float, Callable[[], None]]] = {}
        self._settled: set[object] = set()

    def __len__(self) -> int:
        """Clients that are in."""
        return len(self._newcomers) + len(self._settled)

    def enter(self, client: object, evict: Callable[[], None]) -> bool:
        """Take a place, if need be that of the oldest newcomer; False when there is none."""
        if len(self) >= self._places or len(self._newcomers) >= self._most_newcomers:
            oldest = next(iter(self._newcomers), None)
            if oldest is None or self._clock() - self._newcomers[oldest][0] < GRACE_S:
                return False
            _, send_away = self._newcomers.pop(oldest)
            send_away()
        self._newcomers[client] = self._clock(), evict
        return True

    def settle(self, client: object) -> None:
        """The client is no newcomer any more."""
        if self._newcomers.pop(client, None) is not None:
            self._settled.add(client)

    def leave(self, client: object) -> None:
        """Give the place back."""
        self._newcomers.pop(client, None)
        self._settled.discard(client)


class WrongTokens:
    """Guesses cost time: one wrong token per `pace_s` and host is answered, later ones wait for their turn.

    Clients with the right token are never delayed.
    """

    MOST_HOSTS = 4096

    def __init__(self, clock: Callable[[], float], pace_s: float = 0.2) -> None:
        self._clock, self._pace_s = clock, pace_s
        self._free_at: dict[str, float] = {}

    def delay(self, host: str) -> float:
        """Seconds to wait before this guess is answered."""
        now = self._clock()
        if len(self._free_at) >= self.MOST_HOSTS:
            self._free_at = {name: at for name, at in self._free_at.items() if at > now}
        at = min(max(now, self._free_at.get(host, now)), now + MOST_DELAY_S) + self._pace_s
        self._free_at[host] = at
        return at - now
