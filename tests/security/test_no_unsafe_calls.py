"""Nothing in src/ can run code that came out of a file or a socket: the doors for it do not exist."""

import ast
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src" / "pvp_ml"
FORBIDDEN_MODULES = {"pickle", "cPickle", "_pickle", "cloudpickle", "marshal", "shelve", "dill", "joblib", "jsonpickle"}
FORBIDDEN_NAMES = {"eval", "exec", "compile", "__import__"}
FORBIDDEN_ATTRIBUTES = {
    ("torch", "load"),
    ("th", "load"),
    ("torch", "save"),
    ("yaml", "load"),
    ("yaml", "load_all"),
    ("yaml", "unsafe_load"),
    ("yaml", "full_load"),
    ("builtins", "eval"),
    ("builtins", "exec"),
    ("os", "system"),
    ("jit", "load"),
}


def unsafe(source):
    """(line, what) of every forbidden import, call or keyword in a piece of source."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, a.name) for a in node.names if a.name.split(".")[0] in FORBIDDEN_MODULES]
        elif isinstance(node, ast.ImportFrom):
            module = (node.module or "").split(".")[0]
            found += [(node.lineno, module)] if module in FORBIDDEN_MODULES else []
            found += [
                (node.lineno, f"{module}.{a.name}") for a in node.names if (module, a.name) in FORBIDDEN_ATTRIBUTES
            ]
        elif isinstance(node, ast.Call):
            found += [(node.lineno, "allow_pickle") for k in node.keywords if k.arg == "allow_pickle" and not _false(k)]
            found += [(node.lineno, "shell=True") for k in node.keywords if k.arg == "shell" and not _false(k)]
            if isinstance(node.func, ast.Name) and node.func.id in FORBIDDEN_NAMES:
                found.append((node.lineno, node.func.id))
        elif isinstance(node, ast.Attribute):
            owner = getattr(node.value, "id", getattr(node.value, "attr", ""))
            found += [(node.lineno, f"{owner}.{node.attr}")] if (owner, node.attr) in FORBIDDEN_ATTRIBUTES else []
    return found


def _false(keyword):
    return isinstance(keyword.value, ast.Constant) and keyword.value.value is False


def test_src_has_no_unsafe_calls():
    files = sorted(SRC.rglob("*.py"))
    assert len(files) > 10
    found = {
        f"{path.relative_to(SRC)}:{line}: {what}" for path in files for line, what in unsafe(path.read_text("utf-8"))
    }
    assert found == set()


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "import dill as d",
        "from cloudpickle import loads",
        "import marshal",
        "import shelve",
        "x = eval('1')",
        "exec(code)",
        "import torch\nt = torch.load(f)",
        "from torch import load",
        "loader = torch.load",
        "import yaml\nyaml.load(f)",
        "import numpy as np\nnp.load(f, allow_pickle=True)",
        "read(f, allow_pickle=flag)",
        "subprocess.run(c, shell=True)",
    ],
)
def test_the_search_finds_each_of_them(source):
    assert unsafe(source)


@pytest.mark.parametrize(
    "source",
    ["yaml.safe_load(f)", "x.load()", "model.eval()", "re.compile('a')", "f(allow_pickle=False)", "json.loads(s)"],
)
def test_and_nothing_else(source):
    assert unsafe(source) == []
