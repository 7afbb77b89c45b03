"""Do our fights agree with recorded ones? Three tests over a folder of recorded fights, and one report.

(a) rolls: every recorded attack is computed again from the recorded state; (b) replay: every fight is played again
with its actions and dice, and everything recorded is compared tick by tick; where no state was recorded, the masks
alone; (c) free play: lengths, hit rates, damage and freezes of random play are tested for equal distributions.
`pvp-ml game conform nh --traces DIR` prints the report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pvp_ml.games.osrs.conformance.compare import Difference, FightReport, replay
from pvp_ml.games.osrs.conformance.masks import MasksReport, check_masks
from pvp_ml.games.osrs.conformance.play import PlayReport, Ranks
from pvp_ml.games.osrs.conformance.read import GAMES, Fight, read_fights, sets_in
from pvp_ml.games.osrs.conformance.rolls import QUANTITIES, RollsReport, check_rolls
from pvp_ml.games.osrs.fights import contract

ROLLS_BAR, REPLAY_BAR = 0.999, 0.97
FREE_PLAYS = 40


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
    first: dict[str, str] = field(default_factory=dict)

    @property
    def equal_share(self) -> float:
        """Share of fights without any difference to the end."""
        return self.equal / self.fights if self.fights else 0.0


@dataclass(slots=True)
class ConformReport:
    """The results for one game and folder."""

    game: str
    sets: list[str]
    rolls: RollsReport
    replay: ReplayReport
    masks: MasksReport  # of fights without state
    play: PlayReport | None

    @property
    def passed(self) -> bool:
        """All bars hold that the recordings allow to test: rolls 99.9 % exact, 97 % of fights equal, play alike."""
        rolls = self.rolls.attacks == 0 or self.rolls.worst_share >= ROLLS_BAR
        fights = self.replay.fights == 0 or self.replay.equal_share >= REPLAY_BAR
        is_tested = self.rolls.attacks + self.replay.fights + self.masks.rows > 0
        return is_tested and rolls and fights and not self.masks.bits and not (self.play and self.play.rejected)

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
                "differences": _kinds(rolls.kinds, rolls.first),
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
                "differences": _kinds(again.kinds, again.first),
            },
            "masks": {
                "fights": self.masks.fights,
                "rows": self.masks.rows,
                "equal": self.masks.equal,
                "differences": _kinds(self.masks.bits, self.masks.first),
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
        if self.masks.fights:
            lines += _masks_text(self.masks)
        if self.play is not None:
            lines += _play_text(self.play)
        return "\n".join([*lines, f"result: {'all bars hold' if self.passed else 'BARS MISSED'}"])


def _kinds(counts: Counter[str], first: dict[str, str]) -> list[dict[str, Any]]:
    return [{"kind": kind, "count": count, "first": first[kind]} for kind, count in counts.most_common()]


def _rolls_text(rolls: RollsReport) -> list[str]:
    lines = [f"(a) rolls: {rolls.attacks:,} recorded attacks computed again"]
    for name in QUANTITIES:
        share = rolls.exact[name] / rolls.attacks if rolls.attacks else 0.0
        lines.append(f"    {name:<16} {rolls.exact[name]:>8,} exact ({share:.3%})")
    lines += [f"    {count:>6} × {kind}; first: {rolls.first[kind]}" for kind, count in rolls.kinds.most_common()]
    return lines


def _replay_text(again: ReplayReport) -> list[str]:
    if not again.fights:
        return ["(b) replay: no fight with the state of both sides, so nothing could be played again"]
    columns = len(again.columns)
    lines = [
        f"(b) replay: {again.equal} of {again.fights} fights equal to the end ({again.equal_share:.1%}), "
        f"{again.ticks:,} ticks",
        f"    compared: {columns} observations and mask bits on {again.obs_rows:,} and {again.mask_rows:,} rows; "
        f"place, levels, prayers, gear, inventory, timers on {again.samples:,} rows, and the meta fields as signals",
    ]
    if again.never_varied:
        lines.append(f"    never varied in these recordings: {', '.join(again.never_varied)}")
    lines += [f"    {count:>6} × {kind}; first: {again.first[kind]}" for kind, count in again.kinds.most_common()]
    return lines


def _masks_text(masks: MasksReport) -> list[str]:
    lines = [
        f"(b) masks of {masks.fights} fights without state, from the observations: {masks.equal:,} of {masks.rows:,} "
        "rows equal; those of movement need state"
    ]
    lines += [f"    {count:>6} × {bit}; first: {masks.first[bit]}" for bit, count in masks.bits.most_common()]
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
    layout = contract(env)
    bits = [f"{head.name}.{choice}" for head in layout.heads for choice in head.choices]
    return [feature.name for feature in layout.observation.features], bits


def kind_of(difference: Difference) -> str:
    """The kind of a fight's first difference: the names of its fields."""
    names = sorted(name for name, _, _ in difference.fields)
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


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
            kind = kind_of(difference)
            report.kinds[kind] += 1
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

    For (c), each fight is played `free_plays` times with new dice (0 skips (c)), drawn from `seed`; `limit` > 0 takes
    only that many fights of each set; `progress` gets one line per set.
    """
    paths = sets_in(Path(folder), game)
    rolls, masks, replays = RollsReport(), MasksReport(), _Replays(GAMES[game])
    ranks = Ranks(free_plays, np.random.default_rng(seed))
    for path in paths:
        count = 0
        for fight in read_fights(path):
            check_rolls(fight, rolls)
            if fight.has_state:
                replays.add(fight)
                if free_plays and fight.is_random:
                    ranks.add(fight)
            elif game == "nh":
                check_masks(fight, replays.names[1], masks)
            count += 1
            if limit and count >= limit:
                break
        if progress:
            progress(f"{path.name}: {count} fights, {replays.report.equal} of {replays.report.fights} equal so far")
    names = [path.name.removesuffix(".jsonl.gz") for path in paths]
    return ConformReport(game, names, rolls, replays.finish(), masks, ranks.report() if free_plays else None)
