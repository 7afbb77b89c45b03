"""Servers in a thread, and matches recorded step by step so that two ways of playing them can be compared."""

import asyncio
import contextlib
import threading
import time

import numpy as np

from pvp_ml.games.legal import Legality
from pvp_ml.games.osrs.sim_server.server import SimConfig, SimServer
from pvp_ml.games.osrs.sim_server.world import WorldLimits
from pvp_ml.match import RESTING, StepBuffers


@contextlib.contextmanager
def serving(port=0, seed=0, **limits):
    """A simulation server on a thread; gives it with its `port`."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = SimServer(SimConfig(port=port, seed=seed, world=WorldLimits(**limits)))
    server.port = asyncio.run_coroutine_threadsafe(server.start(), loop).result(600)
    server.loop = loop
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(120)
        loop.close()


def receive(game, rows, timeout_s=20.0):
    """The next `rows` rows as buffers of that length: `recv` may give fewer at a time."""
    fresh, have, ends_at = StepBuffers.allocate(game.spec, rows), 0, time.monotonic() + timeout_s
    while have < rows and time.monotonic() < ends_at:
        part = StepBuffers.allocate(game.spec, rows - have)
        count = game.recv(rows - have, timeout_s, part)
        for name in ("match", "serial", "truncated", "faults"):
            getattr(fresh, name)[have : have + count] = getattr(part, name)[:count]
        have += count
    assert have == rows, f"{have} of {rows} rows came within {timeout_s} s"
    return fresh


class Chooser:
    """Legal choices that depend on the match's serial, the step and the seat alone."""

    def __init__(self, spec):
        self.spec, self.legality = spec, Legality(spec)

    def choose(self, serial, step, mask):
        """Actions [S,H] for one match, mask [S,A]; seats without any legal choice idle."""
        picks = np.zeros((self.spec.seats, len(self.spec.heads)), np.int32)
        for seat in range(self.spec.seats):
            rng = np.random.default_rng([serial, step, seat])
            for h in range(len(self.spec.heads)):
                legal = self.legality.legal(h, mask[seat : seat + 1], picks[seat : seat + 1])[0]
                options = np.flatnonzero(legal)
                picks[seat, h] = rng.choice(options) if len(options) else 0
        return picks


def record(game, plans):
    """Play all plans; gives serial → list of steps, each a dict of copies, and the endings."""
    spec, m = game.spec, game.matches
    out, chooser = StepBuffers.allocate(spec, m), Chooser(spec)
    taken = {plan.serial: [] for plan in plans}
    playing = np.full(m, RESTING, np.int64)
    steps = np.zeros(m, np.int64)
    open_ = len(plans)
    actions = np.zeros((m, spec.seats, len(spec.heads)), np.int32)
    game.queue(plans)
    is_async = hasattr(game, "recv")
    if is_async:
        game.start()
    else:
        game.start(out)
    first = True
    while open_:
        if is_async:
            count = game.recv(1, 60.0, out)
            assert count, "no answer"
        elif first:
            count = m
        else:
            game.step(actions, out)
            count = m
        first = False
        actions[:] = 0
        sent = []
        for i in range(count):
            row = int(out.match[i])
            if playing[row] != RESTING:
                over = bool(out.ended[i] or out.truncated[i] or out.faults[i])
                taken[int(playing[row])].append(_copy(out, i, over))
                open_ -= over
            if playing[row] != out.serial[i]:
                playing[row], steps[row] = out.serial[i], 0
                if out.serial[i] != RESTING:
                    taken[int(out.serial[i])].append({"obs": out.obs[i].copy(), "mask": out.mask[i].copy()})
            if out.serial[i] != RESTING:
                actions[i if is_async else row] = chooser.choose(int(out.serial[i]), int(steps[row]), out.mask[i])
                steps[row] += 1
                sent.append(i)
        if is_async and sent and open_:
            game.send(out.match[sent].copy(), actions[sent])
    return taken


def _copy(out, i, over):
    names = ["signals", "reward", "ended", "truncated", "faults"]
    names += ["result", "final_obs", "final_privileged"] if over else ["obs", "privileged", "mask", "acting"]
    return {name: getattr(out, name)[i].copy() for name in names}
