"""Advice on logs small enough for a test."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from shunter.advice.advise import Advice, run_advice
from shunter.advice.plan import Effort
from shunter.advice.request import AdviseRequest
from shunter.workloads import read_workload
from shunter.workloads.write import write_table

CROWDED = "generate:lublin?seed=1&jobs=1200&cores=64&load=1.0&requests=factor"
QUIET = "generate:lublin?seed=3&jobs=900&cores=4096&load=0.01&requests=factor"
FEW = ("fcfs", "sjf", "saf", "f2")
"""Classics that are quicker than all of them."""
SMALL = Effort(jobs=600, windows=6, generations=2, population=4, steps=0)
TRAINED = Effort(jobs=600, windows=6, generations=2, population=4, steps=20_000)


def asked(spec: str | Path = CROWDED, effort: Effort = SMALL, **others: Any) -> AdviseRequest:  # noqa: ANN401
    """Returns a request that takes little time."""
    return AdviseRequest(files=(str(spec),), effort=effort, **others)


def advised(spec: str | Path = CROWDED, **others: Any) -> Advice:  # noqa: ANN401 - the fields of a request
    return run_advice(asked(spec, **others))


def written(
    folder: Path, spec: str = CROWDED, name: str = "log.parquet", columns: Mapping[str, pl.Expr] | None = None
) -> Path:
    """Writes a log to a file, with some columns changed."""
    workload = read_workload(spec)
    path = folder / name
    write_table(workload.derived("changed", jobs=workload.jobs.with_columns(**(columns or {}))), path)
    return path
