"""Curves for TensorBoard, written by its package where that is installed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path


class EventFile:
    """A new file of events in a folder; without TensorBoard nothing is written."""

    def __init__(self, folder: Path, resumed_at: int | None = None) -> None:
        """Opens the file.

        Args:
            folder: Created if it does not exist.
            resumed_at: TensorBoard hides the points of earlier files after this step; None: it shows all.
        """
        self._writer = None
        if find_spec("tensorboard") is None:
            return
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        self._writer = EventFileWriter(str(folder))
        if resumed_at is not None:
            start = SessionLog(status=SessionLog.START)
            self._writer.add_event(Event(wall_time=time.time(), step=resumed_at + 1, session_log=start))
        self.flush()

    def add(self, values: Mapping[str, float], step: int) -> None:
        """Adds a point to each curve, by its tag."""
        if self._writer is None:
            return
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary

        points = [Summary.Value(tag=tag, simple_value=value) for tag, value in values.items()]
        self._writer.add_event(Event(wall_time=time.time(), step=step, summary=Summary(value=points)))

    def flush(self) -> None:
        """Writes all points to the disk."""
        if self._writer is not None:
            self._writer.flush()

    def close(self) -> None:
        """Closes the file."""
        if self._writer is not None:
            self._writer.close()
