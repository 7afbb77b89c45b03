"""What somebody's decisions look like, in a few shares: a collapse into one habit is seen at a glance."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pvp_ml.games.vgc.actions import MOVES, PASS, SWITCH
from pvp_ml.games.vgc.layout import column, name_of
from pvp_ml.match import FloatArray
from pvp_ml.model.recording import Recording

SPEED_CONTROL = frozenset(
    {"tailwind", "trickroom", "icywind", "electroweb", "thunderwave", "stringshot", "scaryface", "glare", "nuzzle",
     "bleakwindstorm", "cottonspore", "bulldoze", "rocktomb", "mudshot", "lowsweep"}
)  # fmt: skip


def shares(recording: Recording) -> dict[str, float]:
    """Of the Pokémon that had something to choose in a turn: how often each kind of choice was made."""
    at_turn = recording.obs[:, column("global", 0, "at_turn")] > 0
    counts = dict.fromkeys(("switch", "guard", "gimmick", "speed control"), 0.0)
    total = 0.0
    for place in (0, 1):
        choice = recording.actions[:, 1 + place]
        acts = at_turn & (choice != PASS)
        rows, weight = recording.obs[acts], recording.weights[acts].astype(np.float64)
        choice = choice[acts]
        moves = choice < SWITCH
        total += float(weight.sum())
        counts["switch"] += float(weight[~moves].sum())
        counts["gimmick"] += float(weight[moves & (choice % 10 >= 5)].sum())
        row = place * MOVES + np.where(moves, choice // 10, 0)
        guards = _feature(rows, row, "guards") > 0
        counts["guard"] += float(weight[moves & guards].sum())
        ids = _feature(rows, row, "move").astype(int)
        fast = np.array([name_of("moves", number) in SPEED_CONTROL for number in ids.tolist()], np.bool_)
        counts["speed control"] += float(weight[moves & fast].sum())
    return {name: count / max(total, 1e-9) for name, count in counts.items()}


def _feature(obs: FloatArray, row: npt.NDArray[np.int64], name: str) -> FloatArray:
    """[n]: a feature of the attack in that row of each observation."""
    columns = np.array([column("attacks", r, name) for r in range(2 * MOVES)])
    return np.asarray(obs[np.arange(len(obs)), columns[row]])
