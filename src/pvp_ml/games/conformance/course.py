"""Promises about the course of matches: who plays when, how they end, what they depend on."""

from __future__ import annotations

import numpy as np

from pvp_ml.games.conformance.playthrough import Playthrough, Trace, difference
from pvp_ml.games.conformance.subject import BrokenError, ExcusedError, Subject
from pvp_ml.match import LOSS, RESTING, TIE, WIN, Bot, External, Occupant, StepBuffers
from pvp_ml.spec import GameSpec

MOST_SCENARIOS = 64
SYMMETRY_MATCHES, SYMMETRY_ROWS = 256, 32
_CLEARED = ("obs", "privileged", "mask", "acting", "signals", "reward", "ended", "truncated", "faults")


def queue_is_served_in_order(subject: Subject) -> str:
    """Rows take plans in queue order, lowest row first, and every plan is played once."""
    game, plans = subject.build(), subject.plans(4 * subject.matches)
    playthrough = Playthrough(game, plans)
    playthrough.begin()
    playthrough.finish(subject.most_steps)
    game.close()
    started = [serial for _, _, serial in playthrough.started]
    if started != [plan.serial for plan in plans]:
        raise BrokenError(f"plans {[p.serial for p in plans][:8]}… started as {started[:8]}…")
    if [(step, row) for step, row, _ in playthrough.started] != sorted((s, r) for s, r, _ in playthrough.started):
        raise BrokenError("a higher row took an earlier plan than a lower row in the same step")
    unfinished = [serial for serial, trace in playthrough.traces.items() if not trace.ending]
    if unfinished:
        raise BrokenError(f"matches {unfinished[:4]} did not stop within {subject.most_steps} steps")
    return f"{len(plans)} plans"


def rows_without_plan_rest(subject: Subject) -> str:
    """A row without plan has serial RESTING, nobody acting and zeros; it wakes when a plan is queued."""
    game, plans = subject.build(), subject.plans(subject.matches + 1)
    early, late = plans[: subject.matches - 1], plans[subject.matches - 1 :]
    playthrough = Playthrough(game, early)
    playthrough.begin()
    _check_resting(playthrough.out, subject.matches - 1, "after start")
    playthrough.finish(
        subject.most_steps, lambda _, out: _check_resting(out, 0, f"step {playthrough.step_count}", ends_allowed=True)
    )
    playthrough.step()
    _check_resting(playthrough.out, 0, "after the last match")
    playthrough.plans.update({plan.serial: plan for plan in late})
    game.queue(late)
    playthrough.step()
    if not (playthrough.out.serial != RESTING).any():
        raise BrokenError("plans queued while all rows rest are not taken in the next step")
    playthrough.finish(subject.most_steps)
    game.close()
    if set(playthrough.traces) != {plan.serial for plan in plans}:
        raise BrokenError("not every plan was played")
    return "rested and woke"


def same_plan_same_match(subject: Subject) -> str:
    """A match depends on its plan and actions alone: not on M, its row, its neighbours or earlier matches."""
    if not subject.type.reproducible:
        raise ExcusedError("the game declares reproducible=False")
    plans = subject.plans(2 * subject.matches)
    reference = subject.play(plans, idle=0.05)
    for what, others in (
        ("alone in one row", subject.play(plans, 1, 0.05)),
        ("in another order", subject.play(plans[::-1], idle=0.05)),
        ("among more rows", subject.play(plans[1:], 2 * subject.matches + 1, 0.05)),
    ):
        for serial, trace in others.items():
            if found := difference(reference[serial], trace):
                raise BrokenError(f"{what}: {found}")
    seeds = {b"".join(step["obs"].tobytes() for step in t.steps) for t in reference.values()}
    return f"{len(reference)} matches, {len(seeds)} of them different"


def waiting_seats_are_ignored(subject: Subject) -> str:
    """What is given for seats that do not act, those of bots included, changes nothing and is not checked."""
    if not subject.type.reproducible:
        raise ExcusedError("the game declares reproducible=False")
    spec = subject.spec
    lineups = [_with_bot(spec, bot, {seat}) for bot in spec.bots for seat in range(spec.seats)]
    for lineup in (*lineups[:4], _with_bot(spec, "", set())):
        plans = subject.plans(subject.matches, lineup)
        quiet, noisy = subject.play(plans), subject.play(plans, filler=1_000_000)
        for serial, trace in quiet.items():
            if found := difference(trace, noisy[serial]):
                raise BrokenError(f"lineup {lineup}: {found}")
    return f"{len(lineups) + 1} lineups"


def idle_seats_are_accepted(subject: Subject) -> str:
    """IDLE in every head is no input: the match continues, and the step limit ends it if nothing else does."""
    spec, game = subject.spec, subject.build()
    playthrough = Playthrough(game, subject.plans(subject.matches), idle=1.0)
    playthrough.begin()
    playthrough.finish(min(subject.most_steps, spec.max_steps + 1))
    game.close()
    lengths = [len(trace.steps) for trace in playthrough.traces.values()]
    if any(not trace.ending for trace in playthrough.traces.values()) and subject.most_steps > spec.max_steps:
        raise BrokenError(f"idle matches were still going after the cap of {spec.max_steps} steps")
    return f"idle matches stopped after {min(lengths)} to {max(lengths)} steps"


def cap_truncates(subject: Subject) -> str:
    """No match is longer than max_steps; it is cut there, or earlier by a game with `cuts_idle`; ends are not cuts."""
    spec, cut = subject.spec, 0
    traces = {**subject.play(subject.plans(2 * subject.matches)), **_shifted(subject)}
    for serial, trace in traces.items():
        last = trace.steps[-1]
        for moment in trace.steps:
            if moment["ended"] and moment["truncated"]:
                raise BrokenError(f"match {serial} both ended and was truncated")
        if len(trace.steps) > spec.max_steps:
            raise BrokenError(f"match {serial} took {len(trace.steps)} steps, the cap is {spec.max_steps}")
        if last["truncated"]:
            cut += 1
            if len(trace.steps) != spec.max_steps and not subject.type.cuts_idle:
                raise BrokenError(
                    f"match {serial} was truncated after {len(trace.steps)} steps, the cap is {spec.max_steps}"
                )
    return f"{len(traces)} matches, {cut} truncated"


def results_agree_with_teams(subject: Subject) -> str:
    """Results are WIN, TIE or LOSS, equal within a team, and with two teams one's win is the other's loss."""
    spec = subject.spec
    traces = {**subject.play(subject.plans(4 * subject.matches)), **_shifted(subject)}
    counts = dict.fromkeys((WIN, TIE, LOSS), 0)
    for serial, trace in traces.items():
        result = [int(r) for r in trace.ending["result"]] if trace.ending else [TIE] * spec.seats
        if set(result) - set(counts):
            raise BrokenError(f"match {serial}: result {result}")
        by_team = [{result[seat] for seat in team} for team in spec.teams]
        if any(len(team) > 1 for team in by_team):
            raise BrokenError(f"match {serial}: a team disagrees with itself: {result}")
        counts[result[0]] += 1
        if len(spec.teams) == 2 and result[spec.teams[0][0]] != -result[spec.teams[1][0]]:
            raise BrokenError(f"match {serial}: two teams with results {result}")
    return f"seat 0: {counts[WIN]} won, {counts[TIE]} tied, {counts[LOSS]} lost"


def bots_play(subject: Subject) -> str:
    """Every bot holds every seat: its seat never acts, and matches stop."""
    spec = subject.spec
    for bot in spec.bots:
        lineups = [_with_bot(spec, bot, {seat}) for seat in range(spec.seats)]
        for lineup in (*lineups, _with_bot(spec, bot, set(range(spec.seats)))):
            traces = subject.play(subject.plans(subject.matches, lineup))
            for serial, trace in traces.items():
                if not trace.ending and len(trace.steps) < subject.most_steps:
                    raise BrokenError(f"bot '{bot}', match {serial}: did not stop")
                for step, moment in enumerate(trace.steps):
                    if any(moment["acting"][seat] for seat, o in enumerate(lineup) if isinstance(o, Bot)):
                        raise BrokenError(f"bot '{bot}', match {serial}, step {step}: the bot's seat is acting")
    return ", ".join(spec.bots) or "the game has none"


def scenarios_run(subject: Subject) -> str:
    """Every scenario plays to its end."""
    scenarios = subject.spec.scenarios[:MOST_SCENARIOS]
    for scenario in scenarios:
        for serial, trace in subject.play(subject.plans(2, scenario=scenario.name)).items():
            if not trace.ending and len(trace.steps) < subject.most_steps:
                raise BrokenError(f"scenario '{scenario.name}', match {serial}: did not stop")
    return f"{len(scenarios)} of {len(subject.spec.scenarios)}"


def seats_are_symmetric(subject: Subject) -> str:
    """Where the type says symmetric: over many seeds no seat wins more, and all seats begin with the same view."""
    if not subject.type.symmetric:
        raise ExcusedError("the game does not declare symmetric=True")
    rows = subject.matches if subject.runs_elsewhere else SYMMETRY_ROWS
    traces = list(subject.play(subject.plans(SYMMETRY_MATCHES), rows).values())
    results = np.array([t.ending["result"] for t in traces if t.ending], np.float64)
    first = np.array([t.steps[0]["obs"] for t in traces], np.float64)
    for what, values in (("result", results[:, :, None]), ("first observation", first)):
        mean, spread = values.mean(0), values.std(0) / np.sqrt(len(values))
        gap, noise = np.abs(mean - mean[:1]), np.sqrt(spread**2 + spread[:1] ** 2)
        if (gap > 5 * noise + 1e-6).any():
            seat = int(np.argwhere(gap > 5 * noise + 1e-6)[0][0])
            raise BrokenError(
                f"mean {what} of seats 0 and {seat} differs by {gap.max():.3f} over {len(values)} matches"
            )
    return f"{len(results)} matches"


def _check_resting(out: StepBuffers, first: int, when: str, ends_allowed: bool = False) -> None:
    """Rows from `first` on that rest must be empty; a row that stopped in this very step still reports that."""
    resting = out.serial == RESTING
    resting[:first] = False
    if first and not resting[first:].all():
        raise BrokenError(f"{when}: a row without plan has a serial")
    if ends_allowed:
        resting &= ~(out.ended | out.truncated)
    for name in _CLEARED:
        if np.any(getattr(out, name)[resting]):
            raise BrokenError(f"{when}: '{name}' of a resting row is not zero")


def _shifted(subject: Subject) -> dict[int, Trace]:
    """Matches in which nobody ever moves, under serials that do not collide with the others."""
    traces = subject.play(subject.plans(subject.matches), idle=1.0)
    return {-serial: trace for serial, trace in traces.items()}


def _with_bot(spec: GameSpec, bot: str, seats: set[int]) -> tuple[Occupant, ...]:
    return tuple(Bot(bot) if seat in seats else External("x") for seat in range(spec.seats))
