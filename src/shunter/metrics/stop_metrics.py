"""What stopping jobs has cost: preemptions, failures, migrations, and GPU time that brought nobody ahead."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shunter.model.segments import lost_ms

if TYPE_CHECKING:
    from shunter.model.schedule import Schedule
    from shunter.model.segments import Segments

HOUR_MS = 3_600_000


def stop_metrics(schedule: Schedule) -> dict[str, float | None]:
    """Returns the metrics of stops by name; None where no job ever held a node."""
    if not len(schedule.segments):
        return dict.fromkeys(("preemptions", "failures", "migrations", "lost_gpu_hours"))
    failures = 0 if schedule.failures is None else schedule.failures.sum()
    lost = float(np.sum(schedule.gpus * lost_ms(schedule))) / HOUR_MS
    return {
        "preemptions": float(schedule.preemptions.sum()),
        "failures": float(failures),
        "migrations": float(_migrations(schedule.segments)),
        "lost_gpu_hours": lost if schedule.gpus.any() else None,
    }


def _migrations(segments: Segments) -> int:
    """Returns how often a job that was stopped started again on another set of nodes."""
    again = segments.job[1:] == segments.job[:-1]
    if not again.any():
        return 0
    entries = pl.DataFrame({"segment": segments.entry, "node": segments.nodes})
    nodes = entries.sort("segment", "node").group_by("segment", maintain_order=True).agg("node")["node"]
    moved = nodes.slice(1).ne_missing(nodes.slice(0, len(nodes) - 1)).to_numpy()
    return int(np.count_nonzero(moved & again))
