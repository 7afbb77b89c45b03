"""Messages between the trainer and its shards: msgpack with arrays and a fixed list of our own data classes.

Nothing here can name a class that is not on the list, so a message can build data and nothing else.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import msgspec
import numpy as np

from pvp_ml.cluster.messages import Delivery, EvalTask, Facts, RolloutRequest, Side
from pvp_ml.match import Bot, External, Live, MatchPlan, Member, Scripted
from pvp_ml.rl.loss import LossWeights
from pvp_ml.rl.normalize import Moments
from pvp_ml.rl.rollout import ReturnTerms
from pvp_ml.rl.schedule.schedule import Progress
from pvp_ml.rl.shard_learner import RowStats
from pvp_ml.selfplay.collect.active_matches import Outcome
from pvp_ml.selfplay.collect.collector import Report, Split
from pvp_ml.selfplay.plans import LineupMix
from pvp_ml.selfplay.tally import Evaluation, Tally
from pvp_ml.spec import Signal

_CLASSES = {
    cls.__name__: cls
    for cls in (
        Bot, External, Live, MatchPlan, Member, Scripted, Moments, LossWeights, Progress, Report, Split, Outcome,
        LineupMix, RowStats, RolloutRequest, Delivery, Facts, EvalTask, Side, Evaluation, Tally, Signal,
        ReturnTerms,
    )
}  # fmt: skip
_ARRAY, _DATA, _TUPLE, _SET, _BIG = "@a", "@d", "@t", "@s", "@i"


def encode(message: Any) -> bytes:
    """Bytes of a message made of plain values, arrays, tuples, sets and the listed classes."""
    return msgspec.msgpack.encode(_flatten(message))


def decode(data: bytes) -> Any:
    """What `encode` was given."""
    return _build(msgspec.msgpack.decode(data))


def _flatten(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return {_ARRAY: [value.dtype.str, list(value.shape), np.ascontiguousarray(value).tobytes()]}
    if isinstance(value, np.generic):
        return value.item()
    if is_dataclass(value) and not isinstance(value, type):
        if type(value).__name__ not in _CLASSES:
            raise TypeError(f"{type(value).__name__} is not a message class")
        return {_DATA: [type(value).__name__, [_flatten(getattr(value, f.name)) for f in fields(value) if f.init]]}
    if isinstance(value, tuple):
        return {_TUPLE: [_flatten(item) for item in value]}
    if isinstance(value, set):
        return {_SET: [_flatten(item) for item in sorted(value)]}
    if isinstance(value, list):
        return [_flatten(item) for item in value]
    if isinstance(value, dict):
        return {key: _flatten(item) for key, item in value.items()}
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**64:
        return {_BIG: str(value)}
    return value


def _build(value: Any) -> Any:
    if isinstance(value, list):
        return [_build(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((key, inner),) = value.items()
        if key == _ARRAY:
            dtype, shape, data = inner
            return np.frombuffer(data, np.dtype(dtype)).reshape(shape).copy()
        if key == _TUPLE:
            return tuple(_build(item) for item in inner)
        if key == _SET:
            return {_build(item) for item in inner}
        if key == _DATA:
            cls = _CLASSES[inner[0]]
            names = [f.name for f in fields(cls) if f.init]
            return cls(**{name: _build(item) for name, item in zip(names, inner[1], strict=True)})
        if key == _BIG:
            return int(inner)
    return {key: _build(item) for key, item in value.items()}
