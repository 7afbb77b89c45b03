"""The scripted NH players, rule by rule, from observation and mask alone."""

import gzip
import json
import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from pvp_ml import players
from pvp_ml.errors import UserError
from pvp_ml.games import registry

TRACES = Path(os.environ.get("PVP_ML_TRACES") or Path(__file__).parents[4] / "shared" / "specs" / "osrs" / "traces")
NH = registry.find("nh")
SPEC = NH.spec(NH.config())
FEATURE = {feature.name: i for i, feature in enumerate(SPEC.features)}
CALM = {"player_health_percent": 1.0, "prayer_points": 1.0, "ranged_level": 1.1, "strength_level": 1.1}


def decide(name: str, rows: int = 1, forbidden: tuple[str, ...] = (), **seen: float) -> list[dict[str, str]]:
    obs = np.zeros((rows, SPEC.obs_size), np.float32)
    for key, value in {**CALM, **seen}.items():
        obs[:, FEATURE[key]] = value
    mask = np.array([[c not in forbidden for head in SPEC.heads for c in head.choices]] * rows)
    serials, seats, keys = np.arange(rows), np.zeros(rows, np.int32), np.arange(rows, dtype=np.uint64) * 7919
    actions = players.make(name, SPEC).decide(serials, seats, obs, mask, keys)
    return [{head.name: head.choices[c] for head, c in zip(SPEC.heads, row, strict=True)} for row in actions.tolist()]


def test_nh_plugin_eats_at_sixty_and_adds_a_karambwan_at_forty():
    assert decide("nh-plugin-legal", player_health_percent=0.61)[0]["food"] == "dont_eat_food"
    hurt = decide("nh-plugin-legal", player_health_percent=0.59)[0]
    assert (hurt["food"], hurt["karambwan"]) == ("eat_primary_food", "dont_karambwan")
    dying = decide("nh-plugin-legal", player_health_percent=0.39)[0]
    assert (dying["food"], dying["karambwan"]) == ("eat_primary_food", "eat_karambwan")
    hungry = decide("nh-plugin-legal", player_health_percent=0.59, forbidden=("eat_primary_food",))[0]
    assert (hungry["food"], hungry["karambwan"]) == ("dont_eat_food", "eat_karambwan")


def test_nh_plugin_drinks_in_order_of_need():
    low = {"prayer_points": 0.5, "ranged_level": 0.9, "strength_level": 0.9}
    assert decide("nh-plugin-legal", **low)[0]["potion"] == "use_restore_potion"
    assert decide("nh-plugin-legal", **low, forbidden=("use_restore_potion",))[0]["potion"] == "use_ranged_potion"
    assert decide("nh-plugin-legal", strength_level=0.9)[0]["potion"] == "use_combat_potion"
    assert decide("nh-plugin-legal")[0]["potion"] == "no_potion"


@pytest.mark.parametrize("style", ["mage", "ranged", "melee"])
def test_nh_plugin_prays_against_the_weapon_it_sees(style):
    assert decide("nh-plugin-legal", **{f"target_using_{style}": 1.0})[0]["prayer"] == f"{style}_prayer"


def test_nh_plugin_never_attacks_into_the_prayer_and_varies_otherwise():
    styles = [row["attack"] for row in decide("nh-plugin-legal", rows=600, target_magic_prayer=1.0)]
    assert set(styles) == {"ranged_attack", "melee_attack"}
    assert styles.count("ranged_attack") / 600 == pytest.approx(0.5, abs=0.07)
    only = decide("nh-plugin-legal", target_magic_prayer=1.0, forbidden=("ranged_attack",))[0]
    assert (only["attack"], only["melee_attack_type"]) == ("melee_attack", "basic_melee_attack")


def test_nh_plugin_sees_every_choice_as_open():
    """As the original: no karambwan instead of food that it cannot eat, and an attack that the mask forbids."""
    gone = ("eat_primary_food", "mage_attack", "ranged_attack", "melee_attack", "ranged_prayer")
    row = decide("nh-plugin", player_health_percent=0.59, target_using_ranged=1.0, forbidden=gone)[0]
    assert (row["food"], row["karambwan"], row["prayer"]) == ("eat_primary_food", "dont_karambwan", "ranged_prayer")
    assert row["attack"] != "no_op_attack" and row["gear"] == "no_gear" and row["movement"] == "dont_move"
    assert decide("nh-plugin", player_health_percent=0.39)[0]["karambwan"] == "eat_karambwan"


def test_old_names_are_known():
    assert players.find("baseline") is players.find("nh-plugin")
    assert players.find("stayalive") is players.find("stay-alive")


def test_stay_alive_shoots_and_eats():
    row = decide("stay-alive", player_health_percent=0.5)[0]
    assert (row["attack"], row["ranged_attack_type"], row["food"]) == (
        "ranged_attack", "basic_ranged_attack", "eat_primary_food",
    )  # fmt: skip
    gone = ("ranged_attack", "eat_primary_food")  # to plugins of the original every choice looks open
    row = decide("stay-alive", player_health_percent=0.59, forbidden=gone)[0]
    assert (row["attack"], row["food"], row["prayer"]) == ("ranged_attack", "eat_primary_food", "no_op_prayer")
    assert decide("stay-alive", player_health_percent=0.61)[0]["food"] == "dont_eat_food"


def test_they_refuse_other_games():
    other = registry.find("connect4")
    with pytest.raises(UserError, match="nh-plugin"):
        players.make("nh-plugin", other.spec(other.config()))


@pytest.mark.nightly
@pytest.mark.skipif(not (TRACES / "model_fights.jsonl.gz").is_file(), reason="no recordings")
def test_nh_plugin_decides_as_the_originals_does():
    """Its 5,087 recorded decisions: all heads that leave nothing to chance, and attacks past the prayer alone."""
    rows, is_plugin = [], False
    with gzip.open(TRACES / "model_fights.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            if "episodeIds" in line:
                is_plugin = line["policies"][0] == "plugin"
            elif is_plugin and line["w"] == 0:
                rows.append((line.get("reset", line)["o"], line.get("a")))
    seen = np.array([obs for (obs, _), (_, action) in pairwise(rows) if action], np.float32)
    done = np.array([action for _, action in rows if action])
    serials = np.arange(len(seen))
    keys = np.random.default_rng(0).integers(0, 1 << 63, len(seen), dtype=np.uint64)
    mask = np.ones((len(seen), SPEC.mask_size), np.bool_)
    ours = players.make("nh-plugin", SPEC).decide(serials, np.zeros(len(seen), np.int32), seen, mask, keys)
    assert len(seen) == 5087 and (ours[:, 4:] == done[:, 4:]).all()
    prayed = np.stack([seen[:, FEATURE[f"target_{style}_prayer"]] for style in ("magic", "ranged", "melee")], axis=1)
    for actions in (ours, done):
        assert not prayed[serials, actions[:, 0] - 1].any()
    assert np.abs(np.bincount(ours[:, 0]) - np.bincount(done[:, 0])).max() < 0.04 * len(seen)
