"""N matches of one contestant against another: paired seeds, seats swapped, intervals. No torch.

Match 2k and 2k+1 share seed and scenario and differ only in who sits where, so luck and the advantage of a seat cancel.
All planned matches are played to their end: counting only those that finish first would favour short ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pvp_ml import data_files, players
from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.games.play import Table
from pvp_ml.match import AsyncVecGame, Bot, External, MatchPlan, VecGame
from pvp_ml.model.bundle import Bundle, model_name, read_bundle
from pvp_ml.model.dial import Dial, settled
from pvp_ml.players import BundlePlayer, Player
from pvp_ml.selfplay.counting import FIRST, SECOND, Count, seatings
from pvp_ml.selfplay.dial import Slowed, read_dial
from pvp_ml.selfplay.plans import home_seat, seat_teams, stream_seed
from pvp_ml.selfplay.tally import Evaluation
from pvp_ml.spec import Figure, GameSpec

EVERY_SCENARIO = "all"
FULL_STRENGTH = Dial()

OnProgress = Callable[[int, int], None]
"""Called with (matches finished, matches planned)."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """Who plays: a bot inside the game, or a player that `make(spec)` builds. `draws`: partly by chance.

    `sit(game)` instead builds a player that also looks at the game itself, such as a program outside.
    """

    name: str
    bot: str = ""
    make: Callable[[GameSpec], Player] | None = None
    draws: bool = True
    sit: Callable[[VecGame | AsyncVecGame], Player] | None = None

    def player(self, game: VecGame | AsyncVecGame) -> Player | None:
        """Who decides for the contestant's seats; None for a bot."""
        if self.sit is not None:
            return self.sit(game)
        return self.make(game.spec) if self.make is not None else None

    @classmethod
    def of_bundle(cls, name: str, bundle: Bundle, greedy: bool = False, dial: Dial = FULL_STRENGTH) -> Contestant:
        """A policy; `greedy` always takes its preferred choice."""
        quiet = greedy or dial.temperature == 0.0

        def make(spec: GameSpec) -> Player:
            player = BundlePlayer(bundle, spec, quiet, dial.temperature)
            return Slowed(player, spec, dial) if dial.is_slow else player

        return cls(name, make=make, draws=not quiet)


def find_contestant(name: str, spec: GameSpec, working_directory: Path, greedy: bool = False) -> Contestant:
    """A bot of the game, a scripted player, or a bundle by name or path; 'bot:', 'player:', 'model:' say which.

    A game may have schemes of its own, such as `search:MODEL?…` (`Tooling.player_schemes`).
    A bundle's name may end with a dial, such as `best.zip@temperature=2,delay=3`: see `pvp_ml.selfplay.dial`.
    """
    if (make := registry.scheme_player(name, spec.name)) is not None:
        return Contestant(name, make=make)
    plain, dial = read_dial(name)
    kind, _, rest = plain.partition(":")
    if kind not in ("bot", "player", "model") or not rest:
        kind, rest = "", plain
    if dial != FULL_STRENGTH and (rest in spec.bots or rest in players.names()):
        raise UserError(f"'{name}': only models have a strength dial", f"play '{plain}' as it is")
    if kind in ("", "bot") and rest in spec.bots:
        return Contestant(rest, bot=rest, draws="random" in rest)  # a bot of that name draws, all others reckon
    if kind in ("", "player") and rest in players.names():
        return Contestant(rest, make=lambda s: players.make(rest, s))
    path = data_files.find("models", rest, (".zip",), working_directory) if kind in ("", "model") else None
    if path is None:
        bots = ", ".join(spec.bots) or "none"
        scripted = ", ".join(player for player in players.names() if players.find(player).fits(spec.name))
        raise UserError(
            f"'{name}' is neither a bot of '{spec.name}', nor a scripted player, nor a model file",
            f"bots: {bots}; players: {scripted}; models: `pvp-ml model list`",
        )
    shown = model_name(path) + name[len(plain) :]
    bundle = read_bundle(path)
    return Contestant.of_bundle(shown, bundle, greedy, settled(dial, path, bundle.content_hash, spec.name))


def evaluate(game: VecGame | AsyncVecGame, first: Contestant, second: Contestant, matches: int, seed: int = 0,
             scenarios: Sequence[str] = (), progress: OnProgress | None = None,
             figures: Sequence[Figure] = ()) -> Evaluation:  # fmt: skip
    """Play `matches` (rounded up to whole rounds of all seatings) and report. `game` must be fresh: nothing queued.

    scenarios: played in turn, round by round; empty means the game's first, ("all",) all that it has.
    figures: numbers that players talk about, given for each scenario.
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
               progress: OnProgress | None = None, figures: Sequence[Figure] = ()) -> Evaluation:  # fmt: skip
    """Play plans of `make_plans`, all or some of them, and report."""
    seated = {str(i): side.player(game) for i, side in enumerate(sides)}
    players = {name: player for name, player in seated.items() if player is not None}
    table, count = Table(game, players), Count(game, len(plans), not any(side.draws for side in sides), figures)
    table.queue(plans)
    table.start()
    while True:
        count.settle(table)
        if progress is not None:
            progress(len(plans) - count.unfinished, len(plans))
        if not count.unfinished:
            names = list(dict.fromkeys(plan.scenario for plan in plans))
            return count.report(sides[0].name, sides[1].name, seed, names)
        table.decide()
        count.decided(table)
        table.step()


def make_plans(spec: GameSpec, sides: tuple[Contestant, Contestant], matches: int, seed: int,
               scenarios: Sequence[str]) -> list[MatchPlan]:  # fmt: skip
    """Plans in rounds: one seed and scenario a round, one match per seating, the first contestant's team moving on."""
    occupants = [Bot(side.bot) if side.bot else External(str(i)) for i, side in enumerate(sides)]
    lineup = tuple(occupants[FIRST if spec.team_of(seat) == 0 else SECOND] for seat in range(spec.seats))
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
