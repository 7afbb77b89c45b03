"""Which settings of a game a page may choose: switches and short lists, never text, numbers or addresses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args, get_origin

from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.games.registry import GameConfig, GameType
from pvp_ml.spec import GameSpec

NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Option:
    """`kind`: 'flag', 'one' of the choices, or 'many' of them."""

    name: str
    kind: Literal["flag", "one", "many"]
    choices: tuple[str, ...]
    default: Any
    about: str


def people_config(game: GameType, given: Mapping[str, Any] = NOTHING) -> GameConfig:
    """The game's settings where people play it, before they choose anything; `given` on the command line."""
    return registry.configure(game, {**dict(game.presentation.page_settings), **given})


def options_of(game: GameType, given: Mapping[str, Any] = NOTHING) -> tuple[Option, ...]:
    """What can be chosen, in the order of the game's settings."""
    defaults = people_config(game, given)
    found = []
    for name, field in game.config.model_fields.items():
        kind = None if name in game.presentation.page_hides else _kind(field.annotation)
        if kind is not None and _fits_all(game.config, game.spec, name):
            default = getattr(defaults, name)
            default = list(default) if isinstance(default, tuple) else default if kind[0] == "flag" else str(default)
            found.append(Option(name, kind[0], kind[1], default, field.description or ""))
    return tuple(found)


@cache
def _fits_all(config: type[GameConfig], spec: Callable[[Any], GameSpec], name: str) -> bool:
    """Whether models fit whatever is chosen: a setting that changes what players see or do is no option."""
    annotation = config.model_fields[name].annotation
    choices = get_args(annotation) if get_origin(annotation) is Literal else ()
    usual = spec(config()).interface_digest
    return all(spec(config.model_validate({name: choice})).interface_digest == usual for choice in choices)


def _kind(annotation: Any) -> tuple[Literal["flag", "one", "many"], tuple[str, ...]] | None:
    if annotation is bool:
        return "flag", ()
    if get_origin(annotation) is Literal:
        return "one", tuple(map(str, get_args(annotation)))
    inner = get_args(annotation)
    if get_origin(annotation) is tuple and len(inner) == 2 and get_origin(inner[0]) is Literal:
        return "many", tuple(map(str, get_args(inner[0])))
    return None


def configure(game: GameType, wanted: Mapping[str, Any], given: Mapping[str, Any] = NOTHING) -> GameConfig:
    """The game's settings with what a page chose; anything that is no option is refused."""
    known = {option.name for option in options_of(game)}
    if unknown := sorted(set(wanted) - known):
        raise UserError(f"'{unknown[0][:40]}' cannot be chosen here", f"options: {', '.join(sorted(known)) or 'none'}")
    chosen = {name: _meant(game.config.model_fields[name].annotation, value) for name, value in wanted.items()}
    return people_config(game, {**given, **chosen})


def _meant(annotation: Any, value: Any) -> Any:
    """The choice of that name: pages know all choices as text."""
    names = {str(choice): choice for choice in get_args(annotation)} if get_origin(annotation) is Literal else {}
    return names.get(value, value) if isinstance(value, str) else value
