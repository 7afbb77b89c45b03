"""A battle as a page draws it: what the simulator's picture holds, with the last step's log in words."""

from __future__ import annotations

from typing import Any

from pvp_ml.games.adapters.synchronous import Synchronous
from pvp_ml.games.vgc.formats import find_format
from pvp_ml.games.vgc.game import VgcGame
from pvp_ml.games.vgc.show.view import tell
from pvp_ml.match import VecGame


def scene(game: VecGame, seat: int | None) -> dict[str, Any]:
    """Row 0 through the eyes of a seat (None: of both); see `js/scene.js` for what is in it."""
    assert isinstance(game, Synchronous) and isinstance(game.game, VgcGame)
    drawn = game.game.scene(0, seat)
    if drawn is None:
        return {"kind": "vgc", "lost": " ".join(game.game.fault_texts[-1:])[:300] or "the simulator gave no answer"}
    lines = [line.strip("\n") for line in tell(drawn.pop("log"))]
    return {"kind": "vgc", "title": find_format(drawn["format"]).title, **drawn, "log": lines}
