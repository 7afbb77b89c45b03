"""One match and everyone connected to it: the player who started it, the spectators, and the clock that drives it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from pvp_ml.errors import UserError
from pvp_ml.match import IntArray
from pvp_ml.web.live import LiveMatch
from pvp_ml.web.messages import Encoded, encode, frame_facts
from pvp_ml.web.orders import Picks

log = logging.getLogger(__name__)

MAX_LISTENERS = 400
ABSENT_S = 60.0
"""How long a match waits for a starter whose connection broke."""
COUNT_S = 0.2

Clock = Callable[[], float]


class Listener(Protocol):
    """A connection."""

    def push(self, message: Encoded) -> None:
        """Send without waiting; a connection that cannot keep up is closed by its owner."""


@dataclass(frozen=True, slots=True)
class Seating:
    """Who was invited: names per seat, and the facts that pages need to draw the match."""

    names: tuple[str, ...]
    facts: dict[str, Any]


class Timing(NamedTuple):
    """When a step was due and when everybody had been sent it, in seconds of the room's clock."""

    step: int
    due_s: float
    sent_s: float


class Room:
    """Runs one match. `on_end` is called once with the match when it is over."""

    def __init__(
        self, match: LiveMatch, seating: Seating, tick_ms: int, is_paused: bool, clock: Clock,
        on_end: Callable[[LiveMatch, Seating], dict[str, Any]],
    ) -> None:  # fmt: skip
        self.id = secrets.token_urlsafe(6)
        self.key = secrets.token_urlsafe(24)
        self.match, self.seating = match, seating
        self.orders = match.orders
        self.tick_ms, self.is_paused = tick_ms, is_paused
        self.starter: Listener | None = None
        self.left_at: float | None = clock()  # nobody has come yet
        self.timing: deque[Timing] = deque(maxlen=1000)
        self._clock = clock
        self._on_end = on_end
        self._listeners: dict[Listener, None] = {}
        self._history: list[Encoded] = [self._encoded()]
        self._action: IntArray | None = None
        self._is_real_time = match.kind.presentation.step_ms is not None
        self._held: Picks = ()
        self._steps = 0  # single steps that were asked for while paused
        self._is_stepping = False
        self._changed = asyncio.Event()
        self._closing = ""
        self._is_counting = False
        self._task: asyncio.Task[None] | None = None

    # people ----------------------------------------------------------------------------------------------------------

    def join(self, listener: Listener, key: str = "") -> None:
        """Look on; with the starter's key, be the starter. Everything that happened so far is sent at once."""
        if len(self._listeners) >= MAX_LISTENERS:
            raise UserError(f"{MAX_LISTENERS} people are watching already", "try again later")
        is_starter = bool(key) and secrets.compare_digest(key.encode(), self.key.encode())
        if is_starter:
            self.starter, self.left_at = listener, None
        facts = {**self.seating.facts, "room": self.id, "driving": is_starter, "names": self.seating.names}
        facts |= {
            "human": self.match.human,
            "waits": not (self.orders.can_wait or self._is_real_time),
            "tick_ms": self.tick_ms,
        }
        if is_starter:
            facts["key"] = self.key
        listener.push(encode("room", **facts, paused=self.is_paused, steps=len(self._history)))
        for message in self._history:
            listener.push(message)
        self._listeners[listener] = None
        self._tell_audience()
        if self._task is None:
            self._task = asyncio.create_task(self._run())

    def leave(self, listener: Listener) -> None:
        """Somebody's connection ended; the starter may come back."""
        if self._listeners.pop(listener, self) is self:
            return
        if listener is self.starter:
            self.starter, self.left_at = None, self._clock()
            self.is_paused = True
            self._changed.set()
        self._tell_audience()

    def is_abandoned(self, now: float) -> bool:
        """Whether the starter has been away for too long, or never came."""
        return self.left_at is not None and now - self.left_at > ABSENT_S

    def _tell_audience(self) -> None:
        """Soon, once for many who come at the same time."""
        if not self._is_counting:
            self._is_counting = True
            asyncio.get_running_loop().call_later(COUNT_S, self._count_audience)

    def _count_audience(self) -> None:
        self._is_counting = False
        self._send(encode("audience", watching=max(0, len(self._listeners) - (self.starter is not None))))

    # what the starter says -------------------------------------------------------------------------------------------

    def order(self, step: int, picks: Picks) -> None:
        """What the person does next. Illegal picks are refused, judged by the current step."""
        mask = self.match.frame.mask
        if self.match.human is None:
            raise UserError("you are spectating this match", "sit down in the next one")
        if mask is None:
            raise UserError("it is not your turn")
        if step > self.match.frame.step:
            raise UserError(f"step {step} has not come yet", f"now it is {self.match.frame.step}")
        if self._is_stepping:
            raise UserError("the step is being played", "wait for the next one")
        self._action = self.orders.read(picks, mask)
        self._held = picks
        if not self._is_real_time:
            self._changed.set()

    def pace(self, tick_ms: int, is_paused: bool) -> None:
        """Faster, slower, paused; everybody is notified."""
        self.tick_ms, self.is_paused = tick_ms, is_paused
        self._steps = 0
        self._changed.set()
        self._send(encode("pace", tick_ms=tick_ms, paused=is_paused))

    def step(self) -> None:
        """One step while paused."""
        if not self.is_paused:
            raise UserError("the match is not paused", "pause it first")
        self._steps = min(self._steps + 1, 8)
        self._changed.set()

    # the clock -------------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        try:
            await self._drive()
        except UserError as error:
            self.close(str(error))
        except Exception:
            log.exception("the match broke")
            self.close("the match broke; the server's log says how")
        finally:
            self.match.close()

    async def _drive(self) -> None:
        due = self._clock() + self.tick_ms / 1000
        while not self.match.is_over and not self._closing:
            await asyncio.sleep(0)  # a machine too slow for the pace still hears what people say
            due = await self._wait(due)
            if self._closing:
                break
            await self._play()
            self.timing.append(Timing(self.match.frame.step, due, self._clock()))
            due = max(due + self.tick_ms / 1000, self._clock())
        if self.match.is_over:
            self._send(encode("end", result=self.match.frame.result, **self._on_end(self.match, self.seating)))

    async def _wait(self, due: float) -> float:
        """Until the next step may be played; the moment at which it was due."""
        while not self._closing:
            self._changed.clear()
            now = self._clock()
            if self.match.awaits_person and not self.orders.can_wait and not self._is_real_time:
                if self._action is not None:
                    return now
                await self._changed.wait()
                due = self._clock()
            elif self.is_paused:
                if self._steps:
                    self._steps -= 1
                    return now
                await self._changed.wait()
                due = self._clock() + self.tick_ms / 1000
            elif now >= due:
                return due
            else:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), due - now)
                due = min(due, self._clock() + self.tick_ms / 1000)
        return due

    async def _play(self) -> None:
        action, self._action = self._held_action() if self._is_real_time else self._action, None
        if self.match.is_slow:
            self._is_stepping = True
            await asyncio.to_thread(self.match.advance, action)
            self._is_stepping = False
        else:
            self.match.advance(action)
        message = self._encoded()
        self._history.append(message)
        self._send(message)

    def _held_action(self) -> IntArray | None:
        """What is held down, as long as it is legal: an empty tank gives no boost."""
        mask = self.match.frame.mask
        if mask is None or not self._held:
            return None
        with contextlib.suppress(UserError):
            return self.orders.read(self._held, mask)
        return None

    def _encoded(self) -> Encoded:
        return encode("frame", **frame_facts(self.match.frame))

    def _send(self, message: Encoded) -> None:
        """To the starter first, then to the others."""
        if self.starter is not None:
            self.starter.push(message)
        for listener in list(self._listeners):
            if listener is not self.starter:
                listener.push(message)

    def close(self, reason: str) -> None:
        """End the match before its time."""
        if not self._closing:
            self._closing = reason
            self._send(encode("closed", reason=reason))
            self._changed.set()

    async def ended(self) -> None:
        """Wait until the clock stands still."""
        if self._task is not None:
            await self._task
