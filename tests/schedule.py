"""Which tests run first when several processes share them.

Compiling the fights keeps one core busy for a minute. A process of its own does it from the start, and tests that play
fights come late, so nobody waits for it. Slow modules come first: a long test at the very end would run alone.
"""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
FIGHTS = ("games/osrs", "web", "cli", "docs", "examples", "scripting", "serve", "test_docs.py", "run/config")
"""Folders and files, one of whose tests plays NH or Dharok."""
SLOW = ("cluster/test_ray.py", "faults", "games/vgc", "learning", "web/test_battle_page.py", "web/test_rocket_page.py")
"""Minutes of work in a few tests."""


def urgency(module):
    """0: slow and without fights. 1: quick and without fights. 2: with fights."""
    name = module.relative_to(HERE).as_posix()
    return 0 if name.startswith(SLOW) else 2 if name.startswith(FIGHTS) else 1


def dealt(items, processes):
    """The tests in the order in which xdist hands them out: the first process gets the first share of the list.

    Modules stay whole, because they share fixtures; each goes to the process that has the fewest tests so far.
    """
    modules = {}
    for item in items:
        modules.setdefault(item.path, []).append(item)
    piles = [[] for _ in range(processes)]
    for module in sorted(modules, key=urgency):
        min(piles, key=len).extend(modules[module])
    return [item for pile in piles for item in pile]


def pytest_collection_modifyitems(config, items):
    if hasattr(config, "workerinput"):
        items[:] = dealt(items, config.workerinput["workercount"])


def pytest_sessionstart(session):
    """Compile ahead, in the process that only hands out tests."""
    if getattr(session.config.option, "numprocesses", None) and not hasattr(session.config, "workerinput"):
        command = [sys.executable, "-c", "import pvp_ml; pvp_ml.make('nh', matches=1)"]
        session.config.compiler = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=os.environ)


def pytest_sessionfinish(session):
    compiler = getattr(session.config, "compiler", None)
    if compiler:
        compiler.terminate()
        compiler.wait()
