"""Driving a VgcGame to the end of its plans."""

import numpy as np

from pvp_ml.games.legal import Legality
from pvp_ml.match import IDLE, RESTING, Bot, External, MatchPlan, StepBuffers

OPEN = (External("a"), External("b"))


def plans(count, lineup=OPEN, scenario="default", first=1):
    return [MatchPlan(first + i, 1000 + 7 * (first + i), lineup, scenario) for i in range(count)]


def bots(*names):
    return tuple(Bot(name) for name in names)


class Tally:
    """What a run of matches gave."""

    def __init__(self):
        self.results, self.faults, self.lengths, self.truncated, self.decisions = [], [], [], 0, 0


def play(game, wanted, seed=0, timeout_s=60.0, watch=None):
    """Random legal choices for every acting seat until every plan has stopped."""
    rng, legality, tally = np.random.default_rng(seed), Legality(game.spec), Tally()
    out = StepBuffers.allocate(game.spec, game.matches)
    length = np.zeros(game.matches, int)
    game.queue(wanted)
    game.start()
    while len(tally.results) + len(tally.faults) < len(wanted):
        count = game.recv(1, timeout_s, out)
        assert count, f"no answer in {timeout_s} s"
        rows = out.match[:count].copy()
        for i, row in enumerate(rows):
            length[row] += 1
            if out.faults[i]:
                tally.faults.append(int(out.faults[i]))
                length[row] = 0
            elif out.ended[i] or out.truncated[i]:
                tally.results.append(out.result[i].tolist())
                tally.lengths.append(int(length[row]) - 1)
                tally.truncated += bool(out.truncated[i])
                length[row] = 0
        if watch is not None:
            watch(out, count)
        live = np.flatnonzero(out.serial[:count] != RESTING)
        if len(live):
            actions = np.full((len(live), 2, 3), IDLE, np.int32)
            b, s = np.nonzero(out.acting[live])
            if len(b):
                actions[b, s] = legality.choose(out.mask[live[b], s], rng.random((len(b), 3)))
                tally.decisions += len(b)
            game.send(rows[live], actions)
    return tally
