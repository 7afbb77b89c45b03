"""Driving a real browser: windows of three sizes, waiting, and the faults that every page is looked over for."""

import os
import shutil
import time
from contextlib import contextmanager

import pytest

CHROMIUM = os.environ.get("PVP_ML_BROWSER") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
SIZES = {"wide": (1440, 900), "tablet": (768, 1024), "phone": (390, 844)}
ON_PHONES = [
    pytest.param("wide", marks=pytest.mark.nightly),
    pytest.param("tablet", marks=pytest.mark.nightly),
    "phone",
]
"""Every size; CI plays on the phone, which has the least room."""
PATIENCE_S = 180
FLAGS = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")  # draws without a graphics card


def no_browser(why):
    if os.environ.get("PVP_ML_NEEDS_BROWSER"):
        pytest.fail(f"NO BROWSER TEST: {why}")
    pytest.skip(f"NO BROWSER TEST: {why}")


@contextmanager
def launched():
    """Chromium without a window; the test is skipped where there is none."""
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        no_browser("playwright is missing (pip install playwright)")
    if CHROMIUM is None:
        no_browser("chromium is missing (apt-get install chromium), or name one with PVP_ML_BROWSER")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def window(browser, size="wide", theme="dark", ignoring=(), **more):
    """A page; whatever it complains about fails the test, but for what `ignoring` names.

    Tests may run scripts in it, which the site's own policy forbids; test_the_page_obeys_its_own_policy does without.
    """
    width, height = SIZES[size]
    settings = {"color_scheme": theme, "bypass_csp": True, "has_touch": size != "wide", **more}
    context = browser.new_context(viewport={"width": width, "height": height}, **settings)
    page, trouble = context.new_page(), []
    page.set_default_timeout(PATIENCE_S * 1000)
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("console", lambda message: trouble.append(message.text) if message.type == "error" else None)
    try:
        yield page
    finally:
        context.close()
    left = [one for one in trouble if not any(word in one for word in ignoring)]
    assert not left, left


def until(page, expression):
    """Wait until a script says so."""
    deadline = time.monotonic() + PATIENCE_S
    while not page.evaluate(f"() => {{ try {{ return {expression} }} catch {{ return false }} }}"):
        assert time.monotonic() < deadline, expression
        page.wait_for_timeout(20)


def insist(page, key, expression):
    """Press a key until a script says that it was taken; on a busy machine a late frame can undo what it did."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        page.keyboard.press(key)
        for _ in range(100):
            if page.evaluate(f"() => {expression}"):
                return
            page.wait_for_timeout(20)
        assert time.monotonic() < deadline, expression


def clicked(element):
    """Click it, and say whether it was still there; what is lit may go while a slow browser aims at it."""
    from playwright.sync_api import TimeoutError as TooLate

    try:
        element.click(timeout=5_000)
    except TooLate:
        return False
    return True


def step_shown(page):
    return int(page.inner_text("#timeline .where").split("/")[0])


def until_step(page, step):
    until(page, f"Number(document.querySelector('#timeline .where').textContent.split('/')[0]) >= {step}")


def speed_up(page):
    """Eight times as fast; on small screens a player has no button for it, so it is pressed by script."""
    page.evaluate("() => [...document.querySelectorAll('.speeds button')].at(-1).click()")


ENOUGH_CLICKS = 150
MOST_STEPS = 5_000


def click_to_the_end(page, choose, finish=""):
    """Press one of the elements that `choose` (a selector) finds, again and again, until the result shows.

    Random play can go on for minutes; where `finish` is given, ENOUGH_CLICKS later only what that finds is pressed.
    """
    page.evaluate(
        """([choose, finish, enough]) => { window.clicks = 0; const clock = setInterval(() => {
             if (!document.getElementById("banner").hidden) return clearInterval(clock);
             const lit = [...document.querySelectorAll(finish && window.clicks > enough ? finish : choose)];
             const one = lit[Math.floor(Math.random() * lit.length)];
             if (one) { one.click(); window.clicks += 1; } }, 40); }""",
        [choose, finish, ENOUGH_CLICKS],
    )
    until_over(page)
    return page.evaluate("window.clicks")


def until_over(page):
    """Wait for the result; a match may take any time, but not stand still, and not go on for ever."""
    shown, since = -1, time.monotonic()
    while not page.is_visible("#banner"):
        if step_shown(page) != shown:
            shown, since = step_shown(page), time.monotonic()
        assert time.monotonic() - since < PATIENCE_S, f"it stands still at step {shown}"
        assert shown < MOST_STEPS, "it does not end"
        page.wait_for_timeout(100)


def faults_of_layout(page, size, is_match=False):
    """What is wrong with where things are: too small for a thumb, outside the window, on top of each other."""
    found = page.evaluate("document.documentElement.scrollWidth > innerWidth ? ['sticks out sideways'] : []")
    if size != "wide":
        found += page.evaluate(SMALL)
    return found + (page.evaluate(OVERLAPS) if is_match else [])


# A switch counts by the row that can be pressed for it; words inside a sentence are not targets.
SMALL = """() => [...document.querySelectorAll("button, select, a[href], summary, input")]
  .filter((n) => n.offsetParent && !n.matches(".skip, [type=range]") && n.checkVisibility({ visibilityProperty: true }))
  .map((n) => [n, (n.type === "checkbox" ? n.closest("label") ?? n : n).getBoundingClientRect()])
  .filter(([, box]) => box.width && Math.min(box.width, box.height) < 43.5)
  .map(([n, box]) => `${n.tagName} ${n.id || n.className || n.textContent} ${box.width | 0}x${box.height | 0}`)"""
OVERLAPS = """() => {
  const parts = (n) => (getComputedStyle(n).display === "contents" ? [...n.children].flatMap(parts) : [n]);
  const boxes = ["cards", "scene", "timeline", "panel", "mind"].flatMap((id) => parts(document.getElementById(id)))
    .filter((n) => n.offsetParent && n.childElementCount).map((n) => [n.id || n.className, n.getBoundingClientRect()]);
  const meet = (p, q) => p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 1 && q.top < p.bottom - 1;
  return boxes.flatMap(([a, p], i) =>
    boxes.slice(i + 1).filter(([, q]) => meet(p, q)).map(([b]) => `${a} on ${b}`)); }"""
