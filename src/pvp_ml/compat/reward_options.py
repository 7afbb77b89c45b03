"""The NH trainer's reward options as weights of our terms.

There, one scale for damage dealt (d, usually positive) and one for damage received (r, usually negative) also weigh
healing, food and Smite. The sign is in the number, except for `safe-penalty`, where a positive number is a penalty.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pvp_ml.errors import UserError

Old = Callable[..., Any]

SIMPLE: dict[str, tuple[str, ...]] = {
    "default-reward": ("step",),
    "win-reward": ("win",),
    "lose-reward": ("lost",),
    "tie-reward": ("tied",),
    "no-prayer-tick-reward": ("no_prayer",),
    "target-frozen-tick-reward": ("target_frozen",),
    "player-frozen-tick-reward": ("player_frozen",),
    "protected-correct-prayer-reward": ("protected_correct_prayer",),
    "protected-wrong-prayer-reward": ("protected_wrong_prayer",),
    "attacked-correct-prayer-reward": ("hit_off_prayer",),
    "attacked-wrong-prayer-reward": ("hit_on_prayer",),
    "protected-previous-correct-prayer-reward": ("protected_correct_prior_prayer",),
    "protected-previous-wrong-prayer-reward": ("protected_wrong_prior_prayer",),
    "attacked-previous-correct-prayer-reward": ("hit_off_prior_prayer",),
    "attacked-previous-wrong-prayer-reward": ("hit_on_prior_prayer",),
    "attack-level-scale-reward": ("attack_level_scale",),
    "strength-level-scale-reward": ("strength_level_scale",),
    "defense-level-scale-reward": ("defence_level_scale",),
    "ranged-level-scale-reward": ("ranged_level_scale",),
    "magic-level-scale-reward": ("magic_level_scale",),
    "reward-on-hit-with-boost-scale": ("melee_boost_hit", "ranged_boost_hit", "magic_boost_hit"),
}
"""Option → the terms whose weight it is."""

DEALT, RECEIVED = "damage-dealt-reward-scale", "damage-received-reward-scale"
DEFAULTS = {"win-reward": 1.0, "lose-reward": -1.0, "tie-reward": -0.2}
JOINED = {
    DEALT, RECEIVED, "reward-on-damage-generated", "reward-heals", "penalize-target-heals",
    "smite-damage-dealt-reward-multiplier", "smite-damage-received-reward-multiplier", "penalize-wasted-food",
    "penalize-food-on-death", "reward-target-food-on-death", "player-wasted-food-multiplier",
    "player-died-with-food-multiplier",
}  # fmt: skip
"""Options that only have a meaning together."""

FOOD_SWITCH = "reward-target-food-on-death"
"""There a switch; here the name of a flag that takes a weight. The value shows which is meant."""

REWARDS = frozenset({*SIMPLE, *JOINED, "safe-penalty", "custom-reward-function"})


def food_switch(data: Mapping[str, Any]) -> Any:
    """Whatever stands where the flag of that name puts its value."""
    reward = data.get("reward")
    weights = reward.get("weights") if isinstance(reward, Mapping) else None
    return weights.get("target_food_on_death") if isinstance(weights, Mapping) else None


def without_food_switch(data: Mapping[str, Any]) -> dict[str, Any]:
    """The same data, without that value if it is a switch: on is the default, off is a weight of 0."""
    switch = food_switch(data)
    if not isinstance(switch, bool):
        return dict(data)
    weights = {key: value for key, value in data["reward"]["weights"].items() if key != "target_food_on_death"}
    if not switch:
        weights |= {"target_food_on_death": 0.0, "target_brews_on_death": 0.0}
    reward = {**data["reward"], "weights": weights}
    return {**data, "reward": reward if any(reward.values()) else {}}


def reward_settings(name: str, old: Old, has_own: bool) -> dict[str, Any]:
    """What one option sets. `has_own`: rewards are configured in our way too, so the original's defaults stay out."""
    weights: dict[str, Any] = {}
    expressions: dict[str, Any] = {}
    if not has_own:
        weights |= {SIMPLE[other][0]: old(other, value) for other, value in DEFAULTS.items()}
    if name in SIMPLE:
        weights |= dict.fromkeys(SIMPLE[name], old(name))
    elif name in JOINED:
        _damage(old, weights)
        _food(old, weights, expressions, has_own)
    elif name == "safe-penalty":
        expressions["safe_penalty"] = {"expression": f"-({_text(old(name))}) * (eat_at_food_scale > 0)"}
    else:
        expressions["custom"] = {"expression": _snake(_text(old(name)))}
    return {"reward": {"weights": weights, "expressions": expressions} if expressions else {"weights": weights}}


def _damage(old: Old, weights: dict[str, Any]) -> None:
    shown = "" if old("reward-on-damage-generated", True) else "_shown"
    rows = (
        (DEALT, "dealt", "target_healed", "penalize-target-heals", "smite-damage-dealt-reward-multiplier"),
        (RECEIVED, "received", "player_healed", "reward-heals", "smite-damage-received-reward-multiplier"),
    )
    for scale, side, healed, heals, smite in rows:
        value = old(scale)
        if value is None:
            continue
        weights |= {f"damage_{side}{shown}": value, f"extra_damage_{side}": value}
        if old(heals, True):
            weights[healed] = _times(value, -1.0)
        if old(smite):
            weights[f"smite_damage_{side}"] = _times(value, old(smite))


def _food(old: Old, weights: dict[str, Any], expressions: dict[str, Any], has_own: bool) -> None:
    rows = (
        (RECEIVED, "penalize-wasted-food", "player-wasted-food-multiplier", ("wasted_food", "wasted_brews")),
        (RECEIVED, "penalize-food-on-death", "player-died-with-food-multiplier",
         ("player_food_on_death", "player_brews_on_death")),
        (DEALT, "reward-target-food-on-death", "player-died-with-food-multiplier",
         ("target_food_on_death", "target_brews_on_death")),
    )  # fmt: skip
    for scale, switch, multiplier, terms in rows:
        value, times = old(scale), old(multiplier)
        if value is None or not old(switch, True) or (has_own and times is None):
            continue
        if isinstance(times, Mapping):
            total = f"({terms[0]} + {terms[1]})"
            text = f"{total} * ({_text(times).replace('scale', total)})"
            expressions["_".join((terms[0], "scaled"))] = {"expression": text, "weight": value}
        else:
            weights |= dict.fromkeys(terms, _times(value, 1.0 if times is None else times))


def _times(value: Any, factor: Any) -> Any:
    """The product of a schedule and a number."""
    if isinstance(factor, Mapping):
        raise UserError("a multiplier that is a schedule is not read", "give the products in reward.weights")
    if not isinstance(value, Mapping):
        return float(f"{float(value) * float(factor):.12g}")
    scaled = {
        key: item * factor if str(key).replace("-", "_") in ("value", "initial_value", "final_value") else item
        for key, item in value.items()
    }
    if value.get("type") not in ("constant", "linear"):
        raise UserError(f"a scale of type '{value.get('type')}' is not read", "give the products in reward.weights")
    return scaled


def _text(value: Any) -> str:
    """An expression's text; a number is one, too."""
    if isinstance(value, Mapping):
        if value.get("type") != "expression":
            raise UserError(f"a reward function of type '{value.get('type')}' is not read", "give an expression")
        return str(value["expression"])
    return str(value)


def _snake(text: str) -> str:
    """Names of the wire (`damageDealt`) as names of signals (`damage_dealt`)."""
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in text)
