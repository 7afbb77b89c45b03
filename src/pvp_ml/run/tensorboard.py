"""Metrics for TensorBoard; the only module that imports it."""

from __future__ import annotations

import time
from pathlib import Path

from pvp_ml.errors import UserError
from pvp_ml.run.tracking import Point


class TensorBoard:
    """Event files under `folder`. A resumed run marks its first step, so that TensorBoard drops what came after it."""

    def __init__(self, folder: Path, resumed_steps: int = 0) -> None:
        try:
            from tensorboard.compat.proto.event_pb2 import Event, SessionLog
            from tensorboard.compat.proto.summary_pb2 import Summary
            from tensorboard.summary.writer.event_file_writer import EventFileWriter
        except ImportError:
            raise UserError(
                "TensorBoard is not installed", "pip install 'pvp-ml[train]', or --tracking.tensorboard false"
            ) from None
        self._event, self._summary = Event, Summary
        folder.mkdir(parents=True, exist_ok=True)
        self._writer = EventFileWriter(str(folder))
        if resumed_steps:
            start = SessionLog(status=SessionLog.START)
            self._writer.add_event(Event(wall_time=time.time(), step=resumed_steps + 1, session_log=start))

    def write(self, point: Point) -> None:
        """Queue one event with every value; a thread of TensorBoard's own writes it."""
        values = [self._summary.Value(tag=name, simple_value=float(value)) for name, value in point.values.items()]
        event = self._event(wall_time=time.time(), step=point.steps, summary=self._summary(value=values))
        self._writer.add_event(event)

    def close(self) -> None:
        """Write what is queued."""
        self._writer.close()
