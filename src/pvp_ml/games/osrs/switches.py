"""Named switches of the rules: how the reference behaves where it looks unintended or differs from the live game.

Every switch is a column of the match row (`Q_` + name). `reference` is its value by default, `live` in the scenario
`live-game`; 1 means "as the reference does".
"""

from __future__ import annotations

from dataclasses import dataclass

from pvp_ml.games.osrs import state


@dataclass(frozen=True, slots=True)
class Switch:
    """One switch; `doc` says what the reference does."""

    name: str
    doc: str
    reference: bool = True
    live: bool = False

    @property
    def column(self) -> int:
        """Its column in the match row."""
        return int(getattr(state, f"Q_{self.name.upper()}"))


SWITCHES: tuple[Switch, ...] = (
    Switch(
        "special_accuracy_melee_only",
        "ranged and magic specials roll with normal accuracy; dagger ×1.20, claws ×1.35 (live: ACB/ZCB ×2, "
        "ballista ×1.25, volatile ×1.5, dagger ×1.15, claws ×1)",
    ),
    Switch("claws_pattern", "a claw roll lands only if its ordinary damage roll is above 0"),
    Switch("specials_ignore_protection", "Vesta, Statius and volatile damage ignores protection prayers"),
    Switch("weapon_speeds", "attack speeds of the reference (dark bow 7, Statius 6, …)"),
    Switch("opal_on_miss", "opal and diamond bolts can fire on a missed hit"),
    Switch("dragonstone_blocked", "Protect from Magic suppresses dragonstone bolts"),
    Switch(
        "ahrim_unarmed",
        "Ahrim's staff is observed as melee. Off by default: the recorded fights observe it as magic",
        reference=False,
    ),
    Switch("freeze_ticks", "freezes last 8/16/24/32 ticks (live 8/16/25/33)"),
    Switch("two_splats", "at most two damage parts are shown in a tick"),
    Switch("pid_each", "each fighter re-rolls its PID every 40…60 ticks (live: one shuffle every 100…150)"),
    Switch("drink_stops_attack", "drinking clears the combat target"),
    Switch("prayer_drain_rates", "prayer bonus slows the drain by 3.33 % a point (live: 60 + 2 × bonus)"),
    Switch("redemption_before_damage", "Redemption heals before the damage is subtracted (live: after)"),
    Switch("regen_from_drain", "special energy regenerates from the first drain (live: a running cycle)"),
    Switch("regen_phase_carried", "a fighter may start with a regeneration already running, phase by chance"),
    Switch("lms_refill", "LMS refills Prayer after every tick"),
    Switch("moving_melee", "melee reaches a moving target diagonally, and one tile further if both move"),
    Switch("poison_chance", "poison with probability 6/21 (live 1/4)"),
    Switch("tentacle_poison", "the abyssal tentacle poisons for 12 (live: 6)"),
    Switch("blood_fury_chance", "blood fury heals with probability 20/101 (live 20/100)"),
    Switch("food_count_anglerfish", "observation 26 counts anglerfish only", live=True),
    Switch("bot_pots_up", "a bot eats an anglerfish whenever its HP is not above its base", live=True),
    Switch(
        "damage_received_zero",
        "signal damage_received is always 0. Off by default: signals tell the truth",
        reference=False,
    ),
)

BY_NAME = {switch.name: switch for switch in SWITCHES}
