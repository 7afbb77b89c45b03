"""A tick of a fight elsewhere in words: only its signals are known here."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pvp_ml.games.osrs.remote.meta import INDEX
from pvp_ml.games.osrs.remote.wire import STYLES
from pvp_ml.match import StepBuffers


def tell_signals(out: StepBuffers, names: tuple[str, ...] = ("A", "B")) -> str:
    """One line about the first row's tick; before the first tick there are no signals."""
    signals = out.signals[0]
    if not signals.any():
        return "the fight begins on its server"
    ticks = int(signals[:, INDEX["episode_ticks"]].max()) - 1
    sides = (_side(name, row) for name, row in zip(names, signals, strict=True) if row.any())
    return f"{ticks:4d}  " + "  |  ".join(sides)


def _side(name: str, row: npt.NDArray[np.float32]) -> str:
    words = [f"{name} {row[INDEX['current_health_percent']]:4.0%} HP"]
    style = int(row[INDEX["attack_type_hit"]])
    if style:
        blocked = ", prayed against" if row[INDEX["hit_on_prayer"]] else ""
        dealt = row[INDEX["damage_generated_on_target_scale"]]
        words.append(f"attacks {STYLES[style - 1].lower()} for {dealt:.0%}{blocked}")
    if row[INDEX["food_eaten"]]:
        words.append("eats")
    if row[INDEX["brews_drunk"]]:
        words.append("drinks")
    if row[INDEX["player_frozen_ticks"]]:
        words.append("is frozen")
    return ", ".join(words)
