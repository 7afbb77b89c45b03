"""A Gymnasium env as a game with one seat: M copies side by side. `pvp-ml train --game gym --game.id CartPole-v1`.

gymnasium itself is imported through `adapters`, when a game is described or built.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import Field

from pvp_ml.errors import UserError
from pvp_ml.games.array_game import Rows, TableGame
from pvp_ml.games.registry import GameConfig, GameType
from pvp_ml.games.tooling import Finding, Tooling, library
from pvp_ml.match import TIE, IntArray, StepBuffers
from pvp_ml.spec import Block, Feature, GameSpec, Head, RewardTerm, Signal

DEFAULT_CAP = 10_000  # steps, where neither the settings nor the env name a limit


class GymnasiumConfig(GameConfig):
    """Which env."""

    id: str = Field(default="CartPole-v1", max_length=200, description="as given to gymnasium.make")
    max_steps: int | None = Field(default=None, ge=1, description="step cap; the env's own limit by default")
    arguments: dict[str, str | int | float | bool] = Field(default_factory=dict, description="more for gymnasium.make")


class GymnasiumGame(TableGame):
    """M envs. Their time limit is replaced by the game's cap, so that the game decides about truncation.

    A snapshot holds the picks of each match so far; restoring plays them again, which is exact for envs that depend on
    their seed and actions alone.
    """

    def __init__(self, spec: GameSpec, config: GymnasiumConfig, matches: int) -> None:
        super().__init__(spec, matches)
        self._envs = [_make(config) for _ in range(matches)]
        self._single = _is_discrete(self._envs[0].action_space)
        self._flat = len(self._envs[0].observation_space.shape) == 1
        self._first_action = np.asarray(getattr(self._envs[0].action_space, "start", 0))
        self.seen = self.hold("seen", (spec.obs_size,), np.float32)
        self.done = self.hold("done", (), np.int32, (0, spec.max_steps))
        self.picked = self.hold("picked", (spec.max_steps, len(spec.heads)), np.int32)
        self._masks = hasattr(self._envs[0].unwrapped, "action_masks")

    def deal(self, rows: npt.NDArray[np.int64]) -> None:
        """Reset each env with the seed of its plan."""
        self.done[rows] = 0
        for row in rows:
            obs, _ = self._envs[row].reset(seed=int(self.seed[row] >> np.uint64(1)))
            self.seen[row] = np.ravel(obs)

    def play(self, picks: IntArray, ready: npt.NDArray[np.bool_], out: StepBuffers) -> None:
        """Step each env that got an action."""
        rows = np.flatnonzero(ready)
        actions = (picks[:, 0] + self._first_action).tolist()
        answers = [self._envs[row].step(self._action(actions[row])) for row in rows.tolist()]
        for row, (obs, *_) in zip(rows.tolist(), answers, strict=True):
            self.seen[row] = obs if self._flat else np.ravel(obs)
        self.picked[rows, self.done[rows]] = picks[rows, 0]
        self.done[rows] += 1
        out.reward[rows, 0, 0] = out.signals[rows, 0, 0] = [answer[1] for answer in answers]
        out.ended[rows] = [answer[2] for answer in answers]
        out.truncated[rows] = [answer[3] for answer in answers]
        out.result[out.ended] = TIE

    def observe(self, rows: Rows) -> None:
        """What the env returned last; masks where the env has `action_masks()`."""
        self.obs[rows, 0], self.turn[rows], self.mask[rows] = self.seen[rows], True, True
        if self._masks:
            for row in range(self.matches)[rows] if isinstance(rows, slice) else rows:
                self.mask[row, 0] = np.ravel(self._envs[row].unwrapped.action_masks())

    def restore(self, data: bytes) -> None:
        """Continue from a snapshot by playing each match again up to where it was."""
        super().restore(data)
        for row in np.flatnonzero(self.serial >= 0):
            self._envs[row].reset(seed=int(self.seed[row] >> np.uint64(1)))
            for step in range(self.done[row]):
                self._envs[row].step(self._action((self.picked[row, step] + self._first_action).tolist()))

    def describe(self, row: int) -> dict[str, Any]:
        """The observation."""
        return {"observation": [float(x) for x in self.seen[row]]}

    def close(self) -> None:
        """Close the envs."""
        for env in self._envs:
            env.close()
        self._envs = []

    def _action(self, action: list[int]) -> Any:
        return action[0] if self._single else np.array(action)


def _make(config: GymnasiumConfig) -> Any:
    from pvp_ml.games.adapters.envs import gymnasium

    try:
        return gymnasium.make(config.id, max_episode_steps=-1, disable_env_checker=True, **config.arguments)
    except Exception as error:  # gymnasium and the env's own package raise whatever they like
        raise UserError(
            f"the Gymnasium env '{config.id}' cannot be made: {error}"[:400], "see gymnasium.pprint_registry()"
        ) from error


def _is_discrete(space: Any) -> bool:
    from pvp_ml.games.adapters.envs import spaces

    return isinstance(space, spaces.Discrete)


def _features(config: GymnasiumConfig, space: Any) -> tuple[Feature, ...]:
    from pvp_ml.games.adapters.envs import spaces

    if isinstance(space, spaces.Discrete):
        return (Feature("state", "id", vocab=int(space.n)),)
    if isinstance(space, spaces.Box):
        return tuple(Feature(f"obs_{i}") for i in range(int(np.prod(space.shape))))
    if isinstance(space, spaces.MultiBinary):
        return tuple(Feature(f"obs_{i}", "flag") for i in range(int(np.prod(space.shape))))
    raise UserError(f"'{config.id}' observes {space}", "Box, Discrete and MultiBinary are understood")


def _heads(config: GymnasiumConfig, space: Any) -> tuple[Head, ...]:
    from pvp_ml.games.adapters.envs import spaces

    if isinstance(space, spaces.Discrete):
        sizes = [int(space.n)]
    elif isinstance(space, spaces.MultiDiscrete) and space.nvec.ndim == 1:
        sizes = [int(n) for n in space.nvec]
    else:
        raise UserError(f"'{config.id}' acts in {space}", "Discrete and MultiDiscrete are understood")
    return tuple(Head(f"action_{h}", tuple(str(c) for c in range(size))) for h, size in enumerate(sizes))


def _spec(config: GymnasiumConfig) -> GameSpec:
    env = _make(config)
    spec = GameSpec(
        name="gym",
        version=1,
        teams=((0,),),
        blocks=(Block("observation", 1, _features(config, env.observation_space)),),
        heads=_heads(config, env.action_space),
        rewards=(RewardTerm("reward"),),
        signals=(Signal("return", doc="the env's reward, summed over the match"),),
        max_steps=config.max_steps or _registered_limit(config.id) or DEFAULT_CAP,
        parameters=(("id", config.id), ("arguments", repr(sorted(config.arguments.items())))),
    )
    env.close()
    return spec


def _registered_limit(name: str) -> int | None:
    from pvp_ml.games.adapters.envs import gymnasium

    limit = gymnasium.spec(name).max_episode_steps
    return None if limit is None or limit < 1 else int(limit)


def _doctor() -> Iterator[Finding]:
    yield library("gymnasium", "gym", "Gymnasium envs")


GAME = GameType(
    name="gym",
    title="A Gymnasium env with discrete actions",
    config=GymnasiumConfig,
    spec=_spec,
    build=lambda config, matches: GymnasiumGame(_spec(config), config, matches),
    status="tested",
    imports_by_name=True,
    tooling=Tooling(doctor=_doctor),
)
