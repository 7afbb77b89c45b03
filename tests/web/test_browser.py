"""The match page in a real browser: keys, replays, legality, other games' views, spectators.

Needs chromium and playwright; without them these tests are skipped, or fail if PVP_ML_NEEDS_BROWSER is set.
PVP_ML_SCREENSHOTS=FOLDER keeps the pictures.
"""

import random
import re
from dataclasses import replace

import numpy as np
import pytest
from browsing import insist, step_shown, until, until_step, window
from ringside import Ringside, spec_of

from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.games.presentation import PageView, Presentation
from pvp_ml.games.replay import read_replay
from pvp_ml.web.orders import Orders


def begin(page, ring, second="model:GeneralizedNh", **options):
    page.goto(ring.address)
    page.wait_for_selector("#lobby[open]")
    page.select_option("#seat-1", second)
    for name, value in options.items():
        page.select_option(f"#option-{name}", value)
    page.click("#fight")
    until(page, "document.querySelector('#timeline .where').textContent !== ''")


@pytest.mark.nightly
def test_a_replay_is_opened_watched_and_scrubbed(page, fight, picture, tmp_path):
    page.goto(fight.address)
    page.select_option("#seat-0", "model:GeneralizedNh")
    page.select_option("#seat-1", "bot:nh-bot")
    page.click("#lobby summary")
    page.fill("#seed", "7")
    page.click("#fight")
    page.click("#timeline [data-ms='75']")
    until_step(page, 41)
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
    page.click("#fight", timeout=120_000)
    page.wait_for_selector(".column.legal", timeout=120_000)
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
    pressed = "document.querySelectorAll('#panel button.move[aria-pressed=true]').length"
    insist(page, move.get_attribute("aria-keyshortcuts"), f"{pressed} === 1")
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


@pytest.mark.nightly
def test_dharok_is_on_the_page_too_and_friends_can_look_on(page, browser, corner, tmp_path, picture):
    with Ringside("dharok", corner, tmp_path) as ring:
        begin(page, ring, second="model:Axe")
        page.click("#panel [data-move=whip].legal")
        until(page, "document.querySelector('#cards .seat0 .chip.style').textContent.includes('tentacle')")
        until_step(page, 4)
        page.click("#play")  # a fight that waits does not end while a slow machine opens the next window
        room = page.evaluate("JSON.parse(sessionStorage.getItem('own dharok')).room")
        with window(browser) as friend:
            friend.goto(f"{ring.address}#watch={room}")
            until(friend, "document.getElementById('status').textContent.startsWith('You\\'re spectating')")
            until(page, "document.getElementById('status').textContent.includes('1 watching')")
            until(friend, "document.querySelector('#timeline .speeds button').disabled")
            assert friend.locator("#panel button.move").count() == 0
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


# What was said, also after it has faded.
REMEMBER = """window.toasted = ""; addEventListener("DOMContentLoaded", () => new MutationObserver((changes) =>
  changes.forEach((one) => one.addedNodes.forEach((node) => { window.toasted += node.textContent; })))
  .observe(document.getElementById("toasts"), { childList: true }));"""


def test_a_view_that_does_not_load_is_reported_and_the_match_goes_on(page, corner, monkeypatch, tmp_path):
    page.add_init_script(REMEMBER)
    for _ in play_with(page, corner, monkeypatch, tmp_path, "export default 7;"):
        assert page.is_visible("#panel button.move") and page.is_visible("#scene dl.facts")
        assert "its default export is not a class" in page.evaluate("window.toasted")
