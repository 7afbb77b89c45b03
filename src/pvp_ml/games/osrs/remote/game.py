"""Fights on an external server as an AsyncVecGame: a connection per agent, all waits bounded, losses are void matches.

A row is a fight of two agents of ours, or of one against the server's own opponent. The server tells the ending one
step after the last tick; that step is made here. Resets may be answered a tick apart: the earlier agent then idles.
"""

from __future__ import annotations

import collections
import logging
import random
import string
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal

import msgspec
import numpy as np

from pvp_ml.errors import UserError
from pvp_ml.games.legal import check_actions
from pvp_ml.games.osrs.remote.agent import Agent, BadSightError, Layout, Phase, abandon, say_goodbye
from pvp_ml.games.osrs.remote.config import RemoteFields
from pvp_ml.games.osrs.remote.link import Address, Failure, Links
from pvp_ml.games.osrs.remote.process import ServerProcess, free_address
from pvp_ml.games.osrs.remote.row import FAULTS, RESULTS, SEATS, Row, RowPhase, describe, reset_body, results
from pvp_ml.games.osrs.remote.stage import Ending, Stage
from pvp_ml.games.osrs.remote.wire import DEFAULT_PORT, encode_request, read_answer
from pvp_ml.match import IDLE, TIE, ActionError, Bot, Fault, IntArray, MatchPlan, StepBuffers
from pvp_ml.spec import GameSpec

log = logging.getLogger(__name__)

PATIENCE_S = 0.05
"""How long an agent waits for its opponent's reset before it makes a step without input."""
PAUSE_S = 0.005
"""How long the rows that are ready wait for more of them: in lock step there will be none before they have acted."""

MAX_REFUSALS = 5
POLL_S = 0.05


class RemoteGame:
    """M fights elsewhere. `bodies`: scenario → training, deathMatch and resetParams of its resets."""

    runs_elsewhere: ClassVar[Literal[True]] = True

    def __init__(
        self,
        spec: GameSpec,
        config: RemoteFields,
        agent_type: str,
        bodies: Mapping[str, Mapping[str, Any]],
        matches: int,
    ) -> None:
        if matches < 1:
            raise UserError(f"game '{spec.name}': {matches} matches", "at least 1")
        self.spec, self.matches = spec, matches
        self._config, self._type, self._bodies = config, agent_type, bodies
        address = Address.parse(config.remote or f"localhost:{DEFAULT_PORT}")
        self._process: ServerProcess | None = None
        if config.remote_command:
            self._process = ServerProcess(config.remote_command, free_address(address))
            self._process.start()
            address = self._process.address
        self._links = Links(address, SEATS * matches)
        # a server finds players by the name that it shows: the first letter of every word raised
        layout, tag = Layout.of(spec), "".join(random.SystemRandom().choices(string.ascii_lowercase, k=4)).capitalize()
        agents = [Agent(i, f"{i // SEATS} {tag}{'ab'[i % SEATS]}", spec, layout) for i in range(SEATS * matches)]
        self._rows = [Row(agents=agents[SEATS * row : SEATS * row + SEATS]) for row in range(matches)]
        self._agents = agents
        self._stage = Stage(spec, matches, layout)
        self._queue: collections.deque[MatchPlan] = collections.deque()
        self._ready: collections.deque[int] = collections.deque()
        self._is_started = False
        self._is_away = False  # nobody logs in until the next `recv`
        self._left_at: float | None = None  # when the caller was given rows; meanwhile no deadline runs
        self._named = ""
        self.voids: collections.Counter[Fault] = collections.Counter()

    def queue(self, plans: Sequence[MatchPlan]) -> None:
        """Append plans; rows take them in order as they become free."""
        for plan in plans:
            self.spec.scenario(plan.scenario)
            if len(plan.lineup) != SEATS or all(isinstance(o, Bot) for o in plan.lineup):
                raise UserError(f"plan {plan.serial}: an external fight has two seats, one of them not a bot")
            for occupant in plan.lineup:
                if isinstance(occupant, Bot) and occupant.name not in self.spec.bots:
                    raise UserError(f"game '{self.spec.name}' has no bot '{occupant.name}'")
        self._queue.extend(plans)
        if self._is_started:
            self._fill()

    def start(self) -> None:
        """Begin the first matches; their first observations arrive through `recv`."""
        self._is_started = True
        self._fill()

    def send(self, match: IntArray, actions: IntArray) -> None:
        """Give the actions [n,S,H] of the rows `match` [n]; does not wait. IDLE is sent as the first choices."""
        rows = np.asarray(match, np.int64).tolist()
        if len(set(rows)) < len(rows) or any(
            not 0 <= row < self.matches or self._rows[row].phase is not RowPhase.ASKED for row in rows
        ):
            raise ActionError(f"game '{self.spec.name}': rows {rows[:8]} are not all different and awaiting actions")
        acting = self._stage.out.acting[rows] if rows else np.zeros((0, SEATS), np.bool_)
        check_actions(self.spec, actions, acting)
        now = time.monotonic()
        for i, number in enumerate(rows):
            row = self._rows[number]
            row.phase = RowPhase.PLAYING
            row.steps += 1
            if row.fault is Fault.NONE and row.is_late(now, self._config.remote_desync_s):
                row.fault = Fault.DESYNC
            if row.fault is not Fault.NONE:
                self._void(number, row.fault, now)
                continue
            for seat in row.live:
                if row.agents[seat].phase is Phase.SEEING:
                    self._step(number, row.agents[seat], actions[i, seat].tolist(), now)

    def recv(self, at_least: int, timeout_s: float, out: StepBuffers) -> int:
        """Wait for at least that many rows; write them to out[:n] (`out.match` says which) and return n.

        Fewer come when nothing more has come for a moment: a server with one tick for all answers nobody before the
        rows that are ready have acted.
        """
        room = len(out.match)
        now = time.monotonic()
        self._is_away = False
        if self._left_at is not None:
            self._links.extend(now - self._left_at)
        deadline, ready, since = now + timeout_s, len(self._ready), now
        while True:
            left = deadline - time.monotonic()
            wait = (
                min(PAUSE_S if self._ready else POLL_S, max(0.0, left))
                if len(self._ready) < min(at_least, room)
                else 0.0
            )
            self._pump(wait)
            now = time.monotonic()
            if len(self._ready) >= min(at_least, room) or now >= deadline:
                break
            if len(self._ready) > ready:
                ready, since = len(self._ready), now
            elif ready and now - since > PAUSE_S:
                break
        rows = [self._ready.popleft() for _ in range(min(len(self._ready), room))]
        for number in rows:
            if self._rows[number].phase is RowPhase.READY:
                self._rows[number].phase = RowPhase.ASKED
        self._stage.hand_out(rows, out)
        self._fill()
        self._left_at = time.monotonic()
        return len(rows)

    def leave(self) -> None:
        """Log everybody out: a server with one tick for all would wait for them. Matches under way are void."""
        self._is_away = True
        say_goodbye(self._links, self._agents)
        now = time.monotonic()
        for agent in self._agents:
            self._links.drop(agent.index, now)
            agent.phase = Phase.OUT
        for number, row in enumerate(self._rows):
            if row.phase is RowPhase.PLAYING:
                self._void(number, Fault.STALLED, now)
            elif row.phase in (RowPhase.READY, RowPhase.ASKED):
                row.fault = Fault.STALLED

    def view(self, match: int) -> dict[str, Any]:
        """A JSON description of one row's state for people."""
        return describe(self._rows[match], self.spec.name, str(self._links.address))

    def close(self) -> None:
        """Log everybody out, within a moment, and stop a server that we started."""
        say_goodbye(self._links, self._agents)
        self._links.close()
        if self._process is not None:
            self._process.stop()

    def _fill(self) -> None:
        """Give queued plans to resting rows, lowest row first."""
        for number, row in enumerate(self._rows):
            if not self._queue:
                return
            if row.phase is RowPhase.RESTING and number not in self._ready:
                self._begin(number, self._queue.popleft())

    def _begin(self, number: int, plan: MatchPlan) -> None:
        row = self._rows[number]
        row.plan, row.steps, row.fault, row.refusals = plan, 0, Fault.NONE, 0
        row.live = tuple(seat for seat, occupant in enumerate(plan.lineup) if not isinstance(occupant, Bot))
        row.phase, row.retry_at = RowPhase.STARTING, 0.0
        for agent in row.fighters:
            if agent.phase is Phase.SEEING:
                agent.phase = Phase.IN
        now = time.monotonic()
        self._dismiss(number, [agent for seat, agent in enumerate(row.agents) if seat not in row.live], now)
        self._prepare(number, now)

    def _dismiss(self, number: int, agents: Iterable[Agent], now: float) -> None:
        """Log out agents without a fight: a server in lock step waits for every agent that is logged in."""
        for agent in agents:
            if agent.is_in and not self._links.in_flight(agent.index):
                agent.phase = Phase.LEAVING
                self._ask(number, agent, "logout", None, now)

    def _prepare(self, number: int, now: float) -> None:
        """Take the next step towards the first observation, for every agent of the row that is not waiting."""
        row = self._rows[number]
        for agent in row.fighters:
            if row.phase is not RowPhase.STARTING or self._links.in_flight(agent.index) or self._is_away:
                continue
            if agent.phase in (Phase.OUT, Phase.LEAVING):
                agent.phase = Phase.ENTERING
                self._ask(number, agent, "login", {"agentType": self._type}, now)
            elif agent.phase is Phase.IN:
                agent.phase = Phase.RESETTING
                self._ask(number, agent, "reset", reset_body(row, agent, self._bodies), now)

    def _ask(self, number: int, agent: Agent, action: str, body: object, now: float) -> None:
        agent.sent_at = now
        line = encode_request(action, agent.name, body)
        failure = self._links.request(agent.index, line, now + self._config.remote_timeout_s, now)
        if failure is not None:
            self._fail(number, agent, FAULTS[failure], failure.value, now)

    def _step(self, number: int, agent: Agent, action: list[int], now: float) -> None:
        agent.phase = Phase.STEPPING
        chosen = [0] * len(action) if action[0] == IDLE else action
        self._ask(number, agent, "step", {"action": chosen}, now)

    def _pump(self, wait_s: float) -> None:
        """Let the connections move, and do what follows from each answer before the next one is read."""
        now = time.monotonic()
        for index, found in self._links.poll(wait_s, now):
            number, agent, now = index // SEATS, self._agents[index], time.monotonic()
            if isinstance(found, Failure):
                self._fail(number, agent, FAULTS[found], found.value, now)
            else:
                self._hear(number, agent, found, now)
        now = time.monotonic()
        for index in self._links.overdue(now):
            self._fail(index // SEATS, self._agents[index], Fault.STALLED, Failure.LATE.value, now)
        for number, row in enumerate(self._rows):
            if row.phase is RowPhase.STARTING and now >= row.retry_at:
                self._prepare(number, now)
                self._wake(number, row, now)

    def _wake(self, number: int, row: Row, now: float) -> None:
        """A row whose agents have all seen something is ready; one that waits for another steps without input.

        A step under way is awaited: it may be part of a tick that the others still have to make, so they make it too.
        """
        fighters = list(row.fighters)
        if row.phase is not RowPhase.STARTING:
            return
        if all(agent.phase is Phase.SEEING for agent in fighters):
            row.phase = RowPhase.READY
            self._named = ""
            self._stage.first(number, row.plan.serial if row.plan else 0, row.agents, row.live)
            self._ready.append(number)
            return
        for agent in fighters:
            if agent.phase is Phase.SEEING and now - agent.seen_at > PATIENCE_S:
                self._step(number, agent, [IDLE] * len(self.spec.heads), now)

    def _hear(self, number: int, agent: Agent, line: bytes, now: float) -> None:
        row = self._rows[number]
        try:
            answer = read_answer(line)
            if answer.error:
                self._refused(number, agent, answer.message, now)
            elif agent.phase is Phase.LEAVING:
                agent.phase, agent.is_in = Phase.OUT, False
                self._prepare(number, now)
            elif agent.phase is Phase.ENTERING:
                agent.phase, agent.evictions, agent.is_in = Phase.IN, 0, True
                self._prepare(number, now)
            elif agent.phase is Phase.RESETTING:
                agent.begin(answer.body, now)
                self._wake(number, row, now)
            elif agent.phase is Phase.STEPPING:
                jump = agent.see(answer.body, now)
                is_playing = row.phase is RowPhase.PLAYING
                if abs(jump) > self._config.remote_desync_ticks and is_playing:
                    why = f"{jump} ticks were lost" if jump > 0 else f"its clock is {-jump} steps behind"
                    self._fail(number, agent, Fault.DESYNC, why, now)
                elif agent.terminal is not None and (agent.terminal not in RESULTS or not is_playing):
                    self._fail(number, agent, Fault.DESYNC, f"the server says {agent.terminal[:40]}", now)
                elif is_playing:
                    self._settle(number, now)
                else:
                    self._wake(number, row, now)
        except (BadSightError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            self._links.drop(agent.index, now)
            if row.phase is RowPhase.STARTING:
                self._count_refusal(row, f"it answers what cannot be read: {str(error)[:200]}")
            self._fail(number, agent, Fault.BAD_DATA, str(error)[:200], now)

    def _refused(self, number: int, agent: Agent, message: str, now: float) -> None:
        """The server answered in the error form."""
        row, said = self._rows[number], message.strip().partition("\n")[0][:200]  # without its stack trace
        if agent.phase is Phase.ENTERING and agent.evictions < MAX_REFUSALS:  # an agent of that name is still there
            agent.evictions += 1
            agent.phase = Phase.LEAVING
            self._ask(number, agent, "logout", None, now)
            return
        if agent.phase is Phase.LEAVING:
            agent.phase, agent.is_in = Phase.OUT, False
            self._prepare(number, now)
            return
        agent.phase = Phase.IN if agent.is_in else Phase.OUT
        if row.phase is RowPhase.STARTING:
            self._count_refusal(row, f"it refuses to begin a fight: {said}")
        self._fail(number, agent, Fault.REJECTED, said, now)

    def _count_refusal(self, row: Row, why: str) -> None:
        """A fight that cannot begin is tried a few times; then the user must know."""
        row.refusals += 1
        if row.refusals > MAX_REFUSALS:
            raise UserError(f"the server at {self._links.address} is of no use: {why}")

    def _name(self, why: str) -> None:
        """Tell the user what is wrong with the server, once until it changes."""
        if why != self._named:
            log.warning("the server at %s: %s; trying again", self._links.address, why)
            self._named = why

    def _fail(self, number: int, agent: Agent, fault: Fault, why: str, now: float) -> None:
        """Something went wrong for one agent: its match is void, or begins again if it had not begun."""
        row = self._rows[number]
        if not self._links.is_connected(agent.index):
            agent.phase = Phase.OUT
        if agent.index % SEATS not in row.live:  # it was only leaving
            return
        if fault is Fault.CRASHED and self._process is not None and self._process.ensure():
            log.warning("the server had stopped and was restarted")
        if row.phase is RowPhase.STARTING:
            abandon(self._links, row.fighters, now)
            row.retry_at = max(now, *(self._links.links[a.index].retry_at for a in row.fighters))
            self._name(why)
        elif row.phase is RowPhase.PLAYING:
            self._name(f"{why}, a match is void")
            self._void(number, fault, now)
        elif row.phase in (RowPhase.READY, RowPhase.ASKED):
            row.fault = fault

    def _void(self, number: int, fault: Fault, now: float) -> None:
        self.voids[fault] += 1
        abandon(self._links, self._rows[number].fighters, now)
        self._stage.void(number, fault)
        self._next(number)

    def _settle(self, number: int, now: float) -> None:
        """All steps of a row are answered: it continues, or it ended and both sides are asked for the result."""
        row = self._rows[number]
        fighters = list(row.fighters)
        if any(agent.phase is not Phase.SEEING for agent in fighters):
            return
        assert row.plan is not None
        open_ = [agent for agent in fighters if agent.terminal is None]
        has_food_rule = not self._bodies[row.plan.scenario]["deathMatch"]
        is_over = len(open_) < len(fighters) or any(
            agent.is_near_end or (has_food_rule and agent.is_foodless) for agent in fighters
        )
        if open_ and is_over and not any(agent.has_peeked for agent in open_):
            for agent in open_:
                agent.is_peeking = agent.has_peeked = True
                self._step(number, agent, [IDLE] * len(self.spec.heads), now)
            return
        for agent in fighters:
            agent.has_peeked = False
        states = [agent.terminal for agent in fighters if agent.terminal is not None]
        if states:
            self._stage.step(number, row.agents, row.live, Ending.ENDED, results(row))
            self._next(number)
        elif row.steps >= self.spec.max_steps:
            self._stage.step(number, row.agents, row.live, Ending.TRUNCATED, (TIE, TIE))
            self._next(number)
        else:
            self._stage.step(number, row.agents, row.live, Ending.NONE, None)
            row.phase = RowPhase.READY
            self._ready.append(number)

    def _next(self, number: int) -> None:
        """The match in the row stopped; begin the next plan there, or let it rest and log its agents out."""
        row = self._rows[number]
        if self._queue:
            self._begin(number, self._queue.popleft())
            return
        row.plan, row.live, row.phase = None, (), RowPhase.RESTING
        self._dismiss(number, row.agents, time.monotonic())
        self._stage.rest(number)
        self._ready.append(number)
