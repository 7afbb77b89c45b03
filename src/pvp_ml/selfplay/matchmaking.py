"""Whom the trainees meet: shares of opponents become a mix of lineups."""

from __future__ import annotations

from collections.abc import Mapping

from pvp_ml import players
from pvp_ml.errors import UserError
from pvp_ml.match import Bot, Live, Occupant, Scripted
from pvp_ml.selfplay.plans import LineupMix
from pvp_ml.spec import GameSpec

SELF = "self"


def share_mix(
    spec: GameSpec, shares: Mapping[str, float], scenarios: Mapping[str, float], trainee: str = "main"
) -> LineupMix:
    """Lineups in which the trainee holds one team's seats and each opponent, by its share, all the others."""
    live = Live(trainee)
    lineups = []
    for name, share in shares.items():
        if share > 0.0:
            other = live if name == SELF else opponent(spec, name)
            seats = tuple(live if seat in spec.teams[0] else other for seat in range(spec.seats))
            lineups.append((share, seats))
    if not lineups:
        raise UserError("all shares of self_play.opponents are 0", "give at least one opponent a share above 0")
    drawn = tuple((weight, name) for name, weight in scenarios.items() if weight > 0.0)
    return LineupMix(tuple(lineups), drawn or ((1.0, spec.scenarios[0].name),))


def opponent(spec: GameSpec, name: str) -> Occupant:
    """A bot of the game or a scripted player, by name."""
    if name in spec.bots:
        return Bot(name)
    if name in players.names():
        return Scripted(name)
    known = ", ".join((SELF, *spec.bots, *players.names()))
    raise UserError(f"game '{spec.name}' has no opponent '{name}'", f"choose from: {known}")
