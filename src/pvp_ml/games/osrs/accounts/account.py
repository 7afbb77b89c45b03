"""One account as data, as it was checked; and its canonical text, which configurations and replays carry."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

STYLES = ("mage", "ranged", "melee")
"""Offensive prayers go with these."""
SETS = ("mage", "ranged", "melee", "special")
"""Gear sets, in the order of the state's columns."""


@dataclass(frozen=True, slots=True)
class Account:
    """A fighter before a fight.

    levels: skill → level. prayers: style → prayers that are switched on with it. gear: set → items in the order in
    which they are put on. carried: (item, count) beside the gear. food fills the places that stay free; '' = nothing.
    build: the shipped build that it counts as in views and statistics.
    """

    title: str
    build: str
    levels: Mapping[str, int]
    spellbook: str
    fight_type: str
    prayers: Mapping[str, tuple[str, ...]]
    gear: Mapping[str, tuple[str, ...]]
    carried: tuple[tuple[str, int], ...]
    food: str

    def text(self) -> str:
        """The account as one line of JSON that the reader takes again."""
        whole = {
            "title": self.title,
            "build": self.build,
            "levels": dict(self.levels),
            "spellbook": self.spellbook,
            "fight_type": self.fight_type,
            "prayers": {style: list(names) for style, names in self.prayers.items()},
            "gear": {name: list(items) for name, items in self.gear.items()},
            "inventory": dict(self.carried),
            "food": self.food,
        }
        return json.dumps(whole, separators=(",", ":"), ensure_ascii=True)

    @property
    def digest(self) -> str:
        """Sixteen hex digits of what decides a fight; the title does not."""
        whole = {key: value for key, value in json.loads(self.text()).items() if key != "title"}
        return hashlib.sha256(json.dumps(whole, separators=(",", ":")).encode()).hexdigest()[:16]
