"""Metrics for TensorBoard; the only module that imports it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pvp_ml.errors import UserError, pip_install
from pvp_ml.model.actor import Array
from pvp_ml.run.tracking.tracker import Point

BINS = 30
Distributions = Callable[[], Mapping[str, Array]]


class TensorBoard:
    """Event files under `folder`. A resumed run marks its first step, so that TensorBoard drops what came after it.

    `distributions` gives arrays whose histograms are written with every rollout.
    """

    def __init__(self, folder: Path, resumed_steps: int = 0, distributions: Distributions | None = None) -> None:
        try:
            from tensorboard.compat.proto.event_pb2 import Event, SessionLog
            from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary
            from tensorboard.summary.writer.event_file_writer import EventFileWriter
        except ImportError:
            raise UserError(
                "TensorBoard is not installed", f"{pip_install('train')}, or --tracking.tensorboard false"
            ) from None
        self._event, self._summary, self._histogram = Event, Summary, HistogramProto
        self._distributions = distributions
        folder.mkdir(parents=True, exist_ok=True)
        self._writer = EventFileWriter(str(folder))
        if resumed_steps:
            start = SessionLog(status=SessionLog.START)
            self._writer.add_event(Event(wall_time=time.time(), step=resumed_steps + 1, session_log=start))

    def write(self, point: Point) -> None:
        """Queue one event with every value; a thread of TensorBoard's own writes it."""
        values = [self._summary.Value(tag=name, simple_value=float(value)) for name, value in point.values.items()]
        if self._distributions is not None and "ppo/rows" in point.values:
            arrays = self._distributions()
            values += [self._summary.Value(tag=name, histo=self._counted(array)) for name, array in arrays.items()]
        event = self._event(wall_time=time.time(), step=point.steps, summary=self._summary(value=values))
        self._writer.add_event(event)

    def _counted(self, array: Array) -> Any:
        """How the finite numbers of an array are distributed."""
        numbers = np.asarray(array, np.float64).reshape(-1)
        numbers = numbers[np.isfinite(numbers)]
        if not numbers.size:
            numbers = np.zeros(1)
        counts, edges = np.histogram(numbers, BINS)
        return self._histogram(
            min=numbers.min(),
            max=numbers.max(),
            num=numbers.size,
            sum=numbers.sum(),
            sum_squares=np.square(numbers).sum(),
            bucket_limit=edges[1:].tolist(),
            bucket=counts.tolist(),
        )

    def close(self) -> None:
        """Write what is queued."""
        self._writer.close()
