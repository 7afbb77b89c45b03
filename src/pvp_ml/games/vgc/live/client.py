"""A model at a real Showdown server: logs in, accepts challenges, plays.

poke-env speaks with the server in a program of its own (`poke_env_client.py`), the view is made by the same JavaScript
that training uses (`js/live.js`), and this module decides between the two.
"""

from __future__ import annotations

import base64
import collections
import importlib.util
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from pvp_ml.errors import UserError, pip_install
from pvp_ml.games.vgc.briefing import Briefing
from pvp_ml.games.vgc.config import VgcConfig, make_spec
from pvp_ml.games.vgc.layout import SCRIPTS
from pvp_ml.games.vgc.node import install
from pvp_ml.games.vgc.teams import load_teams
from pvp_ml.players import Attending, Player

CLIENT_PYTHON = "PVP_ML_POKE_ENV_PYTHON"
LOGIN = "https://play.pokemonshowdown.com/action.php?"
MAX_LINE = 1 << 20
VIEW_S = 30.0
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class LiveConfig:
    """Where and as whom to play; `config` gives format, team sheets and the teams to draw from."""

    server: str
    user: str
    password: str = ""
    battles: int = 0  # 0 = until stopped
    concurrent: int = 1
    config: VgcConfig = field(default_factory=VgcConfig)


@dataclass(slots=True)
class LiveReport:
    """What came of it."""

    won: int = 0
    lost: int = 0
    tied: int = 0
    decisions: int = 0
    rejected: list[str] = field(default_factory=list)

    @property
    def played(self) -> int:
        """Battles that are over."""
        return self.won + self.lost + self.tied


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


def client_python() -> str:
    """A Python that has poke-env: this one, or the one that the environment names."""
    if named := os.environ.get(CLIENT_PYTHON):
        return named
    if importlib.util.find_spec("poke_env") is None:
        raise UserError(
            "playing on a server needs poke-env, which is not installed",
            f"{pip_install('vgc-live')}, or name another Python that has it in {CLIENT_PYTHON}",
        )
    return sys.executable


def play_live(settings: LiveConfig, player: Player | str, rng: np.random.Generator, tell: Tell = print) -> LiveReport:
    """Accept challenges and play them; returns after `battles`, or when stopped. A name means a bot of the game."""
    config, installation, python = settings.config, install.find(), client_python()
    teams = load_teams(config.teams, config.format, installation)
    request = {
        "mode": "live", "server": settings.server, "login": LOGIN, "user": settings.user,
        "password": settings.password, "format": config.format, "teams": list(teams.values()),
        "battles": settings.battles, "concurrent": settings.concurrent, "sheets": config.sheets,
    }  # fmt: skip
    report = LiveReport()
    client = [python, str(Path(__file__).with_name("poke_env_client.py"))]
    with Viewer(config, installation) as viewer, Program(client) as server:
        seat = _BotSeat(viewer, player, rng) if isinstance(player, str) else _Seat(viewer, player, rng)
        server.send(**request)
        done = False
        for news in server.lines():
            if "ask" in news:
                report.decisions += 1
                server.send(ask=news["ask"], choice=seat.decide(news))
            elif "over" in news:
                seat.leave(news["room"])
                tell(f"{news['room']}: {_count(report, news['won'])}; {report.won} won of {report.played}")
            elif "rejected" in news:
                report.rejected.append(news["rejected"])
                tell(f"{news['room']}: the server rejected a choice: {news['rejected']}")
            elif "ready" in news:
                tell(f"{news['ready']} waits for challenges in {config.format} at {settings.server}")
            done = done or "done" in news
        if not done:
            raise UserError(f"vgc: the connection ended: {server.last_words}", f"is a server at {settings.server}?")
    return report


class _Seat:
    """The player in all rooms that it plays in; a room is a match with a serial of its own."""

    def __init__(self, viewer: Viewer, player: Player, rng: np.random.Generator) -> None:
        self._viewer, self._player, self._rng = viewer, player, rng
        self._serials: dict[str, int] = {}
        self._shown: dict[int, tuple[list[str], dict[str, Any]]] = {}  # serial → all lines so far, what is asked now
        self._count = 0
        if isinstance(player, Attending):
            player.attend(self)

    def decide(self, news: dict[str, Any]) -> str:
        """The choice, as the server reads it."""
        room = news["room"]
        if room not in self._serials:
            self._serials[room], self._count = self._count, self._count + 1
            self._player.begin(np.array([self._serials[room]], np.int64))
        serial = np.array([self._serials[room]], np.int64)
        lines = self._shown.get(self._serials[room], ([], {}))[0] + news["lines"]
        self._shown[self._serials[room]] = lines, news["request"]
        seat, obs, mask = self._viewer.look(room, news["lines"], news["request"])
        key = self._rng.integers(0, 1 << 63, 1, np.int64).astype(np.uint64)
        picks = self._player.decide(serial, np.array([seat], np.int32), obs[None], mask[None], key)
        return self._viewer.spell(room, [int(pick) for pick in picks[0]])

    def briefing(self, serial: int, seat: int, start: int) -> Briefing:
        """What the server has shown in that room."""
        lines, request = self._shown[serial]
        return Briefing(self._viewer.format, lines[start:], request, len(lines))

    def leave(self, room: str) -> None:
        """The battle is over."""
        if room in self._serials:
            serial = self._serials.pop(room)
            self._player.end(np.array([serial], np.int64))
            self._shown.pop(serial, None)
            self._viewer.forget(room)


class _BotSeat:
    """A bot of the game in all rooms; it remembers nothing."""

    def __init__(self, viewer: Viewer, bot: str, rng: np.random.Generator) -> None:
        self._viewer, self._bot, self._rng = viewer, bot, rng

    def decide(self, news: dict[str, Any]) -> str:
        """The choice, as the server reads it."""
        seed = int(self._rng.integers(0, 1 << 63))
        picks = self._viewer.advise(news["room"], news["lines"], news["request"], self._bot, seed)
        return self._viewer.spell(news["room"], picks)

    def leave(self, room: str) -> None:
        """The battle is over."""
        self._viewer.forget(room)


def _count(report: LiveReport, won: bool | None) -> str:
    """Add a result and give its word."""
    report.won += won is True
    report.lost += won is False
    report.tied += won is None
    return "tied" if won is None else "won" if won else "lost"
