"""What a page is given of a battle: everything that the seat may know, nothing that its foe hides."""

import json
import re
from io import BytesIO

import numpy as np
import pytest

from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.games.replay import Replay, ReplayError, parse_replay, replay_text
from pvp_ml.match import IDLE, Bot, External, MatchPlan
from pvp_ml.web.live import LiveMatch, replayed
from pvp_ml.web.messages import frame_facts
from pvp_ml.web.minds import Thought


class Loud:
    """Decides like the simulator's default and thinks of every choice alike."""

    def __init__(self, spec):
        self._spec = spec

    def decide(self, sight):
        action = np.full(len(self._spec.heads), IDLE, np.int32)
        return action, Thought(np.full(self._spec.mask_size, 0.5, np.float32), 0.0, 0.5)


def battle(human=0, seed=3, rival=None, **settings):
    kind = registry.find("vgc")
    config = registry.configure(kind, settings)
    minds = [None if seat == human or rival else Loud(kind.spec(config)) for seat in (0, 1)]
    lineup = tuple(Bot(rival) if rival and seat != human else External(str(seat)) for seat in (0, 1))
    return LiveMatch(kind, config, MatchPlan(0, seed, lineup), minds, human)


def words_of(scene, side):
    """The words of one side of a scene, and of the moves that it may mention."""
    return json.dumps([scene["sides"][side], sorted(scene["moves"])])


def hidden_from(match, seat):
    """Moves of the foe that the log has not mentioned, by the simulator's own request."""
    view = match._game.view(0)
    said = " ".join(view["log"]).lower()
    mine = view["seats"][seat]["request"]["side"]["pokemon"]
    known = {move for mon in mine for move in mon["moves"]}
    secrets = set()
    for mon in view["seats"][1 - seat]["request"]["side"]["pokemon"]:
        secrets |= {move for move in mon["moves"] if move not in re.sub(r"[^a-z0-9|]", "", said)} - known
    return secrets


@pytest.mark.parametrize("human", [0, 1])
def test_a_seat_does_not_see_what_its_foe_hides(installation, human):
    match = battle(human, sheets="closed")
    try:
        checked, frames = 0, []
        while not match.is_over:
            frame = match.frame
            frames.append(frame)
            if not match.is_over:
                secrets = hidden_from(match, human)
                text = words_of(frame.scene, 1 - human)
                assert not [move for move in secrets if f'"{move}"' in text]
                checked += len(secrets)
                foes = frame.scene["sides"][1 - human]["mons"]
                assert {mon["brought"] for mon in foes} <= {True, None} and len(foes) == 6
                assert all(mon["points"] is None for mon in foes)
            match.advance(None)
        assert checked > 20
        first = frames[1]
        assert first.actions[1 - human][0] == IDLE == first.actions[human][0], "both let the simulator choose"
        assert not first.thoughts[1 - human].probs[:91].any() and first.thoughts[1 - human].probs[91:].all()
        over = match.frame.scene["sides"][1 - human]["mons"]
        assert sum(mon["brought"] for mon in over) == 4, "when it is over, everything may be seen"
    finally:
        match.close()


def test_what_a_foe_brings_is_kept_from_the_person_until_the_end(installation):
    """The choice of four is in the replay, and not in any frame before the last."""
    match = battle(0)
    try:
        match._minds[1].decide = lambda sight: (choice(sight), Thought(np.zeros(185, np.float32), 0.0, None))
        frames = [match.advance(None)]
        assert frames[0].actions[1] == (IDLE, 46, 46) and match.replay().actions[0][1][0] == 17
        while not match.is_over:
            frames.append(match.advance(None))
        assert {frame.actions[1][0] for frame in frames} <= {IDLE, 0}
    finally:
        match.close()


def choice(sight):
    """Preview 17, then the first legal choice of each head."""
    if sight.mask[17]:
        return np.array([17, 46, 46], np.int32)
    left = int(np.flatnonzero(sight.mask[91:138])[0])
    right = [c for c in np.flatnonzero(sight.mask[138:]) if c != left or c < 40]
    return np.array([0, left, next((c for c in right if c % 10 < 5 or c >= 40), 46)], np.int32)


def same_numbers(match):
    """The picture's hitpoints and moves are those of the simulator's request."""
    request = match._game.view(0)["seats"][0]["request"]["side"]["pokemon"]
    for entry, mon in zip(request, match.frame.scene["sides"][0]["mons"], strict=False):
        now, _, most = entry["condition"].partition(" ")[0].partition("/")
        assert mon["points"] == [int(now), int(most)] if most else mon["fainted"]
        assert [move for move, _ in mon["moves"]] == entry["moves"]


def test_the_replay_shows_both_hands_and_the_same_battle(installation):
    match = battle(0, rival="heuristics")
    try:
        frames = [match.frame]
        while not match.is_over:
            frames.append(match.advance(None))
            if not match.is_over:
                same_numbers(match)
        replay = parse_replay(BytesIO(replay_text(match.replay()).encode()), "x")
        again = list(replayed(replay, [None, None], 300))
        assert [f.scene["log"] for f in again] == [f.scene["log"] for f in frames]
        assert again[-1].result == frames[-1].result and again[-1].scene == frames[-1].scene
        assert all(mon["points"] for mon in again[1].scene["sides"][1]["mons"])
        assert max(len(json.dumps(frame_facts(f))) for f in frames) < 14_000
    finally:
        match.close()


def test_every_line_up_is_offered_once_with_the_choice_that_brings_it(installation):
    """90 in doubles, 60 in singles, as combinatorics has it; a line-up that is chosen is the one that comes."""
    for format, leads, count in (("gen9vgc2025regi", 2, 90), ("gen9bssregi", 1, 60)):
        match = battle(0, rival="heuristics", format=format)
        try:
            lineups = match.frame.scene["sides"][0]["asked"]["lineups"]
            assert len(lineups) == count == len(set(lineups.values()))
            wanted = "36/25" if leads == 2 else "6/25"
            team = [mon["species"] for mon in match.frame.scene["sides"][0]["mons"]]
            picks = [("preview", lineups[wanted]), ("left", "pass"), ("right", "pass")]
            frame = match.advance(match.orders.read(picks, match.frame.mask))
            came = [mon for mon in frame.scene["sides"][0]["mons"] if mon["brought"]]
            assert [mon["species"] for mon in came] == [team[int(digit) - 1] for digit in wanted.replace("/", "")]
            assert [mon["slot"] for mon in came[:leads]] == list(range(leads)) and frame.scene["places"] == leads
        finally:
            match.close()


@pytest.mark.parametrize("settings", [{"teams": ["/etc/passwd"]}, {"log_folder": "x"}, {"opponent_teams": ["no-such"]}])
def test_a_replay_cannot_name_files(settings):
    """Refused before anything is looked for, so it needs no simulator."""
    plan = MatchPlan(0, 1, (External("0"), External("1")))
    with pytest.raises(ReplayError, match="files of its own"):
        list(replayed(Replay("vgc", "d", settings, plan, ()), [None, None], 300))
    with pytest.raises(UserError, match="cannot be shown here"):
        battle(0, rival="random", **settings)
