"""`python tests/games/osrs/remote_load.py [free] [lock-step] [strict] [--small] [--only ROW]`: fights under load.

A server in a process of its own and the real commands. `free` and `lock-step` are `pvp-ml sim-server`, `strict` is
strict_server.py, which shares no code with us. Each row of the table must end by itself,
leave no agent on the server, and name every failure within 10 s. Exit 0 when all rows hold.
"""

import argparse
import contextlib
import json
import logging
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from odd_servers import KINDS, OddServer

from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.match import RESTING, Bot, External, Fault, MatchPlan, StepBuffers

NAMED_S, MORE_S = 10.0, 0.5
ROWS = 34
PVP_ML = [sys.executable, "-m", "pvp_ml"]
MODES = {
    "free": [*PVP_ML, "sim-server"],
    "lock-step": [*PVP_ML, "sim-server", "--lock-step"],
    "strict": [sys.executable, str(Path(__file__).parent / "strict_server.py")],
}


@dataclass(frozen=True)
class Sizes:
    """How much of everything."""

    steps: int = 50_000
    fights: int = 200
    faults: int = 20
    limit_s: float = 1800.0


SMALL = Sizes(steps=2_000, fights=8, faults=2)


class Server:
    """A server process on one port, which can be killed, stopped and started again."""

    def __init__(self, command: list[str]) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._command = [*command, "--port", str(self.port)]
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        self.process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def await_ready(self) -> None:
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            time.sleep(0.05)
        raise AssertionError("the server does not listen")

    def signal(self, number: int) -> None:
        os.kill(self.process.pid, number)

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def agents(self, within_s: float = 8.0) -> int:
        """Agents that are there, after those whose connection is gone had their time to be removed."""
        deadline = time.monotonic() + within_s
        while True:
            with socket.create_connection(("127.0.0.1", self.port), 10) as link, link.makefile("rb") as answers:
                link.sendall(b'{"action": "debug", "meta": {"id": ""}}\n')
                left = len(json.loads(answers.readline())["body"])
            if not left or time.monotonic() > deadline:
                return left
            time.sleep(0.2)


@dataclass
class Result:
    """One row of the table."""

    mode: str
    what: str
    ended: bool
    left: int  # agents on the server afterwards
    worst_s: float  # longest time until a failure was named; 0 without one
    figures: str
    seconds: float

    @property
    def holds(self) -> bool:
        return self.ended and not self.left and self.worst_s <= NAMED_S

    def __str__(self) -> str:
        named = f"{self.worst_s:5.1f}" if self.worst_s else "    –"
        words = f"{self.mode:9} {self.what:24} {'yes' if self.holds else 'NO':5} {'0' if self.ended else '1':>5}"
        return f"{words} {self.left:6} {named} {self.seconds:8.0f}  {self.figures}"


HEADER = f"{'mode':9} {'what':24} {'holds':5} {'hangs':>5} {'agents':>6} {'named':>5} {'seconds':>8}"


# --- commands ---------------------------------------------------------------------------------------------------------


def command(server: Server, words: list[str], folder: Path, limit_s: float) -> tuple[bool, str]:
    """Whether it ended well in time, and what it printed."""
    line = [*PVP_ML, *words, "--env.remote", f"127.0.0.1:{server.port}"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=limit_s, env=environment)
    except subprocess.TimeoutExpired:
        return False, "no end"
    return done.returncode == 0, done.stdout if done.returncode == 0 else (done.stdout + done.stderr)[-300:]


def train(server: Server, sizes: Sizes, folder: Path) -> tuple[bool, float, str]:
    words = ["train", "--preset", "nh/quick", "--name", "load", "--run.total-steps", str(sizes.steps),
             "--env.matches", str(ROWS), "--ppo.n-steps", "64", "--ppo.batch-size", "512", "--run.shards", "1",
             "--eval.every", "0", "--eval.matches", "2", "--tracking.view", "off",
             "--tracking.tensorboard", "false"]  # fmt: skip
    good, said = command(server, words, folder, sizes.limit_s)
    if not good:
        return False, 0.0, said
    last = json.loads((folder / "experiments/load/metrics.jsonl").read_text().splitlines()[-1])
    voids = last.get("match/voids", 0)  # nothing goes wrong here, so none may be lost
    return last["steps"] >= sizes.steps and not voids, 0.0, f"{last['steps']:,} steps, {voids} void"


def evaluation(model: str, rival: str) -> "callable":
    def play(server: Server, sizes: Sizes, folder: Path) -> tuple[bool, float, str]:
        words = ["eval", "--model", model, "--against", rival, "--matches", str(sizes.fights), "--json"]
        good, said = command(server, words, folder, sizes.limit_s)
        if not good:
            return False, 0.0, said
        (result,) = json.loads(said)["results"]
        return result["matches"] >= sizes.fights, 0.0, f"{result['matches']} fights, score {result['score']:.3f}"

    return play


# --- fights that are watched ------------------------------------------------------------------------------------------


class Named(logging.Handler):
    """When the client named a failure."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.times: list[float] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.times.append(time.monotonic())


@dataclass
class Play:
    """A game of 34 rows that plays on and on, with both of ours, or ours in either seat against the server's bot."""

    port: int
    rows: int = ROWS
    max_ticks: int = 60
    serial: int = 0
    ended: int = 0
    answers: int = 0
    named: Named = field(default_factory=Named)

    def __post_init__(self) -> None:
        logging.getLogger("pvp_ml").addHandler(self.named)
        kind = registry.find("nh")
        settings = {"remote": f"127.0.0.1:{self.port}", "max_ticks": self.max_ticks}
        self.game = kind.build(registry.configure(kind, settings), self.rows)
        self.out = StepBuffers.allocate(self.game.spec, self.rows)
        self._idle = np.zeros((self.rows, 2, len(self.game.spec.heads)), np.int32)
        self._plan()
        self.game.start()

    def _plan(self) -> None:
        lineups = ((External("a"), External("b")), (External("a"), Bot("nh-bot")), (Bot("nh-bot"), External("a")))
        self.game.queue([MatchPlan(n, n, lineups[n % 3]) for n in range(self.serial, self.serial + 2 * self.rows)])
        self.serial += 2 * self.rows

    def go(self, seconds: float, until: "callable" = lambda: False) -> bool:
        """Play for that long, or until something is true; gives whether it came true."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if until():
                return True
            count = self.game.recv(1, 0.1, self.out)
            self.answers += count
            over = self.out.ended[:count] | self.out.truncated[:count]
            self.ended += int(over.sum())
            live = self.out.serial[:count] != RESTING
            self.game.send(self.out.match[:count][live].copy(), self._idle[: int(live.sum())])
            if self.serial - self.ended - sum(self.game.voids.values()) < 2 * self.rows:
                self._plan()
        return until()

    def close(self) -> None:
        self.game.close()
        logging.getLogger("pvp_ml").removeHandler(self.named)


def faults(server: Server, sizes: Sizes, kind: str) -> tuple[bool, float, str]:
    """Kill or stop the server while fights are on, bring it back, and see fights end again."""
    rng, worst, play = random.Random(kind), 0.0, Play(server.port)
    try:
        for number in range(sizes.faults):
            before = play.ended
            if not play.go(120, lambda before=before: play.ended > before):
                return False, worst, f"no fight ended before {kind} {number + 1}"
            play.go(rng.random())
            seen, at = len(play.named.times), time.monotonic()
            if kind == "kill":
                server.stop()
            else:
                server.signal(signal.SIGSTOP)
            was_named = play.go(2 * NAMED_S, lambda seen=seen: len(play.named.times) > seen)
            worst = max(worst, (play.named.times[seen] if was_named else time.monotonic()) - at)
            play.go(MORE_S)  # until the other rows have lost their fights, too
            if kind == "kill":
                server.start()
            else:
                server.signal(signal.SIGCONT)
        before = play.ended
        if not play.go(180, lambda: play.ended >= before + play.rows):
            return False, worst, "no fights end after the last one"
    finally:
        play.close()
    void = {fault.name.lower(): play.game.voids[fault] for fault in Fault if play.game.voids[fault]}
    return True, worst, f"{sizes.faults} {kind}s, {play.ended} fights ended, void {void}"


def cold(server: Server) -> tuple[bool, float, str]:
    """Nobody listens yet: that is named at once, and fights begin when the server has come."""
    at, play = time.monotonic(), Play(server.port)
    try:
        was_named = play.go(2 * NAMED_S, lambda: bool(play.named.times))
        worst = (play.named.times[0] if was_named else time.monotonic()) - at
        server.start()
        good = play.go(300, lambda: play.ended >= play.rows)
    finally:
        play.close()
    return good, worst, f"{play.ended} fights ended"


def interrupts(server: Server, sizes: Sizes, folder: Path) -> tuple[bool, float, str]:
    """A training that is stopped, politely or by Ctrl-C, logs its agents out before it ends."""
    left = []
    for n, number in enumerate((signal.SIGINT, signal.SIGTERM) * 2):
        words = ["train", "--preset", "nh/quick", "--name", f"stopped-{n}", "--env.matches", str(ROWS), "--run.shards",
                 "1", "--ppo.n-steps", "8", "--eval.every", "0", "--tracking.view", "off", "--tracking.tensorboard",
                 "false", "--env.remote", f"127.0.0.1:{server.port}"]  # fmt: skip
        training = subprocess.Popen([*PVP_ML, *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 120
        while server.agents(0.0) < ROWS and time.monotonic() < deadline:
            time.sleep(0.2)
        time.sleep(random.Random(n).random())
        training.send_signal(number)
        try:
            training.wait(60)
        except subprocess.TimeoutExpired:
            training.kill()
            return False, 0.0, f"no end after {number.name}"
        left.append(server.agents(0.5))
    return not any(left), 0.0, f"4 stopped, agents left {left}"


def odd() -> tuple[bool, float, str]:
    """Servers that are none: how long until the user knows."""
    worst, slowest = 0.0, ""
    for kind in KINDS:
        server, at = OddServer(kind), time.monotonic()
        play = Play(server.port)
        try:
            was_named = play.go(2 * NAMED_S, lambda play=play: bool(play.named.times))
        except UserError:
            was_named = True
        took = time.monotonic() - at
        play.close()
        server.close()
        if not was_named:
            return False, took, f"'{kind}' was not named"
        if took > worst:
            worst, slowest = took, kind
    return True, worst, f"{len(KINDS)} odd servers named, the slowest '{slowest}'"


def swaps(server: Server, sizes: Sizes) -> tuple[bool, float, str]:
    """Rows whose matches change seats and sides all the time."""
    play = Play(server.port, max_ticks=12)
    try:
        good = play.go(sizes.limit_s, lambda: play.ended >= 5 * sizes.fights)
    finally:
        play.close()
    void = sum(play.game.voids.values())
    return good and not void and not play.named.times, 0.0, f"{play.ended} fights in {play.rows} rows, {void} void"


ROWS_OF_TABLE = {
    "cold server": lambda server, sizes, folder: cold(server),
    "seat swaps, 34 rows": lambda server, sizes, folder: swaps(server, sizes),
    "eval against nh-bot": evaluation("GeneralizedNh", "nh-bot"),
    "model against model": evaluation("GeneralizedNh", "FineTunedNh"),
    "train": train,
    "interrupts": interrupts,
    "kills": lambda server, sizes, folder: faults(server, sizes, "kill"),
    "stalls": lambda server, sizes, folder: faults(server, sizes, "stall"),
}


def table(modes: list[str], sizes: Sizes, only: str = "") -> list[Result]:
    """Run everything, or the rows whose name has `only` in it; prints each row when it is there."""
    print(HEADER, flush=True)
    results = []
    for mode in modes:
        server = Server(MODES[mode])
        with tempfile.TemporaryDirectory() as folder:
            try:
                for what, run in ROWS_OF_TABLE.items():
                    if only not in what:
                        continue
                    if server.process is None and what != "cold server":
                        server.start()
                        server.await_ready()
                    began = time.monotonic()
                    good, worst, figures = run(server, sizes, Path(folder))
                    server.await_ready()
                    took = time.monotonic() - began
                    results.append(Result(mode, what, good, server.agents(), worst, figures, took))
                    print(results[-1], flush=True)
            finally:
                server.stop()
    return results


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("modes", nargs="*", help=f"of {', '.join(MODES)}; default all")
    parser.add_argument("--small", action="store_true", help="a minute instead of a quarter of an hour")
    parser.add_argument("--part", type=int, default=1, help="only this part of everything: 5 = a fifth")
    parser.add_argument("--only", default="", help="rows whose name has this in it")
    asked = parser.parse_args()
    if unknown := set(asked.modes) - set(MODES):
        parser.error(f"there is no mode {', '.join(unknown)}")
    whole = SMALL if asked.small else Sizes()
    sizes = Sizes(whole.steps // asked.part, whole.fights // asked.part, whole.faults // asked.part)
    results = table(asked.modes or list(MODES), sizes, asked.only)
    if not asked.only or asked.only in "odd servers":
        began = time.monotonic()
        good, worst, figures = odd()
        results.append(Result("odd", "odd servers", good, 0, worst, figures, time.monotonic() - began))
        print(results[-1], flush=True)
    return 0 if results and all(result.holds for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
