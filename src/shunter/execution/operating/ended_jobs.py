"""The jobs that have ended, from which estimates learn: those of a log, and those seen since."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from shunter.errors import InputError
from shunter.execution.operating.site import Site, SiteJob, State

MOST_ENDED: Final = 5_000
"""How many of the latest are remembered."""


class EndedJobs:
    """The latest jobs that have ended."""

    def __init__(self, history: str | None) -> None:
        """Reads the log, if there is one.

        Raises:
            InputError: It cannot be read, or does not tell when jobs started.
        """
        jobs = [] if history is None else read_ended(Path(history))
        self._jobs = {(job.id, job.end_s): job for job in jobs}

    def see(self, site: Site) -> list[SiteJob]:
        """Takes in those of a reading; returns the latest of all, by their ends."""
        for job in site.jobs:
            if job.state == State.ENDED and job.start_s and job.end_s and job.submit_s <= job.start_s < job.end_s:
                self._jobs[job.id, job.end_s] = job
        kept = sorted((job for job in self._jobs.values() if (job.end_s or 0) <= site.now_s), key=_end)[-MOST_ENDED:]
        self._jobs = {(job.id, job.end_s): job for job in kept}
        return kept


def _end(job: SiteJob) -> float:
    return job.end_s or 0.0


def read_ended(path: Path) -> list[SiteJob]:
    """Returns the jobs of a log that tells when they started, the latest ones.

    Raises:
        InputError: It cannot be read, or tells no waits.
    """
    from shunter.workloads.reading import read_workload

    workload = read_workload(path)
    jobs = workload.jobs.filter(workload.jobs["logged_wait_s"].is_not_null())
    if jobs.is_empty():
        raise InputError(f"{path}: does not tell when jobs started; give a log of sacct, or lsb.acct")
    found = []
    for row in jobs.tail(2 * MOST_ENDED).iter_rows(named=True):
        start_s = row["submit_s"] + row["logged_wait_s"]
        found.append(
            SiteJob(
                id=row["job_id"] if isinstance(row["job_id"], int) else 0,
                address="",
                state=State.ENDED,
                status=row["status"] or "",
                submit_s=row["submit_s"],
                start_s=start_s,
                end_s=start_s + row["run_s"],
                requested_s=row["requested_s"],
                cores=max(1, round(row["tasks"] * row["cores_per_task"])),
                tasks=row["tasks"],
                user=row["user"] or "",
            )
        )
    return sorted(found, key=_end)[-MOST_ENDED:]
