"""Pokémon battles in a real browser: played to the end with clicks at three sizes, teams pasted, replays scrubbed."""

from pathlib import Path

import pytest
from axe import axe_script, serious_findings
from ringside import Ringside
from test_browser import PATIENCE_MS, browser, page, picture, step_shown, until  # noqa: F401 - fixtures

from pvp_ml.games import registry
from pvp_ml.games.replay import read_replay

CACHE = Path(__file__).parents[2] / ".test-cache"
SIZES = {"wide": (1440, 900), "tablet": (768, 1024), "phone": (390, 844)}
RIVAL = f"model:{registry.find('vgc').presentation.rival}"
LIT = ".asks button:not(:disabled, .back)"


@pytest.fixture(scope="module")
def stadium(installation, tmp_path_factory):
    with Ringside("vgc", tmp_path_factory.mktemp("stadium"), tmp_path_factory.mktemp("kept")) as ring:
        assert ring.arena.contestants.default == RIVAL, "people meet the shipped model first"
        yield ring


def begin(page, ring, rival="bot:heuristics", seed=5):  # noqa: F811
    page.goto(ring.address)
    page.wait_for_selector("#lobby[open]")
    page.select_option("#seat-1", rival)
    page.click("#lobby summary")
    page.fill("#seed", str(seed))
    page.click("#fight")


def preview(page):  # noqa: F811
    page.wait_for_selector(".pick[data-row]")
    for row in (2, 0, 5, 3):
        page.click(f".pick[data-row='{row}']")
    assert page.locator(".pick .role").all_inner_texts() == ["Lead", "", "Lead", "Back", "", "Back"]
    page.click(".go")
    page.wait_for_selector(".attack")


def targets_are_large(page):  # noqa: F811
    """Every control of the board is at least 44 px high and wide and lies within the window."""
    small = page.evaluate(
        """() => [...document.querySelectorAll(".asks button")].map((n) => [n.textContent, n.getBoundingClientRect()])
             .filter(([, r]) => r.height < 44 || r.width < 44 || r.left < 0 || r.right > innerWidth).map(([t]) => t)"""
    )
    assert small == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out sideways"


@pytest.mark.parametrize("size", ["wide", pytest.param("tablet", marks=pytest.mark.nightly), "phone"])
def test_a_battle_is_played_to_the_end_with_clicks(page, stadium, picture, size):  # noqa: F811
    page.set_viewport_size(dict(zip(("width", "height"), SIZES[size], strict=True)))
    begin(page, stadium, RIVAL)
    page.wait_for_selector(".pick[data-row]")
    targets_are_large(page)
    preview(page)
    kept = sorted((stadium.arena.config.folder / "replays").glob("vgc-*")) if stadium.arena.config.folder else []
    clicks = 0
    while not page.is_visible("#banner"):
        lit = page.locator(LIT)
        if lit.count():
            if clicks in (0, 5):
                targets_are_large(page)
                picture(page, f"vgc-{size}")
                assert serious_findings(page, axe_script(CACHE), "#scene", "#panel") == []
            lit.nth(clicks % min(4, lit.count())).click()
            clicks += 1
        page.wait_for_timeout(30)
    page.wait_for_selector("#banner:not([hidden])")
    assert page.inner_text("#banner strong") in ("You win", "You lose") and page.locator("#toasts .error").count() == 0
    new = set((stadium.arena.config.folder / "replays").glob("vgc-*")) - set(kept)
    actions = read_replay(new.pop()).actions
    assert len(actions) == step_shown(page) and actions[0][0][0] > 0, (
        "the four that were clicked, then one action a step"
    )
    assert page.locator(".story .turn").count() >= 1


def test_a_replay_is_scrubbed_and_shows_both_hands(page, stadium, picture, tmp_path):  # noqa: F811
    page.goto(stadium.address)
    page.wait_for_selector("#lobby[open]")
    page.select_option("#seat-0", RIVAL)
    page.select_option("#seat-1", "bot:heuristics")
    page.click("#fight")
    page.wait_for_selector(".story .turn")
    page.click("#timeline [data-ms='75']")
    page.wait_for_selector("#banner:not([hidden])")
    with page.expect_download() as download:
        page.click("#keep")
    download.value.save_as(tmp_path / "battle.replay")
    page.set_input_files("#replay-file", tmp_path / "battle.replay")
    until(page, "document.querySelector('#timeline .where').textContent.startsWith('0 / ')")
    page.locator("#scrub").fill("2")
    until(page, "/^Turn|switch/.test(document.querySelector('.sky strong').textContent)")
    assert page.locator(".points").all_inner_texts()[0].count("/") == 1, "hitpoints of both sides are exact"
    lines = page.locator(".story li").count()
    page.keyboard.press("ArrowLeft")
    until(page, f"document.querySelectorAll('.story li').length < {lines}")
    page.keyboard.press("ArrowRight")
    until(page, f"document.querySelectorAll('.story li').length === {lines}")
    page.click("#theme")
    page.wait_for_timeout(700)
    picture(page, "vgc-replay")
    assert serious_findings(page, axe_script(CACHE), "#scene", "#panel") == []


PASTE = """Rillaboom @ Miracle Seed
Ability: Grassy Surge
Tera Type: Fire
EVs: 252 HP / 252 Atk / 4 SpD
Adamant Nature
- Fake Out
- Grassy Glide
- Wood Hammer
- Spore
"""


def test_teams_are_pasted_and_refused_by_pokemon_and_rule(page, stadium):  # noqa: F811
    page.goto(stadium.address)
    page.wait_for_selector("#lobby[open]")
    page.select_option("#team-0", "own")
    report = page.locator(".report").first

    def tried(text):
        page.evaluate("(text) => { document.getElementById('paste-0').value = text; }", text)
        page.click("#fight")
        until(page, "document.querySelector('.report').textContent !== ''")
        found = report.inner_text()
        page.evaluate("document.querySelector('.report').replaceChildren()")
        assert page.is_visible("#lobby[open]")
        return found

    refused = tried(PASTE)
    assert "Rillaboom" in refused and "Spore" in refused
    assert "10,000,000 letters" in tried("x" * 10_000_000)
    assert "no < or >" in tried("<img src=x onerror=alert(1)>\nAbility: x")
    assert "not a team" in tried("hello")
    from pvp_ml.games.vgc.teams import shipped

    team = next(iter(shipped()["gen9vgc2025regi"].values()))
    nicknamed = f"Mr. Big ({team.split(' @')[0].strip()}) @{team.split('@', 1)[1]}"
    page.evaluate("(text) => { document.getElementById('paste-0').value = text; }", nicknamed)
    page.click("#fight")
    page.wait_for_selector(".pick[data-row]")
    assert page.locator(".pick[data-row='0'] .name").inner_text() == team.split(" @")[0].strip()
    for row in range(4):
        page.click(f".pick[data-row='{row}']")
    page.click(".go")
    page.wait_for_selector(".attack")
    assert "Mr. Big" in page.inner_text(".near .places"), "it leads, under the name that its owner gave it"
