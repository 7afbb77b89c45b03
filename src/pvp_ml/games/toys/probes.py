"""Learning probes: games so small that the right value and the right choice are known in advance.

Each probe breaks for one kind of mistake in a learner. `cases(config, gamma)` lists what a learned policy must say, and
a match is won when every pick that matters was right. The kinds:

    constant_value       one choice, reward 1: the value is 1
    observed_value       reward equals the observation
    discounted_value     reward 1 after two steps: γ, then 1
    action               one of two choices is right
    observed_action      the observation says which choice is right
    masked_action        the best legal choice differs with the mask
    dependent_heads      the second head's choices hang on the first head's pick
    privileged_value     only the critic sees what the reward is
    truncation           reward 1 for ever, cut off by the cap: 1 / (1 − γ) if the end is bootstrapped
    two_seats            zero-sum: a seat gains by its own right choice and loses by the other's
    delayed_acting       decide, wait two steps, get the reward: γ counts own decisions
    identity             two heads of four repeat what is seen, 100 times
    masked_identity      70 choices of which 55 are illegal, 100 times
    memory               repeat at the end what was shown at the beginning
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pvp_ml.games.array_game import TableGame
from pvp_ml.games.registry import GameConfig, GameType
from pvp_ml.games.toys import bandits, sequences
from pvp_ml.games.toys.bandits import Case
from pvp_ml.spec import GameSpec

Kind = Literal[
    "constant_value",
    "observed_value",
    "discounted_value",
    "action",
    "observed_action",
    "masked_action",
    "dependent_heads",
    "privileged_value",
    "truncation",
    "two_seats",
    "delayed_acting",
    "identity",
    "masked_identity",
    "memory",
]


class ProbeConfig(GameConfig):
    """Which probe, and the settings that two of them have."""

    kind: Kind = "action"
    masked: bool = Field(default=True, description="masked_identity: false makes every choice legal, for comparison")
    gap: int = Field(default=4, ge=1, le=256, description="memory: steps between the cue and the question")


def cases(config: ProbeConfig, gamma: float) -> tuple[Case, ...]:
    """What a policy that learned this probe answers: per situation its value at discount `gamma` and its picks."""
    if config.kind in bandits.BANDITS:
        return bandits.cases(bandits.BANDITS[config.kind])
    return sequences.SEQUENCES[config.kind].cases(gamma)


def _spec(config: ProbeConfig) -> GameSpec:
    if config.kind in bandits.BANDITS:
        return bandits.spec(config.kind, bandits.BANDITS[config.kind])
    return sequences.SEQUENCES[config.kind].describe_game(config.kind, config.masked, config.gap)


def _build(config: ProbeConfig, matches: int) -> TableGame:
    if config.kind in bandits.BANDITS:
        return bandits.BanditGame(_spec(config), bandits.BANDITS[config.kind], matches)
    return sequences.SEQUENCES[config.kind](_spec(config), matches)


GAME = GameType(
    name="probe",
    title="Learning probes with known answers",
    config=ProbeConfig,
    spec=_spec,
    build=_build,
    status="thoroughly tested",
)
