"""Accounts that people bring to a fight on the page: shipped ones by name, their own as text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pvp_ml.errors import UserError
from pvp_ml.games.osrs.accounts.read import AccountError, is_content, load, parse, shipped
from pvp_ml.games.osrs.fights import NhConfig
from pvp_ml.games.presentation import Brought


def names(config: NhConfig) -> tuple[str, ...]:
    """Shipped accounts."""
    return shipped()


def check(config: NhConfig, scenario: str, text: str) -> Brought:
    """The account as settings carry it, or what is wrong with it."""
    try:
        return Brought(parse(text, "account").text())
    except AccountError as error:
        return Brought("", (str(error),))


def outfit(config: NhConfig, scenario: str, brings: Sequence[str]) -> tuple[NhConfig, str]:
    """Settings in which seats 0 and 1 wear what they bring; '' is the build, or in seat 1 what seat 0 wears."""
    for bring in brings:
        if bring and bring not in shipped() and not is_content(bring):  # a page must not name a file
            raise UserError(f"there is no shipped account '{bring[:40]}'", f"choose from: {', '.join(shipped())}")
    own, other = (load(bring, Path()).text() if bring else "" for bring in brings)
    changed = {"account": own, "opponent_account": other}
    return NhConfig.model_validate({**config.model_dump(), **changed}), scenario
