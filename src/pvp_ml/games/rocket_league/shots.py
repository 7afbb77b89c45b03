"""Shots of training packs, one after another: whether the car scores, or keeps the ball out.

Another car waits far from where the shot goes and does nothing: a model that has only ever met an opponent would not
know a field without one (RocketStriker scored 3 % of striker's shots there, 11 % with one).

A striker's shot is a success when blue scores within the shot's time, a goalie's when blue does not concede in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pvp_ml.chance import GOLDEN
from pvp_ml.errors import UserError
from pvp_ml.games.rocket_league.config import RocketLeagueConfig, steps
from pvp_ml.games.rocket_league.describe import describe
from pvp_ml.games.rocket_league.game import RocketLeagueGame
from pvp_ml.games.rocket_league.packs import Shot, read_packs
from pvp_ml.match import IDLE, LOSS, RESTING, WIN, Bot, External, MatchPlan, StepBuffers
from pvp_ml.players import Player
from pvp_ml.spec import GameSpec

ROWS = 128


@dataclass(frozen=True, slots=True)
class Attempts:
    """One player's shots: `success` [N] bools beside the shots themselves."""

    shots: tuple[Shot, ...]
    success: npt.NDArray[np.bool_]


def shots_config(config: RocketLeagueConfig) -> tuple[RocketLeagueConfig, tuple[Shot, ...]]:
    """The same game, with the shots of its packs in turn and nobody in their way; and the shots."""
    shots, _ = read_packs(config.packs)
    if not shots:
        raise UserError("there are no shots to play", "run `pvp-ml game setup rocket_league --packs`")
    changes = {
        "mode": "1v1",
        "pack_others": "aside",
        "setters": {"training_pack": 1.0},
        "pack_order": "by_seed",
        "mechanics_weight": 0.0,
        "end_on_goal": True,
        "no_touch_s": 0.0,
        "timeout_s": max(shot.seconds for shot in shots),
        "rewards": ("goal",),
    }
    return config.model_copy(update=changes), shots


def sample(count: int, wanted: int) -> npt.NDArray[np.int64]:
    """`wanted` of `count` shots, evenly spread over the packs; all of them for 0."""
    if not wanted or wanted >= count:
        return np.arange(count)
    return np.linspace(0, count - 1, wanted).round().astype(np.int64)


def attempt(
    config: RocketLeagueConfig,
    numbers: npt.NDArray[np.int64],
    shots: tuple[Shot, ...],
    bot: str = "",
    make: Callable[[GameSpec], Player] | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Attempts:
    """Play these shots once each with a bot of the game, or with the player that `make` builds."""
    game = RocketLeagueGame(config, min(ROWS, len(numbers)))
    try:
        seat = Bot(bot) if bot else External("0")
        lineup = seat, Bot("idle")
        game.queue([MatchPlan(i, int(number), lineup, "training_pack") for i, number in enumerate(numbers.tolist())])
        player = make(game.spec) if make is not None else None
        limits = np.array([steps(config, shots[number].seconds) for number in numbers.tolist()])
        success = _play(game, player, limits, progress)
    finally:
        game.close()
    results = np.where(success == WIN, 1, np.where(success == LOSS, -1, 0))
    is_goalie = np.array([shots[number].kind == "goalie" for number in numbers.tolist()])
    return Attempts(tuple(shots[n] for n in numbers.tolist()), np.where(is_goalie, results >= 0, results > 0))


def _play(
    game: RocketLeagueGame, player: Player | None, limits: npt.NDArray[np.int64], progress: Callable[[int], None]
) -> npt.NDArray[np.int8]:
    """Results [N] by serial. What happens after a shot's own time does not count."""
    out = StepBuffers.allocate(game.spec, game.matches)
    results = np.zeros(len(limits), np.int8)
    clock = np.zeros(game.matches, np.int64)
    game.start(out)
    if player is not None:
        player.begin(out.serial[out.serial != RESTING])
    done = 0
    while (out.serial != RESTING).any():
        before, actions = out.serial.copy(), np.full((game.matches, 2, len(game.spec.heads)), IDLE, np.int32)
        rows = np.flatnonzero(out.acting[:, 0])
        if player is not None and len(rows):
            with np.errstate(over="ignore"):
                keys = (before[rows].astype(np.uint64) * np.uint64(GOLDEN)) ^ clock[rows].astype(np.uint64)
            seats = np.zeros(len(rows), np.int32)
            actions[rows, 0] = player.decide(before[rows], seats, out.obs[rows, 0], out.mask[rows, 0], keys)
        game.step(actions, out)
        clock += 1
        stopped = (out.ended | out.truncated) & (before != RESTING)
        for row in np.flatnonzero(stopped).tolist():
            serial = int(before[row])
            in_time = clock[row] <= limits[serial]
            results[serial] = out.result[row, 0] if in_time else 0
        if stopped.any():
            clock[stopped] = 0
            done += int(stopped.sum())
            if player is not None:
                player.end(before[stopped])
                player.begin(out.serial[stopped & (out.serial != RESTING)])
            progress(done)
    return results


class Course:
    """Shots of the packs that a configuration names, or of those that `game setup --packs` fetched."""

    baselines = ("idle", "chaser", "kickoff_and_clear", "shooter", "flipper")

    def __init__(self, config: RocketLeagueConfig, count: int) -> None:
        """`count` shots, evenly spread over the packs; 0 = all."""
        given = config if config.packs else config.model_copy(update={"packs": ("setup",)})
        self._config, self._every = shots_config(given)
        self._numbers = sample(len(self._every), count)
        self.spec = describe(self._config)

    def attempt(self, bot: str, make: Callable[[GameSpec], Player] | None) -> Attempts:
        """Let a bot, or the player that `make` builds, try all of them."""
        return attempt(self._config, self._numbers, self._every, bot, make)
