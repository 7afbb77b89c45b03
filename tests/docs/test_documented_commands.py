"""Every command line in the documentation can be typed: commands, flags and settings exist."""

import contextlib
import importlib.util
import re
import shlex
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import yaml
from cyclopts.exceptions import MissingArgumentError

from pvp_ml.cli import COMMANDS, build, run
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
    words = shlex.split(re.sub(r"\s(\[-?-?[A-Z].*?\]|\[--.*?\]|…|&$|> .*$)", "", line))[1:]
    if "|" in line:  # `pvp-ml game list|show`: the first word of the choice
        words = [word.split("|")[0] for word in words]
    check(words, "rocket_league" if "rocket_league" in page else "nh")


def check(words: list[str], game: str = "nh") -> None:
    """The words after `pvp-ml` are a command with flags and settings that exist."""
    if words[:1] in (["--help"], ["--version"], ["COMMAND"], ["--install-completion"]):
        return
    assert words[0] in COMMANDS, "no such command"
    try:
        _, bound, _ = build().parse_args(words, exit_on_error=False, print_error=False)
    except MissingArgumentError:
        return  # "`pvp-ml eval`" in running text: named, not typed
    flags = tuple(bound.arguments.get("flags", ()))
    if words[0] in TRAINS and flags[:1] not in (("cleanup",), ("show",), ("tensorboard",)):
        check_settings(bound.arguments.get("preset", ""), flags)
    elif flags and words[0] in ("eval", "watch"):
        with contextlib.suppress(UserError) if "mine.yml" in flags else contextlib.nullcontext():
            game_settings(registry.find(bound.arguments.get("game") or game), flags)


def check_settings(preset: str, flags: tuple[str, ...]) -> None:
    """The flags are settings; a preset or file that the page only imagines is left out."""
    if re.fullmatch(r"[A-Z_]+|experiments/.*|mine|.*\.ya?ml", preset):
        preset = "nh/quick"
    try:
        load_config(preset, list(flags) if flags or preset else ["--game", "connect4"], ROOT)
    except UserError as error:
        assert "MyEnv.json" in str(error) or "mine.yml" in str(error), error  # files that the reader has and we do not


def old_commands() -> list[tuple[str, str]]:
    """(there, here) of every command line that the three old documents show."""
    page = (ROOT / "docs/coming-from.md").read_text(encoding="utf-8")
    table = page.split("## Commands")[1].split("\n## ")[0]
    return re.findall(r"^\| `([^`]+)` \| (?:`([^`]+)`|as written|not needed) \|", table, re.MULTILINE)


OLD = old_commands()
SCRIPTS = {"train": ["train"], "eval": ["eval"], "serve-api": ["serve", "--protocol", "old"]}
MODULES = {"pvp_ml.train": "train", "pvp_ml.run_train_job": "train", "pvp_ml.evaluate": "eval", "pvp_ml.api": "serve"}


def test_the_table_of_old_commands_is_whole():
    assert len(OLD) == 36


@pytest.mark.parametrize(("there", "here"), OLD, ids=[there[:80] for there, _ in OLD])
def test_an_old_command_works_or_says_what_to_type(there, here, monkeypatch):
    monkeypatch.chdir(ROOT)
    words = shlex.split(here or there)
    match words:
        case ["pvp-ml", *rest]:
            check(rest)
        case ["python", "-m", module, *rest]:
            check([MODULES[module], *rest])
            assert importlib.util.find_spec(module) is not None
        case [script, *rest] if script in SCRIPTS:
            check([*SCRIPTS[script], *rest])
            assert list(entry_points(group="console_scripts", name=script))
        case ["conda", "env", "create", *_]:
            assert (ROOT / words[-1]).is_file()
        case ["conda", "activate", name]:
            assert yaml.safe_load((ROOT / "environment.yml").read_text())["name"] == name
        case ["ray", _, file, *_]:
            assert "cluster_name" in yaml.safe_load((ROOT / file).read_text())
        case ["tensorboard", "--logdir", folder]:
            assert load_config("nh/quick", [], ROOT).tracking.tensorboard_directory == folder.rstrip("/")
        case ["pip", "install", *rest]:
            extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
            assert set(re.findall(r"[\w-]+", rest[-1])) <= set(extras)
        case ["make", target]:
            assert f"\n{target}: " in (ROOT / "Makefile").read_text()
        case _:
            assert there == "tools optimize"


def test_the_packages_cluster_file_is_printed(capsys):
    assert run(["config", "cluster"]) == 0
    assert capsys.readouterr().out == (ROOT / "cluster.yml").read_text()
