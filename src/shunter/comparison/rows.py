"""A comparison as plain rows and files: what ``--json`` prints and ``--out`` writes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from shunter.comparison.report import largest_known
from shunter.files import csv_writer
from shunter.metrics.run_folder import MANIFEST, file_record, provenance, to_json_text, write_folder

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from shunter.comparison.comparison import Comparison, Scored
    from shunter.files import Writer
    from shunter.metrics.sizes import Resource
    from shunter.model.windows import Windows

COMPARISON, WINDOWS = "comparison", "windows"
COMPARISON_JSON: Final = f"{COMPARISON}.json"
"""What ``--json`` prints."""
_TABLES: Final = tuple(f"{name}.{kind}" for name in (COMPARISON, WINDOWS) for kind in ("parquet", "csv"))
FILES: Final = (*_TABLES, COMPARISON_JSON, MANIFEST)
"""What the folder of a comparison holds."""


def comparison_object(comparison: Comparison) -> dict[str, Any]:
    """Returns the whole comparison as a plain object, the best combination first."""
    return {
        "metric": comparison.metric,
        "sorted_by": comparison.sorted_by,
        "baseline": comparison.baseline.label,
        "windows": _windows_object(comparison.windows),
        "interval_note": comparison.interval_note,
        "sizes_of": comparison.resources[0].name,
        "combinations": [
            {
                **row,
                "wait_by_size_s": _waits_object(comparison.resources[0], one.wait_by_size_s),
                "estimated_from": one.estimated_from,
                "ledger": one.ledger.to_json(),
            }
            for row, one in zip(combination_rows(comparison), comparison.scored, strict=True)
        ],
    }


def combination_rows(comparison: Comparison) -> list[dict[str, Any]]:
    """Returns one row a combination: the chosen metric over the windows, against the baseline, and what lies beside.

    Beside it are the means over windows of the mean wait, the p95 wait, the utilization of cores and of GPUs and the
    lost GPU-hours, and the longest wait.
    """
    return [{"rank": rank} | _row(comparison, one) for rank, one in enumerate(comparison.scored, start=1)]


def _row(comparison: Comparison, scored: Scored) -> dict[str, Any]:
    settings, summary = scored.combination.settings, scored.summary
    return {
        "label": scored.combination.label,
        "marks": [mark.name for mark in scored.marks],
        "policy": settings.policy,
        "dispatch": settings.dispatch,
        "placement": settings.placement,
        "estimate": settings.estimate,
        "jobs": comparison.windows.length * len(comparison.windows),
        "rejected": scored.rejected,
        "mean": summary.mean,
        "geometric_mean": summary.geometric_mean,
        "median": summary.median,
        "p95": summary.p95,
        "worst_block": summary.worst_block,
        "worst_block_mean": summary.worst_block_mean,
        **scored.against[comparison.reference].to_json(),
        "mean_wait_s": comparison.mean(scored, "mean_wait_s"),
        "p95_wait_s": comparison.mean(scored, "p95_wait_s"),
        "max_wait_s": largest_known(scored.metrics["max_wait_s"]),
        "core_utilization": comparison.mean(scored, "core_utilization"),
        "gpu_utilization": comparison.mean(scored, "gpu_utilization"),
        "lost_gpu_hours": comparison.mean(scored, "lost_gpu_hours"),
    }


def _windows_object(windows: Windows) -> dict[str, Any]:
    return {
        "count": len(windows),
        "length": windows.length,
        "warmup": windows.warmup,
        "blocks": windows.blocks,
        "first": windows.first.tolist(),
        "block": windows.block.tolist(),
    }


def _waits_object(resource: Resource, wait_by_size_s: NDArray[np.float64]) -> dict[str, float | None]:
    """Returns the mean wait by size class; null for a class without jobs."""
    waits = enumerate(wait_by_size_s.tolist())
    return {resource.label(number): None if math.isnan(wait_s) else wait_s for number, wait_s in waits}


def window_frame(comparison: Comparison) -> pl.DataFrame:
    """Returns one row for each combination in each window, with all metrics; null where one has no meaning."""
    windows = comparison.windows
    frames = [
        pl.DataFrame(
            {
                "label": [one.combination.label] * len(windows),
                "window": np.arange(len(windows)),
                "first": windows.first.astype(np.int64),
                "block": windows.block,
                **one.metrics,
            }
        )
        for one in comparison.scored
    ]
    # A file has null for what is not known: readers disagree about NaN.
    return pl.concat(frames).with_columns(pl.col(pl.Float64).fill_nan(None))


def write_comparison(
    folder: Path,
    comparison: Comparison,
    rows: list[dict[str, Any]],
    result: dict[str, Any],
    given: dict[str, Any],
    resolved: dict[str, Any],
) -> None:
    """Writes `FILES`: the combinations, every window, the whole result, and a manifest.

    Args:
        folder: Where to.
        comparison: What came out.
        rows: One a combination, the best first.
        result: What ``--json`` prints.
        given: The options that the user gave.
        resolved: All options, with what stood in for those not given.
    """
    # A cell of a table holds one text.
    flat = [row | {"marks": " ".join(row["marks"])} for row in rows]
    frames = {COMPARISON: pl.DataFrame(flat, infer_schema_length=None), WINDOWS: window_frame(comparison)}
    writers: dict[str, Writer] = {}
    for name, frame in frames.items():
        writers |= {f"{name}.parquet": frame.write_parquet, f"{name}.csv": csv_writer(frame)}
    text = to_json_text(result) + "\n"
    writers[COMPARISON_JSON] = lambda file: file.write(text.encode())
    # So that a later reader can tell whether a policy's file is still what it was.
    files = {name: path for one in comparison.scored for name, path in one.combination.files.items()}
    manifest = provenance(comparison.workload, comparison.cluster, given, resolved) | {
        "files": {name: file_record(path) for name, path in sorted(files.items())},
        "jobs": comparison.windows.length * len(comparison.windows),
    }
    write_folder(folder, writers, manifest)
