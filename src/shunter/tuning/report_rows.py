"""A report as a plain object: what ``--json`` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shunter.comparison.statistics import interval_note, summarize
from shunter.tuning.report import TUNED

if TYPE_CHECKING:
    from shunter.comparison.pooled import Ratio
    from shunter.comparison.statistics import Contrast
    from shunter.model.windows import Windows
    from shunter.tuning.report import LogReport, PooledRow, Report, Row


def log_object(one: LogReport) -> dict[str, Any]:
    """Returns what happened on the later days of a log."""
    workload, cluster, windows = one.later.log.workload, one.later.log.cluster, one.later.windows
    tuned = one.rows[TUNED].scored
    return {
        "workload": workload.name,
        "workload_sha256": workload.content_sha256,
        "cluster": cluster.name,
        "jobs": len(workload),
        "windows": len(windows),
        "blocks": windows.blocks,
        "first": windows.first.tolist(),
        "interval_note": interval_note(windows.blocks),
        "rejected": tuned.rejected,
        "estimated_from": tuned.estimated_from,
        "ledger": tuned.ledger.to_json(),
        "rows": [{"role": role, **row_object(row, windows)} for role, row in one.rows.items()],
    }


def row_object(row: Row, windows: Windows) -> dict[str, Any]:
    """Returns one row: the objective's metric, its ratios, and what lies beside."""
    settings, metrics, summary = row.scored.combination.settings, row.scored.metrics, row.scored.summary
    return {
        "label": row.scored.combination.label,
        "policy": settings.policy,
        "dispatch": settings.dispatch,
        "estimate": settings.estimate,
        "geometric_mean": summary.geometric_mean,
        "mean": summary.mean,
        "against": {role: _contrast_object(contrast) for role, contrast in row.against.items()},
        "mean_wait_s": summarize(metrics["mean_wait_s"], windows.block).mean,
        "mean_wait_ratio": _number(row.wait_ratio),
        "max_wait_s": _number(float(np.nanmax(metrics["max_wait_s"]))),
        "core_utilization": summarize(metrics["core_utilization"], windows.block).mean,
        "bounds": [
            {
                "metric": held.bound.metric,
                "factor": held.bound.factor,
                "ratio": _number(held.ratio),
                "holds": held.holds,
            }
            for held in row.held
        ],
    }


def pooled_object(report: Report) -> list[dict[str, Any]] | None:
    """Returns the rows over all logs; None for a single log."""
    if not report.pooled:
        return None
    return [{"role": role, **_pooled_row(row)} for role, row in report.pooled.items()]


def _pooled_row(row: PooledRow) -> dict[str, Any]:
    against = {role: None if ratio is None else _ratio_object(ratio) for role, ratio in row.against.items()}
    return {"against": against, "mean_wait_ratio": _number(row.wait_ratio)}


def _ratio_object(ratio: Ratio) -> dict[str, float | None]:
    low, high = ratio.interval or (None, None)
    return {"ratio": ratio.value, "ratio_low": low, "ratio_high": high}


def _contrast_object(contrast: Contrast) -> dict[str, float | None]:
    ratio_low, ratio_high = contrast.ratio_interval or (None, None)
    difference_low, difference_high = contrast.difference_interval or (None, None)
    return {
        "win_rate": contrast.win_rate,
        "ratio": contrast.ratio,
        "ratio_low": ratio_low,
        "ratio_high": ratio_high,
        "difference": contrast.difference,
        "difference_low": difference_low,
        "difference_high": difference_high,
    }


def _number(value: float) -> float | None:
    return value if np.isfinite(value) else None
