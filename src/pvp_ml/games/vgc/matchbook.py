"""What a plan means for the simulator: its format, its two teams, its bots."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pvp_ml.chance import uniforms
from pvp_ml.errors import UserError
from pvp_ml.games.vgc.config import VgcConfig
from pvp_ml.games.vgc.node.install import Installation
from pvp_ml.games.vgc.teams import by_format, load_teams
from pvp_ml.match import Bot, MatchPlan
from pvp_ml.spec import GameSpec

MAX_SERIAL = 1 << 53  # travels as a double
_TEAM_CHANNEL = 0x7EA0
_POOL_CHANNEL = 0x7EA2
_SHEET_CHANNEL = 0x7EA3
_WORD = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Pools:
    """Keys of the teams that the player whom a match is about, and his opponent, may draw; a key is "format/name"."""

    format: str
    players: tuple[tuple[str, ...], tuple[str, ...]]
    mirror: bool

    @property
    def shared(self) -> bool:
        """Both draw from the same: then teams stay with the seats, so that in a pair of matches each plays both."""
        return self.players[0] == self.players[1]


def _draw(plan: MatchPlan, channel: int) -> float:
    seed = np.array([plan.seed & _WORD], np.uint64)
    return float(uniforms(seed, np.zeros(1, np.int64), np.array([channel]))[0, 0])


class Matchbook:
    """Turns plans into what a worker needs. Draws teams from the plan's seed alone."""

    def __init__(self, config: VgcConfig, spec: GameSpec, installation: Installation) -> None:
        self._config, self._spec = config, spec
        self.texts: dict[str, str] = {}
        self.keep_logs = bool(config.log_folder)
        self.adviser = ""
        self._pools: dict[str, tuple[Pools, ...]] = {}
        for scenario in spec.scenarios:
            parameters = dict(scenario.parameters)
            format, mirror = str(parameters["format"]), bool(parameters["mirror"])
            own = config.teams if not parameters.get("shipped") else ()
            theirs = config.opponent_teams if not parameters.get("shipped") else ()
            self._pools[scenario.name] = tuple(self._read_pools(own, theirs, format, mirror, installation))

    def _read_pools(
        self, own: tuple[str, ...], theirs: tuple[str, ...], format: str, mirror: bool, installation: Installation
    ) -> Iterator[Pools]:
        """One for each format that teams are named for."""
        mine, others = by_format(own, format) or {format: ()}, by_format(theirs, format)
        if others and (lacking := sorted(set(mine) ^ set(others))):
            raise UserError(f"only one of the two players has teams for {lacking[0]}", "name teams of it for both")
        for name, files in mine.items():
            first = self._load(files, name, installation)
            yield Pools(name, (first, self._load(others[name], name, installation) if others else first), mirror)

    def _load(self, names: tuple[str, ...], format: str, installation: Installation) -> tuple[str, ...]:
        """Keys of the named teams, whose texts are kept."""
        ready = {f"{format}/{name}": text for name, text in load_teams(names, format, installation).items()}
        self.texts.update(ready)
        return tuple(ready)

    def check(self, plan: MatchPlan) -> None:
        """Refuse a plan that names something the game does not have."""
        self._spec.scenario(plan.scenario)
        if len(plan.lineup) != self._spec.seats:
            raise UserError(
                f"plan {plan.serial} has a lineup of {len(plan.lineup)}", f"vgc has {self._spec.seats} seats"
            )
        if not 0 <= plan.serial < MAX_SERIAL:
            raise UserError(f"plan serial {plan.serial} is outside 0…{MAX_SERIAL - 1}")
        for occupant in plan.lineup:
            if isinstance(occupant, Bot) and occupant.name not in self._spec.bots:
                raise UserError(f"vgc has no bot '{occupant.name}'", f"choose one of: {', '.join(self._spec.bots)}")

    def teams(self, plan: MatchPlan) -> tuple[str, str]:
        """Keys of the teams of seats 0 and 1. Own and opponents' teams go with the players, wherever they sit."""
        pools = self._pool(plan)
        draws = _draw(plan, _TEAM_CHANNEL), _draw(plan, _TEAM_CHANNEL + 1)
        first, second = (keys[int(draw * len(keys))] for keys, draw in zip(pools.players, draws, strict=True))
        if pools.mirror:
            return first, first
        return (second, first) if plan.home == 1 and not pools.shared else (first, second)

    def _pool(self, plan: MatchPlan) -> Pools:
        """A format is drawn as often as it has teams."""
        pools = self._pools[plan.scenario]
        if len(pools) == 1:
            return pools[0]
        edges = np.cumsum([len(pool.players[0]) for pool in pools])
        return pools[int(np.searchsorted(edges, _draw(plan, _POOL_CHANNEL) * edges[-1], side="right"))]

    def _sheets(self, plan: MatchPlan) -> str:
        if self._config.sheets != "mixed":
            return self._config.sheets
        return "open" if _draw(plan, _SHEET_CHANNEL) < 0.5 else "closed"

    def order(self, plan: MatchPlan, slot: int) -> dict[str, Any]:
        """The JSON that starts the plan in a worker."""
        return {
            "slot": slot,
            "serial": plan.serial,
            "seed": str(plan.seed & _WORD),
            "format": self._pool(plan).format,
            "sheets": self._sheets(plan),
            "teams": list(self.teams(plan)),
            "bots": [occupant.name if isinstance(occupant, Bot) else "" for occupant in plan.lineup],
            "adviser": self.adviser,
            "maxSteps": self._config.max_steps,
            "keepLog": self.keep_logs,
        }
