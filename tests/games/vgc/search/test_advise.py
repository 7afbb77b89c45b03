"""`pvp-ml advise vgc`: line-ups for two teams, choices in a recorded battle; legal, complete, the same for a seed."""

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from fake_server import FakeServer

from pvp_ml.cli import run
from pvp_ml.errors import UserError
from pvp_ml.games.play import Table
from pvp_ml.games.tooling import AdviceRequest
from pvp_ml.games.vgc.game import save_log
from pvp_ml.games.vgc.search.advise import Choice, PositionAdvice, Reply, advise
from pvp_ml.games.vgc.search.watch import watch
from pvp_ml.games.vgc.teams import shipped
from pvp_ml.match import Bot, MatchPlan

FORMAT = "gen9vgc2025regi"
BENCHMARK = Path(__file__).parents[4] / "benchmarks" / "vgc_advise.py"
TEAMS = ("shadow-rider", "zacian-screens")


@pytest.fixture
def battle(build, tmp_path):
    """A recorded battle of two bots: its log, with its choices beside it."""
    game = build(1, teams=TEAMS[:1], opponent_teams=TEAMS[1:], format=FORMAT)
    found = []
    game.listen(found.append)
    table = Table(game)
    table.queue([MatchPlan(0, 8, (Bot("heuristics"), Bot("heuristics")))])
    table.start()
    while not table.is_empty:
        table.step()
    return save_log(found[0], tmp_path)


def test_line_ups_for_two_teams(installation, capsys):
    words = ["advise", "vgc", "--team", TEAMS[0], "--foe", TEAMS[1], "--simulations", "12", "--json"]
    assert run(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["kind"], found["turn"], found["simulations"], found["declined"]) == ("preview", 0, 12, "")
    assert 0.0 <= found["win_chance"] <= 1.0
    assert sum(choice["probability"] for choice in found["choices"]) <= 1.0 + 1e-3
    six = {block.split(" @")[0].split(" (")[0].strip() for block in shipped()[FORMAT][TEAMS[0]].split("\n\n")}
    leads = found["choices"][0]["text"].removeprefix("lead ").split(",")[0].split(" and ")
    assert len(leads) == 2 and all(any(name.startswith(lead) for name in six) for lead in leads)
    assert found["replies"] and any("sends out" in line for line in found["line"])


def test_a_turn_of_an_input_log_is_answered_alike_for_a_seed(battle):
    request = AdviceRequest(battle=battle.with_suffix(".input.log"), turn=2, seat=2, simulations=12, seed=3)
    found, again = advise(request), advise(request)
    assert found.to_json() | {"seconds": 0} == again.to_json() | {"seconds": 0}
    assert (found.kind, found.turn, found.declined) == ("turn", 2, "")
    assert "Chance to win" in found.text() and found.choices[0].text in found.text()


def test_a_log_is_enough_with_the_own_team(battle):
    text = battle.read_text("utf-8").splitlines()
    end = next(i for i, line in enumerate(text) if line == "|turn|2")
    battle.write_text("\n".join(text[: end + 1]) + "\n", "utf-8")  # the battle goes on
    found = advise(AdviceRequest(battle=battle, team=TEAMS[0], simulations=6))
    assert (found.kind, found.turn, found.simulations, found.declined) == ("turn", 2, 6, "")


def test_a_battle_is_watched_turn_by_turn(battle, tmp_path):
    """A guest at a server: it finds the battle, joins it, and advises at each turn until somebody wins."""
    log = battle.read_text("utf-8").splitlines()
    second, third = (log.index(f"|turn|{n}") + 1 for n in (2, 3))
    room, server, page = "battle-gen9vgc2025regi-7", FakeServer(), tmp_path / "advice.html"
    request = AdviceRequest(server=server.url, team=TEAMS[0], simulations=4, page=page)
    turns = watch(request)
    threading.Thread(
        target=lambda: server.welcomed.get(timeout=60) == 0 and server.say("|challstr|4|x"), daemon=True
    ).start()

    def tell(number):  # what a spectator is told, as it happens
        parts = {1: ["|init|battle", *log[:second]], 2: log[second:third], 3: ["|win|Somebody"]}
        server.say("\n".join([f">{room}", *parts[number]]))

    found = []
    answers = threading.Thread(target=lambda: answer(server, room, tell), daemon=True)
    answers.start()
    for number, advice in enumerate(turns, 2):
        found.append((advice.kind, advice.turn, advice.simulations))
        tell(number)
    server.close()
    assert found == [("turn", 2, 4), ("turn", 3, 4)]


def answer(server, room, tell):
    """The server's side: a list of battles, then the one that is joined."""
    assert server.heard.get(timeout=60)[1] == "|/cmd roomlist"
    server.say(f'|queryresponse|roomlist|{{"rooms":{{"{room}":{{"p1":"A"}}}}}}')
    while server.heard.get(timeout=60)[1] != f"|/join {room}":
        pass
    tell(1)


def test_the_page_shows_the_same_as_the_text_and_nothing_as_markup():
    choice = Choice("<b>lead</b> A & B", 0.75, 0.5, 0.25)
    advice = PositionAdvice("turn", 3, 0.61, (choice,), (Reply("Protect", 1.0),), ("A used Protect!",), 12, 0.4)
    page = advice.page()
    for words in (
        "Turn 3",
        "61%",
        "75%",
        "+0.25",
        "&lt;b&gt;lead&lt;/b&gt; A &amp; B",
        "Protect",
        "12 simulated turns",
    ):
        assert words in page
    assert "<b>" not in page and "<script" not in page and "http" not in page.replace("http-equiv", "")


@pytest.mark.nightly
def test_twenty_positions_are_answered_soon_and_alike_over_seeds(installation):
    done = subprocess.run(
        [sys.executable, str(BENCHMARK), "20", "120", "3"], capture_output=True, text=True, timeout=3000
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    print(found)
    assert found["not_searched"] == 0 and found["cpu_s_max"] <= 3.0
    assert found["win_chance_spread_mean"] <= 0.05 and found["shared_play_mean"] >= 0.6


def test_what_is_missing_is_named(installation, battle):
    with pytest.raises(UserError, match="no position is given"):
        advise(AdviceRequest(team=TEAMS[0]))
    with pytest.raises(UserError, match="--seat is 3"):
        advise(AdviceRequest(team=TEAMS[0], foe=TEAMS[1], seat=3))
    with pytest.raises(UserError, match="seat 1 decides nothing in turn 77"):
        advise(AdviceRequest(battle=battle, turn=77))
