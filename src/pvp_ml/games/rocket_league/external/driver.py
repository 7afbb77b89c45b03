"""A player that is a program: `pvp-ml eval --against 'external:python my_bot.py'`. Only a flag may start one.

One JSON line each way. First we greet: {"format": 1, "game": "rocket_league", "mode": …, "tick_skip": …, "delay_ticks":
…, "pads": [[x, y, z] × 34]}; it answers {"ready": true}. Then for every step {"turns": [{"match", "seat", "begins",
"state"}, …]} → {"controls": [[throttle, steer, pitch, yaw, roll, jump, boost, handbrake], …]}, in the same order. What
it answers is not trusted: limits on length and time, numbers from −1 to 1, nothing else. It ends when its input does.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import threading
import weakref
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from typing import IO, Any

import numpy as np

from pvp_ml.errors import UserError, visible
from pvp_ml.games.rocket_league.arena.field import PADS
from pvp_ml.games.rocket_league.external.state import state_of
from pvp_ml.games.rocket_league.game import RocketLeagueGame
from pvp_ml.match import BoolArray, FloatArray, IntArray
from pvp_ml.players import KeyArray, SerialArray

FORMAT = 1
MAX_LINE = 1 << 20
READY_S, ANSWER_S, ENDING_S = 120.0, 30.0, 2.0


class ExternalDriver:
    """Drives any seats of any matches of one game with what a program answers."""

    def __init__(self, game: RocketLeagueGame, command: Sequence[str], answer_s: float = ANSWER_S) -> None:
        if not command or shutil.which(command[0]) is None:
            named = " ".join(command)[:80]
            raise UserError(f"there is no program '{named}'", "write --against 'external:python my_bot.py'")
        self._game, self._name, self._answer_s = game, visible(command[0]), answer_s
        process = subprocess.Popen(  # noqa: S603 - the user's own command, never a shell
            list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert process.stdin is not None and process.stdout is not None
        self._input = process.stdin
        self._lines: SimpleQueue[bytes] = SimpleQueue()
        threading.Thread(target=_listen, args=(process.stdout, self._lines), daemon=True).start()
        self.close = weakref.finalize(self, _end, process)
        self._fresh: set[int] = set()
        if self._ask(game.greeting() | {"format": FORMAT, "pads": PADS.tolist()}, READY_S).get("ready") is not True:
            raise self._error("did not say that it is ready", 'it answers the first line with {"ready": true}')

    def begin(self, serials: SerialArray) -> None:
        """Its next turn in these matches says that they begin."""
        self._fresh |= set(serials.tolist())

    def end(self, serials: SerialArray) -> None:
        """Nothing is kept here."""

    def decide(
        self, serials: SerialArray, seats: IntArray, obs: FloatArray, mask: BoolArray, keys: KeyArray
    ) -> IntArray:
        """The choices [B,H] most like the controls that the program answers with."""
        rows = self._game.rows_of(serials)
        turns = [
            {"match": serial, "seat": seat, "begins": serial in self._fresh, "state": state_of(self._game, row)}
            for serial, seat, row in zip(serials.tolist(), seats.tolist(), rows.tolist(), strict=True)
        ]
        self._fresh -= set(serials.tolist())
        answer = self._ask({"turns": turns}, self._answer_s)
        return self._game.choices(rows, seats.astype(np.int64), self._controls(answer, len(turns)))

    def _controls(self, answer: dict[str, Any], count: int) -> FloatArray:
        try:
            values = np.array(answer["controls"], np.float32).reshape(count, 8)
        except (KeyError, ValueError, TypeError, OverflowError):
            raise self._error(
                f"answered no {count} × 8 controls", 'it answers {"controls": [[…8 numbers…], …]}'
            ) from None
        if not (np.abs(values) <= 1.0).all():  # false for what is not a number, too
            raise self._error(
                "answered a control outside −1…1", "throttle, steer, pitch, yaw, roll, then buttons 0 or 1"
            )
        return values

    def _ask(self, question: dict[str, Any], seconds: float) -> dict[str, Any]:
        try:
            self._input.write(json.dumps(question, separators=(",", ":")).encode() + b"\n")
            self._input.flush()
            line = self._lines.get(timeout=seconds)
        except (OSError, ValueError):
            raise self._error("has ended", "run it by hand to see why") from None
        except Empty:
            raise self._error(f"gave no answer for {seconds:g} s", "does it flush its output?") from None
        if not line.endswith(b"\n"):
            raise self._error("has ended, or wrote a line that is too long", f"a line has at most {MAX_LINE} bytes")
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise self._error(f"answered {visible(line[:60].decode('utf-8', 'replace'))}", "one JSON object a line")
        return answer

    def _error(self, what: str, hint: str) -> UserError:
        self.close()
        return UserError(f"the external player '{self._name}' {what}", hint)


def _listen(output: IO[bytes], lines: SimpleQueue[bytes]) -> None:
    """Line by line until it ends; the last entry has no line end."""
    with contextlib.suppress(OSError, ValueError), output:
        while (line := output.readline(MAX_LINE)).endswith(b"\n"):
            lines.put(line)
    lines.put(b"")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close its input, wait a moment, then end it."""
    with contextlib.suppress(OSError):
        assert process.stdin is not None
        process.stdin.close()
    try:
        process.wait(ENDING_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
