"""The arena: one game, its contestants, the rooms in which it is played, and what is kept of the matches."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pvp_ml import data_files
from pvp_ml.digest import jsonable
from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.games.presentation import Brought
from pvp_ml.games.registry import GameConfig, GameType
from pvp_ml.games.replay import Replay, ReplayError, parse_replay, replay_text, write_replay
from pvp_ml.match import Bot, External, MatchPlan
from pvp_ml.model.recording import write_recording
from pvp_ml.web import kept
from pvp_ml.web.live import LiveMatch, replayed
from pvp_ml.web.messages import Bring, Start, frame_facts
from pvp_ml.web.options import configure, options_of, people_config
from pvp_ml.web.player_list import YOU, PlayerList
from pvp_ml.web.room import Clock, Room, Seating

MAX_ROOMS = 16
MAX_SLOW_ROOMS = 4  # of a game that starts a process for each match
TICK_MS = 600  # of a game without a pace of its own


@dataclass(frozen=True, slots=True)
class ArenaConfig:
    """Settings of `pvp-ml play`, `given` those of the game. `folder` keeps replays and demonstrations, None nothing."""

    game: str
    against: str = ""
    scenario: str = ""
    seat: int = 0
    seed: int | None = None
    greedy: bool = False
    folder: Path | None = None
    given: Mapping[str, Any] = field(default_factory=dict)


class Arena:
    """Knows no sockets; the server tells it what pages say."""

    def __init__(self, config: ArenaConfig, working_directory: Path, clock: Clock,
                 now: Callable[[], float] = time.time) -> None:  # fmt: skip
        self.config = config
        self.kind = registry.find(config.game)
        settings = people_config(self.kind, config.given)
        self.is_slow = self.kind.runs_elsewhere(settings)
        if trouble := why_not(self.kind):
            raise UserError(trouble)
        self.spec = self.kind.spec(settings)
        if not 0 <= config.seat < self.spec.seats:
            raise UserError(f"seat {config.seat} does not exist", f"there are seats 0 to {self.spec.seats - 1}")
        if config.scenario:
            self.spec.scenario(config.scenario)
        self.contestants = PlayerList(self.kind, working_directory, config.against, config.greedy, settings)
        self.rooms: dict[str, Room] = {}
        self.watch_key: Callable[[str], str] = lambda room: ""  # what a share link carries beside the room
        self._clock, self._now = clock, now

    def warm_up(self) -> None:
        """Compile and touch everything once, so that nobody waits for it in the first step."""
        seats = [self.contestants.default] * self.spec.seats
        lineup = tuple(External(str(seat)) for seat in range(self.spec.seats))
        minds = [self.contestants.mind(name, seat, seats) for seat, name in enumerate(seats)]
        match = LiveMatch(
            self.kind,
            people_config(self.kind, self.config.given),
            MatchPlan(0, 1, lineup, self.spec.scenarios[0].name),
            minds,
            0,
        )
        match.advance(None)
        match.close()

    def facts(self) -> dict[str, Any]:
        """What a page needs before anything is played."""
        self.contestants.refresh()
        seats = [YOU if s == self.config.seat else self.contestants.default for s in range(self.spec.seats)]
        roster = self.kind.presentation.roster
        return {
            "game": self.spec.name,
            "title": self.kind.title,
            "view": self._view(),
            "heads": [{"name": h.name, "choices": h.choices, "fallback": h.fallback, "rules": jsonable(h.rules)}
                      for h in self.spec.heads],
            "teams": self.spec.teams,
            "max_steps": self.spec.max_steps,
            "tick_ms": self.kind.presentation.step_ms or TICK_MS,
            "scenarios": [{"name": s.name, "about": s.doc} for s in self.spec.scenarios],
            "scenario": self.config.scenario or self.spec.scenarios[0].name,
            "options": [asdict(option) for option in options_of(self.kind, self.config.given)],
            "contestants": [{"id": c.id, "name": c.name, "kind": c.kind, "about": c.about, "rung": c.rung}
                            for c in self.contestants.listed.values()],
            "roster": None if roster is None else roster.names(self.kind.config()),
            "seats": seats,
            "seed": self.config.seed,
            "note": self.contestants.note,
            "keeps": self.config.folder is not None,
        }  # fmt: skip

    def _view(self) -> dict[str, Any] | None:
        """Addresses of the game's own view; None where it has none."""
        page = self.kind.presentation.page
        if page is None:
            return None
        files = files_of(self.kind)
        return {"module": f"{files}/{page.module}", "styles": [f"{files}/{name}" for name in page.styles]}

    # matches ---------------------------------------------------------------------------------------------------------

    def open(self, start: Start) -> Room:
        """A room with a new match; nobody is in it yet."""
        most = MAX_SLOW_ROOMS if self.is_slow else MAX_ROOMS
        if len(self.rooms) >= most:
            raise UserError(f"{most} matches are being played", "end one of them first")
        spec, seats = self.spec, start.seats
        if len(seats) != spec.seats:
            raise UserError(f"{len(seats)} contestants for {spec.seats} seats")
        if seats.count(YOU) > 1:
            raise UserError("you can sit in one seat only")
        config = configure(self.kind, start.settings, self.config.given)
        scenario = start.scenario or spec.scenarios[0].name
        spec.scenario(scenario)
        if any(start.brings):
            config, scenario = self._outfit(config, scenario, start.brings)
        seed = secrets.randbits(53) if start.seed is None else start.seed
        lineup = tuple(self.contestants.occupant(name, seat) for seat, name in enumerate(seats))
        minds = [self.contestants.mind(name, seat, seats) for seat, name in enumerate(seats)]
        human = seats.index(YOU) if YOU in seats else None
        home = human if human is not None and not any(start.brings) else 0  # your own account goes with you
        match = LiveMatch(self.kind, config, MatchPlan(0, seed, lineup, scenario, home), minds, human)
        names = _distinct([self.contestants.find(name).name for name in seats])
        facts = {"game": spec.name, "scenario": scenario, "seed": seed, "settings": start.settings, "seats": seats}
        room = Room(match, Seating(names, facts), start.tick_ms, start.paused, self._clock, self._keep)
        facts["watch"] = self.watch_key(room.id)
        self.rooms[room.id] = room
        return room

    def _outfit(self, config: GameConfig, scenario: str, brings: list[str]) -> tuple[GameConfig, str]:
        roster = self.kind.presentation.roster
        if roster is None or len(brings) != self.spec.seats:
            raise UserError(f"{len(brings)} things brought for {self.spec.seats} seats", "name one for each, or none")
        outfit: tuple[GameConfig, str] = roster.outfit(config, scenario, brings)
        return outfit

    def judge(self, bring: Bring) -> Brought:
        """Whether a seat may bring this to a match."""
        roster = self.kind.presentation.roster
        if roster is None:
            raise UserError(f"nobody brings anything to '{self.spec.name}'")
        scenario = bring.scenario or self.spec.scenarios[0].name
        self.spec.scenario(scenario)
        return roster.check(self.kind.config(), scenario, bring.text)

    def room(self, identifier: str) -> Room:
        """The room of that name."""
        if identifier not in self.rooms:
            raise UserError(f"there is no match '{identifier[:40]}'", "it may be over: start another one")
        return self.rooms[identifier]

    def close(self, room: Room, reason: str) -> None:
        """End a match and forget its room."""
        room.close(reason)
        self.rooms.pop(room.id, None)

    def sweep(self) -> None:
        """Close rooms whose starter does not come back."""
        for room in [r for r in self.rooms.values() if r.is_abandoned(self._clock())]:
            self.close(room, "the player left")

    # what is kept ----------------------------------------------------------------------------------------------------

    def _keep(self, match: LiveMatch, seating: Seating) -> dict[str, Any]:
        """Write the replay and what the person showed; their file names."""
        if self.config.folder is None:
            return {}
        moment = datetime.fromtimestamp(self._now(), UTC).strftime("%Y%m%d-%H%M%S")
        sides = "-".join("".join(c if c.isalnum() else "_" for c in name)[:24] for name in seating.names)
        name = f"{self.spec.name}-{moment}-{sides}-{secrets.token_hex(2)}"
        saved: dict[str, Any] = {}
        try:
            folder = self._folder("replays")
            write_replay(folder / f"{name}{kept.SUFFIX}", replace(match.replay(), names=seating.names))
            saved["replay"] = f"{name}{kept.SUFFIX}"
            demonstration = match.demonstration()
            if demonstration is not None:
                path = self._folder("demonstrations") / f"{name}.zip"
                write_recording(path, demonstration, self.spec.name, self.spec.interface, YOU)
                saved["demonstration"] = str(path)
                saved["decisions"] = len(demonstration)
        except (OSError, UserError) as error:
            saved["trouble"] = f"the match could not be kept: {error}"[:200]
        return saved

    def _folder(self, name: str) -> Path:
        assert self.config.folder is not None
        folder = self.config.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def replays(self) -> list[dict[str, Any]]:
        """Saved matches of this game, newest first."""
        return kept.replays(self.config.folder, self.spec.name)

    def saved(self, name: str) -> bytes:
        """The file of a saved match, by a name from `replays`."""
        return kept.saved(self.config.folder, self.spec.name, name)

    def replay_of(self, identifier: str) -> str:
        """The file of a match that is being played, so far."""
        room = self.room(identifier)
        return replay_text(replace(room.match.replay(), names=room.seating.names))

    def frames(self, data: bytes, analyst: str) -> dict[str, Any]:
        """All frames of a replay file; the analyst (a contestant's id, '' for nobody) thinks aloud for every seat."""
        replay = self._parsed(data)
        names = list(replay.names) if len(replay.names) == self.spec.seats else _seat_names(replay)
        seats = self._seats_of(replay, names)
        minds = [self.contestants.mind(analyst, s, seats) if analyst else None for s in range(self.spec.seats)]
        frames = [frame_facts(frame) for frame in replayed(replay, minds, self.spec.max_steps)]
        return {"frames": frames, "names": names, "game": replay.game, "scenario": replay.plan.scenario}

    def _seats_of(self, replay: Replay, names: list[str]) -> list[str]:
        """Who sat where, as far as the file says and the list has them; anybody else counts as a person."""
        known = {c.name: c.id for c in self.contestants.listed.values() if c.kind != "bot"}
        bots = [f"bot:{occupant.name}" if isinstance(occupant, Bot) else "" for occupant in replay.plan.lineup]
        return [bot or known.get(_without_number(name), YOU) for bot, name in zip(bots, names, strict=True)]

    def _parsed(self, data: bytes) -> Replay:
        if len(data) > kept.MAX_BYTES:
            raise ReplayError(f"a replay of {len(data)} bytes", f"at most {kept.MAX_BYTES}")
        replay = parse_replay(BytesIO(data), "the file")
        if replay.game != self.spec.name:
            raise ReplayError(
                f"this is a match of '{replay.game[:40]}'", f"open it with `pvp-ml play {replay.game[:40]}`"
            )
        if len(replay.plan.lineup) != self.spec.seats:
            raise ReplayError(f"the replay has {len(replay.plan.lineup)} seats, '{self.spec.name}' {self.spec.seats}")
        return replay


def files_of(kind: GameType) -> str:
    """Where on the server a game's own files are."""
    return f"/games/{quote(kind.name, safe='')}"


def why_not(kind: GameType) -> str:
    """Why a game cannot be played on a page; '' when it can."""
    if not registry.is_self_contained(kind, kind.config()):
        return f"'{kind.name}' runs on a server and cannot be played here"
    return ""


def _distinct(names: list[str]) -> tuple[str, ...]:
    """Equal names get numbers."""
    return tuple(f"{n} {names[: i + 1].count(n)}" if names.count(n) > 1 else n for i, n in enumerate(names))


def _without_number(name: str) -> str:
    """What `_distinct` made of a name, undone."""
    bare, _, number = name.rpartition(" ")
    return bare if bare and number.isdigit() else name


def _seat_names(replay: Replay) -> list[str]:
    """For a file that does not say who played: bots by name, others by seat."""
    return [getattr(o, "name", "") or f"Seat {s + 1}" for s, o in enumerate(replay.plan.lineup)]


def home_folder() -> Path:
    """Where matches on the page are kept by default."""
    return data_files.user_folder() / "arena"
