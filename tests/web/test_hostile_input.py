"""Whatever a stranger sends to the site is refused with a sentence: every door, no 500, and markup stays text."""

import json
from dataclasses import replace
from urllib.parse import quote

import pytest
from browsing import until, window
from ringside import Ringside
from test_site_pages import NAME, finished_run

from pvp_ml.games.replay import read_replay, replay_text
from pvp_ml.model.bundle import read_bundle, write_bundle
from pvp_ml.run.desk.desk import Desk

WORDS = ["", "nobody", NAME, "..", "../../etc/passwd", "%2e%2e%2f", "\x00", "\U0001f47e", "x" * 5000, "a/b/c", "con",
         "' or 1=1", "{{7*7}}", "\r\nSet-Cookie: a=b", "first\u202etxt", "-rf", "~", "*"]  # fmt: skip
BODIES = {
    "nothing": b"", "words": b"hello", "half": b'{"format": 1', "list": b"[1, 2]", "number": b"1e999", "nan": b"NaN",
    "deep": b"[" * 200_000, "zeros": b"\x00" * 4096, "not text": b"\xff\xfe\xfd", "twice": b'{"a":1,"a":2}',
    "markup": json.dumps({"format": 1, "game": NAME, "names": [NAME]}).encode(), "10 MB": b"x" * 10_000_000,
}  # fmt: skip


@pytest.fixture(scope="module")
def stranger(corner, tmp_path_factory):
    """Connect 4 with a run, a model and a replay that all carry markup wherever they can."""
    place, kept = tmp_path_factory.mktemp("experiments"), tmp_path_factory.mktemp("kept")
    finished_run(place)
    bundle = read_bundle(corner / "models" / "Stones.zip")
    write_bundle(corner / "models" / "Marked.zip", replace(bundle, card=f"# {NAME}\n\n{NAME} and **{NAME}**\n"))
    with Ringside("connect4", corner, kept, runs=Desk(place)) as ring:
        yield ring
    (corner / "models" / "Marked.zip").unlink()


def test_every_door_answers_a_stranger_with_a_sentence(stranger):
    seen = set()
    for door in stranger.site.doors():
        for word in WORDS:
            path = door.path
            for part in ("{game}", "{run}", "{name}", "{room}", "{model:path}"):
                path = path.replace(part, quote(word, safe=""))
            status, body, headers = stranger.get(path, door.method, b"{}" if door.method == "POST" else None)
            assert status < 500, (path[:80], status)
            seen.add(status)
            if status >= 400 and "json" in headers.get("content-type", ""):
                error = json.loads(body)["error"]
                assert 10 < len(error) < 400, error
    assert {200, 400, 404} <= seen <= {200, 307, 400, 404}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_every_body_is_refused_with_a_sentence(stranger, body):
    for path in (f"{stranger.api}/frames", f"{stranger.api}/frames?analyst={quote(NAME)}", "/api/runs/done/stop",
                 "/api/runs/done/resume"):  # fmt: skip
        status, answer, _ = stranger.get(path, "POST", body)
        assert status in (400, 413) and len(json.loads(answer)["error"]) > 10, (path, status)


@pytest.mark.parametrize(
    "message",
    [
        {"type": "start", "seats": [NAME, "you"]},
        {"type": "start", "seats": ["you", "bot:random"], "scenario": NAME},
        {"type": "start", "seats": ["you", "bot:random"], "settings": {NAME: True}},
        {"type": "start", "seats": ["you", "bot:random"], "brings": [NAME, NAME]},
        {"type": "bring", "text": NAME},
        {"type": "watch", "room": NAME, "key": NAME},
        {"type": "order", "step": 0, "picks": [[NAME, NAME]]},
        {"type": NAME},
    ],
    ids=str,
)
def test_messages_with_markup_are_refused_with_a_sentence(stranger, message):
    with stranger.socket() as socket:
        socket.send(**message)
        assert len(socket.hear("refused")["message"]) > 10
        socket.send(type="leave")
    assert stranger.get(stranger.api)[0] == 200


def test_markup_in_replays_models_and_runs_stays_text(browser, stranger, tmp_path):
    """What is drawn is text: no element comes of it and no script runs."""
    with stranger.socket() as socket:
        socket.send(type="start", seats=["bot:random", "bot:tactician"], tick_ms=40)
        name = socket.hear("end")["replay"]
    folder = stranger.arena.config.folder / "replays"
    marked = replace(read_replay(folder / name), names=(NAME, "<b>foe</b>"))
    (tmp_path / "marked.replay").write_text(replay_text(marked))
    (folder / "connect4-20260101-000000-<b>-0000.replay").write_text(replay_text(marked))
    with window(browser, bypass_csp=True) as page:
        page.goto(stranger.address)
        page.wait_for_selector("#lobby[open]")
        page.keyboard.press("Escape")
        page.set_input_files("#replay-file", tmp_path / "marked.replay")
        until(page, "document.querySelector('.sides')?.textContent.includes('onerror')")
        assert page.inner_text(".sides").startswith(NAME) and page.locator(".sides img, .sides b").count() == 0
        for path, place in (("", ".replays"), ("models/Marked", ".card-text"), ("runs/done", "#h-settings + p")):
            page.goto(stranger.root + path)
            page.wait_for_selector(place)
            assert page.locator(f"{place} img").count() == 0 and page.evaluate("window.hurt") is None
        assert NAME in page.inner_text("#main")
