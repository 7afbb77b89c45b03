"""The three heads of a VGC decision and the rules between them.

`preview`: none, or one of 90 ways to choose a lead pair and a back pair. `left` and `right`: what the Pokémon in each
place does. A place has 47 choices: 10·move + 5·gimmick + target, then six switches, then pass. The gimmick bit is
terastallisation or mega evolution, whichever the request offers.
"""

from __future__ import annotations

from functools import cache
from itertools import permutations

from pvp_ml.spec import Head, Link, Rule

TARGETS = (-2, -1, 0, 1, 2)
"""Positions as the simulator counts them: −1 own left, −2 own right, 0 none, +1 and +2 the foes."""

MOVES, SWITCHES = 4, 6
SWITCH, PASS = 40, 46
SLOT_SIZE = 47
NO_PREVIEW = 0

PREVIEWS: tuple[tuple[int, int, int, int], ...] = tuple(
    (a, b, c, d) for a, b, c, d in permutations(range(1, 7), 4) if a < b and c < d
)
"""(lead, lead, back, back) of each preview, counted from 1; index i is choice i + 1 of the preview head."""

_TARGET_NAMES = ("right ally", "left ally", "", "left foe", "right foe")


def _slot_name(choice: int) -> str:
    if choice == PASS:
        return "pass"
    if choice >= SWITCH:
        return f"switch {choice - SWITCH + 1}"
    target = _TARGET_NAMES[choice % 5]
    gimmick = "gimmick " if choice % 10 >= 5 else ""
    return f"{gimmick}move {choice // 10 + 1}" + (f" at {target}" if target else "")


SLOT_CHOICES: tuple[str, ...] = tuple(_slot_name(choice) for choice in range(SLOT_SIZE))


def _second_rules() -> tuple[Rule, ...]:
    """Not the same switch twice, not two gimmicks, and no second pass while the place has something to do."""
    gimmicks = tuple(("left", name) for i, name in enumerate(SLOT_CHOICES[:SWITCH]) if i % 10 >= 5)
    second_gimmick = [Rule(name, "none", gimmicks) for i, name in enumerate(SLOT_CHOICES[:SWITCH]) if i % 10 >= 5]
    same_switch = [Rule(name, "none", (("left", name),)) for name in SLOT_CHOICES[SWITCH:PASS]]
    return (*second_gimmick, *same_switch, Rule("pass", "none", (("left", "pass"),)))


_ROLES = {
    "left": ("ally", "self", "free", "left foe", "right foe"),
    "right": ("self", "ally", "free", "left foe", "right foe"),
}
"""What the five targets are to the Pokémon in each place."""


def _slot_links(place: str) -> tuple[Link, ...]:
    """A move is about its row of `attacks`, a switch about the Pokémon that would come in."""
    first = MOVES if place == "right" else 0
    moves = tuple(
        Link(SLOT_CHOICES[c], "attacks", first + c // 10, f"{'gimmick ' * (c % 10 >= 5)}{_ROLES[place][c % 5]}")
        for c in range(SWITCH)
    )
    return (*moves, *(Link(SLOT_CHOICES[SWITCH + n], "pokemon", n, "comes in") for n in range(SWITCHES)))


def _preview_links() -> tuple[Link, ...]:
    """A line-up is about the four Pokémon that it brings."""
    roles = ("leads", "leads", "waits", "waits")
    return tuple(
        Link("".join(map(str, order)), "pokemon", n - 1, role)
        for order in PREVIEWS
        for n, role in zip(order, roles, strict=True)
    )


@cache
def heads() -> tuple[Head, ...]:
    """preview, left, right. After a pass on the left, pass on the right is the fallback: legal if nothing else is."""
    previews = ("none", *("".join(map(str, order)) for order in PREVIEWS))
    return (
        Head("preview", previews, links=_preview_links(), doc="lead pair and back pair at team preview"),
        Head("left", SLOT_CHOICES, links=_slot_links("left"), doc="what the Pokémon in the left place does"),
        Head(
            "right",
            SLOT_CHOICES,
            _second_rules(),
            fallback="pass",
            links=_slot_links("right"),
            doc="what the Pokémon in the right place does",
        ),
    )
