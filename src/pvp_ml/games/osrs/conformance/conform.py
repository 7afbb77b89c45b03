"""Do our fights agree with recorded ones? Three tests over a folder of recorded fights, and one report.

(a) rolls: every recorded attack is computed again from the recorded state; (b) replay: every fight is played again
with its actions and dice, and everything recorded is compared tick by tick; (c) free play: lengths, hit rates, damage
and freezes of random play are tested for equal distributions. `pvp-ml game conform nh --traces DIR` prints the report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pvp_ml.games.osrs.conformance.compare import Difference, FightReport, replay
from pvp_ml.games.osrs.conformance.play import PlayReport, Ranks
from pvp_ml.games.osrs.conformance.read import GAMES, Fight, read_fights, sets_in
from pvp_ml.games.osrs.conformance.rolls import QUANTITIES, RollsReport, check_rolls
from pvp_ml.games.osrs.fights import contract

ROLLS_BAR, REPLAY_BAR = 0.999, 0.90
FREE_PLAYS = 40
AREA = (3041, 3101, 3530, 3557)
"""Fights start in this rectangle (x, x, y, y); around it the real map has rocks and trees, ours is open ground."""
MAP_KIND = "the walk meets an obstacle of the real map outside the start rectangle; our ground is open (3.4 Terrain)"
PLACE_FIELDS = ("x", "y", "player_to_target_distance", "player_to_destination_distance")


@dataclass(slots=True)
class ReplayReport:
    """Forced replay of all fights. A fight is compared up to its first difference, which names its kind."""

    fights: int = 0
    equal: int = 0
    ticks: int = 0
    obs_rows: int = 0
    mask_rows: int = 0
    samples: int = 0
    columns: dict[str, int] = field(default_factory=dict)  # observation or mask bit → rows compared
    never_varied: list[str] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    explained: set[str] = field(default_factory=set)
    first: dict[str, str] = field(default_factory=dict)

    @property
    def equal_share(self) -> float:
        """Share of fights without any difference to the end."""
        return self.equal / self.fights if self.fights else 0.0

    @property
    def is_explained(self) -> bool:
        """Every kind of difference has a known reason."""
        return set(self.kinds) <= self.explained


@dataclass(slots=True)
class ConformReport:
    """The three results for one game and folder."""

    game: str
    sets: list[str]
    rolls: RollsReport
    replay: ReplayReport
    play: PlayReport | None

    @property
    def passed(self) -> bool:
        """All bars of the game hold: rolls 99.9 % exact, 90 % of fights equal and the rest explained, play alike."""
        rolls = self.rolls.worst_share >= ROLLS_BAR
        fights = self.replay.equal_share >= REPLAY_BAR and self.replay.is_explained
        return rolls and fights and (self.play is None or not self.play.rejected)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON of everything that `text` prints, and the rows compared per column."""
        rolls, again = self.rolls, self.replay
        return {
            "game": self.game,
            "sets": self.sets,
            "passed": self.passed,
            "rolls": {
                "attacks": rolls.attacks,
                "exact": {name: rolls.exact[name] for name in QUANTITIES},
                "differences": _kinds(rolls.kinds, rolls.first, set()),
            },
            "replay": {
                "fights": again.fights,
                "equal": again.equal,
                "equal_share": again.equal_share,
                "ticks": again.ticks,
                "observation_rows": again.obs_rows,
                "mask_rows": again.mask_rows,
                "state_rows": again.samples,
                "rows_by_column": again.columns,
                "never_varied": again.never_varied,
                "differences": _kinds(again.kinds, again.first, again.explained),
            },
            "free_play": None
            if self.play is None
            else {
                "times": self.play.times,
                "level": self.play.level,
                "tests": [
                    {name: getattr(test, name) for name in test.__dataclass_fields__} for test in self.play.tests
                ],
            },
        }

    def text(self) -> str:
        """The report for people, about a screen long."""
        lines = [f"{self.game}: {', '.join(self.sets)}", *_rolls_text(self.rolls), *_replay_text(self.replay)]
        if self.play is not None:
            lines += _play_text(self.play)
        return "\n".join([*lines, f"result: {'all bars hold' if self.passed else 'BARS MISSED'}"])


def _kinds(counts: Counter[str], first: dict[str, str], explained: set[str]) -> list[dict[str, Any]]:
    return [
        {"kind": kind, "count": count, "first": first[kind], "explained": kind in explained}
        for kind, count in counts.most_common()
    ]


def _rolls_text(rolls: RollsReport) -> list[str]:
    lines = [f"(a) rolls: {rolls.attacks:,} recorded attacks computed again"]
    for name in QUANTITIES:
        share = rolls.exact[name] / rolls.attacks if rolls.attacks else 0.0
        lines.append(f"    {name:<16} {rolls.exact[name]:>8,} exact ({share:.3%})")
    lines += [f"    {count:>6} × {kind}; first: {rolls.first[kind]}" for kind, count in rolls.kinds.most_common()]
    return lines


def _replay_text(again: ReplayReport) -> list[str]:
    columns = len(again.columns)
    lines = [
        f"(b) replay: {again.equal} of {again.fights} fights equal to the end ({again.equal_share:.1%}), "
        f"{again.ticks:,} ticks",
        f"    compared: {columns} observations and mask bits on {again.obs_rows:,} and {again.mask_rows:,} rows; "
        f"place, levels, prayers, gear, inventory, timers on {again.samples:,} rows, and the meta fields as signals",
    ]
    if again.never_varied:
        lines.append(f"    never varied in these recordings: {', '.join(again.never_varied)}")
    for kind, count in again.kinds.most_common():
        known = "explained" if kind in again.explained else "NOT explained"
        lines.append(f"    {count:>6} × {kind}; {known}; first: {again.first[kind]}")
    return lines


def _play_text(play: PlayReport) -> list[str]:
    worst = sorted(play.tests, key=lambda test: test.p_value)[:5]
    lines = [
        f"(c) free play: each fight played {play.times} times; {len(play.tests)} tests at {1 - play.level:.0%} "
        f"(Holm-corrected), {len(play.rejected)} differ"
    ]
    lines += [
        f"    {'DIFFERS' if test.rejected else 'nearest'} {test.build} {test.quantity}: recorded "
        f"{test.recorded_mean:.3f}, ours {test.played_mean:.3f}, p = {test.p_value:.4f}, {test.fights} fights"
        for test in (*play.rejected, *(test for test in worst if not test.rejected))
    ]
    return lines


# --- running the tests -----------------------------------------------------------------------------------------------


def column_names(env: str) -> tuple[list[str], list[str]]:
    """Names of the observations and of the mask bits ('head.choice')."""
    told = contract(env)
    bits = [f"{head.name}.{choice}" for head in told.heads for choice in head.choices]
    return [feature.name for feature in told.observation.features], bits


def is_outside(fight: Fight, tick: int) -> bool:
    """Whether a fighter stands outside the start rectangle in that tick or the next two."""
    low_x, high_x, low_y, high_y = AREA
    for side in fight.sides:
        for sample in (side.samples.get(tick + ahead) for ahead in range(3)):
            if sample and not (low_x <= sample.x <= high_x and low_y <= sample.y <= high_y):
                return True
    return False


def kind_of(fight: Fight, difference: Difference) -> tuple[str, bool]:
    """(kind, explained) of a fight's first difference."""
    names = sorted(name for name, _, _ in difference.fields)
    if any(name.removeprefix("final ") in PLACE_FIELDS for name in names) and is_outside(fight, difference.tick):
        return MAP_KIND, True
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else ""), False


class _Replays:
    """Gathers the replays of all fights into one report."""

    def __init__(self, env: str) -> None:
        self.names = column_names(env)
        self.report = ReplayReport()
        self.low = np.full(len(self.names[0]) + len(self.names[1]), np.inf)
        self.high = -self.low

    def add(self, fight: Fight) -> FightReport:
        result = replay(fight, self.names, stop_early=True)
        report = self.report
        report.fights += 1
        report.equal += result.is_equal
        report.ticks += result.ticks
        report.obs_rows += result.obs_rows
        report.mask_rows += result.mask_rows
        report.samples += result.samples
        for side in fight.sides:
            rows = np.concatenate([side.obs, side.mask], axis=1)
            self.low, self.high = np.minimum(self.low, rows.min(axis=0)), np.maximum(self.high, rows.max(axis=0))
        if not result.is_equal:
            difference = result.differences[0]
            kind, explained = kind_of(fight, difference)
            report.kinds[kind] += 1
            if explained:
                report.explained.add(kind)
            name, recorded, ours = difference.fields[0]
            place = f"{fight.place}, tick {difference.tick}, seat {difference.seat}, {name} {recorded:g} not {ours:g}"
            report.first.setdefault(kind, place)
        return result

    def finish(self) -> ReplayReport:
        obs, bits = self.names
        self.report.columns = dict.fromkeys(obs, self.report.obs_rows) | dict.fromkeys(bits, self.report.mask_rows)
        self.report.never_varied = [n for n, a, b in zip([*obs, *bits], self.low, self.high, strict=True) if a == b]
        return self.report


def conform(
    game: str,
    folder: str | Path,
    free_plays: int = FREE_PLAYS,
    seed: int = 0,
    limit: int = 0,
    progress: Callable[[str], None] | None = None,
) -> ConformReport:
    """Compare our game ('nh' or 'dharok') with every recorded fight in the folder; nothing in it is trusted.

    `free_plays` times each fight is played anew for (c), 0 leaves (c) out; `seed` drives those dice; `limit` > 0 takes
    only that many fights of each set; `progress` is told one line per set.
    """
    paths = sets_in(Path(folder), game)
    rolls, replays = RollsReport(), _Replays(GAMES[game])
    ranks = Ranks(free_plays, np.random.default_rng(seed))
    for path in paths:
        count = 0
        for fight in read_fights(path):
            check_rolls(fight, rolls)
            replays.add(fight)
            if free_plays:
                ranks.add(fight)
            count += 1
            if limit and count >= limit:
                break
        if progress:
            progress(f"{path.name}: {count} fights, {replays.report.equal} of {replays.report.fights} equal so far")
    names = [path.name.removesuffix(".jsonl.gz") for path in paths]
    return ConformReport(game, names, rolls, replays.finish(), ranks.report() if free_plays else None)
