"""What lies in a run's folder, read with limits: settings, league, milestones. What is wrong reads as nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pvp_ml.documents.plain_file import read_plain
from pvp_ml.documents.strict_json import parse_json
from pvp_ml.documents.strict_yaml import MAX_BYTES, read_yaml
from pvp_ml.errors import UserError
from pvp_ml.match import MAIN
from pvp_ml.run.config.schema import load_config
from pvp_ml.run.store.run_store import NOTES, check_run_name
from pvp_ml.selfplay.league import League

MAX_CONFIG_BYTES = MAX_BYTES
MAX_PROGRESS_BYTES = 8 << 20
MAX_NOTES_BYTES = 1 << 18
MAX_MILESTONES = 500
MAX_PLAYERS = 40
MAX_TEXT = 200
_CHECKPOINT = re.compile(r"ckpt-(\d{6,12})-(\d{1,18})")
OWN = frozenset({"run.name", "run.preset", "run.directory", "tracking.view"})
"""Settings that every run has of its own; to list them as differences would say nothing."""


def read_limited(path: Path, limit: int) -> bytes | None:
    """A small plain file, None when it is anything else."""
    try:
        return read_plain(path, limit)
    except OSError:
        return None


def settings(folder: Path) -> dict[str, Any]:
    """config.yml as it was written; {} when there is none to read."""
    data = read_limited(folder / "config.yml", MAX_BYTES)
    try:
        found = read_yaml((data or b"").decode("utf-8"))
    except (UserError, UnicodeDecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def at(data: Mapping[str, Any], *keys: str) -> Any:
    """What lies at that path; None where there is none."""
    found: Any = data
    for key in keys:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def number(value: Any) -> float:
    """A finite number of at most 10¹⁸, else 0."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and -1e18 < value < 1e18 else 0.0


def text(value: Any) -> str:
    """Words for a page, not too many of them."""
    return str(value)[:MAX_TEXT] if isinstance(value, str | int | float) else ""


def differences(data: Mapping[str, Any], working_directory: Path) -> dict[str, Any]:
    """Preset and the settings in which the run differs from it, [name, run's, preset's]."""
    preset, game = text(at(data, "run", "preset")), text(at(data, "env", "name"))
    try:
        below = load_config(preset, () if preset else ("--env.name", game), working_directory).to_data()
    except (UserError, OSError, ValueError):
        return {"preset": preset, "trouble": "the preset is not here any more", "settings": []}
    own, usual = flat(data), flat(below)
    names = [name for name in own if name not in OWN and name in usual and own[name] != usual[name]]
    return {"preset": preset, "settings": [[n, _shown(own[n]), _shown(usual[n])] for n in names[:100]]}


def flat(data: Mapping[str, Any], prefix: str = "", depth: int = 0) -> dict[str, Any]:
    """{"ppo.gamma": 0.99, …}; a schedule counts as one value."""
    found: dict[str, Any] = {}
    for key, value in data.items():
        if isinstance(value, Mapping) and value and "type" not in value and depth < 4:
            found |= flat(value, f"{prefix}{key}.", depth + 1)
        else:
            found[f"{prefix}{key}"] = value
    return found


def _shown(value: Any) -> str:
    if isinstance(value, Mapping) and "type" in value:
        return f"{value.get('type')} {value.get('initial_value', '')} → {value.get('final_value', '')}"[:MAX_TEXT]
    return str(value)[:MAX_TEXT]


def progress(folder: Path) -> dict[str, Any]:
    """progress.json of the newest checkpoint; {} when there is none to read."""
    try:
        names = [entry.name for entry in os.scandir(folder / "checkpoints")]
    except OSError:
        return {}
    numbered = sorted(((int(m[1]), m[0]) for name in names if (m := _CHECKPOINT.fullmatch(name))), reverse=True)
    for _, name in numbered[:3]:
        data = read_limited(folder / "checkpoints" / name / "progress.json", MAX_PROGRESS_BYTES)
        try:
            return parse_json(data or b"", name, MAX_PROGRESS_BYTES)
        except UserError:
            continue
    return {}


def league(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Players with ratings, newest last, and who made how many points against whom; {} without a league."""
    data = at(facts, "extra", "competition", "league")
    try:
        found = League.from_json(data if isinstance(data, dict) else {})
    except (UserError, TypeError, ValueError):
        return {}
    members = {m.key: m for m in found.members}
    scripted = [key for key in found.payoff if ":" in key]
    keys = list(dict.fromkeys([MAIN, *scripted, *members]))
    keys = keys if len(keys) <= MAX_PLAYERS else [*keys[: MAX_PLAYERS // 2], *keys[-MAX_PLAYERS // 2 :]]
    players = []
    for key in keys:
        member, belief, score = members.get(key), found.belief(key), found.score(MAIN, key)
        players.append({
            "name": text(member.name if member else key),
            "kind": member.kind if member else "trainee" if key == MAIN else "scripted",
            "steps": member.steps if member else None,
            "quality": round(member.quality, 4) if member else None,
            "rating": round(belief.mu, 2),
            "spread": round(2.0 * belief.sigma, 2),
            "points": round(score.points / score.matches, 4) if score.matches else None,
            "matches": score.matches,
        })  # fmt: skip
    rates = [[_rate(found, a, b) for b in keys] for a in keys]
    return {"system": found.rating_system, "players": players, "rates": rates} if len(keys) > 1 else {}


def _rate(found: League, first: str, second: str) -> list[float] | None:
    score = found.score(first, second)
    return [round(score.points / score.matches, 4), score.matches] if first != second and score.matches else None


def milestones(folder: Path) -> list[dict[str, Any]]:
    """Label, steps, phase and win rate of each, by steps."""
    found = []
    try:
        notes = sorted((folder / "milestones").glob(f"**/{NOTES}"))[:MAX_MILESTONES]
    except OSError:
        return []
    for path in notes:
        label = path.parent.relative_to(folder / "milestones").as_posix()
        try:
            for part in label.split("/"):
                check_run_name(part)
            facts = parse_json(read_limited(path, MAX_NOTES_BYTES) or b"", NOTES, MAX_NOTES_BYTES)
        except UserError:
            continue
        rate = at(facts, "metrics", "eval/win_rate")
        found.append({"label": label, "steps": number(facts.get("steps")), "phase": text(facts.get("phase")),
                      "written": text(facts.get("written")),
                      "win_rate": number(rate) if rate is not None else None})  # fmt: skip
    return sorted(found, key=lambda milestone: milestone["steps"])
