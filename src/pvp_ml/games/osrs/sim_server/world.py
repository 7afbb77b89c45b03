"""The agents of the simulation server and their fights: the protocol's state machine, without sockets or a clock.

Time is an argument; answers go out through the callback that came with the request. A fight continues as soon as both
of its agents have sent their actions; no fight waits for another. An agent that keeps its opponent waiting past the
deadline loses its fight: the opponent gets TARGET_LOST, and the match does not count.

In lock step (`is_lock_step`) the world is as strict as the original server: there is one tick for all fights, it waits
for every agent that has ever asked for a fight, and opponents find each other by the name that is shown, with the first
letter of every word raised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import msgspec
import numpy as np

from pvp_ml.errors import UserError
from pvp_ml.games.osrs.remote.params import Seeded, seeded
from pvp_ml.games.osrs.remote.wire import Envelope, LoginBody, ResetBody, StepBody, encode_answer, encode_error
from pvp_ml.games.osrs.sim_server.fights import AGENT_TYPES, TARGET_LOST, Fight, GamePool
from pvp_ml.games.tooling import SimServerOptions

Reply = Callable[[bytes], None]
BASELINE, ATTACKER = "baseline", "attacker"
ACTIONS = ("login", "reset", "step", "logout", "debug")


class State(Enum):
    """Of an agent, by the names that `debug` tells."""

    PENDING = "PENDING"
    PENDING_TARGET_MATCH = "PENDING_TARGET_MATCH"
    STEPPING = "STEPPING"
    TERMINAL = "TERMINAL"


@dataclass(frozen=True, slots=True)
class WorldLimits:
    """Times in seconds."""

    agents: int = SimServerOptions.max_agents
    id_chars: int = 64
    deadline_s: float = SimServerOptions.deadline  # how long an agent may keep its opponent, or its own reset, waiting
    silent_s: float = 3600.0  # without any message an agent is removed
    orphan_s: float = 5.0  # the same once its connection is gone
    late_ticks: int = 3  # in real time: ticks without a step that an agent may miss
    tick_s: float = 0.0  # 0 = when they have spoken; else a tick every so many seconds, no matter who has
    is_lock_step: bool = False  # one tick for all fights


@dataclass(eq=False, slots=True)
class Agent:
    """One fighter, by id."""

    id: str
    type: str
    owner: object  # the connection that spoke for it last
    heard: float
    state: State = State.PENDING
    reset: ResetBody = field(default_factory=ResetBody)
    reply: Reply | None = None  # of the message that waits for an answer
    waiting: str = ""  # that message's action
    since: float = 0.0  # when it came
    fight: Fight | None = None
    seat: int = 0
    rival: Agent | None = None
    last: dict[str, Any] | None = None  # the terminal answer that waits to be asked for
    missed: int = 0
    orphaned: float | None = None
    heard_tick: int = 0  # tick of its fight in which it was heard last
    has_asked: bool = False  # for a fight, ever: from then on a lock step waits for it

    @property
    def shown(self) -> str:
        """Its name as the original server shows it."""
        return " ".join(word[:1].upper() + word[1:] for word in self.id.split(" "))

    def answer(self, data: bytes) -> None:
        """Answer the waiting message."""
        reply, self.reply, self.waiting = self.reply, None, ""
        if reply is not None:
            reply(data)


class World:
    """All agents."""

    def __init__(self, limits: WorldLimits, pool: GamePool, rng: np.random.Generator) -> None:
        self.limits = limits
        self.agents: dict[str, Agent] = {}
        self.ticks = 0
        self.voids = 0
        self._pool = pool
        self._rng = rng
        self._has_clock = limits.tick_s > 0

    def handle(self, request: Envelope, owner: object, now: float, reply: Reply) -> None:
        """Take one request; it is answered now or when its tick is over. Mistakes are answered in the error form."""
        try:
            if request.action == "login":
                self._login(request, owner, now)
                reply(encode_answer())
            elif request.action == "debug":
                reply(encode_answer(self.debug()))
            elif request.action == "logout":
                self.remove(self._find(request.meta.id), "agent logged out")
                reply(encode_answer())
            else:
                self._fight_message(request, owner, now, reply)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:  # a body is read later than its envelope
            reply(encode_error(f"{request.action}: {str(error)[:200]}"))
        except UserError as error:
            reply(encode_error(f"{request.action}: {error}"))
        self._advance()

    def _advance(self) -> None:
        """Lock step: once everybody has spoken, one tick of all fights."""
        if not self.limits.is_lock_step or any(a.has_asked and a.reply is None for a in self.agents.values()):
            return
        self.play_ticks()

    def _find(self, agent_id: str) -> Agent:
        agent = self.agents.get(agent_id)
        if agent is None:
            raise UserError(f"there is no agent '{agent_id[:64]}'", "login first")
        return agent

    def _login(self, request: Envelope, owner: object, now: float) -> None:
        body = msgspec.json.decode(request.body, type=LoginBody)
        name = request.meta.id
        if not 1 <= len(name) <= self.limits.id_chars or not name.isprintable():
            raise UserError(f"an id has 1 to {self.limits.id_chars} printable characters")
        if name in (BASELINE, ATTACKER):
            raise UserError(f"the id '{name}' has a meaning of its own")
        if body.agentType not in AGENT_TYPES:
            raise UserError(f"there is no agentType '{body.agentType[:40]}'", f"known: {', '.join(AGENT_TYPES)}")
        old = self.agents.get(name)
        if old is not None and old.orphaned is None:
            raise UserError(f"the id '{name}' is in use", "logout first, or take another id")
        if old is not None:
            self.remove(old, "agent logged in again")
        if len(self.agents) >= self.limits.agents:
            raise UserError(f"{self.limits.agents} agents are here, which is the limit")
        self.agents[name] = Agent(name, body.agentType, owner, now)

    def _fight_message(self, request: Envelope, owner: object, now: float, reply: Reply) -> None:
        agent = self._find(request.meta.id)
        if agent.reply is not None:
            raise UserError(f"a message of '{agent.id}' is waiting already", "await its answer")
        agent.owner, agent.orphaned, agent.heard = owner, None, now
        agent.heard_tick = 0 if agent.fight is None else agent.fight.ticks
        if request.action == "reset":
            body = msgspec.json.decode(request.body, type=ResetBody)
            self._reset(agent, body, now, reply)
        else:
            action = msgspec.json.decode(request.body, type=StepBody).action
            self._step(agent, action, now, reply)

    def _reset(self, agent: Agent, body: ResetBody, now: float, reply: Reply) -> None:
        self._leave(agent)
        agent.has_asked = True
        if body.target == agent.id:
            raise UserError(f"'{agent.id}' cannot fight itself")
        if body.target == BASELINE:
            self._begin(agent, None, body)
            reply(encode_answer(self._sight(agent)))
            return
        agent.reset, agent.state = body, State.PENDING_TARGET_MATCH
        agent.reply, agent.waiting, agent.since = reply, "reset", now
        rival = self._match(agent)
        if rival is None:
            return
        try:
            self._begin(rival, agent, rival.reset)
        except UserError as error:
            for one in (agent, rival):
                one.state = State.PENDING
            rival.answer(encode_error(f"reset: {error}"))
            agent.reply, agent.waiting = None, ""
            raise
        for one in (rival, agent):
            one.answer(encode_answer(self._sight(one)))

    def _match(self, agent: Agent) -> Agent | None:
        """The agent that this one waits for and that waits for it; ATTACKER accepts the first that names this one."""
        waiting = [other for other in self.agents.values() if _is_waiting(other, agent)]
        if agent.reset.target == ATTACKER:
            return next((other for other in waiting if self._names(other, agent)), None)
        fits = (o for o in waiting if self._names(agent, o) and (o.reset.target == ATTACKER or self._names(o, agent)))
        return next(fits, None)

    def _names(self, agent: Agent, other: Agent) -> bool:
        """Whether the agent asks for the other one."""
        return agent.reset.target == (other.shown if self.limits.is_lock_step else other.id)

    def _begin(self, first: Agent, second: Agent | None, body: ResetBody) -> None:
        """Start a fight; seats and seed as asked for when both ask alike, else the earlier agent sits first."""
        asked = [seeded(a.resetParams or {}) for a in ((body,) if second is None else (first.reset, second.reset))]
        seed, seat = self._seed(asked)
        pooled = self._pool.take(first.type, body if seat == 0 or second is None else second.reset)
        fight = Fight(pooled, seed, 1 - seat if second is None else None)
        first.reset = body
        for agent, place, rival in ((first, seat, second), (second, 1 - seat, first)):
            if agent is not None:
                agent.fight, agent.seat, agent.rival, agent.last = fight, place, rival, None
                agent.state, agent.missed, agent.heard_tick = State.STEPPING, 0, 0

    def _seed(self, asked: list[Seeded | None]) -> tuple[int, int]:
        first = asked[0]
        if first is not None and (
            len(asked) == 1 or (asked[1] is not None and asked[1] == Seeded(first.seed, 1 - first.seat))
        ):
            return first.seed, first.seat
        return int(self._rng.integers(1 << 62)), 0

    def _step(self, agent: Agent, action: list[int], now: float, reply: Reply) -> None:
        if agent.state is State.TERMINAL:
            body, agent.last, agent.state = agent.last, None, State.PENDING
            reply(encode_answer(body))
            return
        fight = agent.fight
        if agent.state is not State.STEPPING or fight is None:
            raise UserError(f"agent '{agent.id}' is {agent.state.value} and has no fight to step in", "reset first")
        if self._has_clock and agent.missed > self.limits.late_ticks:
            missed = agent.missed
            self._leave(agent)
            raise UserError(f"agent '{agent.id}' missed {missed} ticks, allowed are {self.limits.late_ticks}")
        fight.set_action(agent.seat, action)
        agent.reply, agent.waiting, agent.since, agent.missed = reply, "step", now, 0
        is_free = not self._has_clock and not self.limits.is_lock_step
        if is_free and (agent.rival is None or agent.rival.waiting == "step"):
            self._tick(agent)

    def _tick(self, agent: Agent) -> None:
        """Play the tick of an agent's fight and answer those who wait for it."""
        fight = agent.fight
        assert fight is not None
        fight.tick()
        self.ticks += 1
        sides = [agent] if agent.rival is None else [agent, agent.rival]
        for one in sides:
            if one.reply is None:
                one.missed += 1
            else:
                one.answer(encode_answer(self._sight(one)))
        if fight.states is not None:
            for one in sides:
                self._end(one, fight.states[one.seat])
            self._pool.give_back(fight.pooled)

    def _sight(self, agent: Agent, state: str | None = None) -> dict[str, Any]:
        assert agent.fight is not None
        return agent.fight.sight(agent.seat, agent.reset.maintainTargetEnvironment, state)

    def _end(self, agent: Agent, state: str) -> None:
        agent.last = self._sight(agent, state)
        agent.fight = agent.rival = None
        agent.state = State.TERMINAL

    def play_ticks(self) -> None:
        """One tick of every fight, no matter who has spoken; in real time called every `tick_s`."""
        seen: set[int] = set()
        for agent in list(self.agents.values()):
            if agent.fight is not None and id(agent.fight) not in seen:
                seen.add(id(agent.fight))
                self._tick(agent)

    def _leave(self, agent: Agent) -> None:
        """Give up the fight: the opponent gets TARGET_LOST."""
        fight, rival = agent.fight, agent.rival
        agent.last, agent.state = None, State.PENDING
        if fight is None:
            return
        self.voids += 1
        agent.fight = agent.rival = None
        if rival is not None:
            self._end(rival, TARGET_LOST)
            if rival.waiting == "step":
                body, rival.last, rival.state = rival.last, None, State.PENDING
                rival.answer(encode_answer(body))
        self._pool.give_back(fight.pooled)

    def remove(self, agent: Agent, reason: str) -> None:
        """Take an agent out of the world."""
        self._leave(agent)
        agent.answer(encode_error(reason))
        self.agents.pop(agent.id, None)

    def orphan(self, owner: object, now: float) -> None:
        """A connection was lost: another one has a moment to take over its agents."""
        for agent in self.agents.values():
            if agent.owner is owner and agent.orphaned is None:
                agent.orphaned = now
                if agent.waiting == "reset":
                    agent.state, agent.waiting = State.PENDING, ""
                agent.reply = _drop if agent.waiting else None  # its last step still counts

    def expire(self, now: float) -> None:
        """Enforce the deadlines; called about every second."""
        limits = self.limits
        for agent in list(self.agents.values()):
            if agent.orphaned is not None and now - agent.orphaned >= limits.orphan_s:
                self.remove(agent, "connection lost")
            elif agent.reply is None and now - agent.heard >= limits.silent_s:
                self.remove(agent, "agent was silent for too long")
            elif agent.reply is not None and now - agent.since >= limits.deadline_s and not self._has_clock:
                self._overdue(agent)
        self._advance()

    def _overdue(self, agent: Agent) -> None:
        """An agent has waited too long for its opponent."""
        if agent.waiting == "reset":
            agent.state = State.PENDING
            target = agent.reset.target[:64]
            agent.answer(encode_error(f"reset: '{target}' did not come within {self.limits.deadline_s:g} s"))
        elif self.limits.is_lock_step:
            for other in [a for a in self.agents.values() if a.has_asked and a.reply is None]:
                self.remove(other, "agent kept everybody waiting")
        elif agent.rival is not None:
            self._leave(agent.rival)

    def debug(self) -> list[dict[str, Any]]:
        """One record per agent, for people and for the old trainer's log."""
        return [dict(self._record(agent)) for agent in self.agents.values()]

    def _record(self, agent: Agent) -> Iterator[tuple[str, Any]]:
        yield "id", agent.id
        yield "target", agent.reset.target
        yield "state", agent.state.value
        if agent.waiting:
            yield "pendingMessage", agent.waiting
        yield "envType", agent.type
        yield "currentEpisodeTicks", 0 if agent.fight is None else agent.fight.ticks
        yield "lastMessageTick", agent.heard_tick
        yield "isLoaded", agent.fight is not None
        yield "isTargetLoaded", agent.fight is not None and (agent.rival is None or agent.rival.fight is agent.fight)


def _is_waiting(other: Agent, agent: Agent) -> bool:
    return other is not agent and other.state is State.PENDING_TARGET_MATCH and other.type == agent.type


def _drop(data: bytes) -> None:
    """Where answers to a lost connection go."""
