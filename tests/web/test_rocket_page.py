"""Rocket League in a real browser, with WebGL in software: watched, driven with keys, scrubbed."""

import io
import time

import pytest
from axe import serious_findings
from browsing import SIZES, faults_of_layout, until, until_step, window
from ringside import Ringside

from pvp_ml.games.rocket_league.actions import rlgym_rows, row_name

TABLE = [row_name(row) for row in rlgym_rows()]


@pytest.fixture(scope="module")
def stadium(corner, tmp_path_factory):
    with Ringside("rocket_league", corner, tmp_path_factory.mktemp("kept")) as ring:
        yield ring


TURN = "throttle+1 steer+1 yaw+1"


def begin(page, ring, first, second):
    page.goto(ring.address)
    page.wait_for_selector("#lobby[open]")
    page.select_option("#seat-0", first)
    page.select_option("#seat-1", second)
    page.click("#lobby summary")
    page.fill("#seed", "5")
    page.click("#fight")
    until_step(page, 4)
    return next(reversed(ring.arena.rooms.values()))


def colours(page):
    """How many colours the stadium has: a picture that was not drawn has one."""
    image = pytest.importorskip("PIL.Image")
    shot = image.open(io.BytesIO(page.locator("canvas.stadium").screenshot())).convert("RGB")
    return len(shot.getcolors(1 << 24))


@pytest.mark.nightly
def test_a_match_is_watched_and_scrubbed(page, stadium, picture):
    begin(page, stadium, "bot:chaser", "bot:kickoff_and_clear")
    assert colours(page) > 500
    assert page.get_attribute("[data-camera=tv]", "aria-checked") == "true"
    for camera in ("ball", "car", "free"):
        page.click(f"[data-camera={camera}]")
        assert page.get_attribute(f"[data-camera={camera}]", "aria-checked") == "true"
    page.click("[data-camera=tv]")
    until_step(page, 31)
    page.locator("#scrub").fill("20")
    until(page, "document.querySelector('#timeline .where').textContent.startsWith('20 / ')")
    page.wait_for_timeout(400)
    assert page.inner_text(".clock") == "4:58" and "4:58 left" in page.get_attribute("canvas.stadium", "aria-label")
    picture(page, "rocket-watch")
    assert serious_findings(page) == []


def test_the_dialog_of_a_match_of_teams_keeps_teammates_together(page, corner, tmp_path):
    with Ringside("rocket_league", corner, tmp_path, given={"mode": "2v2"}) as ring:
        page.goto(ring.address)
        page.wait_for_selector("#lobby[open]")
        labels = page.locator("#lobby fieldset").first.locator("span").all_inner_texts()
        assert labels == ["Team 1, seat 1", "Team 1, seat 2", "Team 2, seat 1", "Team 2, seat 2"]

        def seated(button):
            page.click(f"text={button}")
            return [page.input_value(f"#seat-{seat}") for seat in range(4)]

        duo, bot = "model:RocketDuo", "bot:flipper"
        assert seated("Model vs model") == [duo] * 4
        assert seated("Model vs bot") == [duo, duo, bot, bot]
        climb = seated("Climb the ladder")
        assert climb[:2] == ["you", duo] and climb[2] == climb[3] and climb[2].startswith("bot:")
        assert seated("Play against a model") == ["you", duo, duo, duo]


def driven(page, stadium, seconds):
    """Drive, boost and jump with keys for so long; the match, as the server played it."""
    room = begin(page, stadium, "you", "bot:kickoff_and_clear")
    start = room.match.frame.scene["cars"][0]
    began, first = time.monotonic(), room.match.frame.step
    page.keyboard.down("w")
    page.keyboard.down("Shift")
    page.wait_for_timeout(900)
    page.keyboard.up("Shift")
    page.keyboard.down("d")
    while TURN not in choices(room) and time.monotonic() - began < 20:  # a busy machine is late to send keys
        page.wait_for_timeout(100)
    while time.monotonic() - began < seconds or not any("jump" in choice for choice in choices(room)):
        page.keyboard.press("Space", delay=80)
        page.wait_for_timeout(400)
    page.keyboard.up("d")
    page.keyboard.up("w")
    took, played = time.monotonic() - began, room.match.frame.step - first
    return start, room.match.frame.scene["cars"][0], choices(room), played / took


def choices(room):
    """What the driver has chosen so far, by name."""
    return {TABLE[step[0][0]] for step in room.match.replay().actions if step[0][0] >= 0}


def test_a_car_is_driven_with_keys_at_real_speed(page, stadium, picture):
    start, now, chosen, pace = driven(page, stadium, 5.0)
    assert TURN in chosen and any("boost" in c for c in chosen) and any("jump" in c for c in chosen)
    assert sum((a - b) ** 2 for a, b in zip(start[1:4], now[1:4], strict=True)) ** 0.5 > 300
    assert 2 < pace < 16, "fifteen steps a second and never more; a machine that draws in software may fall behind"
    picture(page, "rocket-drive")


@pytest.mark.nightly
@pytest.mark.parametrize("size", SIZES)
def test_a_match_is_driven_for_twenty_seconds(browser, stadium, picture, size):
    with window(browser, size) as page:
        _, _, chosen, pace = driven(page, stadium, 20.0)
        assert len(chosen) >= 4 and 2 < pace < 16
        if size == "wide":
            assert page.locator(".hint").is_hidden(), "whoever drives knows the keys"
        else:
            assert page.is_visible(".touches")
            picture(page, f"rocket-{size}")
        assert faults_of_layout(page, size, is_match=True) == [] and serious_findings(page) == []


@pytest.mark.nightly
@pytest.mark.parametrize("size", SIZES)
def test_a_match_is_watched_for_twenty_seconds(browser, stadium, size):
    """It keeps the clock's pace and ends no sooner; the picture moves between steps."""
    with window(browser, size) as page:
        room = begin(page, stadium, "bot:chaser", "bot:kickoff_and_clear")
        began, first = time.monotonic(), room.match.frame.step
        until_step(page, first + 300)
        pace = 300 / (time.monotonic() - began)
        assert 5 < pace < 16 and colours(page) > 500
        assert faults_of_layout(page, size, is_match=True) == [] and serious_findings(page) == []
