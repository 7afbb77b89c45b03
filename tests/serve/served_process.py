"""A server in a process of its own, so that its memory and its time can be seen."""

import json
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from served_duel import MASKS, OBS

ASK = {"model": "plain", "obs": [OBS], "actionMasks": MASKS}
LINE = json.dumps(ASK).encode() + b"\n"
SERVE = """
import asyncio, json, sys, time
from dataclasses import replace
from pathlib import Path
from pvp_ml.serve.limits import Limits
from pvp_ml.serve.server import ServeConfig, Server

class Slow:
    name, memory, is_unasked = "slow", 0, False

    def __init__(self, model, seconds):
        self.check, self._model, self._seconds = model.check, model, seconds

    def run(self, tasks):
        time.sleep(self._seconds * len(tasks))
        return self._model.run(tasks)

async def main(folder, limits, slow_s):
    async with Server(ServeConfig(models_dir=Path(folder), port=0, side_port=0, limits=limits)) as server:
        server.engine.put(Slow(server.engine.models["plain"], slow_s))
        print(*server.ports, flush=True)
        await asyncio.Event().wait()

limits, slow_s = json.loads(sys.argv[2])
asyncio.run(main(sys.argv[1], replace(Limits(), **limits), slow_s))
"""


@contextmanager
def serving(models_dir, slow_s=0.0, **limits):
    """(process, port, side port) of a server; its model `slow` takes `slow_s` for every row."""
    patient = {"deadline_s": 20.0, "wait_s": 20.0}
    child = subprocess.Popen(
        [sys.executable, "-c", SERVE, str(models_dir), json.dumps([{**patient, **limits}, slow_s])],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    port, side = map(int, child.stdout.readline().split())
    try:
        yield child, port, side
        assert child.poll() is None, "the server died"
    finally:
        child.terminate()
        _, errors = child.communicate(timeout=120)
    assert "Traceback" not in errors, errors


def memory(pid):
    """Resident bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096
