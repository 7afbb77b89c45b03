"""Bots: scripted drivers inside the game, lowest rung first. They steer freely, not through the table.

Each takes n cars and gives controls [n,8]. They keep no state, so a match with bots replays from its plan and actions
alone.
"""

from __future__ import annotations

from collections.abc import Callable

from pvp_ml.games.rocket_league.bots import predicting, scripted
from pvp_ml.games.rocket_league.bots.driver import Driver
from pvp_ml.games.rocket_league.derived_state import Floats

BOTS: dict[str, Callable[[Driver], Floats]] = {
    "idle": scripted.idle,
    "chaser": scripted.chaser,
    "kickoff_and_clear": scripted.kickoff_and_clear,
    "keeper": predicting.keeper,
    "shooter": predicting.shooter,
    "flipper": predicting.flipper,
}
