"""Named numbers of a VGC match, per seat and step. The order is that of the worker's records (js/record.js)."""

from __future__ import annotations

from pvp_ml.spec import RewardTerm, Signal

SIGNALS: tuple[Signal, ...] = (
    Signal("turn", "turns", "last", "the turn that the battle has reached"),
    Signal("foe_fainted", "share of four", "sum", "foes that fainted in this step, less those revived"),
    Signal("own_fainted", "share of four", "sum", "own Pokémon that fainted in this step, less those revived"),
    Signal("damage_dealt", "share of team HP", "sum", "HP that the foes lost on balance in this step"),
    Signal("damage_taken", "share of team HP", "sum", "HP that the own team lost on balance in this step"),
    Signal("gimmick", "uses", "sum", "1 in the step in which the seat terastallised or mega evolved"),
    Signal("unavailable", "choices", "sum", "choices that a hidden trap or lock made impossible; the seat chose again"),
    Signal("decisions", "choices", "sum", "choices sent to the simulator"),
)

REWARDS: tuple[RewardTerm, ...] = (
    RewardTerm("win", "", "1, 0 or −1 at the end"),
    RewardTerm("foe_fainted", "share of four", "as the signal"),
    RewardTerm("own_fainted", "share of four", "as the signal"),
    RewardTerm("damage_dealt", "share of team HP", "as the signal"),
    RewardTerm("damage_taken", "share of team HP", "as the signal"),
    RewardTerm("foe_statused", "share of four", "change of the foes that carry a status"),
    RewardTerm("own_statused", "share of four", "change of the own Pokémon that carry a status"),
)
