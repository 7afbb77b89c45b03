"""A player at a Showdown server: looks for battles or accepts challenges, plays them, and keeps the results.

The view of a battle is made by the JavaScript that training uses (`js/live.js`).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from pvp_ml.errors import UserError
from pvp_ml.games.vgc.config import VgcConfig
from pvp_ml.games.vgc.live.results import LiveReport, keep, result_of
from pvp_ml.games.vgc.live.room import BattleRoom, user_id
from pvp_ml.games.vgc.live.seats import Decides, seat_of
from pvp_ml.games.vgc.live.series import Series, asks_for_ready
from pvp_ml.games.vgc.live.session import Message, Session
from pvp_ml.games.vgc.live.viewer import Viewer
from pvp_ml.games.vgc.node import install
from pvp_ml.games.vgc.teams import packed_teams
from pvp_ml.players import Player

BATTLE, SERIES = "battle-", "game-"
BUSY_S, CALM_S = 0.1, 2.0
"""How long a message is waited for while something is due, and otherwise."""
SEARCH_AGAIN_S = 20.0
"""A search that the server does not confirm is started again after this long."""
FAREWELL_S = 10.0
TURN_SHARE = 0.4
"""Share of the turn's time that a decision may take."""
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class LiveConfig:
    """Where, as whom and how to play; `config` gives format, team sheets and the teams to draw from.

    ladder: look for battles instead of accepting challenges.
    timer: ask for the battle timer, so that nobody keeps us waiting for ever.
    format: the server's name of what is played, '' = that of `config`; a best of three has a name of its own.
    """

    server: str
    user: str
    password: str = ""
    battles: int = 0  # 0 = until stopped
    concurrent: int = 1
    ladder: bool = False
    timer: bool = True
    format: str = ""
    results: Path | None = None
    config: VgcConfig = field(default_factory=VgcConfig)


@dataclass(slots=True)
class Stop:
    """How often somebody asked us to stop: once = play what has begun to its end, twice = give up and go."""

    asked: int = 0


def play_live(
    settings: LiveConfig, player: Player | str, rng: np.random.Generator, tell: Tell = print, stop: Stop | None = None
) -> LiveReport:
    """Play until `battles` are over or somebody stops us. A name instead of a player means a bot of the game."""
    installation = install.find()
    teams = packed_teams(settings.config.teams, settings.config.format, installation)
    session = Session(settings.server, settings.user, settings.password, tell)
    with Viewer(settings.config, installation) as viewer:
        visit = _Visit(settings, session, seat_of(viewer, player, rng), teams, rng, tell)
        session.open()
        try:
            return visit.run(stop or Stop())
        finally:
            session.close()


class _Visit:
    """All battles that we are in, and what we are waiting for."""

    def __init__(
        self, settings: LiveConfig, session: Session, seat: Decides, teams: dict[str, str], rng: np.random.Generator,
        tell: Tell,
    ) -> None:  # fmt: skip
        self._settings, self._session, self._seat, self._tell = settings, session, seat, tell
        self._teams, self._rng = teams, rng
        self._team = ""  # the one we brought last
        self._played: dict[str, str] = {}  # room → team
        self._us = user_id(settings.user)
        self._format = settings.format or settings.config.format
        self._rooms: dict[str, BattleRoom] = {}  # that are not over
        self._series: dict[str, Series] = {}  # that are not over
        self._done: set[str] = set()
        self._begun = self._logins = 0
        self._challengers: list[str] = []
        self._searched: float | None = None  # when we last asked for a battle
        self._is_searching = False  # the server says so
        self._report = LiveReport()

    def run(self, stop: Stop) -> LiveReport:
        """Until the battles are played, or we are stopped."""
        while not self._is_finished(stop):
            self._report.cuts = self._session.cuts
            if stop.asked > 1:
                self._give_up()
                break
            now = time.monotonic()
            due = any(room.waits_for_us(now) or room.result for room in self._rooms.values())
            message = self._session.next(BUSY_S if due or stop.asked else CALM_S)
            if message is not None:
                self._hear(message)
            if self._session.is_in:
                self._act(stop)
        self._report.cuts = self._session.cuts
        return self._report

    def _is_finished(self, stop: Stop) -> bool:
        if self._rooms or self._series:
            return False
        if stop.asked:
            if self._searched is not None:
                self._session.say("", "/cancelsearch")
            return True
        return bool(self._settings.battles) and self._report.played + self._report.void >= self._settings.battles

    # what we are told

    def _hear(self, message: Message) -> None:
        now = time.monotonic()
        if message.room.startswith(BATTLE):
            self._hear_battle(message, now)
        elif message.room.startswith(SERIES):
            self._hear_series(message)
        else:
            for line in message.lines:
                self._hear_line(line)

    def _hear_battle(self, message: Message, now: float) -> None:
        if message.room in self._done:
            return
        if message.room not in self._rooms:
            self._begun, self._searched = self._begun + 1, None
            self._rooms[message.room] = BattleRoom(message.room, self._us, now)
            self._played[message.room] = self._team
            if self._settings.timer:
                self._session.say(message.room, "/timer on")
        room = self._rooms[message.room]
        refused = len(room.rejected)
        room.hear(message.lines, now)
        for text in room.rejected[refused:]:
            self._tell(f"{room.name}: the server rejected a choice: {text}")

    def _hear_series(self, message: Message) -> None:
        if message.room in self._done:
            return
        series = self._series.setdefault(message.room, Series(message.room, self._us))
        series.hear(message.lines)
        if any(asks_for_ready(line) for line in message.lines):
            self._session.say(message.room, "/confirmready")

    def _hear_line(self, line: str) -> None:
        kind, _, rest = line[1:].partition("|")
        if kind == "updatesearch":
            self._hear_search(rest)
        elif kind == "pm":
            self._hear_private(rest)
        elif kind == "popup":
            text = rest.replace("||", " ").strip()
            if "Your team was rejected" in text or "not ladderable" in text or "format is invalid" in text:
                raise UserError(f"vgc: the server says: {text[:400]}", "another --team or --format")
            self._tell(f"the server says: {text[:200]}")

    def _hear_search(self, text: str) -> None:
        try:
            found = json.loads(text)
            games, searching = dict(found.get("games") or {}), list(found.get("searching") or [])
        except (ValueError, TypeError, AttributeError):
            return
        for name in games:
            if name not in self._rooms and name not in self._series and name not in self._done:
                self._session.say("", f"/join {name}")
        self._is_searching = self._format in searching

    def _hear_private(self, rest: str) -> None:
        sender, _, after = rest.partition("|")
        words = after.partition("|")[2]
        name = sender.strip().lstrip("+%@*&#~☆")
        if not words.startswith("/challenge") or user_id(name) == self._us or self._settings.ladder:
            return
        wanted = words.removeprefix("/challenge").strip().split("|")[0]
        self._challengers = [other for other in self._challengers if other != name]
        if wanted == self._format:
            self._challengers.append(name)
        elif wanted:
            self._tell(f"{name} asks for {wanted}; we play {self._format}")
            self._session.say("", f"/reject {name}")

    # what we do

    def _act(self, stop: Stop) -> None:
        now = time.monotonic()
        if self._logins != self._session.logins:
            self._arrive()
        for room in list(self._rooms.values()):
            if room.sheets_asked is not None and not room.sheets_answered:
                room.sheets_answered = True
                is_open = self._settings.config.sheets != "closed"
                room.sheets_known = room.sheets_known or not is_open
                self._session.say(room.name, "/acceptopenteamsheets" if is_open else "/rejectopenteamsheets")
            if room.waits_for_us(now):
                self._decide(room)
            if self._is_over(room, now):
                self._finish(room, now)
        for series in [found for found in self._series.values() if found.result]:
            if not any(room.name in series.games for room in self._rooms.values()):
                self._finish_series(series)
        if not stop.asked:
            self._look_for_battles(now)

    def _arrive(self) -> None:
        """Logged in, perhaps again: rooms that we were in resend everything."""
        if not self._logins:
            what = "looks for battles" if self._settings.ladder else "waits for challenges"
            self._tell(f"{self._settings.user} {what} in {self._format} at {self._settings.server}")
        self._logins, self._searched, self._is_searching = self._session.logins, None, False
        for name in [*self._rooms, *self._series]:
            self._session.say("", f"/join {name}")

    def _look_for_battles(self, now: float) -> None:
        wanted = self._settings.battles
        if self._series or (wanted and self._begun >= wanted):
            return
        if self._settings.ladder:
            is_due = self._searched is None or now - self._searched > SEARCH_AGAIN_S
            if not self._rooms and not self._is_searching and is_due:
                self._bring_team()
                self._session.say("", f"/search {self._format}")
                self._searched = now
        elif self._challengers and len(self._rooms) < self._settings.concurrent:
            self._bring_team()
            self._session.say("", f"/accept {self._challengers.pop(0)}")

    def _bring_team(self) -> None:
        self._team = str(self._rng.choice(list(self._teams)))
        self._session.say("", f"/utm {self._teams[self._team]}")

    def _decide(self, room: BattleRoom) -> None:
        assert room.request is not None
        began = time.monotonic()
        if room.must_default:
            choice = "default"
        else:
            limit_s = None if room.turn_s is None else TURN_SHARE * room.turn_s
            news = {"room": room.name, "lines": room.take_lines(), "request": room.request, "limit_s": limit_s}
            choice = self._seat.decide(news)
        room.is_answered, room.must_default = True, False
        room.decisions, self._report.decisions = room.decisions + 1, self._report.decisions + 1
        room.longest_s = max(room.longest_s, time.monotonic() - began)
        number = room.request.get("rqid")
        self._session.say(room.name, f"/choose {choice}" + (f"|{number}" if number is not None else ""))

    # how it ends

    def _series_of(self, room: BattleRoom) -> Series | None:
        return next((series for series in self._series.values() if room.name in series.games), None)

    def _is_over(self, room: BattleRoom, now: float) -> bool:
        """A series is rated in the room of its last battle, after the series has ended."""
        series = self._series_of(room)
        if series is not None and room.result and not series.result:
            return series.games[-1] != room.name
        return room.is_over(now)

    def _finish(self, room: BattleRoom, now: float) -> None:
        del self._rooms[room.name]
        team = self._played.pop(room.name)
        self._done.add(room.name)
        series = self._series_of(room)
        self._report.count(room)
        self._seat.leave(room.name)
        self._session.say(room.name, "/leave")
        keep(self._settings.results, result_of(room, team, self._format, series.name if series else "", now))
        rating = f", rating {room.ratings[self._us][1]}" if self._us in room.ratings else ""
        why = f" ({room.ended_by})" if room.ended_by else ""
        self._tell(f"{room.name}: {room.result}{why}{rating}; {self._report.won} won of {self._report.played}")

    def _finish_series(self, series: Series) -> None:
        del self._series[series.name]
        self._done.add(series.name)
        self._report.series[series.result] += 1
        self._session.say(series.name, "/leave")
        self._tell(f"{series.name}: series {series.result} after {len(series.games)} battles")

    def _give_up(self) -> None:
        """Forfeit what is running and wait a moment for the server to say so."""
        self._session.say("", "/cancelsearch")
        for name in [*self._rooms, *self._series]:
            self._session.say(name, "/forfeit")
        until = time.monotonic() + FAREWELL_S
        while self._rooms and time.monotonic() < until and self._session.is_in:
            message = self._session.next(BUSY_S)
            if message is not None:
                self._hear(message)
            for room in [room for room in self._rooms.values() if room.result]:
                self._finish(room, time.monotonic())
