"""A battle room, from the lines that a server sends: what is due, what is waited for, how it ended."""

import json

from pvp_ml.games.vgc.live.room import RATING_S, SHEETS_S, BattleRoom, user_id
from pvp_ml.games.vgc.live.series import Series, asks_for_ready
from pvp_ml.games.vgc.live.session import read_message

TURN = "|request|" + json.dumps({"active": [{}], "side": {"id": "p1"}, "rqid": 3})
PREVIEW = "|request|" + json.dumps({"teamPreview": True, "side": {"id": "p1"}, "rqid": 1})
WAIT = "|request|" + json.dumps({"wait": True, "side": {"id": "p1"}, "rqid": 4})


def room(*lines, now=0.0):
    made = BattleRoom("battle-x-1", "ourmodel", 0.0)
    made.hear(list(lines), now)
    return made


def test_a_message_names_its_room():
    found = read_message(">battle-x-1\n|turn|1\n\n|upkeep")
    assert (found.room, found.lines) == ("battle-x-1", ["|turn|1", "|upkeep"])
    assert read_message("|challstr|4|a|b").room == ""


def test_what_is_asked_is_due_until_it_is_answered():
    assert room(TURN).waits_for_us(0.0)
    assert not room(WAIT).waits_for_us(0.0) and not room("|request|").waits_for_us(0.0)
    assert not room(TURN, "|sentchoice|move 1").waits_for_us(0.0)
    asked = room("|turn|1", TURN)
    asked.is_answered = True
    asked.hear(["|init|battle", "|turn|1", TURN], 5.0)  # cut off before the choice arrived: asked again
    assert asked.waits_for_us(5.0) and asked.take_lines() == ["|init|battle", "|turn|1"]
    asked.hear(["|request|null"], 6.0)
    assert asked.waits_for_us(6.0)


def test_a_refused_choice_is_counted_and_answered_plainly():
    refused = room(TURN)
    refused.is_answered = True
    refused.hear(["|error|[Invalid choice] Can't move: no"], 1.0)
    assert refused.rejected == ["[Invalid choice] Can't move: no"]
    assert refused.waits_for_us(1.0) and refused.must_default
    refused.is_answered = True
    refused.hear(["|error|[Unavailable choice] Trapped", TURN], 2.0)  # information, not a mistake of ours
    assert len(refused.rejected) == 1 and refused.waits_for_us(2.0) and not refused.must_default


def test_sheets_that_may_be_opened_are_waited_for_but_not_for_ever():
    closed = room("|uhtml|otsrequest|<button>", PREVIEW, now=1.0)
    assert not closed.waits_for_us(1.0 + SHEETS_S) and closed.waits_for_us(1.1 + SHEETS_S)
    shown = room("|uhtml|otsrequest|<button>", PREVIEW, "|showteam|p2|A||", now=1.0)
    assert shown.waits_for_us(1.0)
    assert room("|uhtml|otsrequest|<button>", PREVIEW, "||Rival rejected open team sheets.").waits_for_us(0.0)


def test_results_ratings_and_reasons():
    names = ("|player|p1|Our Model|1|", "|player|p2|R & B|2|1300")
    won = room(*names, "|rated|Rated battle", "|turn|7", "|win|Our Model", now=10.0)
    assert (won.result, won.foe, won.turn) == ("won", "R & B", 7)
    assert not won.is_over(10.0) and won.is_over(10.1 + RATING_S)
    won.hear(["|raw|Our Model's rating: 1000 &rarr; <strong>1051</strong><br />(+51 for winning)"], 11.0)
    won.hear(["|raw|R &amp; B's rating: 1300 &rarr; <strong>1280</strong><br />(-20 for losing)"], 11.0)
    assert won.is_over(11.0) and won.ratings == {"ourmodel": (1000, 1051), "rb": (1300, 1280)}
    late = room(*names, "|-message|Our Model lost due to inactivity.", "|win|R & B")
    assert (late.result, late.ended_by, late.is_over(0.0)) == ("lost", "time: Our Model", True)
    assert room("|-message|Rival forfeited.", "|win|Our Model").ended_by == "forfeit: Rival"
    assert room("|tie").result == "tied" and room("|noinit|nonexistent|gone").result == "void"


def test_the_clock_is_read():
    assert room("|inactive|Time left: 45 sec this turn | 300 sec total").turn_s == 45.0
    assert room("|inactive|Battle timer is ON").turn_s is None


def test_names_are_compared_as_the_server_does():
    assert user_id("Our Model") == user_id("our-MODEL!") == "ourmodel" and user_id("Pokémon") == "pokmon"


def test_a_series_knows_its_battles_and_when_it_must_say_that_it_is_ready():
    series = Series("game-bestof3-x-1", "ourmodel")
    series.hear(['|uhtml|game1|<a href="/battle-x-2">A vs. B</a>', '|uhtml|game2|<a href="/battle-x-3">A vs. B</a>'])
    series.hear(["|init|chat", '|uhtml|game1|<a href="/battle-x-2">A vs. B</a>'])
    assert series.games == ["battle-x-2", "battle-x-3"] and series.result == ""
    series.hear(["|win|Rival"])
    assert series.result == "lost"
    button = '|c|~|/uhtml controls,<button class="button notifying" name="send" value="/msgroom x,/confirmready">'
    assert asks_for_ready(button) and not asks_for_ready("|c|~|/uhtml controls,<button disabled>waiting")
