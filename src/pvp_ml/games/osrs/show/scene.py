"""A fight as a page draws it: both fighters after a tick and what each of them did in it.

Only what a screen of the game shows, plus each side's own inventory and timers: damage that is still in the air is left
out. Reads the rows directly, so the last tick of a fight can be drawn too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pvp_ml.games.osrs import ground, items
from pvp_ml.games.osrs import state as S
from pvp_ml.games.osrs.game import OsrsGame
from pvp_ml.games.osrs.kernels.observe import mask_moves
from pvp_ml.games.osrs.show import view
from pvp_ml.match import BoolArray, VecGame

STYLES = view.STYLE_NAMES
SIGHT = 24
"""Tiles around the fighters that a page can show."""
_MAGIC, _RANGED = S.B_ATT_MAGIC, S.B_ATT_RANGED
_SETS = {"mage": S.SET_MAGE, "ranged": S.SET_RANGED, "melee": S.SET_MELEE, "spec": S.SET_SPEC}
_DRESS = {"head": S.HEAD, "body": S.BODY, "legs": S.LEGS}


def scene(game: VecGame) -> dict[str, Any]:
    """Row 0 of an OSRS game."""
    assert isinstance(game, OsrsGame)
    rows, match = game.fighters[0], game.state[0]
    tick = int(match[S.TICK])
    return {
        "kind": "osrs",
        "tick": tick,
        "fight_type": items.FIGHT_TYPES[int(match[S.FIGHT_TYPE])],
        "blocked": _blocked(rows, match),
        "fighters": [_fighter(rows[seat], rows[1 - seat], match, tick) for seat in range(2)],
    }


def person_mask(game: VecGame, seat: int, mask: BoolArray) -> BoolArray:
    """A person may walk whenever the rules let a fighter walk; agents are kept from walking while they can attack."""
    assert isinstance(game, OsrsGame)
    me, opponent, match = game.fighters[0, seat], game.fighters[0, 1 - seat], game.state[0].copy()
    match[S.ALLOW_MOVING] = 1
    free = np.zeros_like(mask)
    mask_moves(me, opponent, match, free)
    return np.asarray(mask | free)


def _blocked(rows: view.Row, match: view.Row) -> list[list[int]]:
    """Water and lava around both, as rows of tiles: (y, first x, last x)."""
    if not match[S.TERRAIN]:
        return []
    x, y = (int(rows[:, column].sum()) // 2 for column in (S.X, S.Y))
    return [list(run) for run in blocked_runs(x, y, SIGHT)]


def blocked_runs(x: int, y: int, reach: int) -> list[tuple[int, int, int]]:
    """Blocked ground in the square of that reach around a tile, as rows: (y, first x, last x), from the south."""
    west, south = x - reach - ground.ORIGIN_X, y - reach - ground.ORIGIN_Y
    span = 2 * reach + 1
    part = np.zeros((span, span + 2), np.int8)
    low, left = max(0, -south), max(0, -west)
    seen = ground.BLOCKED[max(0, south) : max(0, south + span), max(0, west) : max(0, west + span)]
    part[low : low + seen.shape[0], 1 + left : 1 + left + seen.shape[1]] = seen
    edges = np.diff(part, axis=1)
    starts, ends = np.argwhere(edges == 1), np.argwhere(edges == -1)
    corner_x, corner_y = x - reach, y - reach
    return [
        (corner_y + int(row), corner_x + int(first), corner_x + int(last) - 1)
        for (row, first), (_, last) in zip(starts, ends, strict=True)
    ]


def _fighter(me: view.Row, opponent: view.Row, match: view.Row, tick: int) -> dict[str, Any]:
    fighter = view.describe_fighter(me, match)
    weapon = int(me[S.WORN + S.WEAPON])
    levels = fighter["levels"]
    return {
        "build": fighter["build"],
        "hp": levels["hitpoints"],
        "prayer": levels["prayer"],
        "levels": {skill: levels[skill] for skill in ("attack", "strength", "defence", "ranged", "magic")},
        "energy": fighter["special_energy"],
        "special_on": fighter["special_on"],
        "position": fighter["position"],
        "overhead": view.overhead(me),
        "prayers": fighter["prayers"],
        "vengeance": fighter["vengeance"],
        "lunar": bool(me[S.SPELLBOOK] == S.LUNAR),
        "dying": fighter["dying"],
        "worn": fighter["worn"],
        "weapon_class": items.CLASSES[int(items.ITEM_CLASS[weapon])],
        "style": STYLES[int(items.ITEM_OBSERVED[weapon])],
        "dress": {name: _dress(int(me[S.WORN + slot])) for name, slot in _DRESS.items()},
        "weapons": {name: _weapon_of(me, number) for name, number in _SETS.items()},
        "inventory": fighter["inventory"],
        "supplies": fighter["supplies"],
        "timers": fighter["timers"],
        "incoming": [_under_way(me, k) for k in range(int(me[S.HITS]))],
        "splats": fighter["hitsplats"],
        "attack": _attack(me, opponent, tick),
    }


def _dress(item: int) -> str:
    """What a piece of armour is made for: 'none' for an empty slot."""
    if not item:
        return "none"
    bonus = items.ITEM_BONUS[item]
    if bonus[_MAGIC] > max(0, bonus[_RANGED]):
        return "magic"
    return "ranged" if bonus[_RANGED] > 0 else "melee"


def _weapon_of(me: view.Row, number: int) -> str | None:
    first = S.SETS + number * S.SET_SIZE
    for item in me[first : first + S.SET_SIZE]:
        if item and items.ITEM_SLOT[int(item)] == S.WEAPON:
            return str(items.KEYS[int(item)])
    return None


def _under_way(me: view.Row, number: int) -> dict[str, Any]:
    hit = S.HIT_QUEUE + number * S.HIT_SIZE
    return {"delay": int(me[hit + S.HIT_DELAY]), "style": STYLES[int(me[hit + S.HIT_STYLE])]}


def _attack(me: view.Row, opponent: view.Row, tick: int) -> dict[str, Any] | None:
    """What the fighter attacked with this tick."""
    if not me[S.TICK_HITS]:
        return None
    spell = view.SPELL_NAMES[int(me[S.TICK_SPELL])]
    froze = spell is not None and spell.startswith("Ice") and not opponent[S.WAS_FROZEN]
    return {
        "style": STYLES[max(0, int(me[S.TICK_STYLE]) - 1)],
        "spell": spell,
        "special": bool(me[S.TICK_SPECIALS]),
        "hits": int(me[S.TICK_HITS]),
        "matched": bool(me[S.TICK_MATCHED]),
        "froze": bool(froze and opponent[S.T_FREEZE] > tick),
        "energy": int(me[S.TICK_ENERGY]),
    }
