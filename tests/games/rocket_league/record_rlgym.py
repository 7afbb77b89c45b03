"""Records what rlgym v2 shows for a fixed 2v2 scene and fixed actions; run it in rlgym's own venv:

V/bin/python tests/games/rocket_league/record_rlgym.py > tests/games/rocket_league/rlgym_default_obs.json
"""

import json

import numpy as np
from rlgym.api import RLGym
from rlgym.rocket_league.action_parsers import LookupTableAction, RepeatAction
from rlgym.rocket_league.done_conditions import GoalCondition
from rlgym.rocket_league.obs_builders import DefaultObs
from rlgym.rocket_league.reward_functions import GoalReward
from rlgym.rocket_league.sim import RocketSimEngine
from rlgym.rocket_league.state_mutators import FixedTeamSizeMutator, MutatorSequence

SCENE = {
    "ball": [[100.0, 200.0, 400.0], [300.0, -200.0, 100.0], [0.5, -0.25, 1.0]],
    "cars": [
        [[-800.0, -1200.0, 17.0], [0.0, 1.1, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0], 60.0],
        [[900.0, -900.0, 17.0], [0.0, 2.2, 0.0], [200.0, 100.0, 0.0], [0.0, 0.0, 0.0], 12.0],
        [[-700.0, 1300.0, 17.0], [0.0, -1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0], 0.0],
        [[600.0, 1500.0, 600.0], [0.2, -2.0, 0.4], [100.0, -300.0, 200.0], [0.5, 0.3, -0.2], 100.0],
    ],
}
ACTIONS = [[22, 16, 74, 80]] * 2 + [[18, 74, 22, 30]] * 2 + [[60, 16, 74, 40]] * 3 + [[22, 62, 22, 50]] * 5
SHOWN_AFTER = (1, 3, 6, 9, 12)


class Scene:
    def apply(self, state, shared_info):
        state.ball.position, state.ball.linear_velocity, state.ball.angular_velocity = np.array(
            SCENE["ball"], np.float32
        )
        for car, (position, angles, velocity, spin, boost) in zip(state.cars.values(), SCENE["cars"], strict=True):
            car.physics.position = np.array(position, np.float32)
            car.physics.linear_velocity = np.array(velocity, np.float32)
            car.physics.angular_velocity = np.array(spin, np.float32)
            car.physics.euler_angles = np.array(angles, np.float32)
            car.boost_amount = boost
            car.on_ground = position[2] < 20.0


def main():
    env = RLGym(
        state_mutator=MutatorSequence(FixedTeamSizeMutator(2, 2), Scene()),
        obs_builder=DefaultObs(zero_padding=3),
        action_parser=RepeatAction(LookupTableAction(), repeats=8),
        reward_fn=GoalReward(),
        termination_cond=GoalCondition(),
        transition_engine=RocketSimEngine(),
    )
    obs = env.reset()
    agents = list(obs)
    shown = []
    for number, row in enumerate(ACTIONS, 1):
        obs, *_ = env.step({agent: np.array([index]) for agent, index in zip(agents, row, strict=True)})
        if number in SHOWN_AFTER:
            shown.append([[round(float(v), 6) for v in obs[agent]] for agent in agents])
    table = LookupTableAction.make_lookup_table().tolist()
    print(json.dumps({"scene": SCENE, "actions": ACTIONS, "shown_after": SHOWN_AFTER, "obs": shown, "table": table}))


if __name__ == "__main__":
    main()
