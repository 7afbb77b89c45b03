"""How a trainee sees and acts while it collects: noise on features, choices it may not take, greedy decisions."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pvp_ml.errors import UserError
from pvp_ml.match import BoolArray, FloatArray
from pvp_ml.rl.ppo_config import PpoConfig
from pvp_ml.rl.schedule.schedule import Constant, Progress
from pvp_ml.spec import Interface


@dataclass(frozen=True, slots=True)
class Exploration:
    """`deviation` [D] of the noise on each feature, `allowed` [A] choices, `greedy` chance of each decision."""

    deviation: FloatArray | None = None
    allowed: BoolArray | None = None
    greedy: float = 0.0


def is_plain(config: PpoConfig) -> bool:
    """True when a trainee of this config sees clearly, may do what the game allows, and always draws."""
    return not config.observation_noise and not config.forbidden and config.greedy_chance == Constant(0.0)


def exploration(interface: Interface, config: PpoConfig, progress: Progress) -> Exploration | None:
    """How the trainee explores at this moment; None when there is nothing special about it."""
    if is_plain(config):
        return None
    return Exploration(
        noise_deviations(interface, config, progress),
        allowed_choices(interface, config),
        config.greedy_chance.at(progress),
    )


def noise_deviations(interface: Interface, config: PpoConfig, progress: Progress) -> FloatArray | None:
    """[D] deviations of the noise on each feature, or None when there is none."""
    if not config.observation_noise:
        return None
    names = [feature.name for feature in interface.features]
    deviation = np.zeros(len(names), np.float32)
    for name, schedule in config.observation_noise.items():
        if name not in names:
            raise _unknown("observation_noise", "feature", name, names)
        for i, feature in enumerate(interface.features):
            if feature.name == name:
                if feature.kind == "id":
                    raise UserError(f"ppo.observation_noise: '{name}' is an id", "noise fits numbers and flags")
                deviation[i] = schedule.at(progress)
    return deviation if deviation.any() else None


def allowed_choices(interface: Interface, config: PpoConfig) -> BoolArray | None:
    """[A] False where `ppo.forbidden` names the choice, or None when it names none."""
    if not config.forbidden:
        return None
    heads = {head.name: head for head in interface.heads}
    for name, choices in config.forbidden.items():
        if name not in heads:
            raise _unknown("forbidden", "head", name, heads)
        for choice in choices:
            if choice not in heads[name].choices:
                raise _unknown("forbidden", f"choice of head '{name}'", choice, heads[name].choices)
        if len(set(choices)) == heads[name].size:
            raise UserError(f"ppo.forbidden leaves no choice of head '{name}'", "leave it at least one choice")
    return np.array([c not in config.forbidden.get(head.name, ()) for head in interface.heads for c in head.choices])


def restrict(interface: Interface, mask: BoolArray, allowed: BoolArray) -> BoolArray:
    """The mask [B,A] without what is not allowed [A]; a head that would be left with nothing keeps the game's."""
    kept, first = mask & allowed, 0
    for head in interface.heads:
        columns = slice(first, first + head.size)
        stuck = ~kept[:, columns].any(axis=1)
        kept[stuck, columns] = mask[stuck, columns]
        first += head.size
    return np.asarray(kept)


def _unknown(setting: str, kind: str, name: str, known: Iterable[str]) -> UserError:
    close = difflib.get_close_matches(name, list(known), 1)
    return UserError(
        f"ppo.{setting}: there is no {kind} '{name}'",
        f"did you mean '{close[0]}'?" if close else "see `pvp-ml game show`",
    )
