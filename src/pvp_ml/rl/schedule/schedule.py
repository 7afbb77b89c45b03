"""Numbers that change during a run: every numeric hyper-parameter is a schedule, a plain number a constant one.

A schedule reads a clock `t`: finished rollouts (as in the original's presets), environment steps, or the finished share
of the whole run (0…1). It holds no state: its value depends on the progress and the given generator alone.
"""

from __future__ import annotations

import contextlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, Literal, Self, get_args

import numpy as np
from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from pvp_ml.errors import UserError
from pvp_ml.rl.schedule.expression import Expression, ExpressionError

Clock = Literal["rollouts", "steps", "run"]
CLOCKS: tuple[str, ...] = get_args(Clock)
MAX_NESTING = 4
MAX_JUMPS = 64


class ScheduleError(UserError, ValueError):
    """A schedule that contradicts itself, or has no value now."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is. `total_steps` 0 means that it runs until somebody stops it."""

    steps: int = 0
    rollouts: int = 0
    total_steps: int = 0

    def read(self, clock: Clock) -> float:
        """The time `t` on that clock."""
        if clock == "rollouts":
            return float(self.rollouts)
        if clock == "steps":
            return float(self.steps)
        if self.total_steps <= 0:
            raise ScheduleError("a schedule with 'clock: run' needs a run that ends", "set run.total_steps")
        return min(1.0, self.steps / self.total_steps)


START = Progress(0, 0, 1)


class Schedule(ABC):
    """A number per moment of a run. Build one with `Schedule.parse`, read it with `at`."""

    @abstractmethod
    def at(self, progress: Progress, rng: np.random.Generator | None = None, **variables: float) -> float:
        """The value now; `variables` are further names that an expression may read."""

    @abstractmethod
    def to_data(self) -> Any:
        """A number or mapping that `parse` reads back to an equal schedule."""

    def known_values(self) -> tuple[float, ...]:
        """Values that it is known to take: what a range check can see before the run."""
        return ()

    @classmethod
    def parse(cls, data: object, nesting: int = 0) -> Schedule:
        """Read a number, or a mapping with `type`; keys with dashes or underscores."""
        if isinstance(data, Schedule):
            return data
        if isinstance(data, int | float | str) and not isinstance(data, bool):
            return Constant(_number("", data))
        if not isinstance(data, Mapping):
            raise ScheduleError(f"a schedule is a number or a mapping with 'type', got {_show(data)}")
        if nesting > MAX_NESTING:
            raise ScheduleError(f"schedules are nested more than {MAX_NESTING} deep")
        items = {str(key).replace("-", "_"): value for key, value in data.items()}
        kind = items.pop("type", None)
        if not isinstance(kind, str) or kind not in KINDS:
            raise ScheduleError(f"schedule type {_show(kind)} is unknown", f"choose one of: {', '.join(KINDS)}")
        return KINDS[kind].from_items(kind, items, nesting)

    @classmethod
    def from_items(cls, kind: str, items: dict[str, Any], nesting: int) -> Self:
        """Build this type from the mapping's other keys; nested schedules are read one level deeper."""
        known = {f.name: f for f in fields(cls)}  # type: ignore[arg-type]
        if unknown := sorted(set(items) - set(known)):
            raise ScheduleError(f"schedule type '{kind}' has no field '{unknown[0]}'", f"fields: {', '.join(known)}")
        required = [n for n, f in known.items() if f.default is MISSING and n not in items]
        if required:
            raise ScheduleError(f"schedule type '{kind}' needs '{required[0]}'")
        schedule = cls(**{name: READERS[name](name, value, nesting) for name, value in items.items()})
        schedule.at(START, np.random.default_rng(0))
        return schedule

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """A config field of this type reads and writes the same data as `parse` and `to_data`."""
        return core_schema.no_info_plain_validator_function(
            Schedule.parse, serialization=core_schema.plain_serializer_function_ser_schema(lambda s: s.to_data())
        )


@dataclass(frozen=True, slots=True)
class Constant(Schedule):
    """Always the same."""

    value: float

    def __post_init__(self) -> None:
        """Only finite numbers."""
        _number("value", self.value)

    def at(self, progress: Progress, rng: np.random.Generator | None = None, **variables: float) -> float:
        """The value."""
        return self.value

    def to_data(self) -> float:
        """The number itself."""
        return self.value

    def known_values(self) -> tuple[float, ...]:
        """The value."""
        return (self.value,)


@dataclass(frozen=True, slots=True)
class Linear(Schedule):
    """From `initial_value` to `final_value` in equal steps while `t` goes from 0 to `change_over_time_steps`."""

    initial_value: float
    final_value: float
    change_over_time_steps: float | None = None
    clock: Clock = "rollouts"
    round_value: bool = False
    round_digits: int | None = None

    def __post_init__(self) -> None:
        """Refuse a change over no time."""
        _span(self.change_over_time_steps, self.clock)

    def at(self, progress: Progress, rng: np.random.Generator | None = None, **variables: float) -> float:
        """Interpolated, then rounded if asked for."""
        done = _share(progress, self.clock, self.change_over_time_steps)
        value = self.initial_value + (self.final_value - self.initial_value) * done
        return float(round(value, self.round_digits or 0)) if self.round_value else value

    def to_data(self) -> dict[str, Any]:
        """As written, defaults left out."""
        return _data("linear", self)

    def known_values(self) -> tuple[float, ...]:
        """Both ends."""
        return (self.initial_value, self.final_value)


@dataclass(frozen=True, slots=True)
class Log(Schedule):
    """From `initial_value` to `final_value` by equal factors. `base` changes nothing but rounding."""

    initial_value: float
    final_value: float
    change_over_time_steps: float | None = None
    clock: Clock = "rollouts"
    base: float = 10.0

    def __post_init__(self) -> None:
        """A factor needs positive ends."""
        _span(self.change_over_time_steps, self.clock)
        if min(self.initial_value, self.final_value) <= 0:
            raise ScheduleError(
                f"schedule type 'log' goes from {self.initial_value} to {self.final_value}", "both must be above 0"
            )
        if self.base <= 0 or self.base == 1:
            raise ScheduleError(f"schedule type 'log' has base {self.base}", "use a base above 0 that is not 1")

    def at(self, progress: Progress, rng: np.random.Generator | None = None, **variables: float) -> float:
        """Interpolated between the logarithms."""
        done = _share(progress, self.clock, self.change_over_time_steps)
        low, high = math.log(self.initial_value, self.base), math.log(self.final_value, self.base)
        return float(self.base ** (low + (high - low) * done))

    def to_data(self) -> dict[str, Any]:
        """As written, defaults left out."""
        return _data("log", self)

    def known_values(self) -> tuple[float, ...]:
        """Both ends."""
        return (self.initial_value, self.final_value)


@dataclass(frozen=True, slots=True)
class Jump(Schedule):
    """The entry with the largest threshold that is not above `t`; entries may be schedules, which see the same time."""

    jumps: tuple[tuple[float, Schedule], ...]
    clock: Clock = "rollouts"

    def __post_init__(self) -> None:
        """Thresholds rise from 0 or below, so that every moment has an entry."""
        thresholds = [threshold for threshold, _ in self.jumps]
        if not thresholds or thresholds != sorted(set(thresholds)) or thresholds[0] > 0:
            raise ScheduleError(f"jumps at {thresholds}", "thresholds must rise, and the first must be 0")

    def at(self, progress: Progress, rng: np.random.Generator | None = None, **variables: float) -> float:
        """The value of the entry that holds now."""
        now = progress.read(self.clock)
        entry = next(schedule for threshold, schedule in reversed(self.jumps) if threshold <= now)
        return entry.at(progress, rng, **variables)

    def to_data(self) -> dict[str, Any]:
        """As written, defaults left out."""
        return {**_data("jump", self), "jumps": {t: schedule.to_data() for t, schedule in self.jumps}}

    def known_values(self) -> tuple[float, ...]:
        """Those of all entries."""
        return tuple(value for _, schedule in self.jumps for value in schedule.known_values())


@dataclass(frozen=True)
class Formula(Schedule):
    """Arithmetic over `t`, `steps`, `rollouts`, the named schedules in `substitutions`, and names given at the call.

    A name is looked up in the substitutions, then in what the call gives, then in `defaults`.
    """

    expression: Expression
    substitutions: tuple[tuple[str, Schedule], ...] = ()
    defaults: tuple[tuple[str, float], ...] = ()
    clock: Clock = "rollouts"

    def at(self, progress: Progress, rng: np.random.Generator | None = None, **variables: float) -> float:
        """Evaluate; a value that is no finite number is an error that shows the time."""
        names: dict[str, float] = dict(self.defaults)
        names.update(variables)
        names.update({name: schedule.at(progress, rng) for name, schedule in self.substitutions})
        names.update(t=progress.read(self.clock), steps=float(progress.steps), rollouts=float(progress.rollouts))
        value = float(self.expression.evaluate({n: names[n] for n in self.expression.names & set(names)}, rng))
        if not math.isfinite(value):
            raise ScheduleError(f"expression '{self.expression.text}' is {value} at t = {names['t']:g}")
        return value

    def to_data(self) -> dict[str, Any]:
        """As written, defaults left out."""
        data = {**_data("expression", self), "expression": self.expression.text}
        if self.substitutions:
            data["substitutions"] = {name: schedule.to_data() for name, schedule in self.substitutions}
        if self.defaults:
            data["defaults"] = dict(self.defaults)
        return data


KINDS: dict[str, type[Schedule]] = {
    "constant": Constant,
    "linear": Linear,
    "log": Log,
    "jump": Jump,
    "steps": Jump,
    "expression": Formula,
}


def at(value: Schedule | float, progress: Progress, rng: np.random.Generator | None = None) -> float:
    """The value now of a schedule or of a plain number."""
    return value.at(progress, rng) if isinstance(value, Schedule) else float(value)


@dataclass(frozen=True, slots=True)
class Within:
    """Marks a config field's range: `Annotated[Schedule, Within(0, 1)]`. Checks every value known before the run."""

    low: float = -math.inf
    high: float = math.inf
    above: float = -math.inf

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The field's own schema, then the range."""
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def check(self, value: Schedule | float) -> Schedule | float:
        """The value, if it is inside."""
        for number in value.known_values() if isinstance(value, Schedule) else (value,):
            if not self.low <= number <= self.high or number <= self.above:
                raise ScheduleError(f"{number:g} is out of range", f"use {self.words()}")
        return value

    def words(self) -> str:
        """The range as people say it."""
        parts = [f"more than {self.above:g}"] if self.above > -math.inf else []
        parts += [f"at least {self.low:g}"] if self.low > -math.inf else []
        parts += [f"at most {self.high:g}"] if self.high < math.inf else []
        return " and ".join(parts)


def _share(progress: Progress, clock: Clock, span: float | None) -> float:
    return min(1.0, progress.read(clock) / (1.0 if span is None else span))


def _span(span: float | None, clock: Clock) -> None:
    if span is None and clock != "run":
        raise ScheduleError(f"a schedule with 'clock: {clock}' needs 'change_over_time_steps'")
    if span is not None and span <= 0:
        raise ScheduleError(f"change_over_time_steps is {span:g}", "use a number above 0")


def _data(kind: str, schedule: Schedule) -> dict[str, Any]:
    plain = {f.name: (f.default, getattr(schedule, f.name)) for f in fields(schedule)}  # type: ignore[arg-type]
    changed = {name: value for name, (default, value) in plain.items() if value != default}
    return {"type": kind, **changed}


def _show(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _plain(value: object) -> object:
    """YAML 1.1 reads `3e-4` as text; a number is a number all the same."""
    if isinstance(value, str) and len(value) <= 40:
        with contextlib.suppress(ValueError):
            return float(value)
    return value


def _number(name: str, value: object, nesting: int = 0) -> float:
    number = _plain(value)
    if isinstance(number, int | float) and not isinstance(number, bool) and abs(number) < 1e300:
        return float(number)
    what = f"schedule field '{name}' is {_show(value)}" if name else f"{_show(value)} is not a number"
    raise ScheduleError(what, "use a finite number")


def _text(name: str, value: object, nesting: int) -> Expression:
    if not isinstance(value, str | int | float):
        raise ExpressionError(f"schedule field '{name}' is {_show(value)}", "write arithmetic, such as 't / 100'")
    return Expression(str(value))


def _clock(name: str, value: object, nesting: int) -> str:
    if value not in CLOCKS:
        raise ScheduleError(f"schedule field 'clock' is {_show(value)}", f"choose one of: {', '.join(CLOCKS)}")
    return str(value)


def _flag(name: str, value: object, nesting: int) -> bool:
    if not isinstance(value, bool):
        raise ScheduleError(f"schedule field '{name}' is {_show(value)}", "use true or false")
    return value


def _digits(name: str, value: object, nesting: int) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not -10 <= value <= 15:
        raise ScheduleError(f"schedule field '{name}' is {_show(value)}", "use a whole number from -10 to 15")
    return value


def _entries(name: str, value: object, limit: int) -> dict[Any, Any]:
    if not isinstance(value, Mapping) or len(value) > limit:
        raise ScheduleError(f"schedule field '{name}' is {_show(value)}", f"use a mapping of at most {limit} entries")
    return dict(value)


def _jumps(name: str, value: object, nesting: int) -> tuple[tuple[float, Schedule], ...]:
    entries = _entries(name, value, MAX_JUMPS).items()
    return tuple((_number(name, key), Schedule.parse(entry, nesting + 1)) for key, entry in entries)


def _substitutions(name: str, value: object, nesting: int) -> tuple[tuple[str, Schedule], ...]:
    entries = _entries(name, value, MAX_JUMPS).items()
    return tuple((str(key), Schedule.parse(entry, nesting + 1)) for key, entry in entries)


def _defaults(name: str, value: object, nesting: int) -> tuple[tuple[str, float], ...]:
    return tuple((str(key), _number(str(key), number)) for key, number in _entries(name, value, MAX_JUMPS).items())


READERS: dict[str, Callable[[str, object, int], Any]] = {
    "value": _number,
    "initial_value": _number,
    "final_value": _number,
    "change_over_time_steps": _number,
    "base": _number,
    "round_value": _flag,
    "round_digits": _digits,
    "clock": _clock,
    "jumps": _jumps,
    "expression": _text,
    "substitutions": _substitutions,
    "defaults": _defaults,
}
