"""The named numbers of the two fights: signals (all of the protocol's `meta`) and reward terms, in the kernel's order.

Scales are shares of the fighter's base hitpoints. Styles are coded 0 none, 1 melee, 2 ranged, 3 magic. Where the
reference leaves a field out, the signal is 0 and a neighbouring count says whether it happened. `damage_received` is
the truth here; the reference always reports 0 unless switch `damage_received_zero` asks for that.
"""

from __future__ import annotations

from pvp_ml.spec import Figure, RewardTerm, Signal

SIGNALS: tuple[Signal, ...] = (
    Signal("current_health_percent", "ratio", "last", "own HP over its base"),
    Signal("current_target_health_percent", "ratio", "last", "the opponent's HP over its base, exact"),
    Signal("current_prayer_percent", "ratio", "last", "own Prayer over its base"),
    Signal("damage_dealt", "scale", "sum", "hitsplats shown on the opponent this tick"),
    Signal("damage_received", "scale", "sum", "hitsplats shown on me this tick"),
    Signal("episode_ticks", "ticks", "last", "ticks since the start, the first observation counts as 1"),
    Signal("protected_prayer", "ticks", "sum", "the opponent attacked me and I protected against that style"),
    Signal("unprotected_prayer", "ticks", "sum", "the opponent attacked me and I did not protect against that style"),
    Signal("hit_off_prayer", "ticks", "sum", "I attacked with a style the opponent did not protect against"),
    Signal("hit_on_prayer", "ticks", "sum", "I attacked with a style the opponent protected against"),
    Signal("food_count", "kinds", "last", "kinds of edible food left"),
    Signal("target_food_count", "kinds", "last", "kinds of edible food the opponent has left"),
    Signal("remaining_food_scale", "scale", "last", "HP that all my food heals"),
    Signal("target_remaining_food_scale", "scale", "last", "HP that all of the opponent's food heals"),
    Signal("remaining_brew_scale", "scale", "last", "HP that all my brews heal"),
    Signal("target_remaining_brew_scale", "scale", "last", "HP that all of the opponent's brews heal"),
    Signal("attack_level_scale", "ratio", "last", "current over base Attack"),
    Signal("strength_level_scale", "ratio", "last", "current over base Strength"),
    Signal("defence_level_scale", "ratio", "last", "current over base Defence"),
    Signal("ranged_level_scale", "ratio", "last", "current over base Ranged"),
    Signal("magic_level_scale", "ratio", "last", "current over base Magic"),
    Signal("attack_type_hit", "style", "last", "style of my last hit created this tick, 0 none"),
    Signal("attack_type_received", "style", "last", "style of the opponent's last hit created this tick, 0 none"),
    Signal("player_prayer_type", "style", "last", "my protection when hit this tick, 0 none"),
    Signal("target_prayer_type", "style", "last", "the opponent's protection when hit this tick, 0 none"),
    Signal("player_attack_style_type", "style", "last", "class of my weapon"),
    Signal("target_attack_style_type", "style", "last", "class of the opponent's weapon"),
    Signal("current_player_prayer_type", "style", "last", "my protection now, 0 none"),
    Signal("current_target_prayer_type", "style", "last", "the opponent's protection now, 0 none"),
    Signal("distance", "tiles", "mean", "between the fighters"),
    Signal("player_frozen_ticks", "ticks", "last", "left of my freeze"),
    Signal("target_frozen_ticks", "ticks", "last", "left of the opponent's freeze"),
    Signal("food_eaten", "pieces", "sum", "food that I tried to eat"),
    Signal("eaten_food_scale", "scale", "sum", "nominal heal of it"),
    Signal("wasted_food_scale", "scale", "sum", "heal of it beyond the cap"),
    Signal("eat_at_food_scale", "scale", "max", "HP before the last food, 0 if none"),
    Signal("eat_to_food_scale", "scale", "max", "HP after the last food, 0 if none"),
    Signal("brews_drunk", "doses", "sum", "brews that I tried to drink"),
    Signal("wasted_brew_scale", "scale", "sum", "heal of it beyond the cap"),
    Signal("eat_at_brew_scale", "scale", "max", "HP before the brew, 0 if none"),
    Signal("eat_to_brew_scale", "scale", "max", "HP after the brew, 0 if none"),
    Signal("damage_generated_on_target_scale", "scale", "sum", "damage of hits that I created this tick"),
    Signal("damage_generated_on_player_scale", "scale", "sum", "damage of hits that the opponent created this tick"),
    Signal("extra_damage_dealt_on_target_scale", "scale", "sum", "vengeance, recoil, bleed, sacrifice by me"),
    Signal("extra_damage_dealt_on_player_scale", "scale", "sum", "vengeance, recoil, bleed, sacrifice on me"),
    Signal("hit_with_smite", "ticks", "sum", "I created a hit with Smite on"),
    Signal("target_attacked_with_smite", "ticks", "sum", "the opponent created a hit with Smite on"),
    Signal("player_healed_scale", "scale", "sum", "HP gained through my attacks, Redemption, sacrifice"),
    Signal("target_healed_scale", "scale", "sum", "the same for the opponent"),
    Signal("player_hit_attack_speed", "ticks", "last", "speed of my attack this tick, 0 none"),
    Signal("target_hit_attack_speed", "ticks", "last", "speed of the opponent's attack this tick, 0 none"),
    Signal("melee_damage_dealt", "scale", "sum", "generated damage when my last hit was melee"),
    Signal("ranged_damage_dealt", "scale", "sum", "generated damage when my last hit was ranged"),
    Signal("mage_damage_dealt", "scale", "sum", "generated damage when my last hit was magic"),
    Signal("melee_damage_received", "scale", "sum", "the same for hits on me"),
    Signal("ranged_damage_received", "scale", "sum", "the same for hits on me"),
    Signal("mage_damage_received", "scale", "sum", "the same for hits on me"),
    Signal("attacks", "attacks", "sum", "ticks in which I attacked"),
    Signal("specials_used", "attacks", "sum", "special attacks"),
    Signal("freezes", "freezes", "sum", "times that I froze the opponent"),
    Signal("overheads_switched", "switches", "sum", "ticks in which my protection changed"),
)

REWARDS: tuple[RewardTerm, ...] = (
    RewardTerm("step", "1", "every step"),
    RewardTerm("damage_dealt", "scale", "damage of my hits, when they are created"),
    RewardTerm("damage_received", "scale", "damage of hits on me, when they are created"),
    RewardTerm("damage_dealt_shown", "scale", "damage when it is taken from the opponent's HP"),
    RewardTerm("damage_received_shown", "scale", "damage when it is taken from my HP"),
    RewardTerm("damage_points_dealt", "hitpoints", "damage_dealt_shown in points"),
    RewardTerm("damage_points_received", "hitpoints", "damage_received_shown in points"),
    RewardTerm("extra_damage_dealt", "scale", "vengeance, recoil, bleed, sacrifice by me"),
    RewardTerm("extra_damage_received", "scale", "the same on me"),
    RewardTerm("smite_damage_dealt", "scale", "damage_dealt in a tick with Smite on"),
    RewardTerm("smite_damage_received", "scale", "damage_received in a tick in which the opponent has Smite on"),
    RewardTerm("player_healed", "scale", "HP gained through attacks"),
    RewardTerm("target_healed", "scale", "HP the opponent gained through attacks"),
    RewardTerm(
        "eat_at", "ratio", "HP at which food was eaten, 0 without eating (what the safe penalty is a function of)"
    ),
    RewardTerm("no_prayer", "1", "no Prayer points left"),
    RewardTerm("protected_correct_prayer", "speed / 5", "protected against an attack"),
    RewardTerm("protected_wrong_prayer", "speed / 5", "did not protect against an attack"),
    RewardTerm("hit_off_prayer", "speed / 5", "attacked past the opponent's prayer"),
    RewardTerm("hit_on_prayer", "speed / 5", "attacked into the opponent's prayer"),
    RewardTerm("hit_off_prior_prayer", "speed / 5", "attacked past the prayer the opponent had a tick ago"),
    RewardTerm("hit_on_prior_prayer", "speed / 5", "attacked into the prayer the opponent had a tick ago"),
    RewardTerm("protected_correct_prior_prayer", "speed / 5", "prayed against the weapon of a tick ago"),
    RewardTerm("protected_wrong_prior_prayer", "speed / 5", "prayed against something else"),
    RewardTerm("player_frozen", "ticks", "ticks by which my freeze grew"),
    RewardTerm("target_frozen", "ticks", "ticks by which the opponent's freeze grew"),
    RewardTerm("attack_level_scale", "ratio", "current over base Attack, minus 1"),
    RewardTerm("strength_level_scale", "ratio", "current over base Strength, minus 1"),
    RewardTerm("melee_boost_hit", "ratio", "Strength above base in a tick with a melee hit"),
    RewardTerm("defence_level_scale", "ratio", "current over base Defence, minus 1"),
    RewardTerm("ranged_level_scale", "ratio", "current over base Ranged, minus 1"),
    RewardTerm("ranged_boost_hit", "ratio", "Ranged above base in a tick with a ranged hit"),
    RewardTerm("magic_level_scale", "ratio", "current over base Magic, minus 1"),
    RewardTerm("magic_boost_hit", "ratio", "Magic above base in a tick with a magic hit"),
    RewardTerm("wasted_food", "scale", "heal beyond the cap"),
    RewardTerm("wasted_brews", "scale", "heal beyond the cap"),
    RewardTerm("win", "1", "won"),
    RewardTerm("lost", "1", "lost"),
    RewardTerm("tied", "1", "tied, not on truncation"),
    RewardTerm("health_preserved", "ratio", "HP left at a win"),
    RewardTerm("target_food_on_death", "scale", "food the loser had left, to the winner"),
    RewardTerm("target_brews_on_death", "scale", "brews the loser had left, to the winner"),
    RewardTerm("player_food_on_death", "scale", "food the loser had left, to the loser"),
    RewardTerm("player_brews_on_death", "scale", "brews the loser had left, to the loser"),
)

_PRAYED = ("protected_prayer", "unprotected_prayer")
_STRUCK = ("hit_off_prayer", "hit_on_prayer")
DHAROK_FIGURES: tuple[Figure, ...] = (
    Figure("damage_per_attack", "of base HP", ("damage_generated_on_target_scale",), ("attacks",)),
    Figure("specials", "a fight", ("specials_used",)),
    Figure("food_left_at_death", "of base HP", ("remaining_food_scale", "remaining_brew_scale"), when="lost"),
)
FIGURES: tuple[Figure, ...] = (
    Figure("correct_prayer", "of attacks on me", ("protected_prayer",), _PRAYED),
    Figure("off_prayer_hits", "of my attacks", ("hit_off_prayer",), _STRUCK),
    Figure("freezes", "a fight", ("freezes",)),
    *DHAROK_FIGURES,
)
"""What players of the game talk about."""

REWARD_FLAGS = (
    ("reward-damage-dealt", "damage_points_dealt"),
    ("reward-damage-received", "damage_points_received"),
)
"""Flags that people know → the term whose weight they are. Damage is counted in points."""

PENALTIES = ("damage_received", "damage_received_shown", "damage_points_received")
"""Terms that count what goes wrong: a weight above 0 rewards it."""
