"""State read from the simulator's memory against the binding's own answers."""

from __future__ import annotations

import numpy as np
import pytest

from pvp_ml.games.rocket_league import simulator
from pvp_ml.games.rocket_league.arena import memory

ROWS = 4


@pytest.mark.parametrize(("mode", "observation"), [("1v1", "default"), ("2v2", "advanced"), ("3v3", "default")])
def test_memory_tells_what_the_binding_tells(play, mode, observation):
    """Bots that hit, jump, flip, score, take pads and demolish each other; every number after every step."""
    bots = ("flipper", "chaser") if mode == "1v1" else ("flipper", "chaser", "shooter") * 2
    seats = 2 * int(mode[0])
    p = play(mode=mode, observation=observation, end_on_goal=False, bots=bots[:seats], matches=ROWS, scenario="random")
    arenas, seen = p.game.arenas, np.zeros(5)
    assert arenas._addresses is not None, "this release of RocketSim is the known one"
    for _ in range(150):
        p.step()
        assert arenas.reads_as_told(list(range(ROWS)))
        cars = arenas.cars[:, :, 0]
        found = arenas.pads[:, 0] < 0.5, cars[..., simulator.TOUCHED], cars[..., simulator.DEMOED], arenas.game[:, 2:]
        seen[:4] += [np.count_nonzero(some) for some in found]
        seen[4] += np.count_nonzero(arenas.flags[..., simulator.HAS_FLIP] < 0.5)
    assert (seen[[0, 1, 4]] > 0).all(), "pads, touches and flips were compared"
    assert seen[2] > 0 or mode == "1v1", "and wrecks"


def test_matches_are_the_same_either_way(play, monkeypatch):
    """Bit for bit: observations, rewards and signals of 60 steps."""

    def course() -> list[np.ndarray]:
        p = play(rewards=("goal", "touch", "velocity_ball_to_goal"), bots=("shooter", "chaser"), matches=ROWS)
        rows = []
        for _ in range(60):
            out = p.step()
            rows += [x.copy() for x in (out.obs, out.reward, out.signals, out.ended)]
        assert (p.game.arenas._addresses is None) == asked
        return rows

    asked = False
    read = course()
    asked = True
    monkeypatch.setattr(simulator, "_memory_is_known", lambda meshes: False)
    for a, b in zip(read, course(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_layout_that_differs_is_not_relied_on(rocketsim):
    """An offset that is wrong by one number is noticed."""
    from pvp_ml.games.rocket_league.arena.meshes import generated_set

    probe = simulator.Arenas(generated_set(), 1, (1, 1), all_flags=True, is_probe=True)
    assert probe.readings_agree(4)
    assert probe._addresses is not None
    probe._addresses._cars += 4
    probe.read([0])
    assert not probe.reads_as_told([0])
    probe.close()


def test_another_release_is_asked(rocketsim, monkeypatch):
    from pvp_ml.games.rocket_league.arena.meshes import generated_set

    monkeypatch.setattr(memory, "version", lambda name: "2.3.0")
    probe = simulator.Arenas(generated_set(), 1, (1, 1), all_flags=True, is_probe=True)
    assert probe._addresses is None
    assert not probe.readings_agree(1)
    probe.place(0, simulator.Scene(np.zeros((3, 3)), np.zeros((2, 4, 3)), np.array([30.0, 60.0])))
    probe.read([0])
    assert probe.cars[0, :, 0, simulator.BOOST_AMOUNT].tolist() == [30.0, 60.0]
    probe.close()
