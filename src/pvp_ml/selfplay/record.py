"""Recording somebody's decisions while matches are played, for `pvp-ml bc record`."""

from __future__ import annotations

import numpy as np

from pvp_ml.errors import UserError
from pvp_ml.match import AsyncVecGame, BoolArray, FloatArray, IntArray, VecGame
from pvp_ml.players import KeyArray, Player, SerialArray
from pvp_ml.recording import MAX_ROWS, Recording
from pvp_ml.selfplay.evaluate import Contestant, Progress, evaluate
from pvp_ml.selfplay.tally import Evaluation
from pvp_ml.spec import GameSpec


class RecordingPlayer:
    """Plays as another player does, and keeps what it saw and chose. Steps without input are not decisions."""

    def __init__(self, player: Player, spec: GameSpec) -> None:
        self._player = player
        self._seats = spec.seats
        self._rows: list[tuple[FloatArray, BoolArray, IntArray, SerialArray]] = []
        self._count = 0

    def begin(self, serials: SerialArray) -> None:
        """Matches start."""
        self._player.begin(serials)

    def end(self, serials: SerialArray) -> None:
        """Matches are over."""
        self._player.end(serials)

    def decide(
        self, serials: SerialArray, seats: IntArray, obs: FloatArray, mask: BoolArray, keys: KeyArray
    ) -> IntArray:
        """What the other player decides."""
        seen, legal = obs.copy(), mask.copy()  # a player may write into what it was given
        actions = self._player.decide(serials, seats, obs, mask, keys)
        given = (np.asarray(actions) >= 0).all(axis=1)
        self._count += int(given.sum())
        if self._count > MAX_ROWS:
            raise UserError(f"more than {MAX_ROWS} decisions", "record fewer matches into each file")
        lanes = serials * self._seats + seats
        self._rows.append((seen[given], legal[given], np.asarray(actions, np.int32)[given], lanes[given]))
        return actions

    def recording(self) -> Recording:
        """Everything kept so far."""
        if not self._count:
            raise UserError("the player made no decision that could be recorded", "record more matches")
        obs, mask, actions, lane = (np.concatenate(column) for column in zip(*self._rows, strict=True))
        return Recording(obs, mask, actions, lane.astype(np.int64))


def record(game: VecGame | AsyncVecGame, demonstrator: Contestant, opponent: Contestant, matches: int, seed: int = 0,
           progress: Progress | None = None) -> tuple[Recording, Evaluation]:  # fmt: skip
    """Play matches between the two and keep the demonstrator's decisions; also how it fared."""
    if demonstrator.make is None:
        raise UserError(f"'{demonstrator.name}' is a bot inside the game: it takes no actions to record",
                        "record a model or a scripted player")  # fmt: skip
    made: list[RecordingPlayer] = []
    make = demonstrator.make

    def build(spec: GameSpec) -> Player:
        made.append(RecordingPlayer(make(spec), spec))
        return made[-1]

    report = evaluate(game, Contestant(demonstrator.name, make=build), opponent, matches, seed, progress=progress)
    return made[0].recording(), report
