"""Limits that keep the code readable: sizes, names, and one place for each optional library."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src/pvp_ml").rglob("*.py"))
MAX_FILE, MAX_FUNCTION, MAX_PARAMETERS = 400, 80, 8
OPTIONAL = {
    "ray", "wandb", "poke_env", "RocketSim", "onnxruntime", "onnx", "tensorboard", "matplotlib", "gymnasium",
    "pettingzoo", "starlette", "uvicorn", "sb3_contrib", "stable_baselines3",
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
