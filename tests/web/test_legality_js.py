"""The page lights the buttons that the server would accept: its reading of rules against the words of the rules."""

import json
import subprocess
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from specimens import head_sets, legal_by_words

from pvp_ml.errors import UserError
from pvp_ml.games.vgc.node.install import find_node
from pvp_ml.web.site import STATIC

SCRIPT = """
import { Legality } from %s;
let text = "";
for await (const part of process.stdin) text += part;
const answers = JSON.parse(text).map(({ heads, legal, picks }) => new Legality(heads).allows(legal, new Map(picks)));
console.log(JSON.stringify(answers));
"""
CASES = 300


def cases():
    """Random heads, masks and picks in some of the heads."""
    collected = []

    @settings(max_examples=CASES, deadline=None, database=None, derandomize=True,
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(head_sets(), st.integers(0, 2**32 - 1))
    def gather(heads, seed):
        rng = np.random.default_rng(seed)
        mask = rng.random(sum(h.size for h in heads)) < 0.7
        collected.append(
            (heads, mask, {h: int(rng.integers(heads[h].size)) for h in range(len(heads)) if rng.random() < 0.6})
        )

    gather()
    return collected


def words_allow(heads, mask, picks):
    """What is picked must be legal after the heads before it, those without a pick doing nothing."""
    action = [picks.get(h, head.choices.index(head.fallback)) for h, head in enumerate(heads)]
    start = np.concatenate([[0], np.cumsum([head.size for head in heads])])
    return all(mask[start[h] + i] and legal_by_words(heads, h, mask, action)[i] for h, i in picks.items())


def test_the_page_allows_what_the_rules_allow(tmp_path):
    try:
        node = find_node()
    except UserError as error:
        pytest.skip(str(error))
    script = tmp_path / "ask.mjs"
    script.write_text(SCRIPT % json.dumps((STATIC / "legality.js").as_uri()))
    asked, expected = [], []
    for heads, mask, picks in cases():
        asked.append({
            "heads": [asdict(head) for head in heads],
            "legal": "".join("1" if m else "0" for m in mask),
            "picks": [[heads[h].name, heads[h].choices[i]] for h, i in picks.items()],
        })  # fmt: skip
        expected.append(words_allow(heads, mask, picks))
    answer = subprocess.run([node, script], input=json.dumps(asked), capture_output=True, text=True, timeout=120)
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout) == expected
    assert 50 < sum(expected) < CASES - 50
