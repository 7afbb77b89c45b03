"""One agent on an external server: what it has seen last, and what that says in the game's own arrays."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

import msgspec
import numpy as np
import numpy.typing as npt

from pvp_ml.games.osrs.remote.link import Links
from pvp_ml.games.osrs.remote.meta import INDEX, to_signals
from pvp_ml.games.osrs.remote.wire import Sight, encode_request, read_sight
from pvp_ml.spec import GameSpec

HITPOINTS, SHOWN = "absolute_hitpoints_level", "damage_on_player_tick"
DEFAULT_HITPOINTS = 99.0
GOODBYE_S, POLL_S = 2.0, 0.05


class Phase(Enum):
    """Where an agent stands with the server."""

    OUT = "not logged in"
    LEAVING = "logout sent"
    ENTERING = "login sent"
    IN = "logged in, no fight"
    RESETTING = "reset sent"
    SEEING = "has an observation"
    STEPPING = "step sent"


class BadSightError(Exception):
    """An answer that does not fit the contract."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Facts of the contract that reading needs."""

    features: int
    head_sizes: tuple[int, ...]
    hidden: npt.NDArray[np.int64]  # [P] columns whose opponent's value is privileged
    hitpoints: int | None  # column of the base HP
    shown: int | None  # column of the damage shown on me this tick, as a share

    @classmethod
    def of(cls, spec: GameSpec) -> Layout:
        """From the game's description."""
        names = {f.name: i for i, f in enumerate(spec.features)}
        hidden = np.array([i for i, f in enumerate(spec.features) if f.partial], np.int64)
        return cls(spec.obs_size, spec.head_sizes, hidden, names.get(HITPOINTS), names.get(SHOWN))


class Agent:
    """State of one agent; the game decides what is sent."""

    def __init__(self, index: int, name: str, spec: GameSpec, layout: Layout) -> None:
        self.index, self.name = index, name
        self.phase = Phase.OUT
        self.is_in = False  # the server knows it, whatever became of the connection
        self.obs: npt.NDArray[np.float32] = np.zeros(spec.obs_size, np.float32)
        self.target_obs: npt.NDArray[np.float32] = np.zeros(spec.obs_size, np.float32)
        self.mask: npt.NDArray[np.bool_] = np.zeros(spec.mask_size, np.bool_)
        self.signals: npt.NDArray[np.float32] = np.zeros(len(spec.signals), np.float32)
        self.before: npt.NDArray[np.float32] = np.zeros(len(spec.signals), np.float32)
        self.hitpoints = DEFAULT_HITPOINTS
        self.terminal: str | None = None
        self.is_peeking = False  # the step in flight only asks how the fight ended
        self.has_peeked = False
        self.evictions = 0  # how often its name had to be freed since the last login
        self.sent_at = self.seen_at = 0.0
        self.steps = 0
        self.lost_ticks = 0  # game ticks minus steps
        self._layout = layout

    def begin(self, body: msgspec.Raw, now: float) -> None:
        """The answer to a reset."""
        self.steps, self.terminal, self.is_peeking, self.has_peeked = 0, None, False, False
        sight = self._read(body)
        self._keep(sight, first=True)
        self.lost_ticks = int(sight.meta.episodeTicks)
        self.phase, self.seen_at = Phase.SEEING, now

    def see(self, body: msgspec.Raw, now: float) -> int:
        """The answer to a step; gives the game ticks that were lost since the last one, below 0 when the clock stands.

        An answer with a terminal state that was only asked for leaves the last tick's numbers as they are.
        """
        sight = self._read(body)
        self.steps += 1
        lost = int(sight.meta.episodeTicks) - self.steps
        jump, self.lost_ticks = lost - self.lost_ticks, max(lost, self.lost_ticks)
        if not (self.is_peeking and sight.terminalState):
            self._keep(sight, first=False)
        self.terminal, self.is_peeking = sight.terminalState, False
        self.phase, self.seen_at = Phase.SEEING, now
        if self.steps == 1:
            self.lost_ticks, jump = lost, 0
        return jump

    @property
    def is_near_end(self) -> bool:
        """Whether somebody has no hitpoints left."""
        return bool(
            self.signals[INDEX["current_health_percent"]] <= 0
            or self.signals[INDEX["current_target_health_percent"]] <= 0
        )

    @property
    def is_foodless(self) -> bool:
        """Whether a side has nothing left to eat."""
        return bool(
            self.signals[INDEX["remaining_food_scale"]] <= 0 or self.signals[INDEX["target_remaining_food_scale"]] <= 0
        )

    def _read(self, body: msgspec.Raw) -> Sight:
        try:
            return read_sight(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise BadSightError(str(error)[:200]) from error

    def _keep(self, sight: Sight, first: bool) -> None:
        layout = self._layout
        if tuple(len(mask) for mask in sight.actionMasks) != layout.head_sizes:
            raise BadSightError(f"action masks of {[len(m) for m in sight.actionMasks]}, heads {layout.head_sizes}")
        self.obs[:] = _numbers(sight.obs, layout.features, "obs")
        self.mask[:] = [flag for mask in sight.actionMasks for flag in mask]
        target = sight.meta.targetObs
        self.target_obs[:] = 0.0 if target is None else _numbers(target, layout.features, "targetObs")
        if layout.hitpoints is not None and self.obs[layout.hitpoints] > 0:
            self.hitpoints = float(self.obs[layout.hitpoints])
        self.before[:] = self.signals
        to_signals(sight.meta, None if first else self.before, self.hitpoints, self.signals)
        if layout.shown is not None and not first:
            self.signals[INDEX["damage_received"]] = self.obs[layout.shown]
        if not np.isfinite(self.signals).all():
            raise BadSightError("meta holds a number that is not finite")


def _numbers(values: list[float], count: int, what: str) -> npt.NDArray[np.float32]:
    if len(values) != count:
        raise BadSightError(f"{what} has {len(values)} numbers, the contract {count}")
    with np.errstate(over="ignore"):
        array = np.array(values, np.float32)
    if not np.isfinite(array).all():
        raise BadSightError(f"{what} holds a number that is not finite")
    return array


def abandon(links: Links, agents: Iterable[Agent], now: float) -> None:
    """Make the agents of a fight ready to begin another one."""
    for agent in agents:
        if links.in_flight(agent.index) or not links.is_connected(agent.index):
            links.drop(agent.index, now)
            agent.phase = Phase.OUT
        elif agent.phase is not Phase.OUT:
            agent.phase = Phase.IN


def say_goodbye(links: Links, agents: Iterable[Agent]) -> None:
    """Log out everybody whom the server knows, and wait at most GOODBYE_S for its answers."""
    now = time.monotonic()
    deadline = now + GOODBYE_S
    here = [agent for agent in agents if agent.is_in]
    for agent in here:
        if links.in_flight(agent.index):  # a step that waits for others would never be answered
            links.drop(agent.index, now)
        if links.request(agent.index, encode_request("logout", agent.name), deadline, now) is not None:
            agent.is_in = False
    waiting = {agent.index: agent for agent in here if agent.is_in}
    while waiting and time.monotonic() < deadline:
        for index, _ in links.poll(POLL_S, time.monotonic()):
            gone = waiting.pop(index, None)
            if gone is not None:
                gone.is_in = False
