"""What sets one scripted fighter apart from another: its habits, as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Overhead = Literal["none", "fixed", "weapon", "guess"]


@dataclass(frozen=True, slots=True)
class Style:
    """Habits of a fighter. Shares are of full hitpoints or levels; chances are per tick.

    name, title: how it is called and what people read of it
    likes: how much it likes magic, ranged and melee attacks, in points of damage
    luck: how much its taste changes from attack to attack, in the same points
    lapse: chance that it does nothing at all in a tick
    eat: below this share it eats
    combo: below this share it adds a karambwan or brew in the same tick
    brew: below this share it drinks a brew
    restore: below this share of Prayer points, or of a drained level, it drinks a restore
    pot: below this share of the boosted level it drinks to boost again; 0 = never
    overhead: none, fixed (against magic), by the weapon that the opponent holds, or guessed from its habits
    notice: chance to notice in a tick that the overhead no longer fits
    dodge: chance to see the opponent's overhead when it chooses an attack
    reads_gear: weighs attacks by the armour that the opponent wears right now
    special: uses a special attack when the opponent is seen below this share, damage on its way included
    freeze: points for an ice spell on an opponent that can still walk
    keep_away: when the opponent is frozen and the next attack is not ready, it steps out of melee reach
    close_in: when the next attack is not ready, it walks next to the opponent
    hold: eats late while an attack is ready, as long as it is above this share
    starve: below this share of the opponent's health it prefers fast weapons that leave no time to eat
    """

    name: str
    title: str
    likes: tuple[float, float, float] = (20.0, 20.0, 20.0)
    luck: float = 10.0
    lapse: float = 0.0
    eat: float = 0.55
    combo: float = 0.0
    brew: float = 0.0
    restore: float = 0.3
    pot: float = 0.0
    overhead: Overhead = "weapon"
    notice: float = 1.0
    dodge: float = 0.0
    reads_gear: bool = False
    special: float = 0.0
    freeze: float = 0.0
    keep_away: bool = False
    close_in: bool = False
    hold: float = 1.0
    starve: float = 0.0
