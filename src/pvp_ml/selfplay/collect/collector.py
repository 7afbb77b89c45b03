"""Playing matches until a rollout is full: each policy is called once a step, only trainees' rows are learned from.

Nothing is allocated per step on the common path (every seat decided by one live policy): the game writes observations
into the rollout, the actor reads them there and writes actions and log-probabilities back. Shapes as in `spec`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter

import numpy as np
import numpy.typing as npt

from pvp_ml.compiled.kernels import row_keys
from pvp_ml.errors import UserError
from pvp_ml.match import IDLE, AsyncVecGame, BoolArray, FloatArray, StepBuffers, VecGame
from pvp_ml.model.actor import Actor
from pvp_ml.model.decision import Decision
from pvp_ml.model.frame_memory import is_forgetful
from pvp_ml.model.network_config import NetworkConfig
from pvp_ml.rl.exploration import Exploration, restrict
from pvp_ml.rl.kernels.gae import ENDED, TRUNCATED, VOID
from pvp_ml.rl.rewards import RewardMixer
from pvp_ml.rl.rollout import NOBODY, Rollout, RolloutShape
from pvp_ml.selfplay.collect.active_matches import ActiveMatches, Outcome
from pvp_ml.selfplay.collect.handicaps import blur, chance, idle_when_late, normal_noise
from pvp_ml.selfplay.collect.inspection import ContractError, Inspector
from pvp_ml.selfplay.collect.seat_actors import SeatActors
from pvp_ml.selfplay.plans import PlanSource
from pvp_ml.spec import GameSpec


@dataclass(slots=True)
class Split:
    """Seconds spent; `infer` includes the forward pass and the noise, `sample` is inside it."""

    simulate: float = 0.0
    infer: float = 0.0
    other: float = 0.0


@dataclass(slots=True)
class Report:
    """What happened while a rollout was filled."""

    outcomes: list[Outcome] = field(default_factory=list)
    split: Split = field(default_factory=Split)
    terms: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))  # [R] summed unweighted terms
    missing: int = 0  # match steps fewer than wanted: the rollout had to end early


class Collector:
    """Fills rollouts from one VecGame. `rollout.owner` says which rows belong to which trainee."""

    def __init__(
        self, game: VecGame, steps: int, seat_actors: SeatActors, mixer: RewardMixer, plans: PlanSource
    ) -> None:
        self._prepare(game, steps, seat_actors, mixer, plans)
        self._game_here = game

    def _prepare(
        self,
        game: VecGame | AsyncVecGame,
        steps: int,
        seat_actors: SeatActors,
        mixer: RewardMixer,
        plans: PlanSource,
    ) -> None:
        """What both kinds of game need."""
        spec, m = game.spec, game.matches
        self.game = game
        self.spec = spec
        self.seat_actors = seat_actors
        self.mixer = mixer
        self.plans = plans
        self.rollout = Rollout(rollout_shape(spec, live_network(seat_actors), steps, m))
        self.active = ActiveMatches(spec, m, seat_actors)
        self.inspector = Inspector(spec, self.active)
        self._every = np.arange(m)
        self._step = StepBuffers.allocate(spec, m)
        self._buffers = [self._view(t) for t in range(steps + 2)]
        self._keys = np.zeros((m, spec.seats), np.uint64)
        self._explorations: dict[int, Exploration] = {}
        self.is_started = False

    def behave(self, trainee: str, exploration: Exploration | None) -> None:
        """How a trainee sees and acts from now on; None = clearly, freely, by drawing."""
        slot = self.seat_actors.trainees.index(trainee)
        self._explorations.pop(slot, None)
        if exploration is not None:
            self._explorations[slot] = exploration

    def _view(self, t: int) -> StepBuffers:
        """Buffers through which the game writes index t of the rollout."""
        r, b = self.rollout, self._step
        return StepBuffers(
            b.match, b.serial, r.obs[t], r.privileged[t], r.mask[t], r.acting[t], b.signals, b.reward, b.ended,
            b.truncated, b.result, b.final_obs, b.final_privileged, b.faults,
        )  # fmt: skip

    def collect(self) -> Report:
        """One rollout: T steps of every match."""
        report = Report(terms=np.zeros(len(self.spec.rewards)))
        last = self.rollout.shape.steps + 1
        if self.is_started:
            self.rollout.begin()
        else:
            self._start()
        for t in range(1, last):
            self._top_up()
            self.rollout.held_out[t] = self.active.held_out
            before = perf_counter()
            self._decide(t)
            decided = perf_counter()
            self._play(t)
            played = perf_counter()
            self._settle(t, report)
            report.split.infer += decided - before
            report.split.simulate += played - decided
            report.split.other += perf_counter() - played
        before = perf_counter()
        self._bootstrap(last)
        report.split.infer += perf_counter() - before
        return report

    def _play(self, t: int) -> None:
        try:
            self._game_here.step(self.rollout.actions[t], self._buffers[t + 1])
        except (ValueError, TypeError, IndexError, KeyError, ArithmeticError) as error:
            playing = np.sort(self.active.serial)
            raise ContractError(
                f"game '{self.spec.name}' failed in a step of matches {playing[0]}…{playing[-1]}: {error!r}"[:500],
                f"check the game with `pvp-ml game check {self.spec.name}`",
            ) from error

    def _start(self) -> None:
        self._top_up()
        out = self._buffers[1]
        self._game_here.start(out)
        self.active.seat(self._every, out.serial)
        self.inspector.check(out, self._every, steps=0)
        self._own(1)
        self.is_started = True

    def _top_up(self) -> None:
        """Keep enough plans queued that no row rests, however many matches stop at once."""
        missing = 3 * self.game.matches - self.active.waiting()
        if missing > self.game.matches:
            plans = self.plans.draw(missing)
            self.active.expect(plans)
            self.game.queue(plans)

    def _own(self, t: int) -> None:
        """Mark the rows of index t that trainees hold, and those that they decide."""
        np.copyto(self.rollout.seated[t], self.active.trainee)
        np.copyto(self.rollout.owner[t], self.active.trainee)
        self.rollout.owner[t][~self.rollout.acting[t]] = NOBODY

    def _decide(self, t: int) -> None:
        """Fill the actions of index t."""
        r, active = self.rollout, self.active
        row_keys(active.seed, active.clock, self._keys)
        first = int(active.slot.flat[0])
        if first >= 0 and r.acting[t].all() and (active.slot == first).all():
            decider = self.seat_actors[first]
            if isinstance(decider, Actor) and is_forgetful(decider.network) and not self._explorations:
                self._act(t, first, None)
                return
        r.actions[t][active.slot < 0] = IDLE
        slots = active.slot.reshape(-1)
        acting = r.acting[t].reshape(-1)
        for slot in np.unique(slots[acting]).tolist():
            if slot >= 0:
                self._act(t, slot, np.flatnonzero(acting & (slots == slot)))

    def _act(self, t: int, slot: int, rows: npt.NDArray[np.intp] | None) -> None:
        """Let one decider act for some rows (flat indexes), or for all of them without copying."""
        r = self.rollout
        flat = (
            x[t].reshape(self._keys.size, *x.shape[3:])
            for x in (r.obs, r.privileged, r.mask, r.actions, r.log_prob, r.value)
        )
        obs, privileged, mask, actions, log_prob, value = flat
        keys, greedy = self._keys.reshape(-1), self.active.greedy.reshape(-1)
        decider = self.seat_actors[slot]
        if rows is None and isinstance(decider, Actor):
            empty = decider.act(obs, mask, keys, greedy, Decision(actions, log_prob, mask, value), privileged)
            self._refuse_empty(empty, np.arange(len(obs)))
            return
        assert rows is not None
        if not isinstance(decider, Actor):
            serials = self.active.serial[rows // self.spec.seats]
            seats = (rows % self.spec.seats).astype(np.int32)
            picked = np.asarray(decider.decide(serials, seats, obs[rows], mask[rows], keys[rows]), np.int32)
            idle_when_late(picked, self.active.delay.reshape(-1)[rows], keys[rows])
            actions[rows] = picked
            return
        is_live = slot < len(self.seat_actors.trainees)
        out = decider.heads.decision(len(rows), value=is_live)
        quiet = greedy[rows]
        if slot in self._explorations:
            quiet = self._explore(self._explorations[slot], rows, obs, mask, quiet)
        newest = obs[rows] if is_live else blur(decider, obs[rows], self.active.noise.reshape(-1)[rows], keys[rows])
        frames = self.active.frame_memory
        seen, memory = frames.stacked(decider.network, rows, newest), frames.memory(decider.network, rows)
        if is_live:
            r.past[t].reshape(len(obs), -1)[rows] = seen[:, obs.shape[1] :]
            if memory is not None:
                r.memory[t].reshape(len(obs), -1)[rows] = memory
        empty = decider.act(seen, mask[rows], keys[rows], quiet, out, privileged[rows], memory)
        self._refuse_empty(empty, rows)
        frames.decided(decider.network, rows, newest, memory)
        if not is_live:
            idle_when_late(out.actions, self.active.delay.reshape(-1)[rows], keys[rows])
        actions[rows] = out.actions
        if out.value is not None:
            log_prob[rows], value[rows], mask[rows] = out.log_prob, out.value, out.legal

    def _explore(
        self, exploration: Exploration, rows: npt.NDArray[np.intp], obs: FloatArray, mask: BoolArray, greedy: BoolArray
    ) -> BoolArray:
        """Change what these rows of obs and mask hold, for learning too; returns which of the rows [B] are greedy."""
        keys = self._keys.reshape(-1)[rows]
        if exploration.deviation is not None:
            obs[rows] += exploration.deviation * normal_noise(keys, obs.shape[1])
        if exploration.allowed is not None:
            mask[rows] = restrict(self.spec.interface, mask[rows], exploration.allowed)
        return greedy | chance(exploration.greedy, keys)

    def _refuse_empty(self, empty: int, rows: npt.NDArray[np.intp]) -> None:
        if empty >= 0:
            row, seat = divmod(int(rows[empty]), self.spec.seats)
            self.inspector.report(row, f"seat {seat}: rules and mask leave a head without fallback no choice")

    def _settle(self, t: int, report: Report) -> None:
        """Book what step t paid and which matches it stopped; seat the next ones."""
        r, out = self.rollout, self._buffers[t + 1]
        self.inspector.check(out, self._every)
        self.mixer.mix(out.reward, out.signals, r.reward[t])
        report.terms += out.reward.sum((0, 1), dtype=np.float64)
        self.active.note(r.reward[t], out.signals)
        stopped = np.flatnonzero(out.ended | out.truncated | (out.faults != 0))
        for row in stopped.tolist():
            self._stop(t, row, out, row, report)
        if len(stopped):
            self.active.seat(stopped, out.serial[stopped])
            self.inspector.seated()
        self._own(t + 1)

    def _stop(self, t: int, row: int, out: StepBuffers, at: int, report: Report) -> None:
        """The match in this row stopped in step t; the game's buffers speak of it at index `at`."""
        r = self.rollout
        kind = VOID if out.faults[at] or self.active.is_void[row] else ENDED if out.ended[at] else TRUNCATED
        r.end[t, row] = kind
        r.result[t, row] = out.result[at]
        if kind == TRUNCATED:
            every = row * self.spec.seats + np.arange(self.spec.seats)
            seen, memory = self._recalled(every, out.final_obs[at])
            r.finals.past.append(seen[:, self.spec.obs_size :])
            r.finals.memory.append(memory if memory is not None else np.zeros((len(every), 0), np.float32))
            r.finals.step.append(t)
            r.finals.match.append(row)
            r.finals.owner.append(self.active.trainee[row].copy())
            r.finals.obs.append(out.final_obs[at].copy())
            r.finals.privileged.append(out.final_privileged[at].copy())
        report.outcomes.append(self.active.stop(row, out, at))
        self.inspector.finished(1)

    def _bootstrap(self, last: int) -> None:
        """Values where the rollout was cut: the observation after it, and the finals of truncated matches."""
        r = self.rollout
        for k, name in enumerate(self.seat_actors.trainees):
            m, s = np.nonzero(r.owner[last] == k)
            if len(m):
                seen, memory = self._recalled(m * self.spec.seats + s, r.obs[last, m, s])
                r.value[last, m, s], _ = self.seat_actors.live[name].evaluate(seen, r.privileged[last, m, s], memory)
        self._final_values()

    def _recalled(self, rows: npt.NDArray[np.intp], obs: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """What a trainee reads in these rows: stacked observations, and its memory."""
        network, frames = live_network(self.seat_actors), self.active.frame_memory
        return frames.stacked(network, rows, obs), frames.memory(network, rows)

    def _final_values(self) -> None:
        r = self.rollout
        if not r.finals.step:
            return
        obs = np.concatenate([np.stack(r.finals.obs), np.stack(r.finals.past)], axis=2)
        privileged, owner = np.stack(r.finals.privileged), np.stack(r.finals.owner)
        memory = np.stack(r.finals.memory)
        steps, rows = np.array(r.finals.step), np.array(r.finals.match)
        for k, name in enumerate(self.seat_actors.trainees):
            i, s = np.nonzero(owner == k)
            if len(i):
                values, _ = self.seat_actors.live[name].evaluate(obs[i, s], privileged[i, s], memory[i, s])
                r.final_value[steps[i], rows[i], s] = values


def live_network(seat_actors: SeatActors) -> NetworkConfig:
    """The network of the trainees; they may differ in width, but not in what they remember."""
    networks = [actor.network for actor in seat_actors.live.values()]
    for other in networks[1:]:
        if (other.frames, other.memory) != (networks[0].frames, networks[0].memory):
            raise UserError("trainees of one run differ in network.frames or network.memory", "give them the same")
    return networks[0]


def rollout_shape(spec: GameSpec, network: NetworkConfig, steps: int, matches: int) -> RolloutShape:
    """Sizes of what is collected for trainees with this network."""
    past = (len(network.frames) - 1) * spec.obs_size
    return RolloutShape(
        steps, matches, spec.seats, spec.obs_size, spec.privileged_size, spec.mask_size, len(spec.heads), past,
        network.memory,
    )  # fmt: skip
