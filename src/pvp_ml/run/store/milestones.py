"""Milestones: how they are called, what is noted beside them, and choosing one on a terminal."""

from __future__ import annotations

import datetime
import itertools
import re
from collections.abc import Callable, Mapping
from typing import Any

from pvp_ml.documents.plain_file import read_plain
from pvp_ml.documents.strict_json import parse_json
from pvp_ml.errors import UserError, visible
from pvp_ml.rl.schedule.schedule import Progress
from pvp_ml.run.store.run_store import NOTES, RunStore
from pvp_ml.selfplay.league import League

NOTED = ("match/reward", "ppo/entropy", "ppo/approx_kl", "eval/win_rate")
TRIES = 3
MAX_NOTES_BYTES = 1 << 18
_UNUSABLE = re.compile(r"[^A-Za-z0-9._-]")


def milestone_label(steps: int) -> str:
    """Millions with three digits (`025M`); the exact number below one million."""
    return f"{steps // 1_000_000:03d}M" if steps >= 1_000_000 else str(steps)


def free_label(store: RunStore, phases: list[str], phase: int, steps: int) -> str:
    """`Phase1-BallTouching/025M`; where that is taken the exact count of steps, then that with -2, -3, and so on."""
    group = f"Phase{phase + 1}-{_UNUSABLE.sub('-', phases[phase])[:60]}/" if phases else ""
    taken, exact = set(store.milestone_names()), f"{group}{steps}"
    names = itertools.chain((group + milestone_label(steps), exact), (f"{exact}-{n}" for n in itertools.count(2)))
    return next(name for name in names if name not in taken)


def notes(progress: Progress, seconds: float, phase: str, last: Mapping[str, float], league: League) -> dict[str, Any]:
    """meta.json of a milestone."""
    return {
        "steps": progress.steps,
        "phase": phase,
        "seconds": round(seconds, 1),
        "written": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "metrics": {name: last[name] for name in NOTED if name in last},
        "ratings": {name: [belief.mu, belief.sigma] for name, belief in league.ratings.items()},
    }


def pick_milestone(store: RunStore, ask: Callable[[str], str], tell: Callable[[str], object]) -> str:
    """Let a person choose by number; returns the label."""
    labels = store.milestone_names()
    if not labels:
        raise UserError(f"run '{store.path.name}' has no milestones", "set --milestone-every, or resume without one")
    for number, label in enumerate(labels, 1):
        tell(visible(f"{number:3d}  {label:32s} {_described(store, label)}"))
    for _ in range(TRIES):
        answer = ask(f"continue from which milestone? [1–{len(labels)}, {len(labels)}] ").strip() or str(len(labels))
        if answer in labels:
            return answer
        if answer.isdigit() and 1 <= int(answer) <= len(labels):
            return labels[int(answer) - 1]
        tell(f"'{answer[:40]}' is none of them")
    raise UserError("no milestone was chosen", f"there are: {', '.join(labels)}")


def _described(store: RunStore, label: str) -> str:
    """Steps, win rate and date, as far as they are noted."""
    try:
        facts = parse_json(read_plain(store.milestones / label / NOTES, MAX_NOTES_BYTES), NOTES, MAX_NOTES_BYTES)
        rate = facts["metrics"].get("eval/win_rate")
        won = f", win rate {rate:.1%}" if rate is not None else ""
        return f"{facts['steps']:,} steps{won}, {facts['written'][:16].replace('T', ' ')}"
    except (OSError, UserError, ValueError, KeyError, TypeError, AttributeError):
        return ""
