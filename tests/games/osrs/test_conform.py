"""Conformance with recorded fights: an excerpt here (tests/data/osrs/make_excerpt.py cuts it), all of them nightly.

The full recordings are looked for in PVP_ML_TRACES, else in shared/specs/osrs/traces beside the checkout.
"""

import dataclasses
import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest

from pvp_ml.errors import UserError
from pvp_ml.games.osrs import state as S
from pvp_ml.games.osrs.conformance import play
from pvp_ml.games.osrs.conformance import replay as replaying
from pvp_ml.games.osrs.conformance.compare import replay
from pvp_ml.games.osrs.conformance.conform import column_names, conform
from pvp_ml.games.osrs.conformance.read import read_fights, sets_in
from pvp_ml.games.osrs.conformance.rolls import QUANTITIES, check_hit
from pvp_ml.games.osrs.conformance.tables import MAX_LINE_BYTES, TraceError, numbers, prayer_bits
from pvp_ml.games.osrs.game import template

EXCERPT = Path(__file__).parents[2] / "data" / "osrs"
TRACES = Path(os.environ.get("PVP_ML_TRACES") or Path(__file__).parents[4] / "shared" / "specs" / "osrs" / "traces")


@pytest.fixture(scope="module")
def nh_report():
    return conform("nh", EXCERPT, free_plays=0)


@pytest.fixture(scope="module")
def dharok_fight():
    return next(read_fights(sets_in(EXCERPT, "dharok")[0]))


def test_every_recorded_attack_comes_out_exactly(nh_report):
    assert nh_report.rolls.attacks == 363
    assert {name: nh_report.rolls.exact[name] for name in QUANTITIES} == dict.fromkeys(QUANTITIES, 363)
    assert not nh_report.rolls.kinds


def test_nh_replay_is_equal_to_the_end(nh_report):
    """Fight 92 meets blocked ground north of the start rectangle."""
    again = nh_report.replay
    assert (again.fights, again.equal, again.ticks) == (6, 6, 1039) and not again.kinds
    assert nh_report.passed
    assert len(again.columns) == 176 + 45
    assert again.columns["player_health_percent"] == again.obs_rows > 2 * again.ticks - 10
    assert again.columns["prayer.smite_prayer"] == again.mask_rows


def test_replay_notices_that_the_ground_is_another(monkeypatch):
    """On open ground fight 92 walks where the recorded one could not."""
    monkeypatch.setattr(replaying, "template", open_template)
    again = conform("nh", EXCERPT, free_plays=0).replay
    assert (again.fights, again.equal) == (6, 5)
    assert "fight 92, tick 2098" in next(iter(again.first.values()))


def open_template(config, overrides, dharok):
    row = template(config, overrides, dharok)
    row[S.TERRAIN] = 0
    return row


def test_dharok_replay_is_equal_to_the_end():
    report = conform("dharok", EXCERPT, free_plays=0)
    assert (report.replay.fights, report.replay.equal) == (1, 1)
    assert report.passed and report.rolls.worst_share == 1.0


def test_report_reads_as_text_and_as_json(nh_report):
    text = nh_report.text()
    assert "363 exact (100.000%)" in text
    assert "6 of 6 fights equal to the end (100.0%)" in text and "all bars hold" in text
    data = json.loads(json.dumps(nh_report.to_json()))
    assert data["replay"]["differences"] == [] and data["replay"]["equal"] == 6
    assert data["replay"]["rows_by_column"]["attack.no_op_attack"] == nh_report.replay.mask_rows
    assert data["free_play"] is None and data["passed"] is True and data["masks"]["fights"] == 0


def test_replay_notices_one_changed_number(dharok_fight):
    """A comparison that could not fail would prove nothing: change one recorded value, and exactly it is reported."""
    names = column_names("DharokEnv")
    side = dharok_fight.sides[1]
    obs = side.obs.copy()
    obs[100, 19] += 1 / 6
    altered = dataclasses.replace(dharok_fight, sides=(dharok_fight.sides[0], dataclasses.replace(side, obs=obs)))
    result = replay(altered, names)
    assert [[field[0] for field in d.fields] for d in result.differences] == [["attack_cycle_ticks"]]
    assert result.differences[0].tick == side.ticks[100] and result.differences[0].seat == 1


def test_replay_notices_changed_dice(dharok_fight):
    """The recorded damage decides: one hit stronger by 1 breaks the replay from its landing on."""
    side = dharok_fight.sides[0]
    tick = next(t for t, hits in side.hits.items() if hits[0].parts[0] > 0)
    first = side.hits[tick][0]
    hits = side.hits | {tick: [dataclasses.replace(first, parts=(first.parts[0] + 1,)), *side.hits[tick][1:]]}
    altered = dataclasses.replace(dharok_fight, sides=(dataclasses.replace(side, hits=hits), dharok_fight.sides[1]))
    result = replay(altered, column_names("DharokEnv"), stop_early=True)
    assert result.differences[0].tick == tick


def test_replay_notices_a_changed_meta_field(dharok_fight):
    side = dharok_fight.sides[0]
    meta = [dict(fields) for fields in side.meta]
    meta[50]["remainingBrewScale"] += 0.01
    altered = dataclasses.replace(dharok_fight, sides=(dataclasses.replace(side, meta=meta), dharok_fight.sides[1]))
    result = replay(altered, column_names("DharokEnv"))
    assert [[field[0] for field in d.fields] for d in result.differences] == [["meta remainingBrewScale"]]


def test_impossible_damage_is_noticed(dharok_fight):
    hit = next(hits[0] for hits in dharok_fight.sides[0].hits.values())
    assert check_hit(hit, False)["damage possible"]
    assert not check_hit(dataclasses.replace(hit, parts=(hit.max_hit + 1,)), False)["damage possible"]
    assert not check_hit(dataclasses.replace(hit, attack_roll=hit.attack_roll + 1), False)["attack roll"]


# --- less than everything was recorded -------------------------------------------------------------------------------


def take(folder, *endings, name="excerpt_nh"):
    for ending in endings:
        (folder / f"{name}.{ending}").write_bytes((EXCERPT / f"{name}.{ending}").read_bytes())


def test_a_set_without_state_is_tested_in_rolls_and_masks(tmp_path):
    take(tmp_path, "jsonl.gz", "hits.tsv.gz")
    report = conform("nh", tmp_path, free_plays=2)
    assert report.rolls.attacks == 363 and report.rolls.worst_share == 1.0
    assert report.replay.fights == 0 and report.masks.fights == 6
    assert report.masks.equal == report.masks.rows == 2072 and not report.masks.bits
    assert report.passed and "masks of 6 fights without state" in report.text()
    take(tmp_path, "jsonl.gz", "hits.tsv.gz", name="excerpt_dharok")
    assert conform("dharok", tmp_path, free_plays=0).passed


def test_masks_alone_notice_a_changed_bit(tmp_path):
    take(tmp_path, "jsonl.gz")
    path = tmp_path / "excerpt_nh.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = file.read().splitlines()
    record = json.loads(lines[20])
    bits = record["m"].split(" ")
    bits[4] = bits[4][:1] + str(1 - int(bits[4][1])) + bits[4][2:]
    lines[20] = json.dumps(record | {"m": " ".join(bits)})
    write(path, *lines)
    report = conform("nh", tmp_path, free_plays=0)
    assert dict(report.masks.bits) == {"potion.use_brew": 1} and not report.passed
    assert report.rolls.attacks == 0


def test_a_fight_with_one_recorded_side(tmp_path):
    """Against the server's own opponent only one side is an episode."""
    take(tmp_path, "jsonl.gz", "hits.tsv.gz", "state.tsv.gz")
    path = tmp_path / "excerpt_nh.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    for record in records:
        if "episodeIds" in record:
            record["episodeIds"] = record["episodeIds"][:1]
    write(path, *(json.dumps(record) for record in records if record.get("w", 0) == 0))
    report = conform("nh", tmp_path, free_plays=1)
    assert (report.masks.fights, report.replay.fights) == (6, 0) and report.passed
    assert 0 < report.rolls.attacks < 363 and report.masks.equal == report.masks.rows == 1034


# --- hostile folders -------------------------------------------------------------------------------------------------


def write(path, *lines):
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def header(**changes):
    data = {"ep": 1, "env": "NhEnv", "params": {"accountBuild": "PURE"}, "fight": "NORMAL", "episodeIds": ["a", "b"]}
    return json.dumps(data | changes)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["{"], "line 1 is not JSON"),
        ([header(), "[1, 2]"], "line 2 is not an object"),
        ([header(), "x" * (MAX_LINE_BYTES + 1)], "line 2 passes the size limit"),
        ([header(params={"accountBuild": "GOD"})], "build 'GOD'"),
        ([header(episodeIds=[])], "0 episodes"),
        ([header(episodeIds=["a"])], "a side has 0 lines"),
        ([header()], "a side has 0 lines"),
        ([header(), '{"w":0,"k":0,"reset":{"o":[1],"m":"01","x":{"episodeTicks":0}}}'], "has 1 observations"),
    ],
)
def test_bad_files_are_refused_with_their_place(tmp_path, lines, message):
    write(tmp_path / "bad.jsonl.gz", *lines)
    with pytest.raises(TraceError, match=message):
        for path in sets_in(tmp_path, "nh"):
            list(read_fights(path))


def test_an_empty_set_says_so(tmp_path):
    with gzip.open(tmp_path / "none.jsonl.gz", "wb"):
        pass
    with pytest.raises(TraceError, match=r"none\.jsonl\.gz is empty"):
        conform("nh", tmp_path)
    write(tmp_path / "none.jsonl.gz", '{"env": "NhEnv"}')
    with pytest.raises(TraceError, match=r"none\.jsonl\.gz holds no fights"):
        conform("nh", tmp_path)


def test_bad_tables_are_refused(tmp_path):
    for name in ("excerpt_dharok.jsonl.gz", "excerpt_dharok.hits.tsv.gz"):
        (tmp_path / name).write_bytes((EXCERPT / name).read_bytes())
    state = tmp_path / "excerpt_dharok.state.tsv.gz"
    with gzip.open(EXCERPT / state.name, "rt", encoding="utf-8") as file:
        rows = file.read().splitlines()
    write(state, rows[0].replace("inv", "bag"), *rows[1:])
    with pytest.raises(TraceError, match="lacks the columns \\['inv'\\]"):
        list(read_fights(tmp_path / "excerpt_dharok.jsonl.gz"))
    write(state, rows[0], rows[1] + "\t1")
    with pytest.raises(TraceError, match="line 2 has 18 columns, not 17"):
        list(read_fights(tmp_path / "excerpt_dharok.jsonl.gz"))
    state.write_bytes(b"not gzip")
    with pytest.raises(TraceError, match="cannot be read"):
        list(read_fights(tmp_path / "excerpt_dharok.jsonl.gz"))


def test_folders_without_fights_are_refused(tmp_path):
    with pytest.raises(UserError, match="no recorded fights of 'nh'"):
        conform("nh", tmp_path)
    with pytest.raises(UserError, match="is not a folder"):
        conform("nh", tmp_path / "missing")
    with pytest.raises(UserError, match="no recorded fights of 'chess'"):
        conform("chess", EXCERPT)


def test_numbers_stay_in_range():
    assert numbers("1,-2,3", 3) == (1, -2, 3)
    assert prayer_bits("-") == 0 and prayer_bits("13,26") == (1 << 13) | (1 << 26)
    for text, count in (("1,2", 3), ("99999999", 0), (",".join("1" * 65), 0)):
        with pytest.raises(ValueError, match=r"must hold|leaves"):
            numbers(text, count)
    with pytest.raises(ValueError, match="outside"):
        prayer_bits("31")


# --- statistics ------------------------------------------------------------------------------------------------------


def test_holm_steps_down():
    assert play.holm([0.001, 0.02, 0.04], 0.05) == [True, True, True]
    assert play.holm([0.01, 0.04, 0.03], 0.05) == [True, False, False]
    assert play.holm([0.9, 0.0001], 0.01) == [False, True]


def test_uniformity_tells_uniform_from_shifted():
    even = (np.arange(50) + 0.5) / 50
    assert play.uniformity(even) > 0.999
    assert play.uniformity(even**2) < 0.01
    # published critical value of the statistic at 1 %: 1.63 / sqrt(n) for large n
    shifted = np.clip(np.sort(np.concatenate([(np.arange(10_000) + 0.5) / 10_000 + 0.0163])), 0, 1)
    assert play.uniformity(shifted) == pytest.approx(0.01, abs=0.001)


def test_uniformity_is_calibrated():
    rng = np.random.default_rng(5)
    rejected = sum(play.uniformity(rng.random(30)) < 0.05 for _ in range(2000))
    assert 60 <= rejected <= 140


# --- nightly ---------------------------------------------------------------------------------------------------------


@pytest.mark.nightly
@pytest.mark.parametrize(("game", "fights", "equal", "attacks"), [("nh", 299, 299, 33_666), ("dharok", 24, 24, 2_732)])
def test_all_recorded_fights(game, fights, equal, attacks):
    if not TRACES.is_dir():
        pytest.skip("no recorded fights here; set PVP_ML_TRACES")
    report = conform(game, TRACES)
    assert (report.replay.fights, report.replay.equal) == (fights, equal), report.text()
    assert report.rolls.attacks == attacks and report.rolls.worst_share == 1.0
    assert not report.play.rejected, report.text()
    assert report.passed
