"""One fight of the simulation server: a game of one row, and its sights in the shape of the protocol.

A game of one row costs about 20 µs a tick, sockets and JSON around it many times that; so every fight has a row of its
own and waits for nobody else.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from pvp_ml.errors import UserError
from pvp_ml.games import registry
from pvp_ml.games.osrs.remote.meta import after, to_meta
from pvp_ml.games.osrs.remote.params import game_settings
from pvp_ml.games.osrs.remote.wire import ResetBody
from pvp_ml.games.registry import GameConfig, GameType
from pvp_ml.match import IDLE, Bot, External, MatchPlan, Occupant, StepBuffers, VecGame

MOST_TICKS = 20_000
AGENT_TYPES = ("NhEnv", "DharokEnv")
SEATS = 2
MAX_POOLED = 64
_ATTACKS = (("mage_attack", "mage_attack_type"), ("ranged_attack", "ranged_attack_type"),
            ("melee_attack", "melee_attack_type"))  # fmt: skip
"""An attack whose type is its first choice is refused, as by the original."""

WON, LOST, TIED, TARGET_LOST = "WON", "LOST", "TIED", "TARGET_LOST"


@dataclass(slots=True)
class PooledGame:
    """A game of one row with its buffers; used again for fights with the same settings."""

    type: GameType
    config: GameConfig
    game: VecGame
    out: StepBuffers


class GamePool:
    """Builds games by settings and keeps those that are free."""

    def __init__(self, switches_on: tuple[str, ...] = (), switches_off: tuple[str, ...] = ()) -> None:
        self._switches = {"switches_on": switches_on, "switches_off": switches_off}
        self._free: dict[GameConfig, list[PooledGame]] = {}

    def take(self, agent_type: str, body: ResetBody) -> PooledGame:
        """A game for the settings that a reset asks for; raises UserError for settings that the game refuses."""
        game_type = registry.find(agent_type)
        settings = game_settings(body, agent_type == "NhEnv")
        config = registry.configure(game_type, {**settings, **self._switches, "max_ticks": MOST_TICKS})
        free = self._free.get(config)
        if free:
            return free.pop()
        game = registry.build_here(game_type, config, 1)
        return PooledGame(game_type, config, game, StepBuffers.allocate(game.spec, 1))

    def give_back(self, pooled: PooledGame) -> None:
        """The fight is over."""
        if pooled.config not in self._free and len(self._free) >= MAX_POOLED:
            self._free.pop(next(iter(self._free)))
        self._free.setdefault(pooled.config, []).append(pooled)


def warm_up(pool: GamePool) -> None:
    """Play one tick of each kind of fight: the first one may wait a minute for the compiler, and clients must not."""
    for agent_type in AGENT_TYPES:
        fight = Fight(pool.take(agent_type, ResetBody()), 0, 1)
        fight.tick()
        fight.sight(0, with_target=True)
        pool.give_back(fight.pooled)


class Fight:
    """One match between two seats; `is_bot[seat]` seats are played by the game."""

    def __init__(self, pooled: PooledGame, seed: int, bot_seat: int | None) -> None:
        self.pooled = pooled
        spec = pooled.game.spec
        self._sizes = spec.head_sizes
        self._kinds = _kinds(pooled)
        lineup: list[Occupant] = [External(str(seat)) for seat in range(SEATS)]
        if bot_seat is not None:
            lineup[bot_seat] = Bot(spec.bots[0])
        self.bot_seat = bot_seat
        self.actions: npt.NDArray[np.int32] = np.full((1, SEATS, len(spec.heads)), IDLE, np.int32)
        pooled.game.queue([MatchPlan(0, seed, tuple(lineup))])
        pooled.game.start(pooled.out)
        self._ends = np.cumsum((0, *spec.head_sizes)).tolist()
        self._signals = _first_signals(pooled.game)
        self._obs: list[list[float]] = pooled.out.obs[0].tolist()
        self._masks = [self._split(pooled.out.mask[0, seat]) for seat in range(SEATS)]
        self.ticks = 0
        self.states: tuple[str, str] | None = None

    def tick(self) -> None:
        """Play the actions; `states` tells the ending, if it was the last tick."""
        out = self.pooled.out
        self.pooled.game.step(self.actions, out)
        self.actions[:] = IDLE
        self.ticks += 1
        self._signals = out.signals[0].tolist()
        if out.ended[0] or out.truncated[0]:
            self._obs = out.final_obs[0].tolist()
            self.states = self._ending()
            return
        self._obs = out.obs[0].tolist()
        self._masks = [self._split(out.mask[0, seat]) for seat in range(SEATS)]

    def sight(self, seat: int, with_target: bool, state: str | None = None) -> dict[str, Any]:
        """What a seat is sent now; with a terminal state, what it is sent one step after the last tick."""
        signals = self._signals[seat] if state is None else after(self._signals[seat])
        meta = to_meta(signals)
        if with_target:
            meta["targetObs"] = self._obs[1 - seat]
            meta["targetActionMasks"] = self._masks[1 - seat]
        body = {"obs": self._obs[seat], "actionMasks": self._masks[seat], "meta": meta}
        return body if state is None else {**body, "terminalState": state}

    def set_action(self, seat: int, action: list[int]) -> None:
        """Take a seat's choices; masked-out ones are played as far as the rules let them. Raises UserError."""
        sizes = self._sizes
        is_good = len(action) == len(sizes) and all(0 <= c < n for c, n in zip(action, sizes, strict=True))
        if not is_good or (action[0] in self._kinds and action[self._kinds[action[0]]] == 0):
            _refuse(self.pooled, action)
        self.actions[0, seat] = action

    def _ending(self) -> tuple[str, str]:
        """Both dead counts as won for both, as the protocol has it."""
        result, health = self.pooled.out.result[0].tolist(), [self._signals[seat][0] for seat in range(SEATS)]
        if not any(health):
            return WON, WON
        words = {1: WON, 0: TIED, -1: LOST}
        return words[result[0]], words[result[1]]

    def _split(self, mask: npt.NDArray[np.bool_]) -> list[list[bool]]:
        flat, ends = mask.tolist(), self._ends
        return [flat[low:high] for low, high in pairwise(ends)]


def _kinds(pooled: PooledGame) -> dict[int, int]:
    """Choice of the first head → head that must then say how, for games that have such heads."""
    heads = pooled.game.spec.heads
    names = {head.name: h for h, head in enumerate(heads)}
    return {heads[0].choices.index(attack): names[kind] for attack, kind in _ATTACKS if kind in names}


def _refuse(pooled: PooledGame, action: list[int]) -> NoReturn:
    """Say what is wrong: a wrong length, a choice outside its head, an attack without a type."""
    heads = pooled.game.spec.heads
    if len(action) != len(heads):
        raise UserError(f"an action has {len(heads)} choices, got {len(action)}")
    for head, choice in zip(heads, action, strict=True):
        if not 0 <= choice < head.size:
            raise UserError(f"head '{head.name}' has choices 0 to {head.size - 1}, got {choice}")
    attack, kind = heads[0].choices[action[0]], heads[_kinds(pooled)[action[0]]]
    raise UserError(f"'{attack}' needs a choice of head '{kind.name}' above 0")


def _first_signals(game: VecGame) -> list[list[float]]:
    """Where both stand before the first tick; a game reports signals only after one."""
    from pvp_ml.games.osrs.game import OsrsGame
    from pvp_ml.games.osrs.kernels.signals import write_status

    assert isinstance(game, OsrsGame)
    signals: npt.NDArray[np.float32] = np.zeros((SEATS, len(game.spec.signals)), np.float32)
    for seat in range(SEATS):
        write_status(game.fighters[0, seat], game.fighters[0, 1 - seat], game.state[0], signals[seat])
    rows: list[list[float]] = signals.tolist()
    return rows
