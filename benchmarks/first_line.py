"""How long each command is silent: seconds to the first byte and to the end, in a terminal and a pipe, cold and warm.

    python benchmarks/first_line.py [--only eval,train] [--cold]

Cold: no bytecode and an empty cache of compiled kernels, as after an installation. Commands run in a new folder.
"""

from __future__ import annotations

import argparse
import os
import pty
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = Path(sys.executable).parent / "pvp-ml"
SMALL = "--num-envs 8 --n-steps 8 --total-timesteps 128 --run.shards 1 --no-tensorboard"
LINES = {
    "": "--help",
    "train": f"--game connect4 --name quick {SMALL}",
    "train nh": f"--preset nh/quick --name nh {SMALL}",
    "eval": "--model GeneralizedNh --matches 8",
    "demo": "--game connect4 --seconds 1",
    "jobs": "list",
    "tensorboard": "--stop",
    "watch": "nh",
    "replay": "show missing.replay",
    "league": "rate --models GeneralizedNh nh-bot --matches 8",
    "exploit": "GeneralizedNh --budget 1000",
    "compare": "quick",
    "sweep": "missing.yml --name search",
    "play": "connect4 --text",
    "advise": "vgc --team missing.txt",
    "ui": "--no-open --port 0",
    "game": "list",
    "team": "check missing.txt",
    "model": "list",
    "bc": "record nh-plugin --game nh --out plugin.zip --matches 8",
    "serve": "--model GeneralizedNh --port 0",
    "sim-server": "--port 0",
    "obs": "check missing.jsonl --game nh",
    "config": "show --preset nh/quick",
    "bench": "sim --game nh",
    "doctor": "",
}
LONGEST_S = 20.0


def measure(line: str, folder: Path, on_terminal: bool, environment: dict[str, str]) -> tuple[float, float, str]:
    """Seconds to the first byte and to the end (at most LONGEST_S), and what was shown first."""
    if on_terminal:
        ours, theirs = pty.openpty()
    else:
        ours, theirs = os.pipe()
    begin = time.monotonic()
    process = subprocess.Popen(
        [str(PROGRAM), *shlex.split(line)], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, cwd=folder,
        env=environment, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    first, shown, is_open = 0.0, b"", True
    while is_open and time.monotonic() - begin < LONGEST_S:
        if select.select([ours], [], [], 0.02)[0]:
            try:
                data = os.read(ours, 65536)
            except OSError:  # a terminal whose other side is gone
                data = b""
            first = first or time.monotonic() - begin
            shown += data
            is_open = bool(data)
            if len(shown) > 20 and line.split()[0] in ("ui", "serve", "sim-server") and b"\n" in shown:
                break
    total = time.monotonic() - begin
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
    os.close(ours)
    return first, total, shown.decode(errors="replace").replace("\x1b[2K", "").strip().splitlines()[0][:60]


def main() -> None:
    """Print one row per command and way of looking."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--cold", action="store_true")
    asked = parser.parse_args()
    chosen = asked.only.split(",") if asked.only else list(LINES)
    with tempfile.TemporaryDirectory() as place:
        for name in chosen:
            for on_terminal in (True, False):
                environment = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
                with tempfile.TemporaryDirectory() as empty:
                    if asked.cold:
                        environment |= {"PYTHONPYCACHEPREFIX": f"{empty}/bytecode", "PVP_ML_CACHE": f"{empty}/cache"}
                    line = f"{name.split()[0] if name else ''} {LINES[name]}".strip()
                    first, total, shown = measure(line, Path(place), on_terminal, environment)
                way = "terminal" if on_terminal else "pipe"
                print(f"{name or '(none)':12} {way:8} {first:5.2f} s {total:6.2f} s  {shown}", flush=True)


if __name__ == "__main__":
    main()
