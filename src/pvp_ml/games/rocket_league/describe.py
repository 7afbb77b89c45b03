"""The GameSpec of a configuration."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pvp_ml.games.rocket_league import resets
from pvp_ml.games.rocket_league.actions import ActionSet, action_set
from pvp_ml.games.rocket_league.arena import meshes
from pvp_ml.games.rocket_league.bots import BOTS
from pvp_ml.games.rocket_league.config import RocketLeagueConfig, check, steps, team_sizes
from pvp_ml.games.rocket_league.observe import Observation, builder
from pvp_ml.games.rocket_league.packs import read_packs
from pvp_ml.games.rocket_league.rewards import table as rewards
from pvp_ml.games.rocket_league.signals import SIGNALS
from pvp_ml.spec import GameSpec, Scenario

NAME = "rocket_league"
VERSION = 1


@dataclass(frozen=True)
class Parts:
    """A configuration with every name in it looked up."""

    spec: GameSpec
    actions: ActionSet
    observation: Observation
    rewards: rewards.Rewards
    setters: resets.Setters
    meshes: meshes.MeshSet


def assemble(config: RocketLeagueConfig) -> Parts:
    """Look everything up; wrong names, sizes and meshes are refused here."""
    check(config)
    shots, pack_digest = read_packs(config.packs)
    actions = action_set(config)
    observation = builder(config)
    chosen = rewards.choose(config.rewards, config.aerial_weight)
    setters = resets.choose(config.setters, shots, config.mechanics_weight, config.start_jitter)
    setters = replace(setters, by_seed=config.pack_order == "by_seed", aside=config.pack_others == "aside")
    mesh_set = meshes.choose(config.meshes)
    spec = GameSpec(
        name=NAME,
        version=VERSION,
        teams=_teams(team_sizes(config)),
        blocks=observation.blocks,
        heads=actions.heads,
        rewards=chosen.describe(),
        max_steps=steps(config, config.timeout_s),
        signals=SIGNALS,
        bots=tuple(BOTS),
        scenarios=tuple(Scenario(name) for name in setters.scenarios()),
        parameters=_parameters(config, mesh_set, pack_digest),
    )
    return Parts(spec, actions, observation, chosen, setters, mesh_set)


def describe(config: RocketLeagueConfig) -> GameSpec:
    """What a policy, a bundle and a run need to know."""
    return assemble(config).spec


def _teams(sizes: tuple[int, int]) -> tuple[tuple[int, ...], ...]:
    blue, orange = sizes
    return tuple(team for team in (tuple(range(blue)), tuple(range(blue, blue + orange))) if team)


def _parameters(
    config: RocketLeagueConfig, mesh_set: meshes.MeshSet, pack_digest: str
) -> tuple[tuple[str, str | int | float | bool], ...]:
    """What changes play without changing shapes: a run that resumes must find the same."""
    mixture = ",".join(f"{name}={weight:g}" for name, weight in sorted(config.setters.items()))
    return (
        ("mode", config.mode),
        ("tick_skip", config.tick_skip),
        ("delay_ticks", config.delay_ticks),
        ("repeat", config.repeat),
        ("sticky_steps", config.sticky_steps),
        ("aerial_weight", config.aerial_weight),
        ("setters", mixture),
        ("start_jitter", config.start_jitter),
        ("mechanics_weight", config.mechanics_weight),
        ("packs", pack_digest),
        ("pack_order", config.pack_order),
        ("end_on_goal", config.end_on_goal),
        ("no_touch_s", config.no_touch_s),
        ("meshes", mesh_set.origin),
        ("mesh_digest", mesh_set.digest),
        *((("pack_others", config.pack_others),) if config.pack_others != "kickoff" else ()),  # runs before it had none
    )
