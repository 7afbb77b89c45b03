"""Does a game keep the promises of `pvp_ml.match`? One call plays it in many ways and gives a named answer for each.

    report = check_game(find("connect4"))
    assert report.passed, report.text()

`pvp-ml game check NAME` prints the same. The promises themselves are in `promises/`, one function for each.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Literal

from pvp_ml.errors import UserError
from pvp_ml.games.conformance.promises import PROMISES
from pvp_ml.games.conformance.subject import BrokenError, ExcusedError, Subject
from pvp_ml.games.registry import GameConfig, GameType

Outcome = Literal["kept", "broken", "excused"]


@dataclass(frozen=True, slots=True)
class Check:
    """One promise: whether it was kept, and what was seen."""

    name: str
    promise: str
    outcome: Outcome
    detail: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Report:
    """All checks of one game as configured."""

    game: str
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """No promise was broken."""
        return not self.broken

    @property
    def broken(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if check.outcome == "broken")

    def text(self) -> str:
        """One line for each broken promise."""
        lines = [f"{self.game}: {check.name}: {check.detail} (promise: {check.promise})" for check in self.broken]
        return "\n".join(lines) or f"{self.game}: {len(self.checks)} promises kept"

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        checks = [
            {"name": c.name, "outcome": c.outcome, "detail": c.detail, "seconds": round(c.seconds, 3)}
            for c in self.checks
        ]
        return {"game": self.game, "passed": self.passed, "checks": checks}


def check_game(
    game: GameType,
    config: GameConfig | None = None,
    *,
    matches: int = 4,
    seed: int = 1,
    most_steps: int = 20_000,
    only: Collection[str] = (),
    progress: Callable[[Check], None] | None = None,
) -> Report:
    """Play the game in every way the contract allows, and in some that it must refuse.

    `matches` side by side; `most_steps` bounds each single playthrough; `only` names the promises to check,
    all by default; `progress` hears of each check as it is done.
    """
    subject = Subject(game, game.config() if config is None else config, max(matches, 2), seed, most_steps)
    promises = {promise.__name__.replace("_", " "): promise for promise in PROMISES}
    if unknown := sorted(set(only) - set(promises)):
        raise UserError(f"there is no promise '{unknown[0]}'", f"known: {', '.join(promises)}")
    checks = []
    for name, promise in promises.items():
        if only and name not in only:
            continue
        text = (promise.__doc__ or "").split("\n")[0]
        began = time.perf_counter()
        outcome: Outcome = "kept"
        try:
            detail = promise(subject)
        except ExcusedError as reason:
            outcome, detail = "excused", str(reason)
        except BrokenError as reason:
            outcome, detail = "broken", str(reason)
        except Exception as error:  # whatever a game raises is an answer, and the other promises are still of interest
            outcome, detail = "broken", f"raised {type(error).__name__}: {error}"[:300]
        checks.append(Check(name, text, outcome, detail, time.perf_counter() - began))
        if progress is not None:
            progress(checks[-1])
    return Report(game.name, tuple(checks))
