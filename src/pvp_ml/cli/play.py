"""`pvp-ml play`: sit down at a game yourself."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import cast

from pvp_ml.cli.play_text import play_text
from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.match import VecGame
from pvp_ml.selfplay.evaluate import find_contestant


def play(game: str, *, against: str = "", text: bool = False, seat: int = 0, scenario: str = "",
         greedy: bool = False, seed: int | None = None) -> None:  # fmt: skip
    """Play a match against a model, a scripted player or a bot of the game.

    Args:
        game: a name from `pvp-ml game list`
        against: a model file or name, a scripted player or a bot; default: the game's first bot, else random
        text: in this terminal, step by step
        seat: where you sit, counted from 0
        scenario: default: the game's first
        greedy: a model takes its preferred choice instead of sampling
        seed: the same seed deals the same match
    """
    if not text:
        raise UserError("say how you want to play", "add --text for the terminal")
    found = registry.find(game)
    if found.asynchronous:
        raise UserError(f"'{game}' cannot be played in the terminal")
    config = found.config()
    built = cast(VecGame, found.build(config, 1))
    spec = built.spec
    try:
        if not 0 <= seat < spec.seats:
            raise UserError(f"seat {seat} does not exist", f"'{game}' has seats 0 to {spec.seats - 1}")
        rival = find_contestant(against or (spec.bots[0] if spec.bots else "random"), spec, Path.cwd(), greedy)
        name = scenario or spec.scenarios[0].name
        spec.scenario(name)
        number = secrets.randbits(63) if seed is None else seed
        print(f"{found.title}: you against {rival.name}, seed {number}")
        play_text(built, rival, name, number, seat, print, lambda: input("> "))
    finally:
        built.close()
