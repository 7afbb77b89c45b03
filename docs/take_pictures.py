"""Take the pictures of every page of the site: python docs/take_pictures.py [NAME ...].

Trains a small Connect 4 agent for the run page, serves the site as `pvp-ml ui` does, and drives a Chromium that is
installed already (PVP_ML_BROWSER names another). Without names, all pictures are taken. Each becomes a PNG of 256
colours in docs/pictures.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

PICTURES = Path(__file__).parent / "pictures"
MOST_BYTES = 200_000
WIDE, PHONE = (1440, 900), (390, 844)
FLAGS = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
RUN = "connect4-league"
SETTINGS = """
extends: toys/connect4
env: {matches: 128}
ppo: {n_steps: 16, batch_size: 1024}
network: {trunk: [128, 64], win_head: true}
self_play: {strategy: past, league_size: 8, snapshot_every: 20_000}
eval: {every: 25_000, matches: 100}
run: {total_steps: 200_000, checkpoint_every: 50_000, milestone_every: 50_000, shards: 1}
tracking: {view: lines, tensorboard: false}
"""
MODEL, RIVAL, BATTLER = "model:GeneralizedNh", "bot:nh-bot", "model:GeneralistVgc"


@contextmanager
def site(place: Path) -> Iterator[str]:
    """The address of a site that serves this folder."""
    command = [sys.executable, "-m", "pvp_ml", "ui", "--no-open", "--port", "0", "--folder", str(place / "arena")]
    process = subprocess.Popen(command, cwd=place, stdout=subprocess.PIPE, text=True)  # noqa: S603
    try:
        assert process.stdout is not None
        yield process.stdout.readline().split()[0]
    finally:
        process.terminate()
        process.communicate()


PAUSE = """const clock = setInterval(() => {
  if (!document.querySelector("#timeline .where")?.textContent) return;
  document.getElementById("play").click();
  clearInterval(clock); }, 5);"""


def until_step(page: Page, step: int) -> None:
    """Wait until so many steps were played."""
    page.wait_for_function(
        "(n) => Number(document.querySelector('#timeline .where').textContent.split('/')[0]) >= n", arg=step
    )


def match(page: Page, address: str, game: str, *seats: str, seed: int = 7) -> None:
    """Start a match of these; nobody named means you against whoever the page offers."""
    page.goto(f"{address}play/{game}")
    page.wait_for_selector("#lobby[open]")
    for seat, name in enumerate(seats):
        page.select_option(f"#seat-{seat}", name)
    page.click("#lobby summary")
    page.fill("#seed", str(seed))
    page.click("#fight")


def faster(page: Page) -> None:
    """Eight times the pace."""
    page.evaluate("() => [...document.querySelectorAll('.speeds button')].at(-1).click()")


def to_the_end(page: Page) -> None:
    """Let a match of agents end."""
    faster(page)
    page.wait_for_selector("#banner:not([hidden])")


def home(page: Page, address: str) -> None:
    """The first page, with a run and a replay."""
    match(page, address, "connect4", "bot:tactician", "bot:random")
    to_the_end(page)
    page.goto(address)
    page.wait_for_selector(".replays li")


def run(page: Page, address: str) -> None:
    """A run that has finished."""
    page.goto(f"{address}runs/{RUN}")
    page.wait_for_selector(".heat")


def model(page: Page, address: str) -> None:
    """A model's page."""
    page.goto(f"{address}models/GeneralizedNh")
    page.wait_for_selector(".reliability")


def lobby(page: Page, address: str) -> None:
    """Who sits where."""
    page.goto(f"{address}play/nh")
    page.wait_for_selector("#lobby[open]")


def fight(page: Page, address: str) -> None:
    """You against the shipped model, paused at once: it does not wait for whoever takes pictures."""
    page.add_init_script(PAUSE)
    match(page, address, "nh")
    page.wait_for_selector("#play[aria-label^=Play]:enabled")
    for _ in range(4):
        page.evaluate("() => document.querySelector('#panel section.prayer .move.legal:not(.on)')?.click()")
        page.evaluate("() => document.querySelector('#panel section.attack .move.legal')?.click()")
        before = page.inner_text("#timeline .where")
        page.keyboard.press("ArrowRight")
        page.wait_for_function("(was) => document.querySelector('#timeline .where').textContent !== was", arg=before)
    page.evaluate("() => document.querySelector('#panel section.prayer .move.legal:not(.on)')?.click()")


def fight_over(page: Page, address: str) -> None:
    """What is told of a fight when it is over."""
    match(page, address, "nh", MODEL, MODEL)
    until_step(page, 1)
    to_the_end(page)


def fight_watched(page: Page, address: str) -> None:
    """Two models, with the chance to win."""
    match(page, address, "nh", MODEL, MODEL)
    until_step(page, 1)
    faster(page)
    until_step(page, 50)
    page.click("#play")


def dharok(page: Page, address: str) -> None:
    """The other fight."""
    match(page, address, "dharok", "player:random", "player:random")
    until_step(page, 12)
    page.click("#play")


def connect4(page: Page, address: str) -> None:
    """A board game, watched."""
    match(page, address, "connect4", f"model:{RUN}", "bot:tactician")
    to_the_end(page)
    page.click("#banner .close")


def kuhn(page: Page, address: str) -> None:
    """A game without a view of its own."""
    match(page, address, "kuhn")
    page.wait_for_selector("button.move.legal")


def battle(page: Page, address: str) -> None:
    """A battle, with you in it, after a turn."""
    match(page, address, "vgc", "you", BATTLER, seed=5)
    page.wait_for_selector(".pick[data-row]")
    for row in (2, 0, 5, 3):
        page.click(f".pick[data-row='{row}']")
    page.click(".go")
    page.wait_for_selector(".attack")
    for _ in range(40):
        if page.evaluate("document.querySelectorAll('.story .turn').length >= 3"):
            break
        page.locator(".asks button:not(:disabled, .back, .gimmick)").first.click(timeout=20_000)
        page.wait_for_timeout(300)
    page.wait_for_selector(".attack")


def battle_over(page: Page, address: str) -> None:
    """A battle from both sides."""
    match(page, address, "vgc", BATTLER, "bot:heuristics", seed=5)
    page.wait_for_selector(".story .turn")
    to_the_end(page)
    page.click("#banner .close")
    page.locator("#scrub").fill("6")


def cars_watched(page: Page, address: str) -> None:
    """Rocket League from the stands."""
    match(page, address, "rocket_league", "bot:chaser", "bot:kickoff_and_clear", seed=5)
    until_step(page, 40)
    page.click("#play")


def cars_driven(page: Page, address: str) -> None:
    """Rocket League from behind the wheel."""
    match(page, address, "rocket_league", "you", "bot:kickoff_and_clear", seed=5)
    until_step(page, 30)
    page.click("#play")


Shot = tuple[Callable[[Page, str], None], tuple[int, int], str]
SHOTS: dict[str, Shot] = {
    "home": (home, WIDE, "dark"), "home-phone": (home, PHONE, "light"),
    "run": (run, (1280, 900), "dark"), "run-phone": (run, PHONE, "light"),
    "model": (model, WIDE, "light"), "lobby": (lobby, WIDE, "dark"),
    "nh-play": (fight, WIDE, "dark"), "nh-phone": (fight, PHONE, "dark"), "nh-light": (fight_watched, WIDE, "light"),
    "nh-replay": (fight_watched, WIDE, "dark"), "nh-end": (fight_over, WIDE, "dark"),
    "dharok": (dharok, WIDE, "dark"), "connect4": (connect4, WIDE, "dark"), "kuhn": (kuhn, WIDE, "dark"),
    "vgc-wide": (battle, WIDE, "dark"), "vgc-phone": (battle, PHONE, "dark"),
    "vgc-replay": (battle_over, WIDE, "light"),
    "rocket-watch": (cars_watched, WIDE, "dark"), "rocket-drive": (cars_driven, WIDE, "dark"),
    "rocket-phone": (cars_driven, PHONE, "dark"),
}  # fmt: skip
WHOLE = {"home", "run", "model"}
"""Pages that are longer than the window."""


def take(browser: Browser, address: str, name: str) -> None:
    """One picture."""
    way, (width, height), theme = SHOTS[name]
    settings: dict[str, Any] = {"color_scheme": theme, "has_touch": width < 900, "bypass_csp": True}
    context = browser.new_context(viewport={"width": width, "height": height}, **settings)
    page = context.new_page()
    page.set_default_timeout(240_000)
    way(page, address)
    page.wait_for_timeout(900)  # what moves comes to rest
    data = page.screenshot(full_page=name in WHOLE)
    context.close()
    picture = Image.open(io.BytesIO(data)).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    path = PICTURES / f"{name}.png"
    picture.save(path, optimize=True)
    size = path.stat().st_size
    print(f"{path.name}: {size / 1000:.0f} kB", flush=True)
    assert size <= MOST_BYTES, f"{path.name} has {size} bytes, at most {MOST_BYTES}"


def main(names: list[str]) -> None:
    """Train, serve, take."""
    chromium = os.environ.get("PVP_ML_BROWSER") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "league.yml").write_text(SETTINGS)
        if not names or any(re.match("home|run|connect4", name) for name in names):
            train = [sys.executable, "-m", "pvp_ml", "train", "--preset", "league.yml", "--run.name", RUN]
            subprocess.run(train, cwd=place, check=True, stdout=subprocess.DEVNULL)  # noqa: S603
        with site(place) as printed, sync_playwright() as play:
            browser = play.chromium.launch(executable_path=chromium, args=[*FLAGS])
            for name in names or SHOTS:
                take(browser, printed.partition("#")[0], name)
            browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
