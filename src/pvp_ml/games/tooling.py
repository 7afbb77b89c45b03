"""What a game adds to the commands: fetching, measuring, comparing, importing, exporting. Every ability is optional."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from pvp_ml.errors import pip_install

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from cyclopts import App

    from pvp_ml.model.bundle import Bundle
    from pvp_ml.model.recording import Recording
    from pvp_ml.players import Player, PlayerType
    from pvp_ml.spec import GameSpec

Tell = Callable[[str], None]
Mark = Literal["ok", "note", "bad"]


class ConformResult(Protocol):
    """How a game agrees with recorded matches of the original."""

    @property
    def passed(self) -> bool:
        """Whether every bar is met."""

    def text(self) -> str:
        """The report for people."""

    def to_json(self) -> dict[str, Any]:
        """The report for programs."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that `pvp-ml doctor` looked at; `fix` says what to do about it."""

    mark: Mark
    what: str
    fix: str = ""


def library(name: str, extra: str, purpose: str) -> Finding:
    """Whether the distribution `name` is installed, which comes with an extra of this package."""
    try:
        return Finding("ok", f"{name} {version(name)}")
    except PackageNotFoundError:
        return Finding("note", f"{name} is missing, {purpose} needs it", pip_install(extra))


@dataclass(frozen=True, slots=True)
class Demo:
    """How `pvp-ml demo` shows the game: what it trains, and whom the result meets in a match shown step by step."""

    preset: str
    rival: str = ""  # '' = no match is shown
    longer: str = ""  # the preset to continue with; '' = the same


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """Arguments of `pvp-ml bc import`."""

    files: tuple[Path, ...]  # files or folders
    winners: bool = False  # keep only the decisions of the side that won
    min_rating: int = 0  # leave out matches that are rated lower, or not at all
    format: str = ""  # of files that do not name theirs


@dataclass(frozen=True, slots=True)
class Imported:
    """Decisions read from recorded matches, and what could not be read."""

    recording: Recording
    spec: GameSpec
    matches: int
    left_out: tuple[tuple[str, int], ...] = ()  # reason, decisions
    refused: tuple[str, ...] = ()  # a line for each file that was not read


@dataclass(frozen=True, slots=True)
class ServerSeat:
    """Arguments of `pvp-ml play --server`: where a model sits down, and as whom."""

    server: str  # an address, or `local`
    user: str
    password: str = ""
    matches: int = 0  # 0 = play on
    team: str = ""  # '' = the game chooses
    format: str = ""  # '' = the game's
    ladder: bool = False  # look for matches instead of waiting for challenges
    results: Path | None = None  # a line for each match
    seed: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)  # the game's own, where they differ


@dataclass(frozen=True, kw_only=True)
class AdviceRequest:
    """The flags of `pvp-ml advise`.

    Attributes:
        battle: a recorded battle, finished or not; default: the start of one with --team and --foe
        team: your own team: a file or the name of a shipped one
        foe: the other team
        seat: the seat to advise, counted from 1
        turn: the turn to analyse, 0 = before the first; default: the last turn of the battle
        model: the model to ask; default: the game's strongest shipped model
        ms: milliseconds to think
        simulations: think for this many simulated turns instead, for the same answer on every machine
        format: the rules, if the battle does not name them
        usage: usage statistics, to guess what is hidden
        server: watch a match at this server (ws://… or wss://…) and advise turn by turn
        room: the match to watch there; default: the first that is played
        page: write the advice as a page to this file; while watching, the page renews itself
        seed: the same seed gives the same answer
    """

    battle: Path | None = None
    team: str = ""
    foe: str = ""
    seat: int = 1
    turn: int | None = None
    model: str = ""
    ms: int = 600
    simulations: int = 0
    format: str = ""
    usage: Path | None = None
    server: str = ""
    room: str = ""
    page: Path | None = None
    seed: int = 0


class Advice(Protocol):
    """What to do in a position, and why."""

    def text(self) -> str:
        """For people."""

    def to_json(self) -> dict[str, Any]:
        """For programs."""

    def page(self) -> str:
        """For a browser: a whole HTML document."""


@dataclass(frozen=True, kw_only=True)
class SimServerOptions:
    """The flags of `pvp-ml sim-server`.

    Attributes:
        port: default: $REMOTE_ENV_PORT, or 7070
        host: address to listen on; the protocol has no password
        open_to_network: allow an address that other machines can reach
        mode: lock-step = a fight advances once both sides have acted; real-time = a tick every 600 ms
        lock_step: one shared tick that waits for every agent, with the original server's name matching
        deadline: seconds an agent may keep its opponent waiting before the fight is void
        max_agents: limit of connected agents
        seed: seed of fights that do not request one; default: a secret one
        switches_on: rules to set as in the reference, such as damage_received_zero
        switches_off: rules to set differently from the reference
    """

    port: int | None = None
    host: str = "127.0.0.1"
    open_to_network: bool = False
    mode: Literal["lock-step", "real-time"] = "lock-step"
    lock_step: bool = False
    deadline: float = 120.0
    max_agents: int = 1000
    seed: int | None = None
    switches_on: tuple[str, ...] = ()
    switches_off: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SimServer:
    """The game behind a protocol that other trainers speak.

    serve: `(options)` listens until it is interrupted.
    bench: `(agents, seconds, repeats)` measures it: a metric, its value and unit, and `rows`, one for each count.
    """

    serve: Callable[[SimServerOptions], None]
    bench: Callable[[Sequence[int], float, int], dict[str, Any]]


class ShotsPlayed(Protocol):
    """What became of some shots: each names its pack and its kind."""

    @property
    def shots(self) -> tuple[Any, ...]:
        """The shots, in order."""

    @property
    def success(self) -> npt.NDArray[np.bool_]:
        """[n] whether each succeeded."""


class ShotCourse(Protocol):
    """Shots of training packs to be played alone on the field."""

    @property
    def spec(self) -> GameSpec:
        """What a policy must fit."""

    @property
    def baselines(self) -> tuple[str, ...]:
        """Bots to compare with."""

    def attempt(self, bot: str, make: Callable[[GameSpec], Player] | None) -> ShotsPlayed:
        """Let a bot, or the player that `make` builds, try all of them."""


@dataclass(frozen=True, slots=True)
class Tooling:
    """What a game can do for the commands.

    setup: `(tell)` fetches what it needs from outside (a simulator, meshes): `pvp-ml game setup`.
    lacks: what `setup` would fetch, in a few words; '' when nothing is missing. `pvp-ml play` offers to fetch it.
    setup_packs: the same for training packs: `pvp-ml game setup NAME --packs`.
    shots: `(config, count)` opens the shots of its training packs, evenly spread, 0 = all: `pvp-ml bench shots`.
    team_commands: the commands of `pvp-ml team`, for a game whose players bring teams.
    doctor: what `pvp-ml doctor` says of this machine for this game.
    bench: `(config, tell, matches, seconds, repeats)` measures a game that cannot be timed by stepping it here, all of
        its processes counted (0 matches = as many as suit it): `pvp-ml bench sim`.
    bench_matches: how many play side by side by default in `bench sim`.
    conform: `(folder, free_plays, limit, tell)` compares it with recorded matches of the original.
    demo: what `pvp-ml demo --game NAME` does.
    import_matches: reads recorded matches of people: `pvp-ml bc import`.
    behaviour: shares of kinds of choices in a recording, as players name them: `pvp-ml bc record` prints them.
    play_on_server: `(seat, player_of, tell)` lets a player sit down where people are: `pvp-ml play --server`. It calls
        `player_of(spec)` once it knows what will be played; a name instead of a player means a bot of the game.
    bot_folder: `(model, name, folder, steps, match_s)` writes a model as a bot of the original game that decides every
        so many steps, and gives the names of the files: `pvp-ml model export --rlbot`. `match_s()` finds out how long
        its matches were in training.
    advise: what to do in a position of a recorded match, or turn by turn in one that is watched: `pvp-ml advise`.
    external: `(game, command)` starts a program that plays in this game: `pvp-ml eval --against external:COMMAND`.
    sim_server: the game behind a protocol of other trainers: `pvp-ml sim-server`.
    served_players: scripted players that a server of its models also serves by default; `eval` knows them too.
    player_schemes: players with settings in their names, by scheme: `SCHEME:REST` is what `(REST, spec)` makes of REST.
    reward_flags: (flag, reward term): names under which people know the weight of a term.
    penalties: reward terms that count what goes wrong; a run that pays for one is warned.
    """

    setup: Callable[[Tell], None] | None = None
    lacks: Callable[[], str] | None = None
    setup_packs: Callable[[Tell], None] | None = None
    shots: Callable[[Any, int], ShotCourse] | None = None
    team_commands: Callable[[], App] | None = None
    doctor: Callable[[], Iterable[Finding]] | None = None
    bench: Callable[[Any, Tell, int, float, int], dict[str, Any]] | None = None
    bench_matches: int = 1024
    conform: Callable[[Path, int, int, Tell], ConformResult] | None = None
    demo: Demo | None = None
    import_matches: Callable[[ImportRequest], Imported] | None = None
    behaviour: Callable[[Recording], dict[str, float]] | None = None
    play_on_server: Callable[[ServerSeat, Callable[[GameSpec], Player | str], Tell], None] | None = None
    bot_folder: Callable[[Bundle, str, Path, int, Callable[[], float]], Sequence[str]] | None = None
    advise: Callable[[AdviceRequest], Iterator[Advice]] | None = None
    external: Callable[[Any, Sequence[str]], Player] | None = None
    sim_server: SimServer | None = None
    served_players: tuple[PlayerType, ...] = ()
    player_schemes: tuple[tuple[str, Callable[[str, GameSpec], Player]], ...] = ()
    reward_flags: tuple[tuple[str, str], ...] = ()
    penalties: tuple[str, ...] = ()
