"""VGC matches side by side, in Node processes: the AsyncVecGame."""

from __future__ import annotations

import collections
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from pvp_ml.errors import UserError
from pvp_ml.games.legal import Legality
from pvp_ml.games.vgc.briefing import Briefing
from pvp_ml.games.vgc.config import VgcConfig, make_spec
from pvp_ml.games.vgc.matchbook import Matchbook
from pvp_ml.games.vgc.node import install
from pvp_ml.games.vgc.node.frames import ACTION
from pvp_ml.games.vgc.node.worker_pool import Lost, WorkerPool
from pvp_ml.match import IDLE, RESTING, ActionError, Fault, IntArray, MatchPlan, StepBuffers

MATCHES_PER_WORKER = 16
VIEW_S = 5.0
BRIEFING_S = 60.0
REPLAY_PLAYER = "https://play.pokemonshowdown.com/js/replay-embed.js"
RETRIES = 2  # a match that had not begun when its worker was lost begins again, this often
_STEP_FIELDS = ("serial", "obs", "privileged", "mask", "acting", "signals", "reward", "ended", "truncated", "faults")
_ENDING_FIELDS = ("result", "final_obs", "final_privileged")


@dataclass(frozen=True, slots=True)
class BattleLog:
    """A finished battle: the log that a spectator sees, and the choices that reproduce it exactly."""

    serial: int
    lines: tuple[str, ...]
    inputs: tuple[str, ...]


class _Phase(IntEnum):
    RESTING = 0
    STARTING = 1  # the worker sets the match up
    THINKING = 2  # the worker plays a step
    READY = 3  # a row waits to be received
    ASKED = 4  # the caller has the row and owes actions


class VgcGame:
    """M matches; row r runs in worker r mod W. Every wait has a deadline, and a lost worker voids its matches only."""

    runs_elsewhere: ClassVar[Literal[True]] = True

    def __init__(self, config: VgcConfig, matches: int) -> None:
        if matches < 1:
            raise UserError(f"vgc: {matches} matches asked for", "at least 1")
        installation = install.find()
        self.spec, self.matches = make_spec(config), matches
        self._book = Matchbook(config, self.spec, installation)
        self._logs = Path(config.log_folder) if config.log_folder else None
        count = config.workers or max(1, min(os.cpu_count() or 1, matches // MATCHES_PER_WORKER))
        stock = not (config.speedup and installation.speedup)
        self._pool = WorkerPool(min(count, matches), self.spec, installation, self._book.texts, stock, config.stall_s)
        self._pool.on_log = self._keep_log
        self._hear: Callable[[BattleLog], None] | None = None
        self._workers = min(count, matches)
        self._legality = Legality(self.spec)
        self._stage = StepBuffers.allocate(self.spec, matches)
        self._advice = np.full((matches, self.spec.seats, len(self.spec.heads)), IDLE, np.int32)
        self._phase = np.zeros(matches, np.int8)
        self._plans: list[MatchPlan | None] = [None] * matches
        self._retries = np.zeros(matches, np.int8)
        self._lost = np.zeros(matches, np.int32)  # Fault of a match that died while the caller held its row
        self._ending = np.zeros(matches, np.bool_)  # the staged row reports a match that stopped
        self._queue: collections.deque[MatchPlan] = collections.deque()
        self._ready: collections.deque[int] = collections.deque()
        self._started = self._closed = False

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers."""
        return self._pool.pids

    @property
    def fault_texts(self) -> list[str]:
        """What voided matches said, newest last, at most 100."""
        return list(self._pool.faults)

    def listen(self, hear: Callable[[BattleLog], None]) -> None:
        """From now on, `hear` gets the log of every match that begins later and stops."""
        self._book.keep_logs = True
        self._hear = hear

    def advise(self, bot: str) -> None:
        """From now on, matches that begin also say what this bot would do in each seat that acts."""
        if bot not in self.spec.bots:
            raise UserError(f"vgc has no bot '{bot}'", f"choose one of: {', '.join(self.spec.bots)}")
        self._book.adviser = bot

    def advice(self, serials: npt.NDArray[np.int64], seats: IntArray) -> IntArray:
        """[n,H]: what the adviser would do in these seats of the matches `serials`, whose rows were just received."""
        place = {int(serial): row for row, serial in enumerate(self._stage.serial)}
        rows = [place[int(serial)] for serial in serials]
        return self._advice[rows, seats]

    def briefing(self, serial: int, seat: int, start: int) -> Briefing:
        """What the seat of match `serial`, whose row the caller has, was shown from place `start` of its log on."""
        rows = np.flatnonzero(self._stage.serial == serial)
        row = int(rows[0]) if len(rows) else 0
        question = {"ask": "briefing", "slot": row, "seat": seat, "start": start}
        answer = self._pool.ask(row % self._workers, question, BRIEFING_S) if len(rows) else None
        if not isinstance(answer, dict):
            raise UserError(f"vgc: match {serial} tells nothing", "it is over, or its process was lost")
        return Briefing(answer["format"], answer["lines"], answer["request"], answer["next"])

    def tags(self, plan: MatchPlan, seat: int) -> dict[str, str]:
        """What tells matches apart for the player in `seat`: his team and his opponent's."""
        names = [key.split("/", 1)[1] for key in self._book.teams(plan)]
        return {"with": names[seat], "against": names[1 - seat]}

    def queue(self, plans: Sequence[MatchPlan]) -> None:
        """Append plans; rows take them in order as they become free. All are refused when one is wrong."""
        for plan in plans:
            self._book.check(plan)
        self._queue.extend(plans)
        if self._started:
            self._fill()

    def start(self) -> None:
        """Begin the first matches; their first observations arrive through `recv`."""
        self._started = True
        self._fill()

    def send(self, match: IntArray, actions: IntArray) -> None:
        """Give the actions [n,S,H] of the rows `match` [n]; does not wait."""
        rows = np.asarray(match, np.int64)
        self._check(rows, actions)
        orders = np.zeros(len(rows), ACTION)
        orders["slot"] = rows
        orders["picks"] = np.where(self._stage.acting[rows][:, :, None], actions, -1)
        lost = self._lost[rows] != Fault.NONE
        for row in rows[lost]:
            self._void(int(row), Fault(int(self._lost[row])))
        self._phase[rows[~lost]] = _Phase.THINKING
        for worker in range(self._workers):
            mine = ~lost & (rows % self._workers == worker)
            if mine.any():
                self._pool.act(worker, orders[mine].tobytes(), int(mine.sum()))
        self._fill()

    def recv(self, at_least: int, timeout_s: float, out: StepBuffers) -> int:
        """Wait for at least that many rows; write them to out[:n] (`out.match` says which) and return n."""
        deadline = time.monotonic() + timeout_s
        room = len(out.match)
        wanted = min(at_least, room)
        while True:
            left = deadline - time.monotonic()
            wait = max(left, 0.0) if len(self._ready) < wanted else 0.0
            for item in self._pool.collect(wait):
                if isinstance(item, Lost):
                    self._lose(item)
                else:
                    self._sort(item)
            self._fill()
            if len(self._ready) >= wanted or time.monotonic() >= deadline:
                count = self._hand_out(min(len(self._ready), room), out)
                self._fill()
                return count

    def view(self, match: int) -> dict[str, Any]:
        """The battle in row `match`: format, turn, Showdown log and what each seat is asked."""
        plan = self._plans[match]
        if plan is None:
            return {"match": match, "resting": True}
        answer = self._pool.ask(match % self._workers, {"ask": "view", "slot": match}, VIEW_S) or {}
        return {"match": match, "serial": plan.serial, "scenario": plan.scenario, **answer}

    def scene(self, match: int, seat: int | None) -> dict[str, Any] | None:
        """What a page draws of row `match`, through the eyes of a seat (None: of both), also right after its end.

        None when the battle was lost with its worker.
        """
        answer = self._pool.ask(match % self._workers, {"ask": "scene", "slot": match, "seat": seat}, VIEW_S)
        return answer if isinstance(answer, dict) else None

    def stats(self) -> list[dict[str, Any]]:
        """Per worker: CPU seconds, resident bytes, battles, decisions, rejected and unavailable choices, faults."""
        return [self._pool.ask(worker, {"ask": "stats"}, VIEW_S) or {} for worker in range(self._workers)]

    def close(self) -> None:
        """Stop the processes."""
        self._closed = True
        self._pool.close()

    def _check(self, rows: npt.NDArray[np.int64], actions: IntArray) -> None:
        if len(rows) and (rows.min() < 0 or rows.max() >= self.matches or len(np.unique(rows)) < len(rows)):
            raise ActionError(f"vgc: rows {rows.tolist()[:8]}… must be different and in 0…{self.matches - 1}")
        if (self._phase[rows] != _Phase.ASKED).any():
            row = int(rows[self._phase[rows] != _Phase.ASKED][0])
            raise ActionError(f"vgc: row {row} is not waiting for actions", "send each received row once")
        self._legality.check(actions, self._stage.acting[rows], self._stage.mask[rows])

    def _fill(self) -> None:
        """Give queued plans to resting rows, lowest row first."""
        orders: dict[int, list[dict[str, Any]]] = {}
        if not self._queue:
            return
        for row in np.flatnonzero(self._phase == _Phase.RESTING).tolist():
            if not self._queue:
                break
            if row in self._ready:
                continue  # its last ending has not been received yet
            plan = self._queue.popleft()
            self._retries[row] = 0
            self._begin(row, plan, orders)
        self._dispatch(orders)

    def _begin(self, row: int, plan: MatchPlan, orders: dict[int, list[dict[str, Any]]]) -> None:
        self._plans[row] = plan
        self._phase[row] = _Phase.STARTING
        orders.setdefault(row % self._workers, []).append(self._book.order(plan, row))

    def _dispatch(self, orders: dict[int, list[dict[str, Any]]]) -> None:
        for worker, batch in orders.items():
            self._pool.begin(worker, batch)

    def _sort(self, records: np.ndarray[Any, np.dtype[np.void]]) -> None:
        """Take a worker's rows: a stopped match leaves its ending and makes room for the next plan."""
        orders: dict[int, list[dict[str, Any]]] = {}
        for record in records:
            row = int(record["slot"])
            plan = self._plans[row]
            if plan is None or plan.serial != int(record["serial"]):
                continue
            if self._phase[row] == _Phase.STARTING:
                self._stage_first(row, record)
            else:
                self._stage_step(row, record, orders)
        self._dispatch(orders)

    def _stage_first(self, row: int, record: np.void) -> None:
        self._lost[row] = record["fault"]  # a match that could not begin is void at its first step
        self._stage_state(row, record)
        if not self._ending[row]:
            self._stage_numbers(row, None)
        self._offer(row)

    def _stage_step(self, row: int, record: np.void, orders: dict[int, list[dict[str, Any]]]) -> None:
        self._stage_numbers(row, record)
        fault = int(record["fault"])
        stopped = bool(record["ended"] or record["truncated"])
        if not fault and not stopped:
            self._stage_state(row, record)
            self._offer(row)
            return
        stage = self._stage
        stage.faults[row] = fault
        if not fault:
            stage.ended[row], stage.truncated[row] = record["ended"], record["truncated"]
            stage.result[row] = record["result"]
            stage.final_obs[row], stage.final_privileged[row] = record["obs"], record["privileged"]
        self._next(row, orders)

    def _next(self, row: int, orders: dict[int, list[dict[str, Any]]]) -> None:
        """The match in `row` stopped; begin the next plan there, or let it rest."""
        if not self._queue:
            self._rest(row)
            return
        self._ending[row] = True
        self._retries[row] = 0
        self._begin(row, self._queue.popleft(), orders)

    def _rest(self, row: int) -> None:
        """Report the ending of `row` at once, without a next match."""
        self._ending[row] = True
        self._plans[row] = None
        self._phase[row] = _Phase.RESTING
        self._stage.serial[row] = RESTING
        for name in ("obs", "privileged", "mask", "acting"):
            getattr(self._stage, name)[row] = 0
        self._ready.append(row)

    def _stage_state(self, row: int, record: np.void) -> None:
        stage = self._stage
        stage.serial[row] = int(record["serial"])
        self._advice[row] = record["advice"]
        for name in ("obs", "privileged", "mask", "acting"):
            getattr(stage, name)[row] = record[name]

    def _stage_numbers(self, row: int, record: np.void | None) -> None:
        stage = self._stage
        stage.ended[row] = stage.truncated[row] = False
        stage.faults[row] = 0
        stage.signals[row] = 0 if record is None else record["signals"]
        stage.reward[row] = 0 if record is None else record["reward"]

    def _offer(self, row: int) -> None:
        self._phase[row] = _Phase.READY
        self._ready.append(row)

    def _hand_out(self, count: int, out: StepBuffers) -> int:
        rows = np.array([self._ready.popleft() for _ in range(count)], np.int64)
        out.match[:count] = rows
        for name in _STEP_FIELDS:
            getattr(out, name)[:count] = getattr(self._stage, name)[rows]
        for i in np.flatnonzero(self._stage.ended[rows] | self._stage.truncated[rows]):
            for name in _ENDING_FIELDS:
                getattr(out, name)[i] = getattr(self._stage, name)[rows[i]]
        self._ending[rows] = False
        self._phase[rows[self._phase[rows] == _Phase.READY]] = _Phase.ASKED
        return count

    def _void(self, row: int, fault: Fault) -> None:
        """The match in `row` is lost. This is reported at once: the next match may have to wait for a new process."""
        self._stage_numbers(row, None)
        self._stage.faults[row] = fault
        self._lost[row] = Fault.NONE
        self._rest(row)

    def _lose(self, lost: Lost) -> None:
        """A worker was replaced: its matches are void, those that had not begun begin again."""
        orders: dict[int, list[dict[str, Any]]] = {}
        for row in range(lost.worker, self.matches, self._workers):
            plan, phase = self._plans[row], self._phase[row]
            if plan is None:
                continue
            if phase == _Phase.STARTING and self._retries[row] < RETRIES:
                self._retries[row] += lost.began
                self._begin(row, plan, orders)
            elif phase == _Phase.STARTING:
                self._stage_first(row, _blank(self._pool.record, row, plan.serial, lost.fault))
            elif phase == _Phase.THINKING:
                self._void(row, lost.fault)
            else:
                self._lost[row] = lost.fault
        self._dispatch(orders)

    def _keep_log(self, news: dict[str, Any]) -> None:
        log = BattleLog(int(news["serial"]), tuple(news["log"]), tuple(news["inputLog"]))
        if self._hear is not None:
            self._hear(log)
        if self._logs is not None:
            save_log(log, self._logs)


def save_log(log: BattleLog, folder: Path) -> Path:
    """Write a battle as a log (`.log`), choices (`.input.log`) and a page (`.html`); gives the path of the log."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"match-{log.serial:08d}.log"
    path.write_text("\n".join(log.lines) + "\n", "utf-8")
    path.with_suffix(".input.log").write_text("\n".join(log.inputs) + "\n", "utf-8")
    path.with_suffix(".html").write_text(replay_page(log), "utf-8")
    return path


def replay_page(log: BattleLog) -> str:
    """A page that plays the battle, as Showdown saves them; opening it fetches Showdown's own player."""
    text = "\n".join(log.lines).replace("</", "<\\/")
    return (
        f'<!DOCTYPE html>\n<meta charset="utf-8"><title>match {log.serial}</title>\n'
        f'<script type="text/plain" class="battle-log-data">{text}</script>\n'
        f'<script src="{REPLAY_PLAYER}"></script>\n'
    )


def _blank(record: np.dtype[np.void], row: int, serial: int, fault: Fault) -> np.void:
    """A row of zeros for a match that never began."""
    blank = np.zeros(1, record)
    blank["slot"], blank["serial"], blank["fault"] = row, serial, fault
    made: np.void = blank[0]
    return made
