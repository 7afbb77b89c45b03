"""`pvp-ml demo`: from nothing to an agent that wins, in one command."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from pvp_ml.cli import INTERRUPTED
from pvp_ml.cli.train import require_torch, results
from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.model.bundle import Bundle
from pvp_ml.run.config.schema import Config, load_config
from pvp_ml.run.tracking.tracker import Point
from pvp_ml.selfplay.evaluate import Contestant, evaluate, find_contestant
from pvp_ml.selfplay.tally import Evaluation, Tally

MAX_DEMOS = 1000
BEGINNER = "its untrained self"
SHOWN = 12
"""Lines of the closing match that are printed."""
PARTS = 6
CURVE_MATCHES = 128
"""Matches for each point of the curve but the first and the last."""


def demo(*, seconds: Annotated[float, Parameter(alias="-s")] = 120.0, game: str = registry.DEMO_GAME) -> int:
    """Train for two minutes with a live view, play test matches, show part of a fight, and suggest what to try next.

    Args:
        seconds: how long to train
        game: nh (Old School RuneScape fights; compiles for about a minute the first time) or connect4
    """
    plan = registry.ability(lambda tools: tools.demo, "demo", game)
    if not 1.0 <= seconds <= 86400.0:
        raise UserError(f"--seconds is {seconds:g}", "use 1 to 86400")
    require_torch()
    console = Console(highlight=False, soft_wrap=True)
    title = registry.find(game).title
    console.print(f"Training an agent from scratch for {seconds:g} seconds: {title}")
    config = configuration(Path.cwd(), plan.preset, seconds)
    from pvp_ml.run.session import final_evaluation, open_run
    from pvp_ml.run.trainer import train

    with open_run(config, Console()) as run:
        untrained = run.bundle()
        snapshots = Snapshots(run.bundle, seconds)
        run.tracker.add("snapshots", snapshots)
        train(run)
        reports = [] if run.is_stopping else final_evaluation(run)
        began = [] if run.is_stopping else beginnings(config, untrained, run.bundle())
        run.tracker.close()
        model = run.store.path / "model.zip"
    if run.is_stopping:
        console.print(f"saved in {run.store.path}")
        return INTERRUPTED
    if plan.rival:
        show_match(game, model, plan.rival, console)
    for line in results([*reports, *began[:1]]):
        console.print(f"[bold]{line}[/]")
    for line in results(began[1:]):
        console.print(f"before training: {line}")
    if reports and began[1:]:
        console.print(verdict(reports[0].total, began[1].total, reports[0].second))
    if importlib.util.find_spec("matplotlib") is not None and reports:
        console.print(f"learning curve: {draw_curve(config, snapshots.taken, [began[1], reports[0]], run.store.path)}")
    console.print("\nWhat to try next:")
    for command, reason in (
        (f"pvp-ml eval --model {model}", "more matches, in detail"),
        (f"pvp-ml watch {game} --model {model}", "one match, step by step"),
        (f"pvp-ml play {game} --against {model}", "play it yourself in the browser"),
        (
            f"pvp-ml train --preset {plan.longer or plan.preset} --name mine",
            "train longer; Ctrl-C saves, rerun to resume",
        ),
        ("pvp-ml game list", "see the other games"),
    ):
        console.print(f"  {command:<58} {reason}")
    return 0


def verdict(after: Tally, before: Tally, opponent: str) -> str:
    """One sentence on whether training helped, beyond chance."""
    change = f"from {before.score:.0%} to {after.score:.0%} against {opponent}"
    if after.interval[0] > before.interval[1]:
        return f"Verdict: it learned. Its win rate rose {change}."
    if after.interval[1] < before.interval[0]:
        return f"Verdict: it got worse, {change}. Train longer, or check `pvp-ml doctor`."
    return f"Verdict: too early to tell ({change}; the intervals overlap). Train longer with --seconds."


class Snapshots:
    """Keeps the policy a few times on the way; they are measured afterwards, so that training loses no time."""

    def __init__(self, bundle: Callable[[], Bundle], seconds: float) -> None:
        self._bundle = bundle
        self._every = seconds / PARTS
        self.taken: list[tuple[float, Bundle]] = []  # training seconds, policy

    def write(self, point: Point) -> None:
        """Take one when its time has come."""
        if len(self.taken) + 1 < PARTS and point.seconds >= (len(self.taken) + 1) * self._every:
            self.taken.append((point.seconds, self._bundle()))

    def close(self) -> None:
        """Nothing to close."""


def draw_curve(config: Config, taken: list[tuple[float, Bundle]], ends: list[Evaluation], folder: Path) -> Path:
    """The win rate over training time as a picture in the run's folder; `ends` are the first and the last point."""
    from pvp_ml.cli.runs.plots import learning_curve

    opponent = find_contestant(config.eval.opponents[0], config.env.spec, Path.cwd())
    measured = [(0.0, ends[0].total)]
    for seconds, bundle in taken:
        game = config.env.type.build(config.env.settings, CURVE_MATCHES)
        policy = Contestant.of_bundle(f"{config.run.name} after {seconds:.0f} s", bundle)
        measured.append((seconds, evaluate(game, policy, opponent, CURVE_MATCHES).total))
        game.close()
    measured.append((config.run.max_seconds, ends[1].total))
    points = [(seconds, tally.score, *tally.interval) for seconds, tally in measured]
    path = folder / "curve.png"
    learning_curve(path, points, f"{config.run.name}: win rate against {opponent.name} (ties count half)")
    return path


def beginnings(config: Config, untrained: Bundle, trained: Bundle) -> list[Evaluation]:
    """The trained policy against its untrained self, and the untrained one against the first opponent."""
    kind, spec, matches = config.env.type, config.env.spec, config.eval.matches
    before = Contestant.of_bundle(BEGINNER, untrained)
    opponent = find_contestant(config.eval.opponents[0], spec, Path.cwd())
    results = []
    for first, second in ((Contestant.of_bundle(config.run.name, trained), before), (before, opponent)):
        game = kind.build(config.env.settings, min(128, matches))
        results.append(evaluate(game, first, second, matches))
        game.close()
    return results


def show_match(game: str, model: Path, rival: str, console: Console) -> None:
    """The first and last steps of one match against the rival."""
    from pvp_ml.cli.watch import one_match

    lines = list(one_match(game, str(model), rival, seed=1))
    console.print(f"\nOne match, {model.parent.name} (A) against {rival} (B):")
    shown = lines if len(lines) <= SHOWN else [*lines[: SHOWN // 2], "  …", *lines[-SHOWN // 2 :]]
    for line in shown:
        console.print(line, markup=False)
    console.print()


def configuration(working_directory: Path, preset: str, seconds: float) -> Config:
    """The demo's preset, limited by time alone, under a name that is not taken yet."""
    taken = working_directory / load_config(preset, [], working_directory).run.directory
    names = ("demo", *(f"demo-{i}" for i in range(2, MAX_DEMOS)))
    name = next(name for name in names if not (taken / name).exists())
    flags = ["--run.name", name, "--run.max-seconds", str(seconds), "--run.total-steps", "0"]
    return load_config(preset, flags, working_directory)
