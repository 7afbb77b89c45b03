"""Every Python block of the pages about games runs; every command, table and file name on them is real."""

import re
from pathlib import Path

import pytest

from pvp_ml.games import contract
from pvp_ml.games.contract import parse_contract

ROOT = Path(__file__).parent.parent.parent
PAGES = ["docs/add-a-game.md", "docs/contracts.md"]


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.S | re.M)


@pytest.mark.parametrize("page", PAGES)
def test_python_blocks_run(page):
    found = blocks(page, "python")
    assert found
    for block in found:
        exec(compile(block, page, "exec"), {})


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", (ROOT / page).read_text(encoding="utf-8")):
        assert ((ROOT / page).parent / target).exists(), target


def test_the_contract_on_the_page_is_one():
    (text,) = blocks("docs/contracts.md", "json")
    parsed = parse_contract(text.encode(), "page")
    assert [head.choices for head in parsed.heads] == [("no_attack", "hit"), ("no_kind", "hard")]


def test_limits_on_the_page_are_those_of_the_code():
    page = (ROOT / "docs/contracts.md").read_text(encoding="utf-8")
    for number in (contract.MAX_HEADS, contract.MAX_CHOICES, contract.MAX_FEATURES, contract.MAX_ID_LENGTH):
        assert f"{number:,}" in page
    assert contract.MAX_BYTES == 1024 * 1024
    assert f"{contract.MAX_TEXT_LENGTH:,}" in page


def test_the_entry_point_on_the_page_is_that_of_the_example():
    (text,) = blocks("docs/add-a-game.md", "toml")
    assert text in (ROOT / "examples/nim_game/pyproject.toml").read_text(encoding="utf-8")
