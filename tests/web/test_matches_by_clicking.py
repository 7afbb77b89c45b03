"""Fights and Connect 4 in a real browser, played to the end with clicks at three sizes."""

import pytest
from axe import serious_findings
from browsing import ON_PHONES, click_to_the_end, faults_of_layout, speed_up, step_shown, until, until_step, window

from pvp_ml.games.replay import read_replay

RESULTS = ("You win", "You lose", "It's a draw")
LABEL = "document.querySelector('canvas.tiles').getAttribute('aria-label')"


@pytest.mark.parametrize("size", ON_PHONES)
def test_a_fight_is_played_to_the_end(browser, fight, picture, size):
    """Only lit moves are pressed, so the server refuses nothing; the replay and what you showed are kept."""
    with window(browser, size) as page:
        page.goto(fight.address)
        page.wait_for_selector("#lobby[open]")
        assert faults_of_layout(page, size) == [] and page.evaluate("document.activeElement.id") == "fight"
        page.select_option("#seat-1", "bot:nh-bot")
        page.select_option("#option-builds", "MAXED")
        page.click("#fight")
        page.click("#panel section.attack .move.legal >> nth=0")  # a real click or tap on a button that can be seen
        assert page.evaluate("document.querySelector('.speeds [aria-checked=true]').dataset.ms") == "600"
        until_step(page, 2)
        assert faults_of_layout(page, size, is_match=True) == []
        greyed = page.locator("#panel button.move:not(.legal)").first
        assert ": " in greyed.get_attribute("title"), "it says why"
        picture(page, f"nh-{size}")
        speed_up(page)
        attacks = (
            "#panel section.attack .legal:not([aria-pressed=true])"  # whoever only attacks is soon dead, or has won
        )
        assert click_to_the_end(page, "#panel .legal:not([aria-pressed=true])", attacks) > 2
        result = page.inner_text("#banner strong")
        assert result in RESULTS and page.locator("#toasts .error").count() == 0
        if result != "It's a draw":
            until(page, f"{LABEL}.includes(' 0 of ')")  # the kill is on the board
        picture(page, f"nh-{size}-end")
        assert faults_of_layout(page, size) == [] and serious_findings(page) == []
        rows = page.locator(".summary-of-match tbody th").all_inner_texts()
        assert {"Correct prayers", "Hits off prayer", "Freezes", "Food left"} <= set(rows)
        kept = sorted((fight.arena.config.folder / "replays").glob("nh-*"), key=lambda path: path.stat().st_mtime)[-1]
        actions = read_replay(kept).actions
        until_step(page, len(actions))
        assert len(actions) == step_shown(page) and sum(seats[0] != (-1,) * 12 for seats in actions) > 2
        assert list((fight.arena.config.folder / "demonstrations").glob("nh-*.zip"))
        if page.locator("#turning-point").count():
            step = int(page.inner_text("#turning-point").split()[-1])
            page.click("#turning-point")
            until(page, f"document.querySelector('#timeline .where').textContent.startsWith('{step} /')")


@pytest.mark.parametrize("size", ON_PHONES)
def test_connect_four_is_played_to_the_end(browser, board, picture, size):
    with window(browser, size) as page:
        page.goto(board.address)
        page.wait_for_selector("#lobby[open]")
        page.select_option("#seat-1", "bot:tactician")
        page.click("#fight")
        page.click(".column.legal >> nth=6")  # the last one has to be within the window
        assert faults_of_layout(page, size, is_match=True) == []
        above = """() => { const box = (q) => [...document.querySelectorAll(q)].map((n) => n.getBoundingClientRect());
             const holes = box(".board .hole").slice(0, 7), buttons = box(".column"), scene = box("#scene")[0];
             return [...buttons.map((b, i) => Math.abs((b.left + b.right - holes[i].left - holes[i].right) / 2)),
                     ...box(".board .hole").map((h) => Math.max(h.right - scene.right, h.bottom - scene.bottom))]; }"""
        assert max(page.evaluate(above)) < 2, "each button is above its column, and the whole board is seen"
        speed_up(page)
        assert click_to_the_end(page, ".column.legal") >= 2
        assert page.inner_text("#banner strong") in RESULTS and page.locator("#toasts .error").count() == 0
        assert page.locator(".board .disc").count() == step_shown(page) >= 7
        assert page.locator(".board .disc.line").count() in (0, 4)
        page.click("#banner .close")
        picture(page, f"connect4-{size}")
        page.locator("#scrub").fill("3")
        until(page, 'document.querySelectorAll(".board .disc").length === 3')
