"""PvP-ML: train, evaluate and serve agents for player-versus-player games.

    run = pvp_ml.train("nh/quick", name="first")      train, or resume
    run.evaluate("nh-bot").total.score                play matches that only measure
    pvp_ml.evaluate("GeneralizedNh", "nh-bot")        any two players
    pvp_ml.load("GeneralizedNh").act(obs, mask)       a model that decides, without torch
    pvp_ml.make("nh", matches=64)                     a game to step yourself

Everything is imported on first use, so that `import pvp_ml` costs nothing. See docs/python-api.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pvp_ml.scripting.gymnasium_ids import register_once_imported

if TYPE_CHECKING:
    from pvp_ml.errors import UserError as UserError
    from pvp_ml.scripting.matches import LoadedModel as LoadedModel
    from pvp_ml.scripting.matches import Matches as Matches
    from pvp_ml.scripting.matches import evaluate as evaluate
    from pvp_ml.scripting.matches import load as load
    from pvp_ml.scripting.matches import make as make
    from pvp_ml.scripting.runs import TrainedRun as TrainedRun
    from pvp_ml.scripting.runs import find as find_run
    from pvp_ml.scripting.runs import train as train

__version__ = "0.1.0"

__all__ = ["LoadedModel", "Matches", "TrainedRun", "UserError", "evaluate", "find_run", "load", "make", "train"]

_PLACES = {
    "LoadedModel": "scripting.matches", "Matches": "scripting.matches", "TrainedRun": "scripting.runs",
    "UserError": "errors", "evaluate": "scripting.matches", "find_run": "scripting.runs:find",
    "load": "scripting.matches", "make": "scripting.matches", "train": "scripting.runs",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    place = _PLACES.get(name)
    if place is None:
        raise AttributeError(f"module 'pvp_ml' has no attribute '{name}'")
    from importlib import import_module

    module, _, attribute = place.partition(":")
    return getattr(import_module(f"pvp_ml.{module}"), attribute or name)


def __dir__() -> list[str]:
    return [*globals(), *_PLACES]


register_once_imported()
