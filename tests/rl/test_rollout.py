"""Labels of the win head, worked by hand."""

import numpy as np

from pvp_ml.rl.kernels.gae import ENDED, TRUNCATED, VOID
from pvp_ml.rl.rollout import Rollout, RolloutShape


def test_labels_reach_back_to_the_matchs_beginning_and_voids_have_none():
    rollout = Rollout(RolloutShape(5, 1, 2, 1, 0, 1, 1))
    rollout.end[1, 0], rollout.result[1, 0], rollout.held_out[1, 0] = ENDED, (1, -1), True
    rollout.end[3, 0], rollout.result[3, 0] = TRUNCATED, (0, 0)
    rollout.end[4, 0], rollout.result[4, 0] = VOID, (1, -1)
    points, held = rollout.labels()
    assert points[:2, 0].tolist() == [[1, 0], [1, 0]]  # index 0: the carried row belongs to the same match
    assert points[2:4, 0].tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert np.isnan(points[4:]).all()  # void, and a match that has not ended
    assert held[:, 0, 0].tolist() == [True, True, False, False, False, False]
