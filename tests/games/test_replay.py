"""Replays: the same match again, and files that lie are refused."""

import json

import pytest

from pvp_ml.cli import run
from pvp_ml.games.replay import MAX_LINE_BYTES, ReplayError, play, read_replay


@pytest.fixture
def saved(tmp_path, capsys):
    path = tmp_path / "match.jsonl"
    assert (
        run(["watch", "connect4", "--model", "random", "--against", "tactician", "--seed", "3", "--save", str(path)])
        == 0
    )
    return path, capsys.readouterr().out


def test_a_replay_tells_the_same_match(saved, capsys):
    path, narration = saved
    assert run(["replay", "show", str(path)]) == 0
    assert capsys.readouterr().out.splitlines() == narration.splitlines()[:-1]
    _, last = list(play(read_replay(path)))[-1]
    assert last.ended[0]
    assert sorted(last.result[0].tolist()) in ([-1, 1], [0, 0])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda head, steps: ([], steps), "first line"),
        (lambda head, steps: ({**head, "format": 99}, steps), "format 99"),
        (lambda head, steps: ({**head, "plan": None}, steps), "not a replay"),
        (lambda head, steps: ({**head, "digest": "0" * 64}, steps), "another version"),
        (lambda head, steps: (head, [[[0]]]), "2 seats"),
        (lambda head, steps: (head, ["x" * (MAX_LINE_BYTES + 1)]), "too long"),
    ],
)
def test_files_that_lie_are_refused(saved, change, words):
    path, _ = saved
    head, *steps = map(json.loads, path.read_text().splitlines())
    head, steps = change(head, steps)
    path.write_text("\n".join(json.dumps(line) for line in [head, *steps]))
    with pytest.raises(ReplayError, match=words):
        list(play(read_replay(path)))
