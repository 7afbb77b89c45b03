"""Playing from a script: `load` a model, `make` a game, `evaluate` two players. No torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from pvp_ml import data_files
from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.games.adapters.hosting import Host
from pvp_ml.match import BoolArray, FloatArray, IntArray
from pvp_ml.model.bundle import Bundle, model_name, read_bundle, read_metadata
from pvp_ml.model.decision import Decision
from pvp_ml.players import BundlePlayer, Player
from pvp_ml.selfplay.evaluate import Contestant, find_contestant
from pvp_ml.selfplay.evaluate import evaluate as play
from pvp_ml.selfplay.tally import Evaluation
from pvp_ml.spec import GameSpec

MOST_ROWS = 256
"""Matches side by side in an evaluation; a game in other processes takes `MOST_ROWS_ELSEWHERE`."""
MOST_ROWS_ELSEWHERE = 8


class LoadedModel:
    """A trained policy that decides. Row i of each call is the same seat of the same match until `forget`."""

    def __init__(self, name: str, bundle: Bundle, spec: GameSpec, greedy: bool, seed: int) -> None:
        self.name = name
        self.bundle = bundle
        self.spec = spec
        self.greedy = greedy
        self._rng = np.random.default_rng(seed)
        self._player = BundlePlayer(bundle, spec, greedy)

    def __repr__(self) -> str:
        return f"LoadedModel('{self.name}', game '{self.spec.name}', {self.spec.obs_size} features)"

    def act(self, obs: npt.ArrayLike, mask: npt.ArrayLike) -> IntArray:
        """Actions [B,H] for obs [B,D] and mask [B,A]; one row in, one row out: [H] for obs [D] and mask [A]."""
        actions = self.decide(obs, mask).actions
        return actions[0] if np.ndim(obs) == 1 else actions

    def decide(self, obs: npt.ArrayLike, mask: npt.ArrayLike) -> Decision:
        """The whole decision of B rows: actions, log-probabilities, probabilities, value, and the chance to win.

        What the network cannot give stays None: a value that needs hidden facts, the chance without a win head.
        """
        seen, legal = self._rows(obs, mask)
        out = self._player.decision(len(seen), value=not self.bundle.network.privileged)
        keys = self._rng.integers(0, 1 << 64, len(seen), np.uint64)
        rows = np.arange(len(seen), dtype=np.int64)
        self._player.decide_into(out, rows, np.zeros(len(seen), np.int32), seen, legal, keys)
        return out

    def forget(self, rows: Sequence[int]) -> None:
        """New matches start in these rows; only networks with memory or stacked frames need it."""
        self._player.end(np.asarray(rows, np.int64))

    def _rows(self, obs: npt.ArrayLike, mask: npt.ArrayLike) -> tuple[FloatArray, BoolArray]:
        seen = np.atleast_2d(np.asarray(obs, np.float32))
        legal = np.atleast_2d(np.asarray(mask, np.bool_))
        if seen.shape[1:] != (self.spec.obs_size,):
            raise UserError(f"'{self.name}' reads {self.spec.obs_size} features a row, got {seen.shape[1:]}")
        if legal.shape != (len(seen), self.spec.mask_size):
            raise UserError(f"the mask must be [{len(seen)}, {self.spec.mask_size}], got {list(legal.shape)}")
        if len(idle := np.flatnonzero(~legal.any(axis=1))):
            raise UserError(
                f"row {idle[0]} has nothing to decide: its mask is empty", "ask only for seats where `acting` is true"
            )
        return seen, legal


@dataclass(frozen=True, slots=True)
class Turn:
    """What a step showed. The arrays are views that the next step overwrites: copy what you keep.

    A match that stops restarts in the same step: `obs`, `mask` and `acting` belong to the new one, the rest to the old.
    """

    obs: FloatArray  # [M,S,D]
    mask: BoolArray  # [M,S,A]
    acting: BoolArray  # [M,S] has something to decide now
    reward: npt.NDArray[np.float64]  # [M,S]
    ended: BoolArray  # [M] by the rules
    truncated: BoolArray  # [M] cut short
    result: npt.NDArray[np.int8]  # [M,S] 1 won, 0 tied, −1 lost; where a match stopped
    replaced: BoolArray  # [M,S] the action was illegal and something legal was played


class Matches:
    """M matches of one game side by side; you decide for every seat, or for those the opponent does not hold."""

    def __init__(self, host: Host, seed: int) -> None:
        self.spec = host.spec
        self.matches = host.matches
        self._host = host
        self._replaced = np.zeros((host.matches, host.spec.seats), np.bool_)
        self.reset(seed)

    def reset(self, seed: int = 0) -> Turn:
        """New matches in all rows."""
        self._rng = np.random.default_rng(seed)
        self._host.restart(self._rng, self.matches)
        self._replaced[:] = False
        return self.turn

    @property
    def turn(self) -> Turn:
        """What the last step showed."""
        out, host = self._host.out, self._host
        reward = np.stack([host.rewards(seat) for seat in range(self.spec.seats)], axis=1)
        return Turn(
            out.obs, out.mask, out.acting, reward, out.ended, out.truncated | (out.faults != 0), out.result,
            self._replaced,
        )  # fmt: skip

    def step(self, actions: npt.ArrayLike) -> Turn:
        """One step with actions [M,S,H]; rows of seats that have nothing to decide are ignored."""
        shape = (self.matches, self.spec.seats, len(self.spec.heads))
        asked = np.array(actions, np.int32)
        if asked.shape != shape:
            raise UserError(f"actions must be [matches, seats, heads] = {list(shape)}, got {list(asked.shape)}")
        for seat in self._host.ours:
            asked[:, seat], self._replaced[:, seat] = self._host.lawful(seat, asked[:, seat])
        self._host.step(asked)
        out = self._host.out
        stopped = int((out.ended | out.truncated | (out.faults != 0)).sum())
        if stopped:
            self._host.queue(self._rng, stopped)
        return self.turn

    def view(self, row: int = 0) -> dict[str, Any]:
        """One match as people see it."""
        return self._host.view(row)

    def close(self) -> None:
        """Give the game back."""
        self._host.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def load(name: str | Path, greedy: bool = False, seed: int = 0, **settings: Any) -> LoadedModel:
    """A model by name (`GeneralizedNh`) or file, ready to decide.

    greedy: always the preferred choice instead of a draw
    settings: its game's own, where it was trained with others than the default
    """
    path = data_files.find("models", str(name), (".zip",), Path.cwd())
    if path is None:
        raise UserError(f"there is no model '{name}'", "give a file, or a name from `pvp-ml model list`")
    bundle = read_bundle(path)
    kind = registry.find(bundle.metadata.game)
    spec = kind.spec(registry.configure(kind, settings))
    return LoadedModel(model_name(path), bundle, spec, greedy, seed)


def make(
    game: str, matches: int = 1, opponent: str | LoadedModel | None = None, seed: int = 0, scenario: str = "",
    rewards: Mapping[str, float] | None = None, **settings: Any,
) -> Matches:  # fmt: skip
    """M matches of a game. Without an opponent every seat is yours; with one, seat 0.

    opponent: a bot of the game, a scripted player, a model's name, or a loaded model
    rewards: reward term → weight; default: 1 for a win and −1 for a loss, or every term once in games without them
    settings: the game's own, as in `pvp-ml game show`
    """
    kind = registry.find(game)
    config = registry.configure(kind, settings)
    rival: Player | str | None = None
    if opponent is not None:
        spec = kind.spec(config)
        side = _side(opponent, spec)
        rival = side.make(spec) if side.make is not None else side.bot
    host = Host(
        kind, config, ours=None if opponent is None else (0,), opponent=rival, scenario=scenario or None,
        weights=rewards, matches=matches,
    )  # fmt: skip
    return Matches(host, seed)


def evaluate(
    first: str | Path | LoadedModel, second: str | Path | LoadedModel, game: str = "", matches: int = 400,
    seed: int = 0, scenarios: Sequence[str] = (), greedy: bool = False, **settings: Any,
) -> Evaluation:  # fmt: skip
    """Matches that only measure: seats swapped, seeds paired. `result.total.score` and `.interval` are the answer.

    first, second: bots of the game, scripted players, models by name or file, loaded models
    game: needed only where `first` does not say it
    scenarios: played in turn; ("all",) = every one
    """
    kind = registry.find(game or _game_of(first))
    config = registry.configure(kind, settings)
    spec = kind.spec(config)
    sides = _side(first, spec, greedy), _side(second, spec, greedy)
    rows = MOST_ROWS_ELSEWHERE if kind.runs_elsewhere(config) else MOST_ROWS
    vec = kind.build(config, max(1, min(matches, rows)))
    try:
        return play(vec, *sides, matches, seed, scenarios, figures=kind.presentation.figures)
    finally:
        vec.close()


def _side(who: str | Path | LoadedModel, spec: GameSpec, greedy: bool = False) -> Contestant:
    if isinstance(who, LoadedModel):
        return Contestant.of_bundle(who.name, who.bundle, greedy or who.greedy)
    return find_contestant(str(who), spec, Path.cwd(), greedy)


def _game_of(who: str | Path | LoadedModel) -> str:
    if isinstance(who, LoadedModel):
        return who.spec.name
    path = data_files.find("models", str(who), (".zip",), Path.cwd())
    if path is None:
        raise UserError(f"'{who}' does not say which game it plays", "give game='connect4' (`pvp-ml game list`)")
    return read_metadata(path)[0].game
