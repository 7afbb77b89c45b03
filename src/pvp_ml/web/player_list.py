"""Who can be fought on the page: the models that fit the game, its bots, scripted players, and you."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pvp_ml import data_files, players
from pvp_ml.errors import UserError
from pvp_ml.games.registry import GameConfig, GameType, scheme_player
from pvp_ml.match import Bot, External, Occupant
from pvp_ml.model.bundle import Bundle, model_name, read_bundle, read_metadata
from pvp_ml.model.calibration import SELF, Calibration
from pvp_ml.model.dial import Dial, map_of, map_path, settled
from pvp_ml.players import BundlePlayer
from pvp_ml.selfplay.dial import Slowed, read_dial
from pvp_ml.spec import GameSpec
from pvp_ml.web.minds import Mind, PolicyMind, ScriptedMind

YOU = "you"
STRENGTHS = (20, 40, 60, 80)
"""Of models whose dial was measured."""


@dataclass(frozen=True, slots=True)
class ListedPlayer:
    """`id` is what the page sends back; `kind` is you, model, strength (a model held back), bot or player.

    `rung` counts up the game's ladder from 1; 0 = not on it.
    """

    id: str
    name: str
    kind: str
    about: str = ""
    path: Path | None = None
    rung: int = 0
    dial: Dial = Dial()  # noqa: RUF009 - frozen


class PlayerList:
    """All of them; a page can only name what is listed here. `refresh` finds models that came meanwhile."""

    def __init__(
        self,
        kind: GameType,
        working_directory: Path,
        against: str,
        greedy: bool = False,
        settings: GameConfig | None = None,
    ) -> None:
        """`settings` of the matches say how many seats there are and who is met when `against` names nobody."""
        settings = kind.config() if settings is None else settings
        self._spec = kind.spec(settings)
        self._rival = kind.presentation.default_rival(settings)
        self._ladder = kind.presentation.ladder
        self._is_greedy = greedy
        self._place = working_directory
        self._bundles: dict[Path, tuple[int, Bundle]] = {}  # with the time at which the file was written
        self._added: dict[str, ListedPlayer] = {}
        self.note = ""
        self.listed: dict[str, ListedPlayer] = {}
        self.refresh()
        self.default = self._choose(against, working_directory)

    def refresh(self) -> None:
        """Look again which models there are: a run that trains writes new ones."""
        spec = self._spec
        models = _models(spec, self._place)
        found = [ListedPlayer(YOU, "You", "you"), *models, *(s for m in models for s in _strengths(m, spec.name))]
        found += [ListedPlayer(f"bot:{name}", name, "bot", "scripted, inside the game") for name in spec.bots]
        found += [
            ListedPlayer(f"player:{name}", name, "player", players.find(name).title)
            for name in players.names()
            if players.find(name).fits(spec.name)
        ]
        rungs = {name: (n, rating) for n, (name, rating) in enumerate(self._ladder, 1)}
        self.listed = {player.id: _on_ladder(player, rungs) for player in found} | self._added

    def find(self, identifier: str) -> ListedPlayer:
        """The player with that id."""
        if identifier not in self.listed:
            raise UserError(f"there is no player '{identifier[:60]}'", "choose one from the list")
        return self.listed[identifier]

    def occupant(self, identifier: str, seat: int) -> Occupant:
        """Who sits there, in the game's own terms."""
        player = self.find(identifier)
        return Bot(player.name) if player.kind == "bot" else External(str(seat))

    def mind(self, identifier: str, seat: int, seats: Sequence[str]) -> Mind | None:
        """A new mind for that seat, given who sits in `seats`; None for you and for bots inside the game."""
        player = self.find(identifier)
        if player.path is not None:
            bundle = self._bundle(player.path)
            if player.dial != Dial():
                dial = settled(player.dial, player.path, bundle.content_hash, self._spec.name)
                policy = BundlePlayer(bundle, self._spec, self._is_greedy, dial.temperature)
                return ScriptedMind(Slowed(policy, self._spec, dial), seat)
            return PolicyMind(bundle, self._spec, self._is_greedy, self._measured(bundle, identifier, seat, seats))
        if player.kind == "player":
            make = scheme_player(player.name, self._spec.name)
            return ScriptedMind(make(self._spec) if make else players.make(player.name, self._spec), seat)
        return None

    def _measured(self, bundle: Bundle, identifier: str, seat: int, seats: Sequence[str]) -> Calibration | None:
        """How far its chance to win can be relied on in this match-up; None where nobody has measured that."""
        team = self._spec.team_of(seat)
        others = {name for s, name in enumerate(seats) if self._spec.team_of(s) != team}
        if len(others) != 1 or any(seats[s] != identifier for s in self._spec.teams[team]):
            return None
        other = others.pop()
        known = {c.opponent: c for c in bundle.metadata.calibration}
        rival = self.listed.get(other)
        if other == identifier:
            return known.get(SELF)
        return known.get(rival.name) if rival is not None and rival.kind in ("bot", "player") else None

    def _bundle(self, path: Path) -> Bundle:
        """The file as it is now: a run keeps rewriting its model."""
        try:
            written = path.stat().st_mtime_ns
        except OSError as error:
            raise UserError(f"the model '{path.name}' is gone: {error.strerror}", "choose another one") from error
        if self._bundles.get(path, (-1,))[0] != written:
            self._bundles[path] = written, read_bundle(path)
        return self._bundles[path][1]

    def _choose(self, against: str, working_directory: Path) -> str:
        """The id of the first opponent; says in `note` why it is not the shipped model."""
        if against:
            return self._named(against, working_directory)
        wanted = self._rival
        if wanted and f"model:{wanted}" in self.listed:
            return f"model:{wanted}"
        model = next((c.id for c in self.listed.values() if c.kind == "model"), None)
        rivals = [c for c in reversed(self.listed.values()) if c.kind in ("bot", "player")]
        rivals.sort(key=lambda c: (c.name in ("random", "noop", "idle"), c.kind != "bot"))  # a game lists its best last
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
        if scheme_player(against, self._spec.name) is not None:
            named = ListedPlayer(f"player:{against}", against, "player", "as named with --against")
            self._added[named.id] = self.listed[named.id] = named
            return named.id
        plain, dial = read_dial(rest if kind == "model" else against)
        path = data_files.find("models", plain, (".zip",), working_directory)
        if path is None:
            known = ", ".join(c.name for c in self.listed.values() if c.kind != "you")
            raise UserError(f"'{against}' cannot be fought in '{self._spec.name}'", f"choose from: {known}; or a file")
        added = _model(self._spec, model_name(path), path)
        if added is None:
            raise UserError(f"model '{path}' does not fit '{self._spec.name}'", "see `pvp-ml model inspect`")
        if dial != Dial():
            shown = added.name + against[against.rindex("@") :]
            added = replace(added, id=f"model:{shown}", name=shown, kind="strength", about="held back", dial=dial)
        self._added[added.id] = self.listed[added.id] = added
        return added.id


def _on_ladder(player: ListedPlayer, rungs: Mapping[str, tuple[int, float]]) -> ListedPlayer:
    """The player with its place on the ladder, where it has one."""
    if player.kind not in ("bot", "player") or player.name not in rungs:
        return player
    rung, rating = rungs[player.name]
    return replace(player, rung=rung, about=f"rung {rung} of {len(rungs)}, {rating:.0f} points: {player.about}")


def _strengths(model: ListedPlayer, game: str) -> Iterator[ListedPlayer]:
    """The model at some strengths, where somebody measured what its dial does."""
    if model.path is None or not map_path(model.path).is_file():
        return
    try:
        found = map_of(model.path, read_metadata(model.path)[0].content_hash, game)
    except UserError:
        return
    for strength in STRENGTHS if found.date else ():
        name = f"{model.name}@strength={strength}"
        about = f"{found.rating(strength):.0f} points"
        yield ListedPlayer(f"model:{name}", name, "strength", about, model.path, dial=Dial(strength=strength))


def _models(spec: GameSpec, working_directory: Path) -> list[ListedPlayer]:
    found: dict[str, ListedPlayer] = {}
    for name, path in data_files.models(working_directory):
        model = _model(spec, name, path)
        if model is not None:
            found.setdefault(model.id, model)
    return list(found.values())


def _model(spec: GameSpec, name: str, path: Path) -> ListedPlayer | None:
    """The model in that file, None when it cannot be read or does not fit the game."""
    try:
        facts, interface = read_metadata(path)
    except UserError:
        return None
    if facts.game != spec.name or interface.digest != spec.interface_digest:
        return None
    met = facts.hardest
    about = _steps(facts.training.steps) if met is None else f"{met.score:.0%} vs {met.opponent}"
    return ListedPlayer(f"model:{name}", name, "model", about, path)


def _steps(count: int) -> str:
    return f"{count / 1e6:.1f} M steps" if count >= 1e6 else f"{count / 1e3:.0f} k steps"
