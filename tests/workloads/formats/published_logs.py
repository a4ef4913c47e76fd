"""What tests of the readers of Alibaba's and Google's logs have in common."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from shunter.model.workload import COLUMNS, Workload
from shunter.workloads import read_workload
from shunter.workloads.formats.google import IDLE


def write(folder: Path, text: str, name: str = "log.txt") -> Path:
    """Returns a file with this text, whose name tells nothing."""
    path = folder / name
    path.write_text(text)
    return path


def read_text(folder: Path, text: str, *, strict: bool = False, format: str | None = None) -> Workload:
    """Reads a log of this text."""
    return read_workload(write(folder, text), strict=strict, format=format)


def job(job_id: str, submit_s: float, run_s: float, **others: object) -> dict[str, object]:
    """Returns a row of the job table: one task with one core, of which nothing else is known."""
    unknown = dict.fromkeys(COLUMNS)
    known = {"job_id": job_id, "submit_s": submit_s, "run_s": run_s}
    return unknown | {"tasks": 1, "cores_per_task": 1.0, "gpus_per_task": 0.0} | known | others


def rules(workload: Workload) -> dict[str, int]:
    """Returns how many rows each rule concerned, but for events that are of no use by right."""
    return {entry.rule: entry.count for entry in workload.ledger.entries if entry.rule != IDLE}


def days(workload: Workload) -> float:
    """Returns how long jobs came."""
    submit_s = workload.jobs["submit_s"].to_numpy()
    return float(submit_s.max() - submit_s.min()) / 86_400


def quantiles(values: pl.Series, *shares: float) -> list[float]:
    """Returns the values below which these shares of all values lie."""
    return [float(value) for value in np.quantile(values.to_numpy(), shares)]


def percentages(values: pl.Series) -> dict[object, float]:
    """Returns how often each value occurs."""
    return {value: 100 * count / values.len() for value, count in values.value_counts().iter_rows()}
