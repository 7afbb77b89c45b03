"""Live play: the view of a seat elsewhere is the view in the game, and a whole battle on a local server."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import vgc_tracing as tracing
from vgc_rivals import results_in_the_simulator

from pvp_ml import players
from pvp_ml.errors import UserError
from pvp_ml.games.vgc.bench import BASELINE_PYTHON
from pvp_ml.games.vgc.config import VgcConfig, make_spec
from pvp_ml.games.vgc.live.client import LiveConfig, play_live
from pvp_ml.games.vgc.live.showdown_server import local_server
from pvp_ml.games.vgc.live.viewer import Viewer
from pvp_ml.games.vgc.teams import shipped
from pvp_ml.model.bundle import read_bundle

RIVAL = Path(__file__).parent / "live_rival.py"
TEAMS = ("miraidon-offence", "shadow-rider")


@pytest.mark.parametrize(
    ("format", "sheets"),
    [("gen9vgc2025regi", "open"), ("gen9championsvgc2026regma", "closed"), ("gen9vgc2023regc", "closed")],
)
def test_a_seat_elsewhere_sees_what_a_seat_in_the_game_sees(installation, format, sheets):
    seen = 0
    with Viewer(VgcConfig(format=format), installation) as viewer:
        for row in tracing.trace(format, 4, seed=77, sheets=sheets):
            if row.get("over"):
                continue
            room = f"{row['battle']}-{row['seat']}"
            seat, obs, mask = viewer.look(room, row["lines"], row["request"])
            assert seat == row["seat"] and np.flatnonzero(mask).tolist() == row["mask"]
            assert np.array_equal(obs, tracing.observation(row))
            choice = viewer.spell(room, row["picks"])
            assert choice.startswith("team ") if row["request"].get("teamPreview") else ", " in choice
            seen += 1
    assert seen > 60


def test_a_room_that_is_shown_again_is_read_anew(installation):
    rows = [r for r in tracing.trace("gen9vgc2025regi", 4, seed=77, sheets="open") if r.get("seat") == 0][:4]
    with Viewer(VgcConfig(), installation) as viewer:
        lines = []
        for row in rows:
            lines += row["lines"]
            viewer.look("a", row["lines"], row["request"])
        _, obs, _ = viewer.look("a", ["|init|battle", *lines], rows[-1]["request"])
    assert np.array_equal(obs, tracing.observation(rows[-1]))


def test_a_bot_elsewhere_picks_what_is_legal_and_follows_its_seed(installation):
    spec, picked = make_spec(VgcConfig()), []
    with Viewer(VgcConfig(), installation) as viewer:
        for row in tracing.trace("gen9vgc2025regi", 2, seed=77, sheets="open"):
            if row.get("over"):
                continue
            asked = (row["lines"], row["request"], "heuristics", 5)
            room = f"{row['battle']}-{row['seat']}"
            picks = viewer.advise(room, *asked)
            assert picks == viewer.advise(f"{room} again", *asked)
            offsets = np.cumsum([0, *spec.head_sizes])
            assert {int(offset + pick) for offset, pick in zip(offsets, picks, strict=False)} <= set(row["mask"])
            choice = viewer.spell(room, picks)
            assert choice.startswith("team ") if row["request"].get("teamPreview") else ", " in choice
            picked.append(picks)
    assert len(picked) > 20 and sum(p[0] > 0 for p in picked) == 4


def test_a_broken_view_is_one_clear_line(installation):
    with Viewer(VgcConfig(), installation) as viewer, pytest.raises(UserError, match="no view of a battle"):
        viewer.look("a", [], {"side": {}})


def battles_against(rival, battles, player, sheets="open"):
    """(our report, the rival's) of battles on a local server."""
    python = os.environ[BASELINE_PYTHON]
    config = VgcConfig(teams=TEAMS, sheets=sheets)
    with local_server() as (_, port):
        server = f"ws://127.0.0.1:{port}/showdown/websocket"
        texts = [shipped()[config.format][name] for name in TEAMS]
        wanted = {
            "server": server, "format": config.format, "teams": texts, "user": "Our Model", "battles": battles,
            "sheets": sheets, "player": rival,
        }  # fmt: skip
        other = subprocess.Popen([python, str(RIVAL)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            settings = LiveConfig(server, "Our Model", battles=battles, config=config)

            def started(line):
                if "waits for challenges" in line:
                    other.stdin.write(json.dumps(wanted) + "\n")
                    other.stdin.flush()

            report = play_live(settings, player, np.random.default_rng(1), started)
            theirs = json.loads(other.communicate(timeout=120)[0])
        finally:
            other.kill()
            other.wait()
    return report, theirs


@pytest.fixture
def poke_env():
    if not os.environ.get(BASELINE_PYTHON):
        pytest.skip(
            "LIVE PLAY NOT COMPARED WITH POKE-ENV: set PVP_ML_POKE_ENV_PYTHON to a Python that has poke-env 0.16.1"
        )


@pytest.mark.nightly
def test_fifty_battles_go_as_in_the_simulator(installation, poke_env, build):
    """Against poke-env's own heuristics; PVP_ML_VGC_MODEL names the model, without one it is random play."""
    spec = make_spec(VgcConfig())
    name, rival = os.environ.get("PVP_ML_VGC_MODEL", ""), "SimpleHeuristicsPlayer"
    player = players.BundlePlayer(read_bundle(Path(name)), spec) if name else players.make("random", spec)
    report, theirs = battles_against(rival, 50, player)
    assert report.rejected == [] and report.played == 50 and report.won == theirs["lost"]
    python = os.environ[BASELINE_PYTHON]
    won, lost, unclear, decisions = results_in_the_simulator(build(1, teams=TEAMS), python, rival, player, 200)
    print(f"on a server {report.won} of 50 in {report.decisions} decisions, simulated {won} of 200 in {decisions}")
    assert won + lost == 200 and unclear <= 0.02 * decisions  # an unclear choice weakens the rival
    assert report.decisions / 50 == pytest.approx(decisions / 200, rel=0.2)
    share = (report.won + won) / 250
    assert abs(report.won / 50 - won / 200) <= 1.96 * max(share * (1 - share), 0.02) ** 0.5 * (1 / 50 + 1 / 200) ** 0.5
