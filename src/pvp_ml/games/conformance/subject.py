"""The game under test, and the two ways in which a promise is not kept."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from pvp_ml.games.adapters.synchronous import in_step
from pvp_ml.games.conformance.playthrough import Trace, record
from pvp_ml.games.registry import GameConfig, GameType
from pvp_ml.match import IDLE, External, MatchPlan, Occupant, VecGame
from pvp_ml.spec import GameSpec


class BrokenError(Exception):
    """A promise that the game did not keep."""


class ExcusedError(Exception):
    """A promise that this game declares not to make."""


@dataclass(frozen=True)
class Subject:
    """The game under test, and how much of it to play."""

    type: GameType
    config: GameConfig
    matches: int
    seed: int
    most_steps: int

    @cached_property
    def spec(self) -> GameSpec:
        """As the type describes it."""
        return self.type.spec(self.config)

    @property
    def runs_elsewhere(self) -> bool:
        """Whether the rules run in other processes under these settings."""
        return self.type.runs_elsewhere(self.config)

    def build(self, matches: int | None = None) -> VecGame:
        """A fresh game; an asynchronous one is driven in step."""
        game = self.type.build(self.config, matches or self.matches)
        if game.runs_elsewhere != self.runs_elsewhere:
            game.close()
            kinds = {True: "an AsyncVecGame", False: "a VecGame"}
            said, built = kinds[self.runs_elsewhere], kinds[game.runs_elsewhere]
            raise BrokenError(f"build gives {built} where runs_elsewhere promises {said}")
        return in_step(game)

    def plans(
        self, count: int, lineup: tuple[Occupant, ...] | None = None, scenario: str | None = None
    ) -> list[MatchPlan]:
        """Plans with distinct serials (not counting from 0) and seeds."""
        spec = self.spec
        lineup = lineup or tuple(External(f"seat{seat}") for seat in range(spec.seats))
        scenario = scenario or spec.scenarios[0].name
        return [MatchPlan(100 + 3 * i, self.seed * 1_000_003 + 97 * i, lineup, scenario) for i in range(count)]

    def play(
        self, plans: list[MatchPlan], matches: int | None = None, idle: float = 0.0, filler: int = IDLE
    ) -> dict[int, Trace]:
        """All plans to their end, by serial."""
        return record(self.build(matches), plans, self.most_steps, idle, filler)
