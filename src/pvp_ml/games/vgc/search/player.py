"""The search as a player: it sits at a table where battles are played and is briefed by the game."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pvp_ml import data_files
from pvp_ml.chance import uniform
from pvp_ml.errors import UserError
from pvp_ml.games.vgc.briefing import Briefing, Briefs, Source
from pvp_ml.games.vgc.node import install
from pvp_ml.games.vgc.search.process import SearchLostError
from pvp_ml.games.vgc.search.settings import SCHEME, SearchSettings, read_settings
from pvp_ml.games.vgc.search.thinker import Thinker, Thought
from pvp_ml.match import BoolArray, FloatArray, IntArray
from pvp_ml.model.bundle import Bundle, read_bundle, require_fit
from pvp_ml.players import BundlePlayer, KeyArray, Mixture, SerialArray, actor_of
from pvp_ml.spec import GameSpec

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Seat:
    """One seat of one match of a game that briefs."""

    game: Briefs
    serial: int
    seat: int

    @property
    def room(self) -> str:
        """Serial and seat."""
        return f"{self.serial}/{self.seat}"

    def read(self, start: int) -> Briefing:
        """As the game tells it."""
        return self.game.briefing(self.serial, self.seat, start)


class SearchPlayer:
    """Thinks about every decision; where that is not possible it plays as its model does."""

    def __init__(self, bundle: Bundle, spec: GameSpec, settings: SearchSettings) -> None:
        require_fit(bundle, spec)
        self._policy = BundlePlayer(bundle, spec)
        self._settings = settings
        self._thinker = Thinker(actor_of(bundle), install.find(), settings)
        self._game: Briefs | None = None
        self._rooms: dict[int, set[str]] = {}  # serial → rooms that were thought about
        self._mixtures: list[Mixture | None] = []
        self.thought, self.declined = 0, 0

    def attend(self, game: object) -> None:
        """Sit down where `game` is played."""
        inner = getattr(game, "game", game)  # one that is driven in step holds the real one
        if not isinstance(inner, Briefs):
            raise UserError(f"a search cannot play at {type(inner).__name__}", "it needs a game that briefs its seats")
        self._game = inner

    def allow(self, seconds: float | None) -> None:
        """The clock of whoever hosts the battle."""
        self._thinker.limit_ms = None if seconds is None else max(1, int(1000 * seconds))

    def begin(self, serials: SerialArray) -> None:
        """Forget whatever was known under these numbers."""
        self.end(serials)

    def end(self, serials: SerialArray) -> None:
        """These battles are over."""
        self._policy.end(serials)
        for serial in serials.tolist():
            for room in self._rooms.pop(serial, ()):
                self._thinker.forget(room)

    def decide(self, serials: SerialArray, seats: IntArray, obs: FloatArray, mask: BoolArray,
               keys: KeyArray) -> IntArray:  # fmt: skip
        """One row after the other: each may take its whole budget."""
        actions = self._policy.decide(serials, seats, obs, mask, keys)
        draws = uniform(keys, 1)[:, 0]
        self._mixtures = [None] * len(actions)
        for row, (serial, seat) in enumerate(zip(serials.tolist(), seats.tolist(), strict=True)):
            thought = self._think(serial, seat, int(keys[row]))
            if thought is not None:
                actions[row] = thought.own.actions[thought.choice(float(draws[row]), self._settings.sample)]
                worth = min(1.0, max(-1.0, thought.value))
                self._mixtures[row] = Mixture(thought.own.actions, thought.strategy.astype(np.float32), worth)
        return actions

    def mixtures(self) -> list[Mixture | None]:
        """The mixed strategies of the last decisions and what they are worth; None where the model decided."""
        return self._mixtures

    def _think(self, serial: int, seat: int, seed: int) -> Thought | None:
        if self._game is None:
            raise UserError("a search does not know what is played", "seat it at a table")
        source = _Seat(self._game, serial, seat)
        self._rooms.setdefault(serial, set()).add(source.room)
        return self.think_about(source, seed)

    def think_about(self, source: Source, seed: int) -> Thought | None:
        """What to do in a battle; None when nothing came of it."""
        try:
            thought = self._thinker.think(source, seed)
        except SearchLostError as error:
            log.warning("%s; the model decides", error.message)
            return None
        self.thought += 1
        self.declined += bool(thought.declined)
        return thought if thought.simulations else None

    def cpu_s(self) -> float:
        """CPU seconds that its process has used since it started, where the system tells."""
        return self._thinker.process.cpu_s()

    def close(self) -> None:
        """End the process that it simulates in."""
        self._thinker.process.close()


def make_search(text: str, spec: GameSpec) -> SearchPlayer:
    """The player of `MODEL?settings`, as in `search:GeneralistVgc?simulations=100`."""
    name, settings = read_settings(text)
    path = data_files.find("models", name, (".zip",), Path.cwd())
    if path is None:
        raise UserError(f"'{SCHEME}:{text}': there is no model '{name}'", "see `pvp-ml model list`")
    return SearchPlayer(read_bundle(path), spec, settings)
