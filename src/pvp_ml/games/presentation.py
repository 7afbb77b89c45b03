"""How a game is shown to people: in words, on the page, in a viewer of its own. Every ability is optional."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pvp_ml.match import StepBuffers, VecGame
from pvp_ml.spec import Figure


@dataclass(frozen=True, slots=True)
class PageView:
    """A view of the game's own on the page of `pvp-ml play`.

    `folder` holds static files, and pages can fetch every script, style, picture and JSON file in it. `module` is a
    JavaScript module in it whose default export is the view class; `styles` are its style sheets.
    """

    folder: Path
    module: str = "view.js"
    styles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Presentation:
    """What a game offers to people who look at it.

    narrate: `(steps)` turns the game and its buffers after each step of one match into lines. A game whose matches
        cannot be told that way gives `watch(config, first, second, scenario, seed)` instead.
    sketch: `(view, seat)` is what the player in that seat sees of a view, as text, for `pvp-ml play --text`.
    scene: `(game, out)` is what a page draws of row 0, what the last step did included, also right after its match
        stopped; a game without it is drawn from its `view`.
    page: the game's own view of scenes; without one, a page lists what is in a scene and has a button for each choice.
    show: sends a view to a viewer outside this program.
    action_notes: `(config)` gives lines that `pvp-ml game show NAME --actions` prints above the choices.
    figures: numbers that players of it talk about; evaluations and training metrics show them.
    rival: name of the model that people meet when they name nobody; '' = whoever is there.
    """

    narrate: Callable[[Iterable[tuple[VecGame, StepBuffers]]], Iterator[str]] | None = None
    watch: Callable[[Any, str, str, str, int], Iterator[str]] | None = None
    sketch: Callable[[dict[str, Any], int], str] | None = None
    scene: Callable[[VecGame, StepBuffers], dict[str, Any]] | None = None
    page: PageView | None = None
    show: Callable[[dict[str, Any]], None] | None = None
    action_notes: Callable[[Any], list[str]] | None = None
    figures: tuple[Figure, ...] = ()
    rival: str = ""
