"""From layers of plain data to a checked model, with errors that name file, key, value and next step."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from pvp_ml.errors import UserError
from pvp_ml.run.config.presets import KeyPath, Layer

MAX_SHOWN = 60
M = TypeVar("M", bound=BaseModel)


class Section(BaseModel):
    """A part of the configuration: frozen, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def read_settings(model: type[M], layer: Layer) -> M:
    """The layer as a checked model; the first thing that is wrong becomes a UserError of one line."""
    data = underscored(model, layer.data)
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise explain(error, model, layer) from None


def underscored(model: type[BaseModel], data: Mapping[str, Any]) -> dict[str, Any]:
    """The same data with `learning-rate` written `learning_rate` wherever the model has such a field."""
    result: dict[str, Any] = {}
    for key, value in data.items():
        plain = key.replace("-", "_") if isinstance(key, str) else key
        name = plain if plain in model.model_fields else key
        inner = section_of(model, name)
        result[name] = underscored(inner, value) if inner and isinstance(value, Mapping) else value
    return result


def section_of(model: type[BaseModel], name: str) -> type[BaseModel] | None:
    """The model of a field that is itself a section."""
    field = model.model_fields.get(name)
    annotation = field.annotation if field else None
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


def explain(error: ValidationError, model: type[BaseModel], layer: Layer, prefix: KeyPath = ()) -> UserError:
    """One line about the first mistake; says how many more there are."""
    details = error.errors(include_url=False)
    first = min(details, key=lambda d: d["type"] != "extra_forbidden")
    is_unknown = first["type"] == "extra_forbidden"  # then the last part is the user's key, however odd
    path = (*_key_path(first["loc"][:-1]), str(first["loc"][-1])) if is_unknown else _key_path(first["loc"])
    where, key = layer.source((*prefix, *path)), ".".join((*prefix, *path))
    more = f" (and {len(details) - 1} more)" if len(details) > 1 else ""
    cause = first.get("ctx", {}).get("error")
    if is_unknown:
        return UserError(f"{where}: there is no setting '{key}'{more}", suggest(model, path))
    if first["type"] == "missing":
        return UserError(f"'{key}' is not set{more}", f"add it to the preset, or give --{key.replace('_', '-')}")
    value = _shown(first["input"])
    if isinstance(cause, UserError):
        return UserError(f"{where}: {key} = {value}: {cause.message}{more}", cause.hint)
    reason = str(cause) if cause is not None else _lower(first["msg"])
    if cause is not None and isinstance(first["input"], Mapping):
        return UserError(f"{key}: {reason}{more}", "its settings contradict one another, see TRAIN_OPTIONS.md")
    return UserError(f"{where}: {key} = {value}: {reason}{more}", "see TRAIN_OPTIONS.md")


def suggest(model: type[BaseModel], path: KeyPath) -> str:
    """The nearest field to an unknown one, or the fields there are."""
    inner = model
    for key in path[:-1]:
        inner = section_of(inner, key) or inner
    known = list(inner.model_fields)
    close = difflib.get_close_matches(path[-1].replace("-", "_"), known, 1, 0.6)
    return f"did you mean '{close[0]}'?" if close else f"known: {', '.join(known)}"


def _key_path(loc: tuple[int | str, ...]) -> KeyPath:
    """Keys as the user wrote them: pydantic's own markers (union branches, '[key]') are left out."""
    return tuple(str(part) for part in loc if not isinstance(part, str) or part.replace("-", "_").isidentifier())


def _shown(value: object) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
