"""Promises about what a game refuses, and about snapshots."""

from __future__ import annotations

import numpy as np

from pvp_ml.errors import UserError
from pvp_ml.games.conformance.playthrough import Playthrough, difference
from pvp_ml.games.conformance.subject import BrokenError, ExcusedError, Subject
from pvp_ml.games.legal import Legality
from pvp_ml.match import IDLE, RESTING, ActionError, Bot, External, IntArray, MatchPlan, Occupant, StepBuffers

MOST_SNAPSHOT_STEPS = 300


def wrong_actions_are_refused(subject: Subject) -> str:
    """Wrong shape, type and range raise ActionError that names the head, and change nothing."""
    spec, plans = subject.spec, subject.plans(subject.matches)
    game = subject.build()
    playthrough = Playthrough(game, plans)
    playthrough.begin()
    while not playthrough.out.acting.any() and playthrough.step_count < subject.most_steps:
        playthrough.step()
    good = playthrough.actions()
    row, seat = (int(i) for i in np.argwhere(playthrough.out.acting)[0])
    last = len(spec.heads) - 1
    wrong: dict[str, object] = {
        "too few matches": good[:-1],
        "too many heads": np.concatenate([good, good[:, :, :1]], 2),
        "floats": good.astype(np.float32),
    }
    for what, value in (("above its head", spec.heads[last].size), ("below IDLE", -2)):
        wrong[what] = _changed(good, row, seat, last, value)
    if last > 0:
        wrong["half idle"] = _changed(good, row, seat, last, IDLE)
    out = StepBuffers.allocate(spec, subject.matches)
    for what, actions in wrong.items():
        try:
            game.step(actions, out)  # type: ignore[arg-type]
        except ActionError as error:
            if what in ("above its head", "below IDLE", "half idle") and spec.heads[last].name not in error.message:
                raise BrokenError(
                    f"{what}: the refusal does not name head '{spec.heads[last].name}': {error.message}"
                ) from None
        else:
            raise BrokenError(f"{what}: accepted")
    playthrough.finish(subject.most_steps)
    game.close()
    if subject.type.reproducible:
        for serial, trace in subject.play(plans).items():
            if found := difference(trace, playthrough.traces[serial]):
                raise BrokenError(f"a refused action changed the game: {found}")
    return f"{len(wrong)} kinds refused"


def masked_choices_do_no_harm(subject: Subject) -> str:
    """A choice that the mask forbids is either refused by name or played without breaking the match."""
    spec, game, rng, refused, played = subject.spec, subject.build(), np.random.default_rng(subject.seed), 0, 0
    playthrough = Playthrough(game, subject.plans(subject.matches))
    playthrough.begin()
    offsets = Legality(spec).offsets
    for _ in range(min(subject.most_steps, spec.max_steps * 2)):
        if (playthrough.out.serial == RESTING).all():
            break
        actions = playthrough.actions()
        for row, seat in np.argwhere(playthrough.out.acting):
            head = int(rng.integers(len(spec.heads)))
            forbidden = np.flatnonzero(~playthrough.out.mask[row, seat, offsets[head] : offsets[head + 1]])
            if not len(forbidden):
                continue
            wrong = _changed(actions, int(row), int(seat), head, int(rng.choice(forbidden)))
            try:
                playthrough.step(wrong)
            except ActionError:
                refused += 1
            else:
                played += 1
            break
        playthrough.step()
        if not np.isfinite(playthrough.out.obs).all() or not np.isfinite(playthrough.out.reward).all():
            raise BrokenError("a forbidden choice led to numbers that are not finite")
    game.close()
    return f"{refused} refused, {played} played" if refused + played else "nothing was ever masked"


def unknown_plans_are_refused(subject: Subject) -> str:
    """A scenario, bot or lineup that the game does not have raises UserError and queues nothing."""
    spec = subject.spec
    here = tuple(External("x") for _ in range(spec.seats))
    cases: tuple[tuple[str, tuple[Occupant, ...], str], ...] = (
        ("scenario", here, "no-such-scenario"),
        ("bot", (Bot("no-such-bot"), *here[1:]), spec.scenarios[0].name),
        ("lineup", (*here, External("one too many")), spec.scenarios[0].name),
    )
    for what, lineup, scenario in cases:
        game = subject.build()
        try:
            game.queue([*subject.plans(1), MatchPlan(1, 1, lineup, scenario)])
        except UserError:
            out = StepBuffers.allocate(spec, subject.matches)
            if not subject.runs_elsewhere:
                game.start(out)
                if (out.serial != RESTING).any():
                    raise BrokenError(f"a list with an unknown {what} was queued in part") from None
        else:
            raise BrokenError(f"an unknown {what} was accepted")
        finally:
            game.close()
    return "scenario, bot and lineup"


def snapshot_continues(subject: Subject) -> str:
    """A restored game, fresh or used, continues bit for bit; other bytes and another M are refused."""
    if subject.runs_elsewhere:
        raise ExcusedError("an AsyncVecGame has no snapshot")
    if not subject.type.reproducible:
        raise ExcusedError("the game declares reproducible=False")
    length = max(2, min(subject.most_steps, subject.spec.max_steps, MOST_SNAPSHOT_STEPS) // 3)
    for cut in sorted({1, 2, length}):
        _snapshot_at(subject, cut, length)
    return f"cut after 1, 2 and {length} steps"


def _snapshot_at(subject: Subject, cut: int, length: int) -> None:
    plans = subject.plans(6 * subject.matches)
    straight = Playthrough(subject.build(), plans, idle=0.05)
    straight.begin()
    for _ in range(cut):
        straight.step()
    data = straight.game.snapshot()
    moment = {name: getattr(straight.out, name).copy() for name in StepBuffers.__dataclass_fields__}
    used = subject.build()
    other = Playthrough(used, subject.plans(2)[::-1])
    other.begin()
    other.step()
    steps = []
    for _ in range(length):
        steps.append(straight.actions())
        straight.step(steps[-1])
    for what, game in (("fresh", subject.build()), ("used", used)):
        game.restore(data)
        out = StepBuffers(**{name: array.copy() for name, array in moment.items()})
        for actions in steps:
            game.step(actions, out)
        for name in moment:
            if getattr(out, name).tobytes() != getattr(straight.out, name).tobytes():
                raise BrokenError(f"{what} game restored after step {cut}: '{name}' differs {length} steps later")
        game.close()
    straight.game.close()
    _refuses_snapshots(subject, data)


def _refuses_snapshots(subject: Subject, data: bytes) -> None:
    for what, matches, wrong in (
        ("empty bytes", subject.matches, b""),
        ("other bytes", subject.matches, b"\x00" * 64),
        ("half a snapshot", subject.matches, data[: len(data) // 2]),
        ("another number of matches", subject.matches + 1, data),
    ):
        game = subject.build(matches)
        try:
            game.restore(wrong)
        except UserError:
            continue
        finally:
            game.close()
        raise BrokenError(f"restore accepted {what}")


def _changed(actions: IntArray, row: int, seat: int, head: int, value: int) -> IntArray:
    changed = actions.copy()
    changed[row, seat, head] = value
    return changed
