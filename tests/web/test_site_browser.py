"""The site in a real browser at three sizes: matches by clicking, a run followed while it trains and is killed, axe.

Needs chromium and playwright, as test_browser.py does. axe-core is read from PVP_ML_AXE (the file axe.min.js of the npm
package); without it that one check is skipped.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ringside import Ringside

from pvp_ml.run.desk.desk import Desk

SIZES = {"desktop": (1440, 900), "tablet": (768, 1024), "phone": (390, 844)}
PATIENCE_S = 300
AXE = os.environ.get("PVP_ML_AXE", "")
RUN = ["--game", "connect4", "--env.matches", "32", "--ppo.n-steps", "16", "--network.trunk", "[32]",
       "--run.shards", "1", "--run.total-steps", "0", "--tracking.view", "lines", "--tracking.tensorboard",
       "false"]  # fmt: skip


@pytest.fixture(scope="module")
def chromium():
    sync_api = pytest.importorskip("playwright.sync_api")
    import shutil

    place = os.environ.get("PVP_ML_BROWSER") or shutil.which("chromium")
    if place is None:
        pytest.skip("NO BROWSER TEST: chromium is missing")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=place, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(params=SIZES)
def page(request, chromium):
    """A window of each size; whatever the page complains about fails the test."""
    yield from opened(chromium, SIZES[request.param])


def opened(chromium, size, theme="dark"):
    width, height = size
    context = chromium.new_context(
        viewport={"width": width, "height": height}, color_scheme=theme, bypass_csp=True, has_touch=width < 900
    )
    page, trouble = context.new_page(), []
    page.set_default_timeout(PATIENCE_S * 1000)
    page.on("pageerror", lambda error: trouble.append(str(error)))
    yield page
    context.close()
    assert trouble == []


def until(page, expression):
    deadline = time.monotonic() + PATIENCE_S
    while not page.evaluate(f"() => {{ try {{ return {expression} }} catch {{ return false }} }}"):
        assert time.monotonic() < deadline, expression
        page.wait_for_timeout(50)


def small_targets(page, area):
    """Buttons that a thumb could miss: narrower or lower than 44 pixels."""
    return page.evaluate(
        """(area) => [...document.querySelectorAll(`${area} button, ${area} select, ${area} a.button`)]
        .filter((n) => n.offsetParent && Math.min(n.offsetWidth, n.offsetHeight) < 44)
        .map((n) => `${n.id || n.textContent} ${Math.round(n.offsetWidth)}x${Math.round(n.offsetHeight)}`)""",
        area,
    )


def overlaps(page):
    """Parts of the match page that lie on each other."""
    return page.evaluate("""() => {
      const boxes = ["cards", "scene", "timeline", "panel", "mind"].map((id) => document.getElementById(id))
        .filter((n) => n.offsetParent && n.childElementCount).map((n) => [n.id, n.getBoundingClientRect()]);
      const meet = (p, q) => p.left < q.right - 1 && q.left < p.right - 1
        && p.top < q.bottom - 1 && q.top < p.bottom - 1;
      return boxes.flatMap(([a, p], i) => boxes.slice(i + 1).filter(([, q]) => meet(p, q)).map(([b]) => [a, b])); }""")


def press_to_the_end(page, choose):
    page.evaluate(
        """() => { window.presses = 0; const clock = setInterval(() => {
             if (!document.getElementById("banner").hidden) return clearInterval(clock);
             const lit = [...document.querySelectorAll(CHOOSE)];
             const one = lit[Math.floor(Math.random() * lit.length)];
             if (one) { one.click(); window.presses += 1; } }, 40); }""".replace("CHOOSE", repr(choose))
    )
    page.wait_for_selector("#banner:not([hidden])")
    return page.evaluate("window.presses")


def test_a_fight_is_played_to_the_end_at_every_size(page, fight):
    page.goto(fight.address)
    page.wait_for_selector("#lobby[open]")
    page.select_option("#seat-1", "bot:nh-bot")
    page.click("#fight")
    page.wait_for_selector("#panel .move.legal")
    assert page.evaluate("document.querySelector('.speeds [aria-checked=true]').dataset.ms") == "600"
    page.click("#panel .move.legal >> nth=0")  # a real click or tap on a button that can be seen
    assert overlaps(page) == []
    if page.viewport_size["width"] < 900:
        assert small_targets(page, "#panel") + small_targets(page, "#timeline") + small_targets(page, "nav") == []
    greyed = page.locator("#panel button.move:not(.legal)").first
    assert ": " in greyed.get_attribute("title"), "it says why"
    page.evaluate("() => document.querySelector(\"#timeline [data-ms='75']\").click()")
    assert press_to_the_end(page, "#panel .legal:not([aria-pressed=true])") > 2
    dying = "document.querySelector('canvas.tiles').getAttribute('aria-label')"
    assert " 0 of " in page.evaluate(dying) or page.inner_text("#banner strong") == "It's a draw"
    rows = page.locator(".summary-of-match tbody th").all_inner_texts()
    assert {"Correct prayers", "Hits off prayer", "Food left"} <= set(rows)
    if page.locator("#turning-point").count():
        step = int(page.inner_text("#turning-point").split()[-1])
        page.click("#turning-point")
        until(page, f"document.querySelector('#timeline .where').textContent.startsWith('{step} /')")


def test_connect_four_is_played_to_the_end_at_every_size(page, board):
    page.goto(board.address)
    page.wait_for_selector("#lobby[open]")
    page.select_option("#seat-1", "bot:tactician")
    page.click("#fight")
    page.click(".column.legal >> nth=3")
    assert overlaps(page) == []
    if page.viewport_size["width"] < 900:
        assert small_targets(page, "#scene") == []
    page.evaluate("() => document.querySelector(\"#timeline [data-ms='75']\").click()")
    assert press_to_the_end(page, ".column.legal") >= 2
    assert page.inner_text("#banner strong") in ("You win", "You lose", "It's a draw")


def test_losing_the_server_is_a_banner_and_the_board_is_greyed(chromium, corner):
    with Ringside("connect4", corner, None) as ring:
        pages = opened(chromium, SIZES["desktop"])
        page = next(pages)
        page.goto(ring.address)
        page.click("#fight")
        page.wait_for_selector(".column.legal")
    page.wait_for_selector("#lost:not([hidden])")
    assert "Lost the server" in page.inner_text("#lost")
    assert "grayscale" in page.evaluate("getComputedStyle(document.getElementById('scene')).filter")
    next(pages, None)


@pytest.mark.nightly  # starts trainers, which load torch
def test_a_run_is_followed_while_it_trains_is_stopped_resumed_and_killed(chromium, corner, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = [sys.executable, "-m", "pvp_ml", "train", *RUN, "--run.name", "followed"]
    trainer = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    desk = Desk(Path("experiments"))
    try:
        with Ringside("connect4", corner, None, runs=desk) as ring:
            pages = opened(chromium, SIZES["phone"])
            page = next(pages)
            page.goto(f"{ring.root}#control={ring.site.control}")
            page.wait_for_selector(".run.running")
            page.click(".run.running .cover")
            until(page, "document.querySelectorAll('.chart-card polyline').length >= 4")
            before = desk.report("followed")["steps"]
            until(page, "document.querySelector('.stats.big .state').textContent === 'running'")
            while desk.report("followed")["steps"] <= before:
                page.wait_for_timeout(100)
            page.click("#stop")
            page.click("#confirm-yes")
            until(page, "document.querySelector('.stats.big .state').textContent === 'stopped'")
            assert trainer.wait(60) is not None
            page.click("#resume")
            page.click("#confirm-yes")
            until(page, "document.querySelector('.stats.big .state').textContent === 'running'")
            process = desk._job("followed").process
            os.kill(process.pid, 9)
            until(page, "document.querySelector('.stats.big .state').textContent === 'stopped'")
            next(pages, None)
    finally:
        trainer.kill()
        trainer.wait()


@pytest.mark.skipif(not AXE, reason="NO AXE TEST: name axe.min.js with PVP_ML_AXE")
@pytest.mark.parametrize("theme", ["dark", "light"])
def test_axe_finds_nothing_serious(chromium, fight, theme):
    for size in SIZES.values():
        for path in ("", "models/GeneralizedNh", "play/nh", "play/connect4", "play/kuhn"):
            pages = opened(chromium, size, theme)
            page = next(pages)
            page.goto(fight.root + path)
            page.wait_for_timeout(1500)
            if path.startswith("play/"):
                page.click("#fight")
                page.wait_for_selector(".legal")
                page.click("#play")
            page.add_script_tag(path=AXE)
            found = page.evaluate("""async () => (await axe.run(document, { resultTypes: ["violations"] })).violations
                .filter((v) => ["serious", "critical"].includes(v.impact))
                .map((v) => `${v.id}: ${v.nodes[0].target}`)""")
            assert found == [], (path, size, theme)
            next(pages, None)
