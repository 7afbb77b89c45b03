"""Games and models as the site lists them. A model file may come from anybody: one that cannot be read is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pvp_ml import data_files
from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.games.registry import GameType
from pvp_ml.model.bundle import Metadata, read_card, read_metadata
from pvp_ml.web.arena import files_of, why_not

MAX_MODELS = 200


def games() -> list[dict[str, Any]]:
    """Every game, those with a view of their own first."""
    found = [_game(kind) for kind in registry.every()]
    return sorted(found, key=lambda game: (not game["own_view"], game["trouble"] != "", game["title"]))


def _game(kind: GameType) -> dict[str, Any]:
    page = kind.presentation.page
    poster = f"{files_of(kind)}/{page.poster}" if page is not None and page.poster else ""
    return {"name": kind.name, "title": kind.title, "status": kind.status, "own_view": page is not None,
            "poster": poster, "trouble": why_not(kind)}  # fmt: skip


def models(working_directory: Path) -> list[dict[str, Any]]:
    """What each model file says of itself, in short."""
    found = []
    for name, path in list(data_files.models(working_directory))[:MAX_MODELS]:
        try:
            facts = read_metadata(path)[0]
        except UserError as error:
            found.append({"name": name, "trouble": error.message[:200]})
            continue
        found.append({"name": name, **_short(facts)})
    return found


def _short(facts: Metadata) -> dict[str, Any]:
    return {
        "game": facts.game,
        "steps": facts.training.steps,
        "date": facts.training.date,
        "hardest": facts.hardest.model_dump(mode="json") if facts.hardest else None,
        "results": len(facts.results),
        "calibrated": [c.opponent for c in facts.calibration],
    }


def model(working_directory: Path, name: str) -> dict[str, Any]:
    """Everything that a model file says of itself, its card included."""
    path = dict(data_files.models(working_directory)).get(name)
    if path is None:
        raise UserError(f"there is no model '{name[:80]}'", "choose one from the list")
    facts, interface = read_metadata(path)
    return {
        "name": name,
        **facts.model_dump(mode="json"),
        "observations": interface.obs_size,
        "heads": [[head.name, head.size] for head in interface.heads],
        "card": read_card(path),
    }
