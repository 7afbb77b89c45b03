"""`pvp-ml play`: sit down at a game yourself, on a page in the browser or in the terminal."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

from cyclopts import Parameter

from pvp_ml.cli.evaluate import game_settings
from pvp_ml.cli.play.text import play_text
from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.games.adapters.synchronous import in_step
from pvp_ml.selfplay.evaluate import find_contestant

Flags = Annotated[str, Parameter(allow_leading_hyphen=True, show=False)]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PlayOptions:
    """The flags of `pvp-ml play`.

    Attributes:
        against: a model file or name, a scripted player or a bot; default: the shipped model, else a bot of the game
        text: in this terminal, step by step, instead of on a page
        seat: where you sit, counted from 0
        scenario: default: the game's first
        greedy: a model takes its preferred choice instead of sampling
        seed: the same seed deals the same match
        host: address of the page; anything but this machine needs a token
        port: port of the page; 0 = any free one
        token_file: file that holds the token; or set PVP_ML_TOKEN
        open: show the page in the browser
        keep: keep replays and, of your own matches, demonstrations for `pvp-ml bc train`
        folder: where they are kept; default: `arena` in the user's folder
        server: vgc: log in at this Showdown server (ws://… or wss://…) and accept challenges; `local` starts one here
        user: vgc: the name to log in with
        password_file: vgc: file that holds the password, where the server wants one
        battles: vgc: leave after so many battles; 0 = play on
        team: vgc: a shipped team or a PokePaste file; default: all shipped ones in turn
        format: vgc: the format; default: the game's
    """

    against: str = ""
    text: bool = False
    seat: int = 0
    scenario: str = ""
    greedy: bool = False
    seed: int | None = None
    host: str = "127.0.0.1"
    port: int = 8642
    token_file: Path | None = None
    open: bool = True
    keep: bool = True
    folder: Path | None = None
    server: str = ""
    user: str = "pvp-ml"
    password_file: Path | None = None
    battles: int = 0
    team: str = ""
    format: str = ""


DEFAULTS = PlayOptions()
ON_SERVER = ("user", "password_file", "battles", "team", "format")
"""Options that mean nothing without `server`."""


def play(game: str, *flags: Flags, options: PlayOptions = DEFAULTS) -> None:
    """Play against a model, a scripted player or a bot of the game; or watch two of them.

    In the terminal and on a server the game's own settings are flags too, such as --set sheets=closed.

    Args:
        game: a name from `pvp-ml game list`
    """
    if options.server:
        from pvp_ml.cli.play.on_server import play_on_server

        play_on_server(game, options, flags)
        return
    for name in ON_SERVER:
        if getattr(options, name) != getattr(DEFAULTS, name):
            flag = name.replace("_", "-")
            raise UserError(f"--{flag} is for matches on a server", f"give --server too, or leave --{flag} out")
    if options.text:
        _in_terminal(game, options, flags)
    elif flags:
        raise UserError(f"'{flags[0]}' is no flag of the page", "choose settings on the page, or add --text")
    else:
        _on_page(game, options)


def _on_page(game: str, options: PlayOptions) -> None:
    from pvp_ml.cli.ui import Where, open_site
    from pvp_ml.web.arena import ArenaConfig, home_folder

    folder = (options.folder or home_folder()) if options.keep else None
    name = registry.find(game).name
    config = ArenaConfig(
        name, options.against, options.scenario, options.seat, options.seed, options.greedy, folder
    )  # fmt: skip
    where = Where(options.host, options.port, options.token_file, options.open, folder)
    open_site(where, f"/play/{quote(name, safe='')}", chosen=config)


def _in_terminal(game: str, options: PlayOptions, flags: tuple[str, ...]) -> None:
    found = registry.find(game)
    built = in_step(found.build(game_settings(found, flags), 1))
    spec, seat = built.spec, options.seat
    try:
        if not 0 <= seat < spec.seats:
            raise UserError(f"seat {seat} does not exist", f"'{game}' has seats 0 to {spec.seats - 1}")
        rival = options.against or found.presentation.rival or (spec.bots[0] if spec.bots else "random")
        contestant = find_contestant(rival, spec, Path.cwd(), options.greedy)
        name = options.scenario or spec.scenarios[0].name
        spec.scenario(name)
        number = secrets.randbits(63) if options.seed is None else options.seed
        print(f"{found.title}: you against {contestant.name}, seed {number}")
        play_text(built, contestant, name, number, seat, print, lambda: input("> "), found.presentation.sketch)
    finally:
        built.close()
