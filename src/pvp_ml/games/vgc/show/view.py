"""A battle in words: Showdown log lines as sentences, and a battle turn by turn as it is played."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pvp_ml import data_files
from pvp_ml.errors import UserError
from pvp_ml.games.vgc.actions import heads
from pvp_ml.games.vgc.config import VgcConfig
from pvp_ml.games.vgc.game import BattleLog, VgcGame
from pvp_ml.games.vgc.search.player import make_search
from pvp_ml.games.vgc.search.settings import SCHEME
from pvp_ml.match import IDLE, RESTING, Bot, External, IntArray, MatchPlan, StepBuffers
from pvp_ml.model.bundle import read_bundle
from pvp_ml.players import Attending, BundlePlayer, Player, make
from pvp_ml.players import names as players_known
from pvp_ml.spec import GameSpec

STATUSES = {
    "brn": "is burned", "par": "is paralysed", "psn": "is poisoned", "tox": "is badly poisoned", "slp": "falls asleep",
    "frz": "is frozen",
}  # fmt: skip
STATS = {
    "atk": "Attack", "def": "Defense", "spa": "Sp. Atk", "spd": "Sp. Def", "spe": "Speed", "accuracy": "accuracy",
    "evasion": "evasiveness",
}  # fmt: skip
WAIT_S = 60.0
DEFAULT_BOT = "heuristics"
_SIDE = {"p1": "Seat 1", "p2": "Seat 2"}
_TAG = re.compile(r"^(move|ability|item): ")


def _who(ident: str) -> str:
    """'p1a: Rillaboom' → 'Rillaboom (seat 1)'."""
    side, _, name = ident.partition(": ")
    return f"{name} (seat {side[1]})" if name else ident


def _health(condition: str) -> str:
    health = condition.split(" ")[0]
    return "0 %" if health == "0" else f"{health.split('/')[0].rstrip('gyr')} %"


def _cause(parts: list[str]) -> str:
    for part in parts:
        if part.startswith("[from] "):
            return f" from {_TAG.sub('', part[7:])}"
    return ""


def _effect(parts: list[str]) -> str:
    return _TAG.sub("", parts[1]) if len(parts) > 1 else ""


Teller = Callable[[list[str]], str]
TELLERS: dict[str, Teller] = {
    "turn": lambda p: f"\nTurn {p[0]}",
    "switch": lambda p: f"{_SIDE[p[0][:2]]} sends out {p[0].partition(': ')[2]} ({_health(p[2])})",
    "drag": lambda p: f"{_who(p[0])} is dragged out ({_health(p[2])})",
    "replace": lambda p: f"{_who(p[0])} was hidden behind an illusion",
    "move": lambda p: (
        f"{_who(p[0])} uses {p[1]}" + (f" on {_who(p[2])}" if len(p) > 2 and ": " in p[2] and p[2] != p[0] else "")
    ),
    "cant": lambda p: f"{_who(p[0])} cannot move ({_TAG.sub('', p[1])})",
    "faint": lambda p: f"{_who(p[0])} faints",
    "win": lambda p: f"\n{p[0]} wins",
    "tie": lambda p: "\nA tie",
    "-damage": lambda p: f"  {_who(p[0])} falls to {_health(p[1])}{_cause(p)}",
    "-heal": lambda p: f"  {_who(p[0])} recovers to {_health(p[1])}{_cause(p)}",
    "-sethp": lambda p: f"  {_who(p[0])} is now at {_health(p[1])}",
    "-status": lambda p: f"  {_who(p[0])} {STATUSES.get(p[1], p[1])}",
    "-curestatus": lambda p: f"  {_who(p[0])} is cured",
    "-boost": lambda p: f"  {_who(p[0])}: {STATS.get(p[1], p[1])} +{p[2]}",
    "-unboost": lambda p: f"  {_who(p[0])}: {STATS.get(p[1], p[1])} −{p[2]}",
    "-setboost": lambda p: f"  {_who(p[0])}: {STATS.get(p[1], p[1])} set to {p[2]}",
    "-clearallboost": lambda p: "  all stat changes vanish",
    "-weather": lambda p: "" if "[upkeep]" in p else f"  weather: {p[0]}",
    "-fieldstart": lambda p: f"  {_TAG.sub('', p[0])} covers the field",
    "-fieldend": lambda p: f"  {_TAG.sub('', p[0])} ends",
    "-sidestart": lambda p: f"  {_SIDE[p[0][:2]]} gets {_effect(p)}",
    "-sideend": lambda p: f"  {_SIDE[p[0][:2]]} loses {_effect(p)}",
    "-start": lambda p: f"  {_who(p[0])}: {_effect(p)}",
    "-end": lambda p: f"  {_who(p[0])}: {_effect(p)} ends",
    "-singleturn": lambda p: f"  {_who(p[0])}: {_effect(p)}",
    "-activate": lambda p: f"  {_who(p[0])}: {_effect(p)}" if p[0] else "",
    "-ability": lambda p: f"  {_who(p[0])} has {p[1]}",
    "-item": lambda p: f"  {_who(p[0])} holds {p[1]}",
    "-enditem": lambda p: f"  {_who(p[0])} loses {p[1]}",
    "-terastallize": lambda p: f"{_who(p[0])} terastallises into {p[1]}",
    "-mega": lambda p: f"{_who(p[0])} mega evolves",
    "-crit": lambda p: "  a critical hit",
    "-supereffective": lambda p: f"  super effective on {_who(p[0])}",
    "-resisted": lambda p: f"  not very effective on {_who(p[0])}",
    "-immune": lambda p: f"  no effect on {_who(p[0])}",
    "-miss": lambda p: f"  {_who(p[0])} misses",
    "-fail": lambda p: f"  it fails for {_who(p[0])}",
}


def tell(lines: Iterable[str]) -> Iterator[str]:
    """Sentences for the lines of a spectator's log; lines without news for a reader are left out."""
    for line in lines:
        parts = line.split("|")
        teller = TELLERS.get(parts[1]) if len(parts) > 2 else None
        if teller is not None and "[silent]" not in parts and (text := teller(parts[2:])):
            yield text


def watch(config: VgcConfig, first: str, second: str, scenario: str, seed: int) -> Iterator[str]:
    """Let two play one battle and tell it as it happens: bots, scripted players or models.

    An empty name is the heuristics bot, an empty scenario the default one. With `config.log_folder` the battle is saved
    there as a Showdown log.
    """
    game = VgcGame(config, 1)
    finished: list[BattleLog] = []
    game.listen(finished.append)
    shown, brought = 0, False
    try:
        names = (first or DEFAULT_BOT, second or DEFAULT_BOT)
        players = [None if name in game.spec.bots else _player(name, game.spec) for name in names]
        for player in players:
            if isinstance(player, Attending):
                player.attend(game)
        lineup = tuple(Bot(name) if name in game.spec.bots else External(name) for name in names)
        plan = MatchPlan(1, seed, lineup, scenario or "default")
        game.queue([plan])
        game.start()
        out = StepBuffers.allocate(game.spec, 1)
        rng = np.random.default_rng(seed)
        while True:
            if not game.recv(1, WAIT_S, out):
                raise UserError(f"vgc: no answer in {WAIT_S:.0f} s", "see `pvp-ml doctor`")
            if out.faults[0]:
                raise UserError(f"the battle became void: {' '.join(game.fault_texts[-1:])[:300]}")
            view = {} if finished else game.view(0)
            log = finished[0].lines if finished else tuple(view.get("log", ()))
            if not shown:
                yield from teams_shown(log, view.get("format", ""), [game.tags(plan, seat)["with"] for seat in (0, 1)])
            if not brought and any(line.startswith("|turn|") for line in log) and view.get("seats"):
                brought = True
                yield from (_brought(seat, found["request"]) for seat, found in enumerate(view["seats"]))
            yield from tell(log[shown:])
            shown = len(log)
            if out.serial[0] == RESTING:
                break
            game.send(out.match[:1], _decide(players, out, rng))
    finally:
        game.close()
    if config.log_folder:
        yield f"saved in {config.log_folder}"


def teams_shown(log: Sequence[str], format: str, names: Sequence[str]) -> Iterator[str]:
    """The format and both teams, as team preview shows them."""
    yield f"format: {format}"
    for seat, name in enumerate(names):
        mark = f"|poke|p{seat + 1}|"
        species = [line[len(mark) :].split("|")[0].split(",")[0] for line in log if line.startswith(mark)]
        yield f"{_SIDE[f'p{seat + 1}']} has {name}: {', '.join(species)}"


def _brought(seat: int, request: dict[str, Any]) -> str:
    members = [mon["details"].split(",")[0] for mon in request["side"]["pokemon"]]
    return f"{_SIDE[f'p{seat + 1}']} brings {', '.join(members)}"


def _decide(players: Sequence[Player | None], out: StepBuffers, rng: np.random.Generator) -> IntArray:
    """The actions [1,S,H] of the seats that act; bots act inside the game."""
    actions = np.full((1, len(players), len(heads())), IDLE, np.int32)
    for seat in np.flatnonzero(out.acting[0]).tolist():
        player, at = players[seat], slice(seat, seat + 1)
        if player is not None:
            key = rng.integers(0, 1 << 63, 1, np.int64).astype(np.uint64)
            seats = np.array([seat], np.int32)
            actions[0, seat] = player.decide(out.serial[:1], seats, out.obs[0, at], out.mask[0, at], key)[0]
    return actions


def _player(name: str, spec: GameSpec) -> Player:
    """A scripted player, a search, or a model by name or path."""
    if name.startswith(f"{SCHEME}:"):
        return make_search(name.removeprefix(f"{SCHEME}:"), spec)
    if name.removeprefix("player:") in players_known():
        return make(name.removeprefix("player:"), spec)
    path = data_files.find("models", name.removeprefix("model:"), (".zip",), Path.cwd())
    if path is None:
        raise UserError(
            f"vgc: '{name}' is neither a bot nor a scripted player nor a model file",
            f"bots: {', '.join(spec.bots)}; models: `pvp-ml model list`",
        )
    return BundlePlayer(read_bundle(path), spec)
