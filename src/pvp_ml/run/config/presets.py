"""Presets: YAML files that extend one another, and the layers of settings that a config is read from.

A layer remembers which file or flag gave each value, so that an error can say where to look.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pvp_ml import data_files
from pvp_ml.compat.training_yaml import is_training_yaml, translate
from pvp_ml.documents.strict_yaml import YamlError, read_yaml
from pvp_ml.errors import UserError

SUFFIXES = (".yml", ".yaml")
MAX_CHAIN = 10
"""Presets that may extend one another in a row."""

ABOUT = ("title", "alias")
"""Keys that describe a preset and are no settings."""

KeyPath = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Layer:
    """Nested settings, and the source of each: `origin[path]` is a file or flag."""

    data: dict[str, Any] = field(default_factory=dict)
    origin: dict[KeyPath, str] = field(default_factory=dict)

    @classmethod
    def of(cls, data: Mapping[str, Any], source: str) -> Layer:
        """A layer whose every value comes from one source."""
        return cls(dict(data), {path: source for path, _ in _walk(data)})

    def over(self, below: Layer) -> Layer:
        """Both layers in one: values of this one win, mappings merged key by key."""
        origin = {p: s for p, s in below.origin.items() if not _is_replaced(p, self.data)}
        return Layer(_merge(below.data, self.data), {**origin, **self.origin})

    def renamed(self, names: Mapping[str, KeyPath]) -> Layer:
        """The same with well-known names replaced: at the top any of them, in a section those of its own fields."""
        layer = Layer()
        for key, value in self.data.items():
            path = names.get(key.replace("_", "-"))
            if path is not None:
                layer = Layer.of(nest(path, value), self.source((key,))).over(layer)
            elif isinstance(value, Mapping) and _is_section(value):
                for inner, item in value.items():
                    other = names.get(str(inner).replace("_", "-"), ())
                    place = other if other[:1] == (key,) else (key, inner)
                    layer = Layer.of(nest(place, item), self.source((key, str(inner)))).over(layer)
                layer.data.setdefault(key, {})
            else:
                layer = Layer.of({key: value}, self.source((key,))).over(layer)
        return layer

    def section(self, name: str) -> Mapping[str, Any]:
        """One section's settings; empty when there are none."""
        found = self.data.get(name)
        return found if isinstance(found, Mapping) else {}

    def source(self, path: KeyPath) -> str:
        """The file or flag that gave the value, or its nearest parent."""
        for end in range(len(path), -1, -1):
            if path[:end] in self.origin:
                return self.origin[path[:end]]
        return next((s for p, s in self.origin.items() if p[: len(path)] == path), "the defaults")


@dataclass(frozen=True, slots=True)
class PresetInfo:
    """One line of `pvp-ml config list`."""

    name: str
    path: Path
    title: str
    alias: str


def load_preset(name: str, working_directory: Path) -> Layer:
    """The preset with everything that it extends; its own keys win, then the first that it extends, then the second."""
    return _load(find_preset(name, working_directory), working_directory, ())


def find_preset(name: str, working_directory: Path) -> Path:
    """The file of a preset, by path, name (`nh/core`) or alias (`Core`)."""
    found = data_files.find("presets", name, SUFFIXES, working_directory)
    if found is not None:
        return found
    known = list(list_presets(working_directory))
    for info in known:
        if info.alias and name == info.alias:
            return info.path
    words = [word for info in known for word in (info.name, info.alias) if word]
    close = " or ".join(f"'{word}'" for word in near(name.removeprefix("config/").removesuffix(".yml"), words))
    hint = f"did you mean {close}? `pvp-ml config list` shows all" if close else "see `pvp-ml config list`"
    raise UserError(f"there is no preset '{name}'", hint)


def near(name: str, words: Sequence[str]) -> list[str]:
    """At most three of the words that someone who typed `name` may have meant; none if none is close.

    `nh/quik` and `quick` are close to `nh/quick`, and so is the folder `nh`.
    """
    if close := difflib.get_close_matches(name, words, 1, 0.7):
        return close
    same = [word for word in words if name.lower() in word.lower().split("/")]
    return same[:3]


def list_presets(working_directory: Path) -> Iterator[PresetInfo]:
    """Every preset that can be read, in lookup order."""
    for name, path in data_files.listed("presets", SUFFIXES, working_directory):
        try:
            data = _read(path, working_directory)
        except UserError:
            continue
        yield PresetInfo(name, path, str(data.get("title", "")), str(data.get("alias", "")))


def _load(path: Path, working_directory: Path, above: tuple[Path, ...]) -> Layer:
    chain = (*above, path.resolve())
    if path.resolve() in above or len(chain) > MAX_CHAIN:
        shown = " → ".join(_shown(p, working_directory) for p in chain)
        reason = "extend one another in a circle" if path.resolve() in above else f"are more than {MAX_CHAIN} deep"
        raise UserError(f"presets {reason}: {shown}", "remove one 'extends:'")
    source = _shown(path, working_directory)
    data = _read(path, working_directory)
    if is_training_yaml(data):
        data = translate(data, source)
    parents = _parents(data, source)
    layer = Layer.of({k: v for k, v in data.items() if k not in (*ABOUT, "extends", "import")}, source)
    for parent in parents:
        try:
            found = find_preset(parent, working_directory)
        except UserError as error:
            raise UserError(f"{source}: extends: {error.message}", error.hint) from None
        layer = layer.over(_load(found, working_directory, chain))
    return layer


def _parents(data: Mapping[str, Any], source: str) -> list[str]:
    """`extends:` (or the original's `import:`) as a list of names."""
    both = [data[key] for key in ("extends", "import") if data.get(key) is not None]
    names = [name for value in both for name in (value if isinstance(value, list) else [value])]
    for name in names:
        if not isinstance(name, str) or not name:
            raise UserError(f"{source}: extends: {name!r} is not a name", "name one preset, or a list of them")
    return names


def _read(path: Path, working_directory: Path) -> dict[str, Any]:
    source = _shown(path, working_directory)
    try:
        with path.open("rb") as file:
            data = read_yaml(file.read(1 << 20))
    except OSError as error:
        raise UserError(f"{source}: cannot be read: {error.strerror}") from None
    except YamlError as error:
        raise UserError(f"{source}: {error.message}", error.hint or "see docs/configuration.md") from None
    if data is None:
        return {}
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        raise UserError(f"{source}: a preset is a mapping of sections", "begin with 'env:' or 'extends:'")
    return data


def _shown(path: Path, working_directory: Path) -> str:
    """A path as short as it can be: relative to here or to the package."""
    for parent, prefix in ((working_directory, ""), (data_files.PACKAGE, ""), (data_files.user_folder(), "~/")):
        try:
            return prefix + path.resolve().relative_to(parent.resolve()).as_posix()
        except ValueError:
            continue
    return str(path)


def nest(path: KeyPath, value: Any) -> dict[str, Any]:
    """{"a": {"b": value}} for ("a", "b")."""
    for key in reversed(path):
        value = {key: value}
    nested: dict[str, Any] = value
    return nested


def _is_section(value: object) -> bool:
    """A mapping that is merged key by key. A schedule (it has a `type`) is one value and is replaced as a whole."""
    return isinstance(value, Mapping) and "type" not in value


def _merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        both = key in merged and _is_section(value) and _is_section(merged[key])
        merged[key] = _merge(merged[key], value) if both else value
    return merged


def _walk(data: Mapping[str, Any], path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    """(path, value) of every leaf and section."""
    for key, value in data.items():
        here = (*path, str(key))
        yield here, value
        if isinstance(value, Mapping) and _is_section(value):
            yield from _walk(value, here)


def _is_replaced(path: KeyPath, above: Mapping[str, Any]) -> bool:
    """Whether a value at `path` disappears under `above`."""
    here: Any = above
    for key in path:
        if not _is_section(here):
            return True
        if key not in here:
            return False
        here = here[key]
    return not _is_section(here)
