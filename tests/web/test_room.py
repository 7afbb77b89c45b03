"""The clock of a room: pauses, steps, waiting for a person, people who come and go. Time is given by hand."""

import asyncio
import json
from itertools import pairwise

import pytest
from test_live import live

from pvp_ml.errors import UserError
from pvp_ml.web.messages import encode
from pvp_ml.web.room import ABSENT_S, Room, Seating


class Ear:
    def __init__(self):
        self.heard = []

    def push(self, message):
        self.heard.append(json.loads(message.text))

    def kinds(self):
        return [m["type"] for m in self.heard]

    def steps(self):
        return [m["step"] for m in self.heard if m["type"] == "frame"]


def room_of(match, tick_ms=40, paused=False, clock=None, kept=None):
    ended = [] if kept is None else kept
    return Room(
        match, Seating(("a", "b"), {"game": "x"}), tick_ms, paused, clock or asyncio.get_running_loop().time,
        lambda m, s: ended.append(m) or {"replay": "file"},
    )  # fmt: skip


async def until(condition, limit_s=20.0):
    for _ in range(int(limit_s / 0.01)):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never came")


def test_a_match_runs_by_itself_to_its_end_and_everybody_sees_the_same():
    async def story():
        kept, first, second = [], Ear(), Ear()
        room = room_of(live("connect4", human=None), kept=kept)
        room.join(first, room.key)
        await until(lambda: len(first.steps()) > 2)
        room.join(second)  # late, and still sent everything
        await room.ended()
        assert first.heard[0]["driving"] and first.heard[0]["key"] == room.key
        assert not second.heard[0]["driving"] and "key" not in second.heard[0]
        assert first.steps() == second.steps() == list(range(len(first.steps())))
        assert first.heard[-1] == second.heard[-1]
        assert first.heard[-1]["type"] == "end" and first.heard[-1]["replay"] == "file" and len(kept) == 1
        late = Ear()
        room.join(late)  # after the end: the whole match can still be looked at
        assert late.steps() == first.steps()

    asyncio.run(story())


def test_ticks_keep_their_time():
    """Each step is due a tick after the last one, however long anything took."""

    async def story():
        ear = Ear()
        room = room_of(live("connect4", human=None), tick_ms=50)
        room.join(ear, room.key)
        await room.ended()
        due = [t.due_s for t in room.timing]
        gaps = [b - a for a, b in pairwise(due)]
        assert min(gaps) == pytest.approx(0.05, abs=1e-6) and len(gaps) >= 6
        assert all(t.sent_s >= t.due_s for t in room.timing)

    asyncio.run(story())


def test_pause_and_single_steps():
    async def story():
        ear = Ear()
        room = room_of(live("connect4", human=None), paused=True)
        room.join(ear, room.key)
        await asyncio.sleep(0.15)
        assert ear.steps() == [0]
        room.step()
        room.step()
        await until(lambda: ear.steps() == [0, 1, 2])
        await asyncio.sleep(0.1)
        assert ear.steps() == [0, 1, 2]
        room.pace(40, False)
        assert ear.heard[-1] == {"type": "pace", "tick_ms": 40, "paused": False}
        await until(lambda: len(ear.steps()) > 3)
        with pytest.raises(UserError, match="not paused"):
            room.step()
        room.close("enough")
        await room.ended()

    asyncio.run(story())


def test_a_turn_based_game_waits_for_the_person():
    async def story():
        ear = Ear()
        match = live("connect4", human=0, bot="random")
        room = room_of(match)
        room.join(ear, room.key)
        await until(lambda: match.awaits_person)
        steps = len(ear.steps())
        await asyncio.sleep(0.2)
        assert len(ear.steps()) == steps
        with pytest.raises(UserError, match="no choice '9'"):
            room.order(match.frame.step, [("column", "9")])
        with pytest.raises(UserError, match="has not come yet"):
            room.order(match.frame.step + 1, [("column", "1")])
        room.order(match.frame.step, [("column", "4")])
        with pytest.raises(UserError, match="nothing is picked"):
            room.order(match.frame.step, [])
        await until(lambda: len(ear.steps()) > steps)
        assert match.replay().actions[steps - 1][0] == (3,)
        room.close("enough")
        await room.ended()

    asyncio.run(story())


def test_a_fight_does_not_wait_and_the_last_order_counts():
    async def story():
        match = live("nh", human=0)
        room = room_of(match, paused=True)
        room.join(Ear(), room.key)
        room.order(0, [("prayer", "mage_prayer")])
        room.order(0, [("prayer", "melee_prayer")])
        room.step()
        room.step()
        await until(lambda: match.frame.step == 2)
        actions = match.replay().actions
        assert actions[0][0] == (0,) * 11 + (3,) and actions[1][0] == (-1,) * 12  # used up, then no input
        room.close("enough")
        await room.ended()

    asyncio.run(story())


def test_who_looks_on_cannot_order_and_a_starter_can_come_back():
    async def story():
        time = [0.0]
        first, second, again = Ear(), Ear(), Ear()
        room = room_of(live("connect4", human=None), paused=True, clock=lambda: time[0])
        room.join(first, room.key)
        room.join(second, "wrong key")
        assert room.starter is first and second.heard[0]["driving"] is False
        with pytest.raises(UserError, match="you are spectating this match"):
            room.order(0, [])
        room.leave(first)
        assert room.starter is None and not room.is_abandoned(time[0] + ABSENT_S - 1)
        assert room.is_abandoned(time[0] + ABSENT_S + 1)
        room.join(again, room.key)
        assert room.starter is again and not room.is_abandoned(1e9)
        await until(lambda: second.heard[-1] == {"type": "audience", "watching": 1})
        room.close("done")
        await room.ended()
        assert second.heard[-1] == {"type": "closed", "reason": "done"}

    asyncio.run(story())


def test_a_match_that_breaks_says_so_and_the_audience_is_limited(caplog, monkeypatch):
    async def story():
        ear = Ear()
        match = live("connect4", human=None)
        room = room_of(match)
        room.join(ear, room.key)
        match.advance = lambda action: 1 // 0
        await room.ended()
        assert ear.heard[-1] == {"type": "closed", "reason": "the match broke; the server's log says how"}
        monkeypatch.setattr("pvp_ml.web.room.MAX_LISTENERS", 3)
        room.join(Ear())
        room.join(Ear())
        with pytest.raises(UserError, match="watching already"):
            room.join(Ear())

    asyncio.run(story())
    assert "ZeroDivisionError" in caplog.text


def test_a_frame_is_encoded_once_for_everybody(monkeypatch):
    calls = []
    monkeypatch.setattr("pvp_ml.web.room.encode", lambda kind, **facts: calls.append(kind) or encode(kind, **facts))

    async def story():
        ears = [Ear() for _ in range(50)]
        room = room_of(live("connect4", human=None), paused=True)
        for i, ear in enumerate(ears):
            room.join(ear, room.key if i == 0 else "")
        calls.clear()
        room.step()
        await until(lambda: all(ear.steps() == [0, 1] for ear in ears))
        assert calls == ["frame"]
        room.close("done")
        await room.ended()

    asyncio.run(story())
