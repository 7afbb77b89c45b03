import json

import numpy as np
import pytest
from vgc_playing import OPEN, bots, plans, play

from pvp_ml.errors import UserError
from pvp_ml.games.conformance.check import check_game
from pvp_ml.games.registry import find
from pvp_ml.games.vgc.formats import FORMATS
from pvp_ml.games.vgc.layout import column
from pvp_ml.match import RESTING, ActionError, Bot, External, MatchPlan, StepBuffers

CI_BATTLES, NIGHTLY_BATTLES = 30, 2000
MEMORY_LIMIT = 500 << 20


def legality(build, battles):
    game = build(32, workers=1)
    wanted = [p for i, f in enumerate(FORMATS) for p in plans(battles, scenario=f.id, first=1 + i * battles)]
    tally = play(game, wanted)
    stats = game.stats()[0]
    assert tally.faults == [], game.fault_texts[-3:]
    assert len(tally.results) == len(FORMATS) * battles
    assert stats["rejected"] == 0 and stats["faults"] == 0
    assert all(r == [1, -1] or r == [-1, 1] or r == [0, 0] for r in tally.results)
    assert max(tally.lengths) <= game.spec.max_steps
    assert stats["rss_bytes"] <= MEMORY_LIMIT
    wins = sum(r[0] == 1 for r in tally.results)
    assert abs(wins / len(tally.results) - 0.5) < 4 * 0.5 / len(tally.results) ** 0.5  # no seat is favoured
    assert stats["decisions"] == tally.decisions and tally.decisions > 15 * len(tally.results)
    assert stats["unavailable"] < 0.02 * tally.decisions
    return tally


def test_random_play_is_legal_in_every_format(build):
    legality(build, CI_BATTLES)


@pytest.mark.nightly
def test_random_play_is_legal_in_every_format_for_long(build):
    legality(build, NIGHTLY_BATTLES)


PROMISES = ("buffers are written inside", "queue is served in order", "rows without plan rest")


def conformance(only):
    game = find("vgc")
    report = check_game(game, game.config(workers=1, max_steps=120), matches=2, only=only)
    assert report.passed, report.text()


def test_it_keeps_the_contract(installation):
    conformance(PROMISES)


@pytest.mark.nightly
def test_it_keeps_the_whole_contract(installation):
    conformance(())


def recorded(game, wanted):
    seen = {}

    def watch(out, count):
        for i in range(count):
            if out.serial[i] != RESTING:
                rows = seen.setdefault(int(out.serial[i]), [])
                rows.append((out.obs[i].tobytes(), out.mask[i].tobytes(), out.privileged[i].tobytes()))

    play(game, wanted, watch=watch)
    return seen


def test_a_match_depends_on_its_plan_alone(build):
    wanted = plans(6, bots("heuristics", "random"))
    alone = recorded(build(1), wanted)
    together = recorded(build(5, workers=2), wanted[::-1])
    assert alone == together and len(alone) == 6
    assert len({rows[0] for rows in alone.values()}) == 6


def test_signals_and_rewards_add_up(build):
    game = build(4)
    names = [s.name for s in game.spec.signals]
    terms = [r.name for r in game.spec.rewards]
    totals, finished = {}, []
    current = {}

    def watch(out, count):
        for i in range(count):
            row = int(out.match[i])
            if row in current:
                totals.setdefault(current[row], []).append((out.signals[i].copy(), out.reward[i].copy()))
                if out.ended[i]:
                    finished.append((current[row], out.result[i].tolist()))
            current[row] = int(out.serial[i])

    play(game, plans(12), watch=watch)
    assert len(finished) == 12
    for serial, result in finished:
        signals = np.sum([s for s, _ in totals[serial]], axis=0)
        reward = np.sum([r for _, r in totals[serial]], axis=0)
        assert reward[:, terms.index("win")].tolist() == result
        for seat in (0, 1):
            fainted = signals[seat, names.index("foe_fainted")]
            assert fainted == signals[1 - seat, names.index("own_fainted")]
            if result[seat] == 1:
                assert fainted == 1.0  # all four
            assert signals[seat, names.index("gimmick")] in (0, 1)
            dealt = reward[seat, terms.index("damage_dealt")]
            assert dealt == reward[1 - seat, terms.index("damage_taken")]
            assert result[seat] != 1 or dealt >= 0.999
        last_turn = totals[serial][-1][0][0, names.index("turn")]
        assert 1 <= last_turn <= 120


def test_finals_are_the_last_state(build):
    game = build(1)
    finals = {}

    def watch(out, count):
        for i in range(count):
            if out.ended[i]:
                finals[int(out.match[i]), len(finals)] = (out.result[i].copy(), out.final_obs[i].copy())

    play(game, plans(3), watch=watch)
    from pvp_ml.games.vgc import layout

    assert len(finals) == 3
    for result, obs in finals.values():
        loser = int(np.argmin(result))
        fainted = [obs[loser, layout.column("pokemon", i, "fainted")] for i in range(4)]
        assert fainted == [1, 1, 1, 1]
        assert obs[1 - loser, layout.column("side", 1, "fainted")] == 1.0


def test_sheets(build):
    from pvp_ml.games.vgc import layout

    known = {}
    for sheets in ("open", "closed"):
        game = build(1, sheets=sheets)
        game.queue(plans(1))
        game.start()
        out = StepBuffers.allocate(game.spec, 1)
        assert game.recv(1, 60, out) == 1
        obs = out.obs[0, 0]
        known[sheets] = [obs[layout.column("pokemon", i, f)] for i in range(6, 12) for f in ("item_known", "move_1")]
        assert obs[layout.column("global", 0, "sheets_open")] == (sheets == "open")
    assert all(known["open"]) and not any(known["closed"])


def test_refusals_change_nothing(build):
    game = build(2)
    out = StepBuffers.allocate(game.spec, 2)
    with pytest.raises(UserError, match="no bot 'nobody'"):
        game.queue([*plans(1), *plans(1, bots("nobody", "random"))])
    game.queue(plans(2))
    game.start()
    assert game.recv(2, 60, out) == 2
    actions = np.zeros((2, 2, 3), np.int32)
    with pytest.raises(ActionError, match="head 'preview' may not pick 'none' now"):
        game.send(out.match[:2], actions)
    with pytest.raises(ActionError, match="must be different"):
        game.send(np.array([0, 0], np.int32), actions)
    actions[:] = (1, 46, 46)
    game.send(out.match[:2], actions)
    with pytest.raises(ActionError, match="not waiting for actions"):
        game.send(np.array([0], np.int32), actions[:1])
    assert game.recv(2, 60, out) == 2 and out.acting.all()


def test_view_and_logs(build, tmp_path):
    game = build(2, log_folder=str(tmp_path / "logs"))
    view = game.view(0)
    assert view == {"match": 0, "resting": True}
    game.queue(plans(2, bots("random", "random")))
    game.start()
    out = StepBuffers.allocate(game.spec, 2)
    assert game.recv(2, 60, out) == 2
    view = json.loads(json.dumps(game.view(1)))
    assert view["serial"] == 2 and view["format"] == "gen9vgc2025regi" and view["turn"] == 0
    assert "|teampreview|4" in view["log"]


def test_saved_logs_replay_exactly(build, installation, tmp_path):
    """The input log alone, fed to a fresh stock battle, gives the saved log."""
    game = build(2, log_folder=str(tmp_path), sheets="closed")
    play(game, plans(2, bots("heuristics", "random")))
    script = """
      const fs = require('fs'); const sim = require('./simulator');
      const log = []; let battle = null;
      for (const line of fs.readFileSync(process.argv[1], 'utf8').trim().split('\\n')) {
        const space = line.indexOf(' '); const kind = line.slice(1, space); const rest = line.slice(space + 1);
        if (kind === 'start') battle = new sim.Battle({...JSON.parse(rest), send: () => {}});
        else if (kind === 'player') battle.setPlayer(rest.slice(0, 2), JSON.parse(rest.slice(3)));
        else if (kind[0] === 'p') { battle.sentLogPos = battle.log.length; battle.choose(kind, rest); }
      }
      for (let i = 0; i < battle.log.length; i++) {
        if (battle.log[i].startsWith('|split|')) i += 2;
        if (battle.log[i]) log.push(battle.log[i]);
      }
      console.log(JSON.stringify(log.filter(line => !line.startsWith('|t:|'))));
    """
    import subprocess

    from pvp_ml.games.vgc.layout import SCRIPTS

    for serial in (1, 2):
        stem = tmp_path / f"match-{serial:08d}"
        command = [str(installation.node), "-e", script, str(stem) + ".input.log"]
        done = subprocess.run(command, cwd=SCRIPTS, env=installation.environment(), capture_output=True, text=True)
        saved = [
            line for line in (tmp_path / f"{stem.name}.log").read_text().splitlines() if not line.startswith("|t:|")
        ]
        assert json.loads(done.stdout) == saved and saved[-1].startswith("|win|")


def test_mirror_and_default_scenarios(build):
    book = build(1)._book
    drawn = [book.teams(MatchPlan(i, i, OPEN, "gen9vgc2023regc/mirror")) for i in range(40)]
    assert all(a == b for a, b in drawn) and len({a for a, _ in drawn}) > 8
    free = [book.teams(MatchPlan(i, i, OPEN)) for i in range(200)]
    assert len({a for a, _ in free}) == 12 and sum(a == b for a, b in free) < 40


def test_a_bots_seat_is_not_encoded_but_its_team_is_known_to_the_critic(build):
    """What nobody reads is not made; the privileged part of the other seat does not change."""
    game = build(teams=("kyogre-rain",), opponent_teams=("lunala-room",))
    seen = []

    def watch(out, count):
        seen.extend((out.obs[i].copy(), out.privileged[i].copy()) for i in range(count) if out.serial[i] != RESTING)

    play(game, plans(2, (External("a"), Bot("random"))), watch=watch)
    assert len(seen) > 10
    for obs, privileged in seen:
        assert obs[0].any() and not obs[1].any()
        assert privileged[0].any() and privileged[1].any()
        own = obs[0][column("pokemon", 0, "species") : column("pokemon", 6, "species")].reshape(6, -1).copy()
        own[:, column("pokemon", 0, "speed") - column("pokemon", 0, "species") :][:, :7] = (
            0  # estimates are the seat's own
        )
        assert (privileged[1] == own.ravel()).all()


def test_without_a_privileged_critic_nothing_is_written_for_it(build):
    """Rows are smaller, and what a seat sees is the same."""
    first, second = ([], [])
    for seen, privileged in ((first, True), (second, False)):
        game = build(4, privileged=privileged)
        assert game.spec.privileged_size == (588 if privileged else 0)
        play(
            game,
            plans(4, (External("a"), Bot("heuristics"))),
            watch=lambda out, n, s=seen: s.append(out.obs[:n].copy()),
        )
    assert sum(map(len, first)) > 20
    key = lambda rows: sorted(map(bytes, np.concatenate(rows)))  # noqa: E731 - rows arrive in any order
    assert key(first) == key(second)
