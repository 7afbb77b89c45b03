"""Limits that keep the code readable: sizes, names, and one place for each optional library."""

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src/pvp_ml").rglob("*.py"))
MAX_FILE, MAX_FUNCTION, MAX_PARAMETERS = 400, 80, 8
OPTIONAL = {
    "ray", "wandb", "poke_env", "RocketSim", "onnxruntime", "onnx", "tensorboard", "matplotlib", "gymnasium",
    "pettingzoo", "starlette", "uvicorn", "sb3_contrib", "stable_baselines3", "optuna",
}  # fmt: skip


@cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text())))


def functions(path: Path):
    for node in nodes(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def is_kernel(path: Path) -> bool:
    return path.stem == "kernels" or path.parent.name == "kernels"


def test_files_are_short():
    long = {shown(p): n for p in SOURCES if (n := len(p.read_text().splitlines())) > MAX_FILE and not is_kernel(p)}
    assert long == {}


def test_functions_are_short():
    long = {
        f"{shown(path)}:{f.name}": f.end_lineno - f.lineno + 1
        for path in SOURCES
        if not is_kernel(path)
        for f in functions(path)
        if f.end_lineno - f.lineno + 1 > MAX_FUNCTION
    }
    assert long == {}


def test_signatures_are_short():
    def count(f):
        names = [a.arg for a in (*f.args.posonlyargs, *f.args.args, *f.args.kwonlyargs)]
        return len(names) - (names[:1] in (["self"], ["cls"]))

    long = {
        f"{shown(path)}:{f.name}": count(f)
        for path in SOURCES
        if not is_kernel(path)
        for f in functions(path)
        if count(f) > MAX_PARAMETERS
    }
    assert long == {}


def test_no_drawers():
    words = {"util", "utils", "helper", "helpers", "manager", "misc", "common", "base"}
    assert [shown(p) for p in SOURCES if words & set(p.stem.split("_"))] == []


@cache
def imports(path: Path) -> set[str]:
    found = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found


@pytest.mark.parametrize("library", sorted(OPTIONAL))
def test_an_optional_library_is_imported_in_one_module(library):
    users = [shown(path) for path in SOURCES if library in imports(path)]
    assert len(users) <= 1, users


def test_nothing_left_for_later():
    words = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "HA" + "CK"]) + r")\b")
    assert [shown(p) for p in SOURCES if words.search(p.read_text())] == []


ENTRY_POINTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pvp_ml.games"]
GAME_NAMES = frozenset(ENTRY_POINTS) - {"remote"}  # also a setting of every fight, and a room of the cluster
SHARED = "pvp_ml.games.adapters"  # holds a game and also what other games are adapted with


def game_package(place: str) -> str:
    """`pvp_ml.games.osrs.fights:NH` → pvp_ml.games.osrs; a game beside shared modules is its own module alone."""
    module = place.partition(":")[0]
    return module if module.startswith(f"{SHARED}.") else ".".join(module.split(".")[:3])


GAME_PACKAGES = frozenset(map(game_package, ENTRY_POINTS.values()))
OUTSIDE = [p for p in SOURCES if not {"games", "compat"} & set(p.relative_to(ROOT / "src/pvp_ml").parts[:1])]


def is_in_a_game(module: str) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in GAME_PACKAGES)


def known_games(path: Path, text: str) -> list[str]:
    """Where a module knows a game: an import of its package, or a string that can decide something and names it.

    A string decides nothing when it is a docstring or prose, which has a space in it (help and errors may give an
    example). Any other string names a game when a registered name is one of its words, as in `nh/quick` or `nh-bot`.
    """
    found = []
    tree = ast.parse(text)
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    package = ["pvp_ml", *path.relative_to(ROOT / "src/pvp_ml").parts[:-1]]
    for node in ast.walk(tree):
        modules: list[str] = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            near = package[: len(package) + 1 - node.level] if node.level else []
            start = ".".join([*near, *filter(None, [node.module])])
            modules = [start, *(f"{start}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            if " " in node.value:
                continue
            modules = [node.value.partition(":")[0]]  # a lazy import such as "package.module:name"
            if GAME_NAMES & set(re.split(r"\W+", node.value)):
                found.append(f"{shown(path)}:{node.lineno}: {node.value!r}")
                continue
        if module := next(filter(is_in_a_game, modules), None):
            found.append(f"{shown(path)}:{node.lineno}: {module}")
    return found


def test_only_games_know_games():
    assert {"pvp_ml.games.osrs", "pvp_ml.games.toys", "pvp_ml.games.adapters.gymnasium_game"} <= GAME_PACKAGES
    assert [place for path in OUTSIDE for place in known_games(path, path.read_text())] == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("from pvp_ml.games.vgc.config import VgcConfig", 1),
        ("from pvp_ml.games import osrs", 1),
        ("from ..games.toys import kuhn", 1),
        ("import pvp_ml.games.rocket_league", 1),
        ("from pvp_ml.games.adapters import gymnasium_game", 1),
        ("place = 'pvp_ml.games.osrs.fights:NH'", 1),
        ("if game == 'nh': pass", 1),
        ("presets = {'x': 'toys/connect4-demo', 'y': 'nh-bot'}", 2),
        ("name = f'{kind}/dharok'", 1),
        ("def f(game: str = 'NhEnv'): pass", 1),
        ("from pvp_ml.games import registry", 0),
        ("from pvp_ml.games.adapters.envs import MatchEnv", 0),
        ('"""nh"""', 0),
        ("def f():\n    'nh'", 0),
        ("raise UserError('no game', 'give --game connect4')", 0),
        ("flag = 'highlight'", 0),
    ],
)
def test_the_check_for_games_sees_what_it_should(text, count):
    assert len(known_games(ROOT / "src/pvp_ml/cli/some.py", text)) == count


def test_the_page_knows_no_game():
    """Every script, style and document of the site, comments aside."""
    words = re.compile(rf"\b({'|'.join(sorted(GAME_NAMES | {'osrs'}))})\b")
    for path in sorted((ROOT / "src/pvp_ml/web/static").rglob("*.*")):
        text = re.sub(r"//[^\n]*|/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        found = words.search(text)
        assert found is None, f"{shown(path)}: {found.group()}"


def test_one_place_names_the_folder_of_the_runs():
    found = [
        shown(path)
        for path in SOURCES
        for node in nodes(path)
        if isinstance(node, ast.Constant) and node.value == "experiments"
    ]
    assert found == ["src/pvp_ml/data_files.py"]


def test_the_root_and_every_package_are_small():
    modules = [p for p in (ROOT / "src/pvp_ml").glob("*.py") if p.name != "__init__.py"]
    assert len(modules) <= 12, "a module at the root is for everybody: find a room for it"
    pages = [path for kind in ("js", "css", "html") for path in (ROOT / "src/pvp_ml").rglob(f"*.{kind}")]
    sizes = Counter(shown(path.parent) for path in [*SOURCES, *pages])
    assert {folder: count for folder, count in sizes.items() if count > 20} == {}


def test_the_way_from_rollout_to_weights_is_short_and_exists():
    """docs/architecture.md lists it: at most 12 files of at most 3 packages, whichever way the gradient is made."""
    text = (ROOT / "docs/architecture.md").read_text()
    learn = text[text.index("**Learn.**") : text.index("**Two ways to a gradient.**")]
    listed = re.findall(r"^(\d+)\. `([\w/]+\.py)`", learn, re.MULTILINE)
    assert len(listed) > 10 and max(int(number) for number, _ in listed) <= 12
    assert len({name.split("/")[0] for _, name in listed}) <= 3
    assert [name for _, name in listed if not (ROOT / "src/pvp_ml" / name).is_file()] == []


def test_no_variable_is_called_told():
    """It meant a setting, an answer, a result or a line, depending on the file: say which."""
    names = {
        shown(path)
        for path in SOURCES
        for node in nodes(path)
        if "told" in (getattr(node, "id", ""), getattr(node, "arg", ""), getattr(node, "attr", ""))
    }
    scripts = sorted((ROOT / "src/pvp_ml").rglob("*.js"))
    names |= {
        shown(p) for p in scripts if re.search(r"\btold\b", re.sub(r"//[^\n]*|/\*.*?\*/", "", p.read_text("utf-8")))
    }
    assert names == set()


def test_the_mutations_still_name_lines_of_the_code():
    """`benchmarks/mutations.py` takes minutes, so it runs by night; that its table follows the code is seen here."""
    command = [sys.executable, str(ROOT / "benchmarks/mutations.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
