"""The settings of a game that another program plays, and what they change in its description."""

from __future__ import annotations

import json
from typing import Any

from pydantic import Field, field_validator

from pvp_ml.errors import UserError
from pvp_ml.games.contract import Contract, load_contract
from pvp_ml.games.osrs.remote.link import Address
from pvp_ml.games.osrs.signals import PENALTIES, REWARD_FLAGS, REWARDS, SIGNALS
from pvp_ml.games.registry import GameConfig, GameType, elsewhere
from pvp_ml.games.tooling import Tooling
from pvp_ml.match import AsyncVecGame
from pvp_ml.spec import GameSpec, Scenario

Parameters = tuple[tuple[str, str | int | float | bool], ...]


class RemoteFields(GameConfig):
    """Settings of a game that an external server may play."""

    remote: str = Field("", description="host:port of an external fight server; empty = built-in")
    remote_command: str = Field("", description="command that starts the server; it stops with the run")
    remote_timeout_s: float = Field(8.0, gt=0, le=3600, description="seconds without an answer that void a match")
    remote_desync_ticks: int = Field(2, ge=0, description="ticks that may be lost between two steps of a match")
    remote_desync_s: float = Field(0.0, ge=0, description="most seconds between two steps; 0 = any")

    @field_validator("remote")
    @classmethod
    def _is_address(cls, text: str) -> str:
        if text:
            try:
                Address.parse(text)
            except UserError as error:
                raise ValueError(str(error)) from error
        return text

    @property
    def shared_server(self) -> str:
        """The address, unless every process starts a server of its own."""
        return "" if self.remote_command else self.remote


def is_remote(config: RemoteFields) -> bool:
    """Whether the rules run elsewhere."""
    return bool(config.remote or config.remote_command)


def without_remote(parameters: Parameters, config: RemoteFields) -> Parameters:
    """Parameters of a description: where the server is does not matter, that there is one does."""
    kept = tuple((key, value) for key, value in parameters if not key.startswith("remote"))
    return (*kept, ("remote", True)) if is_remote(config) else kept


class ContractConfig(RemoteFields):
    """A game that is nothing but a contract and a server."""

    contract: str = Field("NhEnv", description="name or file of the contract: heads and features as JSON")
    agent_type: str = Field("", description="what the server calls it; empty = the contract's name")
    max_ticks: int = Field(1000, ge=1, le=1_000_000, description="steps after which a match is truncated")
    death_match: bool = Field(True, description="only death ends a match; false: a fighter without food ties it")
    random_tiles: bool = Field(True, description="sent as `training`: random start tiles")
    reset_params: str = Field("{}", description="JSON object of further reset parameters")

    @field_validator("reset_params")
    @classmethod
    def _is_object(cls, text: str) -> str:
        if len(text) > 4096 or not isinstance(json.loads(text), dict):
            raise ValueError("a JSON object of at most 4096 characters is expected")
        return text


def contract_spec(config: ContractConfig) -> GameSpec:
    """Heads and features from the contract; signals and reward terms are those of the protocol."""
    contract: Contract = load_contract(config.contract)
    hidden = contract.hidden
    return GameSpec(
        name="remote",
        version=1,
        teams=((0,), (1,)),
        blocks=(contract.observation,),
        privileged=(hidden,) if hidden.features else (),
        heads=contract.heads,
        rewards=REWARDS,
        signals=SIGNALS,
        max_steps=config.max_ticks,
        bots=("baseline",),
        scenarios=(Scenario("default"),),
        parameters=(
            ("agent_type", config.agent_type or contract.name),
            ("death_match", config.death_match),
            ("random_tiles", config.random_tiles),
            ("reset_params", config.reset_params),
            ("remote", True),
        ),
    )


def _build(config: ContractConfig, matches: int) -> AsyncVecGame:
    from pvp_ml.games.osrs.remote.game import RemoteGame

    spec = contract_spec(config)
    body: dict[str, Any] = {
        "training": config.random_tiles,
        "deathMatch": config.death_match,
        "resetParams": json.loads(config.reset_params),
    }
    return RemoteGame(spec, config, str(dict(spec.parameters)["agent_type"]), {"default": body}, matches)


GAME = GameType(
    name="remote",
    title="any contract on an external server",
    config=ContractConfig,
    spec=contract_spec,
    build=_build,
    runs_elsewhere=elsewhere,
    reproducible=False,
    tooling=Tooling(reward_flags=REWARD_FLAGS, penalties=PENALTIES),
)
