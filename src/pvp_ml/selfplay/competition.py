"""A run's opponents: the league, its members on disk, the matchmaker, the exploiters."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from pvp_ml import data_files
from pvp_ml.chance import scramble
from pvp_ml.errors import UserError
from pvp_ml.match import AsyncVecGame, Live, VecGame
from pvp_ml.model.bundle import Bundle, read_bundle
from pvp_ml.rl.schedule.schedule import Progress
from pvp_ml.selfplay.collect.active_matches import Outcome
from pvp_ml.selfplay.evaluate import Contestant, evaluate
from pvp_ml.selfplay.exploiters import Hunt
from pvp_ml.selfplay.league import Entry, Kind, League
from pvp_ml.selfplay.matchmaking import Matchmaker, SelfPlayConfig, is_scripted
from pvp_ml.selfplay.members import MemberFolder
from pvp_ml.selfplay.plans import LineupMix, stream_seed
from pvp_ml.selfplay.ratings import SequentialTest
from pvp_ml.spec import GameSpec

log = logging.getLogger(__name__)

TEST_CHUNK, TEST_MOST = 100, 2000
"""Matches per look and in all when a candidate is tested against the frozen opponent."""


class Competition:
    """Whom the trainees of one run meet, and what is remembered of it."""

    def __init__(
        self, spec: GameSpec, config: SelfPlayConfig, scenarios: dict[str, float], folder: Path, seed: int
    ) -> None:
        self.config = config
        self.league = League(config.league_size, config.quality_learning_rate, rating_system=config.rating)
        self.members = MemberFolder(folder / "league", spec.interface)
        self.hunts = {name: Hunt() for name in config.exploiters}
        self._spec = spec
        self._matchmaker = Matchmaker(spec, config, scenarios)
        self._experiments = folder.parent
        self._seed = seed
        self._add_targets()
        self._add_latest(0)

    def mix(self, progress: Progress) -> LineupMix:
        """Lineups for the matches that start now."""
        rng = np.random.default_rng(scramble(self._seed, 7001, progress.rollouts))
        return self._matchmaker.mix(self.league, progress, rng)

    def record(self, outcomes: Iterable[Outcome]) -> None:
        """Book finished matches."""
        outcomes = list(outcomes)
        self.league.record(outcomes, self._spec.teams)
        for outcome in outcomes:
            if not outcome.fault and self.hunts:
                seats = {who.trainee: s for s, who in enumerate(outcome.plan.lineup) if isinstance(who, Live)}
                for name in self.hunts.keys() & seats.keys():  # once a match, however many seats it holds
                    self.hunts[name].add(outcome.result[seats[name]])

    def join(self, bundle: Bundle, name: str, kind: Kind, steps: int) -> str:
        """A policy becomes a member; returns its hash."""
        content_hash = self.members.add(bundle)
        self.league.add(Entry(content_hash, name, kind, steps))
        return content_hash

    def snapshot(self, bundle: Bundle, steps: int, build: Callable[[int], VecGame | AsyncVecGame]) -> None:
        """The main policy joins the league; the frozen opponent changes if this one is stronger."""
        self.join(bundle, f"step-{steps}", "past", steps)
        self._add_latest(steps)
        if "frozen" in self.config.mixture():
            frozen = self.league.of_kind("frozen")
            if not frozen:
                self.join(bundle, f"frozen-{steps}", "frozen", steps)
            elif self._is_stronger(bundle, frozen[-1], steps, build):
                self.league.members = [m for m in self.league.members if m.kind != "frozen"]
                self.join(bundle, f"frozen-{steps}", "frozen", steps)
                log.info("the frozen opponent is now the policy of step %d", steps)

    def finished_hunts(self, steps: int) -> list[str]:
        """Exploiters that found something, or had their time."""
        return [name for name, hunt in self.hunts.items() if hunt.is_over(self.config.exploiters[name], steps)]

    def restart_hunt(self, name: str, steps: int) -> None:
        """An exploiter starts afresh."""
        self.hunts[name] = Hunt(since=steps)
        self.league.forget_form(name)

    def state(self) -> dict[str, Any]:
        """JSON of the league and the hunts."""
        return {"league": self.league.to_json(), "hunts": {name: asdict(hunt) for name, hunt in self.hunts.items()}}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from `state` with the opponents that are configured now.

        Members whose file is gone or corrupt are named and left out.
        """
        configured, self.league = self.league, League.from_json(state["league"])
        self.league.size, self.league.learning_rate = self.config.league_size, self.config.quality_learning_rate
        self.league.use_ratings(self.config.rating)
        self.hunts |= {name: Hunt(**hunt) for name, hunt in state["hunts"].items() if name in self.hunts}
        for entry in list(self.league.members):
            try:
                self.members.read(entry.content_hash)
            except UserError as error:
                log.warning("%s; the league continues without it", error)
                self.league.remove(entry.content_hash)
        self._meet_configured(configured.members)

    def _meet_configured(self, configured: list[Entry]) -> None:
        """Meet those that the configuration names: it may be another one than that of the saved league."""
        targets = {entry.name: entry.content_hash for entry in configured if entry.kind == "target"}
        named = {Path(name).stem for config in self.config.mixture().values() for name in config.models}
        self.league.members = [  # a target that is named but whose file is gone stays
            m for m in self.league.members
            if m.kind != "target" or (m.name in named and targets.get(m.name, m.content_hash) == m.content_hash)
        ]  # fmt: skip
        for entry in configured:
            if entry.kind == "target" or not self._has_kin(entry):
                self.league.add(entry)

    def _has_kin(self, entry: Entry) -> bool:
        """Whether the saved league already has the newest model, or the league, of that other run."""
        if entry.kind == "latest":
            return bool(self.league.of_kind("latest"))
        run = entry.name.rpartition("-")[0]
        return any(member.name.rpartition("-")[0] == run for member in self.league.members)

    def _add_targets(self) -> None:
        for config in self.config.mixture().values():
            for name in config.models:
                path = data_files.find("models", name, (".zip",), Path.cwd())
                if path is not None:
                    self.join(read_bundle(path), path.stem, "target", 0)
                elif not is_scripted(self._spec, name):
                    log.warning("target '%s' is neither a model file nor a scripted player; skipped", name)

    def _add_latest(self, steps: int) -> None:
        """The newest model of another run takes the place of its older one; `past` takes that run's whole league."""
        for name, config in self.config.mixture().items():
            if not config.run:
                continue
            if name in ("past", "pfsp"):
                self._add_league_of(config.run)
                continue
            path = self._experiments / config.run / "model.zip"
            try:
                bundle = read_bundle(path)
                self.league.members = [m for m in self.league.members if m.kind != "latest"]
                self.join(bundle, config.run, "latest", steps)
            except UserError as error:
                log.warning("run '%s' has no usable model yet: %s", config.run, error)

    def _add_league_of(self, run: str) -> None:
        """Every member of another run's league becomes a past member here, and so does its newest model."""
        folder = self._experiments / run
        found = 0
        for path in (*sorted((folder / "league").glob("*.zip")), folder / "model.zip"):
            try:
                bundle = read_bundle(path)
                steps = bundle.metadata.training.steps
                self.join(bundle, f"{run}-{steps}", "past", steps)
                found += 1
            except UserError as error:
                log.warning("%s cannot join the league: %s", path.name, error)
        if not found:
            log.warning("run '%s' has no usable model yet", run)

    def _is_stronger(
        self, bundle: Bundle, frozen: Entry, steps: int, build: Callable[[int], VecGame | AsyncVecGame]
    ) -> bool:
        """Wald's sequential test, at most TEST_MOST matches, others at every step of the run; undecided means no."""
        test = SequentialTest()
        candidate = Contestant.of_bundle("candidate", bundle)
        against = Contestant.of_bundle(frozen.name, self.members.read(frozen.content_hash))
        for look in range(TEST_MOST // TEST_CHUNK):
            game = build(min(TEST_CHUNK, 128))
            seed = stream_seed("frozen", self._seed, steps, look)
            try:
                total = evaluate(game, candidate, against, TEST_CHUNK, seed).total
            finally:
                game.close()
            for points, count in ((1.0, total.wins), (0.5, total.ties), (0.0, total.losses)):
                for _ in range(count):
                    test.add(points)
            if test.is_stronger or test.is_not_stronger:
                break
        return test.is_stronger
