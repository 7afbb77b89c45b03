"""`pvp-ml play`: sit down at a game yourself, on a page in the browser or in the terminal."""

from __future__ import annotations

import secrets
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

from cyclopts import Parameter

from pvp_ml.cli.evaluate import Flags, game_settings
from pvp_ml.cli.play.text import play_text
from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.games.adapters.synchronous import in_step
from pvp_ml.games.registry import GameConfig, GameType
from pvp_ml.selfplay.dial import with_strength
from pvp_ml.selfplay.evaluate import find_contestant


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PlayOptions:
    """The flags of `pvp-ml play`.

    Attributes:
        against: a model file or name, a scripted player or a bot; default: the shipped model, or a bot of the game
        strength: weaken the model to this strength, 1…100, by its measured map; 0 = full strength
        text: play in this terminal instead of the browser
        setup: first download what the game lacks, as `pvp-ml game setup` does, without asking
        seat: your seat, counted from 0
        scenario: default: the game's first
        greedy: models take their most likely choice instead of sampling
        seed: the same seed gives the same match
        host: address to listen on; any other than this machine needs a token
        port: port to listen on; 0 = any free one
        token_file: file with the token; or set PVP_ML_TOKEN
        open: open the browser
        keep: save replays, and your own decisions as demonstrations for `pvp-ml bc train`
        folder: where to save them; default: `arena` in the user folder
        server: vgc: log in to this Showdown server (ws://… or wss://…) and accept challenges; `local` starts one here
        user: vgc: the name to log in with
        password_file: vgc: file with the password, if the server needs one
        battles: vgc: leave after this many battles; 0 = never
        ladder: vgc: look for rated battles at the server instead of waiting for challenges
        results: vgc: append every result, with the rating, to this file as a line of JSON
        team: vgc: a shipped team or a PokePaste file; default: all shipped ones in turn
        format: vgc: the format; default: the game's
    """

    against: str = ""
    strength: int = 0
    text: bool = False
    setup: Annotated[bool, Parameter(negative="")] = False
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
    ladder: bool = False
    results: Path | None = None
    team: str = ""
    format: str = ""


DEFAULTS = PlayOptions()
ON_SERVER = ("user", "password_file", "battles", "ladder", "results", "team", "format")
"""Options that mean nothing without `server`."""


def play(game: str, *flags: Flags, options: PlayOptions = DEFAULTS) -> None:
    """Play against a model, a scripted player or a bot of the game; or watch two of them.

    The game's own settings are flags too, such as --env.rounds 3.

    Args:
        game: a name from `pvp-ml game list`
    """
    _fetch_first(registry.find(game), options.setup)
    if options.server:
        from pvp_ml.cli.play.on_server import play_on_server

        play_on_server(game, options, flags)
        return
    for name in ON_SERVER:
        if getattr(options, name) != getattr(DEFAULTS, name):
            flag = name.replace("_", "-")
            raise UserError(f"--{flag} is for matches on a server", f"give --server too, or leave --{flag} out")
    settings = game_settings(registry.find(game), flags)
    if options.text:
        _in_terminal(game, options, settings)
    else:
        _on_page(game, options, settings)


def _fetch_first(game: GameType, is_wanted: bool) -> None:
    """Download what the game lacks if a flag or the person at the terminal says so; otherwise the game will refuse."""
    lacking = game.tooling.lacks() if game.tooling.lacks is not None else ""
    if lacking and game.tooling.setup is not None and (is_wanted or _agrees(f"{game.title} needs {lacking}.")):
        game.tooling.setup(print)


def _agrees(sentence: str) -> bool:
    """Asks on a terminal; where nobody can answer the answer is no."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    return input(f"{sentence} Download it now? [Y/n] ").strip().lower() in ("", "y", "yes")


def _on_page(game: str, options: PlayOptions, settings: GameConfig) -> None:
    from pvp_ml.cli.ui import Where, open_site
    from pvp_ml.web.arena import ArenaConfig, home_folder

    folder = (options.folder or home_folder()) if options.keep else None
    name = registry.find(game).name
    config = ArenaConfig(
        name, _rival(name, options), options.scenario, options.seat, options.seed, options.greedy, folder,
        settings.model_dump(exclude_defaults=True),
    )  # fmt: skip
    where = Where(options.host, options.port, options.token_file, options.open, folder)
    open_site(where, f"/play/{quote(name, safe='')}", chosen=config)


def _rival(game: str, options: PlayOptions) -> str:
    """The requested opponent at the requested strength; '' = the game's default opponent."""
    rival = options.against or (registry.find(game).presentation.rival if options.strength else "")
    if options.strength and not rival:
        raise UserError("--strength holds back a model, and none was named", "name one with --against")
    return with_strength(rival, options.strength) if rival else ""


def _in_terminal(game: str, options: PlayOptions, settings: GameConfig) -> None:
    found = registry.find(game)
    built = in_step(found.build(settings, 1))
    spec, seat = built.spec, options.seat
    try:
        if not 0 <= seat < spec.seats:
            raise UserError(f"seat {seat} does not exist", f"'{game}' has seats 0 to {spec.seats - 1}")
        usual = found.presentation.default_rival(settings)
        rival = _rival(game, options) or usual or (spec.bots[0] if spec.bots else "random")
        contestant = find_contestant(rival, spec, Path.cwd(), options.greedy)
        name = options.scenario or spec.scenarios[0].name
        spec.scenario(name)
        number = secrets.randbits(63) if options.seed is None else options.seed
        print(f"{found.title}: you against {contestant.name}, seed {number}")
        play_text(built, contestant, name, number, seat, print, lambda: input("> "), found.presentation.sketch)
    finally:
        built.close()
