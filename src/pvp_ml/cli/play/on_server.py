"""`pvp-ml play GAME --server`: a model sits down where people are, and they challenge it there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pvp_ml.cli.evaluate import game_settings
from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.games.tooling import ServerSeat
from pvp_ml.players import Player
from pvp_ml.selfplay.evaluate import find_contestant
from pvp_ml.spec import GameSpec

if TYPE_CHECKING:
    from pvp_ml.cli.play.command import PlayOptions

MAX_PASSWORD_BYTES = 1000


def play_on_server(game: str, options: PlayOptions, flags: tuple[str, ...] = ()) -> None:
    """Let the named opponent play there."""
    play = registry.ability(lambda tools: tools.play_on_server, "server that people play on", game)
    kind = registry.find(game)
    rival = options.against or kind.presentation.rival or "player:random"
    seat = ServerSeat(
        server=options.server,
        user=options.user,
        password=read_password(options.password_file),
        matches=options.battles,
        team=options.team,
        format=options.format,
        ladder=options.ladder,
        results=options.results,
        seed=options.seed,
        settings=game_settings(kind, flags).model_dump(exclude_unset=True),
    )

    def player_of(spec: GameSpec) -> Player | str:
        contestant = find_contestant(rival, spec, Path.cwd(), options.greedy)
        return contestant.bot if contestant.make is None else contestant.make(spec)

    play(seat, player_of, print)


def read_password(file: Path | None) -> str:
    """The first line of the file; '' without one."""
    if file is None:
        return ""
    try:
        with file.open("rb") as opened:
            return opened.readline(MAX_PASSWORD_BYTES).decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read the password in '{file}': {error}"[:200]) from None
