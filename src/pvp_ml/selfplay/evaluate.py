"""N matches of one contestant against another: paired seeds, seats swapped, intervals. No torch.

Match 2k and 2k+1 share seed and scenario and differ only in who sits where, so luck and the advantage of a seat cancel.
All planned matches are played to their end: counting only those that finish first would favour short ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pvp_ml import data_files, players
from pvp_ml.compiled.kernels import row_keys
from pvp_ml.errors import UserError
from pvp_ml.match import IDLE, RESTING, AsyncVecGame, Bot, External, MatchPlan, StepBuffers, VecGame
from pvp_ml.model.bundle import Bundle, model_name, read_bundle
from pvp_ml.players import BundlePlayer, Player
from pvp_ml.selfplay.courses import Courses
from pvp_ml.selfplay.figures import FigureSums
from pvp_ml.selfplay.plans import home_seat, seat_teams, stream_seed
from pvp_ml.selfplay.tally import Evaluation, SignalFolds, Tally
from pvp_ml.spec import Figure, GameSpec

STALL_S = 120.0
EVERY_SCENARIO = "all"
_FIRST, _SECOND, _NOBODY = 0, 1, -1

Progress = Callable[[int, int], None]
"""Called with (matches finished, matches planned)."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """Who plays: a bot inside the game, or a player that `make(spec)` builds. `draws`: partly by chance."""

    name: str
    bot: str = ""
    make: Callable[[GameSpec], Player] | None = None
    draws: bool = True

    @classmethod
    def of_bundle(cls, name: str, bundle: Bundle, greedy: bool = False) -> Contestant:
        """A policy; `greedy` always takes its preferred choice."""
        return cls(name, make=lambda spec: BundlePlayer(bundle, spec, greedy), draws=not greedy)


def find_contestant(name: str, spec: GameSpec, working_directory: Path, greedy: bool = False) -> Contestant:
    """A bot of the game, a scripted player, or a bundle by name or path; 'bot:', 'player:', 'model:' say which."""
    kind, _, rest = name.partition(":")
    if kind not in ("bot", "player", "model") or not rest:
        kind, rest = "", name
    if kind in ("", "bot") and rest in spec.bots:
        return Contestant(rest, bot=rest, draws="random" in rest)  # a bot of that name draws, all others reckon
    if kind in ("", "player") and rest in players.names():
        return Contestant(rest, make=lambda s: players.make(rest, s))
    path = data_files.find("models", rest, (".zip",), working_directory) if kind in ("", "model") else None
    if path is None:
        bots = ", ".join(spec.bots) or "none"
        raise UserError(
            f"'{name}' is neither a bot of '{spec.name}', nor a scripted player, nor a model file",
            f"bots: {bots}; players: {', '.join(players.names())}; models: `pvp-ml model list`",
        )
    return Contestant.of_bundle(model_name(path), read_bundle(path), greedy)


def evaluate(game: VecGame | AsyncVecGame, first: Contestant, second: Contestant, matches: int, seed: int = 0,
             scenarios: Sequence[str] = (), progress: Progress | None = None,
             figures: Sequence[Figure] = ()) -> Evaluation:  # fmt: skip
    """Play `matches` (rounded up to whole rounds of all seatings) and report. `game` must be fresh: nothing queued.

    scenarios: played in turn, round by round; empty means the game's first, ("all",) all that it has.
    figures: numbers that players talk about, told for each scenario.
    """
    spec = game.spec
    every = tuple(s.name for s in spec.scenarios)
    names = every if tuple(scenarios) == (EVERY_SCENARIO,) else tuple(scenarios) or every[:1]
    for name in names:
        spec.scenario(name)
    if matches < 1:
        raise UserError(f"matches is {matches}", "play at least 1")
    plans = make_plans(spec, (first, second), matches, seed, names)
    return play_plans(game, (first, second), plans, seed, progress, figures)


def play_plans(game: VecGame | AsyncVecGame, sides: tuple[Contestant, Contestant], plans: list[MatchPlan], seed: int,
               progress: Progress | None = None, figures: Sequence[Figure] = ()) -> Evaluation:  # fmt: skip
    """Play plans of `make_plans`, all or some of them, and report."""
    table = _Table(game.spec, game.matches, plans, sides, figures)
    table.tags = getattr(game, "tags", table.tags)
    game.queue(plans)
    tell = progress or (lambda done, planned: None)
    if game.runs_elsewhere:
        _play_async(game, table, tell)
    else:
        _play(game, table, tell)
    return table.report(sides[0].name, sides[1].name, seed, list(dict.fromkeys(plan.scenario for plan in plans)))


def seatings(spec: GameSpec) -> int:
    """Matches in a round: one for every team that the first contestant can be; teams of unequal size stay."""
    return len(spec.teams) if len({len(team) for team in spec.teams}) == 1 else 1


def make_plans(spec: GameSpec, sides: tuple[Contestant, Contestant], matches: int, seed: int,
               scenarios: Sequence[str]) -> list[MatchPlan]:  # fmt: skip
    """Plans in rounds: one seed and scenario a round, one match per seating, the first contestant's team moving on."""
    occupants = [Bot(side.bot) if side.bot else External(str(i)) for i, side in enumerate(sides)]
    lineup = tuple(occupants[_FIRST if spec.team_of(seat) == 0 else _SECOND] for seat in range(spec.seats))
    turns = seatings(spec)
    rounds = -(-matches // turns)
    seeds = [stream_seed("evaluation", seed, r) for r in range(rounds)]
    return [
        MatchPlan(
            r * turns + turn,
            seeds[r],
            seat_teams(spec.teams, lineup, turn),
            scenarios[r % len(scenarios)],
            home_seat(spec.teams, turn),
        )
        for r in range(rounds)
        for turn in range(turns)
    ]


def _play(game: VecGame, table: _Table, progress: Progress) -> None:
    out = StepBuffers.allocate(game.spec, game.matches)
    actions = np.full((game.matches, game.spec.seats, len(game.spec.heads)), IDLE, np.int32)
    every = np.arange(game.matches)
    game.start(out)
    table.seat(every, out.serial)
    while table.unfinished:
        table.decide(every, out, actions)
        game.step(actions, out)
        table.settle(every, out)
        progress(table.planned - table.unfinished, table.planned)


def _play_async(game: AsyncVecGame, table: _Table, progress: Progress) -> None:
    out = StepBuffers.allocate(game.spec, game.matches)
    actions = np.full((game.matches, game.spec.seats, len(game.spec.heads)), IDLE, np.int32)
    game.start()
    while table.unfinished:
        count = game.recv(1, STALL_S, out)
        if count == 0:
            raise UserError(f"game '{game.spec.name}' gave no answer for {STALL_S:.0f} s", "see its log")
        rows = out.match[:count].astype(np.intp)
        table.settle(rows, out)
        table.decide(rows, out, actions)
        playing = out.serial[:count] != RESTING
        if playing.any():
            game.send(out.match[:count][playing], actions[:count][playing])
        progress(table.planned - table.unfinished, table.planned)


@dataclass(slots=True)
class _Sums:
    """Per contestant: folded signals summed over seats and matches, and choices counted."""

    signals: npt.NDArray[np.float64]  # [2,K]
    seats: npt.NDArray[np.int64]  # [2]
    choices: npt.NDArray[np.int64]  # [2,A]


class _Table:
    """The matches in play: who sits where, and what has been counted."""

    def __init__(
        self,
        spec: GameSpec,
        rows: int,
        plans: list[MatchPlan],
        sides: tuple[Contestant, ...],
        figures: Sequence[Figure],
    ) -> None:
        self._spec = spec
        self._figures = tuple(figures)
        self._told: dict[str, FigureSums] = {}
        self._plans = {plan.serial: plan for plan in plans}
        self._players = [side.make(spec) if side.make else None for side in sides]
        self._serial = np.full(rows, RESTING, np.int64)
        self._seed = np.zeros(rows, np.uint64)
        self._clock = np.zeros(rows, np.int32)
        self._side = np.full((rows, spec.seats), _NOBODY, np.int8)
        self._folds = SignalFolds(spec, rows)
        self._courses = Courses(rows, spec.seats, spec.obs_size)
        self._order = np.zeros((rows, spec.seats), np.intp)
        self._repeats = not any(side.draws for side in sides)
        self._total = self._tally("all")
        self._scenario: dict[str, Tally] = {}
        self._tagged: dict[tuple[str, str], Tally] = {}
        self.tags: Callable[[MatchPlan, int], dict[str, str]] = lambda plan, seat: {}
        self._team = {t: self._tally(f"as team {t}") for t in range(len(spec.teams))}
        offsets = np.concatenate([[0], np.cumsum(spec.head_sizes)])[:-1]
        self._offsets = offsets.astype(np.int64)
        k, a = len(spec.signals), spec.mask_size
        self._sums = _Sums(np.zeros((2, k)), np.zeros(2, np.int64), np.zeros((2, a), np.int64))
        self.planned = self.unfinished = len(plans)

    def _tally(self, label: str) -> Tally:
        return Tally(label, may_repeat=self._repeats)

    def seat(self, rows: npt.NDArray[np.intp], serials: npt.NDArray[np.int64]) -> None:
        """Matches `serials` start in these rows."""
        self._serial[rows] = serials
        self._clock[rows] = 0
        self._side[rows] = _NOBODY
        self._courses.begin(rows)
        started = serials[serials != RESTING]
        for row, serial in zip(rows.tolist(), serials.tolist(), strict=True):
            if serial != RESTING:
                plan = self._plans[serial]
                self._seed[row] = plan.seed
                self._order[row] = np.argsort(self._sides(plan), kind="stable")
                self._side[row] = [int(o.id) if isinstance(o, External) else _NOBODY for o in plan.lineup]
        for player in self._players:
            if player is not None and len(started):
                player.begin(started)

    def decide(self, rows: npt.NDArray[np.intp], out: StepBuffers, actions: npt.NDArray[np.int32]) -> None:
        """Write actions[:len(rows)] for the seats that act."""
        count = len(rows)
        self._courses.add(rows, out.obs[:count], self._order[rows])
        keys = np.zeros((count, self._spec.seats), np.uint64)
        row_keys(self._seed[rows], self._clock[rows], keys)
        actions[:count] = IDLE
        acting = np.where(out.acting[:count], self._side[rows], _NOBODY)
        for side, player in enumerate(self._players):
            b, s = np.nonzero(acting == side)
            if player is None or not len(b):
                continue
            picked = player.decide(
                self._serial[rows[b]], s.astype(np.int32), out.obs[b, s], out.mask[b, s], keys[b, s]
            )  # fmt: skip
            actions[b, s] = picked
            np.add.at(self._sums.choices[side], (picked + self._offsets)[picked >= 0], 1)

    def settle(self, rows: npt.NDArray[np.intp], out: StepBuffers) -> None:
        """Count the step of these rows (out[:len(rows)]) and the matches that it stopped; seat the next ones."""
        count = len(rows)
        new = self._serial[rows] == RESTING
        played = ~new
        self._clock[rows[played]] += 1
        self._folds.add(rows[played], out.signals[:count][played], self._clock[rows[played]] == 1)
        stopped = played & (out.ended[:count] | out.truncated[:count] | (out.faults[:count] != 0))
        for i in np.flatnonzero(stopped).tolist():
            self._count(int(rows[i]), i, out)
        over = self._serial[rows[stopped]]
        for player in self._players:
            if player is not None and len(over):
                player.end(over)
        begun = stopped | (new & (out.serial[:count] != RESTING))
        if begun.any():
            self.seat(rows[begun], out.serial[:count][begun])

    def _count(self, row: int, i: int, out: StepBuffers) -> None:
        plan = self._plans[int(self._serial[row])]
        side = self._sides(plan)
        team = self._spec.team_of(side.index(_FIRST))
        scenario = self._scenario.setdefault(plan.scenario, self._tally(plan.scenario))
        self.unfinished -= 1
        tagged = [
            self._tagged.setdefault((kind, name), self._tally(f"{kind} {name}"))
            for kind, name in self.tags(plan, side.index(_FIRST)).items()
        ]
        for tally in (self._total, scenario, self._team[team], *tagged):
            tally.steps += int(self._clock[row])
            if out.faults[i]:
                tally.voids += 1
                continue
            tally.truncated += int(out.truncated[i])
            tally.courses.add(self._courses.of(row))
            points = _compare(side, out.result[i].tolist())
            tally.wins += points > 0
            tally.ties += points == 0
            tally.losses += points < 0
        if not out.faults[i]:
            folded = self._folds.of(row, int(self._clock[row]))
            for seat, owner in enumerate(side):
                self._sums.signals[owner] += folded[seat]
                self._sums.seats[owner] += 1
                if self._figures:
                    self._tell(owner, plan.scenario, folded[seat : seat + 1], out.result[i, seat : seat + 1])

    def _tell(
        self, owner: int, scenario: str, signals: npt.NDArray[np.float32], result: npt.NDArray[np.integer]
    ) -> None:
        for label in (self._total.label, scenario):
            if label not in self._told:
                self._told[label] = FigureSums(self._spec, self._figures)
            self._told[label].add(owner, signals, result)

    def _sides(self, plan: MatchPlan) -> list[int]:
        """Seat → contestant, bots included: seatings follow each other serial by serial."""
        turn = plan.serial % seatings(self._spec)
        return [
            _FIRST if (self._spec.team_of(seat) + turn) % len(self._spec.teams) == 0 else _SECOND
            for seat in range(self._spec.seats)
        ]

    def report(self, first: str, second: str, seed: int, scenarios: Sequence[str]) -> Evaluation:
        """Everything that was counted."""
        spec, sums = self._spec, self._sums
        with np.errstate(invalid="ignore"):
            means = sums.signals / sums.seats[:, None]
            totals = [sums.choices[:, o : o + n].sum(1, keepdims=True) for o, n in self._columns()]
            shares = [
                sums.choices[:, o : o + n] / np.maximum(t, 1) for (o, n), t in zip(self._columns(), totals, strict=True)
            ]
        choices = {
            head.name: {c: (float(share[0, i]), float(share[1, i])) for i, c in enumerate(head.choices)}
            for head, share in zip(spec.heads, shares, strict=True)
        }
        return Evaluation(
            game=spec.name,
            first=first,
            second=second,
            seed=seed,
            total=self._total,
            by_scenario=tuple(self._scenario[name] for name in scenarios if name in self._scenario),
            by_team=tuple(tally for tally in self._team.values() if tally.matches + tally.voids),
            by_tag=tuple(self._tagged[key] for key in sorted(self._tagged)),
            signals=tuple((s, float(means[0, k]), float(means[1, k])) for k, s in enumerate(spec.signals)),
            choices=choices,
            figures=self._figures,
            told={label: (sums.values(_FIRST), sums.values(_SECOND)) for label, sums in self._told.items()},
            told_within={label: self._within(label, sums) for label, sums in self._told.items()},
        )

    def _within(self, label: str, sums: FigureSums) -> tuple[dict[str, tuple[float, float]], ...]:
        tally = self._total if label == self._total.label else self._scenario[label]
        return tuple(sums.intervals(side, tally.trials / max(1, tally.matches)) for side in (_FIRST, _SECOND))

    def _columns(self) -> list[tuple[int, int]]:
        return list(zip(self._offsets.tolist(), self._spec.head_sizes, strict=True))


def _compare(side: list[int], result: list[int]) -> int:
    """Sign of first's best result minus second's: two winners (both died) tie; alone, one's own result counts."""
    first = max(r for r, owner in zip(result, side, strict=True) if owner == _FIRST)
    second = [r for r, owner in zip(result, side, strict=True) if owner == _SECOND]
    return (first > max(second)) - (first < max(second)) if second else first
