"""One scripted fighter: its style's habits as scores over the choices, from what a policy sees and nothing else.

It keeps no memory: whatever takes time, such as noticing a new weapon, happens by chance in every tick. So it plays
the same behind a server, where each request stands alone. Rows B, choices A.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pvp_ml.games.osrs.ladder.style import Style
from pvp_ml.games.osrs.plugins import NOTHING, WANT, Plugin
from pvp_ml.match import BoolArray, FloatArray, IntArray
from pvp_ml.players import KeyArray, SerialArray, choose_legal, uniform
from pvp_ml.spec import GameSpec

STYLES = (("mage", "magic"), ("ranged", "ranged"), ("melee", "melee"))
"""Magic, ranged, melee: what choices call them and what prayers call them."""
DRAWS = 8
PROTECTED = 0.6
"""Share of the damage that a matching overhead lets through."""
NEVER = -100.0
Chances = npt.NDArray[np.float64]
"""[B,8] numbers in (0, 1): 0 notices, 1 to 3 a whim for each style, 4 sees the overhead, 7 lapses."""


class Fighter(Plugin):
    """A style at work."""

    def __init__(self, spec: GameSpec, style: Style) -> None:
        super().__init__(spec)
        self._style = style
        self._rest = np.array([self._column[c] for c in ("no_op_prayer", "no_op_attack")])

    def decide(self, serials: SerialArray, seats: IntArray, obs: FloatArray, mask: BoolArray,
               keys: KeyArray) -> IntArray:  # fmt: skip
        """Wishes, then what is legal of them; leaving overhead and weapon as they are is always allowed."""
        scores = np.tile(self._idle, (len(obs), 1))
        self.wish(obs, mask, keys, scores)
        allowed = mask.copy()
        allowed[:, self._rest] = True
        return choose_legal(self._spec, self._heads, scores, allowed, np.zeros(mask.shape, np.float32), serials)

    def wish(self, obs: FloatArray, mask: BoolArray, keys: KeyArray, scores: FloatArray) -> None:
        """Supplies, overhead, attack, feet; a lapse undoes them all."""
        chance = uniform(keys, DRAWS)
        eats = self._eat(obs, mask, scores)
        self._drink(obs, mask, scores, eats)
        self._pray(obs, chance, scores)
        self._attack(obs, mask, chance, scores)
        self._walk(obs, scores)
        scores[chance[:, 7] < self._style.lapse] = self._idle

    def _eat(self, obs: FloatArray, mask: BoolArray, scores: FloatArray) -> BoolArray:
        """Food, and in an emergency a karambwan on top."""
        style, health = self._style, self._see(obs, "player_health_percent")
        late = (self._see(obs, "attack_cycle_ticks") < 1) & (health > style.hold)
        hungry = (health < style.eat) & ~late
        can_eat = mask[:, self._column["eat_primary_food"]]
        self._want(scores, hungry, "eat_primary_food")
        self._want(scores, (health < style.combo) | (hungry & ~can_eat), "eat_karambwan")
        return np.asarray(hungry)

    def _drink(self, obs: FloatArray, mask: BoolArray, scores: FloatArray, eats: BoolArray) -> None:
        """Brews against death, restores against drained levels, boosts when nothing presses."""
        style, health = self._style, self._see(obs, "player_health_percent")
        drained = (self._see(obs, "prayer_points") < style.restore) | (self._see(obs, "magic_level") < style.restore)
        self._want(scores, drained, "use_restore_potion", 3 * WANT)
        no_food = ~mask[:, self._column["eat_primary_food"]] & (self._see(obs, "food_cycle_ticks") < 1)
        self._want(scores, (health < style.brew) | ((health < style.eat) & no_food), "use_brew", 4 * WANT)
        calm = ~eats & (health > style.eat)
        self._want(scores, calm & (self._see(obs, "ranged_level") < style.pot), "use_ranged_potion", 2 * WANT)
        self._want(scores, calm & (self._see(obs, "strength_level") < style.pot), "use_combat_potion")

    def _pray(self, obs: FloatArray, chance: Chances, scores: FloatArray) -> None:
        """Against the style it expects; unnoticed changes leave the overhead as it is."""
        style = self._style
        stays = chance[:, 0] >= style.notice
        if style.overhead == "none":
            stays[:] = True
        elif style.overhead == "guess":
            self._guess(obs, chance, scores)
        else:
            for choice, seen in STYLES:
                held = self._see(obs, f"target_using_{choice}") > 0.5
                self._want(scores, held | (style.overhead == "fixed" and seen == "magic"), f"{choice}_prayer")
        self._want(scores, stays, "no_op_prayer", 5 * WANT)

    def _guess(self, obs: FloatArray, chance: Chances, scores: FloatArray) -> None:
        """By how often each style came lately, how hard it hits, and whether it can reach."""
        away = (self._see(obs, "player_frozen_ticks") > 0) & (self._see(obs, "target_frozen_ticks") > 0)
        reach = ~away | (self._see(obs, "player_location_can_melee") > 0.5)
        for k, (choice, seen) in enumerate(STYLES):
            often = self._see(obs, f"recent_target_{seen}_hit_percent") + 0.5 * self._see(
                obs, f"target_{seen}_hit_percent"
            )
            held = self._see(obs, f"target_using_{choice}")
            weight = 0.15 + often + 0.3 * held
            if choice == "melee":
                weight = np.where(reach, weight, 1e-6)
            scores[:, self._column[f"{choice}_prayer"]] += (
                WANT + np.log(weight) * 1.0 - np.log(-np.log(np.clip(chance[:, 1 + k], 1e-9, 1 - 1e-9)))
            )

    def _attack(self, obs: FloatArray, mask: BoolArray, chance: Chances, scores: FloatArray) -> None:
        """The attack that promises most; between attacks the weapon in hand."""
        style = self._style
        ready = self._see(obs, "attack_cycle_ticks") < 1
        sees = chance[:, 4] < style.dodge
        target = self._see(obs, "target_health_percent")
        target = np.where(target <= 0.0, 1.0, target)
        left = target - self._see(obs, "pending_damage_on_target")
        worth = np.empty((len(obs), 3))
        for k, (choice, seen) in enumerate(STYLES):
            worth[:, k] = style.likes[k]
            if style.reads_gear:
                worth[:, k] *= self._hit_chance(obs, choice)
            met = (self._see(obs, f"target_{seen}_prayer") > 0.5) & sees
            worth[:, k] *= np.where(met, PROTECTED, 1.0)
            worth[:, k] += style.luck * (chance[:, 1 + k] - 0.5)
        walks = (self._see(obs, "target_frozen_ticks") < 1) & (self._see(obs, "target_frozen_immunity_ticks") < 1)
        worth[:, 0] += np.where(walks, style.freeze, 0.0)
        worth[:, 1] += np.where(left < style.starve, 8.0 - self._see(obs, "ranged_attack_speed"), 0.0)
        worth[:, 2] += np.where(left < style.starve, 8.0 - self._see(obs, "melee_attack_speed"), 0.0)
        far = (self._see(obs, "player_frozen_ticks") > 0) & (self._see(obs, "player_location_can_melee") < 0.5)
        worth[:, 2] = np.where(far, NEVER, worth[:, 2])
        for k, (choice, _) in enumerate(STYLES):
            scores[ready, self._column[f"{choice}_attack"]] += 5 * WANT + worth[ready, k]
        self._want(scores, ~ready, "no_op_attack", WANT)
        self._finish(obs, mask, left, ready, scores)
        hurt = self._see(obs, "player_health_percent") < 0.7
        frozen = ~walks
        self._want(scores, hurt & frozen, "use_blood_spell", NOTHING + 2.0)

    def _finish(self, obs: FloatArray, mask: BoolArray, left: FloatArray, ready: BoolArray, scores: FloatArray) -> None:
        """Special attacks on a weak opponent, melee first, never into a matching overhead."""
        weak = left < self._style.special
        open_ = self._see(obs, "target_melee_prayer") < 0.5
        near = (self._see(obs, "player_location_can_melee") > 0.5) | (self._see(obs, "player_frozen_ticks") < 1)
        melee = weak & open_ & near & mask[:, self._column["melee_special_attack"]]
        self._want(scores, melee & ready, "melee_attack", 10 * WANT)
        self._want(scores, melee & ready, "melee_special_attack", WANT)
        shot = weak & ~melee & (self._see(obs, "target_ranged_prayer") < 0.5)
        shot &= mask[:, self._column["ranged_special_attack"]]
        self._want(scores, shot & ready, "ranged_attack", 10 * WANT)
        self._want(scores, shot & ready, "ranged_special_attack", WANT)

    def _hit_chance(self, obs: FloatArray, choice: str) -> FloatArray:
        """About how often an attack of that style hits the armour that is worn now."""
        skill = {"mage": "magic", "ranged": "ranged", "melee": "melee"}[choice]
        armour = {"mage": "mage", "ranged": "ranged", "melee": "melee"}[choice]
        mine = 108.0 * (64.0 + self._see(obs, f"{skill}_accuracy"))
        level = 108.0 if choice == "mage" else self._see(obs, "absolute_defense_level") + 9.0
        theirs = level * (64.0 + np.maximum(self._see(obs, f"target_current_gear_{armour}_defence"), -60.0))
        return np.asarray(np.where(mine > theirs, 1.0 - theirs / (2.0 * mine), mine / (2.0 * theirs)))

    def _walk(self, obs: FloatArray, scores: FloatArray) -> None:
        """Between attacks: out of reach of a frozen opponent, or up to one."""
        waits = self._see(obs, "attack_cycle_ticks") > 1
        frozen = self._see(obs, "target_frozen_ticks") > 1
        if self._style.keep_away:
            near = self._see(obs, "player_to_target_distance") < 3
            self._want(scores, waits & frozen & near, "move_to_farcast_tile")
            self._want(scores, waits & frozen & near, "farcast_5_tiles")
        if self._style.close_in:
            apart = self._see(obs, "player_location_can_melee") < 0.5
            self._want(scores, waits & apart & ~frozen, "move_next_to_target")
