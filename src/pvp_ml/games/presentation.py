"""How a game is shown to people: in words, on the page, in a viewer of its own. Every ability is optional."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pvp_ml.match import BoolArray, StepBuffers, VecGame
from pvp_ml.spec import Figure


@dataclass(frozen=True, slots=True)
class PageView:
    """A view of the game's own on the page of `pvp-ml play`.

    `folder` holds static files, and pages can fetch every script, style, picture and JSON file in it. `module` is a
    JavaScript module in it whose default export is the view class; `styles` are its style sheets; `poster` is a picture
    of the game for the site's first page ('' = none).
    """

    folder: Path
    module: str = "view.js"
    styles: tuple[str, ...] = ()
    poster: str = ""


@dataclass(frozen=True, slots=True)
class Brought:
    """What somebody brings along, ready to be played; or ('' in `ready`) what the rules say against it."""

    ready: str
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Roster:
    """What each seat may bring to a match: a team, a deck.

    names: `(config)` are those that come with the game.
    check: `(config, scenario, text)` judges one that a person hands over as text.
    outfit: `(config, scenario, brings)` are settings and scenario in which each seat plays what it brings: a name, a
        text that `check` made ready, or '' for whatever the game deals.
    """

    names: Callable[[Any], tuple[str, ...]]
    check: Callable[[Any, str, str], Brought]
    outfit: Callable[[Any, str, Sequence[str]], tuple[Any, str]]


@dataclass(frozen=True, slots=True)
class Presentation:
    """What a game offers to people who look at it.

    narrate: `(steps)` turns the game and its buffers after each step of one match into lines. A game whose matches
        cannot be narrated that way gives `watch(config, first, second, scenario, seed)` instead.
    sketch: `(view, seat)` is what the player in that seat sees of a view, as text, for `pvp-ml play --text`.
    scene: `(game, out, seat)` is what a page draws of row 0, what the last step did included, also right after its
        match stopped. It shows what the player in `seat` may see, or everything when `seat` is None. A game that runs
        elsewhere is handed over as `Synchronous`. A game without it is drawn from its `view`.
    secret_heads: heads whose picks other seats must not learn while the match is played.
    person_mask: `(game, seat, mask)` is what a person in that seat of row 0 may choose, where rules allow more than
        the mask [A] does that agents are trained with.
    page: the game's own view of scenes; without one, a page lists what is in a scene and has a button for each choice.
    show: sends a view to a viewer outside this program.
    action_notes: `(config)` gives lines that `pvp-ml game show NAME --actions` prints above the choices.
    figures: numbers that players of it talk about; evaluations and training metrics show them.
    ladder: bots of rising strength and their ratings in Elo points, for `pvp-ml eval --ladder`.
    step_ms: for a game in real time: milliseconds of a step. Nobody is waited for, and what a person holds down stays
        held until something else is.
    page_settings: settings of matches on the page, where they differ from the game's defaults.
    page_hides: settings that are about training or machines, so that a page does not offer them.
    roster: what people may bring to a match on the page.
    rival: name of the default opponent for people; '' = any that is available.
    rival_in: `(config)` gives it for settings that need another one.
    """

    narrate: Callable[[Iterable[tuple[VecGame, StepBuffers]]], Iterator[str]] | None = None
    watch: Callable[[Any, str, str, str, int], Iterator[str]] | None = None
    sketch: Callable[[dict[str, Any], int], str] | None = None
    scene: Callable[[VecGame, StepBuffers, int | None], dict[str, Any]] | None = None
    secret_heads: tuple[str, ...] = ()
    person_mask: Callable[[VecGame, int, BoolArray], BoolArray] | None = None
    page: PageView | None = None
    show: Callable[[dict[str, Any]], None] | None = None
    action_notes: Callable[[Any], list[str]] | None = None
    figures: tuple[Figure, ...] = ()
    ladder: tuple[tuple[str, float], ...] = ()
    step_ms: int | None = None
    page_settings: tuple[tuple[str, Any], ...] = ()
    page_hides: tuple[str, ...] = ()
    roster: Roster | None = None
    rival: str = ""
    rival_in: Callable[[Any], str] | None = None

    def default_rival(self, settings: Any) -> str:
        """The default opponent under these settings of the game."""
        return self.rival if self.rival_in is None else self.rival_in(settings)
