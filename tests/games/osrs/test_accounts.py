"""Accounts: shipped ones fight as the builds do, files are held to the item table, sides wear what is theirs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from pvp_ml.errors import UserError
from pvp_ml.games.osrs import items as I
from pvp_ml.games.osrs import state as S
from pvp_ml.games.osrs.accounts.check import check
from pvp_ml.games.osrs.accounts.read import AccountError, load, parse, shipped
from pvp_ml.games.osrs.accounts.variety import VARIATIONS, variations
from pvp_ml.games.osrs.accounts.wardrobe import COLUMNS, fighter_row
from pvp_ml.games.osrs.fights import NH, NH_BUILDS, NhConfig, build_nh, nh_spec
from pvp_ml.games.replay import Replay, play
from pvp_ml.match import Bot, External, MatchPlan, StepBuffers
from pvp_ml.players import RandomPlayer
from pvp_ml.run.config.schema import load_config

TICKS = 60
HERE = Path(__file__).parent


AGAINST_BOT = (External("a"), Bot("nh-bot"))


def fight(config: NhConfig, lineup=AGAINST_BOT, home: int = 0):
    """Everything that a fight of random actions against somebody shows, tick by tick."""
    game = build_nh(config, 4)
    out = StepBuffers.allocate(game.spec, 4)
    game.queue([MatchPlan(i, 100 + i, lineup, home=home) for i in range(4)])
    game.start(out)
    player, seen = RandomPlayer(game.spec), []
    for tick in range(TICKS):
        seen.append((out.obs.copy(), out.mask.copy(), game.fighters.copy(), game.state.copy()))
        actions = np.full((4, 2, len(game.spec.heads)), -1, np.int32)
        for seat in range(2):
            rows = np.flatnonzero(out.acting[:, seat])
            if len(rows):
                keys = np.uint64(tick * 1000 + seat * 100) + rows.astype(np.uint64)
                seats = np.full(len(rows), seat, np.int32)
                actions[rows, seat] = player.decide(
                    out.serial[rows], seats, out.obs[rows, seat], out.mask[rows, seat], keys
                )
        game.step(actions, out)
    return seen


@pytest.mark.parametrize("build", NH_BUILDS)
def test_a_shipped_account_fights_bit_for_bit_as_its_build(build):
    plain = {"builds": (build,), "randomize_gear": False, "fight_type": "of-build"}
    account = {"account": build.lower().replace("_", "-"), "fight_type": "of-build", "randomize_gear": False}
    for before, after in zip(fight(NhConfig(**plain)), fight(NhConfig(**account)), strict=True):
        for was, is_ in zip(before, after, strict=True):
            np.testing.assert_array_equal(was, is_)


def test_every_shipped_account_can_be_read_and_worn():
    assert set(shipped()) >= {build.lower().replace("_", "-") for build in NH_BUILDS}
    assert len(shipped()) >= 12
    for name in shipped():
        row = fighter_row(load(name, HERE))
        assert row[S.W_RANGED] and row[S.W_MELEE] and row[S.COUNT + S.KIND_EMPTY] == 0
        assert set(np.flatnonzero(row)) <= set(COLUMNS.tolist())


def test_without_accounts_nothing_changes():
    spec = nh_spec(NhConfig())
    assert not {"account", "opponent_account", "account_variety"} & {key for key, _ in spec.parameters}
    assert nh_spec(NhConfig(account_variety=0.5)).game_digest == spec.game_digest
    assert nh_spec(NhConfig(account="pure")).game_digest != spec.game_digest
    assert nh_spec(NhConfig(account="pure")).interface_digest == spec.interface_digest


def test_own_and_opposing_account_go_with_the_players():
    config = NhConfig(account="maxed", opponent_account="pure")
    for home in (0, 1):
        fighters = fight(config, (External("a"), External("b")), home)[0][2]
        assert fighters[:, home, S.BASE_DEF].tolist() == [99] * 4
        assert fighters[:, 1 - home, S.BASE_DEF].tolist() == [1] * 4


def test_an_opponent_alone_may_have_an_account():
    fighters = fight(NhConfig(builds=("ZERKER",), opponent_account="maxed"))[0][2]
    assert fighters[:, 0, S.BASE_DEF].tolist() == [45] * 4 and fighters[:, 1, S.BASE_DEF].tolist() == [99] * 4


def test_the_configuration_carries_the_account_itself(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.yml").write_text(PURE)
    config = NhConfig(account="mine.yml")
    Path("mine.yml").unlink()
    again = NhConfig.model_validate(config.model_dump())
    assert again == config and nh_spec(again).game_digest == nh_spec(config).game_digest


def test_a_snapshot_keeps_the_outfits_that_wait():
    config = NhConfig(account="pure", account_variety=0.5)
    game = build_nh(config, 1)
    out = StepBuffers.allocate(game.spec, 1)
    game.queue([MatchPlan(i, i, (External("a"), External("b"))) for i in range(3)])
    game.start(out)
    kept = game.snapshot()
    other = build_nh(config, 1)
    other.restore(kept)
    assert other.snapshot() == kept


def test_variations_are_legal_differ_and_stay_the_same():
    account = load("zerker", HERE)
    assert variations(account, 0.0) == (account,)
    made = variations(account, 0.5)
    assert len(made) == VARIATIONS and made[0] == account
    for one in made:
        check(one, "variation")
    assert len({one.digest for one in made}) > 0.9 * VARIATIONS
    assert len({one.gear["special"] for one in made}) > 3
    assert [one.digest for one in variations(account, 0.5)] == [one.digest for one in made]


def test_a_replay_cannot_name_a_file():
    whole = load("pure", HERE).text()
    config, plan = {"account": "pure"}, MatchPlan(0, 1, (External("a"), External("b")))
    digest = nh_spec(NhConfig(account="pure")).game_digest
    with pytest.raises(UserError, match="setting 'account' names a file"):
        next(play(Replay("nh", digest, config, plan, ())))
    game, _ = next(play(Replay("nh", digest, {"account": whole}, plan, ())))
    assert game.fighters[0, :, S.BASE_PRAY].tolist() == [52, 52]


PURE = """
levels: {attack: 60, strength: 99, defence: 1, ranged: 99, magic: 99, prayer: 52, hitpoints: 99}
prayers: {melee: [ultimate_strength]}
gear:
  mage: [ancient_staff, mages_book]
  ranged: [rune_crossbow, diamond_bolts_e]
  melee: [dragon_scimitar]
  special: [dragon_claws]
inventory: {rune_pouch: 1, super_restore_4: 2}
food: shark
"""

MISTAKES = [
    ("dragon_scimitar", "abyssal_whip", "gear.melee: 'abyssal_whip' (weapon) needs attack 70, the account has 60"),
    ("dragon_scimitar", "dragon_scimtar", "gear.melee: there is no item 'dragon_scimtar'"),
    ("[dragon_claws]", "[dragon_claws, mages_book]", "gear.special: 'dragon_claws' takes both hands"),
    ("[dragon_claws]", "[dragon_claws, dragon_dagger]", "both go into the slot weapon"),
    ("[dragon_claws]", "[shark]", "gear.special: 'shark' cannot be worn"),
    ("[dragon_scimitar]", "[rune_crossbow]", "gear.melee: 'rune_crossbow' (weapon) is a ranged weapon"),
    ("[dragon_scimitar]", "[]", "gear.melee has no weapon"),
    ("diamond_bolts_e", "dragon_arrow", "'rune_crossbow' does not shoot 'dragon_arrow' (ammunition)"),
    ("ultimate_strength", "piety", "prayers.melee: 'piety' needs prayer 70, the account has 52"),
    ("super_restore_4: 2", "super_restore_4: 27", "make 32, the inventory has 28 places"),
    ("super_restore_4: 2", "dragon_boots: 1", "inventory: 'dragon_boots' is gear"),
    ("rune_pouch: 1, ", "", "inventory has no 'rune_pouch'"),
    ("attack: 60", "attack: 100", "levels.attack is 100"),
    ("prayer: 52, ", "", "levels has no 'prayer'"),
    ("food: shark", "food: lobster", "food is 'lobster'"),
    ("food: shark", "foood: shark", "has no entry 'foood'"),
    ("food: shark", "spellbook: lunar", "gear.mage is not empty"),
    ("levels:", "levels: [1]\nx:", "has no entry 'x'"),
]


@pytest.mark.parametrize(("right", "wrong", "complaint"), MISTAKES)
def test_mistakes_are_named(right, wrong, complaint):
    parse(PURE, "mine")
    with pytest.raises(AccountError) as caught:
        parse(PURE.replace(right, wrong), "mine")
    assert complaint in str(caught.value)


def test_files_are_limited(tmp_path):
    (tmp_path / "big.yml").write_text("title: x\n" * 4000)
    with pytest.raises(AccountError, match="more than 16384 bytes"):
        load("big.yml", tmp_path)
    (tmp_path / "deep.yml").write_text("[" * 40)
    with pytest.raises(AccountError, match="nested"):
        load("deep.yml", tmp_path)
    (tmp_path / "bytes.yml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(AccountError, match="is not text"):
        load("bytes.yml", tmp_path)
    with pytest.raises(AccountError, match="did you mean 'zerker'"):
        load("zerkr", tmp_path)


def test_a_wrong_account_is_a_wrong_setting():
    with pytest.raises(ValidationError, match="there is no account 'nobody'"):
        NhConfig(account="nobody")


def test_items_that_examples_use_are_in_the_table():
    for name in shipped():
        for items in load(name, HERE).gear.values():
            assert set(items) <= set(I.KEYS)


def test_seats_bring_accounts_to_a_fight_on_the_page():
    roster = NH.presentation.roster
    assert roster is not None and "rune-pure" in roster.names(NhConfig())
    judged = roster.check(NhConfig(), "default", PURE)
    assert judged.problems == () and load(judged.ready, HERE).levels["attack"] == 60
    refused = roster.check(NhConfig(), "default", PURE.replace("attack: 60", "attack: 1"))
    assert refused.ready == "" and "needs attack" in refused.problems[0]
    config, scenario = roster.outfit(NhConfig(), "default", [judged.ready, "maxed"])
    assert scenario == "default" and [account.levels["defence"] for account in config.accounts] == [1, 99]
    with pytest.raises(UserError, match="no shipped account 'mine"):
        roster.outfit(NhConfig(), "default", ["mine.yml", ""])


def test_the_preset_trains_on_accounts_around_the_one_that_is_named():
    config = load_config("nh/my-account", ["--account", "rune-pure"], HERE)
    assert parse(config.env.account, "account").title == "Rune pure with 40 Defence"
    assert config.env.account_variety == 0.5 and config.run.max_seconds == 900
    saved = load_config("nh/my-account", ["--account", config.env.account], HERE)
    assert saved.env.spec.game_digest == config.env.spec.game_digest
