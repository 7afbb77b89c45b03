"""M fights side by side: the queue of plans, the arrays of all rows, and the kernels called in order."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from pvp_ml.errors import UserError
from pvp_ml.games.legal import check_actions
from pvp_ml.games.osrs import state as S
from pvp_ml.games.osrs import switches
from pvp_ml.games.osrs.fights import FIGHT_RULES, FightConfig, NhConfig
from pvp_ml.games.osrs.items import BUILD_FIGHT_TYPE
from pvp_ml.games.osrs.kernels import batch as batch_kernels
from pvp_ml.games.osrs.kernels import reset as reset_kernels
from pvp_ml.games.osrs.kernels import tick as tick_kernels
from pvp_ml.games.osrs.kernels.dice import keys_of
from pvp_ml.games.osrs.ranges import check_state
from pvp_ml.games.osrs.show import view
from pvp_ml.match import LOSS, RESTING, TIE, WIN, Bot, IntArray, MatchPlan, StepBuffers
from pvp_ml.spec import GameSpec

if TYPE_CHECKING:
    from pvp_ml.games.osrs.accounts.wardrobe import Wardrobe

MAGIC = b"pvp-ml osrs snapshot 1\n"
BOT_CODES = {"nh-bot": S.BOT_NH, "dharok-bot": S.BOT_DHAROK}
RESULTS = np.array([(TIE, TIE), (WIN, LOSS), (LOSS, WIN), (TIE, TIE), (TIE, TIE)], np.int8)
"""Result of seats 0 and 1 by outcome; a truncated match counts as a tie."""


class _Queued(NamedTuple):
    """What a plan means to the game."""

    serial: int
    seed: int
    scenario: int
    bot_0: int
    bot_1: int
    outfit_0: int = -1
    outfit_1: int = -1


class OsrsGame:
    """A VecGame of NH or Dharok fights: `fighters` [M,2,F] and `state` [M,G] int32, `drained` [M,2] float64."""

    runs_elsewhere: ClassVar[Literal[False]] = False

    def __init__(self, spec: GameSpec, config: FightConfig, matches: int) -> None:
        if matches < 1:
            raise UserError(f"game '{spec.name}': {matches} matches", "at least 1")
        self.spec, self.matches, self.config = spec, matches, config
        self.dharok = spec.name == "dharok"
        self.fighters = np.zeros((matches, 2, S.FIGHTER_SIZE), np.int32)
        self.state = np.zeros((matches, S.MATCH_SIZE), np.int32)
        self.drained = np.zeros((matches, 2), np.float64)
        self.dice = np.zeros((matches, 0, 0), np.int32)
        self.serials = np.full(matches, RESTING, np.int64)
        self._scenarios = np.zeros(matches, np.int64)
        self._outcomes = np.zeros(matches, np.int32)
        self._queue: deque[_Queued] = deque()
        self._wardrobe = wardrobe_of(config)
        self._templates = np.stack([template(config, dict(s.parameters), self.dharok) for s in spec.scenarios])
        self._hidden = np.array([i for i, f in enumerate(spec.features) if f.partial], np.int64)
        self._sizes = np.array(spec.head_sizes, np.int32)
        self._rows = np.arange(matches)
        self._hit = np.zeros(S.HIT_SIZE, np.int32)
        self._unused_mask = np.zeros((2, spec.mask_size), np.bool_)

    def queue(self, plans: Sequence[MatchPlan]) -> None:
        """Append plans; rows take them in order as they become free."""
        self._queue.extend([self._read(plan) for plan in plans])

    def _read(self, plan: MatchPlan) -> _Queued:
        if len(plan.lineup) != self.spec.seats:
            raise UserError(f"plan {plan.serial}: lineup of {len(plan.lineup)}, game '{self.spec.name}' has 2 seats")
        bots = []
        for occupant in plan.lineup:
            if isinstance(occupant, Bot) and occupant.name not in self.spec.bots:
                raise UserError(
                    f"game '{self.spec.name}' has no bot '{occupant.name}'", f"bots: {', '.join(self.spec.bots)}"
                )
            bots.append(BOT_CODES[occupant.name] if isinstance(occupant, Bot) else S.BOT_NONE)
        scenario = self.spec.scenarios.index(self.spec.scenario(plan.scenario))
        outfits = self._wardrobe.choose(plan.seed, plan.home) if self._wardrobe is not None else ()
        return _Queued(plan.serial, plan.seed, scenario, *bots, *outfits)

    def start(self, out: StepBuffers) -> None:
        """Give each row a plan and write its first observation."""
        self.state[:] = 0
        self.serials[:] = RESTING
        for array in (out.signals, out.reward, out.ended, out.truncated, out.faults):
            array[...] = 0
        self._fill_rows(self._rows)
        self._show(self._rows, out)

    def step(self, actions: IntArray, out: StepBuffers) -> None:
        """Play one tick in every row that has a match."""
        actions = self._checked(actions)
        outcomes = self._outcomes
        batch_kernels.step_rows(
            self.fighters,
            self.state,
            self.drained,
            actions,
            self.dice,
            self._hidden,
            outcomes,
            out.signals,
            out.reward,
            out.obs,
            out.privileged,
            out.mask,
            out.acting,
            out.final_obs,
            out.final_privileged,
            self._hit,
            self._unused_mask,
            0,
            self.matches,
            self.dharok,
        )
        out.faults[...] = 0
        np.equal(outcomes, tick_kernels.TRUNCATED, out=out.truncated)
        np.not_equal(outcomes, tick_kernels.RUNNING, out=out.ended)
        stopped = np.flatnonzero(out.ended)
        out.ended[...] &= ~out.truncated
        if len(stopped):
            out.result[stopped] = RESULTS[outcomes[stopped]]
            self.state[stopped, S.LIVE] = 0
            self.serials[stopped] = RESTING
        free = np.flatnonzero(self.serials == RESTING)
        self._fill_rows(free)
        self._show(free, out)

    def _checked(self, actions: IntArray) -> IntArray:
        """The actions as the kernels take them; wrong ones raise ActionError and change nothing."""
        shape = (self.matches, 2, len(self._sizes))
        good = isinstance(actions, np.ndarray) and actions.dtype.kind in "iu" and actions.shape == shape
        if good:
            whole = np.ascontiguousarray(actions, np.int64 if actions.dtype.itemsize > 4 else np.int32)
            good = tick_kernels.are_in_range(whole, self._sizes)
        if not good:  # rare: perhaps only seats that nobody asks hold something odd
            check_actions(self.spec, actions, self._acting())
        return np.ascontiguousarray(actions, np.int32)

    def _acting(self) -> npt.NDArray[np.bool_]:
        return np.asarray((self.state[:, S.LIVE] != 0)[:, None] & (self.fighters[:, :, S.IS_BOT] == 0))

    def _fill_rows(self, free: npt.NDArray[np.int64]) -> None:
        """Start the next plans in the free rows, lowest row first."""
        free = free[: len(self._queue)]
        if len(free) == 0:
            return
        plans = [self._queue.popleft() for _ in free]
        self.serials[free] = [plan.serial for plan in plans]
        self._scenarios[free] = [plan.scenario for plan in plans]
        reset_kernels.start_rows(
            self.fighters,
            self.state,
            self.drained,
            free,
            self._templates[self._scenarios[free]],
            np.array([keys_of(plan.seed) for plan in plans], np.int32),
            np.array([(plan.bot_0, plan.bot_1) for plan in plans], np.int32),
        )
        if self._wardrobe is not None:
            self._wardrobe.dress(self.fighters, free, [(plan.outfit_0, plan.outfit_1) for plan in plans])

    def _show(self, rows: npt.NDArray[np.int64], out: StepBuffers) -> None:
        """Write the first sight of matches that have just begun, and zeros for rows that rest."""
        out.match[...] = self._rows
        out.serial[...] = self.serials
        if len(rows):
            batch_kernels.show_rows(
                self.fighters,
                self.state,
                self._hidden,
                rows,
                out.obs,
                out.privileged,
                out.mask,
                out.acting,
                self.dharok,
            )

    def snapshot(self) -> bytes:
        """The state of all rows and the queue; `restore` continues bit for bit."""
        head = {
            "digest": self.spec.game_digest,
            "matches": self.matches,
            "columns": [S.FIGHTER_SIZE, S.MATCH_SIZE],
            "serials": self.serials.tolist(),
            "scenarios": self._scenarios.tolist(),
            "queue": [list(plan[: self._plan_size]) for plan in self._queue],
        }
        return b"".join([MAGIC, json.dumps(head).encode(), b"\n", *(array.tobytes() for array in self._arrays())])

    @property
    def _plan_size(self) -> int:
        """Fields of a queued plan in a snapshot; outfits are there only where there are accounts."""
        return len(_Queued._fields) if self._wardrobe is not None else len(_Queued._fields) - 2

    def _arrays(self) -> tuple[npt.NDArray[Any], ...]:
        return self.fighters, self.state, self.drained

    def restore(self, data: bytes) -> None:
        """Continue from a snapshot of a game with the same digest and M; refuses anything else."""
        head, body = _read_snapshot(data)
        wanted = {
            "digest": self.spec.game_digest,
            "matches": self.matches,
            "columns": [S.FIGHTER_SIZE, S.MATCH_SIZE],
        }
        for key, value in wanted.items():
            if head.get(key) != value:
                raise UserError(f"snapshot of another game: {key} is {head.get(key)}, here {value}"[:300])
        if len(body) != sum(array.nbytes for array in self._arrays()):
            raise UserError(f"snapshot of game '{self.spec.name}' is cut short: {len(body)} bytes of state")
        serials = np.array(_whole_numbers(head["serials"], "serials", self.matches, RESTING, 1 << 62), np.int64)
        last = len(self.spec.scenarios) - 1
        scenarios = np.array(_whole_numbers(head["scenarios"], "scenarios", self.matches, 0, last), np.int64)
        if not isinstance(head["queue"], list):
            raise UserError("the snapshot's queue is not a list")
        queue = [self._queued(plan) for plan in head["queue"]]
        parts, start = [], 0
        for array in self._arrays():
            parts.append(np.frombuffer(body, array.dtype, array.size, start).reshape(array.shape))
            start += array.nbytes
        check_state(*parts)
        for array, part in zip(self._arrays(), parts, strict=True):
            array[...] = part
        self.serials[:], self._scenarios[:] = serials, scenarios
        self._queue = deque(queue)

    def _queued(self, fields: Any) -> _Queued:
        if not isinstance(fields, list) or len(fields) != self._plan_size:
            raise UserError("the snapshot's queue holds something that is no plan")
        last = max(BOT_CODES.values())
        limits = [(0, 1 << 62), (0, (1 << 64) - 1), (0, len(self.spec.scenarios) - 1), (0, last), (0, last)]
        if self._wardrobe is not None:
            limits += [(-1, self._wardrobe.size - 1)] * 2
        for number, (least, most) in zip(fields, limits, strict=True):
            _whole_numbers([number], "queue", 1, least, most)
        return _Queued(*fields)

    def view(self, match: int) -> dict[str, Any]:
        """One row's fight for people, as JSON."""
        if not 0 <= match < self.matches:
            raise UserError(f"there is no match {match}", f"0 to {self.matches - 1}")
        serial = int(self.serials[match])
        if serial == RESTING:
            return {"game": self.spec.name, "serial": None, "resting": True}
        scenario = self.spec.scenarios[int(self._scenarios[match])].name
        description = view.describe(self.fighters[match], self.state[match])
        return {"game": self.spec.name, "serial": serial, "scenario": scenario, **description}

    def close(self) -> None:
        """Nothing outside the process to free."""


def wardrobe_of(config: FightConfig) -> Wardrobe | None:
    """What the accounts of these settings wear; None where builds decide."""
    if not isinstance(config, NhConfig) or not (config.account or config.opponent_account):
        return None
    from pvp_ml.games.osrs.accounts.wardrobe import Wardrobe

    return Wardrobe(*config.accounts, config.account_variety)


def template(config: FightConfig, overrides: dict[str, Any], dharok: bool) -> IntArray:
    """The match row of a scenario before anything is drawn: settings and switches."""
    row = np.zeros(S.MATCH_SIZE, np.int32)
    settings = {**config.model_dump(), **overrides}
    row[S.MAX_TICKS] = settings["max_ticks"]
    row[S.DEATH_MATCH] = settings["death_match"]
    row[S.RANDOM_TILES] = settings["random_tiles"]
    row[S.TERRAIN] = settings["terrain"] == "wilderness"
    for switch in switches.SWITCHES:
        value = switch.live if settings.get("live") else switch.reference
        value = (value or switch.name in config.switches_on) and switch.name not in config.switches_off
        row[switch.column] = value
    if dharok or not isinstance(config, NhConfig):
        row[S.BUILD_OPTIONS] = 1 << S.BUILDS.index("DHAROK")
        return row
    builds = settings["builds"]
    for build in builds.split(",") if isinstance(builds, str) else builds:
        row[S.BUILD_OPTIONS] |= 1 << S.BUILDS.index(build)
    row[S.RANDOM_GEAR] = settings["randomize_gear"]
    row[S.FIGHT_RULE] = FIGHT_RULES[settings["fight_type"]]
    own, _ = config.accounts
    if own is not None:  # no build is drawn
        counts_as = S.BUILDS.index(own.build)
        row[S.BUILD_OPTIONS] = 1 << counts_as
        if settings["fight_type"] == "of-build" and FIGHT_RULES[own.fight_type] != BUILD_FIGHT_TYPE[counts_as]:
            row[S.FIGHT_RULE] = FIGHT_RULES[own.fight_type]
    row[S.PRAYER_GATE] = settings["only_switch_prayer_when_about_to_attack"]
    row[S.GEAR_GATE] = settings["only_switch_gear_when_attack_soon"]
    row[S.ALLOW_SMITE] = settings["allow_smite"]
    row[S.ALLOW_REDEMPTION] = settings["allow_redemption"]
    row[S.ALLOW_MOVING] = settings["allow_moving_if_can_attack"]
    return row


def _whole_numbers(values: Any, what: str, count: int, least: int, most: int) -> list[int]:
    """The list, if it holds so many whole numbers of that range."""
    if isinstance(values, list) and len(values) == count and all(type(n) is int and least <= n <= most for n in values):
        return values
    raise UserError(f"the snapshot's {what} are not {count} whole numbers from {least} to {most}")


def _read_snapshot(data: bytes) -> tuple[dict[str, Any], bytes]:
    head, newline, body = data[len(MAGIC) :].partition(b"\n")
    if not data.startswith(MAGIC) or not newline:
        raise UserError("these bytes are not a snapshot of an OSRS fight")
    try:
        header = json.loads(head)
    except (ValueError, RecursionError) as error:
        raise UserError(f"the snapshot's head is not JSON: {str(error)[:120]}") from error
    keys = {"digest", "matches", "columns", "serials", "scenarios", "queue"}
    if not isinstance(header, dict) or set(header) != keys:
        raise UserError("the snapshot's head has other keys than a snapshot of an OSRS fight")
    return header, body
