"""Pokémon battles in a real browser: played to the end with clicks at three sizes, teams pasted, replays scrubbed."""

import time

import pytest
from axe import serious_findings
from browsing import ON_PHONES, PATIENCE_S, clicked, faults_of_layout, speed_up, step_shown, until, until_step, window
from ringside import Ringside

from pvp_ml.games import registry
from pvp_ml.games.replay import read_replay

RIVAL = f"model:{registry.find('vgc').presentation.rival}"
LIT = ".asks button:not(:disabled, .back)"


@pytest.fixture(scope="module")
def stadium(installation, tmp_path_factory):
    with Ringside("vgc", tmp_path_factory.mktemp("stadium"), tmp_path_factory.mktemp("kept")) as ring:
        assert ring.arena.contestants.default == RIVAL, "people meet the shipped model first"
        yield ring


def begin(page, ring, rival="bot:heuristics", seed=5):
    page.goto(ring.address)
    page.wait_for_selector("#lobby[open]")
    page.select_option("#seat-1", rival)
    page.click("#lobby summary")
    page.fill("#seed", str(seed))
    page.click("#fight")


def preview(page):
    page.wait_for_selector(".pick[data-row]")
    for row in (2, 0, 5, 3):
        page.click(f".pick[data-row='{row}']")
    assert page.locator(".pick .role").all_inner_texts() == ["Lead", "", "Lead", "Back", "", "Back"]
    page.click(".go")
    page.wait_for_selector(".attack")


@pytest.mark.parametrize("size", ON_PHONES)
def test_a_battle_is_played_to_the_end_with_clicks(browser, stadium, picture, size):
    with window(browser, size) as page:
        begin(page, stadium, RIVAL)
        page.wait_for_selector(".pick[data-row]")
        assert faults_of_layout(page, size, is_match=True) == []
        preview(page)
        kept = set((stadium.arena.config.folder / "replays").glob("vgc-*"))
        clicks, deadline = 0, time.monotonic() + 3 * PATIENCE_S
        while not page.is_visible("#banner"):
            assert time.monotonic() < deadline, f"no result after {clicks} clicks"
            lit = page.locator(LIT)
            if lit.count():
                if clicks in (0, 5):
                    assert faults_of_layout(page, size, is_match=True) == []
                    picture(page, f"vgc-{size}")
                    assert serious_findings(page) == []
                clicks += clicked(lit.nth(clicks % min(4, max(1, lit.count()))))
            page.wait_for_timeout(30)
        assert page.inner_text("#banner strong") in ("You win", "You lose", "It's a draw")
        assert page.locator("#toasts .error").count() == 0
        new = set((stadium.arena.config.folder / "replays").glob("vgc-*")) - kept
        actions = read_replay(new.pop()).actions
        until_step(page, len(actions))
        assert len(actions) == step_shown(page), "one action a step"
        assert actions[0][0][0] > 0, "the four that were clicked"
        assert page.locator(".story .turn").count() >= 1


@pytest.mark.nightly
def test_a_replay_is_scrubbed_and_shows_both_hands(page, stadium, picture, tmp_path):
    page.goto(stadium.address)
    page.wait_for_selector("#lobby[open]")
    page.select_option("#seat-0", RIVAL)
    page.select_option("#seat-1", "bot:heuristics")
    page.click("#fight")
    page.wait_for_selector(".story .turn")
    speed_up(page)
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
    assert serious_findings(page) == []


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


PASTED = """(letters) => { const data = new DataTransfer(); data.setData("text", "x".repeat(letters));
  document.getElementById("paste-0").dispatchEvent(
    new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true })); }"""


def test_teams_are_pasted_and_refused_by_pokemon_and_rule(page, stadium):
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
    page.evaluate("document.getElementById('paste-0').value = ''")
    page.evaluate(PASTED, 10_000_000)
    assert "10,000,000 letters" in report.inner_text(), "a paste that is no team never reaches the page"
    assert page.input_value("#paste-0") == ""
    page.evaluate("document.querySelector('.report').replaceChildren()")
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
