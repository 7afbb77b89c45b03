"""How much a search thinks, and how: `MODEL?simulations=100&blend=0.5`."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from pvp_ml.errors import UserError

SCHEME = "search"
EXAMPLE = "search:GeneralistVgc?simulations=100"
_LIMITS: dict[str, tuple[float, float]] = {
    "simulations": (1, 4000), "ms": (0, 600_000), "width": (0, 16), "worlds": (0, 16), "blend": (0, 1), "trust": (0, 1),
    "caution": (0, 10), "sample": (0, 1),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """One decision's budget and taste.

    simulations: turns simulated for a decision, at most.
    ms: milliseconds for them; 0 = no limit. With a limit the same seed may decide otherwise on another machine.
    width: choices of each side that are considered, at most; 0 = as many as the budget can try.
    worlds: guesses of what cannot be seen; 0 = more of them with a larger budget.
    blend: share of plain material (who stands, with how much HP) in a leaf's worth; the rest is the model's judgement.
    trust: how far the foe is taken to play as the model would; the rest of the time it answers as well as it can.
    caution: worth of a choice's log-probability under the model: holds the search near the model's own play.
    sample: 1 = draw from the mixed strategy, 0 = take its most likely choice.
    """

    simulations: int = 100
    ms: int = 0
    width: int = 0
    worlds: int = 0
    blend: float = 0.25
    trust: float = 0.5
    caution: float = 0.02
    sample: bool = True


SIMULATIONS_PER_MS = 0.25
TRIES = 1.4
"""Simulations of each pair of choices that a budget should last for, before it is spent on more choices."""


def fitted(settings: SearchSettings) -> SearchSettings:
    """The same with width and worlds that fit the budget: 4 × 4 in 2 worlds for 48 simulations, 8 × 8 in 3 for 300."""
    budget = min(settings.simulations, settings.ms * SIMULATIONS_PER_MS) if settings.ms else settings.simulations
    worlds = settings.worlds or (2 if budget < 200 else 3 if budget < 700 else 4)
    width = settings.width or min(16, max(3, round((budget / (TRIES * worlds)) ** 0.5)))
    return replace(settings, width=width, worlds=worlds)


def read_settings(text: str) -> tuple[str, SearchSettings]:
    """`MODEL?key=value&…` → the model's name and the settings; only known keys within their limits."""
    model, _, query = text.partition("?")
    if not model:
        raise UserError(f"'{SCHEME}:{text}' names no model", f"e.g. {EXAMPLE}")
    kinds = {field.name: type(field.default) for field in fields(SearchSettings)}
    given: dict[str, Any] = {}
    for item in query.split("&") if query else []:
        key, _, value = item.partition("=")
        if key not in kinds:
            raise UserError(f"a search has no setting '{key}'", f"it has: {', '.join(kinds)}")
        given[key] = _number(key, value, kinds[key])
    if "ms" in given and "simulations" not in given:
        given["simulations"] = int(_LIMITS["simulations"][1])  # time is the only limit
    return model, replace(SearchSettings(), **given)


def _number(key: str, text: str, kind: type) -> Any:
    low, high = _LIMITS[key]
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not low <= number <= high or (kind is not float and number != int(number)):
        wanted = "number" if kind is float else "whole number"
        raise UserError(f"search setting {key} is '{text[:40]}'", f"a {wanted} from {low:g} to {high:g}")
    return kind(number)
