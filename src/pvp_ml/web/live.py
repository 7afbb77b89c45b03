"""One match while it is played: minds and a person decide, frames come out. Knows no sockets and no clock."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.games.play import Table
from pvp_ml.games.registry import GameConfig, GameType
from pvp_ml.games.replay import Replay, ReplayError, is_over, play
from pvp_ml.match import IDLE, BoolArray, FloatArray, IntArray, MatchPlan, StepBuffers, VecGame
from pvp_ml.model.recording import Recording
from pvp_ml.players import Attending
from pvp_ml.spec import GameSpec
from pvp_ml.web.minds import Mind, Sight, Thought
from pvp_ml.web.orders import Orders
from pvp_ml.web.seen import seen

Thoughts = dict[int, Thought]


@dataclass(frozen=True, slots=True)
class Frame:
    """The match after `step` steps: how it looks, who acts next, and the decisions that led here."""

    step: int
    scene: dict[str, Any]
    acting: tuple[bool, ...]
    mask: BoolArray | None  # [A] of the person's seat; None where nobody sits or nothing is to decide
    actions: tuple[tuple[int, ...], ...] | None  # [S][H] of the step that led here, None at the start
    thoughts: Thoughts
    result: tuple[int, ...] | None  # WIN, TIE, LOSS per seat once it is over
    is_cut: bool = False  # over because of the step cap


def picture(kind: GameType, game: VecGame, out: StepBuffers, seat: int | None) -> dict[str, Any]:
    """What a page draws of row 0, as the person in `seat` may see it; None sees everything."""
    scene = kind.presentation.scene
    if scene is not None:
        return scene(game, out, seat)
    if is_over(out):  # the row has moved on; what everybody saw last is kept
        return {"kind": "view"} | {
            f"seat_{s + 1}": seen(game.spec, out.final_obs[0, s]) for s in range(game.spec.seats)
        }
    if seat is not None:  # a view shows everybody's cards
        return {"kind": "view", **seen(game.spec, out.obs[0, seat])}
    return {"kind": "view", **game.view(0)}


class LiveMatch:
    """A match of one row. `minds[seat]` is None for the person's seat and for bots inside the game."""

    def __init__(
        self, kind: GameType, config: GameConfig, plan: MatchPlan, minds: Sequence[Mind | None], human: int | None
    ) -> None:
        self.kind, self.config, self.plan, self.human = kind, config, plan, human
        self.is_slow = kind.runs_elsewhere(config)  # a step waits for another process
        self._game = registry.build_for_people(kind, config)
        self.spec = self._game.spec
        self.orders = Orders(self.spec)
        self._minds = minds
        for mind in minds:
            if isinstance(mind, Attending):
                mind.attend(self._game)
        self._table = Table(self._game)
        self._out = self._table.out
        self._actions: list[tuple[tuple[int, ...], ...]] = []
        self._rows: list[tuple[FloatArray, BoolArray, IntArray]] = []
        self._table.queue([plan])
        self._table.start()
        self.frame = self._shown({})

    @property
    def is_over(self) -> bool:
        """Whether there is nothing more to play."""
        return self.frame.result is not None

    @property
    def awaits_person(self) -> bool:
        """Whether the person has something to decide now."""
        return self.frame.mask is not None

    def advance(self, action: IntArray | None) -> Frame:
        """Play one step; `action` [H] is the person's, None gives no input."""
        if self.is_over:
            raise UserError("the match is over", "start another one")
        actions = self._table.actions
        actions[:] = IDLE
        if action is not None and self.human is not None and self.frame.mask is not None:
            actions[0, self.human] = action
            mask = self._out.mask[0, self.human].copy()
            if self.orders.is_legal(action, mask):  # what no agent could choose cannot be cloned
                self._rows.append((self._out.obs[0, self.human].copy(), mask, action))
        thoughts = self._decide(actions)
        self._actions.append(tuple(tuple(int(c) for c in seat) for seat in actions[0]))
        self._table.step()
        self.frame = self._shown(thoughts)
        return self.frame

    def _decide(self, actions: IntArray) -> Thoughts:
        keys = self._table.keys()
        thoughts: Thoughts = {}
        for seat in np.flatnonzero(self._out.acting[0]).tolist():
            mind = self._minds[seat]
            if mind is not None:
                actions[0, seat], thought = mind.decide(sight_of(self._out, seat, int(keys[0, seat])))
                if thought is not None:
                    thoughts[seat] = thought
        return thoughts

    def _shown(self, thoughts: Thoughts) -> Frame:
        last = self._actions[-1] if self._actions else None
        return frame_of(self.kind, self._game, self._out, len(self._actions), self.human, last, thoughts)

    def replay(self) -> Replay:
        """Everything that the match depends on, so far."""
        settings = self.config.model_dump(mode="json")
        return Replay(self.kind.name, self.spec.game_digest, settings, self.plan, tuple(self._actions))

    def demonstration(self) -> Recording | None:
        """What the person saw and chose where an agent could have chosen it too; None when there is nothing."""
        if not self._rows:
            return None
        obs, mask, actions = (np.stack(column) for column in zip(*self._rows, strict=True))
        return Recording(obs, mask, actions, np.zeros(len(obs), np.int64))

    def close(self) -> None:
        """Free what the game holds."""
        self._game.close()


def sight_of(out: StepBuffers, seat: int, key: int) -> Sight:
    """What a seat of row 0 knows."""
    return Sight(out.obs[0, seat], out.privileged[0, seat], out.mask[0, seat], key)


def frame_of(kind: GameType, game: VecGame, out: StepBuffers, step: int, human: int | None,
             actions: tuple[tuple[int, ...], ...] | None, thoughts: Thoughts) -> Frame:  # fmt: skip
    """Row 0 as it is now."""
    over = is_over(out) or bool(out.faults[0])
    acting = tuple(bool(a) and not over for a in out.acting[0])
    mask = _person_mask(kind, game, out, human) if human is not None and acting[human] else None
    result = tuple(int(r) for r in out.result[0]) if over else None
    if human is not None and not over:
        actions, thoughts = _without_secrets(kind, game.spec, human, actions, thoughts)
    scene = picture(kind, game, out, None if over else human)
    return Frame(step, scene, acting, mask, actions, thoughts, result, bool(out.truncated[0]))


def _without_secrets(
    kind: GameType, spec: GameSpec, human: int, actions: tuple[tuple[int, ...], ...] | None, thoughts: Thoughts
) -> tuple[tuple[tuple[int, ...], ...] | None, Thoughts]:
    """What others did and thought, without the heads that they keep to themselves."""
    secret = [head.name in kind.presentation.secret_heads for head in spec.heads]
    if not any(secret):
        return actions, thoughts
    if actions is not None:
        actions = tuple(
            seat if s == human else tuple(IDLE if hidden else pick for pick, hidden in zip(seat, secret, strict=True))
            for s, seat in enumerate(actions)
        )
    shown = ~np.repeat(secret, [head.size for head in spec.heads])
    thoughts = {s: t if s == human else replace(t, probs=t.probs * shown) for s, t in thoughts.items()}
    return actions, thoughts


def _person_mask(kind: GameType, game: VecGame, out: StepBuffers, human: int) -> BoolArray:
    """[A]: what the person may choose: what agents may, and what the game allows people besides."""
    mask: BoolArray = out.mask[0, human].copy()
    more = kind.presentation.person_mask
    return mask if more is None else mask | more(game, human, mask)


def replayed(replay: Replay, analysts: Sequence[Mind | None], max_steps: int) -> Iterator[Frame]:
    """The frames of a saved match; an analyst thinks aloud about every decision of its seat, without deciding."""
    kind = registry.find(replay.game)
    if len(replay.actions) > max_steps:
        raise ReplayError(f"the replay has {len(replay.actions)} steps", f"at most {max_steps}")
    thoughts: Thoughts = {}
    try:
        for step, (game, out) in enumerate(play(replay)):
            yield frame_of(kind, game, out, step, None, replay.actions[step - 1] if step else None, thoughts)
            thoughts = {}
            for seat in np.flatnonzero(out.acting[0]).tolist():
                mind = analysts[seat]
                thought = mind.decide(sight_of(out, seat, 0))[1] if mind is not None else None
                if thought is not None:
                    thoughts[seat] = thought
    except (OverflowError, ValueError) as error:
        raise ReplayError(f"the replay has an action that is no action: {error}"[:200]) from error
