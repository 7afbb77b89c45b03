"""Settings of a fight as `reset` carries them, both ways.

The protocol has no seed. Ours rides on a field that every server knows: an `episodeId` of the form `<seed>/<seat>` on
both sides asks for that seed and seat; an old server only hashes it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pvp_ml.errors import UserError
from pvp_ml.games.osrs.remote.wire import ResetBody

DEFAULT_BUILD = "PURE"
DEFAULT_OPTIONS = ("PURE", "ZERKER", "MED")
FLAGS = {
    "randomizeGear": ("randomize_gear", False),
    "onlySwitchPrayerWhenAboutToAttack": ("only_switch_prayer_when_about_to_attack", True),
    "onlySwitchGearWhenAttackSoon": ("only_switch_gear_when_attack_soon", True),
    "allowSmite": ("allow_smite", True),
    "allowRedemption": ("allow_redemption", True),
    "allowMovingIfCanAttack": ("allow_moving_if_can_attack", False),
}
"""Field on the wire → (setting of the game, value when it is absent)."""

_SEEDED = re.compile(r"(\d{1,20})/([01])", re.ASCII)


@dataclass(frozen=True, slots=True)
class Seeded:
    """A fight that is asked for by number."""

    seed: int
    seat: int


def episode_id(seed: int, seat: int) -> str:
    """What a client sends so that the fight can be repeated."""
    return f"{seed}/{seat}"


def seeded(params: Mapping[str, Any]) -> Seeded | None:
    """The seed and seat that a reset asks for, if it does."""
    found = _SEEDED.fullmatch(str(params.get("episodeId", "")))
    return Seeded(int(found[1]), int(found[2])) if found else None


def reset_fields(settings: Mapping[str, Any], has_builds: bool) -> dict[str, Any]:
    """`training`, `deathMatch` and `resetParams` of a reset, from the game's settings with a scenario's overrides."""
    params: dict[str, Any] = {}
    if has_builds:
        builds = settings["builds"]
        names = builds.split(",") if isinstance(builds, str) else list(builds)
        if len(names) == 1:
            params["accountBuild"] = names[0]
        else:
            params |= {"randomizeBuild": True, "randomBuildOptions": names}
        if settings["fight_type"] == "drawn":
            params["randomizeFightType"] = True
        elif settings["fight_type"] != "of-build":
            params["fightType"] = settings["fight_type"]
        params |= {field: bool(settings[name]) for field, (name, _) in FLAGS.items()}
    return {
        "training": bool(settings["random_tiles"]),
        "deathMatch": bool(settings["death_match"]),
        "resetParams": params,
    }


def game_settings(body: ResetBody, has_builds: bool) -> dict[str, Any]:
    """The game's settings that a reset asks for; what is absent has the protocol's default."""
    params = body.resetParams or {}
    settings: dict[str, Any] = {"random_tiles": body.training, "death_match": body.deathMatch}
    if not has_builds:
        return settings
    for field, (name, default) in FLAGS.items():
        settings[name] = _flag(params, field, default)
    settings["builds"] = _builds(params)
    if _flag(params, "randomizeFightType", False):
        settings["fight_type"] = "drawn"
    else:
        settings["fight_type"] = params.get("fightType") or "of-build"
    return settings


def _flag(params: Mapping[str, Any], field: str, default: bool) -> bool:
    value = params.get(field, default)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise UserError(f"resetParams.{field} is {str(value)[:40]!r}", "true or false")
    return value


def _builds(params: Mapping[str, Any]) -> tuple[str, ...]:
    """The builds to draw from; unless the fight is seeded there is one, chosen by the two names."""
    if not _flag(params, "randomizeBuild", False):
        return (str(params.get("accountBuild") or DEFAULT_BUILD),)
    options = params.get("randomBuildOptions") or list(DEFAULT_OPTIONS)
    if not isinstance(options, list) or not 1 <= len(options) <= 64:
        raise UserError("resetParams.randomBuildOptions must be a list of 1 to 64 builds")
    names = [str(option)[:40] for option in options]
    if seeded(params):
        return tuple(dict.fromkeys(names))
    number = build_number(str(params.get("agent") or ""), str(params.get("target") or ""))
    return (names[number % len(names)],)


def build_number(agent: str, target: str) -> int:
    """The smallest number among the names, else among the words of the names, else a hash of both."""
    numbers = _numbers((agent, target)) or _numbers((*agent.split(" "), *target.split(" ")))
    if numbers:
        return min(numbers)
    value = 0
    for character in "".join(sorted((agent, target))):
        value = (31 * value + ord(character)) & 0xFFFFFFFF
    return abs(value - (1 << 32) if value >= 1 << 31 else value)


def _numbers(words: Sequence[str]) -> list[int]:
    return [int(word) for word in words if word.isascii() and word.isdigit() and len(word) < 19]
