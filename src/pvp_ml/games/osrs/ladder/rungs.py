"""The rungs of the NH ladder, weakest first, with their measured ratings."""

from __future__ import annotations

from functools import partial

from pvp_ml.games.osrs.ladder.style import Style
from pvp_ml.players import Player, PlayerType
from pvp_ml.spec import GameSpec

STYLES: tuple[Style, ...] = (
    Style("nh-panic-eater", "eats at every scratch and hardly hits back",
          likes=(20, 22, 10), eat=0.9, combo=0.6, brew=0.7, overhead="none", lapse=0.1),
    Style("nh-brawler", "melee only, no overhead, eats late",
          likes=(0, 5, 60), luck=5, eat=0.4, overhead="none", special=0.6, close_in=True),
    Style("nh-farcaster", "freezes and stays out of reach, slow to change its overhead",
          likes=(24, 20, 8), freeze=12, keep_away=True, eat=0.55, combo=0.3, pot=0.9, notice=0.12, dodge=0.2),
    Style("nh-prayer-switcher", "prays against the weapon it sees, after a second or two",
          eat=0.5, pot=0.9, notice=0.3),
    Style("nh-tribrid", "three styles now and then past the overhead, combo eats",
          eat=0.55, combo=0.35, brew=0.3, restore=0.5, pot=0.95, notice=0.25, dodge=0.2, special=0.35),
    Style("nh-spec-chaser", "quicker, and saves its special attacks for a weak opponent",
          eat=0.5, combo=0.35, restore=0.6, pot=0.95, notice=0.6, dodge=0.75, special=0.6),
    Style("nh-starver", "never gives an attack away for food, presses a weak opponent with fast weapons",
          eat=0.55, combo=0.35, restore=0.8, pot=0.95, notice=1.0, dodge=1.0, special=0.6, freeze=3, hold=0.4,
          starve=0.6),
    Style("nh-gear-reader", "attacks the armour it sees and guesses the next style from habits",
          luck=14, eat=0.55, combo=0.35, restore=0.8, pot=0.95, overhead="guess", dodge=1.0, special=0.6, freeze=2,
          hold=0.4, reads_gear=True),
)  # fmt: skip


def make(style: Style, spec: GameSpec) -> Player:
    """A fighter of that style."""
    from pvp_ml.games.osrs.ladder.fighter import Fighter

    return Fighter(spec, style)


RUNGS = tuple(PlayerType(style.name, style.title, partial(make, style), ("nh",)) for style in STYLES)
PANIC_EATER, BRAWLER, FARCASTER, PRAYER_SWITCHER, TRIBRID, SPEC_CHASER, STARVER, GEAR_READER = RUNGS

LADDER = (
    ("nh-panic-eater", 465.0),
    ("nh-brawler", 682.0),
    ("nh-farcaster", 873.0),
    ("nh-prayer-switcher", 1017.0),
    ("nh-tribrid", 1144.0),
    ("nh-spec-chaser", 1224.0),
    ("nh-starver", 1290.0),
    ("nh-gear-reader", 1400.0),
)
"""Elo points, nh-bot pinned at 1000: benchmarks/records/nh_ladder.json."""
