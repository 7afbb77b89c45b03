"""`pvp-ml advise`: a position of a recorded battle, or two teams at preview, thought through for a person."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from pvp_ml import data_files
from pvp_ml.errors import UserError
from pvp_ml.games.tooling import AdviceRequest
from pvp_ml.games.vgc.briefing import Briefing
from pvp_ml.games.vgc.config import VgcConfig, make_spec
from pvp_ml.games.vgc.formats import find_format
from pvp_ml.games.vgc.node import install
from pvp_ml.games.vgc.replays import ReplayError, read_battles
from pvp_ml.games.vgc.search.process import Ask
from pvp_ml.games.vgc.search.settings import SearchSettings
from pvp_ml.games.vgc.search.thinker import LOOK_S, Thinker, Thought
from pvp_ml.games.vgc.teams import read_teams
from pvp_ml.games.vgc.usage import read_usage
from pvp_ml.model.bundle import read_bundle, require_fit
from pvp_ml.players import actor_of

ROOM = "advice"
MODEL = "GeneralistVgc"
SHOWN = 5
MOST_SIMULATIONS = 4000


@dataclass(frozen=True, slots=True)
class Choice:
    """A joint choice: how often to play it, how often the model alone would, and what it is worth (−1 to 1)."""

    text: str
    probability: float
    model_probability: float
    value: float


@dataclass(frozen=True, slots=True)
class Reply:
    """What the foe may do, and how likely that is."""

    text: str
    probability: float


@dataclass(frozen=True, slots=True)
class PositionAdvice:
    """What to do now. `declined` says why nothing was simulated; then the model alone is asked."""

    kind: str
    turn: int
    win_chance: float
    choices: tuple[Choice, ...]
    replies: tuple[Reply, ...]
    line: tuple[str, ...]
    simulations: int
    seconds: float
    declined: str = ""

    def to_json(self) -> dict[str, Any]:
        """Everything."""
        return {
            "kind": self.kind,
            "turn": self.turn,
            "win_chance": round(self.win_chance, 4),
            "choices": [
                {
                    "text": c.text,
                    "probability": round(c.probability, 4),
                    "model_probability": round(c.model_probability, 4),
                    "value": round(c.value, 4),
                }
                for c in self.choices
            ],
            "replies": [{"text": r.text, "probability": round(r.probability, 4)} for r in self.replies],
            "line": list(self.line),
            "simulations": self.simulations,
            "seconds": round(self.seconds, 3),
            "declined": self.declined,
        }

    @property
    def title(self) -> str:
        """Where in the battle this is."""
        names = {"preview": "Team preview", "switch": f"Turn {self.turn}, who comes in"}
        return names.get(self.kind, f"Turn {self.turn}")

    def text(self) -> str:
        """A short page."""
        parts = [f"{self.title}. Chance to win: {self.win_chance:.0%}", "", "Play:"]
        parts += [
            f"  {c.probability:4.0%}  {c.text}  (worth {c.value:+.2f}, model alone {c.model_probability:.0%})"
            for c in self.choices
        ]
        if self.replies:
            parts += ["", "Expect:", *(f"  {r.probability:4.0%}  {r.text}" for r in self.replies)]
        if self.line:
            parts += ["", "A likely turn:", *(f"  {text}" for text in self.line)]
        thought = f"{self.simulations} simulated turns, {self.seconds:.1f} s"
        return "\n".join([*parts, "", f"Not searched: {self.declined}" if self.declined else thought])

    def page(self) -> str:
        """A whole HTML document."""
        from pvp_ml.games.vgc.search.page import page_of

        return page_of(self)


def advise(request: AdviceRequest) -> PositionAdvice:
    """Set the position up, think, and put it into words."""
    with Adviser(request) as adviser:
        return adviser.advise(_asked(request))


class Adviser:
    """A model and a process to think with; it can be asked again and again."""

    def __init__(self, request: AdviceRequest) -> None:
        if request.seat not in (1, 2):
            raise UserError(f"--seat is {request.seat}", "1 or 2")
        self.began = time.monotonic()
        self._request = request
        path = data_files.find("models", request.model or MODEL, (".zip",), Path.cwd())
        if path is None:
            raise UserError(f"there is no model '{request.model or MODEL}'", "see `pvp-ml model list`")
        bundle = read_bundle(path)
        require_fit(bundle, make_spec(VgcConfig()))
        budget = SearchSettings(simulations=request.simulations or MOST_SIMULATIONS, worlds=3,
                                ms=0 if request.simulations else request.ms)  # fmt: skip
        self._usage = read_usage(request.usage) if request.usage else None
        self._thinker = Thinker(actor_of(bundle), install.find(), budget)

    def __enter__(self) -> Self:
        """Ready."""
        return self

    def __exit__(self, *reason: object) -> None:
        """End the process."""
        self._thinker.process.close()

    def advise(self, position: dict[str, Any]) -> PositionAdvice:
        """What to do in a position: {format, lines or teams, team, turn}."""
        request = self._request
        message = {"room": ROOM, "seat": request.seat - 1, "sheets": "open", "turn": request.turn, **position}
        facts = self._thinker.process.ask(Ask.POSITION, message, LOOK_S).facts
        if "refused" in facts:
            raise UserError(f"vgc: {facts['refused'][:300]}", "choose another --turn or --seat")
        self._thinker.heard(ROOM)
        source = _Recorded(message["format"], facts["request"], int(facts["turn"]))
        thought = self._thinker.think(source, request.seed, self._usage)
        found = _in_words(self._thinker, source, thought, request.seed, self.began)
        self.began = time.monotonic()
        return found


@dataclass(frozen=True, slots=True)
class _Recorded:
    """A position that the process already has: there is nothing more to read."""

    format: str
    request: dict[str, Any]
    turn: int

    @property
    def room(self) -> str:
        return ROOM

    def read(self, start: int) -> Briefing:
        return Briefing(self.format, [], self.request, 0)


def _asked(request: AdviceRequest) -> dict[str, Any]:
    """The position that the flags name."""
    if request.battle is not None:
        battle = next(iter(read_battles(request.battle, request.format)))
        if isinstance(battle, ReplayError):
            raise battle
        return {"format": battle.format, "lines": list(battle.lines), "team": own_team(request, battle.format)}
    if not (request.team and request.foe):
        raise UserError("no position is given", "--battle FILE, or --team FILE --foe FILE, or --server ADDRESS")
    format = find_format(request.format or VgcConfig().format).id
    both = [_team(request.team, format), _team(request.foe, format)]
    return {"format": format, "teams": both if request.seat == 1 else both[::-1]}


def own_team(request: AdviceRequest, format: str) -> str:
    """The text of the team that is advised; '' when it is not given."""
    return _team(request.team, format) if request.team else ""


def _team(name: str, format: str) -> str:
    """The text of one team; the process completes and packs it."""
    ready = read_teams(name, format)
    if len(ready) != 1:
        raise UserError(f"'{name}' holds {len(ready)} teams", "name one")
    return next(iter(ready.values()))


def _in_words(thinker: Thinker, source: _Recorded, thought: Thought, seed: int, began: float) -> PositionAdvice:
    order = np.argsort(-thought.strategy, kind="stable")[:SHOWN]
    order = order[thought.strategy[order] > 0.0]
    foe = thought.foes[0] if thought.foes else None
    likely = np.argsort(-thought.replies[0], kind="stable")[:SHOWN] if foe is not None else np.zeros(0, np.intp)
    said = thinker.process.ask(
        Ask.WORDS,
        {
            "room": ROOM,
            "own": thought.own.actions[order].tolist(),
            "foe": foe.actions[likely].tolist() if foe is not None and thinker.acts(foe) else [],
        },
        LOOK_S,
    ).facts
    worth = _worth(thought)
    choices = tuple(
        Choice(text, float(thought.strategy[i]), float(thought.own.prior[i]), float(worth[i]))
        for text, i in zip(said["own"], order.tolist(), strict=True)
    )
    replies = tuple(
        Reply(text, float(thought.replies[0][j])) for text, j in zip(said["foe"], likely.tolist(), strict=False)
    )
    line = _line(thinker, thought, int(order[0]), int(likely[0]) if len(likely) else 0, seed)
    kind = "preview" if "teamPreview" in source.request else "switch" if "forceSwitch" in source.request else "turn"
    return PositionAdvice(kind, source.turn, (1.0 + thought.value) / 2.0, choices, replies, line, thought.simulations,
                          time.monotonic() - began, thought.declined)  # fmt: skip


def _worth(thought: Thought) -> Any:
    """[K]: what each own choice is worth against the replies that are expected."""
    if not thought.simulations:
        return np.full(len(thought.strategy), thought.value)
    means = [thought.payoff[world, :, : len(reply)] @ reply for world, reply in enumerate(thought.replies)]
    return np.mean(means, axis=0)


def _line(thinker: Thinker, thought: Thought, own: int, foe: int, seed: int) -> tuple[str, ...]:
    """One simulated turn of the best choice against the likeliest reply, in sentences."""
    from pvp_ml.games.vgc.show.view import tell

    if not thought.simulations:
        return ()
    log = thinker.expected(ROOM, thought.own, thought.foes[0], (own, foe), seed)
    shown = [line for at, line in enumerate(log) if not _is_secret(log, at)]
    return tuple(text.strip() for text in tell(shown) if not text.startswith("\nTurn"))


def _is_secret(log: list[str], at: int) -> bool:
    """A split marker, or the half of it that only one side sees."""
    return log[at].startswith("|split|") or (at > 0 and log[at - 1].startswith("|split|"))
