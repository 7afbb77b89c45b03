"""Bots that say what they would do: recorded decisions are those of the bot."""

from dataclasses import replace

import numpy as np
import pytest

from pvp_ml import players
from pvp_ml.cli import run
from pvp_ml.errors import UserError
from pvp_ml.games.legal import Legality
from pvp_ml.games.vgc.actions import PASS
from pvp_ml.games.vgc.config import VgcConfig, make_spec
from pvp_ml.match import IDLE, External, MatchPlan, StepBuffers
from pvp_ml.model.recording import Recording, parts_of, read_recording
from pvp_ml.selfplay.evaluate import Contestant
from pvp_ml.selfplay.record import record_bot


def test_the_advised_seats_play_as_the_bot_does(build):
    game = build(8)
    recording, report = record_bot(game, "max-power", None, Contestant("random", bot="random"), 12, seed=4)
    assert report.total.matches == 12 and report.total.score > 0.6  # as the bot itself: about 88 %
    assert len(np.unique(recording.lane)) == 12
    picks = recording.actions[recording.actions[:, 0] == 0]
    moves = picks[:, 1:][picks[:, 1:] < 40]
    assert len(moves) and not (moves % 10 >= 5).any()  # max-power never uses the gimmick
    preview = recording.actions[recording.actions[:, 0] > 0]
    assert len(preview) == 12 and (preview[:, 1:] == PASS).all()


def test_against_itself_both_seats_are_kept(build):
    recording, report = record_bot(build(4), "heuristics", None, Contestant("heuristics", bot="heuristics"), 4, seed=1)
    assert len(np.unique(recording.lane)) == 8 and len(np.unique(recording.match)) == report.total.matches == 4
    assert len(np.unique(recording.obs, axis=0)) > 0.95 * len(recording), "no match is recorded twice"


def test_a_driver_plays_and_the_bots_decisions_are_kept(build):
    driver = Contestant("random", make=lambda spec: players.make("random", spec))
    recording, report = record_bot(build(4), "max-power", driver, Contestant("heuristics", bot="heuristics"), 6, seed=2)
    assert report.first == "random" and report.total.score < 0.5 and len(np.unique(recording.lane)) == 6
    moves = recording.actions[:, 1:][recording.actions[:, 1:] < 40]
    assert len(moves) > 30 and not (moves % 10 >= 5).any()  # the driver uses the gimmick, the bot never does
    with pytest.raises(UserError, match="cannot drive"):
        record_bot(build(1), "max-power", Contestant("random", bot="random"), Contestant("random", bot="random"), 2)


def test_advice_is_legal_and_only_for_seats_that_act(build):
    game, spec = build(1), make_spec(VgcConfig())
    legality, out = Legality(spec), StepBuffers.allocate(spec, 1)
    game.advise("heuristics")
    game.queue([MatchPlan(7, 7, (External("a"), External("b")))])
    game.start()
    for _ in range(12):
        assert game.recv(1, 60.0, out) == 1
        if out.ended[0]:
            break
        actions = np.full((1, 2, 3), IDLE, np.int32)
        for seat in range(2):
            advice = game.advice(np.array([7]), np.array([seat], np.int32))[0]
            assert (advice >= 0).all() == bool(out.acting[0, seat])
            if out.acting[0, seat]:
                actions[0, seat] = advice
        legality.check(actions, out.acting[:1], out.mask[:1])
        game.send(out.match[:1], actions)


def test_an_unknown_adviser_is_refused(build):
    with pytest.raises(UserError, match="has no bot 'wise'"):
        build(1).advise("wise")


def test_the_command_records_a_bot(installation, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["bc", "record", "vgc", "--bot", "max-power", "--matches", "4", "--env.workers", "1"]) == 0
    assert "decisions of max-power (4 matches against itself) in recording.zip" in capsys.readouterr().out
    spec = make_spec(VgcConfig())
    recording = read_recording(tmp_path / "recording.zip", "vgc", spec.interface)
    assert len(np.unique(recording.lane)) == 8
    assert run(["bc", "record", "vgc", "--bot", "wise"]) == 2
    assert run(["bc", "record", "vgc"]) == 2
    assert run(["bc", "record", "connect4", "--bot", "tactician"]) == 2
    errors = capsys.readouterr().err
    assert "no bot 'wise'" in errors and "to record" in errors and "do not report their decisions" in errors


def test_recordings_too_large_for_a_file_are_cut_between_matches(monkeypatch):
    spec = make_spec(VgcConfig())
    row = 4 * spec.obs_size + spec.mask_size + 3 * 8 + 8 + 8  # as a file holds it: obs, mask, actions, lane, match
    monkeypatch.setattr("pvp_ml.model.recording.MAX_TOTAL_BYTES", (1 << 16) + 11 * row - 1)  # ten rows and no more
    lane = np.array([3, 1, 1, 3, 2, 2, 2, 2, 1, 3, 5, 5], np.int64)
    rows = len(lane)
    obs = np.repeat(np.arange(rows, dtype=np.float32)[:, None], spec.obs_size, axis=1)
    whole = Recording(obs, np.ones((rows, spec.mask_size), bool), np.zeros((rows, 3), np.int32), lane)
    pair = replace(whole, match=np.where(lane == 5, 3, lane))  # lanes 3 and 5 are the seats of one match
    assert [piece.lane.tolist() for piece in parts_of(pair, spec.interface)] == [[1, 1, 1, 2, 2, 2, 2], [3, 3, 3, 5, 5]]
    pieces = parts_of(whole, spec.interface)
    assert [piece.lane.tolist() for piece in pieces] == [[1, 1, 1, 2, 2, 2, 2, 3, 3, 3], [5, 5]]
    assert pieces[0].obs[:, 0].tolist() == [1, 2, 8, 4, 5, 6, 7, 0, 3, 9]
