"""Evaluations as tasks: what to play is data, so it can be played on any machine, and again if that one dies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pvp_ml import data_files, players
from pvp_ml.cluster.codec import decode, encode
from pvp_ml.cluster.messages import EvalTask, Side
from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.games.registry import GameConfig, GameType
from pvp_ml.model.bundle import read_bundle
from pvp_ml.selfplay.evaluate import Contestant, evaluate, find_contestant
from pvp_ml.selfplay.tally import Evaluation
from pvp_ml.selfplay.tournament import ROWS
from pvp_ml.spec import GameSpec


class TaskRunner(Protocol):
    """Whatever does tasks: a cluster."""

    def put(self, arrays: Sequence[npt.NDArray[Any]]) -> Any:
        """Something that all tasks of a call may read; sent once."""

    def run(self, tasks: Sequence[bytes], bundles: Sequence[Any]) -> Iterator[bytes]:
        """`run_eval_task` of each, anywhere; answers in order."""


class EvalQueue:
    """Collects contestants and evaluations of one game, then has them played."""

    def __init__(self, game: GameType, settings: GameConfig, working_directory: Path) -> None:
        self._game = game
        self._settings = settings.model_dump(mode="json")
        self._spec = game.spec(settings)
        self._here = working_directory
        self._bundles: list[bytes] = []
        self._tasks: list[bytes] = []

    def side(self, name: str, greedy: bool = False) -> Side:
        """A bot, a scripted player or a model file, by the name that people use for it."""
        found = find_contestant(name, self._spec, self._here, greedy)
        rest = name.partition(":")[2] if name.startswith(("bot:", "player:", "model:")) else name
        is_scheme = registry.scheme_player(name, self._spec.name) is not None
        if found.bot or is_scheme or (not name.startswith("model:") and rest in players.names()):
            return Side(name)
        path = data_files.find("models", rest, (".zip",), self._here)
        assert path is not None  # find_contestant has read it
        return self.policy(found.name, path.read_bytes(), greedy)

    def policy(self, name: str, bundle: bytes, greedy: bool = False) -> Side:
        """A policy by its bundle."""
        if bundle not in self._bundles:
            self._bundles.append(bundle)
        return Side(name, self._bundles.index(bundle), greedy)

    def add(self, first: Side, second: Side, matches: int, seed: int, scenarios: tuple[str, ...] = ()) -> None:
        """One evaluation more."""
        self._tasks.append(encode(EvalTask(self._game.name, self._settings, first, second, matches, seed, scenarios)))

    def play(self, runner: TaskRunner) -> Iterator[Evaluation]:
        """Reports in the order in which they were added."""
        handles = [runner.put([np.frombuffer(bundle, np.uint8)]) for bundle in self._bundles]
        for answer in runner.run(self._tasks, handles):
            is_good, value = decode(answer)
            if not is_good:
                raise UserError(f"an evaluation failed: {value}")
            yield value


def run_eval_task(message: bytes, bundles: Sequence[bytes]) -> bytes:
    """Play it here; an encoded [True, Evaluation] or [False, why]."""
    try:
        task: EvalTask = decode(message)
        kind = registry.find(task.game)
        game = kind.build(kind.config(**task.game_config), min(task.matches, ROWS))
        try:
            sides = [_contestant(side, game.spec, bundles) for side in (task.first, task.second)]
            return encode([True, evaluate(game, sides[0], sides[1], task.matches, task.seed, task.scenarios)])
        finally:
            game.close()
    except UserError as error:
        return encode([False, str(error)])


def _contestant(side: Side, spec: GameSpec, bundles: Sequence[bytes]) -> Contestant:
    if side.bundle < 0:
        return find_contestant(side.name, spec, Path.cwd())
    return Contestant.of_bundle(side.name, read_bundle(bundles[side.bundle]), side.greedy)
