"""The canary: shares of what was chosen, counted by weight."""

import numpy as np
import pytest

from pvp_ml.games.vgc.behaviour import shares
from pvp_ml.games.vgc.config import VgcConfig, make_spec
from pvp_ml.games.vgc.layout import column, name_of
from pvp_ml.model.recording import Recording


def number_of(move):
    return next(n for n in range(2, 1200) if name_of("moves", n) == move)


def test_shares_count_choices_by_weight():
    spec = make_spec(VgcConfig())
    obs = np.zeros((4, spec.obs_size), np.float32)
    obs[:3, column("global", 0, "at_turn")] = 1  # the last row is a forced switch
    obs[:, column("attacks", 1, "guards")] = 1  # the left Pokémon's second move
    obs[:, column("attacks", 4, "move")] = number_of("tailwind")  # the right one's first
    actions = np.array([[0, 12, 2], [0, 41, 2], [0, 7, 46], [0, 42, 46]], np.int32)
    weight = np.array([1.0, 0.5, 0.5, 1.0], np.float32)
    recording = Recording(obs, np.ones((4, spec.mask_size), bool), actions, np.arange(4), None, weight)
    found = shares(recording)  # five choices of turns, 3.5 by weight
    assert found["guard"] == pytest.approx(1.0 / 3.5) and found["switch"] == pytest.approx(0.5 / 3.5)
    assert found["gimmick"] == pytest.approx(0.5 / 3.5) and found["speed control"] == pytest.approx(1.5 / 3.5)
