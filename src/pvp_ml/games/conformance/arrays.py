"""Promises about the arrays that cross the border."""

from __future__ import annotations

import json

import numpy as np

from pvp_ml.games.conformance.playthrough import Guarded, Playthrough, is_poison
from pvp_ml.games.conformance.subject import BrokenError, Subject
from pvp_ml.games.legal import Legality
from pvp_ml.match import IDLE, RESTING, ActionError, IntArray, StepBuffers
from pvp_ml.spec import GameSpec


def spec_survives_json(subject: Subject) -> str:
    """The description reads back equal from JSON, and both digests are stable."""
    spec, again = subject.spec, subject.spec
    back = GameSpec.from_json(json.loads(json.dumps(spec.to_json())))
    if back != spec:
        raise BrokenError("from_json(to_json()) gives another description")
    digests = {(s.interface_digest, s.game_digest) for s in (spec, again, back)}
    if len(digests) > 1:
        raise BrokenError("digests differ between two equal descriptions")
    game = subject.build()
    try:
        if game.spec != spec or game.matches != subject.matches:
            raise BrokenError("the built game has another description or another number of matches than asked for")
    finally:
        game.close()
    return f"game digest {spec.game_digest[:12]}"


def buffers_are_written_inside(subject: Subject) -> str:
    """Each step writes every row of the caller's arrays and nothing beside them; finals and result only on end."""
    spec, game, guarded = subject.spec, subject.build(), Guarded.allocate(subject.spec, subject.matches)
    playthrough = Playthrough(game, subject.plans(3 * subject.matches))
    game.queue(list(playthrough.plans.values()))
    game.start(guarded.out)
    legality, rng, endings = Legality(spec), np.random.default_rng(subject.seed), 0
    for step in range(min(subject.most_steps, 4 * spec.max_steps)):
        out = guarded.out
        if name := guarded.overrun():
            raise BrokenError(f"step {step}: wrote outside of '{name}'")
        for name in ("serial", "obs", "privileged", "signals", "reward", "faults"):
            if is_poison(getattr(out, name)).any():
                raise BrokenError(f"step {step}: '{name}' was not written in every row")
        if (out.match != np.arange(subject.matches)).any():
            raise BrokenError(f"step {step}: 'match' is {out.match.tolist()}, expected 0…{subject.matches - 1}")
        stopped = out.ended | out.truncated
        endings += int(stopped.sum()) if step else 0
        for name in ("result", "final_obs", "final_privileged") if step else ():
            fresh = ~is_poison(getattr(out, name)).reshape(subject.matches, -1)
            if fresh.size and (fresh.any(1) & ~stopped).any():
                raise BrokenError(f"step {step}: '{name}' was written in a row that did not stop")
            if fresh.size and (~fresh[stopped]).any():
                raise BrokenError(f"step {step}: '{name}' was not written in a row that stopped")
        if (out.serial == RESTING).all():
            break
        actions = _random_actions(legality, out, rng)
        guarded.poison()
        game.step(actions, out)
    game.close()
    return f"{endings} endings seen"


def values_are_in_range(subject: Subject) -> str:
    """Everything is finite, flags are 0 or 1, ids are whole numbers inside their vocabulary, and no match is void."""
    spec = subject.spec
    flags = np.array([f.kind == "flag" for f in spec.features], np.bool_)
    vocab = np.array([f.vocab or 0 for f in spec.features])
    traces = subject.play(subject.plans(2 * subject.matches), idle=0.05)
    for serial, trace in traces.items():
        for step, moment in enumerate([*trace.steps, trace.ending]):
            for name, array in moment.items():
                if array.dtype.kind == "f" and not np.isfinite(array).all():
                    raise BrokenError(f"match {serial}, step {step}: '{name}' is not finite")
            obs = moment.get("obs", moment.get("final_obs"))
            if obs is None:
                continue
            odd = flags & ~np.isin(obs, (0, 1)).all(0)
            odd |= (vocab > 0) & ((obs != np.floor(obs)) | (obs < 0) | (obs >= np.maximum(vocab, 1))).any(0)  # type: ignore[operator]
            if odd.any():
                at = int(np.flatnonzero(odd)[0])
                feature = spec.features[at]
                raise BrokenError(
                    f"match {serial}, step {step}: {feature.kind} '{feature.name}' is {obs[:, at].tolist()}"
                )
        if trace.fault:
            raise BrokenError(f"match {serial} became void with fault {trace.fault}")
    return f"{sum(len(t.steps) for t in traces.values())} steps seen"


def acting_seats_can_choose(subject: Subject) -> str:
    """Mask, rules and fallback leave an acting seat something in every head, whatever it picked before."""
    legality, rng, asked = Legality(subject.spec), np.random.default_rng(subject.seed), 0

    def ask(_: IntArray, out: StepBuffers) -> None:
        nonlocal asked
        rows, seats = np.nonzero(out.acting)
        asked += len(rows)
        for _repeat in range(8):
            try:
                legality.choose(out.mask[rows, seats], rng.random((len(rows), len(subject.spec.heads))))
            except ActionError as error:
                raise BrokenError(f"serials {out.serial.tolist()}: {error.message}") from None

    game = subject.build()
    playthrough = Playthrough(game, subject.plans(2 * subject.matches))
    playthrough.begin()
    ask(np.zeros(0, np.int32), playthrough.out)
    playthrough.finish(subject.most_steps, ask)
    game.close()
    if not asked:
        raise BrokenError("no seat ever acted")
    return f"{asked} decisions, 8 draws each"


def view_is_json(subject: Subject) -> str:
    """A view is JSON for people, while playing and while resting; a second close does no harm."""
    game = subject.build()
    playthrough = Playthrough(game, subject.plans(1))
    playthrough.begin()
    sizes = [len(json.dumps(game.view(row), allow_nan=False)) for row in range(subject.matches)]
    playthrough.step()
    json.dumps(game.view(0), allow_nan=False)
    game.close()
    game.close()
    return f"{max(sizes)} characters"


def _random_actions(legality: Legality, out: StepBuffers, rng: np.random.Generator) -> IntArray:
    rows, seats = np.nonzero(out.acting)
    actions = np.full((*out.acting.shape, len(legality.spec.heads)), IDLE, np.int32)
    if len(rows):
        actions[rows, seats] = legality.choose(out.mask[rows, seats], rng.random((len(rows), len(legality.spec.heads))))
    return actions
