"""Reading YAML that somebody else wrote: size, depth and expansion are limited before anything is built."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

import yaml

from pvp_ml.errors import UserError

MAX_BYTES = 128 * 1024
MAX_DEPTH = 16
MAX_ITEMS = 10_000
"""Scalars, lists and mappings of one document, aliases counted as often as they are used."""


class YamlError(UserError, ValueError):
    """Text that is not acceptable YAML."""


class _Loader(yaml.SafeLoader):
    """SafeLoader with the scalars of YAML 1.2, which refuses a key that occurs twice.

    `3e-4` is a number, `off` and `no` are words, and a date or `1:30` is the text that somebody wrote; `010` is ten.
    """

    yaml_implicit_resolvers = {  # noqa: RUF012
        first: [
            (tag, pattern) for tag, pattern in entries if not tag.endswith((":bool", ":timestamp", ":int", ":float"))
        ]
        for first, entries in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """As usual, but the second of two equal keys is an error instead of the winner."""
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value != "<<":
                if key.value in seen:
                    raise YamlError(f"line {key.start_mark.line + 1}: key '{key.value}' occurs twice")
                seen.add(key.value)
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(
        r"^(?:[-+]?(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)[eE][-+]?\d+|[-+]?(?:\d[\d_]*\.[\d_]*|\.\d[\d_]*)"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$",
        re.ASCII,
    ),
    list("-+0123456789."),
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int",
    re.compile(r"^(?:[-+]?\d[\d_]*|0o[0-7]+|0x[0-9A-Fa-f_]+|0b[01_]+)$", re.ASCII),
    list("-+0123456789"),
)


def _whole_number(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int:
    """Hexadecimal, octal and binary by their prefix, everything else in base ten."""
    text = loader.construct_scalar(node).replace("_", "")
    return int(text, 0) if text[:2] in ("0x", "0o", "0b") else int(text)


_Loader.add_constructor("tag:yaml.org,2002:int", _whole_number)


def read_yaml(text: str | bytes) -> Any:
    """The one document in `text` as plain Python data."""
    if len(text) > MAX_BYTES:
        raise YamlError(f"it has {len(text)} bytes, the limit is {MAX_BYTES}")
    try:
        _check_size(text)
        loader = _Loader(text)
        try:
            return loader.get_single_data()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise YamlError(f"{line}{error.problem or error.context}") from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, YamlError):
            raise
        raise YamlError(" ".join(str(error).split()) or type(error).__name__) from None


def _check_size(text: str | bytes) -> None:
    """Count items the way they would be expanded, without expanding them."""
    open_sizes: list[int] = [0]
    open_names: list[str | None] = [None]
    anchors: dict[str, int] = {}
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent):
            if event.anchor in open_names:
                raise YamlError(f"alias '*{event.anchor}' contains itself")
            open_sizes[-1] += anchors.get(event.anchor or "", 0)
        elif isinstance(event, yaml.ScalarEvent):
            open_sizes[-1] += 1
            if event.anchor:
                anchors[event.anchor] = 1
        elif isinstance(event, yaml.CollectionStartEvent):
            open_sizes.append(1)
            open_names.append(event.anchor)
        elif isinstance(event, yaml.CollectionEndEvent):
            size, name = open_sizes.pop(), open_names.pop()
            open_sizes[-1] += size
            if name:
                anchors[name] = size
        if len(open_sizes) > MAX_DEPTH:
            raise YamlError(f"it is nested more than {MAX_DEPTH} deep")
        if open_sizes[-1] > MAX_ITEMS:
            raise YamlError(f"it has more than {MAX_ITEMS} items, aliases counted")
