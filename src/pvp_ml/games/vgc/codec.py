"""Other people's numbers for the same decisions: the 2025-way MDBO encoding and poke-env's doubles actions.

MDBO numbers a joint turn as 45·left + right with 45 choices a place (40 moves, 4 switches, pass) and a preview as its
rank among 90. poke-env numbers a place with 107: pass 0, switches 1…6 by its own team order, moves from 7 by move,
target and gimmick. Everything here is arithmetic; neither library is needed.
"""

from __future__ import annotations

from collections.abc import Sequence

from pvp_ml.errors import UserError
from pvp_ml.games.vgc.actions import NO_PREVIEW, PASS, PREVIEWS, SLOT_SIZE, SWITCH, TARGETS

MDBO_SLOT = 45
MDBO_TURNS = MDBO_SLOT * MDBO_SLOT
MDBO_PREVIEWS = len(PREVIEWS)
MDBO_DEFAULT = -1
MDBO_SWITCHES = 4
_MDBO_PASS = 44
POKE_ENV_SLOT = 107
_POKE_ENV_MOVES = 7
_GIMMICK_ROW = {"mega": 1, "terastallize": 4}


class CodecError(UserError):
    """A number that stands for no decision, or a decision that the other side cannot express."""


def _slot_to_mdbo(choice: int) -> int:
    if not 0 <= choice < SLOT_SIZE:
        raise CodecError(f"slot choice {choice} is outside 0…{SLOT_SIZE - 1}")
    if choice == PASS:
        return _MDBO_PASS
    if choice >= SWITCH + MDBO_SWITCHES:
        raise CodecError(
            f"MDBO has no switch {choice - SWITCH + 1}", f"it switches to the first {MDBO_SWITCHES} of the list"
        )
    return choice


def _slot_from_mdbo(number: int) -> int:
    return PASS if number == _MDBO_PASS else number


def to_mdbo(left: int, right: int) -> int:
    """0…2024 for a turn or forced switch."""
    return MDBO_SLOT * _slot_to_mdbo(left) + _slot_to_mdbo(right)


def from_mdbo(number: int) -> tuple[int, int]:
    """(left, right) for 0…2024."""
    if not 0 <= number < MDBO_TURNS:
        raise CodecError(f"MDBO turn {number} is outside 0…{MDBO_TURNS - 1}")
    return _slot_from_mdbo(number // MDBO_SLOT), _slot_from_mdbo(number % MDBO_SLOT)


def preview_to_mdbo(choice: int) -> int:
    """0…89 for a choice 1…90 of the preview head."""
    if not NO_PREVIEW < choice <= MDBO_PREVIEWS:
        raise CodecError(f"preview choice {choice} is outside 1…{MDBO_PREVIEWS}")
    return choice - 1


def preview_from_mdbo(number: int) -> int:
    """The choice of the preview head for 0…89."""
    if not 0 <= number < MDBO_PREVIEWS:
        raise CodecError(f"MDBO preview {number} is outside 0…{MDBO_PREVIEWS - 1}")
    return number + 1


def preview_of_order(order: Sequence[int]) -> int:
    """The preview choice of a team order such as 2143…; leads and backs are unordered pairs."""
    lead, back = sorted(order[:2]), sorted(order[2:4])
    wanted = (*lead, *back)
    if wanted not in PREVIEWS:
        raise CodecError(f"team order {list(order)} does not begin with four different members of 1…6")
    return PREVIEWS.index(wanted) + 1


def order_of_preview(choice: int) -> str:
    """The 'team abcd' order of a preview choice."""
    return "team " + "".join(map(str, PREVIEWS[preview_to_mdbo(choice)]))


def to_poke_env(choice: int, gimmick: str, places: Sequence[int]) -> int:
    """poke-env's number 0…106 for one place.

    `gimmick` is what the request offers ('terastallize', 'mega' or ''); `places[n]` is the position (from 0) in
    poke-env's own team of the n-th entry of the request's list.
    """
    if not 0 <= choice < SLOT_SIZE:
        raise CodecError(f"slot choice {choice} is outside 0…{SLOT_SIZE - 1}")
    if choice == PASS:
        return 0
    if choice >= SWITCH:
        entry = choice - SWITCH
        if entry >= len(places):
            raise CodecError(f"switch {entry + 1} but the request lists {len(places)} Pokémon")
        return 1 + places[entry]
    row = 0
    if choice % 10 >= 5:
        if gimmick not in _GIMMICK_ROW:
            raise CodecError(f"choice {choice} uses a gimmick, but the request offers '{gimmick}'")
        row = _GIMMICK_ROW[gimmick]
    return _POKE_ENV_MOVES + 20 * row + 5 * (choice // 10) + choice % 5


def from_poke_env(number: int, gimmick: str, places: Sequence[int]) -> int:
    """The slot choice of poke-env's number; the inverse of `to_poke_env`."""
    if not 0 <= number < POKE_ENV_SLOT:
        raise CodecError(f"poke-env action {number} is outside 0…{POKE_ENV_SLOT - 1}")
    if number == 0:
        return PASS
    if number < _POKE_ENV_MOVES:
        if number - 1 not in places:
            raise CodecError(f"poke-env switches to member {number}, which the request does not list")
        return SWITCH + list(places).index(number - 1)
    row, move = divmod(number - _POKE_ENV_MOVES, 20)
    if row and row != _GIMMICK_ROW.get(gimmick):
        raise CodecError(f"poke-env action {number} uses another gimmick than '{gimmick}'")
    return 10 * (move // 5) + (5 if row else 0) + move % 5


def spell(left: int, right: int, gimmicks: tuple[str, str]) -> str:
    """The order string for a Showdown server, moves by index: 'move 1 +2 terastallize, switch 3'."""
    return f"{_spell_slot(left, gimmicks[0])}, {_spell_slot(right, gimmicks[1])}"


def _spell_slot(choice: int, gimmick: str) -> str:
    if choice == PASS:
        return "pass"
    if choice >= SWITCH:
        return f"switch {choice - SWITCH + 1}"
    target = TARGETS[choice % 5]
    parts = [f"move {choice // 10 + 1}"]
    if target:
        parts.append(f"{target:+d}")
    if choice % 10 >= 5:
        parts.append(gimmick)
    return " ".join(parts)
