"""What a user installs: a wheel that works in an empty folder, pins that fit, files for conda."""

import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
DATA = {".yml", ".json", ".js", ".html", ".css", ".svg", ".md", ".zip", ".npz", ".txt", ".typed"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """A wheel of this tree, built without the network."""
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return next(out.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """An empty folder with spaces in its name and a new environment: the wheel, and the libraries of this one."""
    folder = tmp_path_factory.mktemp("empty folder")
    place = folder / "venv"
    venv.create(place, with_pip=False, symlinks=True)
    site = next((place / "lib").glob("python3*")) / "site-packages"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    (site / "libraries.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return folder


def run(installed: Path, *words: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL", "PYTEST"))}
    env |= {"PVP_ML_HOME": str(installed / "home"), "COLUMNS": "100"}
    work = installed / "work"
    work.mkdir(exist_ok=True)
    command = [str(installed / "venv/bin/python"), "-m", "pvp_ml", *words]
    return subprocess.run(command, cwd=work, env=env, capture_output=True, text=True, timeout=timeout)


def test_the_wheel_holds_the_data(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    source = ROOT / "src"
    for path in (ROOT / "src/pvp_ml").rglob("*"):
        if path.suffix in DATA and path.is_file():
            assert path.relative_to(source).as_posix() in names
    assert "pvp_ml/presets/toys/connect4.yml" in names
    assert "pvp_ml/contracts/environments/NhEnv.json" in names
    assert "pvp_ml/cluster/cluster.yml" in names
    assert not [name for name in names if name.endswith((".nbc", ".nbi", ".pyc"))]


def test_the_wheel_works_in_an_empty_folder(installed):
    place = subprocess.run(
        [installed / "venv/bin/python", "-c", "import pvp_ml; print(pvp_ml.__file__)"],
        cwd=installed, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert str(installed) in place.stdout, "the test must not see this checkout"
    games = run(installed, "game", "list")
    assert games.returncode == 0, games.stderr
    assert "connect4" in games.stdout
    shown = run(installed, "config", "show", "--preset", "config/toys/connect4.yml")
    assert shown.returncode == 0, shown.stderr
    assert yaml.safe_load(shown.stdout)["env"]["name"] == "connect4"


def test_the_demo_works_from_the_wheel(installed):
    demo = run(installed, "demo", "--game", "connect4", "--seconds", "5", timeout=240)
    assert demo.returncode == 0, demo.stderr
    assert re.search(r"win rate .*\d+\.\d %", demo.stdout), demo.stdout


@pytest.mark.nightly
def test_a_real_install_from_the_wheel(wheel, tmp_path):
    """As the README says for people without make; needs the package index."""
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv/bin/python"
    install = [python, "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt", f"{wheel}[train]"]
    subprocess.run(install, check=True, timeout=1800)
    (tmp_path / "work").mkdir()
    demo = subprocess.run(
        [tmp_path / "venv/bin/pvp-ml", "demo", "--seconds", "20"],
        cwd=tmp_path / "work", capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert demo.returncode == 0, demo.stderr
    assert "win rate" in demo.stdout


def pins() -> dict[str, str]:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split("==") for line in lines)


def test_everything_that_dev_installs_is_pinned():
    from importlib.metadata import distribution

    from packaging.requirements import Requirement

    def visit(name: str, extras: set[str], seen: dict[str, set[str]]) -> None:
        key = re.sub(r"[-_.]+", "-", name).lower()
        if extras | {""} <= seen.setdefault(key, set()):
            return
        seen[key] |= extras | {""}
        for text in distribution(name).requires or []:
            need = Requirement(text)
            if need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in extras | {""}):
                visit(need.name, set(need.extras), seen)

    seen: dict[str, set[str]] = {}
    visit("pvp-ml", {"dev"}, seen)
    assert sorted(set(seen) - {"pvp-ml"} - set(pins())) == []


def test_torch_is_pinned():
    assert pins()["torch"] == "2.13.0"


def test_environment_yml():
    env = yaml.safe_load((ROOT / "environment.yml").read_text())
    pip = next(item for item in env["dependencies"] if isinstance(item, dict))["pip"]
    assert pip == ["-c constraints.txt", "-e .[train]"]
    python = next(item for item in env["dependencies"] if isinstance(item, str) and item.startswith("python="))
    assert (3, 11) <= tuple(map(int, python.removeprefix("python=").split("."))) <= (3, 13)


def test_every_extra_that_an_error_names_exists():
    extras = set(PROJECT["project"]["optional-dependencies"])
    sources = (ROOT / "src").rglob("*.py")
    named = {
        extra for path in sources for extra in re.findall(r"(?:pvp-ml\[|pip_install\([\"'])([\w-]+)", path.read_text())
    }
    assert named <= extras


def test_no_path_or_host_of_this_machine_in_the_repository():
    files = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    words = re.compile(r"/work/(?:main|shared)|/root/|/home/(?!user\b|you\b)\w+/|/opt/(?:pypi|wheels)|index-url")
    me = Path(__file__).relative_to(ROOT).as_posix()
    for name in filter(None, files):
        path = ROOT / name
        if name == me or not path.is_file() or path.stat().st_size > 2_000_000:
            continue
        found = words.search(path.read_text(errors="ignore"))
        assert found is None, f"{name}: {found.group()}"
