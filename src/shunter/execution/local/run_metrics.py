"""What became of the jobs of ``shunter run``: a row for each, written as JSON lines and as CSV."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from shunter.execution.local.journal import Journal
from shunter.files import csv_writer, write_file

Row = dict[str, Any]


def job_rows(journal: Journal, jobs: Collection[int], **also: Any) -> list[Row]:  # noqa: ANN401 - cells of all rows
    """Returns a row for each job: what it asked for, its times (seconds since 1970), and how it ended."""
    return [{**also, **_row(told)} for job in jobs if (told := journal.job(job)) is not None]


def _row(job: Mapping[str, Any]) -> Row:
    has_run = job["start_s"] is not None and job["end_s"] is not None
    return {
        "job_id": job["id"],
        "name": job["name"],
        "command": " ".join(job["command"]),
        "cores": job["cores"],
        "requested_s": job["time_s"],
        "submit_s": job["submit_s"],
        "start_s": job["start_s"],
        "end_s": job["end_s"],
        "queue_wait_s": None if job["start_s"] is None else max(0.0, job["start_s"] - job["submit_s"]),
        "duration_s": max(0.0, job["end_s"] - job["start_s"]) if has_run else None,
        "success": job["state"] == "done",
        "state": job["state"],
        "exit_code": job["code"],
        "signal": job["signal"],
        "decision": job["decision"],
    }


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """Returns what rows come to; means are over the jobs that started, or ended."""
    waits = [row["queue_wait_s"] for row in rows if row["queue_wait_s"] is not None]
    runs = [row["duration_s"] for row in rows if row["duration_s"] is not None]
    ends = [row["end_s"] for row in rows if row["duration_s"] is not None]
    return {
        "jobs": len(rows),
        "succeeded": sum(row["success"] for row in rows),
        "started": len(waits),
        "mean_queue_wait_s": sum(waits) / len(waits) if waits else None,
        "max_queue_wait_s": max(waits, default=None),
        "mean_duration_s": sum(runs) / len(runs) if runs else None,
        "makespan_s": max(ends) - min(row["submit_s"] for row in rows) if ends else None,
    }


def write_rows(rows: Sequence[Row], folder: Path) -> tuple[Path, Path]:
    """Writes ``metrics_<time>.jsonl`` and ``metrics_<time>.csv``; returns both paths.

    Raises:
        InputError: The folder cannot be written.
    """
    import polars as pl

    folder.mkdir(parents=True, exist_ok=True)
    stem = f"metrics_{time.strftime('%Y-%m-%d_%H-%M-%S')}"
    number = 1
    while (folder / f"{stem}.jsonl").exists():
        number += 1
        stem = f"{stem.partition('~')[0]}~{number}"
    lines, table = folder / f"{stem}.jsonl", folder / f"{stem}.csv"
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    write_file(lines, lambda file: file.write(text.encode()))
    write_file(table, csv_writer(pl.DataFrame(list(rows), infer_schema_length=None)))
    return lines, table
