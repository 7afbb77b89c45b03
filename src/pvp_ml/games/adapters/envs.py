"""Games for other people's learners: Gymnasium envs, Gymnasium vector envs and PettingZoo parallel envs.

The only module that imports gymnasium and pettingzoo (extra `gym`); the other direction is `gymnasium_game.py`.

    MatchEnv("connect4", opponent="tactician")       one seat; a step lasts until that seat decides again
                                                     also as gymnasium.make("pvp_ml/connect4-v0")
    MatchVectorEnv("rps", num_envs=64)               one seat of many matches; a step is a step of the game
    MatchParallelEnv("kuhn")                         every seat is an agent
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from pvp_ml.errors import UserError, pip_install
from pvp_ml.games.adapters.hosting import Host
from pvp_ml.games.registry import GameConfig, GameType
from pvp_ml.match import IDLE, RESTING, Fault
from pvp_ml.spec import GameSpec

try:
    import gymnasium as gymnasium
    from gymnasium import spaces as spaces
    from gymnasium.vector.utils import batch_space
    from pettingzoo import ParallelEnv
except ImportError as error:
    raise UserError(f"the adapters need '{error.name}'", pip_install("gym")) from error

if TYPE_CHECKING:
    from pvp_ml.players import Player

_MOST_STEPS_WITHOUT_US = 100_000


def observation_space(spec: GameSpec) -> spaces.Box:
    """[D] numbers: flags 0…1, ids below their vocabulary, everything else unbounded."""
    low = [-np.inf if f.kind == "real" else 0.0 for f in spec.features]
    high = [np.inf if f.kind == "real" else (f.vocab or 2) - 1.0 for f in spec.features]
    return spaces.Box(np.array(low, np.float32), np.array(high, np.float32), dtype=np.float32)


def action_space(spec: GameSpec) -> spaces.Discrete | spaces.MultiDiscrete:
    """Discrete for one head, MultiDiscrete for more."""
    return spaces.Discrete(spec.head_sizes[0]) if len(spec.heads) == 1 else spaces.MultiDiscrete(spec.head_sizes)


class MatchEnv(gymnasium.Env[npt.NDArray[np.float32], Any]):  # type: ignore[misc]
    """One seat of one match at a time, against a bot, a scripted player or a Player.

    A step plays the action and then everything up to this seat's next decision, or to the end. Illegal picks are
    replaced (`info["replaced"]`); `action_masks()` is what sb3-contrib asks for. A void match is truncated and carries
    `info["fault"]`. Render mode `ansi` gives the game's view, `human` sends it to the game's own viewer, if it has one.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi", "human"], "render_fps": 15}

    def __init__(
        self,
        game: str | GameType,
        settings: Mapping[str, Any] | GameConfig | None = None,
        *,
        seat: int = 0,
        opponent: str | Player | None = None,
        scenario: str | None = None,
        weights: Mapping[str, float] | None = None,
        render_mode: str | None = None,
    ) -> None:
        self._host = Host(game, settings, ours=(seat,), opponent=opponent, scenario=scenario, weights=weights)
        self._seat, self.render_mode = seat, render_mode
        self.metadata = self._host.without_viewer(self.metadata)  # type: ignore[misc]
        self.observation_space = observation_space(self._host.spec)
        self.action_space = action_space(self._host.spec)
        self._begun = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """A new match, up to this seat's first decision. An unfinished match is abandoned."""
        super().reset(seed=seed)
        while True:
            if not self._begun or seed is not None or self._host.out.serial[0] != RESTING:
                self._host.restart(self.np_random, 0)
                self._begun, seed = True, None
            else:
                self._host.wake(self.np_random)
            self._advance()
            if self._acting():
                return self._host.out.obs[0, self._seat].copy(), self._info(False)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play the action; gives this seat's next observation, or its last."""
        host, out = self._host, self._host.out
        if not self._begun or not self._acting():
            raise UserError("step was called on a match that is over", "call reset first")
        picks, replaced = host.lawful(self._seat, np.asarray(action).reshape(1, -1))
        actions = self._idle()
        actions[:, self._seat] = picks
        host.step(actions)
        reward = float(host.rewards(self._seat)[0])
        if not self._stopped():
            reward += self._advance()
        stopped = self._stopped()
        obs = (out.final_obs if stopped else out.obs)[0, self._seat].copy()
        fault = int(out.faults[0])
        ended = bool(out.ended[0]) and not fault
        return obs, reward, ended, stopped and not ended, self._info(bool(replaced[0]), stopped)

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Legal choices [A] of all heads, one after the other."""
        return np.asarray(self._host.masks(self._seat)[0])

    def render(self) -> str | None:
        """The game's view as text, or to its viewer."""
        if self.render_mode == "human":
            self._host.show()
            return None
        view = self._host.view()
        return "\n".join(view["board"]) if "board" in view else str(view)

    def close(self) -> None:
        """Give the game back."""
        self._host.close()
        self._begun = False

    def _idle(self) -> npt.NDArray[np.int32]:
        return np.full((1, self._host.spec.seats, len(self._host.spec.heads)), IDLE, np.int32)

    def _acting(self) -> bool:
        return bool(self._host.out.acting[0, self._seat])

    def _stopped(self) -> bool:
        return bool(self._host.out.ended[0] or self._host.out.truncated[0] or self._host.out.faults[0])

    def _advance(self) -> float:
        """Step until this seat acts or the match stops; gives the reward on the way."""
        reward = 0.0
        for _ in range(_MOST_STEPS_WITHOUT_US):
            if self._acting() or self._host.out.serial[0] == RESTING:
                return reward
            self._host.step(self._idle())
            reward += float(self._host.rewards(self._seat)[0])
        raise UserError(f"seat {self._seat} had nothing to decide for {_MOST_STEPS_WITHOUT_US} steps")

    def _info(self, replaced: bool, stopped: bool = False) -> dict[str, Any]:
        info: dict[str, Any] = {"action_mask": self.action_masks(), "replaced": replaced}
        if stopped:
            info["result"] = int(self._host.out.result[0, self._seat])
            info["fault"] = Fault(int(self._host.out.faults[0])).name
        return info


class MatchVectorEnv(gymnasium.vector.VectorEnv[Any, Any, Any]):  # type: ignore[misc]
    """One seat of `num_envs` matches in one game: one step is one step of the game, finished rows restart in it.

    `info["acting"]` says where this seat decides now; actions of the other rows are ignored. In games with turns,
    learners that want decisions alone use `gymnasium.vector.SyncVectorEnv` over `MatchEnv`.
    """

    metadata: ClassVar[dict[str, Any]] = {"autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP}

    def __init__(
        self,
        game: str | GameType,
        settings: Mapping[str, Any] | GameConfig | None = None,
        *,
        num_envs: int = 1,
        seat: int = 0,
        opponent: str | Player | None = None,
        scenario: str | None = None,
        weights: Mapping[str, float] | None = None,
    ) -> None:
        self._host = Host(
            game, settings, ours=(seat,), opponent=opponent, scenario=scenario, weights=weights, matches=num_envs
        )
        self._seat, self.num_envs = seat, num_envs
        self.single_observation_space = observation_space(self._host.spec)
        self.single_action_space = action_space(self._host.spec)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """New matches in every row; one integer seeds them all."""
        super().reset(seed=seed)
        self._host.restart(self.np_random, self.num_envs)
        return self._host.out.obs[:, self._seat].copy(), self._info(np.zeros(self.num_envs, np.bool_))

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """One step of the game with actions [num_envs] or [num_envs,H]."""
        host, out = self._host, self._host.out
        picks, replaced = host.lawful(self._seat, np.asarray(actions))
        every = np.full((self.num_envs, host.spec.seats, len(host.spec.heads)), IDLE, np.int32)
        every[:, self._seat] = picks
        host.step(every)
        fault = out.faults != 0
        ended, truncated = out.ended & ~fault, out.truncated | fault
        info = self._info(replaced)
        stopped = ended | truncated
        if stopped.any():
            host.queue(self.np_random, int(stopped.sum()))
            finals = np.empty(self.num_envs, dtype=object)
            for row in np.flatnonzero(stopped):
                finals[row] = out.final_obs[row, self._seat].copy()
            result = np.where(stopped, out.result[:, self._seat], 0)
            info |= {"final_obs": finals, "_final_obs": stopped}
            info |= {
                "final_info": {"result": result, "_result": stopped, "fault": out.faults.copy(), "_fault": stopped}
            }
            info["_final_info"] = stopped
        return out.obs[:, self._seat].copy(), host.rewards(self._seat), ended, truncated, info

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Legal choices [num_envs,A]; the first choice of each head where this seat does not act."""
        return self._host.masks(self._seat)

    def close_extras(self, **_: Any) -> None:
        """Give the game back."""
        self._host.close()

    def _info(self, replaced: npt.NDArray[np.bool_]) -> dict[str, Any]:
        every = np.ones(self.num_envs, np.bool_)
        acting = self._host.out.acting[:, self._seat].copy()
        masks = self.action_masks()
        return {
            **{"acting": acting, "_acting": every},
            **{"action_mask": masks, "_action_mask": every},
            **{"replaced": replaced, "_replaced": every},
        }


class MatchParallelEnv(ParallelEnv[str, dict[str, Any], Any]):  # type: ignore[misc]
    """Every seat is an agent `seat_N`. An observation is {"observation": [D], "action_mask": per head}.

    An agent that has nothing to decide sees a mask that allows the first choice alone, and what it gives is ignored; an
    agent without an entry in `actions` gives no input.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "name": "pvp_ml_match",
        "render_modes": ["ansi", "human"],
        "is_parallelizable": True,
    }

    def __init__(
        self,
        game: str | GameType,
        settings: Mapping[str, Any] | GameConfig | None = None,
        *,
        scenario: str | None = None,
        weights: Mapping[str, float] | None = None,
        render_mode: str | None = None,
    ) -> None:
        self._host = Host(game, settings, scenario=scenario, weights=weights)
        self.render_mode = render_mode
        self.metadata = self._host.without_viewer(self.metadata)  # type: ignore[misc]
        spec = self._host.spec
        self.possible_agents = [f"seat_{seat}" for seat in range(spec.seats)]
        self.agents: list[str] = []
        masks = [spaces.MultiBinary(size) for size in spec.head_sizes]
        mask = masks[0] if len(masks) == 1 else spaces.Tuple(masks)
        see = observation_space(spec)
        self._observed = {a: spaces.Dict({"observation": see, "action_mask": mask}) for a in self.possible_agents}
        self._actions = {agent: action_space(spec) for agent in self.possible_agents}
        self._rng = np.random.default_rng()

    def observation_space(self, agent: str) -> Any:
        """The same object every time."""
        return self._observed[agent]

    def action_space(self, agent: str) -> Any:
        """The same object every time."""
        return self._actions[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """A new match."""
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        self._host.restart(self._rng, 0)
        self.agents = list(self.possible_agents)
        return self._see(self._host.out.obs[0]), self._infos(False)

    def step(self, actions: Mapping[str, Any]) -> tuple[Any, Any, Any, Any, Any]:
        """One step of the game."""
        host, out = self._host, self._host.out
        every = np.full((1, host.spec.seats, len(host.spec.heads)), IDLE, np.int32)
        for agent, action in actions.items():
            seat = self.possible_agents.index(agent)
            every[:, seat] = host.lawful(seat, np.asarray(action).reshape(1, -1))[0]
        host.step(every)
        fault = bool(out.faults[0])
        ended = bool(out.ended[0]) and not fault
        truncated = bool(out.truncated[0]) or fault
        stopped = ended or truncated
        seen = self._see(out.final_obs[0] if stopped else out.obs[0])
        rewards = {agent: float(host.rewards(seat)[0]) for seat, agent in enumerate(self.possible_agents)}
        infos = self._infos(stopped)
        if stopped:
            self.agents = []
        everybody = self.possible_agents
        return seen, rewards, dict.fromkeys(everybody, ended), dict.fromkeys(everybody, truncated), infos

    def render(self) -> str | None:
        """The game's view as text, or to its viewer."""
        if self.render_mode == "human":
            self._host.show()
            return None
        return str(self._host.view())

    def close(self) -> None:
        """Give the game back."""
        self._host.close()

    def _see(self, obs: npt.NDArray[np.float32]) -> dict[str, dict[str, Any]]:
        borders = self._host.legality.offsets[1:-1]
        seen = {}
        for seat, agent in enumerate(self.possible_agents):
            parts = np.split(self._host.masks(seat)[0].astype(np.int8), borders)
            seen[agent] = {
                "observation": obs[seat].copy(),
                "action_mask": parts[0] if len(parts) == 1 else tuple(parts),
            }
        return seen

    def _infos(self, stopped: bool) -> dict[str, dict[str, Any]]:
        out = self._host.out
        infos: dict[str, dict[str, Any]] = {}
        for seat, agent in enumerate(self.possible_agents):
            infos[agent] = {"acting": bool(out.acting[0, seat])}
            if stopped:
                infos[agent] |= {"result": int(out.result[0, seat]), "fault": Fault(int(out.faults[0])).name}
        return infos
