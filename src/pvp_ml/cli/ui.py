"""`pvp-ml ui`: the site on this machine: games to play and watch, runs, models, replays."""

from __future__ import annotations

import asyncio
import contextlib
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from pvp_ml.cli.serve import read_token
from pvp_ml.data_files import RUNS
from pvp_ml.errors import UserError, pip_install

if TYPE_CHECKING:
    from pvp_ml.web.arena import ArenaConfig

Directory = Annotated[Path, Parameter(name=("--directory", "--experiments-dir"))]


@dataclass(frozen=True, slots=True)
class Where:
    """Where the site listens, who opens it, where it finds runs and keeps matches (None: nowhere)."""

    host: str = "127.0.0.1"
    port: int = 8642
    token_file: Path | None = None
    opens: bool = True
    folder: Path | None = None
    runs: Path = Path(RUNS)


def ui(
    *, host: str = "127.0.0.1", port: int = 8642, token_file: Path | None = None, open: bool = True,
    directory: Directory = Path(RUNS), keep: bool = True, folder: Path | None = None,
) -> None:  # fmt: skip
    """Open the site: play and watch games, follow runs while they train, browse models and replays.

    Args:
        host: address to listen on; any other than this machine needs a token
        port: port to listen on; 0 = any free one
        token_file: file with the token; or set PVP_ML_TOKEN
        open: open the browser
        directory: where runs are kept
        keep: save replays, and your own decisions as demonstrations for `pvp-ml bc train`
        folder: where to save them; default: `arena` in the user folder
    """
    from pvp_ml.web.arena import home_folder

    open_site(Where(host, port, token_file, open, (folder or home_folder()) if keep else None, directory), "/")


def open_site(where: Where, path: str, chosen: ArenaConfig | None = None, fragment: str = "") -> None:
    """Serve the site until Ctrl-C, and show one of its pages; `chosen` has a game's own settings."""
    try:
        from pvp_ml.web.guard import ServerConfig
        from pvp_ml.web.server import serve_until
    except ModuleNotFoundError as error:
        raise UserError(
            f"the page needs the library '{error.name}'", f"{pip_install('web')}, or play with --text"
        ) from error
    from pvp_ml.run.desk.desk import Desk
    from pvp_ml.web.arenas import Arenas
    from pvp_ml.web.site import Site

    listen = ServerConfig(host=where.host, port=where.port, token=read_token(where.token_file))

    async def run() -> None:
        loop = asyncio.get_running_loop()
        arenas = Arenas(Path.cwd(), loop.time, where.folder, [chosen] if chosen else ())
        if chosen is not None and (note := arenas.get(chosen.game).contestants.note):
            print(note)
        site = Site.of(arenas, Desk(where.runs))

        def ready(port: int) -> None:
            host = f"[{where.host}]" if ":" in where.host else where.host
            secret = f"&token={listen.token}" if listen.token else ""
            address = f"http://{host}:{port}{path}#{fragment}control={site.control}{secret}"
            print(f"{address}  (Ctrl-C ends)", flush=True)
            if where.opens:
                loop.run_in_executor(None, webbrowser.open, address)

        await serve_until(site, listen, ready)

    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(run())
