"""`pvp-ml watch` and `pvp-ml replay show`: one match, step by step."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

from cyclopts import App, Parameter

from pvp_ml import players
from pvp_ml.chance import scramble
from pvp_ml.cli.evaluate import game_settings
from pvp_ml.errors import UserError, visible
from pvp_ml.games import registry
from pvp_ml.games.adapters.synchronous import in_step
from pvp_ml.games.play import Table
from pvp_ml.games.registry import GameConfig, GameType
from pvp_ml.games.replay import Replay, narrate, play, read_replay, write_replay
from pvp_ml.match import Bot, External, IntArray, MatchPlan, StepBuffers, VecGame
from pvp_ml.model.bundle import model_name
from pvp_ml.selfplay.evaluate import Contestant, find_contestant
from pvp_ml.spec import GameSpec

app = App(name="replay", help="Replay saved matches.")
Flags = Annotated[str, Parameter(allow_leading_hyphen=True, show=False)]


def watch(
    game: str, *flags: Flags, model: str = "", against: str = "", scenario: str = "", seed: int = 0, save: str = "",
    delay_ms: int = 0, browser: bool = False,
) -> None:  # fmt: skip
    """Play one match and print it step by step. The game's own settings are flags too, such as --set mode=2v2.

    Args:
        game: the game, as in `pvp-ml game list`
        model: who plays: a model file, a bot or a scripted player; default: random legal choices
        against: the opponent; default: the game's first bot, else random legal choices
        scenario: the kind of match; default: the game's first
        seed: the same seed gives the same match
        save: also write the match to this file, for `pvp-ml replay show`
        delay_ms: pause between steps, so that you can follow
        browser: show it in the browser, with the game's default settings
    """
    kind = registry.find(game)
    if browser:
        watch_on_page(kind, model, against, seed)
        return
    settings = game_settings(kind, flags)
    spec = kind.spec(settings)
    if kind.presentation.watch is not None:
        for line in kind.presentation.watch(settings, model, against, scenario, seed):
            print(visible(line))
        return
    names = (model or "player:random", against or (spec.bots[0] if spec.bots else "player:random"))
    sides = [find_contestant(name, spec, Path.cwd()) for name in names]
    plan = _plan(spec, sides, scenario, seed)
    recorded: list[IntArray] = []
    for line in _narration(kind, settings, plan, sides, recorded):
        print(visible(line), flush=True)
        time.sleep(delay_ms / 1000.0)
    if save:
        steps = tuple(tuple(tuple(int(c) for c in seat) for seat in step) for step in recorded)
        write_replay(Path(save), Replay(kind.name, spec.game_digest, settings.model_dump(mode="json"), plan, steps))
        print(f"saved: {save} (pvp-ml replay show {save})")


def watch_on_page(kind: GameType, model: str, against: str, seed: int) -> None:
    """The match on the site, which is served until Ctrl-C."""
    from pvp_ml.cli.ui import Where, open_site
    from pvp_ml.web.arena import home_folder

    spec = kind.spec(kind.config())
    rival = spec.bots[0] if spec.bots else "random"
    seats = [quote(seat_id(name, spec), safe="") for name in (model or "random", against or rival)]
    where = Where(folder=home_folder())
    open_site(where, f"/play/{quote(kind.name, safe='')}", fragment=f"start={','.join(seats)}&seed={seed}&")


def seat_id(name: str, spec: GameSpec) -> str:
    """What the page calls that player."""
    if name.partition(":")[0] in ("bot", "player", "model"):
        return name
    kind = "bot" if name in spec.bots else "player" if name in players.names() else "model"
    return f"{kind}:{model_name(Path(name)) if kind == 'model' else name}"


def one_match(game: str, first: str, second: str, seed: int) -> Iterator[str]:
    """One match with the game's default settings, in lines for people."""
    kind = registry.find(game)
    settings = kind.config()
    spec = kind.spec(settings)
    sides = [find_contestant(name, spec, Path.cwd()) for name in (first, second)]
    return _narration(kind, settings, _plan(spec, sides, "", seed), sides, [])


def _plan(spec: GameSpec, sides: list[Contestant], scenario: str, seed: int) -> MatchPlan:
    occupants = [Bot(side.bot) if side.bot else External(str(i)) for i, side in enumerate(sides)]
    lineup = tuple(occupants[min(1, spec.team_of(seat))] for seat in range(spec.seats))
    return MatchPlan(0, scramble(seed, 0), lineup, scenario or spec.scenarios[0].name)


def _narration(
    kind: GameType, settings: GameConfig, plan: MatchPlan, sides: list[Contestant], recorded: list[IntArray]
) -> Iterator[str]:
    game = in_step(kind.build(settings, 1))
    try:
        yield from narrate(kind.name, _play(game, plan, sides, recorded))
    finally:
        game.close()


@app.command
def show(file: str, *, delay_ms: int = 0) -> None:
    """Print a saved match step by step.

    Args:
        file: what `pvp-ml watch --save FILE` wrote
        delay_ms: pause between lines
    """
    replay = read_replay(Path(file))
    for line in narrate(replay.game, play(replay)):
        print(visible(line), flush=True)
        time.sleep(delay_ms / 1000.0)


def _play(
    game: VecGame, plan: MatchPlan, sides: list[Contestant], recorded: list[IntArray]
) -> Iterator[tuple[VecGame, StepBuffers]]:
    """The game and its buffers after the start and each step; the actions are appended to `recorded`."""
    table = Table(game, {str(i): side.make(game.spec) for i, side in enumerate(sides) if side.make is not None})
    table.queue([plan])
    table.start()
    yield game, table.out
    for _ in range(game.spec.max_steps + 1):
        table.decide()
        recorded.append(table.actions[0].copy())
        table.step()
        yield game, table.out
        if table.is_empty:
            return
    raise UserError(f"the match did not end within {game.spec.max_steps} steps", f"pvp-ml game check {game.spec.name}")
