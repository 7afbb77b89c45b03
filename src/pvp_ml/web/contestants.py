"""Who can be fought on the page: the models that fit the game, its bots, scripted players, and you."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pvp_ml import data_files, players
from pvp_ml.errors import UserError
from pvp_ml.games.registry import GameType
from pvp_ml.match import Bot, External, Occupant
from pvp_ml.model.bundle import Bundle, model_name, read_bundle, read_metadata
from pvp_ml.spec import GameSpec
from pvp_ml.web.minds import Mind, PolicyMind, ScriptedMind

YOU = "you"


@dataclass(frozen=True, slots=True)
class Contestant:
    """`id` is what the page sends back; `kind` is you, model, bot or player."""

    id: str
    name: str
    kind: str
    about: str = ""
    path: Path | None = None


class Contestants:
    """All of them, fixed when the server starts; a page can only name what is listed here."""

    def __init__(self, kind: GameType, working_directory: Path, against: str, greedy: bool = False) -> None:
        self._spec = spec = kind.spec(kind.config())
        self._rival = kind.presentation.rival
        self._is_greedy = greedy
        self._bundles: dict[Path, Bundle] = {}
        found = [Contestant(YOU, "You", "you"), *_models(spec, working_directory)]
        found += [Contestant(f"bot:{name}", name, "bot", "scripted, inside the game") for name in spec.bots]
        found += [
            Contestant(f"player:{name}", name, "player", players.find(name).title)
            for name in players.names()
            if players.find(name).fits(spec.name)
        ]
        self.note = ""
        self.listed = {contestant.id: contestant for contestant in found}
        self.default = self._choose(against, working_directory)

    def find(self, identifier: str) -> Contestant:
        """The contestant with that id."""
        if identifier not in self.listed:
            raise UserError(f"there is no contestant '{identifier[:60]}'", "choose one from the list")
        return self.listed[identifier]

    def occupant(self, identifier: str, seat: int) -> Occupant:
        """Who sits there, as the game is told."""
        contestant = self.find(identifier)
        return Bot(contestant.name) if contestant.kind == "bot" else External(str(seat))

    def mind(self, identifier: str, seat: int) -> Mind | None:
        """A new mind for that seat; None for you and for bots inside the game."""
        contestant = self.find(identifier)
        if contestant.path is not None:
            return PolicyMind(self._bundle(contestant.path), self._spec, self._is_greedy)
        if contestant.kind == "player":
            return ScriptedMind(players.make(contestant.name, self._spec), seat)
        return None

    def _bundle(self, path: Path) -> Bundle:
        if path not in self._bundles:
            self._bundles[path] = read_bundle(path)
        return self._bundles[path]

    def _choose(self, against: str, working_directory: Path) -> str:
        """The id of the first opponent; says in `note` why it is not the shipped model."""
        if against:
            return self._named(against, working_directory)
        wanted = self._rival
        if wanted and f"model:{wanted}" in self.listed:
            return f"model:{wanted}"
        model = next((c.id for c in self.listed.values() if c.kind == "model"), None)
        rivals = [c for c in self.listed.values() if c.kind in ("bot", "player")]
        rivals.sort(key=lambda c: c.name in ("random", "noop"))  # somebody who tries, where there is one
        instead = model or (rivals[0].id if rivals else YOU)
        if wanted:
            name = self.listed[instead].name
            self.note = f"models/{wanted}.zip is not here, so you meet {name}; put it there or name one with --against"
        return instead

    def _named(self, against: str, working_directory: Path) -> str:
        kind, _, rest = against.partition(":")
        for candidate in (against, f"model:{against}", f"bot:{against}", f"player:{against}"):
            if candidate in self.listed:
                return candidate
        path = data_files.find("models", rest if kind == "model" else against, (".zip",), working_directory)
        if path is None:
            known = ", ".join(c.name for c in self.listed.values() if c.kind != "you")
            raise UserError(f"'{against}' cannot be fought in '{self._spec.name}'", f"choose from: {known}; or a file")
        added = _model(self._spec, model_name(path), path)
        if added is None:
            raise UserError(f"model '{path}' does not fit '{self._spec.name}'", "see `pvp-ml model inspect`")
        self.listed[added.id] = added
        return added.id


def _models(spec: GameSpec, working_directory: Path) -> list[Contestant]:
    runs = ((path.parent.name, path) for path in sorted((working_directory / "experiments").glob("*/model.zip")))
    found: dict[str, Contestant] = {}
    for name, path in (*data_files.listed("models", (".zip",), working_directory), *runs):
        model = _model(spec, name, path)
        if model is not None:
            found.setdefault(model.id, model)
    return list(found.values())


def _model(spec: GameSpec, name: str, path: Path) -> Contestant | None:
    """The model in that file, None when it cannot be read or does not fit the game."""
    try:
        facts, interface = read_metadata(path)
    except UserError:
        return None
    if facts.game != spec.name or interface.digest != spec.interface_digest:
        return None
    best = max(facts.results, key=lambda r: r.low, default=None)
    about = f"{facts.training.steps / 1e6:.1f} M steps"
    if best is not None:
        about += f", {best.score:.0%} against {best.opponent}"
    return Contestant(f"model:{name}", name, "model", about, path)
