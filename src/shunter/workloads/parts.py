"""Parts of a workload: jobs that ended in a certain way."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from shunter.errors import InputError

if TYPE_CHECKING:
    from shunter.model.workload import Workload


def keep_statuses(workload: Workload, only: str) -> Workload:
    """Returns the jobs whose status is one of these, and counts the others in the ledger.

    Raises:
        InputError: No job has such a status, or the log tells none.
    """
    wanted = [name.strip() for name in only.split(",")]
    known = sorted(workload.jobs["status"].drop_nulls().unique().to_list())
    if not known:
        raise InputError(f"{workload.name}: tells no statuses; leave --only (only) out")
    for name in wanted:
        if name not in known:
            raise InputError(f'{workload.name}: no job has the status "{name}" of --only (only); it has {", ".join(known)}')
    kept = workload.jobs["status"].is_in(wanted).fill_null(False)
    dropped = workload.jobs.filter(~kept)
    if dropped.height == 0:
        return workload
    example = f"job {dropped['job_id'][0]}: {dropped['status'][0] or 'status unknown'}"
    return replace(
        workload,
        jobs=workload.jobs.filter(kept),
        ledger=workload.ledger.plus(f"status other than {' or '.join(wanted)} (--only): left out", dropped.height, example),
        content_sha256=hashlib.sha256(f"{workload.content_sha256} only {','.join(wanted)}".encode()).hexdigest(),
    )
