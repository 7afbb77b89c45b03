"""Reading an account that somebody wrote: limits first, and complaints that name item, slot and limit."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from pvp_ml.documents.strict_yaml import YamlError, read_yaml
from pvp_ml.errors import UserError
from pvp_ml.games.osrs.accounts.account import SETS, STYLES, Account

MAX_BYTES = 16 * 1024
MAX_TITLE = 80
SHIPPED = Path(__file__).parent.parent / "data" / "accounts"
KEYS = ("title", "build", "levels", "spellbook", "fight_type", "prayers", "gear", "inventory", "food")
SPELLBOOKS = ("ancient", "lunar")
BUILDS = ("PURE", "ZERKER", "MED", "MAXED", "LMS_PURE", "LMS_ZERKER", "LMS_MED")
FIGHT_TYPES = ("NORMAL", "LMS", "PVP_ARENA")


class AccountError(UserError, ValueError):
    """An account that cannot fight as it is written."""


def shipped() -> tuple[str, ...]:
    """Names of the accounts that come with the game."""
    return tuple(sorted(path.stem for path in SHIPPED.glob("*.yml")))


def is_content(text: str) -> bool:
    """Whether a setting holds an account itself, not the name of a file."""
    return text.lstrip()[:1] == "{"


def load(name: str, working_directory: Path) -> Account:
    """An account by its shipped name or its file; the text of one is taken as it is."""
    if is_content(name):
        return parse(name, "account")
    path = working_directory / name
    if not path.is_file():
        path = SHIPPED / f"{name}.yml"
        if name not in shipped():
            close = difflib.get_close_matches(name, shipped(), 1)
            hint = f"did you mean '{close[0]}'? Shipped: " if close else "give a file, or one of: "
            raise AccountError(f"there is no account '{name[:80]}'", hint + ", ".join(shipped()))
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise AccountError(f"cannot read account '{name[:80]}': {error.strerror}") from None
    if len(data) > MAX_BYTES:
        raise AccountError(f"account '{name[:80]}' has more than {MAX_BYTES} bytes")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise AccountError(f"account '{name[:80]}' is not text") from None
    return parse(text, f"account '{path.stem[:40]}'")


@lru_cache(maxsize=64)
def parse(text: str, where: str) -> Account:
    """The account in a YAML (or JSON) text; `where` is what complaints call it."""
    from pvp_ml.games.osrs.accounts.check import check

    if len(text) > MAX_BYTES:
        raise AccountError(f"{where} has more than {MAX_BYTES} characters")
    try:
        data = read_yaml(text)
    except YamlError as error:
        raise AccountError(f"{where}: {error.message}") from None
    account = _account(_mapping(data, where, KEYS), where)
    check(account, where)
    return account


def _account(data: Mapping[str, Any], where: str) -> Account:
    for key in ("levels", "gear"):
        if key not in data:
            raise AccountError(f"{where} has no '{key}'", f"an account has: {', '.join(KEYS)}")
    from pvp_ml.games.osrs.state import SKILLS

    levels = _mapping(data["levels"], f"{where}: levels", SKILLS)
    for skill in SKILLS:
        if skill not in levels:
            raise AccountError(f"{where}: levels has no '{skill}'", f"it needs: {', '.join(SKILLS)}")
        _whole(levels[skill], f"{where}: levels.{skill}", 10 if skill == "hitpoints" else 1, 99)
    gear = _mapping(data["gear"], f"{where}: gear", SETS)
    prayers = _mapping(data.get("prayers") or {}, f"{where}: prayers", STYLES)
    carried = data.get("inventory") or {}
    if not isinstance(carried, Mapping):
        raise AccountError(f"{where}: inventory is {_short(carried)}", "write item: count, one a line")
    for item, count in carried.items():
        _whole(count, f"{where}: inventory.{str(item)[:40]}", 1, 28)
    sets = {name: _names(gear.get(name) or (), f"{where}: gear.{name}") for name in SETS}
    return Account(
        title=_title(data.get("title", ""), where),
        build=_one_of(data.get("build", _nearest(levels["defence"])), f"{where}: build", BUILDS),
        levels={skill: levels[skill] for skill in SKILLS},
        spellbook=_one_of(data.get("spellbook", "ancient"), f"{where}: spellbook", SPELLBOOKS),
        fight_type=_one_of(data.get("fight_type", "NORMAL"), f"{where}: fight_type", FIGHT_TYPES),
        prayers={style: _names(prayers.get(style) or (), f"{where}: prayers.{style}") for style in STYLES},
        gear={**sets, "special": sets["special"] or sets["melee"]},
        carried=tuple((str(item), count) for item, count in carried.items()),
        food=_text(data.get("food") or "", f"{where}: food"),
    )


def _nearest(defence: int) -> str:
    """The shipped build whose Defence is nearest."""
    return "PURE" if defence < 40 else "ZERKER" if defence < 60 else "MED" if defence < 80 else "MAXED"


def _mapping(value: Any, where: str, known: Iterable[str]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise AccountError(f"{where} is {_short(value)}", f"it has: {', '.join(known)}")
    names = tuple(known)
    for key in value:
        if key not in names:
            close = difflib.get_close_matches(str(key)[:40], names, 1)
            hint = f"did you mean '{close[0]}'?" if close else f"it has: {', '.join(names)}"
            raise AccountError(f"{where} has no entry {_short(key)}", hint)
    return value


def _names(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise AccountError(f"{where} is {_short(value)}", "a list of names is expected")
    return tuple(value)


def _whole(value: Any, where: str, least: int, most: int) -> None:
    if type(value) is not int or not least <= value <= most:
        raise AccountError(f"{where} is {_short(value)}", f"a whole number from {least} to {most}")


def _one_of(value: Any, where: str, known: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in known:
        raise AccountError(f"{where} is {_short(value)}", f"one of: {', '.join(known)}")
    return value


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise AccountError(f"{where} is {_short(value)}", "a name is expected")
    return value


def _title(value: Any, where: str) -> str:
    if not isinstance(value, str) or len(value) > MAX_TITLE or not value.isprintable():
        raise AccountError(f"{where}: title is {_short(value)}", f"at most {MAX_TITLE} printable characters")
    return value


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
