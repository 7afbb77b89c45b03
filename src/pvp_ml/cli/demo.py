"""`pvp-ml demo`: the shortest way from nothing to an agent that wins."""

from __future__ import annotations

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
from pvp_ml.selfplay.evaluate import Contestant, evaluate, find_contestant
from pvp_ml.selfplay.tally import Evaluation

MAX_DEMOS = 1000
BEGINNER = "itself before training"
SHOWN = 16
"""Lines of the closing match that are printed."""


def demo(*, seconds: Annotated[float, Parameter(alias="-s")] = 120.0, game: str = registry.DEMO_GAME) -> int:
    """Two minutes of training with a live view, then matches against two opponents, then what to try next.

    Args:
        seconds: how long to train
        game: nh (fights of Old School RuneScape; their rules compile for a minute the first time) or connect4
    """
    plan = registry.ability(lambda tools: tools.demo, "demo", game)
    if not 1.0 <= seconds <= 86400.0:
        raise UserError(f"--seconds is {seconds:g}", "use 1 to 86400")
    config = configuration(Path.cwd(), plan.preset, seconds)
    require_torch()
    from pvp_ml.run.session import final_evaluation, open_run
    from pvp_ml.run.trainer import train

    console = Console(highlight=False, soft_wrap=True)
    console.print(
        f"An agent that knows nothing learns {config.env.type.title} by playing itself, for {seconds:g} seconds."
    )
    with open_run(config, Console()) as run:
        untrained = run.bundle()
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
    console.print("\nWhat to try next:")
    for command, reason in (
        (f"pvp-ml eval --model {model}", "more matches, in detail"),
        (f"pvp-ml watch {game} --model {model}", "one match, step by step"),
        (f"pvp-ml play {game} --against {model}", "play it yourself in the browser"),
        (
            f"pvp-ml train --preset {plan.longer or plan.preset} --name mine",
            "train longer; Ctrl-C saves, rerun to resume",
        ),
        ("pvp-ml game list", "what else can be played"),
    ):
        console.print(f"  {command:<58} {reason}")
    return 0


def beginnings(config: Config, untrained: Bundle, trained: Bundle) -> list[Evaluation]:
    """What training was worth: the policy against itself as it began, and that beginner against the first opponent."""
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
    """The beginning and the end of one match against the rival, step by step."""
    from pvp_ml.cli.watch import one_match

    lines = list(one_match(game, str(model), rival, seed=1))
    console.print(f"\nOne match, {model.parent.name} (A) against {rival} (B):")
    shown = lines if len(lines) <= SHOWN else [*lines[: SHOWN // 2], "  …", *lines[-SHOWN // 2 :]]
    for line in shown:
        console.print(line, markup=False)
    console.print()


def configuration(working_directory: Path, preset: str, seconds: float) -> Config:
    """The demo's preset under a name that is still free, limited by time alone."""
    taken = working_directory / load_config(preset, [], working_directory).run.directory
    names = ("demo", *(f"demo-{i}" for i in range(2, MAX_DEMOS)))
    name = next(name for name in names if not (taken / name).exists())
    flags = ["--run.name", name, "--run.max-seconds", str(seconds), "--run.total-steps", "0"]
    return load_config(preset, flags, working_directory)
