"""What a page is given of a match, and what its scripts take for granted."""

import asyncio
import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from pvp_ml.games import registry
from pvp_ml.games.replay import Replay, ReplayError
from pvp_ml.games.rocket_league.actions import CONTROLS, rlgym_rows, row_name
from pvp_ml.games.rocket_league.arena.field import PADS, TICKS_PER_S
from pvp_ml.games.rocket_league.show.scene import BOOSTING, ON_GROUND
from pvp_ml.match import IDLE, Bot, External, MatchPlan
from pvp_ml.web.live import LiveMatch, replayed
from pvp_ml.web.messages import frame_facts
from pvp_ml.web.options import configure, options_of, people_config
from pvp_ml.web.room import Room, Seating

GAME = registry.find("rocket_league")
PAGE = GAME.presentation.page.folder
BOOST_AHEAD = (1.0, 0, 0, 0, 0, 0, 1.0, 0)


def drive(seconds, row):
    """The frames of a car that holds one row of the table from the kickoff on."""
    config = people_config(GAME)
    match = LiveMatch(GAME, config, MatchPlan(0, 4, (External("0"), Bot("idle")), "kickoff"), [None, None], 0)
    choice = rlgym_rows().index(row)
    frames = [match.frame]
    for _ in range(round(seconds * TICKS_PER_S / config.tick_skip)):
        legal = match.frame.mask[choice]
        frames.append(match.advance(np.array([choice], np.int32) if legal else None))
    match.close()
    return frames


def test_a_car_that_boosts_from_the_kickoff_is_drawn_doing_it():
    frames = drive(1.0, BOOST_AHEAD)
    first, last = frames[0].scene, frames[-1].scene
    car = last["cars"][0]
    assert first["cars"][0][16] == 33 and car[16] < 10 and car[17] & ON_GROUND
    assert frames[5].scene["cars"][0][17] & BOOSTING and not last["cars"][1][17] & BOOSTING
    moved = np.subtract(car[1:4], first["cars"][0][1:4])
    forward = first["cars"][0][7:10]
    assert 900 < np.dot(moved, forward) < 2300, "a second of boost, in uu along its nose"
    assert last["left"] == pytest.approx(299, abs=0.1) and last["score"] == [0, 0]
    assert max(len(json.dumps(frame_facts(f))) for f in frames) < 1100, "fifteen of them come every second"


def test_people_play_five_minutes_and_choose_only_what_models_fit():
    config = configure(GAME, {})
    assert (config.end_on_goal, config.no_touch_s, config.timeout_s) == (False, 0.0, 300.0)
    names = {option.name for option in options_of(GAME)}
    assert "end_on_goal" in names and not names & {"actions", "observation", "pack_order"}
    assert configure(GAME, {"end_on_goal": True}).end_on_goal


def test_what_is_held_stays_held_and_nobody_is_waited_for():
    """One order, then silence: the room goes on, the choice with it; what becomes illegal is let go."""
    row = rlgym_rows().index(BOOST_AHEAD)

    async def story():
        config, loop = people_config(GAME), asyncio.get_running_loop()
        match = LiveMatch(GAME, config, MatchPlan(0, 4, (External("0"), Bot("idle")), "kickoff"), [None, None], 0)
        room = Room(match, Seating(("a", "b"), {}), 16, False, loop.time, lambda *_: {})
        room.join(Ear(), room.key)
        await asyncio.sleep(0.1)
        room.order(match.frame.step, [("controls", row_name(BOOST_AHEAD))])
        while match.frame.step < 40:
            await asyncio.sleep(0.02)
        room.close("enough")
        await room.ended()
        return [step[0][0] for step in match.replay().actions]

    chosen = asyncio.run(story())
    assert chosen[0] == IDLE and chosen.count(row) >= 12, "a third of a tank lasts a second"
    assert chosen[-1] == IDLE, "the tank is empty: no legal choice is held, the car rolls"


class Ear:
    def push(self, message):
        pass


@pytest.mark.parametrize("settings", [{"meshes": "/etc"}, {"packs": ["/etc"]}])
def test_a_replay_cannot_name_folders(settings):
    plan = MatchPlan(0, 1, (External("0"), External("1")), "kickoff")
    with pytest.raises(ReplayError, match="files of its own"):
        list(replayed(Replay("rocket_league", "d", settings, plan, ()), [None, None], 300))


def node(script):
    """What an ES module prints as JSON; the site's own modules are found where they lie."""
    if shutil.which("node") is None:
        pytest.skip("NO SCRIPT TEST: node is missing")
    done = subprocess.run(["node", "--input-type=module", "-e", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-600:]
    return json.loads(done.stdout)


def module(name, folder):
    """A copy of a page's module that node can import: addresses of the server become files."""
    static = Path(registry.__file__).parents[1] / "web/static"
    for file in PAGE.glob("*.js"):
        text = re.sub(r'"/static/', f'"{static.as_posix()}/', file.read_text())
        (folder / file.with_suffix(".mjs").name).write_text(re.sub(r'"\./(\w+)\.js"', r'"./\1.mjs"', text))
    return (folder / f"{name}.mjs").as_uri()


def test_the_page_knows_where_the_pads_are(tmp_path):
    printed = node(f'import {{ PADS }} from "{module("shapes", tmp_path)}"; console.log(JSON.stringify(PADS));')
    assert np.array_equal(np.array(printed, np.float32), PADS)


def test_keys_become_the_nearest_legal_choice(tmp_path):
    """Against the table itself: every drive that the table has is found, and a masked button is never pressed."""
    rows = rlgym_rows()
    names = [row_name(row) for row in rows]
    cases = [
        (["ahead"], True, "1" * 90, {"throttle": 1, "steer": 0, "boost": 0}),
        (["ahead", "left", "boost"], True, "1" * 90, {"throttle": 1, "steer": -1, "boost": 1}),
        (["back", "right"], True, "1" * 90, {"throttle": -1, "steer": 1}),
        (["ahead", "boost"], True, "".join("0" if row[6] else "1" for row in rows), {"throttle": 1, "boost": 0}),
        (["jump"], True, "1" * 90, {"jump": 1, "pitch": 0, "roll": 0}),
        (["jump", "ahead"], False, "1" * 90, {"jump": 1, "pitch": -1}),
        (["ahead", "left"], False, "1" * 90, {"pitch": -1, "yaw": -1, "jump": 0}),
        ([], True, "1" * 90, dict.fromkeys(CONTROLS, 0)),
    ]
    script = f"""globalThis.addEventListener = () => {{}};
        const {{ Driving }} = await import("{module("driving", tmp_path)}");
        const driving = new Driving([{{ name: "controls", choices: {json.dumps(names)} }}], () => {{}});
        console.log(JSON.stringify({json.dumps([case[:3] for case in cases])}.map(([down, ground, legal]) => {{
          driving.down = new Set(down); return driving.choose(legal, ground); }})));"""
    for (down, _, _, wanted), chosen in zip(cases, node(script), strict=True):
        row = dict(zip(CONTROLS, rows[names.index(chosen)], strict=True))
        assert {name: row[name] for name in wanted} == wanted, (down, chosen)
