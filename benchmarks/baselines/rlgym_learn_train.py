"""Baseline: rlgym v2 learning with its own learner, rlgym-learn and the PPO of rlgym-learn-algos, in a venv of its own.

    python -m venv V && V/bin/pip install "rlgym[rl-sim]" "numpy<2" torch rlgym-learn rlgym-learn-algos
    V/bin/python benchmarks/baselines/rlgym_learn_train.py 1v1 16 20 1        # mode, processes, CPU-seconds, epochs

One JSON line: agent-steps per CPU-second of the learner and all environment processes together, whole updates only.
The environment is that of `rlgym_v2_collect.py`; rlgym-learn plays one per process, so processes are matches. What is
fastest here was chosen for it: its numpy experience buffer, its advantages in Rust, one forward pass for all matches,
no checkpoints, observations as float32 in arrays of a known shape (their default builder makes float64).
"""

import functools
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from rlgym.rocket_league.obs_builders import DefaultObs
from rlgym_v2_collect import environment

INPUTS, CHOICES, LAYERS = 172, 90, (256, 256, 256)
ROWS, BATCH = 16384, 4096  # of an update and of an optimiser's step, as on our side
GAMMA, LAMBDA, CLIP, ENTROPY, RATE = 0.995, 0.95, 0.2, 0.01, 3e-4
WARM_UP_UPDATES = 2


class SingleObs(DefaultObs):
    """The default observation in float32."""

    def _build_obs(self, agent, state, shared_info):
        return super()._build_obs(agent, state, shared_info).astype(np.float32)


def cpu_s():
    """CPU-seconds of every process of this process group (Linux): the learner and its environments."""
    ticks, group = 0, os.getpgrp()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[2]) == group:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def on_one_core():
    """A process group of its own on one core, in which nobody is interrupted by whom it wakes.

    Elsewhere rlgym-learn 2.0.0 soon stops for ever on busy cores: every environment waits for an order, and none is on
    its way. Probably an order is lost that comes between an answer and the next wait.
    """
    if os.getpid() != os.getpgrp():
        os.setpgid(0, 0)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def controller(watch):
    """Their PPO with separate networks for choices and values, which is what it comes with."""
    import torch
    from rlgym_learn_algos.ppo import (
        BasicCritic,
        DiscreteFF,
        GAETrajectoryProcessor,
        NumpyExperienceBuffer,
        PPOAgentController,
        SeparateActorCritic,
    )

    torch.set_num_threads(1)

    def networks(obs_space, action_space, dtype, device, name):
        assert (obs_space[1], action_space[1]) == (INPUTS, CHOICES)
        actor = DiscreteFF(INPUTS, CHOICES, LAYERS, dtype, device)
        return SeparateActorCritic(actor, BasicCritic(INPUTS, LAYERS, dtype, device), name)

    def optimizers(both, options, name):
        return [torch.optim.Adam(both.parameters(), lr=RATE, fused=True)]

    class PlainBuffer(NumpyExperienceBuffer):
        """Theirs without pinned memory, which torch without a GPU refuses."""

        def load(self, config):
            super().load(config)
            for numbers in (self.log_probs, self.values, self.advantages):
                numbers.pin_memory = False

    return PPOAgentController(networks, optimizers, PlainBuffer(GAETrajectoryProcessor()), watch)


def configuration(processes, epochs, folder):
    """Everything that rlgym-learn wants to be told."""
    from rlgym_learn import BaseConfigModel, LearningCoordinatorConfigModel, ProcessConfigModel, SerdeTypesModel
    from rlgym_learn.pyany_serde import NumpySerdeConfig, PyAnySerdeType
    from rlgym_learn_algos.ppo import (
        ExperienceBufferConfigModel,
        GAETrajectoryProcessorConfigModel,
        PPOAgentControllerConfigModel,
        PPOLearnerConfigModel,
    )

    def rows(dtype, *shape):
        return PyAnySerdeType.NUMPY(dtype, NumpySerdeConfig.STATIC(shape=shape, allocation_pool_warning_size=None))

    space = PyAnySerdeType.TUPLE([PyAnySerdeType.STRING(), PyAnySerdeType.INT()])
    return LearningCoordinatorConfigModel(
        base_config=BaseConfigModel(
            serde_types=SerdeTypesModel(
                agent_id_serde_type=PyAnySerdeType.STRING(),
                obs_serde_type=rows(np.float32, INPUTS),
                action_serde_type=rows(np.int64, 1),
                reward_serde_type=PyAnySerdeType.FLOAT(),
                obs_space_serde_type=space,
                action_space_serde_type=space,
            ),
            flinks_folder=str(Path(folder) / "flinks"),
        ),
        process_config=ProcessConfigModel(n_proc=processes, min_frac_process_responses_per_collection=1.0),
        agent_controller_save_folder=str(Path(folder) / "checkpoints"),
        agent_controller_config=PPOAgentControllerConfigModel(
            timesteps_per_iteration=ROWS,
            save_every_ts=10**12,
            learner_config=PPOLearnerConfigModel(
                n_epochs=epochs, batch_size=BATCH, ent_coef=ENTROPY, clip_range=CLIP, max_grad_norm=0.5
            ),
            experience_buffer_config=ExperienceBufferConfigModel(
                max_size=ROWS,
                trajectory_processor_config=GAETrajectoryProcessorConfigModel(gamma=GAMMA, lmbda=LAMBDA),
            ),
        ),
    )


def watch_until(cpu_budget_s):
    """A metrics logger that notes steps and CPU-seconds after every update and ends the run when it has seen enough."""
    from rlgym_learn_algos.logging import MetricsLogger

    class Watch(MetricsLogger):
        config_model = None
        seen = ()
        coordinator = None

        def collect_agent_metrics(self, data):
            self.seen = (*self.seen, (data.cumulative_timesteps, cpu_s(), time.perf_counter()))
            warm = self.seen[WARM_UP_UPDATES - 1 :]
            if warm and warm[-1][1] - warm[0][1] >= cpu_budget_s:
                self.coordinator.config.base_config.timestep_limit = 0

        def collect_env_metrics(self, data):
            pass

        def report_metrics(self):
            pass

        def load(self, config):
            pass

        def save_checkpoint(self, folder_path):
            pass

    return Watch()


def main():
    from rlgym_learn import LearningCoordinator

    mode, processes, cpu_budget_s, epochs = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    on_one_core()
    blue, orange = (int(n) for n in mode.split("v"))
    watch = watch_until(cpu_budget_s)
    with tempfile.TemporaryDirectory() as folder:
        build = functools.partial(environment, blue, orange, SingleObs)
        watch.coordinator = LearningCoordinator(build, controller(watch), configuration(processes, epochs, folder))
        watch.coordinator.start()
    (first, cpu_before, wall_before), (last, cpu_after, wall_after) = watch.seen[WARM_UP_UPDATES - 1], watch.seen[-1]
    print(
        json.dumps(
            {
                "mode": mode,
                "matches": processes,
                "agent_steps": last - first,
                "cpu_s": round(cpu_after - cpu_before, 3),
                "wall_s": round(wall_after - wall_before, 3),
                "agent_steps_per_cpu_s": round((last - first) / (cpu_after - cpu_before), 1),
            }
        )
    )


if __name__ == "__main__":
    main()
