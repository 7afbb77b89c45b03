"""The training loop, and the run that it works on. Read `train` first."""

from __future__ import annotations

import contextlib
import datetime
import json
import logging
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from pvp_ml.cluster.shards import ShardLostError
from pvp_ml.errors import UserError
from pvp_ml.match import MAIN, AsyncVecGame, VecGame
from pvp_ml.model.bundle import Bundle, MatchResult, Training, make_bundle, pack_bundle
from pvp_ml.rl.schedule.schedule import Progress
from pvp_ml.rl.trainee import NonFiniteError
from pvp_ml.run.conditions import holds
from pvp_ml.run.config.schema import Config
from pvp_ml.run.learning import Learning, Rollouts
from pvp_ml.run.machine import versions
from pvp_ml.run.placement import blueprint as blueprint
from pvp_ml.run.placement import measure, open_shards
from pvp_ml.run.resume import Start, differences, find_checkpoint, is_rewarded_otherwise, warm_start
from pvp_ml.run.store.checkpoint import Window, pack, read_extra, read_window, unpack
from pvp_ml.run.store.disk_budget import is_within
from pvp_ml.run.store.league_files import remove_unneeded
from pvp_ml.run.store.manifest import checking
from pvp_ml.run.store.milestones import free_label, notes
from pvp_ml.run.store.run_store import Checkpoint, RunStore
from pvp_ml.run.tracking.match_metrics import MatchMetrics
from pvp_ml.run.tracking.tracker import Point, Tracker
from pvp_ml.selfplay.competition import Competition
from pvp_ml.selfplay.tally import Evaluation
from pvp_ml.selfplay.tournament import reference_rating

log = logging.getLogger(__name__)

MAX_LOST_SHARDS = 20
"""Shards that may die in one session before the run stops: something is wrong with the machine, not with a match."""


def train(run: Run) -> None:
    """Collect, learn, record, save, until there is nothing left to do."""
    with run.stopping_on_signals():
        while run.has_more():
            rollouts = run.collect()
            if rollouts is None:
                continue
            metrics = run.learn()
            run.record(rollouts, metrics)
            run.promote_if_ready()
            run.every(run.config.self_play.snapshot_every, run.add_to_league)
            run.every(run.config.eval.every, run.evaluate)
            run.every(run.config.run.checkpoint_every, run.save)
            run.every(run.config.run.milestone_every, run.mark)
        run.finish()


class Run:
    """One experiment in progress: what it is, how far it is, and where it is kept."""

    def __init__(
        self, config: Config, store: RunStore, tracker: Tracker, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.whole = config
        self.store = store
        self.tracker = tracker
        self.progress = Progress(total_steps=config.run.total_steps)
        self.seconds = 0.0
        self.results: dict[str, MatchResult] = {}
        self.is_stopping = False
        self._now = now
        self._last = now()
        self._is_warm = False  # the first rollout of a session compiles; that is not training time
        self._before = self.progress
        self._lost = 0
        self._learn_seconds = 0.0
        self._saved_at = -1
        self._measured: tuple[int, list[Evaluation]] = (-1, [])  # steps of the last evaluation, and what it found
        self._owes_milestone = False  # the next state that is saved becomes one
        self._phase_since = 0
        self._rollouts_before = 0
        torch.set_num_threads(1)
        self._set_up(0)

    def _set_up(self, phase: int) -> None:
        """Build everything that depends on the configuration of a phase."""
        self.phase = phase
        config = self.config = self.whole.in_phase(phase)
        self.spec = config.env.spec
        scenarios = dict(config.env.scenarios)
        self.competition = Competition(self.spec, config.self_play, scenarios, self.store.path, config.run.seed)
        shards = open_shards(config, self.competition.mix(self.progress), self.competition.members.path)
        try:
            self.learning = Learning(shards)
            shards.initialise()
            self._matches = MatchMetrics(self.spec, config.env.type.presentation.figures)
        except BaseException:  # Ctrl-C too: a run that was not made cannot be closed
            shards.close()
            raise

    def resume(self, start: Start | None = None) -> bool:
        """Continue from a checkpoint, by default this run's newest; False when it begins from scratch."""
        start = start or Start()
        checkpoint = find_checkpoint(self.store, start)
        if checkpoint is None:
            if start.source:
                for left in warm_start(self.learning.trainees[MAIN], start, self.store.path.parent):
                    log.info("warm start left out %s", left)
                self.learning.shards.refresh()
                self.add_to_league()  # what a run begins as is its first member
            return False
        with checking(checkpoint.path):
            extra = self._restore(checkpoint)
        if extra.get("owes_milestone") and checkpoint.path.parent == self.store.checkpoints:
            self._keep(checkpoint.path)  # the last session ended between the save and the milestone
        return True

    def _restore(self, checkpoint: Checkpoint) -> dict[str, Any]:
        """Take over a checkpoint's state; returns what it holds besides trainees and matches."""
        extra = read_extra(checkpoint.files)
        if extra["phase"] != self.phase:
            if extra["phase"] >= max(1, len(self.whole.phases)):
                raise UserError(f"run '{self.store.path.name}' is in phase {extra['phase']}, which the config lacks")
            self.learning.shards.close()
            self._set_up(extra["phase"])
        if checkpoint.spec_digest != self.spec.game_digest:
            changed = "; ".join(differences(checkpoint.files, self.config)) or "the game itself"
            raise UserError(
                f"run '{self.store.path.name}' was made for another game: {changed}",
                "use its own config.yml, another --name, or --warm-start",
            )
        progress, self.seconds = unpack(self.learning, checkpoint.files)
        if is_rewarded_otherwise(checkpoint.files, self.config):
            self.learning.forget_rewards(progress)
        self.progress = self._before = replace(progress, total_steps=self.config.run.total_steps)
        self.results = {name: MatchResult(**row) for name, row in extra["results"].items()}
        self.competition.restore(extra["competition"])
        window = read_window(checkpoint.files)
        self._matches.restore(window.matches)
        self.tracker.last.update(window.last)
        self._phase_since = extra["phase_since"]
        self._last, self._saved_at = self._now(), progress.steps
        self._rollouts_before = progress.rollouts
        return extra

    # --- the steps of the loop --------------------------------------------------------------------------------------

    def has_more(self) -> bool:
        """Whether to continue: steps or seconds are left and nobody asked to stop."""
        limits = self.config.run
        if limits.total_steps and self.progress.steps >= limits.total_steps:
            return False
        if limits.early_stopping is not None and holds(limits.early_stopping, self.tracker.last):
            log.info("stopping early: %s", limits.early_stopping.text)
            return False
        if limits.session_rollouts and self.progress.rollouts - self._rollouts_before >= limits.session_rollouts:
            return False
        return not self.is_stopping and not (limits.max_seconds and self.seconds >= limits.max_seconds)

    def collect(self) -> Rollouts | None:
        """A rollout from every shard, or None when a shard was lost and had to be replaced."""
        self._before = self.progress
        try:
            self.learning.shards.use_mix(self.competition.mix(self.progress))
            return self.learning.collect(self.progress)
        except ShardLostError as lost:
            self._replace(lost)
            return None

    def learn(self) -> dict[str, dict[str, float]]:
        """Every trainee learns; a shard lost meanwhile costs the rest of this rollout."""
        before = self._now()
        try:
            metrics = self.learning.learn(self.progress)
        except ShardLostError as lost:
            self._replace(lost)
            metrics = {}
        except NonFiniteError as error:
            name = f"not-finite-{self.progress.steps}.json"
            facts = {**error.facts, "steps": self.progress.steps, "rollouts": self.progress.rollouts}
            self.store.try_export(name, json.dumps(facts, indent=1, sort_keys=True).encode())
            raise UserError(f"{error}; the weights are those before; diagnosis in '{self.store.path / name}'",
                            "resume from the newest checkpoint with a lower learning rate") from error  # fmt: skip
        self._learn_seconds = self._now() - before
        return metrics

    def record(self, rollouts: Rollouts, metrics: dict[str, dict[str, float]]) -> None:
        """Count the rollout and write one point of metrics."""
        steps = rollouts.steps
        self.progress = replace(self.progress, steps=self.progress.steps + steps, rollouts=self.progress.rollouts + 1)
        elapsed, self._last = self._now() - self._last, self._now()
        self.seconds += elapsed if self._is_warm else 0.0
        values = dict(metrics.get(MAIN, {}))
        for name, row in metrics.items():
            if name != MAIN:
                values |= {f"{name}/{key}": value for key, value in row.items()}
        self.competition.record(rollouts.outcomes)
        self._restart_exploiters()
        values |= self._matches.add(rollouts.outcomes)
        values |= {f"reward/{name}": value for name, value in rollouts.terms.items()}
        values |= {f"time/{part}_s": seconds for part, seconds in rollouts.seconds.items()}
        values["time/learn_s"] = self._learn_seconds
        if self.whole.phases:
            values["run/phase"] = float(self.phase)
        values |= self.learning.shards.take_metrics()
        if self._is_warm:
            values["time/steps_per_s"] = steps / max(elapsed, 1e-9)
            values["time/decisions_per_s"] = values.get("ppo/rows", 0.0) / max(elapsed, 1e-9)
        self._is_warm = True
        self.tracker.write(Point(self.progress.steps, self.progress.rollouts, self.seconds, values))

    def promote_if_ready(self) -> None:
        """Move to the next phase when this one's condition holds. Trainees keep everything, matches start again."""
        phases = self.whole.phases
        if self.phase + 1 >= len(phases):
            return
        phase, steps = phases[self.phase], self.progress.steps - self._phase_since
        known = {**self.tracker.last, "phase_steps": float(steps)}
        if steps < max(1, phase.min_steps) or not (phase.promote is None or holds(phase.promote, known)):
            return
        files = self._pack()
        rewarded = self.config.reward
        self.learning.shards.close()
        self._set_up(self.phase + 1)
        unpack(self.learning, files, with_matches=False)
        if self.config.reward != rewarded:
            self.learning.forget_rewards(self.progress)
        self.competition.restore(read_extra(files)["competition"])
        self._phase_since = self.progress.steps
        log.info("phase '%s' is over after %d steps; now '%s'", phase.name, steps, phases[self.phase].name)
        self.save()

    def every(self, steps: int, act: Callable[[], object]) -> None:
        """Act when the last rollout passed a multiple of `steps`; 0 = never."""
        if steps and self._before.steps // steps < self.progress.steps // steps:
            act()

    def add_to_league(self) -> None:
        """The main policy joins the league, if anybody is going to meet it there."""
        if self.config.self_play.has_league:
            with self.store.tolerating("league member"):
                self.competition.snapshot(self.bundle(), self.progress.steps, self._build)
            self._last = self._now()  # testing the frozen opponent is not training time

    def evaluate(self, matches: int = 0) -> list[Evaluation]:
        """Play the configured opponents and write `eval/…` metrics; the first opponent's score is the win rate."""
        settings = self.config.eval
        values: dict[str, float] = {}
        names = tuple(dict.fromkeys((*settings.opponents, *settings.references)))
        count, runner = matches or settings.matches, self.learning.shards.task_runner()
        if self.config.env.settings.shared_server:
            self.learning.shards.leave()
        reports = measure(self.config, self.store.path.name, self.bundle(), names, count, runner)
        for name, report in zip(names, reports, strict=True):
            total = report.total
            values[f"eval/{name}/score"] = total.score
            for word, number in (("won", total.wins), ("tied", total.ties), ("lost", total.losses)):
                values[f"eval/{name}/{word}"] = number / max(1, total.matches)
            values.setdefault("eval/win_rate", report.total.score)
            self.results[name] = report.to_result(datetime.date.today().isoformat())
        if settings.references:
            values["eval/rating"] = reference_rating(dict(zip(names, reports, strict=True)), settings.references).rating
        self._last = self._now()  # evaluation is not training time
        self.tracker.write(Point(self.progress.steps, self.progress.rollouts, self.seconds, values))
        self._measured = (self.progress.steps, reports)
        return reports

    def evaluate_once(self) -> list[Evaluation]:
        """What the last evaluation found if nothing was learned since, else a new one."""
        steps, reports = self._measured
        return reports if steps == self.progress.steps else self.evaluate()

    def save(self) -> None:
        """Write a checkpoint and the newest bundle; a full disk is a warning, three in a row stop the run."""
        try:
            files = self._pack()
        except ShardLostError as lost:
            self._replace(lost)
            files = self._pack()
        files["config.json"] = self.config.model_dump_json().encode()
        saved = self.store.try_save(self.progress.steps, files, self.spec.game_digest)
        if saved is None:
            return
        self.store.try_export("model.zip", pack_bundle(self.bundle()))
        self._saved_at = self.progress.steps
        if self._owes_milestone:
            self._keep(saved)
        remove_unneeded(self.competition.members, self.store.kept())

    def mark(self) -> None:
        """Keep the whole state for ever, with what is known of it; if it cannot be saved now, the next one that can."""
        self._owes_milestone = True
        self.save()

    def _keep(self, saved: Path) -> None:
        """A saved checkpoint becomes a milestone, once. A full disk is a warning, three in a row stop the run."""
        self._owes_milestone = not self.store.is_kept(saved)
        if not self._owes_milestone:
            return
        names = [phase.name for phase in self.whole.phases]
        label = free_label(self.store, names, self.phase, self.progress.steps)
        if not is_within(self.store.path, self.config.run.max_disk_gb, 0):
            log.warning("milestone '%s' was not saved: the run has reached run.max_disk_gb", label)
            self._owes_milestone = False
            return
        phase = names[self.phase] if names else ""
        facts = notes(self.progress, self.seconds, phase, self.tracker.last, self.competition.league)
        with self.store.tolerating("milestone"):
            self.store.mark(label, saved, facts, pack_bundle(self.bundle()))
            self._owes_milestone = False

    def finish(self) -> None:
        """Save what is not saved yet."""
        if self._saved_at != self.progress.steps:
            self.save()

    # --- around the loop --------------------------------------------------------------------------------------------

    def bundle(self, trainee: str = MAIN) -> Bundle:
        """The policy as a model file."""
        policy = self.learning.trainees[trainee].policy
        training = Training(
            steps=self.progress.steps,
            seconds=round(self.seconds, 1),
            preset=self.config.run.preset,
            run=self.store.path.name,
            seed=self.config.run.seed,
            date=datetime.date.today().isoformat(),
            versions=versions(),
        )
        return make_bundle(
            self.spec, policy.network, policy.tensors(), policy.normalizer, training, tuple(self.results.values())
        )

    @contextlib.contextmanager
    def stopping_on_signals(self) -> Iterator[None]:
        """Ctrl-C and SIGTERM end the loop after the current rollout; a second one ends the program."""

        def stop(number: int, frame: FrameType | None) -> None:
            if self.is_stopping:
                raise KeyboardInterrupt
            self.is_stopping = True
            log.info("stopping after this rollout; press Ctrl-C again to quit without saving")

        old: dict[int, Any] = {}
        with contextlib.suppress(ValueError):  # only the main thread may handle signals
            for number in (signal.SIGINT, signal.SIGTERM):
                old[number] = signal.signal(number, stop)
        try:
            yield
        finally:
            for handled, handler in old.items():
                signal.signal(handled, handler)

    def close(self) -> None:
        """Stop the shards and flush the metrics."""
        self.learning.shards.close()
        self.tracker.close()

    def _pack(self) -> dict[str, bytes]:
        """The whole state as a checkpoint's files."""
        members = {member.content_hash for member in self.competition.league.members}
        window = Window(self._matches.state(), self.tracker.last)
        extra = {
            "phase": self.phase,
            "phase_since": self._phase_since,
            "results": {name: result.model_dump() for name, result in self.results.items()},
            "competition": self.competition.state(),
            "owes_milestone": self._owes_milestone,
        }
        return pack(self.learning, self.progress, self.seconds, extra, members, window)

    def _build(self, matches: int) -> VecGame | AsyncVecGame:
        return self.config.env.type.build(self.config.env.settings, matches)

    def _restart_exploiters(self) -> None:
        """Exploiters that found something join the league and start again from the main policy."""
        for name in self.competition.finished_hunts(self.progress.steps):
            label = f"{name}-{self.progress.steps}"
            with self.store.tolerating("league member"):  # an exploiter that cannot be saved continues until it can
                self.competition.join(self.bundle(name), label, "exploiter", self.progress.steps)
                self.learning.restart(name, MAIN)
                self.competition.restart_hunt(name, self.progress.steps)

    def _replace(self, lost: ShardLostError) -> None:
        self._lost += len(lost.ranks)
        if self._lost > MAX_LOST_SHARDS:
            raise UserError(f"{self._lost} shards died in this session, the last: {lost}", "see `pvp-ml doctor`")
        log.warning("%s; starting a new one, its current matches are lost", lost)
        self.learning.recover(lost.ranks)
