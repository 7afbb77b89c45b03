"""The doors of the site: its pages, and what they ask for. What training does is a `RunDesk`'s business."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pvp_ml.errors import UserError
from pvp_ml.web import kept, library
from pvp_ml.web.arena import Arena
from pvp_ml.web.arenas import Arenas
from pvp_ml.web.doors import Asked, Door, Reply, as_json

STATIC = Path(__file__).parent / "static"
CONTROL_BYTES = 4096


class RunDesk(Protocol):
    """Runs of training: what is known of them, and how they are stopped and resumed. Facts are JSON values."""

    def summaries(self) -> list[dict[str, Any]]:
        """Every run, those that train now first."""

    def report(self, name: str) -> dict[str, Any]:
        """Everything about one run but its curves."""

    def curves(self, name: str) -> dict[str, Any]:
        """Its metrics over steps, thinned."""

    def stop(self, name: str) -> str:
        """Let it save and leave; says what happened."""

    def resume(self, name: str) -> str:
        """Start it again where it stopped; says what happened."""


class NoRuns:
    """For a site without training."""

    def summaries(self) -> list[dict[str, Any]]:
        """None."""
        return []

    def report(self, name: str) -> dict[str, Any]:
        """None."""
        raise UserError(f"there is no run '{name[:80]}'")

    curves = report

    def stop(self, name: str) -> str:
        """Nothing to stop."""
        raise UserError(f"there is no run '{name[:80]}'")

    resume = stop


@dataclass(frozen=True, slots=True)
class Site:
    """All of it. `control` is the key that stops and resumes runs: the printed address has it, and nothing else."""

    arenas: Arenas
    runs: RunDesk
    control: str

    @classmethod
    def of(cls, arenas: Arenas, runs: RunDesk | None = None) -> Site:
        """A site with a fresh key."""
        return cls(arenas, runs or NoRuns(), secrets.token_urlsafe(18))

    def doors(self) -> list[Door]:
        """Every path that can be asked, the socket and static files aside."""
        game, run = "/api/games/{game}", "/api/runs/{run}"
        home = _page("PvP-ML", "home/home.js")
        return [
            *(Door(path, home) for path in ("/", "/play", "/runs", "/models", "/models/")),
            Door("/play/{game}", _html((STATIC / "match.html").read_bytes())),
            Door("/runs/{run}", _page("A run — PvP-ML", "run/run.js")),
            Door("/models/{model:path}", _page("A model — PvP-ML", "model/model.js")),
            Door("/api/home", self._home),
            Door("/api/models/{model:path}", self._model, status=404),
            Door("/api/runs", lambda _: as_json(self.runs.summaries())),
            Door(run, lambda asked: as_json(self.runs.report(asked.path["run"])), status=404),
            Door(f"{run}/curves", lambda asked: as_json(self.runs.curves(asked.path["run"])), status=404),
            Door(f"{run}/stop", self._controlled(lambda name: self.runs.stop(name)), "POST", CONTROL_BYTES),
            Door(f"{run}/resume", self._controlled(lambda name: self.runs.resume(name)), "POST", CONTROL_BYTES),
            Door(game, lambda asked: as_json(self._arena(asked).facts()), status=404),
            Door(f"{game}/replays", lambda asked: as_json(self._arena(asked).replays()), status=404),
            Door(f"{game}/replays/{{name}}", self._saved, status=404),
            Door(f"{game}/matches/{{room}}/replay", self._so_far, status=404),
            Door(f"{game}/frames", self._frames, "POST", kept.MAX_BYTES, one_at_a_time=True),
        ]

    def _arena(self, asked: Asked) -> Arena:
        return self.arenas.get(asked.path["game"])

    def _home(self, _: Asked) -> Reply:
        return as_json({
            "games": library.games(),
            "runs": self.runs.summaries(),
            "models": library.models(self.arenas.working_directory),
            "replays": kept.replays(self.arenas.folder, limit=12),
        })  # fmt: skip

    def _model(self, asked: Asked) -> Reply:
        return as_json(library.model(self.arenas.working_directory, asked.path["model"]))

    def _saved(self, asked: Asked) -> Reply:
        name = asked.path["name"]
        return Reply(self._arena(asked).saved(name), kind="application/jsonl", name=name)

    def _so_far(self, asked: Asked) -> Reply:
        arena = self._arena(asked)
        text = arena.replay_of(asked.path["room"])
        return Reply(text.encode(), kind="application/jsonl", name=f"{arena.spec.name}-match.replay")

    def _frames(self, asked: Asked) -> Reply:
        """A replay file in, its frames out."""
        return as_json(self._arena(asked).frames(asked.body, asked.query.get("analyst", "")))

    def _controlled(self, act: Callable[[str], str]) -> Callable[[Asked], Reply]:
        """Requires the key: other users' programs on this machine can reach the port too."""

        def answer(asked: Asked) -> Reply:
            if not secrets.compare_digest(asked.key.encode(), self.control.encode()):
                raise UserError(
                    "runs are stopped and resumed from the address that the terminal printed",
                    "open that address, or use `pvp-ml jobs stop`",
                )
            return as_json({"message": act(asked.path["run"])})

        return answer


def _page(title: str, script: str) -> Callable[[Asked], Reply]:
    """The frame that all pages but the match share; the script fills it."""
    frame = (STATIC / "page.html").read_text(encoding="utf-8")
    return _html(frame.replace("{title}", title).replace("{script}", script).encode())


def _html(body: bytes) -> Callable[[Asked], Reply]:
    return lambda _: Reply(body, kind="text/html; charset=utf-8")
