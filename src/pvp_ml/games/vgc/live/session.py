"""Somebody logged in at a Showdown server: says what others say there, and comes back when the connection is cut."""

from __future__ import annotations

import json
import queue
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass

from pvp_ml.errors import UserError
from pvp_ml.games.vgc.live.room import user_id
from pvp_ml.games.vgc.live.websocket import ConnectionCutError, Heard, WebSocket

LOGIN = "https://play.pokemonshowdown.com/api/login"
LOGIN_S = 30.0
MAX_ANSWER = 1 << 16
SILENT_S = 45.0
"""After so much silence the server is asked whether it is there, after twice as much the connection counts as cut."""
FIRST_WAIT_S, MOST_WAIT_S = 0.5, 30.0
PATIENCE_S = 900.0
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Message:
    """Lines of one room; '' is what belongs to none."""

    room: str
    lines: list[str]


def read_message(text: str) -> Message:
    """`>ROOM`, if there is one, and the lines after it."""
    lines = text.split("\n")
    room = lines.pop(0)[1:].strip() if text.startswith(">") else ""
    return Message(room, [line for line in lines if line])


class Session:
    """`logins` counts how often we logged in: after each, rooms must be joined again. Without a name we are a guest."""

    def __init__(self, server: str, user: str, password: str, tell: Tell) -> None:
        self.server, self.user, self._password, self._tell = server, user, password, tell
        self._inbox: queue.SimpleQueue[Heard] = queue.SimpleQueue()
        self._socket: WebSocket | None = None
        self._life = 0
        self.logins = self.cuts = 0
        self.is_in = False

    def open(self) -> None:
        """Connect for the first time; refuses when nobody is there."""
        try:
            self._connect()
        except ConnectionCutError as error:
            raise UserError(f"vgc: no connection: {error}", f"is a server at {self.server}?") from None

    def next(self, timeout_s: float) -> Message | None:
        """The next message; None when there was none in time. Connects again when it must."""
        if self._socket is None:
            self._come_back()
        assert self._socket is not None
        try:
            heard = self._inbox.get(timeout=timeout_s)
        except queue.Empty:
            self._mind_silence()
            return None
        if heard.life != self._life:
            return None
        if heard.text is None:
            self._lost()
            return None
        message = read_message(heard.text)
        if not message.room:
            self._greet(message.lines)
        return message

    def say(self, room: str, text: str) -> None:
        """To a room, or ('') to the server. What is said into a cut connection is lost: the server asks again."""
        if self._socket is None:
            return
        try:
            self._socket.send(f"{room}|{text}")
        except ConnectionCutError:
            self._lost()

    def close(self) -> None:
        """Hang up for good."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _connect(self) -> None:
        self._life += 1
        self._socket = WebSocket(self.server, self._inbox, self._life)

    def _lost(self) -> None:
        self.cuts, self.is_in = self.cuts + 1, False
        self.close()
        self._tell("the connection was cut")

    def _mind_silence(self) -> None:
        if self._socket is None or self._socket.silent_s < SILENT_S:
            return
        if self._socket.silent_s > 2 * SILENT_S:
            self._lost()
            return
        try:
            self._socket.ping()
        except ConnectionCutError:
            self._lost()

    def _come_back(self) -> None:
        wait_s, until = FIRST_WAIT_S, time.monotonic() + PATIENCE_S
        while True:
            time.sleep(wait_s)
            try:
                self._connect()
                return
            except ConnectionCutError as error:
                if time.monotonic() > until:
                    raise UserError(
                        f"vgc: no way back to {self.server} in {PATIENCE_S:.0f} s: {error}", "is it still there?"
                    ) from None
            wait_s = min(2 * wait_s, MOST_WAIT_S)

    def _greet(self, lines: list[str]) -> None:
        for line in lines:
            parts = line.split("|")
            kind = parts[1] if len(parts) > 1 else ""
            if kind == "challstr" and not self.user:
                self.is_in, self.logins = True, self.logins + 1
            elif kind == "challstr":
                self.say("", f"/trn {self.user},0,{self._assertion(line[len('|challstr|') :])}")
            elif kind == "updateuser" and len(parts) > 3 and parts[3] == "1":
                if user_id(parts[2].split("@")[0]) == user_id(self.user) and not self.is_in:
                    self.is_in, self.logins = True, self.logins + 1
            elif kind == "nametaken":
                raise UserError(f"vgc: the server does not give us the name '{self.user}': {parts[-1][:200]}",
                                "another --user, or its password with --password-file")  # fmt: skip

    def _assertion(self, challenge: str) -> str:
        """What proves to the server that the name is ours; '' where no password is given."""
        if not self._password:
            return ""
        form = {"name": self.user, "pass": self._password, "challstr": challenge}
        asked = urllib.request.Request(LOGIN, urllib.parse.urlencode(form).encode())
        try:
            with urllib.request.urlopen(asked, timeout=LOGIN_S) as answer:  # noqa: S310 - a fixed https address
                said = json.loads(answer.read(MAX_ANSWER).decode().lstrip("]"))
        except (OSError, ValueError, urllib.error.URLError) as error:
            raise UserError(f"vgc: no login: {error}"[:300], f"is {LOGIN} reachable?") from None
        assertion = str(said.get("assertion") or "")
        if not assertion or assertion.startswith(";;"):
            raise UserError(f"vgc: the login server refuses '{self.user}': {assertion[2:200] or 'wrong password'}")
        return assertion
