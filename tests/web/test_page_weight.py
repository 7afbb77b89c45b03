"""Pages are small and show something at once."""

import pytest
from browsing import until, window

MOST_BYTES = 300_000
FIRST_PAINT_MS = 1000
PAGES = ("", "models/GeneralizedNh", "play/nh", "play/connect4", "play/vgc", "play/rocket_league", "play/kuhn")


def weighed(page, address):
    """Bytes of every answer that a page needs to be shown."""
    sizes = {}
    page.on("response", lambda answer: sizes.setdefault(answer.url, answer))
    page.goto(address)
    until(page, "document.querySelector('#lobby[open], #main section')")
    page.wait_for_timeout(300)
    return {url: len(answer.body()) for url, answer in sizes.items() if answer.status == 200}


@pytest.mark.nightly
@pytest.mark.parametrize("path", PAGES)
def test_a_page_weighs_little_and_is_painted_within_a_second(browser, fight, path):
    """Painted twice, the better of the two: the first visit also opens the game on the server."""
    times = []
    for _ in range(3):
        with window(browser) as page:
            total = sum(weighed(page, fight.root + path).values())
            times.append(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 1e9"))
    print(f"/{path}: {total / 1000:.0f} kB, first paint after {', '.join(f'{ms:.0f}' for ms in times)} ms")
    assert total <= MOST_BYTES and min(times) < FIRST_PAINT_MS


def test_the_files_of_a_page_together_weigh_little(board):
    """What a browser would fetch for any game, added up without one: the site's files and the game's own."""
    from pvp_ml.games import registry
    from pvp_ml.web.site import STATIC

    site = sum(path.stat().st_size for path in STATIC.rglob("*") if path.is_file())
    for kind in registry.every():
        view = kind.presentation.page
        own = sum(path.stat().st_size for path in view.folder.rglob("*") if path.is_file()) if view else 0
        assert site + own <= MOST_BYTES, f"{kind.name}: {site} + {own} bytes"
