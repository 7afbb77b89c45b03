"""A policy at the wheel of a car in RLBot: packets in, controls out, at the rhythm that it was trained with.

A folder for RLBot holds `bot.json` (rhythm), `model.zip` (the policy) and `golden.json`: made-up packets with what the
policy saw, thought and did when the folder was written. They are checked before every start, so that another version, a
damaged file or another machine's arithmetic is noticed before the match and not in it.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pvp_ml.chance import scramble
from pvp_ml.errors import UserError
from pvp_ml.games.rocket_league import derived_state
from pvp_ml.games.rocket_league.actions import ActionSet, action_set
from pvp_ml.games.rocket_league.arena.field import PADS
from pvp_ml.games.rocket_league.config import RocketLeagueConfig
from pvp_ml.games.rocket_league.describe import describe
from pvp_ml.games.rocket_league.observe import LAST_SECONDS, VERSIONS, Context, builder
from pvp_ml.games.rocket_league.rlbot.packets import World, pad_order, read_packet
from pvp_ml.model.actor import Actor
from pvp_ml.model.bundle import Bundle, read_bundle
from pvp_ml.players import BundlePlayer

SETTINGS, MODEL, GOLDEN = "bot.json", "model.zip", "golden.json"
MAX_BYTES = 4_000_000
PLAYING_PHASES = (1, 2, 3)  # countdown, kickoff, active
OBS_TOLERANCE, PROBABILITY_TOLERANCE = 1e-4, 1e-2
HANDS_OFF = (0.0,) * 8

Controls = tuple[float, ...]


class BotSettings(BaseModel):
    """`bot.json`: how the policy is asked."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = Field(1, ge=1, le=1)
    tick_skip: int = Field(8, ge=1, le=60, description="ticks per decision")
    delay_ticks: int = Field(1, ge=0, le=59, description="ticks before a decision acts; RLBot itself takes one")
    greedy: bool = Field(True, description="take the most likely choice instead of sampling")
    timeout_s: float = Field(
        300.0, gt=0, le=3600, description="length of a match in training; only version 1 of the observation shows it"
    )


def fitting_config(bundle: Bundle) -> RocketLeagueConfig:
    """The game's settings whose observation and actions are this model's; refuses a model that cannot play RLBot."""
    if bundle.metadata.game != "rocket_league":
        raise UserError(f"the model plays '{bundle.metadata.game}'", "RLBot needs a model of rocket_league")
    count = {block.name.split(".")[-1]: block.count for block in bundle.interface.blocks}
    sizes = {
        "allies": count.get("ally", 0),
        "opponents": count.get("opponent", 0),
        "pads_near_car": count.get("pad_near_car", 0),
        "pads_near_ball": count.get("pad_near_ball", 0),
    }
    heads = bundle.interface.heads
    names: list[dict[str, object]] = (
        [{"actions": "heads", "bins": 5 if heads[0].size == 5 else 3}] if len(heads) > 1 else []
    )
    tables: list[dict[str, object]] = [*names, {"actions": "rlgym"}, {"actions": "hybrid"}]
    for observation, actions in itertools.product(VERSIONS, tables):
        settings = {"mode": "1v0", "meshes": "generated", "observation": observation, **sizes, **actions}
        try:
            config = RocketLeagueConfig.model_validate(settings)
        except ValidationError:
            break
        if describe(config).interface_digest == bundle.interface.digest:
            return config
    raise UserError(
        "the model's observation cannot be made from RLBot's packets",
        "train with `observation: advanced` of this version; rlgym's default needs flags that packets do not carry",
    )


class Pilot:
    """Plays one car of one match."""

    def __init__(self, bundle: Bundle, settings: BotSettings) -> None:
        self.config = fitting_config(bundle)
        self._settings = settings
        self._actions: ActionSet = action_set(self.config)
        self._player = BundlePlayer(bundle, describe(self.config), settings.greedy)
        self._order = pad_order([(float(x), float(y)) for x, y, _ in PADS])
        self._builders: dict[tuple[int, int], Any] = {}
        self.forget()

    def use_pads(self, places: list[tuple[float, float]]) -> None:
        """Where the boost pads of the game are (x, y), in the order of its packets."""
        self._order = pad_order(places)

    def forget(self) -> None:
        """A new beginning: kickoff, replay, another match."""
        self._controls: Controls = HANDS_OFF
        self._next: Controls = HANDS_OFF
        self._decided_at: int | None = None
        self._player.begin(np.zeros(1, np.int64))

    def drive(self, packet: Any, index: int) -> Controls:
        """The controls of player `index` for the tick after this packet."""
        if not packet.balls or int(packet.match_info.match_phase) not in PLAYING_PHASES:
            self.forget()
            return HANDS_OFF
        tick = int(packet.match_info.frame_num)
        last = self._decided_at
        if last is None or not last <= tick < last + self._settings.tick_skip:
            self._decided_at = last = tick
            self._next = self._decide(packet, index, tick)
        if tick - last >= self._settings.delay_ticks - 1:
            self._controls = self._next
        return self._controls

    def see(
        self, packet: Any, index: int, previous: Controls
    ) -> tuple[derived_state.Floats, npt.NDArray[np.bool_], bool]:
        """Observation [1,D], mask [1,A] and whether there is a car to drive."""
        world = read_packet(packet, index, self._order)
        team = np.repeat([0, 1], world.sizes)
        now = derived_state.look(world, team)  # type: ignore[arg-type]  # the arrays of an arena, without the arena
        obs = np.empty((1, len(team), sum(block.width for block in self._builder(world).blocks)), np.float32)
        self._builder(world).write(now, self._context(packet, team, previous), obs)
        mask = np.empty((1, len(team), self._actions.needs_jump.size), np.bool_)
        self._actions.write_mask(now.may_jump, now.may_boost, mask)
        return obs[:, world.seat], mask[:, world.seat], not bool(now.demoed[0, world.seat])

    def _decide(self, packet: Any, index: int, tick: int) -> Controls:
        obs, mask, is_there = self.see(packet, index, self._controls)
        if not is_there:
            return HANDS_OFF
        keys = np.array([scramble(tick)], np.uint64)
        chosen = self._player.decide(np.zeros(1, np.int64), np.zeros(1, np.int32), obs, mask, keys)
        row = self._actions.rows[self._actions.row_numbers(chosen[None])[0, 0]]
        return tuple(float(value) for value in row)

    def _builder(self, world: World) -> Any:
        """Observation builders know the team sizes, and cars come and go."""
        if world.sizes not in self._builders:
            blue, orange = world.sizes
            config = self.config.model_copy(update={"mode": f"{blue}v{orange}"})
            self._builders[world.sizes] = builder(config)
        return self._builders[world.sizes]

    def _context(self, packet: Any, team: npt.NDArray[np.int64], previous: Controls) -> Context:
        info = packet.match_info
        endless = info.is_overtime or info.is_unlimited_time
        left = 0.5 if endless else float(np.clip(info.game_time_remaining / self._settings.timeout_s, 0.0, 1.0))
        seconds = LAST_SECONDS if endless else max(0.0, float(info.game_time_remaining))
        score = np.array([t.score for t in packet.teams[:2]] if len(packet.teams) >= 2 else [0, 0], np.float32)
        return Context(
            previous=np.broadcast_to(np.array(previous, np.float32), (1, len(team), 8)),
            time_left=np.array([left], np.float32),
            seconds_left=np.array([seconds], np.float32),
            score_difference=(score[team] - score[1 - team])[None],
        )


# Golden states ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Thought:
    """What a policy makes of one packet: what it sees, its probabilities, and the controls it prefers."""

    obs: list[float]
    probs: list[float]
    controls: Controls


def think(pilot: Pilot, actor: Actor, state: dict[str, Any]) -> Thought:
    """The thought about a golden state: `packet`, `index`."""
    pilot.forget()
    packet = as_packet(state["packet"])
    obs, _, _ = pilot.see(packet, state["index"], HANDS_OFF)
    memory = np.zeros((1, actor.network.memory), np.float32) if actor.network.memory else None
    out = actor.heads.decision(1, probs=True)
    mask, key, greedy = np.ones((1, actor.heads.columns), np.bool_), np.zeros(1, np.uint64), np.ones(1, np.bool_)
    actor.act(np.tile(obs, (1, len(actor.network.frames))), mask, key, greedy, out, memory=memory)
    assert out.probs is not None
    controls = pilot.drive(packet, state["index"])
    pilot.forget()
    return Thought([round(float(v), 6) for v in obs[0]], [round(float(v), 5) for v in out.probs[0]], controls)


def as_packet(data: Any) -> Any:
    """Plain JSON data with attributes instead of keys."""
    if isinstance(data, dict):
        return SimpleNamespace(**{name: as_packet(value) for name, value in data.items()})
    return [as_packet(item) for item in data] if isinstance(data, list) else data


def open_folder(folder: Path) -> Pilot:
    """The pilot of a folder, after its golden states were checked."""
    try:
        settings = BotSettings.model_validate_json(_read(folder / SETTINGS))
    except ValidationError as error:
        raise UserError(f"{SETTINGS}: {error.errors()[0]['msg']}", "export the folder again") from None
    bundle = read_bundle(folder / MODEL)
    try:
        states = json.loads(_read(folder / GOLDEN))["states"]
        check(Pilot(bundle, settings.model_copy(update={"greedy": True})), bundle, states)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(f"{GOLDEN} cannot be read: {error!r}"[:300], "export the folder again") from error
    return Pilot(bundle, settings)


def check(pilot: Pilot, bundle: Bundle, states: list[dict[str, Any]]) -> None:
    """Refuse a policy that does not see, think and do what it did when the folder was written."""
    actor = Actor(bundle.network, bundle.interface, bundle.tensors, bundle.normalizer)
    for number, state in enumerate(states):
        now = think(pilot, actor, state)
        gaps = {
            "sees": (_gap(now.obs, state["obs"]), OBS_TOLERANCE),
            "thinks": (_gap(now.probs, state["probs"]), PROBABILITY_TOLERANCE),
            "does": (_gap(list(now.controls), state["controls"]), 0.0),
        }
        for what, (gap, limit) in gaps.items():
            if not gap <= limit:
                raise UserError(
                    f"golden state {number}: the policy {what} something else than when it was exported ({gap:.2g})",
                    "use the version of pvp-ml that wrote the folder, or export the model again",
                )


def _gap(now: list[float], then: list[float]) -> float:
    return float(np.abs(np.array(now) - np.array(then)).max()) if len(now) == len(then) else float("inf")


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UserError(f"'{path.name}' cannot be read: {error.strerror}", "export the folder again") from None
    if len(data) > MAX_BYTES:
        raise UserError(f"'{path.name}' has more than {MAX_BYTES} bytes", "export the folder again")
    return data
