"""What one seat of a battle elsewhere sees: made by the JavaScript that training uses, in a process of its own."""

from __future__ import annotations

import base64
import collections
import json
import subprocess
import threading
from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from pvp_ml.errors import UserError
from pvp_ml.games.vgc.config import VgcConfig, make_spec
from pvp_ml.games.vgc.layout import SCRIPTS
from pvp_ml.games.vgc.node import install

MAX_LINE = 1 << 20
VIEW_S = 30.0


class Program:
    """A child that answers lines of JSON. Reading has a deadline, because the child is not ours to trust."""

    def __init__(self, command: list[str], environment: dict[str, str] | None = None) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - our own scripts
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True,
            encoding="utf-8",
        )  # fmt: skip
        self._words: collections.deque[str] = collections.deque(maxlen=20)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def __enter__(self) -> Self:
        """The program, running."""
        return self

    def __exit__(self, *reason: object) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()
        self._listener.join(5.0)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def send(self, **message: object) -> None:
        """Write one line."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
        except OSError:
            raise UserError(f"vgc: {self.last_words}", "see the lines above it") from None

    def lines(self) -> Iterator[dict[str, Any]]:
        """Everything it says, until it ends."""
        assert self._process.stdout is not None
        while line := self._process.stdout.readline(MAX_LINE):
            try:
                yield json.loads(line)
            except ValueError:
                self._words.append(line[:300])

    def ask(self, **message: object) -> dict[str, Any]:
        """One line, and the next that it says."""
        self.send(**message)
        timer = threading.Timer(VIEW_S, self._process.kill)
        timer.start()
        try:
            answer = next(self.lines(), None)
        finally:
            timer.cancel()
        if answer is None or "error" in answer:
            raise UserError(f"vgc: no view of a battle: {(answer or {}).get('error') or self.last_words}"[:400])
        return answer

    @property
    def last_words(self) -> str:
        """The last line on its stderr."""
        self._listener.join(1.0 if self._process.poll() is not None else 0.0)
        return next((line for line in reversed(self._words) if line.strip()), "it ended without a word")

    def _listen(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._words.append(line.rstrip()[:300])


class Viewer(Program):
    """Observations and masks of battles elsewhere, made of what one seat is shown there."""

    def __init__(self, config: VgcConfig, installation: install.Installation) -> None:
        super().__init__([str(installation.node), str(SCRIPTS / "live.js")], installation.environment())
        self._spec, self.format = make_spec(config), config.format

    def advise(self, room: str, lines: list[str], request: dict[str, Any], bot: str, seed: int) -> list[int]:
        """What a bot of the game picks after these lines, when the server asks this."""
        asked = {
            "room": room,
            "format": self.format,
            "lines": lines,
            "request": request,
            "bot": bot,
            "seed": str(seed),
        }
        return [int(pick) for pick in self.ask(id=0, **asked)["picks"]]

    def look(self, room: str, lines: list[str], request: dict[str, Any]) -> tuple[int, Any, Any]:
        """(seat, obs [D], mask [A]) after these lines, when the server asks this."""
        answer = self.ask(id=0, room=room, format=self.format, lines=lines, request=request)
        obs = np.frombuffer(base64.b64decode(answer["obs"]), np.float32).copy()
        mask = np.zeros(self._spec.mask_size, np.bool_)
        mask[answer["mask"]] = True
        return int(answer["seat"]), obs, mask

    def spell(self, room: str, picks: list[int]) -> str:
        """The choice as the server reads it, for what was asked last in that room."""
        return str(self.ask(id=0, room=room, picks=picks)["choice"])

    def forget(self, room: str) -> None:
        """The battle is over."""
        self.ask(id=0, room=room, forget=True)
