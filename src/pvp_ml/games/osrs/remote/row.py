"""One row of a remote game: which fight it holds and where that stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from pvp_ml.games.osrs.remote.agent import Agent
from pvp_ml.games.osrs.remote.link import Failure
from pvp_ml.games.osrs.remote.params import episode_id
from pvp_ml.match import LOSS, TIE, WIN, Fault, MatchPlan

SEATS = 2
RESULTS = {"WON": WIN, "TIED": TIE, "LOST": LOSS}
FAULTS = {
    Failure.REFUSED: Fault.CRASHED,
    Failure.CLOSED: Fault.CRASHED,
    Failure.LATE: Fault.STALLED,
    Failure.TOO_LONG: Fault.BAD_DATA,
}


class RowPhase(IntEnum):
    """Where a row stands."""

    RESTING = 0
    STARTING = 1  # logins and resets
    READY = 2  # an observation waits to be received
    ASKED = 3  # the caller has it and owes actions
    PLAYING = 4  # steps are under way


@dataclass(slots=True)
class Row:
    """One fight; `live` are the seats that are agents of ours."""

    phase: RowPhase = RowPhase.RESTING
    plan: MatchPlan | None = None
    live: tuple[int, ...] = ()
    steps: int = 0
    fault: Fault = Fault.NONE  # of a match that was lost while the caller held its row
    retry_at: float = 0.0
    refusals: int = 0
    agents: list[Agent] = field(default_factory=list)

    @property
    def fighters(self) -> Iterator[Agent]:
        """The agents of this match."""
        return (self.agents[seat] for seat in self.live)

    def is_late(self, now: float, limit_s: float) -> bool:
        """Whether the caller took longer than a fight in real time allows; 0 allows any time."""
        return bool(limit_s and self.steps > 1 and any(now - agent.seen_at > limit_s for agent in self.fighters))


def reset_body(row: Row, agent: Agent, bodies: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What an agent of a row asks for when its fight begins."""
    assert row.plan is not None, "a fight has a plan"
    body, seat = bodies[row.plan.scenario], agent.index % SEATS
    rival = row.agents[1 - seat].name if len(row.live) > 1 else "baseline"
    own = {"agent": agent.name, "target": rival, "episodeId": episode_id(row.plan.seed, seat)}
    params = {**body["resetParams"], **own}
    return {**body, "target": rival, "maintainTargetEnvironment": len(row.live) == 1, "resetParams": params}


def results(row: Row) -> tuple[int, int]:
    """Seat results as the server sent them; an agent without one has the opposite. Two winners are a tie."""
    reported = {seat: RESULTS[row.agents[seat].terminal or ""] for seat in row.live if row.agents[seat].terminal}
    first = reported.get(0, -reported.get(1, TIE))
    second = reported.get(1, -first)
    return (TIE, TIE) if first == second else (first, second)


def describe(row: Row, game: str, server: str) -> dict[str, Any]:
    """A row for people, as JSON."""
    if row.plan is None:
        return {"game": game, "serial": None, "resting": True}
    return {
        "game": game,
        "serial": row.plan.serial,
        "scenario": row.plan.scenario,
        "server": server,
        "phase": row.phase.name.lower(),
        "ticks": row.steps,
        "fighters": [{"id": agent.name, "state": agent.phase.value} for agent in row.fighters],
    }
