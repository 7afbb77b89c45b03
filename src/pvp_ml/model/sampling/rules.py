"""What a game's rules allow, as matrices over earlier picks: exact, fast for arrays, and writable in ONNX and torch.

The compiled sampler reads the same rules as lists (`Heads.compile`), the page as words (`legality.js`); tests hold all
of them to the words of the rules.
"""

from __future__ import annotations

import numpy as np

from pvp_ml.match import BoolArray, FloatArray
from pvp_ml.spec import Head


def rule_matrices(heads: tuple[Head, ...]) -> tuple[FloatArray, FloatArray, FloatArray, BoolArray, FloatArray]:
    """Over earlier picks × choices [A,A]: what `all` rules need and how many [A], `any` rules and who has one [A],
    what `none` rules bar.
    """
    column = {(head.name, c): i for i, (head, c) in enumerate((h, c) for h in heads for c in h.choices)}
    size = len(column)
    needs, anyone, bars = (np.zeros((size, size), np.float32) for _ in range(3))
    wanted, has_any = np.zeros(size, np.float32), np.zeros(size, np.bool_)
    for head in heads:
        for rule in head.rules:
            a = column[head.name, rule.choice]
            matrix = {"all": needs, "any": anyone, "none": bars}[rule.when]
            for pick in rule.picks:
                matrix[column[pick], a] = 1.0
            wanted[a] += float(len(set(rule.picks))) if rule.when == "all" else 0.0
            has_any[a] |= rule.when == "any"
    return needs, wanted, anyone, has_any, bars
