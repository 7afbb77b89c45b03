"""Conditions over metrics: when to stop early, when to move to the next phase."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from pvp_ml.rl.schedule.expression import Expression


def holds(condition: Expression, metrics: Mapping[str, float]) -> bool:
    """Whether it is true now. Every character that a name cannot have is written _ (`eval/nh-bot/score` is
    `eval_nh_bot_score`). A metric that has not been measured yet makes it false, not an error.
    """
    known = {re.sub(r"\W", "_", name): value for name, value in metrics.items() if math.isfinite(value)}
    if not condition.names <= set(known):
        return False
    return bool(condition.evaluate({name: known[name] for name in condition.names}))
