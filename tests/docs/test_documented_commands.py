"""Every command line in the documentation can be typed: commands, flags and settings exist."""

import re
import shlex
from pathlib import Path

import pytest
from cyclopts.exceptions import MissingArgumentError

from pvp_ml.cli import COMMANDS, build
from pvp_ml.cli.evaluate import game_settings
from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.run.config.schema import load_config

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
BLOCK = re.compile(r"^```(?:sh|bash)?\n(.*?)^```", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"`(pvp-ml [^`]+)`")
TRAINS = {"train", "config", "bench"}


def documented() -> list[tuple[str, str]]:
    """(page, line) of every `pvp-ml …` in shell blocks and in running text."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        lines = [line for block in BLOCK.findall(text) for line in block.replace("\\\n", " ").splitlines()]
        lines = [re.split(r"\s+#\s|\s+→\s|; | \| | && ", line)[0].strip() for line in lines]
        lines += [" ".join(line.split()) for line in INLINE.findall(text)]
        name = page.relative_to(ROOT).as_posix()
        found += [(name, line) for line in lines if line.startswith("pvp-ml ")]
    return sorted(set(found))


LINES = documented()


def test_there_are_many():
    assert len(LINES) >= 140


@pytest.mark.parametrize(("page", "line"), LINES, ids=[f"{page}: {line[:70]}" for page, line in LINES])
def test_a_documented_command_exists(page, line, monkeypatch):
    monkeypatch.chdir(ROOT)
    words = shlex.split(re.sub(r"\s(\[-?-?[A-Z].*?\]|\[--.*?\]|…|&$)", "", line))[1:]
    if not words or "|" in line:  # `pvp-ml game list|show`: each word of the choice
        words = [word.split("|")[0] for word in words]
    if words[:1] in (["--help"], ["--version"], ["COMMAND"], ["--install-completion"]):
        return
    assert words[0] in COMMANDS, f"{page}: no such command"
    try:
        _, bound, _ = build().parse_args(words, exit_on_error=False, print_error=False)
    except MissingArgumentError:
        return  # "`pvp-ml eval`" in running text: named, not typed
    flags = tuple(bound.arguments.get("flags", ()))
    if words[0] in TRAINS and flags[:1] not in (("cleanup",), ("show",), ("tensorboard",)):
        check_settings(bound.arguments.get("preset", ""), flags)
    elif flags and words[0] in ("eval", "watch"):
        game = bound.arguments.get("game") or ("rocket_league" if "rocket_league" in page else "nh")
        game_settings(registry.find(game), flags)


def check_settings(preset: str, flags: tuple[str, ...]) -> None:
    """The flags are settings; a preset or file that the page only imagines is left out."""
    if re.fullmatch(r"[A-Z_]+|experiments/.*|mine|.*\.ya?ml", preset):
        preset = "nh/quick"
    try:
        load_config(preset, list(flags) if flags or preset else ["--game", "connect4"], ROOT)
    except UserError as error:
        assert "MyEnv.json" in str(error), error  # a file that the reader has and we do not
