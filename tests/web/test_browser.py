"""The page in a real browser: fights are started, played to the end with clicks and keys, replays are scrubbed.

Needs chromium and playwright; without them these tests are skipped, or fail if PVP_ML_NEEDS_BROWSER is set.
PVP_ML_SCREENSHOTS=FOLDER keeps the pictures.
"""

import os
import random
import re
import shutil
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ringside import Ringside, spec_of

from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.games.presentation import PageView, Presentation
from pvp_ml.games.replay import read_replay
from pvp_ml.web.orders import Orders

CHROMIUM = os.environ.get("PVP_ML_BROWSER") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
PATIENCE_MS = 120_000


def no_browser(why):
    if os.environ.get("PVP_ML_NEEDS_BROWSER"):
        pytest.fail(f"NO BROWSER TEST: {why}")
    pytest.skip(f"NO BROWSER TEST: {why}")


@pytest.fixture(scope="module")
def browser():
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        no_browser("playwright is missing (pip install playwright)")
    if CHROMIUM is None:
        no_browser("chromium is missing (apt-get install chromium), or name one with PVP_ML_BROWSER")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def page(browser):
    """A laptop's window; whatever the page complains about fails the test. Waiting for scripts needs a lax policy."""
    context = browser.new_context(viewport={"width": 1366, "height": 768}, color_scheme="dark", bypass_csp=True)
    opened = context.new_page()
    opened.set_default_timeout(PATIENCE_MS)
    trouble = []
    opened.on("pageerror", lambda error: trouble.append(str(error)))
    opened.on("console", lambda message: trouble.append(message.text) if message.type == "error" else None)
    yield opened
    context.close()
    assert trouble == []


@pytest.fixture
def picture(tmp_path):
    folder = Path(os.environ.get("PVP_ML_SCREENSHOTS") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    return lambda page, name: page.screenshot(path=folder / f"{name}.png")


def begin(page, ring, second="model:GeneralizedNh", **options):
    page.goto(ring.address)
    page.wait_for_selector("#lobby[open]")
    page.select_option("#seat-1", second)
    for name, value in options.items():
        page.select_option(f"#option-{name}", value)
    page.click("#fight")
    until(page, "document.querySelector('#timeline .where').textContent !== ''")


def until(page, expression):
    """Wait for it from outside: inside the page its own security policy forbids to evaluate text."""
    deadline = time.monotonic() + PATIENCE_MS / 1000
    while not page.evaluate(f"() => {{ try {{ return {expression} }} catch {{ return false }} }}"):
        assert time.monotonic() < deadline, expression
        page.wait_for_timeout(20)


def step_shown(page):
    return int(page.inner_text("#timeline .where").split("/")[0])


def click_to_the_end(page, choose):
    """Press whatever `choose` (a script giving an element or null) picks, until the banner shows."""
    page.evaluate(
        """() => { window.clicks = 0; window.clicking = setInterval(() => {
             if (!document.getElementById("banner").hidden) return clearInterval(window.clicking);
             const found = (CHOOSE)(); if (found) { found.click(); window.clicks += 1; } }, 40); }""".replace(
            "CHOOSE", choose
        )
    )
    page.wait_for_selector("#banner:not([hidden])")
    return page.evaluate("window.clicks")


LIT_MOVE = """() => { const lit = [...document.querySelectorAll("#panel .legal:not([aria-pressed=true])")];
                      return lit[Math.floor(Math.random() * lit.length)] ?? null; }"""


def test_a_fight_is_played_to_the_end_with_clicks(page, fight, picture):
    """Build and fight type are what was chosen; only lit moves are clicked, so the server refuses nothing."""
    begin(page, fight, builds="MAXED", fight_type="LMS")
    assert page.inner_text("#cards .seat0 .about").strip() == "MAXED · LMS"
    page.click("#panel section.attack .move.legal >> nth=0")
    until(page, "Number(document.querySelector('#timeline .where').textContent.split('/')[0]) > 5")
    page.click("#play")
    page.wait_for_selector("#play[aria-label^=Play]")
    page.evaluate("() => document.querySelector('#panel section.prayer .move.legal:not(.on)').click()")
    picture(page, "nh-play")
    page.click("#timeline [data-ms='75']")
    page.click("#play")
    clicks = click_to_the_end(page, LIT_MOVE)
    assert clicks > 2 and page.inner_text("#banner strong") in ("You win", "You lose", "It's a draw")
    assert page.locator("#toasts .error").count() == 0
    picture(page, "nh-end")
    kept = sorted((fight.arena.config.folder / "replays").glob("nh-*"))[-1]
    actions = read_replay(kept).actions
    assert len(actions) == step_shown(page) and sum(seats[0] != (-1,) * 12 for seats in actions) > 2
    assert list((fight.arena.config.folder / "demonstrations").glob("nh-*.zip"))


def test_a_replay_is_opened_watched_and_scrubbed(page, fight, picture, tmp_path):
    page.goto(fight.address)
    page.select_option("#seat-0", "model:GeneralizedNh")
    page.select_option("#seat-1", "bot:nh-bot")
    page.click("#lobby summary")
    page.fill("#seed", "7")
    page.click("#fight")
    page.click("#timeline [data-ms='75']")
    until(page, "Number(document.querySelector('#timeline .where').textContent.split('/')[0]) > 40")
    page.keyboard.press("Space")
    page.wait_for_selector("#play[aria-label^=Play]")
    with page.expect_download() as download:
        page.click("#replays")
        page.click("#save-replay")
    file = tmp_path / "shared.replay"
    download.value.save_as(file)
    steps = len(read_replay(file).actions)
    assert steps >= 40
    page.set_input_files("#replay-file", file)
    until(page, f"document.querySelector('#timeline .where').textContent === '0 / {steps}'")
    label = "document.querySelector('canvas.tiles').getAttribute('aria-label')"
    page.locator("#scrub").fill("30")
    until(page, f"{label}.startsWith('Tick 30.')")
    at_30 = page.evaluate(label)
    assert page.locator("#mind .bar.chosen").count() >= 12 and page.is_visible("#mind .big")
    assert re.fullmatch(r"\d+ %", page.inner_text("#mind .big"))
    picture(page, "nh-replay")
    page.keyboard.press("ArrowLeft")
    until(page, f"{label}.startsWith('Tick 29.')")
    page.keyboard.press("ArrowRight")
    until(page, f"{label}.startsWith('Tick 30.')")
    assert page.evaluate(label) == at_30
    page.keyboard.press("Home")
    page.click("#play")
    until(page, f"/^Tick [2-9]/.test({label})")
    page.click("#theme")
    picture(page, "nh-light")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"


def test_the_page_obeys_its_own_policy(browser, board):
    """Without the tests' lax policy: no script, style or connection is blocked."""
    context = browser.new_context()
    page, trouble = context.new_page(), []
    page.on("console", lambda message: trouble.append(message.text))
    page.goto(board.address)
    page.click("#fight", timeout=PATIENCE_MS)
    page.wait_for_selector(".column.legal", timeout=PATIENCE_MS)
    page.click("#theme")
    context.close()
    assert trouble == []


def test_everything_can_be_done_with_the_keyboard(page, fight):
    page.goto(fight.address)
    page.wait_for_selector("#lobby[open]")
    page.focus("#fight")
    page.keyboard.press("Enter")
    page.wait_for_selector("#panel button.move.legal")
    page.keyboard.press("Space")
    until(page, "document.querySelector('#play').getAttribute('aria-label').startsWith('Play')")
    page.wait_for_timeout(300)
    before = step_shown(page)
    move = page.locator("#panel section.prayer button.move.legal").first
    page.keyboard.press(move.get_attribute("aria-keyshortcuts"))
    pressed = "document.querySelectorAll('#panel button.move[aria-pressed=true]').length"
    until(page, f"{pressed} === 1")
    chosen = page.locator("#panel button.move[aria-pressed=true]")
    assert chosen.get_attribute("data-move") == move.get_attribute("data-move")
    page.keyboard.press("Escape")
    until(page, f"{pressed} === 0")
    page.keyboard.press("F4")
    assert page.evaluate("document.activeElement.closest('#part-prayer') !== null")
    page.keyboard.press(move.get_attribute("aria-keyshortcuts"))
    page.keyboard.press("ArrowRight")
    until(page, f"document.querySelector('#timeline .where').textContent === '{before + 1} / {before + 1}'")
    assert "on" in page.locator(f"#panel [data-move={move.get_attribute('data-move')}]").get_attribute("class")
    page.keyboard.press("?")
    assert page.is_visible("#help") and page.locator("#help kbd").count() > 20
    page.keyboard.press("Escape")
    unreached = page.evaluate("""[...document.querySelectorAll("button, input, select, a[href]")]
        .filter((n) => n.offsetParent && n.tabIndex < 0).map((n) => n.id || n.textContent)""")
    assert unreached == []


def test_the_page_lights_exactly_what_the_server_accepts(page, fight):
    """The rules in the browser against the rules on the server, over random masks and picks."""
    spec = spec_of("nh")
    orders, rng = Orders(spec), random.Random(3)
    pairs = [(h.name, c) for h in spec.heads for c in h.choices]
    moves = [
        [("attack", "mage_attack"), ("mage_attack_type", "use_ice_spell")],
        [("attack", "melee_attack"), ("melee_attack_type", "melee_special_attack")],
        [("movement", "move_to_farcast_tile"), ("farcast_distance", "farcast_3_tiles")],
        [("gear", "use_tank_gear")],
    ]
    cases = []
    for _ in range(600):
        picks = dict(rng.sample(pairs, rng.randrange(1, 4)) + rng.choice([[], *moves]))
        mask = np.array([rng.random() < 0.75 for _ in range(spec.mask_size)])
        try:
            orders.read(list(picks.items()), mask)
            accepted = True
        except UserError:
            accepted = False
        cases.append(("".join("01"[int(m)] for m in mask), list(picks.items()), accepted))
    page.goto(fight.address)
    lit = page.evaluate(
        """async (cases) => {
             const { Legality } = await import("/static/legality.js");
             const arena = await (await fetch("/api/games/nh")).json();
             const rules = new Legality(arena.heads);
             return cases.map(([legal, picks]) => rules.allows(legal, new Map(picks))); }""",
        [case[:2] for case in cases],
    )
    wanted = [case[2] for case in cases]
    assert lit == wanted and 100 < sum(wanted) < 500


def test_connect_four_is_played_to_the_end_with_clicks(page, board, picture):
    begin(page, board, second="bot:tactician")
    page.click("#timeline [data-ms='75']")
    lit = """() => { const lit = [...document.querySelectorAll(".column.legal")];
                     return lit[Math.floor(Math.random() * lit.length)] ?? null; }"""
    assert click_to_the_end(page, lit) >= 3
    assert page.locator("#toasts .error").count() == 0
    stones = page.locator(".board .disc").count()
    assert stones == step_shown(page) >= 7
    assert page.locator(".board .disc.line").count() in (0, 4)
    page.locator("#scrub").fill("3")
    until(page, """document.querySelectorAll(".board .disc").length === 3""")
    page.evaluate("document.getElementById('banner').hidden = true; document.getElementById('scrub').focus()")
    page.keyboard.press("End")
    page.wait_for_timeout(600)
    picture(page, "connect4")


def test_dharok_is_on_the_page_too_and_friends_can_look_on(page, browser, corner, tmp_path, picture):
    with Ringside("dharok", corner, tmp_path) as ring:
        begin(page, ring, second="model:Axe")
        page.click("#panel [data-move=whip].legal")
        until(page, "document.querySelector('#cards .seat0 .chip.style').textContent.includes('tentacle')")
        room = page.evaluate("JSON.parse(sessionStorage.getItem('own dharok')).room")
        friend = browser.new_page()
        friend.goto(f"{ring.address}#watch={room}")
        until(friend, "document.getElementById('status').textContent.startsWith('You\\'re spectating')")
        until(page, "document.getElementById('status').textContent.includes('1 watching')")
        assert friend.locator("#panel button.move").count() == 0 and friend.is_disabled("#timeline [data-ms='75']")
        friend.close()
        until(page, "document.querySelectorAll('#timeline polyline').length >= 3")
        picture(page, "dharok")
        steps = step_shown(page)
        page.reload()  # the fight waits, and goes on
        until(page, "document.querySelector('#timeline .where').textContent !== ''")
        assert step_shown(page) >= steps
        assert page.inner_text("#cards .seat0 strong") == "You"


OWN_VIEW = """
import { $, el } from "/static/dom.js";
export default class {
  static hasPanel = false;
  constructor(game, log) {
    this.log = log;
    this.moves = [];
    $("scene").replaceChildren(el("p", { class: "own" }, game));
  }
  render() { document.querySelector(".own").dataset.step = this.log.frame?.step ?? ""; }
  draw() {}
  lines() { return []; }
  marks() { return []; }
}
"""


def play_with(page, corner, monkeypatch, folder, script):
    """Kuhn poker on a page, with `script` as the game's own view."""
    (folder / "view.js").write_text(script)
    (folder / "own.css").write_text(".own { color: rgb(1, 2, 3); }")
    view = PageView(folder, styles=("own.css",))
    kuhn = replace(registry.find("kuhn"), presentation=Presentation(page=view))
    monkeypatch.setattr(registry, "find", lambda name: kuhn)
    with Ringside("kuhn", corner, None) as ring:
        begin(page, ring, "bot:random")
        yield


def test_a_game_is_drawn_by_the_view_that_it_brings(page, corner, monkeypatch, tmp_path):
    for _ in play_with(page, corner, monkeypatch, tmp_path, OWN_VIEW):
        until(page, "document.querySelector('.own').dataset.step !== ''")
        assert page.inner_text(".own") == "kuhn"
        assert page.evaluate("getComputedStyle(document.querySelector('.own')).color") == "rgb(1, 2, 3)"
        assert not page.is_visible("#panel"), "the view says that it has none"


def test_a_view_that_does_not_load_is_reported_and_the_match_goes_on(page, corner, monkeypatch, tmp_path):
    for _ in play_with(page, corner, monkeypatch, tmp_path, "export default 7;"):
        assert page.is_visible("#panel button.move") and page.is_visible("#scene dl.facts")
        assert "its default export is not a class" in page.inner_text("#toasts")
