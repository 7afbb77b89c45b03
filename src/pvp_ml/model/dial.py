"""The strength dial: how a player is held back, and which setting makes a model as strong as somebody wants it.

A *handicap* from 0 (full strength) to 1 moves all parts of the dial together: later reactions, more mistakes, flatter
choices. What a handicap costs a model is measured (`pvp-ml model dial`) and kept beside its file as a `StrengthMap`;
strength 1…100 then spreads the measured ratings evenly.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pvp_ml.data_files import replace_file
from pvp_ml.documents.strict_json import parse_json
from pvp_ml.errors import UserError

MAX_TEMPERATURE, MAX_DELAY, MAX_SKIP, MAX_STRENGTH = 100.0, 120, 120, 100
FORMAT = 1
MAX_POINTS = 101
MAX_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Dial:
    """How a player is held back; the defaults are full strength.

    temperature: of its choices; 0 is greedy, 1 as trained
    delay: it sees what was there so many of its decisions ago; 1.5 is one or two, by chance
    skip: it decides only every so many steps and holds its last choice in between
    mistakes: chance that a decision is a random legal one instead
    strength: 1…100 in place of all of these, by the model's measured map; 0 = not given
    """

    temperature: float = 1.0
    delay: float = 0
    skip: int = 1
    mistakes: float = 0.0
    strength: int = 0

    def __post_init__(self) -> None:
        """Refuse what is out of range."""
        limits = {
            "temperature": (0.0, MAX_TEMPERATURE),
            "delay": (0, MAX_DELAY),
            "skip": (1, MAX_SKIP),
            "mistakes": (0, 1),
            "strength": (0, MAX_STRENGTH),
        }
        for name, (low, high) in limits.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise UserError(f"{name} is {value}", f"from {low:g} to {high:g}")
        if self.strength and (self.temperature, self.delay, self.skip, self.mistakes) != (1.0, 0, 1, 0.0):
            raise UserError(
                "strength sets temperature, delay, skip and mistakes itself", "give strength, or the others"
            )

    @property
    def is_slow(self) -> bool:
        """Whether observations or decisions are held back, or some of them are mistakes."""
        return self.delay > 0 or self.skip > 1 or self.mistakes > 0


def handicap_dial(handicap: float) -> Dial:
    """The dial at a handicap of 0…1."""
    h = min(1.0, max(0.0, handicap))
    return Dial(round(1.0 + h, 4), round(3.0 * h, 4), 1, round(0.9 * h**1.5, 4))


@dataclass(frozen=True, slots=True)
class MapPoint:
    """A measured handicap: rating in Elo points with its 95 % interval, from so many matches."""

    handicap: float
    rating: float
    low: float
    high: float
    matches: int


@dataclass(frozen=True, slots=True)
class StrengthMap:
    """What handicaps cost one model. `model` is its content hash, `scale` says whose points the ratings are."""

    model: str
    game: str
    scale: str
    date: str
    points: tuple[MapPoint, ...]

    def ratings(self) -> list[float]:
        """Measured ratings, made to fall: neighbours that measured the wrong way round take their mean."""
        return _falling([point.rating for point in self.points])

    def handicap(self, strength: int) -> float:
        """The handicap for strength 1…100: ratings from the lowest to the highest in equal steps."""
        if not 1 <= strength <= MAX_STRENGTH:
            raise UserError(f"strength is {strength}", f"from 1 to {MAX_STRENGTH}")
        if strength == MAX_STRENGTH:  # the model as it is, however alike the first handicaps rated
            return 0.0
        rising, handicaps = self.ratings()[::-1], [point.handicap for point in self.points][::-1]
        return float(np.interp(self.rating(strength), rising, handicaps))

    def dial(self, strength: int) -> Dial:
        """The setting for strength 1…100."""
        return handicap_dial(self.handicap(strength))

    def rating(self, strength: int) -> float:
        """The rating that this strength stands for."""
        ratings = self.ratings()
        return float(ratings[-1] + (ratings[0] - ratings[-1]) * (strength - 1) / (MAX_STRENGTH - 1))


UNMEASURED = tuple(MapPoint(h, 1000.0 - 1000.0 * h, 0.0, 0.0, 0) for h in (0.0, 1.0))
"""Without a map, strength is the handicap turned round."""


def map_path(model: Path) -> Path:
    """Where the map of a model file lies: beside it."""
    return model.with_name(f"{model.stem}.dial.json")


def write_map(path: Path, found: StrengthMap) -> None:
    """Keep a map."""
    replace_file(path, (json.dumps({"format": FORMAT, **asdict(found)}, indent=1) + "\n").encode())


def read_map(path: Path) -> StrengthMap:
    """A map from its file; whatever is not one is refused."""
    try:
        with path.open("rb") as file:
            data = parse_json(file.read(MAX_BYTES + 1), f"strength map '{path.name}'", MAX_BYTES)
    except OSError as error:
        raise UserError(f"cannot read strength map '{path}': {error.strerror}") from None
    try:
        if data["format"] != FORMAT or not 2 <= len(data["points"]) <= MAX_POINTS:
            raise ValueError("another format, or not 2 to 101 points")
        points = tuple(_point(point) for point in data["points"])
        handicaps = [point.handicap for point in points]
        if handicaps != sorted(set(handicaps)) or handicaps[0] != 0.0 or handicaps[-1] > 1.0:
            raise ValueError("handicaps do not rise from 0 to at most 1")
        model, game, scale, date = (str(data[key]) for key in ("model", "game", "scale", "date"))
        return StrengthMap(model, game, scale, date, points)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"'{path.name}' is no strength map: {str(error)[:120]}", "measure it again: `pvp-ml model dial`"
        ) from None


def map_of(model: Path, content_hash: str, game: str) -> StrengthMap:
    """The map that lies beside a model and was measured with it; else one that nobody measured."""
    path = map_path(model)
    if path.is_file():
        found = read_map(path)
        if found.model == content_hash:
            return found
    return StrengthMap(content_hash, game, "not measured", "", UNMEASURED)


def settled(dial: Dial, model: Path, content_hash: str, game: str) -> Dial:
    """The dial with a strength made into its parts."""
    return map_of(model, content_hash, game).dial(dial.strength) if dial.strength else dial


def _point(data: Any) -> MapPoint:
    handicap, rating, low, high = (float(data[key]) for key in ("handicap", "rating", "low", "high"))
    if max(map(abs, (handicap, rating, low, high))) > 1e5:  # the reader has refused what is not finite
        raise ValueError("a number is out of range")
    return MapPoint(handicap, rating, low, high, int(data["matches"]))


def _falling(values: list[float]) -> list[float]:
    """The nearest list that never rises (pool adjacent violators)."""
    pools: list[tuple[float, int]] = []
    for value in values:
        pools.append((value, 1))
        while len(pools) > 1 and pools[-1][0] > pools[-2][0]:
            (a, n), (b, m) = pools.pop(), pools.pop()
            pools.append(((a * n + b * m) / (n + m), n + m))
    return [mean for mean, count in pools for _ in range(count)]
