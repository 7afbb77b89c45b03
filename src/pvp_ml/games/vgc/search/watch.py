"""Advice turn by turn in a battle that is watched at a server, as a guest who sees what every spectator sees."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

from pvp_ml.errors import UserError
from pvp_ml.games.tooling import AdviceRequest
from pvp_ml.games.vgc.formats import find_format
from pvp_ml.games.vgc.live.session import Message, Session
from pvp_ml.games.vgc.search.advise import Adviser, PositionAdvice, own_team

BATTLE = "battle-"
LOOK_AGAIN_S = 2.0
MAX_LINES = 50_000


class _Watched:
    """The log of a room, and whether a turn has begun that nobody has thought about."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.is_new = self.is_over = False

    def hear(self, lines: list[str]) -> None:
        """Take one message of the room."""
        for line in lines:
            if line.startswith("|init|"):
                self.lines = []
            if line.startswith(("|noinit|", "|deinit")):
                raise UserError(f"vgc: this battle cannot be watched: {line[:200]}", "another --room")
            if len(self.lines) < MAX_LINES:
                self.lines.append(line)
            self.is_new = self.is_new or line.startswith("|turn|")
            self.is_over = self.is_over or line.split("|")[1:2] in (["win"], ["tie"])


def watch(request: AdviceRequest) -> Iterator[PositionAdvice]:
    """Advice for every turn from now on, until the battle is over."""
    if not request.server.startswith(("ws://", "wss://")):
        raise UserError(f"'{request.server}' is not the address of a websocket", "ws://HOST:PORT/showdown/websocket")
    session = Session(request.server, "", "", lambda text: None)
    with Adviser(request) as adviser:
        session.open()
        try:
            yield from _follow(session, request, adviser)
        finally:
            session.close()


def _follow(session: Session, request: AdviceRequest, adviser: Adviser) -> Iterator[PositionAdvice]:
    room, logins, asked, watched = request.room, 0, 0.0, _Watched()
    while not watched.is_over:
        message = session.next(0.2)
        if session.is_in and not room and time.monotonic() - asked > LOOK_AGAIN_S:
            session.say("", "/cmd roomlist")
            asked = time.monotonic()
        if message is not None and not room:
            room = _first_battle(message)
        if session.is_in and room and logins != session.logins:
            session.say("", f"/join {room}")
            logins = session.logins
        if message is None or message.room != room or not room:
            continue
        watched.hear(message.lines)
        if watched.is_new and not watched.is_over:
            watched.is_new = False
            adviser.began = time.monotonic()
            format = find_format(request.format or room.split("-")[1]).id
            yield adviser.advise({"format": format, "lines": watched.lines, "team": own_team(request, format)})


def _first_battle(message: Message) -> str:
    """The first battle that a server lists; '' when this is not its list, or empty."""
    for line in message.lines:
        if line.startswith("|queryresponse|roomlist|"):
            try:
                rooms = dict(json.loads(line.split("|", 3)[3])["rooms"])
            except (ValueError, KeyError, TypeError):
                continue
            return next((name for name in rooms if name.startswith(BATTLE)), "")
    return ""
