"""Whom the trainees meet: shares of opponents become a mix of lineups, from which shards draw matches.

self_play: {strategy: past, league_size: 20}                                     the simple way
self_play: {opponents: {self: 0.5, past: {share: 0.4, delay: 0.1}, nh-bot: 0.1}}  the explicit way
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from pvp_ml import players
from pvp_ml.errors import UserError
from pvp_ml.match import MAIN, Bot, Live, Member, Occupant, Scripted
from pvp_ml.rl.schedule.schedule import Constant, Progress, Schedule, Within
from pvp_ml.selfplay.exploiters import ExploiterConfig
from pvp_ml.selfplay.league import Entry, League, Weighting
from pvp_ml.selfplay.plans import LineupMix
from pvp_ml.selfplay.ratings import RatingSystem
from pvp_ml.spec import GameSpec

Share = Annotated[Schedule, Within(0.0, 1.0)]
STRATEGIES: dict[str, dict[str, float]] = {
    "pure": {"self": 1.0},
    "past": {"self": 0.5, "past": 0.5},
    "pfsp": {"self": 0.5, "pfsp": 0.5},
    "frozen": {"frozen": 1.0},
    "target": {"target": 1.0},
    "latest": {"latest": 1.0},
    "exploiter": {"self": 0.5, "past": 0.5},
}
LEAGUE_KINDS = ("past", "pfsp", "frozen", "target", "latest")


class OpponentConfig(BaseModel):
    """One kind of opponent and its handicaps. A plain number is its share."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    share: Annotated[Schedule, Within(low=0.0)] = Field(
        Constant(1.0), description="share of matches, relative to the others"
    )
    delay: Share = Field(Constant(0.0), description="chance per step of giving no input; `random()` draws per opponent")
    greedy: Share = Field(Constant(0.0), description="chance that it takes its most likely choice throughout a match")
    noise: Annotated[Schedule, Within(low=0.0)] = Field(
        Constant(0.0), description="noise on its observations, in standard deviations of each feature"
    )
    weighting: Weighting = Field("hard", description="pfsp: hard (1−w)², even w(1−w) or linear 1−w")
    models: tuple[str, ...] = Field((), description="target: model files or scripted players, each drawn equally often")
    run: str = Field("", description="latest, past, pfsp: the run whose newest model or league it is; empty = this one")

    @model_validator(mode="before")
    @classmethod
    def _plain_share(cls, data: Any) -> Any:
        return (
            data
            if isinstance(data, Mapping | cls) and not (isinstance(data, Mapping) and "type" in data)
            else {"share": data}
        )


class SelfPlayConfig(BaseModel):
    """Whom the main trainee meets, and who hunts it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    strategy: Literal["", "pure", "past", "pfsp", "frozen", "target", "latest", "exploiter"] = Field(
        "",
        description="the simple way: pure, past (half the matches against the league), pfsp, frozen, target, latest, "
        "exploiter (past, and a second network that hunts for weaknesses)",
    )
    opponents: dict[str, OpponentConfig] = Field(
        {}, description="the explicit way: self, past, pfsp, frozen, target, latest, a bot or a scripted player → share"
    )
    league_size: Annotated[int, Field(ge=1, le=10_000)] = Field(
        20, description="past members to keep; docs/self-play.md says which are removed"
    )
    snapshot_every: Annotated[int, Field(ge=0)] = Field(
        1_000_000, description="steps between additions of the main policy to the league; 0 = never"
    )
    quality_learning_rate: Annotated[float, Field(gt=0)] = Field(0.01, description="η of the league's quality rule")
    rating: RatingSystem = Field("openskill", description="online ratings of the league: openskill, or elo (K = 16)")
    exploiters: dict[str, ExploiterConfig] = Field(
        {}, description="name → a second network trained to beat the main one"
    )

    @model_validator(mode="before")
    @classmethod
    def _one_exploiter(cls, data: Any) -> Any:
        """The simple way to have one."""
        if isinstance(data, Mapping) and data.get("strategy") == "exploiter" and not data.get("exploiters"):
            return {**data, "exploiters": {"main-exploiter-1": {"against": "main"}}}
        return data

    def mixture(self) -> dict[str, OpponentConfig]:
        """The opponents, whichever way they were given."""
        if self.opponents:
            return self.opponents
        shares = STRATEGIES[self.strategy or "pure"]
        return {name: OpponentConfig(share=Constant(share)) for name, share in shares.items()}

    @property
    def has_league(self) -> bool:
        """Whether members have to be kept."""
        return bool(self.exploiters) or any(name in LEAGUE_KINDS for name in self.mixture())


class Matchmaker:
    """Turns the configuration and the league into lineups."""

    def __init__(self, spec: GameSpec, config: SelfPlayConfig, scenarios: Mapping[str, float]) -> None:
        self.spec = spec
        self.config = config
        drawn = tuple((weight, name) for name, weight in scenarios.items() if weight > 0.0)
        self._scenarios = drawn or ((1.0, spec.scenarios[0].name),)
        for name in config.mixture():
            if name != "self" and name not in LEAGUE_KINDS:
                opponent(spec, name)

    def mix(self, league: League, progress: Progress, rng: np.random.Generator) -> LineupMix:
        """Lineups for the matches that start now. A share without anybody to meet goes to self-play."""
        lineups: list[tuple[float, tuple[Occupant, ...]]] = []
        hunting = 0.0
        for name, exploiter in self.config.exploiters.items():
            share = exploiter.share.at(progress)
            met = self._hunted(name, league, exploiter)
            if share > 0.0 and met:
                hunting += share
                lineups += [(share * chance, self._seat(Live(name), member)) for chance, member in met]
        shares = {name: cfg.share.at(progress) for name, cfg in self.config.mixture().items()}
        total = sum(shares.values())
        if total <= 0.0:
            raise UserError("all shares of self_play.opponents are 0", "give at least one opponent a share above 0")
        for name, cfg in self.config.mixture().items():
            share = (1.0 - min(hunting, 0.95)) * shares[name] / total
            if share > 0.0:
                met = self._met(name, cfg, league, progress, rng) or [(1.0, Live(MAIN))]
                lineups += [(share * chance, self._seat(Live(MAIN), other)) for chance, other in met]
        return LineupMix(tuple(lineups), self._scenarios)

    def _seat(self, live: Live, other: Occupant) -> tuple[Occupant, ...]:
        """The trainee holds the first team's seats, the opponent all the others; teams change places later."""
        return tuple(live if seat in self.spec.teams[0] else other for seat in range(self.spec.seats))

    def _met(
        self, name: str, config: OpponentConfig, league: League, progress: Progress, rng: np.random.Generator
    ) -> list[tuple[float, Occupant]]:
        if name == "self":
            return [(1.0, Live(MAIN))]
        if name not in LEAGUE_KINDS:
            return [(1.0, self._script(name, config, progress, rng))]
        if name in ("past", "pfsp"):
            entries = league.of_kind("past", "exploiter")
            chances = league.past_chances() if name == "past" else league.pfsp_chances(config.weighting)
        else:
            kind: Literal["frozen", "target", "latest"] = name  # type: ignore[assignment]
            is_own = kind == "latest" and not config.run
            entries = league.of_kind("past")[-1:] if is_own else league.of_kind(kind)
            scripts = [m for m in config.models if is_scripted(self.spec, m)] if kind == "target" else []
            chances = np.full(len(entries), 1.0 / max(1, len(entries) + len(scripts)))
        met_members: list[tuple[float, Occupant]] = [
            (float(chance), self._handicapped(entry, config, progress, rng))
            for entry, chance in zip(entries, chances, strict=True)
        ]
        if name == "target":
            chance = 1.0 / max(1, len(entries) + len(scripts))
            met_members += [(chance, self._script(script, config, progress, rng)) for script in scripts]
        return met_members

    def _script(
        self, name: str, config: OpponentConfig, progress: Progress, rng: np.random.Generator
    ) -> Bot | Scripted:
        """A bot or a scripted player; a bot decides inside the game, where no delay reaches it."""
        met = opponent(self.spec, name)
        return replace(met, delay=config.delay.at(progress, rng)) if isinstance(met, Scripted) else met

    def _handicapped(
        self, entry: Entry, config: OpponentConfig, progress: Progress, rng: np.random.Generator
    ) -> Occupant:
        delay, greedy, noise = (s.at(progress, rng) for s in (config.delay, config.greedy, config.noise))
        return Member(entry.content_hash, delay, greedy, noise)

    def _hunted(self, name: str, league: League, exploiter: ExploiterConfig) -> list[tuple[float, Occupant]]:
        """Whom an exploiter plays: the newest snapshot of the main policy, or all members, hard ones more often."""
        past = league.of_kind("past")
        if exploiter.against == "main":
            return [(1.0, Member(past[-1].content_hash))] if past else []
        members, chances = league.of_kind("past", "exploiter"), league.pfsp_chances("hard", name)
        return [(float(chance), Member(entry.content_hash)) for entry, chance in zip(members, chances, strict=True)]


def opponent(spec: GameSpec, name: str) -> Bot | Scripted:
    """A bot of the game or a scripted player, by name."""
    if name in spec.bots:
        return Bot(name)
    if name in players.names():
        return Scripted(name)
    known = ", ".join(("self", *LEAGUE_KINDS, *spec.bots, *players.names()))
    raise UserError(f"game '{spec.name}' has no opponent '{name}'", f"choose from: {known}")


def is_scripted(spec: GameSpec, name: str) -> bool:
    """Whether that is a bot of the game or a scripted player."""
    return name in spec.bots or name in players.names()
