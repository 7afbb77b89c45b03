"""What can be chosen, who can be fought, what is kept."""

import asyncio
import json
from pathlib import Path

import pytest
from ringside import bundle_for
from test_room import Ear, until

from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.games.replay import read_replay
from pvp_ml.model.bundle import write_bundle
from pvp_ml.model.recording import read_recording
from pvp_ml.web import arena as module
from pvp_ml.web import kept
from pvp_ml.web.arena import Arena, ArenaConfig
from pvp_ml.web.messages import Start
from pvp_ml.web.options import configure, options_of
from pvp_ml.web.player_list import PlayerList


def arena_of(game, place, folder=None, **more):
    return Arena(ArenaConfig(game, folder=folder, **more), place, lambda: 0.0, lambda: 1_800_000_000.0)


def test_the_shipped_model_is_met_first(corner):
    assert PlayerList(registry.find("nh"), corner, "").default == "model:GeneralizedNh"
    assert PlayerList(registry.find("nh"), corner, "").note == ""
    assert PlayerList(registry.find("nh"), corner, "nh-bot").default == "bot:nh-bot"
    assert PlayerList(registry.find("connect4"), corner, "").default == "model:SelfTaughtConnect4"


def test_without_the_shipped_model_somebody_else_is_met_and_it_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr("pvp_ml.data_files.PACKAGE", tmp_path)
    found = PlayerList(registry.find("nh"), tmp_path, "")
    assert found.default == "bot:nh-bot"
    assert found.note.startswith("models/GeneralizedNh.zip is not here, so you meet nh-bot")
    assert PlayerList(registry.find("connect4"), tmp_path, "").default == "bot:tactician"


def test_matches_of_teams_seat_everybody_with_the_model_of_their_mode(tmp_path):
    pytest.importorskip("RocketSim")
    arena = arena_of("rocket_league", tmp_path, given={"mode": "2v2", "meshes": "generated"})
    arena.warm_up()
    assert arena.facts()["seats"] == ["you", *["model:RocketDuo"] * 3]


def test_models_are_found_by_file_run_and_name_and_must_fit(tmp_path):
    (tmp_path / "experiments/first").mkdir(parents=True)
    (tmp_path / "models").mkdir()
    write_bundle(tmp_path / "experiments/first/model.zip", bundle_for("nh"))
    write_bundle(tmp_path / "elsewhere.zip", bundle_for("nh"))
    write_bundle(tmp_path / "models/stones.zip", bundle_for("connect4"))
    (tmp_path / "models/broken.zip").write_bytes(b"no zip")
    found = PlayerList(registry.find("nh"), tmp_path, "")
    assert "model:first" in found.listed and not {"model:stones", "model:broken"} & set(found.listed)
    assert PlayerList(registry.find("nh"), tmp_path, "elsewhere.zip").default == "model:elsewhere"
    with pytest.raises(UserError, match="does not fit 'nh'"):
        PlayerList(registry.find("nh"), tmp_path, "stones")
    with pytest.raises(UserError, match="'nobody' cannot be fought"):
        PlayerList(registry.find("nh"), tmp_path, "nobody")
    with pytest.raises(UserError, match="no player"):
        found.find("model:../../secret")


def test_a_page_may_choose_switches_and_lists_but_no_addresses():
    nh = registry.find("nh")
    options = {o.name: o for o in options_of(nh)}
    assert options["builds"].kind == "many" and "MAXED" in options["builds"].choices
    assert options["fight_type"].kind == "one" and options["randomize_gear"].kind == "flag"
    assert not {"remote", "remote_command", "switches_on", "max_ticks"} & set(options)
    assert configure(nh, {"builds": ["MAXED"], "fight_type": "LMS"}).builds == ("MAXED",)
    for wanted, words in (
        ({"remote_command": "touch x"}, "'remote_command' cannot be chosen"),
        ({"builds": ["KING"]}, "builds"),
        ({"fight_type": True}, "fight_type"),
    ):
        with pytest.raises(UserError, match=words):
            configure(nh, wanted)


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (Start(["you"]), "1 contestants for 2 seats"),
        (Start(["you", "you"]), "one seat only"),
        (Start(["you", "model:none"]), "no player"),
        (Start(["you", "bot:nh-bot"], scenario="x"), "no scenario 'x'"),
        (Start(["you", "bot:nh-bot"], {"remote": "evil:1"}), "cannot be chosen"),
    ],
)
def test_a_match_that_cannot_be_is_refused(corner, start, words):
    with pytest.raises(UserError, match=words):
        arena_of("nh", corner).open(start)


def test_rooms_are_limited(corner, monkeypatch):
    monkeypatch.setattr(module, "MAX_ROOMS", 2)
    arena = arena_of("connect4", corner)
    rooms = [arena.open(Start(["you", "bot:random"])) for _ in range(2)]
    with pytest.raises(UserError, match="2 matches are being played"):
        arena.open(Start(["you", "bot:random"]))
    arena.close(rooms[0], "over")
    assert arena.open(Start(["you", "bot:random"])).seating.names == ("You", "random")


def test_a_finished_match_is_kept_as_replay_and_demonstration(corner, tmp_path):
    async def story():
        clock = asyncio.get_running_loop().time
        arena = Arena(ArenaConfig("connect4", folder=tmp_path), corner, clock, lambda: 1_800_000_000.0)
        room = arena.open(Start(["bot:random", "you"], seed=3, scenario="seat0-starts", tick_ms=40))
        ear = Ear()
        room.join(ear, room.key)
        while not room.match.is_over:
            await until(lambda: room.match.awaits_person or room.match.is_over)
            if not room.match.is_over:
                step = room.match.frame.step
                column = next(c for c in range(7) if room.match.frame.mask[c])
                room.order(step, [("column", str(column + 1))])
                await until(lambda step=step: room.match.frame.step > step)
        await room.ended()
        return arena, ear.heard[-1], room

    arena, end, room = asyncio.run(story())
    assert end["type"] == "end" and end["replay"].startswith("connect4-20270115-080000-random-You-")
    kept = read_replay(tmp_path / "replays" / end["replay"])
    assert kept.actions == room.match.replay().actions and kept.plan.seed == 3
    rows = read_recording(Path(end["demonstration"]), "connect4", arena.spec.interface)
    assert len(rows) == end["decisions"] == sum(step[1] != (-1,) for step in kept.actions)
    assert [r["name"] for r in arena.replays()] == [end["replay"]]
    replay = arena.frames(arena.saved(end["replay"]), "model:Stones")
    assert (
        replay["names"] == ["random", "You"]
        and kept.names == ("random", "You")
        and replay["frames"][-1]["result"] == room.match.frame.result
    )
    assert any("1" in f["thoughts"] for f in replay["frames"])
    for name in ("../replays/x", "nothing.replay"):
        with pytest.raises(UserError, match="no such replay"):
            arena.saved(name)


def test_a_folder_that_cannot_be_written_costs_only_the_replay(corner, tmp_path):
    (tmp_path / "file").write_text("")
    arena = arena_of("connect4", corner, tmp_path / "file")
    room = arena.open(Start(["bot:random", "bot:tactician"]))
    while not room.match.is_over:
        room.match.advance(None)
    assert "could not be kept" in arena._keep(room.match, room.seating)["trouble"]


def test_replays_of_other_games_and_other_sizes_are_refused(corner, monkeypatch):
    arena = arena_of("connect4", corner)
    room = arena.open(Start(["bot:random", "bot:tactician"]))
    text = arena.replay_of(room.id)
    head = json.loads(text)
    for change, words in (
        ({"game": "nh"}, "a match of 'nh'"),
        ({"plan": {**head["plan"], "bots": [None]}}, "1 seats"),
        ({"digest": "0" * 64}, "another version"),
        ({"plan": {**head["plan"], "bots": ["ghost", None]}}, "ghost"),
    ):
        with pytest.raises(UserError, match=words):
            arena.frames(json.dumps({**head, **change}).encode(), "")
    monkeypatch.setattr(kept, "MAX_BYTES", 10)
    with pytest.raises(UserError, match="at most 10"):
        arena.frames(text.encode(), "")


def test_seats_and_scenarios_of_the_command_line_are_checked(corner):
    with pytest.raises(UserError, match="seat 2 does not exist"):
        arena_of("nh", corner, seat=2)
    with pytest.raises(UserError, match="no scenario 'x'"):
        arena_of("nh", corner, scenario="x")
    assert arena_of("nh", corner, seat=1).facts()["seats"] == ["model:GeneralizedNh", "you"]
