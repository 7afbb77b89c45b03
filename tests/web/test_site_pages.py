"""The site in a real browser: the first page, runs in every state, models; a run followed while it trains and dies."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from axe import serious_findings
from browsing import ON_PHONES, SIZES, faults_of_layout, until, window
from ringside import Ringside

from pvp_ml.run.desk.desk import Desk

RUN = ["--game", "connect4", "--env.matches", "32", "--ppo.n-steps", "16", "--network.trunk", "[32]",
       "--run.shards", "1", "--run.total-steps", "0", "--tracking.view", "lines", "--tracking.tensorboard",
       "false"]  # fmt: skip
STATE = "document.querySelector('.stats.big .state').textContent"
NAME = '<img src=x onerror="window.hurt = 1">'


def finished_run(place, name="done", points=30):
    """A folder as training leaves it; its words are hostile."""
    folder = place / name
    (folder / "checkpoints" / "ckpt-000001-30000").mkdir(parents=True)
    rows = [{"steps": 1000 * n, "seconds": n, "match/win_rate": 0.5, "eval/random/score": min(1.0, n / 20),
             "eval/win_rate": min(1.0, n / 20), "entropy/column": 2.0 - n / 30, "time/steps_per_s": 1000.0,
             "match/reward": 0.0, f"figure/{NAME}": float(n)} for n in range(1, points + 1)]  # fmt: skip
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = {"name": name, "total_steps": 30_000, "description": NAME}
    config = {"env": {"name": "connect4"}, "eval": {"matches": 100}, "run": run}
    (folder / "config.yml").write_text(yaml.safe_dump(config))
    return folder


@pytest.fixture(scope="module")
def site(corner, tmp_path_factory):
    """A site with one finished run, one that stopped early, and one that has not begun."""
    place = tmp_path_factory.mktemp("experiments")
    finished_run(place)
    finished_run(place, "stopped-early", 12)
    (place / "empty" / "checkpoints").mkdir(parents=True)
    with Ringside("connect4", corner, tmp_path_factory.mktemp("kept"), runs=Desk(place)) as ring:
        yield ring


@pytest.mark.parametrize("size", ON_PHONES)
def test_runs_in_every_state_are_shown_and_their_words_stay_words(browser, site, size):
    with window(browser, size, "light") as page:
        page.goto(f"{site.root}#control={site.site.control}")
        page.wait_for_selector(".run")
        assert page.locator(".run.finished").count() == 1 and page.locator(".run.stopped").count() == 2
        assert "Nothing is training" in page.inner_text("#main")
        assert faults_of_layout(page, size) == [] and serious_findings(page) == []
        page.click(".run.finished .cover")
        until(page, "document.querySelectorAll('.chart-card:not([hidden]) polyline').length >= 4")
        assert page.evaluate(STATE) == "finished" and page.inner_text("#resume") == "Keep training"
        shown = page.locator(".chart-card:visible strong").all_inner_texts()
        assert {"Win rate", "Entropy", "Speed"} <= set(shown) and "Reward per match" not in shown, "it is always 0"
        assert NAME in page.inner_text("#main") and page.evaluate("window.hurt") is None
        assert faults_of_layout(page, size) == [] and serious_findings(page) == []
        page.goto(f"{site.root}runs/empty")
        page.wait_for_selector(".quiet.none")
        assert page.evaluate(STATE) == "stopped" and "No metrics yet" in page.inner_text("#main")


def test_a_run_or_a_model_that_is_not_there_is_a_sentence(browser, site):
    with window(browser, ignoring=("404",)) as page:
        for path, word in (("runs/nobody", "there is no run 'nobody'"), ("models/nobody", "there is no model 'nobody'"),
                           ("play/nobody", "nobody")):  # fmt: skip
            page.goto(site.root + path)
            until(page, f"document.getElementById('status').textContent.includes({json.dumps(word)})")


def test_without_the_printed_address_nothing_is_stopped_or_resumed(browser, site):
    with window(browser) as page:
        page.goto(f"{site.root}runs/done")
        page.wait_for_selector("#resume")
        assert page.is_disabled("#resume") and "the terminal printed" in page.get_attribute("#resume", "title")


def test_losing_the_server_is_a_banner_and_the_board_is_greyed_until_it_is_back(browser, corner, tmp_path):
    with window(browser, ignoring=("ERR_CONNECTION", "WebSocket")) as page:
        with Ringside("connect4", corner, None) as ring:
            page.goto(ring.address)
            page.click("#fight")
            page.wait_for_selector(".column.legal")
            port = ring.port
        page.wait_for_selector("#lost:not([hidden])")
        assert "Lost the server" in page.inner_text("#lost")
        assert "grayscale" in page.evaluate("getComputedStyle(document.getElementById('scene')).filter")
        with Ringside("connect4", corner, None, port=port):
            page.wait_for_selector("#lost", state="hidden")
            assert page.evaluate("getComputedStyle(document.getElementById('scene')).filter") == "none"


@pytest.mark.nightly  # starts trainers, which load torch
@pytest.mark.parametrize("size", SIZES)
def test_a_run_is_followed_while_it_trains_is_stopped_resumed_and_killed(browser, corner, tmp_path, monkeypatch, size):
    monkeypatch.chdir(tmp_path)
    words = [sys.executable, "-m", "pvp_ml", "train", *RUN, "--run.name", "followed"]
    trainer = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    desk = Desk(Path("experiments"))
    try:
        with Ringside("connect4", corner, None, runs=desk) as ring, window(browser, size) as page:
            page.goto(f"{ring.root}#control={ring.site.control}")
            page.wait_for_selector(".run.running")
            page.click(".run.running .cover")
            until(page, "document.querySelectorAll('.chart-card polyline').length >= 4")
            until(page, f"{STATE} === 'running'")
            steps = "document.querySelectorAll('.stats.big dd')[2].textContent"
            before = page.evaluate(steps)
            until(page, f"{steps} !== '{before}'")  # the page itself moves on
            assert faults_of_layout(page, size) == [] and serious_findings(page) == []
            page.click("#stop")
            page.click("#confirm-yes")
            until(page, f"{STATE} === 'stopped'")
            assert trainer.wait(60) is not None
            page.click("#resume")
            page.click("#confirm-yes")
            until(page, f"{STATE} === 'running'")
            os.kill(desk._job("followed").process.pid, 9)
            until(page, f"{STATE} === 'stopped'")
            page.wait_for_selector("#resume")
            assert faults_of_layout(page, size) == []
    finally:
        trainer.kill()
        trainer.wait()


PAGES = ("", "models/GeneralizedNh", "runs/done", "play/nh", "play/dharok", "play/connect4", "play/kuhn", "play/rps")


@pytest.mark.nightly
@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("size", SIZES)
def test_axe_finds_nothing_serious_on_any_page(browser, site, size, theme):
    """VGC and Rocket League are looked over in their own tests."""
    found = {}
    for path in PAGES:
        with window(browser, size, theme, reduced_motion="reduce") as page:
            page.goto(site.root + path)
            if path.startswith("play/"):
                page.wait_for_selector("#lobby[open]")
                found[path, "lobby"] = serious_findings(page) + faults_of_layout(page, size)
                page.click("#fight")
                page.wait_for_selector(".legal")
                page.click("#play")
                found[path, "match"] = serious_findings(page) + faults_of_layout(page, size, is_match=True)
                for button, dialog in (("#keys", "#help"), ("#replays", "#shelf")):
                    page.click(button)
                    page.wait_for_selector(f"{dialog}[open]")
                    found[path, dialog] = serious_findings(page) + faults_of_layout(page, size)
                    page.keyboard.press("Escape")
            else:
                page.wait_for_selector("#main section")
                page.wait_for_timeout(500)
                found[path, ""] = serious_findings(page) + faults_of_layout(page, size)
    assert {where: faults for where, faults in found.items() if faults} == {}
