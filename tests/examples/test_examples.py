"""The worked examples, installed as a user would install them and played by a fresh interpreter."""

import json
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent.parent / "examples"

PLAY_NIM = """
import json
import numpy as np
import pvp_nim
from pvp_ml.games.conformance.playthrough import record
from pvp_ml.games.registry import configure, find
from pvp_ml.match import Bot, MatchPlan

game = find("nim")
config = configure(game, {"largest_heap": 20})
plans = [MatchPlan(i, i, (Bot("expert"), Bot("random"))) for i in range(300)]
traces = record(game.build(config, 50), plans, 10_000)
wins = [bool(trace.ending["result"][0] == 1) for trace in traces.values()]
print(json.dumps({"file": pvp_nim.__file__, "wins": np.mean(wins)}))
"""

PLAY_CENTRE = """
import json
import numpy as np
from pvp_ml import players
from pvp_ml.games.adapters.hosting import Host

host, rng = Host("connect4", ours=(0,), opponent="centre", matches=32), np.random.default_rng(0)
host.restart(rng, 600)
wins = []
while len(wins) < 400:
    noise = rng.random((32, 1))
    picks = np.full((32, 2, 1), -1, np.int32)
    rows = np.flatnonzero(host.out.acting[:, 0])
    picks[rows, 0] = host.legality.choose(host.out.mask[rows, 0], noise[rows])
    host.step(picks)
    wins += (host.out.result[host.out.ended, 1] == 1).tolist()
print(json.dumps({"names": players.names(), "wins": np.mean(wins)}))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with both packages, made by pip from the sources, without network."""
    target = tmp_path_factory.mktemp("site packages")
    folders = [str(EXAMPLES / name) for name in ("nim_game", "centre_player")]
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, "--target", str(target), *folders], check=True)
    return target


def python(installed, *words):
    env = {**os.environ, "PYTHONPATH": str(installed), "OMP_NUM_THREADS": "1"}
    return subprocess.run([sys.executable, *words], env=env, capture_output=True, text=True, check=False)


def test_the_game_is_listed_and_keeps_every_promise(installed):
    listed = python(installed, "-m", "pvp_ml", "game", "list", "--json")
    assert "nim" in [game["name"] for game in json.loads(listed.stdout)["games"]], listed.stderr
    checked = python(installed, "-m", "pvp_ml", "game", "check", "nim", "--json")
    report = json.loads(checked.stdout)
    assert report["passed"], report
    assert all(check["outcome"] == "kept" for check in report["checks"])


def test_the_game_is_played_and_its_expert_is_one(installed):
    played = json.loads(python(installed, "-W", "error", "-c", PLAY_NIM).stdout)
    assert Path(played["file"]).is_relative_to(installed)
    assert played["wins"] > 0.95


def test_the_game_is_played_on_a_page_with_its_own_view(installed, tmp_path):
    env = {**os.environ, "PYTHONPATH": str(installed)}
    command = [sys.executable, "-m", "pvp_ml", "play", "nim", "--port", "0", "--no-open", "--no-keep"]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as server:
        try:
            address = re.search(r"http://\S+:\d+", server.stdout.readline()).group()

            def fetch(path):
                with urllib.request.urlopen(address + path, timeout=120) as answer:
                    return answer.read().decode(), answer.headers["content-type"]

            view = json.loads(fetch("/api/games/nim")[0])["view"]
            assert view == {"module": "/games/nim/view.js", "styles": ["/games/nim/nim.css"]}
            text, kind = fetch(view["module"])
            assert "export default class NimView" in text and "javascript" in kind
            assert ".heap" in fetch(view["styles"][0])[0]
        finally:
            server.terminate()


def test_the_player_is_found_and_beats_random_moves(installed):
    played = python(installed, "-W", "error", "-c", PLAY_CENTRE)
    result = json.loads(played.stdout or played.stderr)
    assert {"centre", "random"} <= set(result["names"])
    assert result["wins"] > 0.65


def test_the_player_refuses_other_games(installed):
    words = "from pvp_ml.games.adapters.hosting import Host; Host('kuhn', ours=(0,), opponent='centre')"
    assert "player 'centre' does not play 'kuhn'" in python(installed, "-c", words).stderr


def test_the_examples_stay_short():
    for path in EXAMPLES.rglob("*.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 110, path
