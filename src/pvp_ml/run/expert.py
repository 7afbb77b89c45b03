"""Expert iteration: a teacher that thinks plays for a model, the model learns its mixed strategies and what it expects;
both are measured.

Everything lies in one folder and is made only where it is missing, so the same call goes on where it stopped:
`record/NNNN.zip` (portions of the teacher's matches), `student.zip`, `report.json`.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pvp_ml.errors import UserError
from pvp_ml.model.recording import Recording, join, read_recording, write_recording
from pvp_ml.players import Player
from pvp_ml.rl.bc import CloneConfig, clone
from pvp_ml.run.config.schema import Config
from pvp_ml.run.teachers import clone_bundle, load_policy
from pvp_ml.selfplay.evaluate import Contestant, find_contestant
from pvp_ml.selfplay.record import record
from pvp_ml.spec import GameSpec

Tell = Callable[[str], None]
AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class ExpertRound:
    """One round. `teacher` names the player with `{model}` for the model; `opponents` are met in turn."""

    folder: Path
    model: str
    teacher: str
    opponents: tuple[str, ...]
    matches: int
    portion: int
    epochs: int
    learning_rate: float
    measured: int  # matches for each of the two
    against: str  # whom both are measured with
    settings: Mapping[str, Any]  # of the game, where they differ when it is measured


@dataclass(frozen=True, slots=True)
class Measured:
    """How a model plays without its teacher: score with its interval, and shares of kinds of choices."""

    model: str
    against: str
    matches: int
    score: float
    low: float
    high: float
    behaviour: dict[str, float]


def iterate(config: Config, asked: ExpertRound, tell: Tell) -> dict[str, Any]:
    """Record, distil and measure what is not there yet; gives the report."""
    record_portions(config, asked, tell)
    student = distil(config, asked, tell)
    report = asked.folder / "report.json"
    if not report.exists():
        found = {
            "date": datetime.now(UTC).date().isoformat(),
            "teacher": asked.teacher.format(model=asked.model),
            "teacher_behaviour": _shares(config, taught(config, asked)),
            "before": asdict(measure(config, asked, asked.model)),
            "after": asdict(measure(config, asked, str(student))),
        }
        _replace(report, json.dumps(found, indent=1).encode())
    return dict(json.loads(report.read_text("utf-8")))


def record_portions(config: Config, asked: ExpertRound, tell: Tell) -> None:
    """Let the teacher play; a portion that is there is not played again."""
    spec, folder = config.env.spec, asked.folder / "record"
    folder.mkdir(parents=True, exist_ok=True)
    teacher = asked.teacher.format(model=asked.model)
    count = -(-asked.matches // asked.portion)
    for number in range(count):
        file = folder / f"{number:04}.zip"
        if file.exists():
            continue
        opponent = asked.opponents[number % len(asked.opponents)].format(model=asked.model)
        game, made = config.env.type.build(config.env.settings, min(AT_ONCE, asked.portion)), list[Any]()
        try:
            sides = [find_contestant(name, spec, Path.cwd()) for name in (teacher, opponent)]
            recording, report = record(game, _kept(sides[0], made), sides[1], asked.portion, config.run.seed + number)
        finally:
            game.close()
            for player in made:
                getattr(player, "close", lambda: None)()
        part = file.with_suffix(".part.zip")
        write_recording(part, recording, spec.name, spec.interface, teacher)
        os.replace(part, file)
        tell(f"{file.name} of {count}: {len(recording):,} rows, {report.total.score:.0%} against {opponent}")


def taught(config: Config, asked: ExpertRound) -> Recording:
    """Everything that the teacher has played."""
    spec = config.env.spec
    files = sorted((asked.folder / "record").glob("[0-9][0-9][0-9][0-9].zip"))
    if not files:
        raise UserError(f"there is no recording in {asked.folder / 'record'}", "record at least one portion")
    return join([read_recording(file, spec.name, spec.interface) for file in files])


def distil(config: Config, asked: ExpertRound, tell: Tell) -> Path:
    """The student: the model itself, taught further. Its statistics stay, its critic is not touched."""
    student, spec = asked.folder / "student.zip", config.env.spec
    if student.exists():
        return student
    policy = load_policy(config, asked.model)
    options = CloneConfig(epochs=asked.epochs, learning_rate=asked.learning_rate, seed=config.run.seed)
    report = clone(policy, taught(config, asked), options, keep_statistics=True)
    clone_bundle(student, spec, policy, config.run.seed)
    expected = "" if math.isnan(report.win_error) else f", chance to win {report.win_error:.1%} from the teacher's"
    tell(
        f"student: {report.rows:,} rows learned; on matches kept apart same action {report.agreement:.1%}, "
        f"loss {report.held_out_loss:.3f} nats{expected}"
    )
    return student


def measure(config: Config, asked: ExpertRound, model: str) -> Measured:
    """The model alone, preferred choices, with the settings that it is measured with."""
    settings = config.env.type.config.model_validate(config.env.settings.model_dump() | dict(asked.settings))
    game = config.env.type.build(settings, 64)
    try:
        us = find_contestant(model, game.spec, Path.cwd(), greedy=True)
        rival = find_contestant(asked.against, game.spec, Path.cwd())
        recording, report = record(game, us, rival, asked.measured)
    finally:
        game.close()
    low, high = report.total.interval
    return Measured(us.name, rival.name, report.total.matches, report.total.score, low, high,
                    _shares(config, recording))  # fmt: skip


def _shares(config: Config, recording: Recording) -> dict[str, float]:
    behaviour = config.env.type.tooling.behaviour
    return {name: round(share, 4) for name, share in behaviour(recording).items()} if behaviour is not None else {}


def _kept(side: Contestant, made: list[Any]) -> Contestant:
    """The same contestant; its player goes into `made`, to be closed later."""
    make = side.make
    if make is None:
        raise UserError(f"'{side.name}' is a bot inside the game and cannot teach", "name a player or a model")

    def build(spec: GameSpec) -> Player:
        made.append(make(spec))
        return made[-1]  # type: ignore[no-any-return]

    return Contestant(side.name, make=build)


def _replace(path: Path, data: bytes) -> None:
    part = path.with_suffix(".part")
    part.write_bytes(data)
    os.replace(part, path)
