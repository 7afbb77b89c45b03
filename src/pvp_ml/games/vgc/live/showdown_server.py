"""A Showdown server on this machine, from a copy of the installed package: to measure, to test, to play at home."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from pvp_ml.errors import UserError
from pvp_ml.games.process_tree import tree
from pvp_ml.games.vgc.node import install


@contextlib.contextmanager
def local_server() -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The running server and its port; everybody may log in under any name. It ends with the block."""
    installed = install.find()
    with tempfile.TemporaryDirectory(prefix="pvp-ml-server-") as folder:
        modules = Path(folder) / "node_modules"
        shutil.copytree(installed.package.parent, modules, symlinks=True)
        home = modules / "pokemon-showdown"
        _configure(home)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        command = [str(installed.node), "pokemon-showdown", "start", "--no-security", "--skip-build", str(port)]
        process = subprocess.Popen(  # noqa: S603 - fixed arguments
            command, cwd=home, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            _await_port(process, port)
            yield process, port
        finally:
            children = tree(process.pid)
            for pid in [*children[::-1]]:
                with contextlib.suppress(OSError):
                    os.kill(pid, 9)
            process.wait()


def _configure(home: Path) -> None:
    text = (home / "config" / "config-example.js").read_text("utf-8")
    text += "\nexports.bindaddress = '127.0.0.1';\nexports.loginserver = 'http://127.0.0.1:9/';\n"
    (home / "config" / "config.js").write_text(text, "utf-8")
    for name in ("logs/repl", "databases", "config/chat-plugins"):
        (home / name).mkdir(parents=True, exist_ok=True)


def _await_port(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.5)
    raise UserError("the Showdown server did not start", "try `pvp-ml game setup vgc` again")
