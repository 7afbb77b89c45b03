"""Everything here plays on the generated arena: RocketSim reads meshes once per process; tests need no game data."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pvp_ml.games.rocket_league.config import RocketLeagueConfig
from pvp_ml.match import Bot, Live, MatchPlan, StepBuffers

HAS_ROCKETSIM = importlib.util.find_spec("RocketSim") is not None
NEEDS = "rocketsim is not installed, so no match of Rocket League is tested: pip install 'pvp-ml[rocket-league]'"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that asks for a fixture of the simulator is skipped, with the reason, where there is none."""
    if not HAS_ROCKETSIM:
        for item in items:
            if {"play", "arenas", "rocketsim"} & set(getattr(item, "fixturenames", ())):
                item.add_marker(pytest.mark.skip(reason=NEEDS))


@pytest.fixture(scope="session")
def rocketsim() -> Any:
    """The simulator on the generated arena."""
    from pvp_ml.games.rocket_league.arena.meshes import generated_set
    from pvp_ml.games.rocket_league.simulator import simulator

    return simulator(generated_set())


class Played:
    """A game with its buffers."""

    def __init__(self, config: RocketLeagueConfig, matches: int, bots: tuple[str, ...], scenario: str) -> None:
        from pvp_ml.games.rocket_league.game import RocketLeagueGame

        self.game = RocketLeagueGame(config, matches)
        self.spec, self.matches = self.game.spec, matches
        self.out = StepBuffers.allocate(self.spec, matches)
        lineup = tuple(Bot(name) for name in bots) or tuple(Live() for _ in range(self.spec.seats))
        self.game.queue([MatchPlan(i, i, lineup, scenario) for i in range(matches)])
        self.game.start(self.out)

    def step(self, choice: Any = -1, count: int = 1) -> StepBuffers:
        """The same choice(s) for every seat, `count` times."""
        actions = np.empty((self.matches, self.spec.seats, len(self.spec.heads)), np.int32)
        actions[...] = np.asarray(choice, np.int32)[..., None] if np.ndim(choice) else choice
        for _ in range(count):
            self.game.step(actions, self.out)
        return self.out

    def signal(self, name: str) -> np.ndarray:
        return self.out.signals[:, :, [s.name for s in self.spec.signals].index(name)]

    def reward(self, name: str) -> np.ndarray:
        return self.out.reward[:, :, [r.name for r in self.spec.rewards].index(name)]

    def feature(self, block: str, name: str) -> np.ndarray:
        """The first repetition's value [M,S]."""
        offset = 0
        for one in self.spec.blocks:
            if one.name.endswith(f".{block}"):
                return self.out.obs[:, :, offset + [f.name for f in one.features].index(name)]
            offset += one.width
        raise KeyError(block)


@pytest.fixture
def play(rocketsim: Any) -> Callable[..., Played]:
    """Build and start a game on the generated arena: `play(mode="2v2", matches=3, bots=(...), scenario=...)`."""

    def build(matches: int = 1, bots: tuple[str, ...] = (), scenario: str = "default", **settings: Any) -> Played:
        return Played(RocketLeagueConfig(meshes="generated", **settings), matches, bots, scenario)

    return build


@pytest.fixture
def pack(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Settings of a game that always begins with this shot: `play(**pack(ball=…, cars=[…]))`."""

    def write(ball: list[list[float]], cars: list[dict[str, Any]]) -> dict[str, Any]:
        names = ("position", "velocity", "spin")
        shot = {"ball": dict(zip(names, ball, strict=False)), "cars": cars}
        path = tmp_path / f"pack{len(list(tmp_path.iterdir()))}.json"
        path.write_text(json.dumps({"format": 1, "shots": [shot]}))
        return {"packs": (str(path),), "setters": {"training_pack": 1.0}}

    return write
