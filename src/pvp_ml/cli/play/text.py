"""A match in the terminal: what you see, what you may do, what you typed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from pvp_ml.errors import UserError
from pvp_ml.games.play import Table
from pvp_ml.match import IDLE, Bot, External, MatchPlan, Occupant, StepBuffers, VecGame
from pvp_ml.model.sampling.heads import Heads, choose
from pvp_ml.selfplay.evaluate import Contestant
from pvp_ml.spec import GameSpec

HELP = """Type choices, separated by spaces; parts of names will do. Heads that you do not name take their first legal
choice; Enter alone gives no input.
?  what is legal now      !  all that you can see      q  give up"""

Say = Callable[[str], None]
Listen = Callable[[], str]
Picks = dict[str, str]
Sketch = Callable[[dict[str, Any], int], str] | None


def one_word(choice: str) -> str:
    """A choice as it is typed."""
    return choice.replace(" ", "-")


class TypedOrders:
    """Turns words into a legal action."""

    def __init__(self, spec: GameSpec) -> None:
        self._spec = spec
        self._heads = Heads.compile(spec.heads)
        self._columns = [(head, choice) for head in spec.heads for choice in head.choices]

    def legal(self, mask: npt.NDArray[np.bool_]) -> dict[str, list[str]]:
        """Head → choices that the mask allows, where there is more than one."""
        found: dict[str, list[str]] = {}
        for (head, choice), is_open in zip(self._columns, mask.tolist(), strict=True):
            if is_open:
                found.setdefault(head.name, []).append(choice)
        return {name: choices for name, choices in found.items() if len(choices) > 1}

    def read(self, text: str, mask: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.int32], Picks]:
        """The action [H] that has these choices, and what was picked; raises UserError when it cannot be."""
        picks: Picks = {}
        for word in text.split():
            name, choice = self._find(word, mask)
            if picks.setdefault(name, choice) != choice:
                raise UserError(f"'{picks[name]}' and '{choice}' are both '{name}'", "choose one")
        self._add_needed(picks, mask)
        wish = np.array([10.0 if picks.get(head.name) == choice else 0.0 for head, choice in self._columns], np.float32)
        out = self._heads.decision(1)
        zeros = np.zeros((1, len(wish)), np.float32)
        choose(self._heads, wish[None], mask[None], zeros, np.ones(1, np.bool_), out)
        for head, index in zip(self._spec.heads, out.actions[0].tolist(), strict=True):
            if picks.get(head.name, head.choices[index]) != head.choices[index]:
                raise UserError(f"'{picks[head.name]}' is not possible with the rest", "type ? for what is")
        return out.actions[0], picks

    def _find(self, word: str, mask: npt.NDArray[np.bool_]) -> tuple[str, str]:
        wanted_head, _, wanted = word.rpartition("=")
        open_now = [
            (head.name, choice)
            for (head, choice), is_open in zip(self._columns, mask.tolist(), strict=True)
            if is_open and wanted_head in ("", head.name)
        ]
        for fits in (lambda c: c == wanted, lambda c: c.startswith(wanted), lambda c: wanted in c):
            found = [pair for pair in open_now if fits(one_word(pair[1]).lower())]
            if len(found) == 1:
                return found[0]
            if found:
                names = ", ".join(f"{head}={one_word(choice)}" for head, choice in found[:6])
                raise UserError(f"'{word}' could be {names}", "be more precise")
        raise UserError(f"'{word}' is not legal now", "type ? for what is")

    def _add_needed(self, picks: Picks, mask: npt.NDArray[np.bool_]) -> None:
        """A choice that needs another one brings it along."""
        open_now = {(h.name, c) for (h, c), is_open in zip(self._columns, mask.tolist(), strict=True) if is_open}
        for head in reversed(self._spec.heads):
            for rule in (r for r in head.rules if picks.get(head.name) == r.choice):
                if rule.when == "all":
                    for other, choice in rule.picks:
                        picks.setdefault(other, choice)
                elif rule.when == "any" and not any(picks.get(h) == c for h, c in rule.picks):
                    for other, choice in (pair for pair in rule.picks if pair in open_now):
                        picks.setdefault(other, choice)
                        break


def play_text(game: VecGame, rival: Contestant, scenario: str, seed: int, seat: int, say: Say, listen: Listen,
              sketch: Sketch = None) -> int:  # fmt: skip
    """One match, you in `seat`, the rival everywhere else; returns your result (1, 0, -1), 0 when you give up."""
    spec = game.spec
    others: Occupant = Bot(rival.bot) if rival.bot else External("rival")
    lineup = tuple(External("you") if s == seat else others for s in range(spec.seats))
    table = Table(game, {"rival": rival.make(spec)} if rival.make else {})
    table.queue([MatchPlan(0, seed, lineup, scenario, seat)])
    table.start()
    out, order = table.out, TypedOrders(spec)
    say(HELP)
    while True:
        table.decide()
        if out.acting[0, seat]:
            say("\n" + picture(game.view(0), spec, out.obs[0, seat], seat, sketch))
            action = _ask(order, spec, out, seat, say, listen)
            if action is None:
                return 0
            table.actions[0, seat] = action
        table.step()
        if table.is_empty:
            result = int(out.result[0, seat]) if not out.faults[0] else 0
            say({1: "\nYou won.", 0: "\nNobody won.", -1: "\nYou lost."}[result])
            return result


def _ask(order: TypedOrders, spec: GameSpec, out: StepBuffers, seat: int, say: Say, listen: Listen) -> Any:
    """The action that was typed, or None for giving up."""
    while True:
        try:
            text = listen().strip().lower()
        except EOFError:
            return None
        if text in ("q", "quit"):
            return None
        if not text:
            return IDLE
        if text == "?":
            legal = order.legal(out.mask[0, seat])
            lines = [f"  {head}: {' '.join(map(one_word, choices))}" for head, choices in legal.items()]
            say("\n".join(lines) or "  nothing to choose")
        elif text == "!":
            say(_features(spec, out.obs[0, seat]))
        else:
            try:
                return order.read(text, out.mask[0, seat])[0]
            except UserError as error:
                say(f"  {error}")


def picture(view: dict[str, Any], spec: GameSpec, obs: npt.NDArray[np.float32], seat: int, sketch: Sketch) -> str:
    """What a player may know: the game's own sketch, a board as it is, otherwise the features that are not 0."""
    if sketch is not None:
        return sketch(view, seat)
    if "board" in view:
        return "\n".join(view["board"]) + f"\nyou are seat {seat}"
    return _features(spec, obs)


def _features(spec: GameSpec, obs: npt.NDArray[np.float32]) -> str:
    names = [
        f"{block.name}[{i}].{feature.name}" if block.count > 1 else feature.name
        for block in spec.blocks
        for i in range(block.count)
        for feature in block.features
    ]
    return "  ".join(f"{name} {value:g}" for name, value in zip(names, obs.tolist(), strict=True) if value)
