"""One match in lines for people, and in datagrams for RocketSimVis: at the speed of the game while somebody watches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator

from pvp_ml.games.rocket_league.show.view import View, VisSender
from pvp_ml.games.rocket_league.signals import SIGNALS
from pvp_ml.match import StepBuffers, VecGame

_COLUMN = {signal.name: i for i, signal in enumerate(SIGNALS)}
WORDS_OF_SIGNAL = {
    "touches": "touches the ball",
    "shots": "shoots on goal",
    "saves": "saves",
    "demos": "demolishes somebody",
    "turtles": "lies on its roof",
    "turtle_recoveries": "is back on its wheels",
    "flip_resets": "gets its flip back from the ball",
}


def narrate(
    steps: Iterable[tuple[VecGame, StepBuffers]],
    sender: VisSender | None = None,
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[str]:
    """Touches, shots, saves, goals and the end. Steps are datagrams, too; with a viewer, as fast as the game."""
    viewer, began, shown = sender or VisSender(), now(), None
    try:
        for game, out in steps:
            before, shown = shown, game.view(0)
            if before is None:
                yield _opening(shown)
                continue
            stopped = bool(out.ended[0] or out.truncated[0])
            yield from _events(before if stopped else shown, out)
            if stopped:
                yield _closing(before, out)
                return
            viewer.send(shown)
            if viewer.is_watched:
                sleep(max(0.0, began + shown["seconds"] - now()))
            else:
                began = now() - shown["seconds"]
    finally:
        viewer.close()


def _opening(shown: View) -> str:
    cars = [sum(car["team"] == team for car in shown["cars"]) for team in (0, 1)]
    place = ", ".join(f"{v:.0f}" for v in shown["ball"]["position"])
    return f"   0.0 s  {cars[0]} blue against {cars[1]} orange, ball at {place}"


def _events(shown: View, out: StepBuffers) -> Iterator[str]:
    clock = f"{shown['seconds']:6.1f} s  "
    teams = [car["team"] for car in shown["cars"]]
    for seat, team in enumerate(teams):
        who = _name(team, seat, teams)
        for signal, words in WORDS_OF_SIGNAL.items():
            if out.signals[0, seat, _COLUMN[signal]] > 0:
                yield f"{clock}{who} {words}"
    for team in (0, 1):
        mates = [seat for seat, one in enumerate(teams) if one == team]
        if mates and out.signals[0, mates[0], _COLUMN["team_goals"]] > 0:
            yield f"{clock}GOAL for {('blue', 'orange')[team]}{_credit(out, teams)}"


def _credit(out: StepBuffers, teams: list[int]) -> str:
    """Who touched the ball last before it went in; nobody for a ball that the match began with."""
    for signal, words in (("goals", "by"), ("own_goals", "an own goal by")):
        for seat, team in enumerate(teams):
            if out.signals[0, seat, _COLUMN[signal]] > 0:
                return f", {words} {_name(team, seat, teams)}"
    return ""


def _closing(shown: View, out: StepBuffers) -> str:
    teams = [car["team"] for car in shown["cars"]]
    results = {team: int(out.result[0, seat]) for seat, team in enumerate(teams)}
    winner = next((("blue", "orange")[team] for team, result in results.items() if result > 0), None)
    how = "time is up" if out.truncated[0] else "it is over"
    return f"{shown['seconds']:6.1f} s  {how}: {f'{winner} wins' if winner else 'nobody wins'}"


def _name(team: int, seat: int, teams: list[int]) -> str:
    colour = ("blue", "orange")[team]
    return f"{colour} {seat - teams.index(team) + 1}" if teams.count(team) > 1 else colour
