"""Which settings to try next. The only module that imports optuna (extra `sweep`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from pvp_ml.errors import UserError, pip_install
from pvp_ml.sweep.space import Range, Settings, SweepConfig, draw

Tried = tuple[Settings, float]
"""Settings and the score that they reached."""


def propose(config: SweepConfig, number: int, tried: Sequence[Tried], running: Sequence[Settings]) -> Settings:
    """Settings of the trial `number`, from what was tried and what is running. The same facts give the same answer."""
    rng = np.random.default_rng([config.seed, number])
    if config.search == "random" or len(tried) < config.first_random:
        return draw(config.ranges, rng)
    return _by_model(config, int(rng.integers(1 << 31)), tried, running)


def _by_model(config: SweepConfig, seed: int, tried: Sequence[Tried], running: Sequence[Settings]) -> Settings:
    """A tree-structured Parzen estimator: likely among the good trials, unlikely among the others."""
    optuna = _optuna()
    study = optuna.create_study(
        direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed, multivariate=True, n_startup_trials=1)
    )
    spaces = {name: _distribution(optuna, one) for name, one in config.ranges.items()}
    poorest = min(score for _, score in tried)
    for settings, score in [*tried, *((one, poorest) for one in running)]:  # what runs now is not worth trying twice
        params = {name: _inward(config.ranges[name], settings[name]) for name in spaces}
        study.add_trial(optuna.trial.create_trial(params=params, distributions=spaces, value=score))
    found = study.ask(spaces).params
    return {name: _outward(config.ranges[name], found[name]) for name in spaces}


def _distribution(optuna: Any, one: Range | tuple[Any, ...]) -> Any:
    if not isinstance(one, Range):
        return optuna.distributions.CategoricalDistribution([json.dumps(choice) for choice in one])
    if one.whole:
        return optuna.distributions.IntDistribution(round(one.low), round(one.high), log=one.log)
    return optuna.distributions.FloatDistribution(one.low, one.high, log=one.log)


def _inward(one: Range | tuple[Any, ...], value: Any) -> Any:
    """A setting as optuna stores it: a choice as text, because lists are no categories."""
    return value if isinstance(one, Range) else json.dumps(value)


def _outward(one: Range | tuple[Any, ...], value: Any) -> Any:
    if not isinstance(one, Range):
        return json.loads(value)
    return value if one.whole else min(max(float(f"{value:.4g}"), one.low), one.high)


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise UserError(
            "searching with 'bayes' needs optuna", f"{pip_install('sweep')}, or use 'search: random'"
        ) from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
