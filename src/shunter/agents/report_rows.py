"""What a training came to, as a plain object: what ``--json`` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shunter.agents.training_report import LONGEST
from shunter.agents.validation import UTILIZATION, WAIT
from shunter.comparison.statistics import interval_note, summarize

if TYPE_CHECKING:
    from shunter.agents.training_report import GroupReport, PartReport, Row


def part_object(part: PartReport, metric: str) -> dict[str, Any]:
    """Returns what happened on a part of the logs."""
    pooled = part.pooled
    low, high = (pooled and pooled.interval) or (None, None)
    return {
        "part": part.part,
        "metric": metric,
        "logs": [group_object(group) for group in part.groups],
        "pooled": None if pooled is None else {"ratio": pooled.value, "ratio_low": low, "ratio_high": high},
    }


def group_object(group: GroupReport) -> dict[str, Any]:
    """Returns what happened in the windows of a log."""
    blocks = len(np.unique(group.block))
    return {
        "name": group.name,
        "windows": len(group.block),
        "blocks": blocks,
        "interval_note": interval_note(blocks),
        "rows": [{"role": role, **row_object(row, group)} for role, row in group.rows.items()],
    }


def row_object(row: Row, group: GroupReport) -> dict[str, Any]:
    """Returns one row: the metric, its ratio to the classic chosen in training, and what lies beside."""
    low, high = row.against.ratio_interval or (None, None)
    return {
        "label": row.label,
        "geometric_mean": row.summary.geometric_mean,
        "mean": row.summary.mean,
        "win_rate": row.against.win_rate,
        "ratio": row.against.ratio,
        "ratio_low": low,
        "ratio_high": high,
        "mean_wait_s": summarize(row.metrics[WAIT], group.block).mean,
        "mean_wait_ratio": row.wait_ratio if np.isfinite(row.wait_ratio) else None,
        "max_wait_s": _largest(row),
        "core_utilization": summarize(row.metrics[UTILIZATION], group.block).mean,
        "broken_bounds": [bound.metric for bound in row.broken],
    }


def _largest(row: Row) -> float | None:
    known = row.metrics[LONGEST][np.isfinite(row.metrics[LONGEST])]
    return float(known.max()) if len(known) else None
