"""The batch: contract, snapshots, independence, compiled = interpreted, replays, words."""

import hashlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pvp_ml.errors import UserError
from pvp_ml.games import replay
from pvp_ml.games.conformance.check import check_game
from pvp_ml.games.legal import Legality
from pvp_ml.games.osrs import fights, signals, switches
from pvp_ml.games.osrs import state as S
from pvp_ml.games.registry import find
from pvp_ml.match import ActionError, Bot, External, MatchPlan, StepBuffers

KINDS = {"nh": fights.NH, "dharok": fights.DHAROK}


@pytest.mark.parametrize("name", KINDS)
def test_promises_of_the_contract(name):
    report = check_game(KINDS[name], KINDS[name].config(max_ticks=60))
    assert report.passed, report.text()


def test_names_and_sizes():
    assert find("NhEnv") is fights.NH and find("DharokEnv") is fights.DHAROK
    spec = fights.NH.spec(fights.NH.config())
    assert (spec.obs_size, spec.mask_size, spec.privileged_size, len(spec.heads)) == (176, 45, 93, 12)
    assert spec.head_sizes == (4, 3, 3, 4, 5, 2, 2, 2, 2, 5, 7, 6)
    assert len(signals.SIGNALS) == 61 and len(signals.REWARDS) == 43
    assert 4 * (2 * S.FIGHTER_SIZE + S.MATCH_SIZE) + 16 <= 8192


def test_importing_the_game_type_compiles_nothing():
    code = "import sys, pvp_ml.games.osrs.fights; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_switches_cover_their_columns():
    columns = {name for name in vars(S) if name.startswith("Q_")}
    assert columns == {f"Q_{s.name.upper()}" for s in switches.SWITCHES}


def test_wrong_actions_name_match_seat_head_and_value():
    game = fights.NH.build(fights.NH.config(), 3)
    out = StepBuffers.allocate(game.spec, 3)
    game.queue([MatchPlan(i, i, (External("a"), External("b"))) for i in range(3)])
    game.start(out)
    actions = np.zeros((3, 2, 12), np.int32)
    actions[1, 0, 9] = 5
    before = game.snapshot()
    with pytest.raises(ActionError, match=r"match 1, seat 0: head 'movement' has 5 choices, got 5"):
        game.step(actions, out)
    assert game.snapshot() == before
    actions = np.zeros((3, 2, 12), np.int64)
    actions[2, 1, 0] = 1 << 32  # must not wrap to a legal value
    with pytest.raises(ActionError, match="match 2, seat 1: head 'attack'"):
        game.step(actions, out)


def test_attack_without_its_type_is_no_attack(fight):
    f = fight().play({"attack": "mage_attack"})
    assert f.obs[0, 49] == 0 and f.obs[0, 54] == 0


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**63), st.sampled_from(["nh", "dharok"]), st.booleans())
def test_any_well_formed_action_keeps_the_state_sound(seed, name, live):
    kind = KINDS[name]
    game = kind.build(kind.config(max_ticks=40), 4)
    out = StepBuffers.allocate(game.spec, 4)
    scenario = "live-game" if live else "default"
    game.queue([MatchPlan(i, seed + i, (External("a"), External("b")), scenario) for i in range(8)])
    game.start(out)
    rng = np.random.default_rng(seed)
    for _ in range(60):
        actions = rng.integers(0, game.spec.head_sizes, (4, 2, len(game.spec.heads)), dtype=np.int32)
        game.step(actions, out)
        assert np.isfinite(out.obs).all() and np.isfinite(out.signals).all() and np.isfinite(out.reward).all()
        rows = game.fighters
        assert (rows[:, :, S.HP] >= 0).all() and (rows[:, :, S.HP] <= 121).all()
        assert (rows[:, :, S.ENERGY] >= 0).all() and (rows[:, :, S.ENERGY] <= 100).all()
        assert (rows[:, :, S.PRAY] >= 0).all() and (rows[:, :, S.COUNT : S.COUNT + S.KINDS] >= 0).all()
        assert (rows[:, :, S.HITS] < S.HIT_SLOTS).all() and (rows[:, :, S.DUES] < S.DUE_SLOTS).all()
        held = np.sort(np.concatenate([rows[:, :, S.WORN : S.WORN + 11], rows[:, :, S.INV : S.INV + 28]], -1), -1)
        assert held.shape[-1] == 39
        assert ((rows[:, :, S.INV : S.INV + 28] == 0).sum(-1) == rows[:, :, S.COUNT + S.KIND_EMPTY]).all()


def play_and_hash(name, matches, ticks, first=0, count=None):
    """Hash of everything that some matches write, over all scenarios, bots included."""
    kind = KINDS[name]
    game = kind.build(kind.config(max_ticks=ticks), matches)
    spec, out = game.spec, StepBuffers.allocate(game.spec, matches)
    scenarios = [s.name for s in spec.scenarios]
    plans = []
    for i in range(first, first + (count or 2 * matches)):
        lineup = (External("a"), Bot(spec.bots[0]) if i % 3 == 0 else External("b"))
        plans.append(MatchPlan(i, 7 * i + 1, lineup, scenarios[i % len(scenarios)]))
    game.queue(plans)
    game.start(out)
    legality, rng, digest = Legality(spec), np.random.default_rng(0), hashlib.sha256()
    while out.acting.any():
        rows, seats = np.nonzero(out.acting)
        actions = np.full((matches, 2, len(spec.heads)), -1, np.int32)
        actions[rows, seats] = legality.choose(out.mask[rows, seats], rng.random((len(rows), len(spec.heads))))
        game.step(actions, out)
        for array in (out.obs, out.mask, out.signals, out.reward, out.final_obs, game.fighters, game.state):
            digest.update(array.tobytes())
        digest.update(game.drained.tobytes())
    return digest.hexdigest()


def interpreted(name, matches, ticks, first=0):
    code = f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r}); import test_game as t; "
    code += f"print(t.play_and_hash({name!r}, {matches}, {ticks}, {first}))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_compiled_equals_interpreted():
    assert interpreted("nh", 10, 60) == play_and_hash("nh", 10, 60)
    assert interpreted("dharok", 5, 60) == play_and_hash("dharok", 5, 60)


@pytest.mark.nightly
def test_compiled_equals_interpreted_over_a_thousand_matches():
    for first in range(0, 1000, 100):
        assert interpreted("nh", 50, 150, first) == play_and_hash("nh", 50, 150, first)


def test_snapshot_of_another_setting_is_refused():
    data = fights.NH.build(fights.NH.config(max_ticks=50), 2).snapshot()
    with pytest.raises(UserError, match="another game"):
        fights.NH.build(fights.NH.config(max_ticks=51), 2).restore(data)


def test_live_game_turns_the_corrections_on(fight):
    live = fight(scenario="live-game", switches_off=())
    assert live.match[S.Q_FREEZE_TICKS] == 0 and live.match[S.Q_TWO_SPLATS] == 0
    ice = {"attack": "mage_attack", "mage_attack_type": "use_ice_spell"}
    live.play(ice, None, hits={0: [(1, 1)]})
    assert live.left(1, S.T_FREEZE) == 33


def record_fight(name="nh", bot=None, ticks=40):
    kind = KINDS[name]
    config = kind.config(max_ticks=ticks)
    plan = MatchPlan(3, 11, (External("a"), Bot(bot) if bot else External("b")))
    game = kind.build(config, 1)
    out = StepBuffers.allocate(game.spec, 1)
    game.queue([plan])
    game.start(out)
    legality, rng, taken = Legality(game.spec), np.random.default_rng(2), []
    while out.acting.any():
        rows, seats = np.nonzero(out.acting)
        actions = np.full((1, 2, len(game.spec.heads)), -1, np.int32)
        actions[rows, seats] = legality.choose(out.mask[rows, seats], rng.random((len(rows), len(game.spec.heads))))
        game.step(actions, out)
        taken.append(actions[0])
    steps = tuple(tuple(tuple(int(c) for c in seat) for seat in step) for step in taken)
    settings = config.model_dump(mode="json")
    made = replay.Replay(name, game.spec.game_digest, settings, plan, steps)
    return made, game.fighters.copy(), out


@pytest.mark.parametrize(("name", "bot"), [("nh", None), ("nh", "nh-bot"), ("dharok", "dharok-bot")])
def test_replay_file_plays_the_same_fight(tmp_path, name, bot):
    made, rows, out = record_fight(name, bot)
    replay.write_replay(tmp_path / "fight.jsonl", made)
    again = replay.read_replay(tmp_path / "fight.jsonl")
    assert again.actions == made.actions
    last = [game for game, _ in replay.play(again)][-1]
    assert last.fighters.tobytes() == rows.tobytes()
    lines = list(replay.narrate(name, replay.play(again)))
    assert lines[0].startswith(f"{name}, ") and lines[1].startswith("tick   1")
    assert out.truncated[0] and lines[-1] == "time is up: no winner"


def test_words_of_a_tick(fight):
    from pvp_ml.games.osrs.show.view import tell_tick

    f = fight()
    before = f.rows.copy()
    ice = {"attack": "mage_attack", "mage_attack_type": "use_ice_spell", "food": "eat_primary_food"}
    f.play(ice, {"prayer": "mage_prayer"}, hits={0: [(1, 13)]})
    words = tell_tick(before, f.rows, f.match)
    assert "casts Ice Barrage: 13 into prayer, freezes" in words and "eats anglerfish" in words
    assert "prays magic" in words and "A acts first" in words


def test_view_is_json_and_names_what_is_worn(fight):
    view = fight().game.view(0)
    assert json.loads(json.dumps(view)) == view
    assert view["fighters"][0]["worn"]["weapon"] == "kodai_wand" and view["fighters"][1]["build"] == "PURE"
