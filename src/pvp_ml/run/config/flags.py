"""Every field of a configuration is a flag: `--ppo.learning-rate 3e-4`. Made from the models, never listed by hand."""

from __future__ import annotations

import difflib
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from pvp_ml.documents.strict_yaml import YamlError, read_yaml
from pvp_ml.errors import UserError
from pvp_ml.rl.schedule.expression import Expression
from pvp_ml.rl.schedule.schedule import Schedule
from pvp_ml.run.config.presets import KeyPath, Layer, nest
from pvp_ml.run.config.validate import section_of


@dataclass(frozen=True, slots=True)
class Option:
    """One field as a flag. `is_open`: it is a mapping, and `--flag.anything value` sets one entry."""

    path: KeyPath
    kind: str
    default: Any
    doc: str
    is_switch: bool = False
    is_text: bool = False
    is_open: bool = False
    is_counted: bool = False  # a switch that may be given a number
    is_list: bool = False

    @property
    def flag(self) -> str:
        """`--ppo.learning-rate`."""
        return "--" + ".".join(self.path).replace("_", "-")


def options_of(model: type[BaseModel], path: KeyPath = ()) -> Iterator[Option]:
    """The flags of a model, sections inside it included, in the order of its fields."""
    for name, field in model.model_fields.items():
        here = (*path, name)
        inner = section_of(model, name)
        if inner is not None:
            yield from options_of(inner, here)
            continue
        kinds = tuple(_kinds(field.annotation))
        default = "required" if field.is_required() else field.get_default(call_default_factory=True)
        yield Option(
            path=here,
            kind=" or ".join(dict.fromkeys(_word(kind) for kind in kinds)),
            default=None if default is PydanticUndefined else default,
            doc=field.description or "",
            is_switch=bool in kinds,
            is_text=kinds in ((str,), (str, type(None)), (Expression,)),
            is_open=any(get_origin(kind) in (dict, Mapping) for kind in kinds),
            is_counted=bool in kinds and int in kinds,
            is_list=any(get_origin(kind) in (tuple, list) for kind in kinds),
        )


def entries_of(model: type[BaseModel], path: KeyPath = ()) -> Iterator[tuple[KeyPath, type[BaseModel]]]:
    """Mappings and lists whose entries are models themselves: (path of the field, model of an entry)."""
    for name, field in model.model_fields.items():
        inner = section_of(model, name)
        if inner is not None:
            yield from entries_of(inner, (*path, name))
        for kind in _kinds(field.annotation):
            parts = [part for part in get_args(kind) if isinstance(part, type) and issubclass(part, BaseModel)]
            if get_origin(kind) in (dict, Mapping, tuple, list) and parts:
                yield (*path, name), parts[0]


def read_flags(tokens: Sequence[str], options: Sequence[Option], aliases: Mapping[str, KeyPath]) -> Layer:
    """Command-line words as a layer. `aliases` maps a flag's name without dashes in front to a field's path."""
    known = {option.path: option for option in options}
    layer, words = Layer(), list(tokens)
    while words:
        word = words.pop(0)
        if not word.startswith("--") or word == "--":
            raise UserError(f"'{word}' is not a flag", "flags look like --ppo.learning-rate 3e-4")
        name, given, value = word[2:].partition("=")
        path, is_off = _resolve(name, known, aliases)
        option = known.get(path) or Option(path, "value", None, "")
        if is_off:
            text = "false"
        elif given:
            text = value
        elif words and not words[0].startswith("--") and (not option.is_switch or _fits_switch(words[0], option)):
            text = words.pop(0)
            while option.is_list and words and not words[0].startswith("--"):
                text += f", {words.pop(0)}"
        elif option.is_switch:
            text = "true"
        else:
            raise UserError(f"--{name} needs a value ({option.kind})", f"such as --{name} {_example(option)}")
        layer = Layer.of(nest(path, _value(name, text, option)), f"--{name}").over(layer)
    return layer


def short_names(options: Sequence[Option]) -> dict[str, KeyPath]:
    """`learning-rate` → ppo.learning_rate, for every last word that occurs once."""
    found: dict[str, list[KeyPath]] = {}
    for option in options:
        found.setdefault(option.path[-1].replace("_", "-"), []).append(option.path)
    return {name: paths[0] for name, paths in found.items() if len(paths) == 1}


def _resolve(name: str, known: Mapping[KeyPath, Option], aliases: Mapping[str, KeyPath]) -> tuple[KeyPath, bool]:
    """The field that a flag sets, and whether it was written `--no-…`."""
    dashed = name.replace("_", "-")
    dashed = dashed.lower() if dashed.isupper() else dashed  # N_PROC_TRAIN
    path = tuple(part.replace("-", "_") for part in name.split("."))
    if path in known or dashed in aliases:
        return aliases.get(dashed, path), False
    if name.startswith("no-"):
        wanted, _ = _resolve(name[3:], known, aliases)
        if known[wanted].is_switch:
            return wanted, True
    entry = _entry_of_mapping(name.split("."), known, aliases)
    if entry is not None:
        return entry, False
    every = [option.flag[2:] for option in known.values()] + list(aliases)
    close = difflib.get_close_matches(dashed, every, 1, 0.6)
    hint = f"did you mean --{close[0]}?" if close else "`pvp-ml config options` lists all"
    raise UserError(f"there is no flag --{name}", hint)


def _entry_of_mapping(
    parts: list[str], known: Mapping[KeyPath, Option], aliases: Mapping[str, KeyPath]
) -> KeyPath | None:
    """`self-play.opponents.past.delay`: a mapping's field, then an entry's own name, then fields inside it."""
    fields = tuple(part.replace("-", "_") for part in parts)
    for end in range(len(parts) - 1, 0, -1):
        whole = aliases.get(".".join(parts[:end]).replace("_", "-"), fields[:end])
        if whole in known and known[whole].is_open and parts[end]:
            return (*whole, parts[end], *fields[end + 1 :])
    return None


def _value(name: str, text: str, option: Option) -> Any:
    if option.is_text:
        return text
    try:
        if option.is_list and text[:1] not in ("[", "{") and text not in ("null", "none", ""):
            return read_yaml(f"[{text}]")
        return read_yaml(text)
    except YamlError as error:
        raise UserError(f"--{name} {text!r}: {error.message}", f"expected {option.kind}") from None


def _fits_switch(word: str, option: Option) -> bool:
    return _is_truth(word) or (option.is_counted and word.isdigit())


def _is_truth(word: str) -> bool:
    return word.lower() in {"true", "false", "yes", "no", "on", "off", "1", "0", "y", "n", "t", "f"}


def _example(option: Option) -> str:
    default = option.default
    return (
        "…"
        if default in (None, "required", "")
        else str(default.to_data() if isinstance(default, Schedule) else default)
    )


def _kinds(annotation: Any) -> Iterator[Any]:
    """The types that a field accepts, unions and annotations unwrapped."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _kinds(get_args(annotation)[0])
    elif origin in (Union, types.UnionType):
        for argument in get_args(annotation):
            yield from _kinds(argument)
    else:
        yield annotation


def _word(kind: Any) -> str:
    """A type as people say it."""
    origin = get_origin(kind)
    if origin is Literal:
        return ", ".join(str(choice) for choice in get_args(kind) if choice != "")
    if origin in (tuple, list):
        word = _word(next(_kinds(get_args(kind)[0])))
        return f"list of {word}s" if word.endswith(("number", "mapping")) else f"list of {word}"
    if origin in (dict, Mapping):
        return "mapping"
    if isinstance(kind, type) and issubclass(kind, Schedule | BaseModel):
        return "schedule" if issubclass(kind, Schedule) else "mapping"
    names = {
        int: "whole number",
        float: "number",
        bool: "true/false",
        str: "text",
        type(None): "none",
        Expression: "expression",
    }
    return names.get(kind) or getattr(kind, "__name__", str(kind)).lower()
