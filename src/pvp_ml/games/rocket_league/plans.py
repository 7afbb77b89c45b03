"""The queue of plans, and the plan of each row, as arrays."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pvp_ml.errors import UserError
from pvp_ml.match import Bot, MatchPlan
from pvp_ml.spec import GameSpec

NOBODY = -1  # no bot: the seat is decided from outside
_SEED_MASK = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Ticket:
    """A checked plan: `scenario` and `bots` are indices into the spec."""

    serial: int
    seed: int
    scenario: int
    bots: tuple[int, ...]


class Queue:
    """Plans that wait, first come first served."""

    def __init__(self, spec: GameSpec) -> None:
        self._spec = spec
        self._scenarios = {scenario.name: i for i, scenario in enumerate(spec.scenarios)}
        self._waiting: deque[Ticket] = deque()

    def __len__(self) -> int:
        """Plans that wait."""
        return len(self._waiting)

    def append(self, plans: Sequence[MatchPlan]) -> None:
        """Add plans; one wrong plan refuses them all."""
        self._waiting.extend([self._check(plan) for plan in plans])

    def take(self) -> Ticket:
        """The plan that waited longest."""
        return self._waiting.popleft()

    def _check(self, plan: MatchPlan) -> Ticket:
        spec = self._spec
        if plan.scenario not in self._scenarios:
            spec.scenario(plan.scenario)
        if len(plan.lineup) != spec.seats:
            raise UserError(
                f"game '{spec.name}' has {spec.seats} seats, the lineup names {len(plan.lineup)}",
                "the lineup must fit the mode",
            )
        bots = [NOBODY] * spec.seats
        for seat, occupant in enumerate(plan.lineup):
            if isinstance(occupant, Bot):
                if occupant.name not in spec.bots:
                    raise UserError(
                        f"game '{spec.name}' has no bot '{occupant.name}'", f"its bots: {', '.join(spec.bots)}"
                    )
                bots[seat] = spec.bots.index(occupant.name)
        return Ticket(plan.serial, plan.seed & _SEED_MASK, self._scenarios[plan.scenario], tuple(bots))

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """For a snapshot."""
        return tickets_to_arrays(list(self._waiting), self._spec.seats)

    def set_arrays(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """From a snapshot."""
        self._waiting = deque(arrays_to_tickets(arrays))


def tickets_to_arrays(tickets: list[Ticket], seats: int) -> dict[str, npt.NDArray[Any]]:
    """serial, seed, scenario [N] and bots [N,S]."""
    return {
        "serial": np.array([t.serial for t in tickets], np.int64),
        "seed": np.array([t.seed for t in tickets], np.uint64),
        "scenario": np.array([t.scenario for t in tickets], np.int32),
        "bots": np.array([t.bots for t in tickets], np.int8).reshape(len(tickets), seats),
    }


def arrays_to_tickets(arrays: dict[str, npt.NDArray[Any]]) -> list[Ticket]:
    """What `tickets_to_arrays` took apart."""
    columns = (arrays[name].tolist() for name in ("serial", "seed", "scenario", "bots"))
    return [Ticket(serial, seed, scenario, tuple(bots)) for serial, seed, scenario, bots in zip(*columns, strict=True)]
