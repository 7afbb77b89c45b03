"""The same game, network and batch in sb3-contrib's MaskablePPO; the only module that imports it."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from pvp_ml.cli.bench.loops import WARM_UP, Timing
from pvp_ml.errors import UserError
from pvp_ml.rl.schedule.schedule import Progress
from pvp_ml.run.config.schema import Config

try:
    import torch
    from sb3_contrib import MaskablePPO
    from stable_baselines3.common.vec_env import VecEnv
except ImportError as error:
    raise UserError(f"the comparison needs '{error.name}'", "pip install sb3-contrib") from error


class BatchedEnv(VecEnv):
    """Our batched adapter as sb3 wants it: no process, no Python object per match, so that only the loops differ."""

    def __init__(self, env: Any) -> None:
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)
        self._env, self._actions = env, None

    def reset(self) -> Any:
        """New matches."""
        return self._env.reset(seed=0)[0]

    def step_async(self, actions: Any) -> None:
        """Keep the actions."""
        self._actions = actions

    def step_wait(self) -> Any:
        """Play them."""
        obs, reward, ended, truncated, info = self._env.step(self._actions)
        done = ended | truncated
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for row in np.flatnonzero(done):
            infos[row] = {"terminal_observation": info["final_obs"][row], "TimeLimit.truncated": bool(truncated[row])}
        return obs, reward.astype(np.float32), done, infos

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """`action_masks` is all that MaskablePPO asks for."""
        return list(self._env.action_masks())

    def has_attr(self, attr_name: str) -> bool:
        """Whether masks are offered."""
        return attr_name == "action_masks"

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Nothing that could be asked for."""
        return [None] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Nothing to set."""

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Never."""
        return [False] * self.num_envs

    def close(self) -> None:
        """Give the game back."""
        self._env.close()


def learn_sb3(config: Config, rollouts: int) -> Timing:
    """As many rollouts of the same size, against the first opponent of the preset."""
    from pvp_ml.games.adapters.envs import MatchVectorEnv

    torch.set_num_threads(1)
    ppo, start = config.ppo, Progress(total_steps=1)
    env = BatchedEnv(
        MatchVectorEnv(config.env.name, config.env.settings, num_envs=config.env.matches, opponent="random")
    )
    layers = list(config.network.trunk)
    model = MaskablePPO(
        "MlpPolicy",
        env,
        n_steps=ppo.n_steps,
        batch_size=min(ppo.batch_size, ppo.n_steps * config.env.matches),
        n_epochs=ppo.n_epochs,
        learning_rate=ppo.learning_rate.at(start),
        gamma=ppo.gamma.at(start),
        policy_kwargs={"net_arch": {"pi": layers, "vf": layers}, "activation_fn": torch.nn.ReLU},
        device="cpu",
        seed=config.run.seed,
    )
    size = ppo.n_steps * config.env.matches
    try:
        model.learn(WARM_UP * size)
        before = time.process_time()
        model.learn(rollouts * size, reset_num_timesteps=False)
        seconds = time.process_time() - before
    finally:
        env.close()
    return Timing(rollouts * size, seconds, "learned decisions per CPU-second", {})
