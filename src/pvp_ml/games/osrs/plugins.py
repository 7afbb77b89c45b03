"""Scripted NH players that see what a policy sees: they decide from observation and mask alone.

Each writes its wishes as scores; the common chooser takes the highest that mask and rules allow, so that a wish which
is not legal now falls back to the next one and in the end to doing nothing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pvp_ml.match import BoolArray, FloatArray, IntArray
from pvp_ml.players import KeyArray, PlayerType, SerialArray, choose_legal, uniform
from pvp_ml.spec import GameSpec

WANT, PREFER, NOTHING = 10.0, 2.0, 1.0


class Plugin:
    """Looks features and choices up by name; a game without them is refused when the player is made."""

    def __init__(self, spec: GameSpec) -> None:
        from pvp_ml.model.sampling.heads import Heads

        self._spec = spec
        self._heads = Heads.compile(spec.heads)
        self._feature = {feature.name: i for i, feature in enumerate(spec.features)}
        offsets = np.concatenate([[0], np.cumsum(spec.head_sizes)])
        self._column = {
            choice: int(offsets[h]) + i for h, head in enumerate(spec.heads) for i, choice in enumerate(head.choices)
        }
        self._idle = np.zeros(spec.mask_size, np.float32)
        self._idle[offsets[:-1]] = NOTHING
        self._idle[[self._column[c] for c in ("basic_melee_attack", "basic_ranged_attack", "use_ice_spell")]] = PREFER

    def begin(self, serials: SerialArray) -> None:
        """Nothing to forget."""

    def end(self, serials: SerialArray) -> None:
        """Nothing to forget."""

    def decide(self, serials: SerialArray, seats: IntArray, obs: FloatArray, mask: BoolArray,
               keys: KeyArray) -> IntArray:  # fmt: skip
        """Wishes, then what is legal of them."""
        scores = np.tile(self._idle, (len(obs), 1))
        self.wish(obs, mask, keys, scores)
        return choose_legal(self._spec, self._heads, scores, mask, np.zeros(mask.shape, np.float32), serials)

    def wish(self, obs: FloatArray, mask: BoolArray, keys: KeyArray, scores: FloatArray) -> None:
        """Raise the scores [B,A] of what this player wants."""
        raise NotImplementedError

    def _see(self, obs: FloatArray, name: str) -> FloatArray:
        return obs[:, self._feature[name]]

    def _want(self, scores: FloatArray, when: npt.NDArray[np.bool_], choice: str, by: float = WANT) -> None:
        scores[when, self._column[choice]] += by


class _OpenPlugin(Plugin):
    """Plays as the original's plugins do: to them every choice is open, and what cannot be done has no effect.

    The original hands its plugins no usable mask, so they attack in every tick and reach for food that is not
    there; the game plays such an action as far as it can.
    """

    def decide(self, serials: SerialArray, seats: IntArray, obs: FloatArray, mask: BoolArray,
               keys: KeyArray) -> IntArray:  # fmt: skip
        """Wishes, whatever is legal of them."""
        return super().decide(serials, seats, obs, np.ones_like(mask), keys)


class Noop(Plugin):
    """Never acts: choice 0 of every head, legal or not."""

    def decide(self, serials: SerialArray, seats: IntArray, obs: FloatArray, mask: BoolArray,
               keys: KeyArray) -> IntArray:  # fmt: skip
        """Nothing."""
        return np.zeros((len(obs), len(self._spec.heads)), np.int32)


class StayAlive(_OpenPlugin):
    """Shoots all the time and eats below 60 % of its hitpoints."""

    def wish(self, obs: FloatArray, mask: BoolArray, keys: KeyArray, scores: FloatArray) -> None:
        """Two rules."""
        self._want(scores, np.ones(len(obs), np.bool_), "ranged_attack")
        self._want(scores, self._see(obs, "player_health_percent") < 0.6, "eat_primary_food")


class NhPluginLegal(Plugin):
    """Eats, drinks, prays against the opponent's weapon and attacks past its prayer."""

    def wish(self, obs: FloatArray, mask: BoolArray, keys: KeyArray, scores: FloatArray) -> None:
        """The rules in their order; a wish that comes first is stronger."""
        health = self._see(obs, "player_health_percent")
        can_eat = mask[:, self._column["eat_primary_food"]]
        self._want(scores, health < 0.6, "eat_primary_food")
        self._want(scores, (health < 0.4) | ((health < 0.6) & ~can_eat), "eat_karambwan")
        self._want(scores, self._see(obs, "prayer_points") < 0.6, "use_restore_potion", 3 * WANT)
        self._want(scores, self._see(obs, "ranged_level") < 0.95, "use_ranged_potion", 2 * WANT)
        self._want(scores, self._see(obs, "strength_level") < 0.95, "use_combat_potion")
        for style, prayer in (("mage", "mage_prayer"), ("ranged", "ranged_prayer"), ("melee", "melee_prayer")):
            self._want(scores, self._see(obs, f"target_using_{style}") > 0.5, prayer)
        self._want(scores, np.ones(len(obs), np.bool_), "ranged_attack")
        chance = uniform(keys, 3)
        for i, (style, prayer) in enumerate((("mage", "magic"), ("ranged", "ranged"), ("melee", "melee"))):
            is_open = self._see(obs, f"target_{prayer}_prayer") < 0.5
            column = self._column[f"{style}_attack"]
            scores[is_open, column] = WANT * (2.0 + chance[is_open, i])


class NhPlugin(NhPluginLegal, _OpenPlugin):
    """The same wishes, as the original plays them."""


NH_PLUGIN = PlayerType("nh-plugin", "eats, prays and attacks past the prayer, as the original does", NhPlugin, ("nh",))
NH_PLUGIN_LEGAL = PlayerType(
    "nh-plugin-legal", "nh-plugin that knows what is legal and takes its next best wish", NhPluginLegal, ("nh",)
)
STAY_ALIVE = PlayerType("stay-alive", "shoots all the time, eats below 60 %", StayAlive, ("nh",))
OLD_PLUGINS = (
    PlayerType("baseline", NH_PLUGIN.title, NhPlugin, ("nh",)),
    PlayerType("noop", "never acts", Noop, ("nh",)),
    PlayerType("stayalive", STAY_ALIVE.title, StayAlive, ("nh",)),
)
"""By the names that the original's API and commands know."""
