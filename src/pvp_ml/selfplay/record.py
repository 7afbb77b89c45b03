"""Recording somebody's decisions while matches are played, for `pvp-ml bc record`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from pvp_ml.errors import UserError
from pvp_ml.match import AsyncVecGame, BoolArray, FloatArray, IntArray, VecGame
from pvp_ml.model.recording import MAX_ROWS, Recording, stacked
from pvp_ml.players import Attending, KeyArray, Mixing, Mixture, Player, SerialArray
from pvp_ml.selfplay.counting import seatings
from pvp_ml.selfplay.evaluate import Contestant, OnProgress, evaluate, make_plans, play_plans
from pvp_ml.selfplay.plans import stream_seed
from pvp_ml.selfplay.tally import Evaluation
from pvp_ml.spec import GameSpec

Advice = Callable[[SerialArray, IntArray], IntArray]


@runtime_checkable
class AdvisingGame(Protocol):
    """A game whose bots can say what they would do in somebody else's seat."""

    def advise(self, bot: str) -> None:
        """From now on, matches that begin also say what this bot would do."""

    def advice(self, serials: SerialArray, seats: IntArray) -> IntArray:
        """[n,H]: what the bot would do in these seats of matches whose rows were just received."""


class AdvisedPlayer:
    """Does what the game's adviser would do."""

    def __init__(self, advice: Advice) -> None:
        self._advice = advice

    def begin(self, serials: SerialArray) -> None:
        """Nothing is remembered."""

    def end(self, serials: SerialArray) -> None:
        """Nothing is remembered."""

    def decide(
        self, serials: SerialArray, seats: IntArray, obs: FloatArray, mask: BoolArray, keys: KeyArray
    ) -> IntArray:
        """The advice."""
        return self._advice(serials, seats)


class RecordingPlayer:
    """Plays as another player does, and keeps what it saw and chose. Steps without input are not decisions.

    Of a player that mixes its choices the whole mixture is kept, as weighted rows, and what it expects.

    With `advice`, what is kept is not what the player chose but what it should have chosen.
    """

    def __init__(self, player: Player, spec: GameSpec, advice: Advice | None = None) -> None:
        self._player = player
        self._advice = advice
        self._seats = spec.seats
        self._seatings = seatings(spec)
        self._rows: list[tuple[FloatArray, BoolArray, IntArray, SerialArray, FloatArray, FloatArray]] = []
        self._count = 0

    def attend(self, game: object) -> None:
        """The other player may want to see the game."""
        if isinstance(self._player, Attending):
            self._player.attend(game)

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
        kept = np.asarray(actions if self._advice is None else self._advice(serials, seats), np.int32)
        rows, kept, weight, value = self._unmixed(kept)
        given = (kept >= 0).all(axis=1)
        rows, kept, weight, value = rows[given], kept[given], weight[given], value[given]
        self._count += len(rows)
        if self._count > MAX_ROWS:
            raise UserError(f"more than {MAX_ROWS} decisions", "record fewer matches into each file")
        lanes = serials * self._seats + seats
        self._rows.append((seen[rows], legal[rows], kept, lanes[rows], weight, value))
        return actions

    def _unmixed(self, kept: IntArray) -> tuple[npt.NDArray[np.intp], IntArray, FloatArray, FloatArray]:
        """Of each kept row: its decision, what is kept, its weight, its value. A mixture gives a row for each part."""
        if self._advice is not None or not isinstance(self._player, Mixing):
            return np.arange(len(kept)), kept, np.ones(len(kept), np.float32), np.full(len(kept), np.nan, np.float32)
        rows, parts, weights, values = [], [], [], []
        for row, found in enumerate(self._player.mixtures()):
            mixture = found or Mixture(kept[row : row + 1], np.ones(1, np.float32))
            played = mixture.chances > 0.0
            count = int(played.sum())
            rows += [row] * count
            values += [mixture.value] * count
            parts.append(mixture.actions[played])
            weights.append(mixture.chances[played])
        weight = np.concatenate(weights).astype(np.float32)
        return np.array(rows, np.intp), np.concatenate(parts), weight, np.array(values, np.float32)

    def recording(self) -> Recording:
        """Everything kept so far. Matches of one seed count as one: they may have gone the same way."""
        if not self._count:
            raise UserError("the player made no decision that could be recorded", "record more matches")
        obs, mask, actions, lane, weight, value = (np.concatenate(part) for part in zip(*self._rows, strict=True))
        lane = lane.astype(np.int64)
        return Recording(obs, mask, actions, lane, lane // (self._seats * self._seatings), weight, value)


def record(game: VecGame | AsyncVecGame, demonstrator: Contestant, opponent: Contestant, matches: int, seed: int = 0,
           progress: OnProgress | None = None) -> tuple[Recording, Evaluation]:  # fmt: skip
    """Play matches between the two and keep the demonstrator's decisions; also how it fared."""
    if demonstrator.make is None:
        raise UserError(f"'{demonstrator.name}' is a bot inside the game: it takes no actions to record",
                        "record a model or a scripted player")  # fmt: skip
    made: list[RecordingPlayer] = []
    make = demonstrator.make

    def build(spec: GameSpec) -> Player:
        made.append(RecordingPlayer(make(spec), spec))
        return made[-1]

    seed = stream_seed("recording", seed)
    report = evaluate(game, Contestant(demonstrator.name, make=build), opponent, matches, seed, progress=progress)
    return made[0].recording(), report


def record_bot(game: VecGame | AsyncVecGame, bot: str, driver: Contestant | None, opponent: Contestant, matches: int,
               seed: int = 0) -> tuple[Recording, Evaluation]:  # fmt: skip
    """Keep what a bot of the game would decide, while a driver (None: the bot itself) plays the opponent.

    Against the same bot, both seats are kept and every seed is played once: with the seats swapped, two players who are
    the same play the same match again.
    """
    if not isinstance(game, AdvisingGame):
        raise UserError(
            f"the bots of '{game.spec.name}' are inside the game and do not report their decisions",
            "record a model or a scripted player",
        )
    game.advise(bot)
    advice = game.advice
    made: list[RecordingPlayer] = []

    def seated(played: Contestant | None) -> Callable[[GameSpec], Player]:
        def build(spec: GameSpec) -> Player:
            make = played.make if played is not None else None
            player = make(spec) if make is not None else AdvisedPlayer(advice)
            made.append(RecordingPlayer(player, spec, advice))
            return made[-1]

        return build

    if driver is not None and driver.make is None:
        raise UserError(f"'{driver.name}' is a bot inside the game and cannot drive", "name a model or a player")
    first = Contestant(driver.name if driver is not None else bot, make=seated(driver))
    second = Contestant(bot, make=seated(None)) if opponent.bot == bot else opponent
    seed, turns, scenario = stream_seed("recording", seed), seatings(game.spec), game.spec.scenarios[0].name
    is_mirror = driver is None and opponent.bot == bot
    plans = make_plans(game.spec, (first, second), matches * (turns if is_mirror else 1), seed, (scenario,))
    report = play_plans(game, (first, second), plans[::turns] if is_mirror else plans, seed)
    return stacked([player.recording() for player in made]), report
