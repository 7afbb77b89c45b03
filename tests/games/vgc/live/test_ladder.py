"""The client at a real server on this machine: looks for battles, plays them, loses its connection, and stops."""

import json
import os
import signal
import threading

import numpy as np
import pytest
from cutting_proxy import CuttingProxy

from pvp_ml import players
from pvp_ml.games.vgc.config import VgcConfig, make_spec
from pvp_ml.games.vgc.live.client import LiveConfig, Stop, play_live
from pvp_ml.games.vgc.live.session import Session
from pvp_ml.games.vgc.live.showdown_server import local_server
from pvp_ml.games.vgc.live.visit import stopping
from pvp_ml.games.vgc.teams import packed_teams

FORMAT = "gen9championsvgc2026regmb"  # what the pinned server has a ladder for
REGULATION_I = "gen9vgc2025regi"
TEAMS = ("miraidon-offence", "shadow-rider")


@pytest.fixture(scope="module")
def port(installation):
    with local_server() as (_, port):
        yield port


class Rival:
    """Somebody who looks for battles until the block ends."""

    def __init__(self, port, format, sheets):
        self._stop, self.report = Stop(), None
        server = f"ws://127.0.0.1:{port}/showdown/websocket"
        config = VgcConfig(format=FORMAT, sheets=sheets)
        settings = LiveConfig(server, f"Rival {format[-6:]}", ladder=True, format=format, config=config)
        self._thread = threading.Thread(target=self._play, args=(settings,), daemon=True)

    def _play(self, settings):
        self.report = play_live(settings, "max-power", np.random.default_rng(2), lambda text: None, self._stop)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *reason):
        self._stop.asked = 2
        self._thread.join(60)


def ladder(port, tmp_path, battles, cuts, format=FORMAT, sheets="open"):
    """(our report, the rival's, the kept lines) of battles with that many cuts in the middle of battles."""
    proxy, told, file = CuttingProxy(port), [], tmp_path / "results.jsonl"
    marks = {round(battles * (i + 1) / (cuts + 1)) for i in range(cuts)}
    finished = 0

    def tell(line):
        nonlocal finished
        told.append(line)
        if " won of " in line:
            finished += 1
            if finished in marks:
                threading.Timer(0.1 + 0.05 * (finished % 7), proxy.cut).start()

    settings = LiveConfig(
        f"ws://127.0.0.1:{proxy.port}/showdown/websocket", f"Us {format[-6:]}", battles=battles, ladder=True,
        format=format, results=file, config=VgcConfig(format=FORMAT, sheets=sheets),
    )  # fmt: skip
    try:
        with Rival(port, format, sheets) as rival:
            report = play_live(settings, "heuristics", np.random.default_rng(1), tell)
    finally:
        proxy.close()
    assert report.cuts == proxy.cuts - 1 or report.cuts == proxy.cuts  # the last one may come after the last battle
    return report, rival.report, [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def check(report, theirs, kept, battles):
    assert report.played >= battles and report.void == 0
    assert (report.rejected, report.lost_on_time) == ([], 0)
    assert (report.won, report.lost) == (theirs.lost, theirs.won)
    assert [line["result"] for line in kept].count("won") == report.won and len(kept) == report.played
    assert sum(line["decisions"] for line in kept) == report.decisions > 3 * battles


def test_battles_are_found_played_and_rated_though_the_connection_is_cut(port, tmp_path):
    report, theirs, kept = ladder(port, tmp_path, 4, 1)
    check(report, theirs, kept, 4)
    assert report.cuts == 1
    assert all(line["rating"] is not None and line["foe"] == "Rival 6regmb" for line in kept)
    assert report.rating == kept[-1]["rating"]
    assert all((line["rating_change"] > 0) == (line["result"] == "won") for line in kept)
    assert all(line["team"] for line in kept)


@pytest.mark.nightly
def test_a_series_with_open_sheets_by_rule(port, tmp_path):
    report, theirs, kept = ladder(port, tmp_path, 2, 0, f"{FORMAT}bo3")
    check(report, theirs, kept, 2)
    assert sum(report.series.values()) == 1 and len({line["series"] for line in kept}) == 1
    assert [line["rating"] is None for line in kept] == [True] * (len(kept) - 1) + [False]


class Challenger:
    """Somebody who challenges us and then always lets the server choose."""

    def __init__(self, port, whom, battles):
        self._session = Session(f"ws://127.0.0.1:{port}/showdown/websocket", "Challenger", "", lambda text: None)
        self._whom, self._left, self.won = whom, battles, 0
        self._team = packed_teams(TEAMS, REGULATION_I)[TEAMS[0]]

    def challenge(self):
        self._session.open()
        while not self._session.is_in:
            self._session.next(0.1)
        self._ask()
        while self._left:
            if (message := self._session.next(0.1)) is not None and message.room.startswith("battle-"):
                for line in message.lines:
                    self._answer(message.room, line)
        self._session.close()

    def _ask(self):
        self._session.say("", f"/utm {self._team}")
        self._session.say("", f"/challenge {self._whom}, {REGULATION_I}")

    def _answer(self, room, line):
        if line.startswith("|uhtml|otsrequest|<"):
            self._session.say(room, "/rejectopenteamsheets")
        elif line.startswith("|request|{") and '"wait":true' not in line:
            self._session.say(room, "/choose default")
        elif line.startswith("|win|"):
            self.won, self._left = self.won + (line == "|win|Challenger"), self._left - 1
            if self._left:
                self._ask()


def test_challenges_are_accepted_and_played_to_the_end(port):
    config = VgcConfig(format=REGULATION_I, teams=TEAMS, sheets="open")
    settings = LiveConfig(f"ws://127.0.0.1:{port}/showdown/websocket", "Our Model", battles=2, config=config)
    challenger = Challenger(port, "Our Model", 2)
    thread = threading.Thread(target=challenger.challenge, daemon=True)
    player = players.make("random", make_spec(config))
    report = play_live(
        settings, player, np.random.default_rng(1),
        lambda line: thread.start() if "waits for challenges" in line else None,
    )  # fmt: skip
    thread.join(60)
    assert (report.played, report.rejected, report.lost) == (2, [], challenger.won) and report.decisions > 10
    assert report.rating is None


def test_asked_to_stop_it_ends_without_a_battle(port):
    stop = Stop()

    def tell(line):
        stop.asked = 1  # as soon as it is there

    settings = LiveConfig(
        f"ws://127.0.0.1:{port}/showdown/websocket", "Nobody", ladder=True, config=VgcConfig(format=FORMAT)
    )
    report = play_live(settings, "random", np.random.default_rng(1), tell, stop)
    assert (report.played, report.cuts) == (0, 0)


def test_signals_ask_to_stop_and_then_to_give_up():
    told = []
    before = signal.getsignal(signal.SIGTERM)
    with stopping(told.append) as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.asked == 1
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.asked == 2 and len(told) == 2
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.nightly
@pytest.mark.parametrize(("format", "sheets"), [(FORMAT, "open"), (FORMAT, "closed"), (f"{FORMAT}bo3", "open")])
def test_two_hundred_battles_with_five_cuts(port, tmp_path, format, sheets):
    report, theirs, kept = ladder(port, tmp_path, 200, 5, format, sheets)
    check(report, theirs, kept, 200)
    assert report.cuts == 5
