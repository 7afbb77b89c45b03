"""Masks, views and orders against poke-env's own parser, in the venv that PVP_ML_POKE_ENV_PYTHON names.

poke-env pins gymnasium and websockets exactly, so it cannot live in the venv of this package:
`python -m venv /somewhere && /somewhere/bin/pip install poke-env==0.16.1`.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest
import vgc_tracing as tracing

from pvp_ml.games.legal import Legality
from pvp_ml.games.vgc import codec
from pvp_ml.games.vgc.config import VgcConfig, make_spec
from pvp_ml.games.vgc.formats import FORMATS

COMPARE = Path(__file__).parent / "poke_env_compare.py"
ORDERS_PER_DECISION = 3
CI = [("gen9vgc2025regi", 5), ("gen9championsvgc2026regma", 5)]
NIGHTLY = [format.id for format in FORMATS]  # 60 battles each: 360


@pytest.fixture(scope="module")
def legality():
    return Legality(make_spec(VgcConfig()))


@pytest.fixture(scope="module")
def poke_env():
    python = os.environ.get("PVP_ML_POKE_ENV_PYTHON")
    if not python:
        pytest.skip("POKE-ENV NOT COMPARED: set PVP_ML_POKE_ENV_PYTHON to a Python that has poke-env 0.16.1")
    return python


def rows_for(rows, legality):
    """What poke_env_compare.py reads."""
    for row, home in tracing.decisions(rows):
        entry = {key: row[key] for key in ("battle", "seat", "lines", "request")}
        entry.update(view=tracing.view_of(row, home), masks=None, orders=[])
        if not row["request"].get("teamPreview"):
            there = tracing.InPokeEnv(row, home)
            entry["masks"] = there.masks()
            pairs = tracing.joint_choices(row, legality)
            if None not in entry["masks"] and pairs != [(46, 46)]:  # poke-env has no order for two passes
                step = max(1, len(pairs) // ORDERS_PER_DECISION)
                entry["orders"] = [there.order(*pair) for pair in pairs[::step][:ORDERS_PER_DECISION]]
        yield json.dumps(entry)


def compare(python, legality, format, battles, **options):
    lines = "\n".join(rows_for(tracing.trace(format, battles, **options), legality))
    done = subprocess.run([python, str(COMPARE)], input=lines, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def check(report, battles):
    assert report["differences"] == []
    assert report["decisions"] > 15 * battles and report["masks"] > 25 * battles and report["orders"] > 25 * battles


@pytest.mark.parametrize(("format", "battles"), CI)
def test_exact_where_both_define_it(installation, poke_env, legality, format, battles):
    check(compare(poke_env, legality, format, battles), battles)


@pytest.mark.nightly
@pytest.mark.parametrize("format", NIGHTLY)
def test_exact_where_both_define_it_over_many_battles(installation, poke_env, legality, format):
    check(compare(poke_env, legality, format, 60, seed=900), 60)


def test_every_legal_joint_action_round_trips(installation, legality):
    seen = turns = 0
    for format, battles in CI:
        for row, home in tracing.decisions(tracing.trace(format, battles)):
            if row["request"].get("teamPreview"):
                assert [codec.preview_from_mdbo(codec.preview_to_mdbo(i)) for i in row["mask"] if 0 < i < 91] == [
                    i for i in row["mask"] if 0 < i < 91
                ]
                continue
            there, turns = tracing.InPokeEnv(row, home), turns + 1
            pairs = tracing.joint_choices(row, legality)
            assert len(pairs) == row["joint"] and tuple(row["picks"][1:]) in pairs  # the JavaScript sees the same rules
            assert pairs and len({codec.to_mdbo(*pair) for pair in pairs}) == len(pairs)
            for pair in pairs:
                seen += 1
                assert codec.from_mdbo(codec.to_mdbo(*pair)) == pair
                numbers = [there.number(slot, choice) for slot, choice in enumerate(pair)]
                back = [codec.from_poke_env(n, there.gimmicks[s], there.places) for s, n in enumerate(numbers)]
                assert tuple(back) == pair
    assert turns > 200 and seen > 30 * turns  # about ninety a decision in random play
