"""The protocol's `meta` and the game's signals: the same facts in two shapes.

`to_meta` is the server's direction, `to_signals` the client's. Two signals do not survive the journey: `specials_used`
arrives as 0, and `food_eaten` counts at most two pieces.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pvp_ml.games.osrs.remote.wire import STYLES, StepMeta
from pvp_ml.games.osrs.signals import SIGNALS

INDEX = {signal.name: i for i, signal in enumerate(SIGNALS)}
ONE_PIECE_POINTS = 22.5
"""No single piece of food heals more (anglerfish 22); two pieces always do."""


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _named(*names: str) -> tuple[tuple[str, int], ...]:
    return tuple((_camel(name), INDEX[name]) for name in names)


SCALES = _named(
    "current_health_percent", "current_target_health_percent", "current_prayer_percent", "damage_dealt",
    "damage_received", "remaining_food_scale", "target_remaining_food_scale", "remaining_brew_scale",
    "target_remaining_brew_scale", "attack_level_scale", "strength_level_scale", "defence_level_scale",
    "ranged_level_scale", "magic_level_scale", "distance", "damage_generated_on_target_scale",
    "damage_generated_on_player_scale", "extra_damage_dealt_on_target_scale", "extra_damage_dealt_on_player_scale",
    "player_healed_scale", "target_healed_scale",
)  # fmt: skip
COUNTS = _named("episode_ticks", "food_count", "target_food_count", "player_frozen_ticks", "target_frozen_ticks")
FOOD = _named("eaten_food_scale", "wasted_food_scale", "eat_at_food_scale", "eat_to_food_scale")
BREWS = _named("wasted_brew_scale", "eat_at_brew_scale", "eat_to_brew_scale")
HELD = _named("player_attack_style_type", "target_attack_style_type")
PRAYED = _named("current_player_prayer_type", "current_target_prayer_type")
EVENT_STYLES = _named("attack_type_hit", "attack_type_received", "player_prayer_type", "target_prayer_type")
SIDES = (
    ("attack_type_hit", "hit_with_smite", "player_hit_attack_speed"),
    ("attack_type_received", "target_attacked_with_smite", "target_hit_attack_speed"),
)
_SIDES = tuple((INDEX[a], _camel(b), INDEX[b], _camel(c), INDEX[c]) for a, b, c in SIDES)
_PROTECTED, _UNPROTECTED = INDEX["protected_prayer"], INDEX["unprotected_prayer"]
_OFF, _ON = INDEX["hit_off_prayer"], INDEX["hit_on_prayer"]
_ATE, _DRANK = INDEX["food_eaten"], INDEX["brews_drunk"]
_CODES = {"MELEE": 1.0, "RANGED": 2.0, "MAGIC": 3.0}

Signals = npt.NDArray[np.float32]


def to_meta(signals: list[float]) -> dict[str, Any]:
    """The fields of one seat's tick [K]; what did not happen is left out."""
    meta: dict[str, Any] = {name: signals[i] for name, i in SCALES}
    for name, i in COUNTS:
        meta[name] = int(signals[i])
    for name, i in HELD:
        meta[name] = STYLES[int(signals[i]) - 1]
    for name, i in PRAYED:
        meta[name] = STYLES[int(signals[i]) - 1] if signals[i] else "null"
    for name, i in EVENT_STYLES:
        if signals[i]:
            meta[name] = STYLES[int(signals[i]) - 1]
    if signals[_PROTECTED] or signals[_UNPROTECTED]:
        meta["protectedPrayer"] = bool(signals[_PROTECTED])
    if signals[_OFF] or signals[_ON]:
        meta["hitOffPrayer"] = bool(signals[_OFF])
    for attacked, smite, with_smite, speed, ticks in _SIDES:
        if signals[attacked]:
            meta[smite] = bool(signals[with_smite])
            meta[speed] = int(signals[ticks])
    for happened, fields in ((_ATE, FOOD), (_DRANK, BREWS)):
        if signals[happened]:
            for name, i in fields:
                meta[name] = signals[i]
    return meta


_QUIET = (
    "damage_dealt", "damage_received", "damage_generated_on_target_scale", "damage_generated_on_player_scale",
    "extra_damage_dealt_on_target_scale", "extra_damage_dealt_on_player_scale", "player_healed_scale",
    "target_healed_scale", "protected_prayer", "unprotected_prayer", "hit_off_prayer", "hit_on_prayer",
    "attack_type_hit", "attack_type_received", "player_prayer_type", "target_prayer_type", "food_eaten", "brews_drunk",
)  # fmt: skip
_QUIET_INDEX = tuple(INDEX[name] for name in _QUIET)


def after(signals: list[float]) -> list[float]:
    """The tick after the last one: everybody stands as before, nothing happens, the clock went on."""
    quiet = list(signals)
    for i in _QUIET_INDEX:
        quiet[i] = 0.0
    quiet[INDEX["episode_ticks"]] += 1
    return quiet


_PLAIN = tuple((name, i) for name, i in (*SCALES, *COUNTS))
_OPTIONAL = tuple((name, i) for name, i in (*FOOD, *BREWS))


def to_signals(meta: StepMeta, before: Signals | None, hitpoints: float, out: Signals) -> None:
    """Write one seat's signals [K]; `before` are those of the tick before, None after a reset."""
    out[:] = 0.0
    for name, i in _PLAIN:
        out[i] = getattr(meta, name)
    for name, i in _OPTIONAL:
        out[i] = getattr(meta, name) or 0.0
    for name, i in (*HELD, *PRAYED, *EVENT_STYLES):
        out[i] = _CODES.get(getattr(meta, name) or "", 0.0)
    if meta.protectedPrayer is not None:
        out[_PROTECTED if meta.protectedPrayer else _UNPROTECTED] = 1.0
    if meta.hitOffPrayer is not None:
        out[_OFF if meta.hitOffPrayer else _ON] = 1.0
    for _, smite, with_smite, speed, ticks in _SIDES:
        out[with_smite] = bool(getattr(meta, smite))
        out[ticks] = getattr(meta, speed) or 0.0
    if meta.eatenFoodScale is not None:
        out[_ATE] = 1.0 if meta.eatenFoodScale * hitpoints < ONE_PIECE_POINTS else 2.0
    if meta.wastedBrewScale is not None:
        out[_DRANK] = 1.0
    _derive(before, out)


def _derive(before: Signals | None, out: Signals) -> None:
    """Signals that follow from the others."""
    for style, (dealt, received) in enumerate(
        (("melee_damage_dealt", "melee_damage_received"), ("ranged_damage_dealt", "ranged_damage_received"),
         ("mage_damage_dealt", "mage_damage_received")), 1):  # fmt: skip
        if out[INDEX["attack_type_hit"]] == style:
            out[INDEX[dealt]] = out[INDEX["damage_generated_on_target_scale"]]
        if out[INDEX["attack_type_received"]] == style:
            out[INDEX[received]] = out[INDEX["damage_generated_on_player_scale"]]
    out[INDEX["attacks"]] = out[INDEX["attack_type_hit"]] > 0
    if before is not None:
        frozen, prayer = INDEX["target_frozen_ticks"], INDEX["current_player_prayer_type"]
        out[INDEX["freezes"]] = out[frozen] > before[frozen]
        out[INDEX["overheads_switched"]] = out[prayer] != before[prayer]
