"""What a sweep searches: a preset, fixed settings, and ranges over any others. Read from YAML, checked before a run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, model_validator

from pvp_ml.documents.strict_yaml import MAX_BYTES, YamlError, read_yaml
from pvp_ml.errors import UserError
from pvp_ml.run.config.presets import Layer, nest
from pvp_ml.run.config.validate import Section, read_settings

Settings = dict[str, Any]
"""Dotted name → value, such as {"ppo.learning_rate": 3e-4}."""


class Range(Section):
    """Numbers between two bounds."""

    low: float = Field(description="smallest value")
    high: float = Field(description="largest value")
    log: bool = Field(False, description="search on a log scale: from 1e-4 to 1e-2, half of the draws are below 1e-3")
    whole: bool = Field(False, description="whole numbers only")

    @model_validator(mode="after")
    def _ordered(self) -> Range:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ValueError(f"low ({self.low:g}) must be below high ({self.high:g})")
        if self.log and self.low <= 0:
            raise ValueError(f"a log range must start above 0, not at {self.low:g}")
        return self


class SweepConfig(Section):
    """A sweep file."""

    preset: str = Field(description="what every trial extends")
    settings: dict[str, Any] = Field({}, description="dotted name → value, the same in every trial")
    ranges: dict[str, Range | tuple[Any, ...]] = Field(
        description="dotted name → {low, high, log, whole}, or a list of choices"
    )
    trial_seconds: Annotated[float, Field(gt=0)] = Field(60.0, description="training seconds of a whole trial")
    rungs: Annotated[int, Field(ge=1, le=8)] = Field(
        3, description="how often a trial is measured; each time the weaker half is stopped and the time doubles"
    )
    goal: str = Field("eval/win_rate", description="the metric to maximise")
    search: Literal["bayes", "random"] = Field("bayes", description="learn from earlier trials, or draw at random")
    first_random: Annotated[int, Field(ge=1)] = Field(8, description="trials drawn at random before bayes takes over")
    reference: bool = Field(True, description="the first trial is the preset as it is, trained whole, to compare with")
    max_trials: Annotated[int, Field(ge=1)] = Field(1000, description="stop after this many")
    seed: Annotated[int, Field(ge=0)] = 0

    @property
    def rung_seconds(self) -> tuple[float, ...]:
        """Training seconds at each measurement: …, a quarter, a half, the whole."""
        return tuple(self.trial_seconds / 2**k for k in reversed(range(self.rungs)))


def read_sweep(path: Path) -> SweepConfig:
    """A sweep file, checked."""
    try:
        with path.open("rb") as file:
            data = read_yaml(file.read(MAX_BYTES + 1))
    except OSError as error:
        raise UserError(f"sweep file '{path}' cannot be read: {error.strerror}", "see docs/sweep.md") from None
    except YamlError as error:
        raise UserError(f"{path}: {error.message}", error.hint) from None
    if not isinstance(data, dict):
        raise UserError(f"{path}: a sweep is a mapping", "it needs 'preset:' and 'ranges:'; see docs/sweep.md")
    config = read_settings(SweepConfig, Layer.of({str(key): value for key, value in data.items()}, str(path)))
    if not config.ranges:
        raise UserError(f"{path}: 'ranges' is empty", "name at least one setting, such as ppo.learning_rate")
    for name, choices in config.ranges.items():
        if not isinstance(choices, Range) and len(choices) < 2:
            raise UserError(f"{path}: ranges: '{name}' has {len(choices)} choices", "give at least two")
    return config


def draw(ranges: Mapping[str, Range | tuple[Any, ...]], rng: np.random.Generator) -> Settings:
    """One random value of every range."""
    return {name: _draw(one, rng) for name, one in ranges.items()}


def _draw(one: Range | tuple[Any, ...], rng: np.random.Generator) -> Any:
    if not isinstance(one, Range):
        return one[int(rng.integers(len(one)))]
    low, high = (math.log(one.low), math.log(one.high)) if one.log else (one.low, one.high)
    value = float(rng.uniform(low, high))
    value = min(max(math.exp(value) if one.log else value, one.low), one.high)
    return round(value) if one.whole else float(f"{value:.4g}")


def preset_data(config: SweepConfig, settings: Settings) -> dict[str, Any]:
    """A trial as a preset: what the sweep fixes and what was drawn, over the sweep's preset."""
    layer = Layer()
    for name, value in (config.settings | settings).items():
        layer = Layer.of(nest(tuple(name.split(".")), value), "sweep").over(layer)
    return {"extends": config.preset, **layer.data}
