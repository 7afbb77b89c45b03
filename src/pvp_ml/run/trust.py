"""What only a flag may do: start a program, import code by name, reach another host. See the table in SECURITY.md.

A preset may come from anywhere. Its settings are data; those that act beyond this process are refused by name before
anything is built from them, and the message says which flag does it.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pvp_ml.errors import UserError
from pvp_ml.run.config.presets import KeyPath, Layer


@dataclass(frozen=True, slots=True)
class Guarded:
    """A setting that is a flag's alone, while `acts` says that its value does more than describe."""

    path: KeyPath
    does: str
    acts: Callable[[Any], bool]

    @property
    def flag(self) -> str:
        """How it is written on the command line."""
        return f"--{'.'.join(self.path).replace('_', '-')}"


def is_here(host: str) -> bool:
    """Whether an address, with or without port, is this machine's loopback."""
    name = host.strip()
    name = name[1:].partition("]")[0] if name.startswith("[") else name.rpartition(":")[0] or name
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


GUARDED = (
    Guarded(("env", "remote_command"), "starts a program", bool),
    Guarded(("env", "remote"), "reaches another host", lambda value: bool(value) and not is_here(str(value))),
    Guarded(("env", "id"), "imports a module by name", lambda value: ":" in str(value)),
    Guarded(("cluster", "ray_address"), "reaches another host", lambda value: bool(value) and not is_here(str(value))),
    Guarded(("tracking", "wandb"), "sends metrics to another host", bool),
)
"""Every such setting. A test compares the list with what the code can do."""


def require_flags(preset: Layer) -> None:
    """Refuse a preset that sets one of GUARDED, in a section or in a phase."""
    for guarded in GUARDED:
        for value in _values(preset.data, guarded.path):
            if guarded.acts(value):
                key = ".".join(guarded.path)
                raise UserError(
                    f"{preset.source(guarded.path)}: {key} = {value!r} {guarded.does}, which a preset may not"[:300],
                    f"if you want that, say it yourself: {guarded.flag} {str(value)[:80]}",
                )


def _values(data: Mapping[Any, Any], path: KeyPath) -> Iterator[Any]:
    """What the settings, and those of each phase, hold at that path; `-` and `_` are the same."""
    section, name = path
    for key, inner in data.items():
        if _same(key, section) and isinstance(inner, Mapping):
            yield from (value for own, value in inner.items() if _same(own, name))
        elif _same(key, "phases") and isinstance(inner, list | tuple):
            for phase in inner:
                settings = phase.get("settings") if isinstance(phase, Mapping) else None
                if isinstance(settings, Mapping):
                    yield from _values(settings, path)


def _same(key: Any, name: str) -> bool:
    return isinstance(key, str) and key.replace("-", "_").lower() == name
