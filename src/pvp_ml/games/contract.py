"""Contract files: the heads and features of a game as data (`contracts/environments/*.json`, see docs/contracts.md).

A file may come from anybody, so limits come first, unknown keys are refused by name, and every complaint says where.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pvp_ml import data_files
from pvp_ml.errors import UserError
from pvp_ml.spec import Block, Feature, Head, Rule, RuleKind

MAX_BYTES = 1 << 20
MAX_HEADS = 256
MAX_CHOICES = 4_096  # over all heads
MAX_FEATURES = 65_536
MAX_ID_LENGTH = 128
MAX_TEXT_LENGTH = 2_000
_RULES: dict[str, RuleKind] = {"require_all": "all", "require_any": "any", "require_none": "none"}


class ContractError(UserError):
    """A contract file that cannot be read as one."""


@dataclass(frozen=True, slots=True)
class Contract:
    """Heads in order and features in vector order. Choice 0 of a head is its no-op and its fallback."""

    name: str
    heads: tuple[Head, ...]
    features: tuple[Feature, ...]

    @property
    def observation(self) -> Block:
        """Everything a seat sees, as one block."""
        return Block("observation", 1, self.features)

    @property
    def hidden(self) -> Block:
        """The features whose opponent's value is hidden: what a privileged critic adds."""
        return Block("hidden", 1, tuple(f for f in self.features if f.partial))


def load_contract(name: str, working_directory: Path | None = None) -> Contract:
    """The contract of that name or path: as given, then contracts/environments here, in the user folder, packaged."""
    here = Path.cwd() if working_directory is None else working_directory
    path = data_files.find("contracts", name, (".json",), here)
    path = path or data_files.find("contracts", f"environments/{name}", (".json",), here)
    if path is None:
        known = sorted({Path(n).name for n, _ in data_files.listed("contracts", (".json",), here)})
        close = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean '{close[0]}'?" if close else f"known contracts: {', '.join(known) or 'none'}"
        raise ContractError(f"there is no contract '{name}'", hint)
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    return parse_contract(data, path.stem)


def parse_contract(data: bytes, name: str) -> Contract:
    """Read the bytes of a contract file; raises ContractError with the place of the first mistake."""
    if len(data) > MAX_BYTES:
        raise ContractError(f"contract '{name}' is larger than {MAX_BYTES} bytes")
    try:
        content = json.loads(data.decode("utf-8"), object_pairs_hook=_no_double_keys)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ContractError(f"contract '{name}' is not JSON: {str(error)[:200]}") from error
    where = f"contract '{name}'"
    _keys(content, where, required=("actions", "observations"))
    heads = _list(content["actions"], f"{where}, actions", MAX_HEADS)
    features = _list(content["observations"], f"{where}, observations", MAX_FEATURES)
    return Contract(name, _heads(heads, where), _features(features, where))


def _heads(items: list[Any], where: str) -> tuple[Head, ...]:
    owners: dict[str, str] = {}  # choice id → head id, earlier heads only
    heads: list[Head] = []
    for h, item in enumerate(items):
        place = f"{where}, actions[{h}]"
        _keys(item, place, required=("id", "description", "actions"))
        name = _id(item, place)
        choices = _list(item["actions"], f"{place}.actions", MAX_CHOICES - len(owners))
        rules: list[Rule] = []
        ids: list[str] = []
        for c, choice in enumerate(choices):
            spot = f"{place}.actions[{c}]"
            _keys(choice, spot, required=("id", "description"), optional=("dependencies",))
            ids.append(_id(choice, spot))
            _text(choice, spot)
            rules += _rules(choice, ids[-1], owners, spot)
        _unique((*owners, *ids), f"{place}: action ids")
        owners.update(dict.fromkeys(ids, name))
        heads.append(Head(name, tuple(ids), tuple(rules), fallback=ids[0], doc=_text(item, place)))
    _unique((head.name for head in heads), f"{where}: head ids")
    return tuple(heads)


def _rules(choice: dict[str, Any], name: str, owners: dict[str, str], where: str) -> list[Rule]:
    needs = choice.get("dependencies", {})
    _keys(needs, f"{where}.dependencies", optional=tuple(_RULES))
    rules = []
    for key, when in _RULES.items():
        picks = []
        for pick in _list(needs.get(key, []), f"{where}.dependencies.{key}", MAX_CHOICES, least=0):
            if not isinstance(pick, str) or pick not in owners:
                close = difflib.get_close_matches(str(pick)[:MAX_ID_LENGTH], owners, 1)
                hint = f"did you mean '{close[0]}'?" if close else "only actions of earlier heads can be named"
                raise ContractError(f"{where}.dependencies.{key}: no earlier head has {_short(pick)}", hint)
            picks.append((owners[pick], pick))
        if picks:
            rules.append(Rule(name, when, tuple(picks)))
    return rules


def _features(items: list[Any], where: str) -> tuple[Feature, ...]:
    features = []
    for i, item in enumerate(items):
        place = f"{where}, observations[{i}]"
        _keys(item, place, required=("id", "description"), optional=("partial", "constant"))
        flags = {key: item.get(key, False) for key in ("partial", "constant")}
        for key, value in flags.items():
            if not isinstance(value, bool):
                raise ContractError(f"{place}.{key} is {_short(value)}", "write true or false")
        features.append(Feature(_id(item, place), doc=_text(item, place), **flags))
    _unique((feature.name for feature in features), f"{where}: observation ids")
    return tuple(features)


def _keys(value: Any, where: str, required: tuple[str, ...] = (), optional: tuple[str, ...] = ()) -> None:
    if not isinstance(value, dict):
        raise ContractError(f"{where} is {_short(value)}", "an object is expected")
    known = (*required, *optional)
    for key in value:
        if key not in known:
            close = difflib.get_close_matches(key[:MAX_ID_LENGTH], known, 1)
            hint = f"did you mean '{close[0]}'?" if close else f"known keys: {', '.join(known)}"
            raise ContractError(f"{where} has the unknown key {_short(key)}", hint)
    for key in required:
        if key not in value:
            raise ContractError(f"{where} has no '{key}'", f"it needs: {', '.join(required)}")


def _list(value: Any, where: str, most: int, least: int = 1) -> list[Any]:
    if not isinstance(value, list):
        raise ContractError(f"{where} is {_short(value)}", "a list is expected")
    if not least <= len(value) <= most:
        raise ContractError(f"{where} has {len(value)} entries, allowed are {least} to {most}")
    return value


def _id(item: dict[str, Any], where: str) -> str:
    value = item["id"]
    if not isinstance(value, str) or not value.isprintable() or not 1 <= len(value) <= MAX_ID_LENGTH:
        raise ContractError(f"{where}.id is {_short(value)}", f"1 to {MAX_ID_LENGTH} printable characters are expected")
    return value


def _text(item: dict[str, Any], where: str) -> str:
    value = item["description"]
    if not isinstance(value, str) or len(value) > MAX_TEXT_LENGTH:
        raise ContractError(f"{where}.description is {_short(value)}", f"text up to {MAX_TEXT_LENGTH} characters")
    return value


def _unique(names: Iterable[str], what: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ContractError(f"{what} are not unique: '{name}' occurs twice")
        seen.add(name)


def _no_double_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        double = next(key for key in keys if keys.count(key) > 1)
        raise ContractError(f"a contract file has the key {_short(double)} twice in one object")
    return found


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
