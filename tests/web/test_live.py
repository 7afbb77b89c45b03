"""A live match, its replay and its demonstration tell the same story."""

from io import BytesIO

import numpy as np
import pytest
from ringside import bundle_for

from pvp_ml import players
from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.games.replay import ReplayError, parse_replay, replay_text
from pvp_ml.match import Bot, External, MatchPlan
from pvp_ml.model.recording import read_recording, write_recording
from pvp_ml.web.live import LiveMatch, replayed
from pvp_ml.web.messages import frame_facts
from pvp_ml.web.minds import PolicyMind, ScriptedMind


def live(game, human=0, seed=11, bot=None, settings=None):
    kind = registry.find(game)
    config = registry.configure(kind, settings or {})
    spec = kind.spec(config)
    lineup = tuple(Bot(bot) if bot and s == 1 else External(str(s)) for s in range(2))
    minds = [None if s == human or (bot and s == 1) else PolicyMind(bundle_for(game), spec) for s in range(2)]
    return LiveMatch(kind, config, MatchPlan(0, seed, lineup, spec.scenarios[0].name), minds, human)


def play_out(match, seed=0):
    """The person plays at random; all frames."""
    person = ScriptedMind(players.make("random", match.spec), match.human or 0)
    rng = np.random.default_rng(seed)
    frames = [match.frame]
    while not match.is_over:
        action = None
        if match.awaits_person:
            from pvp_ml.web.minds import Sight

            nothing = np.zeros(match.spec.obs_size, np.float32)
            action = person.decide(Sight(nothing, nothing, match.frame.mask, int(rng.integers(1, 2**62))))[0]
        frames.append(match.advance(action))
    return frames


@pytest.mark.parametrize(("game", "bot"), [("nh", None), ("nh", "nh-bot"), ("dharok", None), ("connect4", "tactician")])
def test_the_replay_is_the_match(game, bot):
    match = live(game, bot=bot)
    frames = play_out(match)
    replay = parse_replay(BytesIO(replay_text(match.replay()).encode()), "x")
    again = list(replayed(replay, [None, None], match.spec.max_steps))
    assert [f.scene for f in again] == [f.scene for f in frames]
    assert again[-1].result == frames[-1].result and again[-1].result is not None
    assert [f.actions for f in again] == [f.actions for f in frames]
    with pytest.raises(UserError, match="is over"):
        match.advance(None)


def test_the_last_frame_of_a_fight_shows_who_fell():
    frames = play_out(live("nh"))
    result = frames[-1].result
    fallen = [fighter["dying"] for fighter in frames[-1].scene["fighters"]]
    assert fallen == [r == -1 for r in result]
    assert not any(f["dying"] for f in frames[-2].scene["fighters"])


def test_the_last_frame_of_connect4_shows_the_last_stone():
    frames = play_out(live("connect4"))
    stones = [sum(c != "." for c in f.scene["cells"]) for f in frames]
    assert stones[-1] == len(frames) - 1 == stones[-2] + 1


def test_what_the_person_showed_can_be_learned_from(tmp_path):
    match = live("nh", human=1)
    frames = play_out(match)
    recording = match.demonstration()
    shown = iter([f.actions[1] for f in frames[1:]])
    assert len(frames) / 2 < len(recording) < len(frames) - 1  # walks that agents are kept from are left out
    assert all(tuple(row) in shown for row in recording.actions.tolist()), "in the order in which they were played"
    write_recording(tmp_path / "me.zip", recording, "nh", match.spec.interface, "you")
    assert len(read_recording(tmp_path / "me.zip", "nh", match.spec.interface)) == len(recording)  # all legal
    assert live("nh", human=None).demonstration() is None


def test_what_no_agent_could_choose_is_played_but_not_recorded():
    match = live("nh")
    before = match.frame.scene["fighters"][0]["prayers"]
    match.advance(match.orders.read([("prayer", "melee_prayer")], match.frame.mask))  # and holds the attack
    assert before == [] and match.frame.scene["fighters"][0]["overhead"] == "melee"
    assert match.frame.scene["fighters"][0]["attack"] is None and match.demonstration() is None


def test_a_person_may_walk_while_an_attack_is_ready_and_an_agent_may_not():
    """Compared with the game's own mask, and played: the fighter walks."""
    match = live("nh", settings={"terrain": "open"})
    heads = {head.name: head for head in match.spec.heads}
    offset = sum(head.size for head in match.spec.heads[: list(heads).index("movement")])
    walk = offset + heads["movement"].choices.index("move_to_farcast_tile")
    assert match.frame.scene["fighters"][0]["timers"]["attack"] == 0
    assert match.frame.mask[walk] and not match._out.mask[0, 0, walk]
    assert (match.frame.mask >= match._out.mask[0, 0]).all(), "a person may do all that an agent may"
    foe, me = (match.frame.scene["fighters"][seat]["position"] for seat in (1, 0))
    away = max(abs(foe[0] - me[0]), abs(foe[1] - me[1]))
    wanted = "farcast_3_tiles" if away != 3 else "farcast_5_tiles"
    picks = [("movement", "move_to_farcast_tile"), ("farcast_distance", wanted)]
    match.advance(match.orders.read(picks, match.frame.mask))
    assert match.frame.scene["fighters"][0]["position"] != me
    assert match.demonstration() is None


def test_thoughts_belong_to_the_action_beside_them():
    match = live("nh", human=None)
    for _ in range(20):
        frame = match.advance(None)
        assert set(frame.thoughts) == {0, 1}
        facts = frame_facts(frame)
        offsets = np.concatenate([[0], np.cumsum(match.spec.head_sizes)])
        for seat, thought in frame.thoughts.items():
            assert all(thought.probs[offsets[h] + a] > 0 for h, a in enumerate(frame.actions[seat]))
            assert sum(facts["thoughts"][str(seat)]["probs"]) == pytest.approx(12_000, abs=45)
        assert facts["legal"] is None


def test_an_analyst_thinks_about_a_replay_as_it_did_when_it_played():
    match = live("nh", human=None)
    frames = [match.frame, *(match.advance(None) for _ in range(25))]
    minds = [PolicyMind(bundle_for("nh"), match.spec) for _ in range(2)]
    again = list(replayed(match.replay(), minds, 1000))
    for one, other in zip(frames, again, strict=True):
        assert {s: t.win for s, t in one.thoughts.items()} == {s: t.win for s, t in other.thoughts.items()}


def test_a_replay_that_is_too_long_or_holds_nonsense_is_refused():
    match = live("connect4")
    text = replay_text(match.replay())
    for line, words in (("[[99],[-1]]", "99"), (f"[[{2**40}],[0]]", "2147483647"), ("[[0]]", "2 seats")):
        with pytest.raises(UserError, match=words):
            list(replayed(parse_replay(BytesIO(f"{text}{line}\n".encode()), "x"), [None, None], 64))
    long = parse_replay(BytesIO((text + "[[-1],[-1]]\n" * 65).encode()), "x")
    with pytest.raises(ReplayError, match="65 steps"):
        list(replayed(long, [None, None], 64))


def test_a_replay_cannot_start_a_program(tmp_path):
    """A shared file that names a server command, digest and all, is refused before anything is built."""
    mark = tmp_path / "started"
    match = live("nh")
    replay = match.replay()
    kind = registry.find("nh")
    settings = {**replay.config, "remote_command": f"touch {mark}"}
    digest = kind.spec(registry.configure(kind, settings)).game_digest
    hostile = type(replay)(replay.game, digest, settings, replay.plan, replay.actions)
    with pytest.raises(ReplayError, match="cannot be played again"):
        list(replayed(hostile, [None, None], 1000))
    assert not mark.exists()
