"""The reward terms of `signals.py`, computed from signals: what the kernels do in process, for fights elsewhere."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pvp_ml.games.osrs.remote.meta import INDEX
from pvp_ml.games.osrs.signals import REWARDS
from pvp_ml.match import LOSS, TIE, WIN

TERM = {term.name: i for i, term in enumerate(REWARDS)}
SPEED_UNIT = 5.0
COPIES = {
    "damage_dealt": "damage_generated_on_target_scale",
    "damage_received": "damage_generated_on_player_scale",
    "damage_dealt_shown": "damage_dealt",
    "damage_received_shown": "damage_received",
    "extra_damage_dealt": "extra_damage_dealt_on_target_scale",
    "extra_damage_received": "extra_damage_dealt_on_player_scale",
    "player_healed": "player_healed_scale",
    "target_healed": "target_healed_scale",
    "eat_at": "eat_at_food_scale",
    "wasted_food": "wasted_food_scale",
    "wasted_brews": "wasted_brew_scale",
}
_TO, _FROM = [TERM[name] for name in COPIES], [INDEX[name] for name in COPIES.values()]
LEVELS = ("attack", "strength", "defence", "ranged", "magic")
BOOSTS = (("melee_boost_hit", "strength", 1), ("ranged_boost_hit", "ranged", 2), ("magic_boost_hit", "magic", 3))

Rows = npt.NDArray[np.float64]


def reward_terms(signals: Rows, before: Rows, hitpoints: float, result: int | None) -> npt.NDArray[np.float32]:
    """The terms [R] of one seat's tick from its signals [K], those of the tick before [K] and, at the end, its result.

    `hitpoints`: base HP of both sides, which turns shares into points.
    """
    terms = np.zeros(len(REWARDS))
    terms[TERM["step"]] = 1.0
    terms[_TO] = signals[_FROM]
    terms[TERM["damage_points_dealt"]] = round(float(signals[INDEX["damage_dealt"]]) * hitpoints)
    terms[TERM["damage_points_received"]] = round(float(signals[INDEX["damage_received"]]) * hitpoints)
    terms[TERM["no_prayer"]] = signals[INDEX["current_prayer_percent"]] == 0
    if signals[INDEX["hit_with_smite"]]:
        terms[TERM["smite_damage_dealt"]] = terms[TERM["damage_dealt"]]
    if signals[INDEX["target_attacked_with_smite"]]:
        terms[TERM["smite_damage_received"]] = terms[TERM["damage_received"]]
    _prayers(signals, before, terms)
    for side in ("player", "target"):
        grown = signals[INDEX[f"{side}_frozen_ticks"]] - before[INDEX[f"{side}_frozen_ticks"]]
        terms[TERM[f"{side}_frozen"]] = max(0.0, grown)
    for level in LEVELS:
        terms[TERM[f"{level}_level_scale"]] = signals[INDEX[f"{level}_level_scale"]] - 1.0
    for name, level, style in BOOSTS:
        if signals[INDEX["attack_type_hit"]] == style:
            terms[TERM[name]] = max(0.0, terms[TERM[f"{level}_level_scale"]])
    if result is not None:
        _ending(signals, result, terms)
    return terms.astype(np.float32)


def _prayers(signals: Rows, before: Rows, terms: Rows) -> None:
    """Prayers against attacks: as they were, and as they were a tick ago."""
    given = signals[INDEX["player_hit_attack_speed"]] / SPEED_UNIT
    received = signals[INDEX["target_hit_attack_speed"]] / SPEED_UNIT
    if signals[INDEX["attack_type_received"]]:
        good = signals[INDEX["protected_prayer"]] > 0
        terms[TERM["protected_correct_prayer" if good else "protected_wrong_prayer"]] = received
        prayed = signals[INDEX["player_prayer_type"]]
        if prayed:
            good = prayed == before[INDEX["target_attack_style_type"]]
            terms[TERM["protected_correct_prior_prayer" if good else "protected_wrong_prior_prayer"]] = received
    if signals[INDEX["attack_type_hit"]]:
        blocked = signals[INDEX["hit_on_prayer"]] > 0
        terms[TERM["hit_on_prayer" if blocked else "hit_off_prayer"]] = given
        blocked = signals[INDEX["attack_type_hit"]] == before[INDEX["current_target_prayer_type"]]
        terms[TERM["hit_on_prior_prayer" if blocked else "hit_off_prior_prayer"]] = given


def _ending(signals: Rows, result: int, terms: Rows) -> None:
    if result == WIN:
        terms[TERM["win"]] = 1.0
        terms[TERM["health_preserved"]] = signals[INDEX["current_health_percent"]]
        terms[TERM["target_food_on_death"]] = signals[INDEX["target_remaining_food_scale"]]
        terms[TERM["target_brews_on_death"]] = signals[INDEX["target_remaining_brew_scale"]]
    elif result == LOSS:
        terms[TERM["lost"]] = 1.0
        terms[TERM["player_food_on_death"]] = signals[INDEX["remaining_food_scale"]]
        terms[TERM["player_brews_on_death"]] = signals[INDEX["remaining_brew_scale"]]
    elif result == TIE:
        terms[TERM["tied"]] = 1.0
