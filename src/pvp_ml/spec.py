"""What a game is: its features, heads, rules, signals, reward terms, seats and scenarios.

Stdlib only. Everything is frozen, hashable and JSON-serialisable, so that two programs can compare digests instead of
trusting each other. Shape letters, here and everywhere: M matches, S seats, H heads, A sum of head sizes, D features,
P privileged features, K signals, R reward terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal, Self

from pvp_ml.digest import digest, jsonable
from pvp_ml.errors import UserError

FeatureKind = Literal["real", "flag", "id"]
RuleKind = Literal["all", "any", "none"]
Fold = Literal["sum", "mean", "last", "max", "min"]


class SpecError(UserError):
    """A game description that contradicts itself."""


@dataclass(frozen=True, slots=True)
class Feature:
    """One observed number. `id` features hold a whole number in [0, vocab) and are embedded, never normalised.

    `partial`: the opponent's value of it is hidden from us, so it belongs to the privileged vector.
    `constant`: fixed during a match, so it carries no novelty.
    """

    name: str
    kind: FeatureKind = "real"
    vocab: int | None = None
    partial: bool = False
    constant: bool = False
    doc: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        """An id needs a vocabulary, and only an id has one."""
        if (self.kind == "id") != (self.vocab is not None):
            raise SpecError(
                f"feature '{self.name}': kind '{self.kind}' with vocab {self.vocab}", "only kind 'id' takes a vocab"
            )


@dataclass(frozen=True, slots=True)
class Block:
    """`count` repetitions of the same features, laid out one repetition after the other."""

    name: str
    count: int
    features: tuple[Feature, ...]

    @property
    def width(self) -> int:
        """Numbers in the flat observation that belong to this block."""
        return self.count * len(self.features)


@dataclass(frozen=True, slots=True)
class Rule:
    """A choice is legal only when all / any / none of these picks were made by earlier heads."""

    choice: str
    when: RuleKind
    picks: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Link:
    """A choice is about one row of a block. Networks with pointers judge rows in the same role by the same weights."""

    choice: str
    block: str
    row: int
    role: str


@dataclass(frozen=True, slots=True)
class Head:
    """One discrete choice.

    `fallback` is the choice that becomes legal when mask and rules leave nothing; None makes an empty mask a fault.
    `table` gives each choice's control values where a choice stands for a row of numbers. `links` say which rows of
    the observation a choice is about.
    """

    name: str
    choices: tuple[str, ...]
    rules: tuple[Rule, ...] = ()
    fallback: str | None = None
    table: tuple[tuple[float, ...], ...] | None = None
    links: tuple[Link, ...] = ()
    doc: str = field(default="", compare=False)

    @property
    def size(self) -> int:
        """Number of choices."""
        return len(self.choices)


@dataclass(frozen=True, slots=True)
class Signal:
    """A named number that the game reports per seat and step. `fold` turns a match's steps into one number."""

    name: str
    unit: str = ""
    fold: Fold = "sum"
    doc: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Figure:
    """A number that players talk about: folded signals `of`, summed over matches, for one of `over` (or one match)."""

    name: str
    unit: str
    of: tuple[str, ...]
    over: tuple[str, ...] = ()
    when: Literal["always", "won", "lost"] = "always"


@dataclass(frozen=True, slots=True)
class RewardTerm:
    """A named number, unweighted; presets weigh it."""

    name: str
    unit: str = ""
    doc: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Scenario:
    """Named parameters of one match; values are JSON scalars."""

    name: str
    parameters: tuple[tuple[str, str | int | float | bool], ...] = ()
    doc: str = field(default="", compare=False)


@dataclass(frozen=True)
class Interface:
    """What a policy can read and write: all that a network, a bundle or a sampler needs to know of a game."""

    blocks: tuple[Block, ...]
    heads: tuple[Head, ...]
    privileged: tuple[Block, ...] = ()

    @cached_property
    def obs_size(self) -> int:
        """D."""
        return sum(block.width for block in self.blocks)

    @cached_property
    def privileged_size(self) -> int:
        """P."""
        return sum(block.width for block in self.privileged)

    @cached_property
    def head_sizes(self) -> tuple[int, ...]:
        """Choices per head; its length is H, its sum A."""
        return tuple(head.size for head in self.heads)

    @cached_property
    def mask_size(self) -> int:
        """A."""
        return sum(self.head_sizes)

    @cached_property
    def features(self) -> tuple[Feature, ...]:
        """The D features of the flat observation, in order."""
        return tuple(f for block in self.blocks for _ in range(block.count) for f in block.features)

    @cached_property
    def digest(self) -> str:
        """Equal digests mean that a bundle fits. Privileged features feed only the critic, so they do not count."""
        return digest({"blocks": jsonable(self.blocks), "heads": jsonable(self.heads)})

    def to_json(self) -> dict[str, Any]:
        """A JSON object that `from_json` reads back to an equal interface."""
        return {f.name: jsonable(getattr(self, f.name)) for f in fields(self)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Read what `to_json` wrote."""
        heads, blocks = tuple(_head(h) for h in data["heads"]), tuple(_block(b) for b in data["blocks"])
        check_heads("interface", heads)
        check_links("interface", heads, blocks)
        return cls(blocks, heads, tuple(_block(b) for b in data["privileged"]))


@dataclass(frozen=True)
class GameSpec:
    """The whole description of a game as configured; `teams` lists the seats that win together."""

    name: str
    version: int
    teams: tuple[tuple[int, ...], ...]
    blocks: tuple[Block, ...]
    heads: tuple[Head, ...]
    rewards: tuple[RewardTerm, ...]
    max_steps: int
    privileged: tuple[Block, ...] = ()
    signals: tuple[Signal, ...] = ()
    bots: tuple[str, ...] = ()
    scenarios: tuple[Scenario, ...] = (Scenario("default"),)
    parameters: tuple[tuple[str, str | int | float | bool], ...] = ()

    def __post_init__(self) -> None:
        """Refuse a description that contradicts itself."""
        check_spec(self)

    @cached_property
    def seats(self) -> int:
        """S."""
        return sum(len(team) for team in self.teams)

    @cached_property
    def interface(self) -> Interface:
        """The part that a policy depends on."""
        return Interface(self.blocks, self.heads, self.privileged)

    @property
    def obs_size(self) -> int:
        """D."""
        return self.interface.obs_size

    @property
    def privileged_size(self) -> int:
        """P."""
        return self.interface.privileged_size

    @property
    def head_sizes(self) -> tuple[int, ...]:
        """Choices per head; its length is H, its sum A."""
        return self.interface.head_sizes

    @property
    def mask_size(self) -> int:
        """A."""
        return self.interface.mask_size

    @property
    def features(self) -> tuple[Feature, ...]:
        """The D features of the flat observation, in order."""
        return self.interface.features

    @property
    def interface_digest(self) -> str:
        """What a policy can read and write: equal digests mean that a bundle fits."""
        return self.interface.digest

    @cached_property
    def game_digest(self) -> str:
        """Everything that a run depends on: equal digests mean that a run may resume."""
        return digest(self.to_json())

    def team_of(self, seat: int) -> int:
        """Index of the team that the seat plays for."""
        return next(i for i, team in enumerate(self.teams) if seat in team)

    def scenario(self, name: str) -> Scenario:
        """The scenario of that name."""
        for scenario in self.scenarios:
            if scenario.name == name:
                return scenario
        known = ", ".join(s.name for s in self.scenarios)
        raise UserError(f"game '{self.name}' has no scenario '{name}'", f"choose one of: {known}")

    def to_json(self) -> dict[str, Any]:
        """A JSON object that `from_json` reads back to an equal spec."""
        return {f.name: jsonable(getattr(self, f.name)) for f in fields(self)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Read what `to_json` wrote."""
        known = {f.name for f in fields(cls)}
        if unknown := sorted(set(data) - known):
            raise SpecError(f"game description has unknown keys {unknown}", f"known keys: {sorted(known)}")
        try:
            return cls(**cls._fields(data))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise SpecError(f"game description is malformed: {error!r}"[:300]) from error

    @staticmethod
    def _fields(data: dict[str, Any]) -> dict[str, Any]:
        return {
            **data,
            "teams": tuple(tuple(team) for team in data["teams"]),
            "blocks": tuple(_block(b) for b in data["blocks"]),
            "privileged": tuple(_block(b) for b in data.get("privileged", ())),
            "heads": tuple(_head(h) for h in data["heads"]),
            "rewards": tuple(RewardTerm(**r) for r in data["rewards"]),
            "signals": tuple(Signal(**s) for s in data.get("signals", ())),
            "bots": tuple(data.get("bots", ())),
            "scenarios": tuple(
                Scenario(**{**s, "parameters": _pairs(s["parameters"])}) for s in data.get("scenarios", ())
            ),
            "parameters": _pairs(data.get("parameters", ())),
        }


def check_spec(spec: GameSpec) -> None:
    """Raise SpecError for the first contradiction: double names, dangling rules, seats that do not count up from 0."""
    seats = sorted(seat for team in spec.teams for seat in team)
    if not seats or seats != list(range(len(seats))):
        raise SpecError(f"game '{spec.name}': teams {spec.teams} must use each seat 0…{len(seats) - 1} once")
    if spec.max_steps < 1:
        raise SpecError(f"game '{spec.name}': max_steps is {spec.max_steps}", "every game has a step cap of at least 1")
    if empty := [b.name for b in (*spec.blocks, *spec.privileged) if b.count < 1 or not b.features]:
        raise SpecError(f"game '{spec.name}': block '{empty[0]}' is empty", "count and features must be at least 1")
    for what, names in (
        ("block", [b.name for b in (*spec.blocks, *spec.privileged)]),
        ("head", [h.name for h in spec.heads]),
        ("signal", [s.name for s in spec.signals]),
        ("reward term", [r.name for r in spec.rewards]),
        ("scenario", [s.name for s in spec.scenarios]),
        ("bot", list(spec.bots)),
    ):
        if len(set(names)) < len(names):
            raise SpecError(f"game '{spec.name}': {what} names are not unique: {names}")
    check_heads(spec.name, spec.heads)
    check_links(spec.name, spec.heads, spec.blocks)


def check_links(owner: str, heads: tuple[Head, ...], blocks: tuple[Block, ...]) -> None:
    """Raise SpecError for a link to a choice or a row that is not there."""
    counts = {block.name: block.count for block in blocks}
    for head in heads:
        choices = set(head.choices)
        for link in head.links:
            if link.choice not in choices or not 0 <= link.row < counts.get(link.block, 0):
                raise SpecError(
                    f"game '{owner}', head '{head.name}': link of '{link.choice}' to row {link.row} of "
                    f"'{link.block}', which is not there"
                )


def check_heads(owner: str, heads: tuple[Head, ...]) -> None:
    """Raise SpecError for a head that contradicts itself or whose rules name a later head."""
    earlier: dict[str, Head] = {}
    for head in heads:
        _check_head(owner, head, earlier)
        earlier[head.name] = head


def _check_head(game: str, head: Head, earlier: dict[str, Head]) -> None:
    where = f"game '{game}', head '{head.name}'"
    if head.size < 1 or len(set(head.choices)) < head.size:
        raise SpecError(f"{where}: choices must be at least one and unique, got {head.choices}")
    if head.fallback is not None and head.fallback not in head.choices:
        raise SpecError(f"{where}: fallback '{head.fallback}' is not one of its choices")
    if head.table is not None and len(head.table) != head.size:
        raise SpecError(f"{where}: table has {len(head.table)} rows for {head.size} choices")
    seen: set[tuple[str, RuleKind]] = set()
    for rule in head.rules:
        if rule.choice not in head.choices:
            raise SpecError(f"{where}: rule for unknown choice '{rule.choice}'")
        if (rule.choice, rule.when) in seen:
            raise SpecError(
                f"{where}: choice '{rule.choice}' has two '{rule.when}' rules", "put the picks into one rule"
            )
        seen.add((rule.choice, rule.when))
        for pick_head, pick in rule.picks:
            if pick_head not in earlier or pick not in earlier[pick_head].choices:
                raise SpecError(
                    f"{where}: rule of '{rule.choice}' needs '{pick_head}.{pick}', which no earlier head has"
                )


def _pairs(items: Sequence[Sequence[Any]]) -> tuple[tuple[str, Any], ...]:
    return tuple((key, value) for key, value in items)


def _block(data: dict[str, Any]) -> Block:
    return Block(data["name"], data["count"], tuple(Feature(**f) for f in data["features"]))


def _head(data: dict[str, Any]) -> Head:
    rules = tuple(
        Rule(r["choice"], r["when"], tuple((head, choice) for head, choice in r["picks"]))
        for r in data.get("rules", ())
    )
    table = data.get("table")
    return Head(
        **{
            **data,
            "choices": tuple(data["choices"]),
            "rules": rules,
            "links": tuple(Link(**link) for link in data.get("links", ())),
            "table": None if table is None else tuple(tuple(row) for row in table),
        }
    )
