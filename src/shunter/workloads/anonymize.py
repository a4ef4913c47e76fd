"""Workloads without names: who submitted what can no longer be told, who submitted the same still can."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from shunter.model.workload import Workload

NAMES: Final = {"user": "user", "group": "group", "account": "account", "executable": "program", "name": "name"}
"""The columns that are replaced always, and what their new names begin with."""
PLACES: Final = {"queue": "queue", "partition": "partition", "qos": "qos"}
"""The columns that are replaced if asked for: a cluster file may name the same partitions."""


def anonymize(workload: Workload, *, seed: int = 0, places: bool = False, shift: bool = False) -> Workload:
    """Returns the workload with other names and numbers.

    Users, groups, accounts, programs and job names become ``user1``, ``user2`` … in an order drawn from the seed; the
    same name stays the same. Job ids become 1, 2, 3 … in the order of submission.

    Args:
        workload: The jobs.
        seed: Of the order; without it nobody can draw the same again.
        places: Whether queues, partitions and qualities of service are replaced too.
        shift: Whether the first job's submit time becomes 0.
    """
    random = np.random.Generator(np.random.PCG64(seed))
    jobs = workload.jobs
    made = [
        _renamed(jobs[column], prefix, random)
        for column, prefix in (NAMES | PLACES if places else NAMES).items()
        if column in jobs.columns
    ]
    numbers = pl.int_range(1, jobs.height + 1, dtype=pl.Int64, eager=True)
    if "preceding_job_id" in jobs.columns:
        of = pl.DataFrame({"preceding_job_id": jobs["job_id"], "number": numbers})
        joined = jobs.select("preceding_job_id").join(of, on="preceding_job_id", how="left", maintain_order="left")
        made.append(joined["number"].alias("preceding_job_id"))
    if shift:
        made.append(jobs["submit_s"] - jobs["submit_s"][0])
    return replace(
        workload,
        jobs=jobs.with_columns(*made, numbers.alias("job_id")),
        name="anonymous",
        content_sha256=hashlib.sha256(f"{workload.content_sha256} {seed} {places} {shift}".encode()).hexdigest(),
        places=None,
    )


def _renamed(names: pl.Series, prefix: str, random: np.random.Generator) -> pl.Series:
    distinct = names.drop_nulls().unique(maintain_order=True)
    order = random.permutation(distinct.len()) + 1
    others = distinct.to_frame().with_columns(other=pl.Series([f"{prefix}{one}" for one in order], dtype=pl.String))
    joined = names.to_frame().join(others, on=names.name, how="left", maintain_order="left")
    return joined["other"].alias(names.name)
