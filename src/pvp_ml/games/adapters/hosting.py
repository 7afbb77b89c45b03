"""A game played from outside: some seats are decided by the caller, the others by an opponent.

This is the half of every adapter that knows nothing of the library it adapts to: who sits where, where seeds come
from, what becomes of illegal picks, how terms become one reward.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.games.adapters.synchronous import in_step
from pvp_ml.games.legal import Legality
from pvp_ml.games.play import Table
from pvp_ml.games.registry import GameConfig, GameType
from pvp_ml.match import IDLE, BoolArray, Bot, External, MatchPlan, Occupant, StepBuffers

if TYPE_CHECKING:
    from pvp_ml.players import Player

Actions = npt.NDArray[np.int32]
OPPONENT = "opponent"


class Host:
    """M rows of one game. Seats in `ours` [≥1] wait for the caller; everybody else is the opponent.

    `opponent` is the name of one of the game's bots, the name of a scripted player, or a Player; by default the game's
    first bot, or `random`. `weights` turns reward terms into one number; by default a win is 1 and a loss −1, and in
    games without such terms every term counts once.
    """

    def __init__(
        self,
        game: str | GameType,
        settings: Mapping[str, Any] | GameConfig | None = None,
        *,
        ours: tuple[int, ...] | None = None,
        opponent: str | Player | None = None,
        scenario: str | None = None,
        weights: Mapping[str, float] | None = None,
        matches: int = 1,
    ) -> None:
        self.type = registry.find(game) if isinstance(game, str) else game
        self.config = settings if isinstance(settings, GameConfig) else registry.configure(self.type, settings or {})
        self.spec, self.matches = self.type.spec(self.config), matches
        self.ours = tuple(range(self.spec.seats)) if ours is None else ours
        if any(not 0 <= seat < self.spec.seats for seat in self.ours):
            raise UserError(f"game '{self.spec.name}' has seats 0 to {self.spec.seats - 1}, asked for {self.ours}")
        self.scenario = self.spec.scenario(scenario or self.spec.scenarios[0].name).name
        self.weights = _weights(self.type, self.spec.rewards, weights)
        self.legality = Legality(self.spec)
        self.out = StepBuffers.allocate(self.spec, matches)
        self._lineup, self._player = self._seating(opponent)
        self._table: Table | None = None
        self._serial = 0

    def without_viewer(self, metadata: dict[str, Any]) -> dict[str, Any]:
        """An adapter's metadata for this game: it can be shown to people only where it has a viewer."""
        modes = [
            mode for mode in metadata["render_modes"] if mode != "human" or self.type.presentation.show is not None
        ]
        return {**metadata, "render_modes": modes}

    def show(self) -> None:
        """Send the match to the game's own viewer."""
        show = self.type.presentation.show
        if show is None:
            raise UserError(f"game '{self.spec.name}' has no viewer", "use render_mode='ansi'")
        show(self.view())

    def restart(self, rng: np.random.Generator, queued: int) -> None:
        """Abandon the current matches and start over with seeds from `rng`; `queued` plans beyond the first M wait."""
        self.close()
        game = in_step(self.type.build(self.config, self.matches))
        self._table = Table(game, {OPPONENT: self._player} if self._player is not None else {})
        self.out, self._serial = self._table.out, 0
        self.queue(rng, self.matches + queued)
        self._table.start()

    def queue(self, rng: np.random.Generator, count: int) -> None:
        """More plans."""
        assert self._table is not None
        seeds = rng.integers(0, 1 << 62, count)
        serials = range(self._serial, self._serial + count)
        self._table.queue(
            [MatchPlan(n, int(s), self._lineup, self.scenario) for n, s in zip(serials, seeds, strict=True)]
        )
        self._serial += count

    def wake(self, rng: np.random.Generator) -> None:
        """A new match in the only row, which rests: queue one and let the game take it."""
        self.queue(rng, 1)
        self.step(np.full((1, self.spec.seats, len(self.spec.heads)), IDLE, np.int32))

    def step(self, actions: Actions) -> None:
        """One step with actions [M,S,H] for our seats; the opponent's seats are filled in."""
        assert self._table is not None, "restart first"
        self._table.decide()
        ours = list(self.ours)
        self._table.actions[:, ours] = actions[:, ours]
        self._table.step()

    def lawful(self, seat: int, picks: npt.NDArray[np.integer]) -> tuple[Actions, BoolArray]:
        """The picks [M,H] of a seat with illegal ones replaced, and the rows [M] where that was needed.

        A foreign learner knows masks at best, never rules: a pick that is not legal becomes the head's fallback or its
        first legal choice. Rows in which the seat does not act come back as IDLE.
        """
        picks = np.array(picks, np.int32).reshape(self.matches, len(self.spec.heads))
        acting, mask = self.out.acting[:, seat], self.out.mask[:, seat]
        changed = np.zeros(self.matches, np.bool_)
        for h, head in enumerate(self.spec.heads):
            np.clip(picks[:, h], 0, head.size - 1, out=picks[:, h])
            legal = self.legality.legal(h, mask, picks)
            wrong = ~np.take_along_axis(legal, picks[:, h : h + 1].astype(np.int64), 1)[:, 0]
            fallback = 0 if head.fallback is None else head.choices.index(head.fallback)
            better = np.where(legal[:, fallback], fallback, legal.argmax(1))
            picks[wrong, h] = better[wrong]
            changed |= wrong & acting
        picks[~acting] = IDLE
        return picks, changed

    def masks(self, seat: int) -> BoolArray:
        """Masks [M,A] for learners that cannot take an empty head: fallback or first choice where nothing is legal."""
        mask = self.out.mask[:, seat].copy()
        for h, head in enumerate(self.spec.heads):
            part = mask[:, self.legality.offsets[h] : self.legality.offsets[h + 1]]
            part[~part.any(1), 0 if head.fallback is None else head.choices.index(head.fallback)] = True
        return mask

    def rewards(self, seat: int) -> npt.NDArray[np.float64]:
        """Weighted reward [M] of the last step."""
        return self.out.reward[:, seat].astype(np.float64) @ self.weights

    def view(self, row: int = 0) -> dict[str, Any]:
        """What people see."""
        assert self._table is not None, "restart first"
        return self._table.game.view(row)

    def close(self) -> None:
        """Give the game back."""
        if self._table is not None:
            self._table.game.close()
            self._table = None

    def _seating(self, opponent: str | Player | None) -> tuple[tuple[Occupant, ...], Player | None]:
        others = [seat for seat in range(self.spec.seats) if seat not in self.ours]
        lineup: list[Occupant] = [External("adapter") for _ in range(self.spec.seats)]
        for seat in others:
            lineup[seat] = External(OPPONENT)
        if not others:
            return tuple(lineup), None
        if opponent is None:
            opponent = self.spec.bots[0] if self.spec.bots else "random"
        if isinstance(opponent, str) and opponent in self.spec.bots:
            for seat in others:
                lineup[seat] = Bot(opponent)
            return tuple(lineup), None
        if isinstance(opponent, str):
            from pvp_ml import players

            return tuple(lineup), players.make(opponent, self.spec)
        return tuple(lineup), opponent


def _weights(game: GameType, terms: tuple[Any, ...], weights: Mapping[str, float] | None) -> npt.NDArray[np.float64]:
    names = [term.name for term in terms]
    for name in weights or {}:
        if name not in names:
            raise UserError(f"game '{game.name}' has no reward term '{name}'", f"its terms: {', '.join(names)}")
    if weights is None:
        weights = {"win": 1.0, "lost": -1.0} if "win" in names else dict.fromkeys(names, 1.0)
    return np.array([weights.get(name, 0.0) for name in names])
