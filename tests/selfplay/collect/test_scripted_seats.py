"""Scripted players are notified when their matches begin and end."""

import numpy as np

from pvp_ml import players
from pvp_ml.games.registry import find
from pvp_ml.match import External, MatchPlan, Scripted, StepBuffers
from pvp_ml.selfplay.collect.active_matches import ActiveMatches
from pvp_ml.selfplay.collect.seat_actors import SeatActors


class Listener:
    def __init__(self):
        self.heard = []

    def begin(self, serials):
        self.heard += [("begin", s) for s in serials.tolist()]

    def end(self, serials):
        self.heard += [("end", s) for s in serials.tolist()]


def test_begin_and_end_reach_the_player(monkeypatch):
    listener = Listener()
    monkeypatch.setattr(players, "make", lambda name, spec: listener)
    game = find("connect4")
    spec = game.spec(game.config())
    active = ActiveMatches(spec, 2, SeatActors(spec, {}, None))
    active.expect([MatchPlan(7, 1, (Scripted("x"), External("y"))), MatchPlan(8, 2, (External("y"), External("y")))])
    active.seat(np.arange(2), np.array([7, 8]))
    assert listener.heard == [("begin", 7)]
    out = StepBuffers.allocate(spec, 2)
    active.stop(1, out, 1)
    assert listener.heard == [("begin", 7)]
    active.stop(0, out, 0)
    assert listener.heard == [("begin", 7), ("end", 7)]
