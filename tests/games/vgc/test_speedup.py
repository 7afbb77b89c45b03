"""The speed-up must be the same simulator: whole logs are compared, battle by battle."""

import json

import pytest

from pvp_ml.games.vgc.teams import shipped


def golden(installation, battles):
    request = {format: list(teams.values()) for format, teams in shipped().items()}
    lines = installation.run("golden.js", request, str(battles)).splitlines()
    return [json.loads(line) for line in lines]


def check(report, battles):
    assert [(r["format"], r["battles"], r["different"], r["refused"]) for r in report] == [
        (format, battles, 0, "") for format in shipped()
    ]
    assert min(r["lines"] for r in report) > 100 * battles  # a battle that ends at once proves nothing


def test_logs_equal_the_stock_simulators(installation):
    check(golden(installation, 3), 3)


@pytest.mark.nightly
def test_logs_equal_the_stock_simulators_over_many_battles(installation):
    check(golden(installation, 150), 150)


def test_an_unknown_simulator_keeps_the_stock_methods(installation):
    script = """
      const sim = require('./simulator');
      sim.Battle.prototype.getCallback = function (target, effect, name) { return effect[name]; };
      const stock = sim.Battle.prototype.findEventHandlers;
      const reason = require('./speed/speedup').install();
      console.log(JSON.stringify({reason, kept: sim.Battle.prototype.findEventHandlers === stock}));
    """
    import subprocess

    from pvp_ml.games.vgc.layout import SCRIPTS

    done = subprocess.run(
        [str(installation.node), "-e", script],
        cwd=SCRIPTS,
        env=installation.environment(),
        capture_output=True,
        text=True,
    )
    answer = json.loads(done.stdout)
    assert answer["kept"] and "differs from the version" in answer["reason"]


def test_the_game_can_do_without(build):
    from vgc_playing import plans, play

    fast, stock = build(2), build(2, speedup=False)
    logs = []
    for game in (fast, stock):
        heard = []
        game.listen(heard.append)
        tally = play(game, plans(3))
        assert not tally.faults
        logs.append({log.serial: [line for line in log.lines if not line.startswith("|t:|")] for log in heard})
    assert logs[0] == logs[1] and len(logs[0]) == 3
    assert fast._pool.speedup_refused == "" and stock._pool.speedup_refused == "switched off"
