"""Which settings come next."""

import numpy as np
import pytest

from pvp_ml.sweep.search import propose
from pvp_ml.sweep.space import SweepConfig


def config(search):
    ranges = {"a": {"low": 0.0, "high": 1.0}, "b": {"low": 1e-4, "high": 1.0, "log": True}, "c": (1, [2, 3])}
    return SweepConfig(preset="x", ranges=ranges, search=search, first_random=5)


def score(settings):
    """Best at a = 0.3, b = 0.01, c = [2, 3]."""
    return -((settings["a"] - 0.3) ** 2) - (np.log10(settings["b"]) + 2) ** 2 / 4 + (settings["c"] == [2, 3])


def search(name, trials):
    tried = []
    for number in range(trials):
        settings = propose(config(name), number, tried, [])
        assert 0.0 <= settings["a"] <= 1.0
        assert 1e-4 <= settings["b"] <= 1.0
        assert settings["c"] in (1, [2, 3])
        tried.append((settings, score(settings)))
    return [value for _, value in tried]


def test_bayes_learns_where_to_look():
    pytest.importorskip("optuna")
    drawn, searched = search("random", 40), search("bayes", 40)
    assert searched[:5] == drawn[:5], "the first ones are drawn blindly"
    assert np.mean(searched[-15:]) > np.mean(drawn) + 0.5


def test_the_same_facts_give_the_same_answer():
    pytest.importorskip("optuna")
    tried = [(propose(config("random"), n, [], []), float(n)) for n in range(6)]
    first, again = (propose(config("bayes"), 9, tried, [tried[0][0]]) for _ in range(2))
    assert first == again
    assert propose(config("bayes"), 10, tried, [tried[0][0]]) != first
