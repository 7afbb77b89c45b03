"""What a plan means for the simulator: its format, its two teams, its bots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pvp_ml.chance import uniforms
from pvp_ml.errors import UserError
from pvp_ml.games.vgc.config import VgcConfig
from pvp_ml.games.vgc.node.install import Installation
from pvp_ml.games.vgc.teams import pool, refuse_illegal, shipped
from pvp_ml.match import Bot, MatchPlan
from pvp_ml.spec import GameSpec

MAX_SERIAL = 1 << 53  # travels as a double
_TEAM_CHANNEL = 0x7EA0
_WORD = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Pools:
    """Keys of the teams that each seat may draw; a key is "format/name"."""

    format: str
    seats: tuple[tuple[str, ...], tuple[str, ...]]
    mirror: bool


class Matchbook:
    """Turns plans into what a worker needs. Draws teams from the plan's seed alone."""

    def __init__(self, config: VgcConfig, spec: GameSpec, installation: Installation) -> None:
        self._config, self._spec = config, spec
        self.texts: dict[str, str] = {}
        self.keep_logs = bool(config.log_folder)
        self.adviser = ""
        self._pools: dict[str, Pools] = {}
        for scenario in spec.scenarios:
            parameters = dict(scenario.parameters)
            own = bool(not parameters.get("shipped"))
            self._pools[scenario.name] = self._pool(str(parameters["format"]), bool(parameters["mirror"]), own)
        self._refuse_illegal(installation)

    def _pool(self, format: str, mirror: bool, own: bool) -> Pools:
        first = pool(self._config.teams if own else (), format)
        second = pool(self._config.opponent_teams, format) if own and self._config.opponent_teams else first
        for name, text in {**first, **second}.items():
            self.texts[f"{format}/{name}"] = text
        keys = tuple(tuple(f"{format}/{name}" for name in names) for names in (first, second))
        return Pools(format, (keys[0], keys[1]), mirror)

    def _refuse_illegal(self, installation: Installation) -> None:
        """Shipped teams are judged by the tests; a user's are judged here, before a match begins."""
        format = self._config.format
        known = shipped()[format]
        named = {*self._config.teams, *self._config.opponent_teams} - set(known)
        refuse_illegal({name: self.texts[f"{format}/{name}"] for name in sorted(named)}, format, installation)

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
        """Keys of the two teams of a plan."""
        pools = self._pools[plan.scenario]
        seed = np.array([plan.seed & _WORD], np.uint64)
        draws = uniforms(seed, np.zeros(1, np.int64), np.array([_TEAM_CHANNEL, _TEAM_CHANNEL + 1]))[0]
        first, second = (keys[int(draw * len(keys))] for keys, draw in zip(pools.seats, draws, strict=True))
        return first, first if pools.mirror else second

    def order(self, plan: MatchPlan, slot: int) -> dict[str, Any]:
        """The JSON that starts the plan in a worker."""
        return {
            "slot": slot,
            "serial": plan.serial,
            "seed": str(plan.seed & _WORD),
            "format": self._pools[plan.scenario].format,
            "sheets": self._config.sheets,
            "teams": list(self.teams(plan)),
            "bots": [occupant.name if isinstance(occupant, Bot) else "" for occupant in plan.lineup],
            "adviser": self.adviser,
            "maxSteps": self._config.max_steps,
            "keepLog": self.keep_logs,
        }
