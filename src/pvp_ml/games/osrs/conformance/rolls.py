"""Recorded attacks computed again: rolls, hit chance, max hit, delay and speed, and whether the damage was possible.

The recorded state of both fighters at launch goes into the combat kernels; what comes out must be what the
recording side computed. The damage itself was rolled there, so it is only tested against what the rules allow.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from pvp_ml.games.osrs import items as I
from pvp_ml.games.osrs import state as S
from pvp_ml.games.osrs.conformance.read import Fight
from pvp_ml.games.osrs.conformance.tables import Fighter, Hit
from pvp_ml.games.osrs.kernels import combat as combat

QUANTITIES = ("bonuses", "attack roll", "defence roll", "hit chance", "max hit", "delay", "speed", "damage possible")
MAX_OFFSET = 256


@dataclass(slots=True)
class RollsReport:
    """How many recorded attacks came out exactly, by quantity, and the first place of every kind of difference."""

    attacks: int = 0
    exact: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)  # differences by kind
    first: dict[str, str] = field(default_factory=dict)

    @property
    def worst_share(self) -> float:
        """The smallest share of exact attacks over all quantities."""
        return min(self.exact[name] / self.attacks for name in QUANTITIES) if self.attacks else 0.0


def _rows(fighter: Fighter) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(levels [7], worn [11], bonus sums [14]) as the kernels take them."""
    worn = np.array(fighter.worn, np.int32)
    bonus = np.zeros(14, np.int32)
    combat.worn_bonuses(worn, bonus)
    return np.array(fighter.levels, np.int32), worn, bonus


def allowed_damage(hit: Hit, max_hit: int) -> set[int]:
    """The totals that an attack of one part may have had."""
    guarded = bool(combat.protects(hit.victim.prayers, hit.style))
    weapon, ammunition = hit.attacker.worn[S.WEAPON], hit.attacker.worn[S.AMMUNITION]
    top = 0.999999
    if hit.special == S.VESTAS_LONGSWORD:
        low, high = combat.vesta_damage(max_hit, 0.0), combat.vesta_damage(max_hit, top)
        return {0, *range(low, high + 1)}
    if hit.special == S.STATIUS_WARHAMMER:
        low, high = combat.statius_damage(max_hit, 0.0), combat.statius_damage(max_hit, top)
        return set(range(low, high + 1)) if hit.accurate else {0}
    if hit.special == S.VOLATILE_STAFF:
        percent = hit.attacker.bonuses[S.B_MAGIC_PERCENT]
        most = max_hit
        return {combat.volatile_damage(most, percent, (k + 0.5) / most) for k in range(most)} if hit.accurate else {0}
    rolled = range(max_hit + 1) if hit.accurate else range(1)
    damages = {combat.protected(d) for d in rolled} if guarded else set(rolled)
    if hit.special == S.DARK_BOW:
        return {combat.dark_bow_damage(d) for d in (*damages, 0)}
    if hit.style == S.RANGE and I.ITEM_CLASS[weapon] == I.CLASS_CROSSBOW:
        chance = combat.bolt_chance(ammunition, hit.special, bool(hit.accurate))
        if chance > 0:
            fired = {
                combat.bolt_damage(ammunition, weapon, d, hit.attacker.levels[S.RANGED], hit.victim.prayers)
                for d in damages
            }
            return fired if chance >= 1 else damages | fired
    return damages


def is_possible(hit: Hit, max_hit: int) -> bool:
    """Whether the rules could have produced the recorded parts."""
    if hit.special != S.DRAGON_CLAWS:
        return sum(hit.parts) in allowed_damage(hit, max_hit)
    maximum = combat.protected(max_hit) if combat.protects(hit.victim.prayers, S.MELEE) else max_hit
    parts = np.zeros(4, np.int32)
    for first in range(5):
        for extra in (0, 1):
            for step in range(MAX_OFFSET):
                combat.claw_parts(maximum, first, step / MAX_OFFSET, extra, parts)
                if tuple(parts.tolist()) == hit.parts:
                    return True
    return False


def check_hit(hit: Hit, second: bool) -> dict[str, bool]:
    """Quantity → exact, for one recorded attack; `second` marks the second hit of the same launch."""
    levels, worn, bonus = _rows(hit.attacker)
    their_levels, _, their_bonus = _rows(hit.victim)
    attack, defence, max_hit = combat.attack_numbers(
        hit.style,
        hit.special,
        hit.spell,
        levels,
        hit.attacker.prayers,
        bonus,
        worn,
        hit.attacker.base_hp,
        their_levels,
        hit.victim.prayers,
        their_bonus,
        0,
    )
    weapon = int(worn[S.WEAPON])
    arrow = second and I.ITEM_CLASS[weapon] == I.CLASS_DARK_BOW
    speed = int(I.ITEM_SPEED[weapon])
    if hit.style == S.MAGE:
        speed = combat.SPELL_SPEED
    elif hit.special == S.DARK_BOW:
        speed = 8
    return {
        "bonuses": tuple(bonus.tolist()) == hit.attacker.bonuses and tuple(their_bonus.tolist()) == hit.victim.bonuses,
        "attack roll": attack == hit.attack_roll,
        "defence roll": defence == hit.defence_roll,
        "hit chance": np.float32(combat.hit_chance(hit.attack_roll, hit.defence_roll)) == np.float32(hit.chance),
        "max hit": recorded_max_hit(hit, int(max_hit)) == hit.max_hit,
        "delay": combat.hit_delay(combat.delay_kind(hit.style, weapon, hit.special, arrow), hit.distance) == hit.delay,
        "speed": speed == hit.speed,
        "damage possible": is_possible(hit, int(max_hit)),
    }


def recorded_max_hit(hit: Hit, max_hit: int) -> int:
    """The recordings hold the generic maximum, which for the volatile staff is that of no spell, not its own."""
    if hit.special == S.VOLATILE_STAFF:
        return int(combat.spell_max_hit(S.SPELL_NONE, hit.attacker.bonuses[S.B_MAGIC_PERCENT]))
    return max_hit


def check_rolls(fight: Fight, report: RollsReport) -> None:
    """Add the attacks of one fight to the report."""
    for side in fight.sides:
        for tick, hits in side.hits.items():
            for n, hit in enumerate(hits):
                report.attacks += 1
                for quantity, exact in check_hit(hit, n == 1).items():
                    if exact:
                        report.exact[quantity] += 1
                        continue
                    kind = f"{quantity}: {I.SPECIALS[hit.special]} with {I.KEYS[hit.attacker.worn[S.WEAPON]]}"
                    report.kinds[kind] += 1
                    report.first.setdefault(kind, f"{fight.place}, tick {tick}, attack {hit.number}")
