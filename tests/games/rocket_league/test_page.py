"""The page about the game: its blocks run, its numbers are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

from pvp_ml.cli import run
from pvp_ml.games.rocket_league import packs
from pvp_ml.games.rocket_league.actions import report
from pvp_ml.games.rocket_league.bots import BOTS
from pvp_ml.games.rocket_league.config import RocketLeagueConfig
from pvp_ml.games.rocket_league.describe import describe
from pvp_ml.games.rocket_league.resets import SETTERS
from pvp_ml.games.rocket_league.rewards.table import CONDITIONS, TERMS
from pvp_ml.games.rocket_league.show import view

PAGE = (Path(__file__).parents[3] / "docs" / "games" / "rocket_league.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.S | re.M)


def test_python_block_runs(rocketsim):
    block, program = blocks("python")
    compile(program, "rocket_league.md", "exec")  # it needs a match to answer; test_external plays one
    exec(compile(block, "rocket_league.md", "exec"), {})


def test_the_pack_on_the_page_is_one():
    (block,) = blocks("json")
    (shot,) = packs.parse_pack(block.encode(), "page")
    assert shot.noise == 0.5 and shot.cars[0].boost == 50


def test_numbers_on_the_page():
    for observation in ("advanced", "advanced1", "default"):
        size = describe(RocketLeagueConfig(meshes="generated", observation=observation)).obs_size
        assert f"{size} numbers" in PAGE
    assert f"{report(RocketLeagueConfig(actions='hybrid')).rows} rows" in PAGE
    assert f"the {len(TERMS)} terms" in PAGE
    assert f"{packs.MAX_SHOTS:,} shots" in PAGE and f"{packs.MAX_BYTES:,} bytes" in PAGE
    assert str(view.VIS_PORT) in PAGE


def test_names_on_the_page():
    for name in (*SETTERS, *BOTS, *CONDITIONS, *RocketLeagueConfig.model_fields):
        if name not in {"allies", "opponents", "pads_near_car", "pads_near_ball", "aerial_weight", "observation"}:
            assert f"`{name}" in PAGE, name


def test_the_commands_on_the_page_that_choose_settings(rocketsim, capsys):
    """`--set mode=2v2` and several reward terms after one flag, as the page writes them."""
    (terms,) = re.findall(r"^    --rewards (.*)$", PAGE, re.M)
    words = ["watch", "rocket_league", "--set", "mode=2v2", "--timeout-s", "1", "--meshes", "generated"]
    assert run([*words, "--rewards", *terms.split()]) == 0
    assert "2 blue against 2 orange" in capsys.readouterr().out
