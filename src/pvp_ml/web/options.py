"""Which settings of a game a page may choose: switches and short lists, never text, numbers or addresses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.games.registry import GameConfig, GameType


@dataclass(frozen=True, slots=True)
class Option:
    """`kind`: 'flag', 'one' of the choices, or 'many' of them."""

    name: str
    kind: Literal["flag", "one", "many"]
    choices: tuple[str, ...]
    default: Any
    about: str


def options_of(game: GameType) -> tuple[Option, ...]:
    """What can be chosen, in the order of the game's settings."""
    defaults = game.config()
    found = []
    for name, field in game.config.model_fields.items():
        told = _kind(field.annotation)
        if told is not None:
            default = getattr(defaults, name)
            default = list(default) if isinstance(default, tuple) else default
            found.append(Option(name, told[0], told[1], default, field.description or ""))
    return tuple(found)


def _kind(annotation: Any) -> tuple[Literal["flag", "one", "many"], tuple[str, ...]] | None:
    if annotation is bool:
        return "flag", ()
    if get_origin(annotation) is Literal:
        return "one", tuple(map(str, get_args(annotation)))
    inner = get_args(annotation)
    if get_origin(annotation) is tuple and len(inner) == 2 and get_origin(inner[0]) is Literal:
        return "many", tuple(map(str, get_args(inner[0])))
    return None


def configure(game: GameType, wanted: Mapping[str, Any]) -> GameConfig:
    """The game's settings with what a page chose; anything that is no option is refused."""
    known = {option.name for option in options_of(game)}
    if unknown := sorted(set(wanted) - known):
        raise UserError(f"'{unknown[0][:40]}' cannot be chosen here", f"options: {', '.join(sorted(known)) or 'none'}")
    return registry.configure(game, wanted)
