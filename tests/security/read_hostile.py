"""Read every file of a folder as a bundle under watch; run as a script. Prints one JSON line per file.

Watched: seconds of CPU, peak memory, files opened for writing, modules imported, processes started.
"""

import json
import os
import sys
import time
import tracemalloc
from pathlib import Path

from pvp_ml.errors import UserError
from pvp_ml.model.bundle import read_bundle

WATCHED = ("import", "exec", "compile", "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn",
           "os.fork", "socket.connect", "os.mkdir", "os.rename", "os.remove", "os.symlink", "os.link",
           "shutil.rmtree")  # fmt: skip


def main(folder):
    events = []
    watching = False

    def watch(event, args):
        if watching and (event in WATCHED or (event == "open" and _writes(args))):
            events.append(f"{event} {args[0]!r}")

    sys.addaudithook(watch)
    first, *rest = sorted(folder.iterdir())  # the valid one: whatever is imported lazily is imported now
    assert read_bundle(first).metadata.game == "duel"
    for path in rest:
        events.clear()
        watching = True
        started = time.process_time()
        error = attempt(path)
        seconds = time.process_time() - started
        watching = False
        tracemalloc.start()
        attempt(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        print(json.dumps({"file": path.name, "error": error, "seconds": seconds, "peak": peak, "events": events}))


def attempt(path):
    """The refusal's text, None when it was accepted, or what else happened."""
    try:
        read_bundle(path)
    except UserError as refusal:
        return str(refusal)
    except BaseException as accident:
        return f"ACCIDENT {type(accident).__name__}: {accident}"
    return None


def _writes(args):
    mode, flags = args[1], args[2]
    return (isinstance(mode, str) and any(c in mode for c in "wax+")) or bool(flags & (os.O_WRONLY | os.O_RDWR))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
