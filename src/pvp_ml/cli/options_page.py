"""TRAIN_OPTIONS.md, made from the configuration models: `pvp-ml config options --markdown`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any

from pvp_ml.games import registry
from pvp_ml.rl.schedule.expression import FUNCTIONS
from pvp_ml.rl.schedule.schedule import KINDS, Schedule
from pvp_ml.run.config.flags import Option, entries_of, options_of
from pvp_ml.run.config.presets import KeyPath
from pvp_ml.run.config.schema import Config, EnvConfig, config_options, reward_terms
from pvp_ml.run.config.validate import section_of
from pvp_ml.spec import RewardTerm

HEADER = """# Training options

Made from the configuration models by `make docs`; do not edit. Every setting is a key in a preset's YAML, in the
section named before the dot, and a flag of `pvp-ml train`. Flags beat the preset; `pvp-ml config show` prints what
comes out. Switches are written `--flag`, `--no-flag` or `--flag true`; lists and mappings as YAML:
`--network.trunk "[128, 128]"`; one entry of a mapping as `--reward.weights.win 1`.
"""

SCHEDULES = """## Schedules

Where the value is a *schedule*, a plain number is constant, and a mapping changes over the run. Dashes and
underscores mean the same. `clock` is `rollouts` (default), `steps` (of the environment) or `run` (0 at the start, 1 at
`run.total_steps`); expressions read it as `t`, and also `steps` and `rollouts`.

| type | fields | value |
|---|---|---|
"""

GAMES = """## Settings and reward terms of each game

A reward flag sets the weight of a term: what is paid for one unit of it. The sign is in the number; a penalty is
negative. Weights may be schedules.
"""


def page() -> str:
    """The whole page."""
    shared = list(options_of(Config))
    _, names = config_options(registry.find(registry.DEFAULT_GAME))
    parts = [HEADER]
    for section in Config.model_fields:
        model = section_of(Config, section)
        intro = (model.__doc__ or "").split("\n\n")[0] if model else ""
        rows = [option for option in shared if option.path[0] == section]
        parts.append(f"## {section}\n\n{intro}\n\n{table(rows, names)}")
        parts += entries(section)
    kinds = {kind: " or ".join(f"`{name}`" for name in KINDS if KINDS[name] is kind) for kind in KINDS.values()}
    lines = [f"| {words} | {_fields(kind)} | {_words(kind)} |" for kind, words in kinds.items()]
    parts.append(SCHEDULES + "\n".join(lines) + "\n")
    parts.append(f"Functions in expressions: {', '.join(f'`{name}`' for name in sorted(FUNCTIONS))}.\n")
    parts.append(GAMES)
    parts += games()
    return "\n".join(parts)


def entries(section: str) -> Iterator[str]:
    """What one entry of a mapping or list in this section may hold."""
    for path, model in entries_of(Config):
        if path[0] == section:
            intro = " ".join((model.__doc__ or "").split("\n\n")[0].split())
            is_list = not any(option.path == path and option.is_open for option in options_of(Config))
            rows = table(options_of(model, () if is_list else (*path, "NAME")), {})
            rows = rows.replace("| `--", "| `").replace("| flag |", "| key |") if is_list else rows
            yield f"An entry of `{'.'.join(path)}`: {intro}\n\n{rows}"


def games() -> Iterator[str]:
    """A part per game: its own settings in `env`, and what its rewards can weigh."""
    for name in registry.names():
        game = registry.find(name)
        if game.name != name:
            continue
        options, names = config_options(game)
        own = [o for o in options if o.path[0] == "env" and o.path[1] not in EnvConfig.model_fields]
        settings = table(own, names) if own else "No settings of its own.\n"
        yield f"### {name}\n\n{settings}\n{rewards(reward_terms(game), names)}"


def rewards(terms: Iterable[RewardTerm], names: Mapping[str, KeyPath]) -> str:
    """Reward terms as a Markdown table."""
    lines = ["| reward | unit | what it counts |", "|---|---|---|"]
    for term in terms:
        path = ("reward", "weights", term.name)
        flags = [f"--{name}" for name, other in names.items() if other == path] or [f"--{'.'.join(path)}"]
        cells = (" ".join(f"`{flag}`" for flag in flags), term.unit, term.doc)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n" if len(lines) > 2 else "No rewards without further settings.\n"


def table(options: Iterable[Option], names: Mapping[str, KeyPath]) -> str:
    """Options as a Markdown table."""
    lines = ["| flag | also | value | default | what it does |", "|---|---|---|---|---|"]
    for option in options:
        also = " ".join(f"`--{name}`" for name, path in names.items() if path == option.path)
        default = f"`{default_text(option.default)}`" if default_text(option.default) else ""
        cells = (f"`{option.flag}`", also, option.kind, default, option.doc)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _fields(kind: type[Schedule]) -> str:
    return ", ".join(f"`{field.name}`" for field in fields(kind))  # type: ignore[arg-type]


def _words(kind: type[Schedule]) -> str:
    return " ".join((kind.__doc__ or "").split("\n\n")[0].split())


def default_text(default: Any) -> str:
    """A field's default as it would be written in YAML."""
    if isinstance(default, Schedule):
        default = default.to_data()
    if isinstance(default, float):
        return f"{default:g}"
    if isinstance(default, dict):
        return "{" + ", ".join(f"{key}: {default_text(value)}" for key, value in default.items()) + "}"
    if isinstance(default, tuple | list):
        return "[" + ", ".join(default_text(item) for item in default) + "]"
    if isinstance(default, bool):
        return str(default).lower()
    return "" if default is None else str(default)
