"""The scripted ladder: every style does what its name says, and the rungs rise."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from pvp_ml import players
from pvp_ml.games.osrs.fights import NH, NhConfig, build_nh, nh_spec
from pvp_ml.games.osrs.ladder.rungs import LADDER, RUNGS, STYLES
from pvp_ml.selfplay.evaluate import Contestant, evaluate

SPEC = nh_spec(NhConfig())
FEATURES = {feature.name: i for i, feature in enumerate(SPEC.features)}
BY_NAME = {player.name: player for player in RUNGS}
CALM = {"player_health_percent": 1.0, "target_health_percent": 1.0, "prayer_points": 1.0, "magic_level": 1.0,
        "ranged_level": 1.0, "strength_level": 1.0, "player_location_can_melee": 1.0}  # fmt: skip


def choices(name: str, rows: int = 200, **seen: float) -> dict[str, set[str]]:
    """Head → what the rung chooses over many keys in a situation where everything is legal."""
    obs = np.zeros((rows, SPEC.obs_size), np.float32)
    for feature, value in {**CALM, **seen}.items():
        obs[:, FEATURES[feature]] = value
    keys = np.arange(1, rows + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mask = np.ones((rows, SPEC.mask_size), np.bool_)
    player = BY_NAME[name].make(SPEC)
    actions = player.decide(np.arange(rows), np.zeros(rows, np.int32), obs, mask, keys)
    return {head.name: {head.choices[i] for i in actions[:, h]} for h, head in enumerate(SPEC.heads)}


def test_the_ladder_has_eight_rungs_that_rise():
    names = [style.name for style in STYLES]
    assert len(names) == 8 and [name for name, _ in LADDER] == names and NH.presentation.ladder == LADDER
    assert set(names) <= set(players.names())
    assert all(a < b for (_, a), (_, b) in pairwise(LADDER))


def test_the_panic_eater_eats_at_a_scratch_and_others_do_not():
    assert "eat_primary_food" in choices("nh-panic-eater", player_health_percent=0.85)["food"]
    assert choices("nh-gear-reader", player_health_percent=0.85)["food"] == {"dont_eat_food"}


def test_the_brawler_swings_and_never_prays():
    taken = choices("nh-brawler", target_using_mage=1.0)
    assert taken["attack"] == {"melee_attack"} and taken["prayer"] == {"no_op_prayer"}


def test_the_prayer_switcher_needs_a_while_to_notice():
    taken = choices("nh-prayer-switcher", target_using_ranged=1.0)["prayer"]
    assert taken == {"no_op_prayer", "ranged_prayer"}
    assert choices("nh-starver", target_using_ranged=1.0)["prayer"] == {"ranged_prayer"}


def test_the_tribrid_uses_all_three_styles_and_combo_eats():
    assert choices("nh-tribrid")["attack"] == {"mage_attack", "ranged_attack", "melee_attack"}
    low = choices("nh-tribrid", player_health_percent=0.2)
    assert (low["food"], low["karambwan"], low["potion"]) == ({"eat_primary_food"}, {"eat_karambwan"}, {"use_brew"})


def test_the_farcaster_freezes_and_then_steps_away():
    assert choices("nh-farcaster")["mage_attack_type"] <= {"use_ice_spell", "no_mage_attack"}
    away = choices("nh-farcaster", target_frozen_ticks=10, attack_cycle_ticks=3, player_to_target_distance=1)
    assert away["movement"] == {"move_to_farcast_tile"} and away["farcast_distance"] == {"farcast_5_tiles"}


def test_the_spec_chaser_waits_for_a_weak_opponent():
    assert "melee_special_attack" not in choices("nh-spec-chaser")["melee_attack_type"]
    assert choices("nh-spec-chaser", target_health_percent=0.5)["melee_attack_type"] == {"melee_special_attack"}
    dodged = choices("nh-spec-chaser", target_health_percent=0.5, target_melee_prayer=1.0)
    assert "melee_special_attack" not in dodged["melee_attack_type"]


def test_the_starver_attacks_before_it_eats():
    ready, busy = ({"player_health_percent": 0.5, "attack_cycle_ticks": t} for t in (0, 3))
    assert choices("nh-starver", **ready)["food"] == {"dont_eat_food"}
    assert choices("nh-starver", **busy)["food"] == {"eat_primary_food"}


def test_the_gear_reader_attacks_the_weak_side_and_learns_habits():
    armour = {"magic_accuracy": 100, "ranged_accuracy": 100, "melee_accuracy": 100, "absolute_defense_level": 70,
              "target_frozen_ticks": 9, "target_current_gear_mage_defence": 400,
              "target_current_gear_ranged_defence": 400,
              "target_current_gear_melee_defence": 0}  # fmt: skip
    assert choices("nh-gear-reader", **armour)["attack"] == {"melee_attack"}

    def prayed(**habits: float) -> float:
        obs = np.zeros((400, SPEC.obs_size), np.float32)
        for feature, value in {**CALM, **habits}.items():
            obs[:, FEATURES[feature]] = value
        keys = np.arange(400, dtype=np.uint64) * np.uint64(977)
        mask = np.ones((400, SPEC.mask_size), np.bool_)
        taken = BY_NAME["nh-gear-reader"].make(SPEC).decide(np.arange(400), np.zeros(400, np.int32), obs, mask, keys)
        return float((taken[:, -1] == 1).mean())

    often = {"recent_target_magic_hit_percent": 1.0, "target_magic_hit_percent": 1.0}
    assert prayed() == pytest.approx(1 / 3, abs=0.08) and prayed(**often) > 0.75


def test_a_fighter_decides_a_row_alike_in_any_batch():
    rng = np.random.default_rng(5)
    obs = rng.random((30, SPEC.obs_size)).astype(np.float32)
    mask = rng.random((30, SPEC.mask_size)) < 0.7
    keys = rng.integers(0, 2**63, 30).astype(np.uint64)
    for player in (kind.make(SPEC) for kind in RUNGS):
        rows = np.arange(30)
        whole = player.decide(rows, np.zeros(30, np.int32), obs, mask, keys)
        one = np.concatenate(
            [player.decide(rows[i : i + 1], np.zeros(1, np.int32), obs[i : i + 1], mask[i : i + 1], keys[i : i + 1])
             for i in range(30)]
        )  # fmt: skip
        np.testing.assert_array_equal(whole, one)


def score(first: str, second: str, matches: int, seed: int) -> float:
    game = build_nh(NhConfig(), min(matches, 256))
    sides = [Contestant(name, make=BY_NAME[name].make) for name in (first, second)]
    return float(evaluate(game, *sides, matches, seed).total.score)


def test_the_top_beats_the_bottom():
    assert score("nh-gear-reader", "nh-panic-eater", 40, 1) > 0.9


@pytest.mark.nightly
@pytest.mark.parametrize(("lower", "higher"), pairwise([style.name for style in STYLES]))
def test_each_rung_beats_the_one_below(lower, higher):
    assert score(higher, lower, 1000, 77) >= 0.6


def test_the_record_holds_the_shipped_ratings():
    import json

    record = json.loads((Path(__file__).parents[3] / "benchmarks/records/nh_ladder.json").read_text())
    assert {name: record["ratings"][name][0] for name, _ in LADDER} == {name: round(r) for name, r in LADDER}
    neighbours = {(cell["second"], cell["first"]): cell for cell in record["cells"] if cell["matches"] == 1000}
    for lower, higher in pairwise(name for name, _ in LADDER):
        assert neighbours[lower, higher]["score"] >= 0.6
