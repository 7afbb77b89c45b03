"""Runs inside a venv that has poke-env: feeds its DoubleBattle what each seat was shown and compares.

Reads JSON lines (see test_poke_env.py for their making) on stdin, prints {"decisions", "compared", "differences"}.
"""

import json
import logging
import sys

import numpy as np
from poke_env.battle import DoubleBattle
from poke_env.environment import DoublesEnv
from poke_env.player import Player

IGNORED = set(Player.MESSAGES_TO_IGNORE) | {
    "win",
    "tie",
    "error",
    "showteam",
    "request",
    "teamsize",
    "uhtml",
    "uhtmlchange",
}
logging.disable(logging.CRITICAL)


def feed(battle, lines, request):
    for line in lines:
        parts = line.split("|")
        if len(parts) < 2 or parts[1] in IGNORED:
            continue
        battle.parse_message(parts)
    battle.parse_request(request)


def name(value):
    return value.name.lower().replace("_", "") if value is not None else ""


def item(mon):
    return "" if mon.item in (None, "") else mon.item


def own_facts(mon):
    facts = {
        "hp": round(mon.current_hp_fraction, 4),
        "fainted": mon.fainted,
        "level": mon.level,
        "item": item(mon),
        "stats": [mon.stats[s] for s in ("atk", "def", "spa", "spd", "spe")],
    }
    if not mon.fainted:
        facts["status"] = name(mon.status)
        facts["ability"] = mon.ability or ""
        facts["terastallized"] = mon.is_terastallized
    return facts


def foe_facts(mon):
    facts = {
        "hp": round(mon.current_hp_fraction, 4),
        "fainted": mon.fainted,
        "level": mon.level,
    }
    if not mon.fainted:
        facts["status"] = name(mon.status)
        facts["terastallized"] = mon.is_terastallized
        if mon.item not in (None, "unknown_item"):
            facts["item"] = mon.item
        if mon.ability is not None:
            facts["ability"] = mon.ability
    return facts


def boosts(mon):
    return [mon.boosts[s] for s in ("atk", "def", "spa", "spd", "spe", "accuracy", "evasion")]


def conditions(side):
    known = {"tailwind", "reflect", "lightscreen", "auroraveil", "safeguard", "mist", "stealthrock", "stickyweb"}
    return sorted(n for n in (name(c) for c in side) if n in known)


def view_of(battle):
    """What poke-env knows, under the names that the test uses."""
    weathers = [name(w) for w in battle.weather]
    fields = {name(f) for f in battle.fields}
    view = {
        "weather": "snowscape" if weathers == ["snow"] else (weathers or [""])[0],
        "terrain": next((f for f in fields if f.endswith("terrain")), ""),
        "rooms": [r in fields for r in ("trickroom", "gravity", "wonderroom", "magicroom")],
        "own_side": conditions(battle.side_conditions),
        "foe_side": conditions(battle.opponent_side_conditions),
        "own": {ident.split(": ", 1)[1]: own_facts(mon) for ident, mon in battle.team.items()},
        "foes": {mon.base_species: foe_facts(mon) for mon in battle.opponent_team.values() if mon.revealed},
        "own_boosts": [boosts(mon) if mon else None for mon in battle.active_pokemon],
        "foe_boosts": [boosts(mon) if mon else None for mon in battle.opponent_active_pokemon],
    }
    return view


def masks_of(battle):
    flat = DoublesEnv.get_action_mask(battle)
    half = len(flat) // 2
    return [[i for i in range(half) if flat[s * half + i]] for s in range(2)]


def differences(expected, got, path=""):
    if isinstance(expected, dict):
        for key in expected:
            if key in got:
                yield from differences(expected[key], got[key], f"{path}.{key}")
        return
    if isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got) and path.endswith("boosts"):
        for i, (a, b) in enumerate(zip(expected, got, strict=True)):
            if a is not None and b is not None and a != b:
                yield f"{path}[{i}]", a, b
        return
    if isinstance(expected, float) and isinstance(got, (int, float)):
        if abs(expected - got) > 2e-4:
            yield path, expected, got
    elif expected != got:
        yield path, expected, got


def known_quirk(path, theirs, battle, fainted):
    """Where poke-env itself is at odds with the simulator's log or request."""
    if path.startswith(".foes") and path.endswith(".hp") and theirs == 0:
        return True  # a stale 0 after an illusion
    if path.endswith(".terastallized") and theirs and path.split(".")[2] in fainted:
        return True  # the simulator takes it back when a Pokémon faints; poke-env keeps it through a revival
    first, second = battle.opponent_active_pokemon
    return path.startswith(".foe_boosts") and first is second  # one object for a Pokémon and its illusion


def main():
    battles, fallen, found, decisions, compared, orders = {}, {}, [], 0, 0, 0
    for text in sys.stdin:
        row = json.loads(text)
        key = (row["battle"], row["seat"])
        if key not in battles:
            battles[key] = DoubleBattle(f"battle-{key}", f"Seat {row['seat'] + 1}", logging.getLogger("x"), gen=9)
            battles[key].player_role = f"p{row['seat'] + 1}"
        battle = battles[key]
        feed(battle, row["lines"], row["request"])
        decisions += 1
        where = f"battle {row['battle']} seat {row['seat']} turn {battle.turn}"
        view = view_of(battle)
        names = [*view["own"].items(), *view["foes"].items()]
        fallen.setdefault(key, set()).update(mon for mon, facts in names if facts["fainted"])
        for path, ours, theirs in differences(row["view"], view):
            if not known_quirk(path, theirs, battle, fallen[key]):
                found.append([where, path, ours, theirs])
        if row["masks"] is None:
            continue
        theirs = masks_of(battle)
        for slot in range(2):
            if row["masks"][slot] is None:
                continue
            compared += 1
            if sorted(row["masks"][slot]) != theirs[slot]:
                found.append([where, f"mask{slot}", sorted(row["masks"][slot]), theirs[slot]])
        for action, moves in row["orders"]:
            orders += 1
            try:
                order = DoublesEnv.action_to_order(np.array(action), battle)
                back = DoublesEnv.order_to_action(order, battle).tolist()
            except (ValueError, AssertionError) as error:
                found.append([where, "order", action, str(error)[:200]])
                continue
            spelled = [order.first_order.message[8:], order.second_order.message[8:]]
            if back != action or any(m is not None and m != s for m, s in zip(moves, spelled, strict=True)):
                found.append([where, "order", [action, moves], [back, spelled]])
    summary = {"decisions": decisions, "masks": compared, "orders": orders, "count": len(found)}
    print(json.dumps({**summary, "differences": found[:40]}))


main()
