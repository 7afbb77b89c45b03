"""The old trainer's options about the game and what its player sees and may do, read as what they mean here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pvp_ml.errors import UserError
from pvp_ml.run.config.presets import nest

if TYPE_CHECKING:
    from pvp_ml.compat.options import Given, Settings


def env_kwargs(value: Any, given: Given) -> Settings:
    """`reset-params` become the game's settings; other keys are settings of the same name."""
    from pvp_ml.games.osrs.remote.params import DEFAULT_BUILD, DEFAULT_OPTIONS

    settings: Settings = {}
    items = {_snake(key): item for key, item in dict(value or {}).items()}
    params = {_snake(key): item for key, item in (items.pop("reset_params", None) or {}).items()}
    renamed = {"desync_tick_threshold": "remote_desync_ticks", "desync_tolerance_seconds": "remote_desync_s"}
    settings |= {renamed.get(key, key): item for key, item in items.items()}
    if params.pop("randomize_build", False):
        settings["builds"] = list(params.pop("random_build_options", None) or DEFAULT_OPTIONS)
    elif "account_build" in params:
        settings["builds"] = [params["account_build"] or DEFAULT_BUILD]
    if params.pop("randomize_fight_type", False):
        settings["fight_type"] = "drawn"
    elif params.get("fight_type"):
        settings["fight_type"] = params["fight_type"]
    taken = {"account_build", "random_build_options", "fight_type", "agent", "target", "episode_id"}
    return {"env": settings | {key: item for key, item in params.items() if key not in taken}}


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower().replace("-", "_")


def remote(value: Any, given: Given) -> Settings:
    """Host and port are one setting here."""
    host, port = given.old("remote-env-host", "localhost"), given.old("remote-env-port", 7070)
    return nest(("env", "remote"), f"{host}:{port}")


def noise(value: Any, given: Given) -> Settings:
    """Adders of `normal(0, deviation)`; each names the features by number, `"3:6"` is 3, 4, 5."""
    if not value:
        return {}
    names = [feature.name for feature in given.spec.interface.features]
    deviations: Settings = {}
    for adder in dict(value).get("adders", ()):
        drawn = adder.get("value")
        text = drawn.get("expression", "") if isinstance(drawn, Mapping) else str(drawn)
        found = re.fullmatch(r"\s*normal\(\s*0(?:\.0*)?\s*,\s*([0-9.eE+-]+)\s*\)\s*", text)
        if found is None:
            raise UserError(
                f"noise-generator: '{text}' is not normal noise about 0",
                "see ppo.observation_noise in TRAIN_OPTIONS.md",
            )
        for index in adder.get("indices", ()):
            first, _, end = str(index).partition(":")
            for number in range(int(first), int(end or int(first) + 1)):
                deviations[names[number]] = float(found[1])
    return nest(("ppo", "observation_noise"), deviations)


def forbidden(value: Any, given: Given) -> Settings:
    """A flag per choice of every head, in order; here the choices are named."""
    if value is None:
        return {}
    heads = given.spec.heads
    flags = list(value) if isinstance(value, list | tuple) else []
    wanted = sum(head.size for head in heads)
    if len(flags) != wanted or any(flag not in (0, 1) for flag in flags):
        raise UserError(
            f"action-mask-override: not a list of {wanted} flags, 0 or 1", "or name choices in ppo.forbidden"
        )
    left = iter(flags)
    banned = {head.name: [choice for choice in head.choices if not next(left)] for head in heads}
    return nest(("ppo", "forbidden"), {name: choices for name, choices in banned.items() if choices})
