"""LSF's accounting file lsb.acct to a workload: the records JOB_FINISH of versions 7 to 10."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import polars as pl

from shunter.workloads.formats.lsf import RUSAGE_FIELDS, LsfHosts, LsfJob, LsfRecord, kind_of, read_records, to_frame
from shunter.workloads.text.log import build_workload
from shunter.workloads.text.repairs import Repairs

if TYPE_CHECKING:
    from shunter.model.workload import Workload
    from shunter.workloads.formats import Reading
    from shunter.workloads.text.source import Source

PARTED: Final = "numbers of hosts without a blank between them: taken apart"
"""The rule for a fault of some writers: ``02`` stands for ``0 2``."""

_KIND: Final = "JOB_FINISH"
_RECENT: Final = 9
"""Records of earlier versions have no run limit, and end where theirs end."""
_ROWS: Final = 50_000
"""How many jobs are held as objects at a time."""


def recognizes(source: Source) -> bool:
    """Returns whether the file begins with a record of LSF, and one of the first is JOB_FINISH."""
    lines = source.head_lines
    return bool(lines) and kind_of(lines[0]) is not None and any(kind_of(line) == _KIND for line in lines)


def read(sources: Sequence[Source], reading: Reading) -> Workload:
    """Reads lsb.acct files, one after another.

    Raises:
        InputError: No job is left, or hardly any line was readable.
    """
    repairs = Repairs(sources, reading.strict)
    frames = [frame for source in sources for frame in _frames(source, repairs)]
    # Records are written as jobs end, so that jobs out of the order of their submission are no mistake.
    jobs = pl.concat(frames).sort("submit_s", maintain_order=True) if frames else frames
    return build_workload(jobs, repairs, reruns=True)


def _frames(source: Source, repairs: Repairs) -> Iterator[pl.DataFrame]:
    jobs: list[LsfJob] = []
    lines: list[int] = []
    for line, _, (job, parted) in read_records(source, repairs, {_KIND: _job}, tell_others=True):
        if parted is not None:
            repairs.record(PARTED, 1, repairs.place(source, line), f"numAskedHosts and numExHosts are {parted}")
        jobs.append(job)
        lines.append(line)
        # An object a job takes many times the room of a row.
        if len(jobs) == _ROWS:
            yield to_frame(jobs, repairs.places(source, lines), repairs).drop("attempts")
            jobs, lines = [], []
    if jobs:
        yield to_frame(jobs, repairs.places(source, lines), repairs).drop("attempts")


def _job(record: LsfRecord) -> tuple[LsfJob, str | None]:
    """Returns the job of a record, and the field that had to be taken apart.

    Fields are read in the order in which LSF writes them.
    """
    is_recent = record.major_version() >= _RECENT
    end_s = record.number()
    job = LsfJob(record.whole(), end_s=end_s)
    record.skip(2)
    job.processors, job.submit_s, job.begin_s = record.whole(), record.number(), record.number()
    record.skip(1)
    job.start_s, job.user, job.queue, job.requirement = record.number(), record.text(), record.text(), record.text()
    job.condition = record.text()
    record.skip(7)
    record.part_counts()
    record.names()
    job.places, job.status = LsfHosts.of(record.names()), record.whole()
    record.skip(1)
    job.name = record.text()
    record.skip(1 + RUSAGE_FIELDS + 1)
    job.project = record.text()
    record.skip(4)
    job.index, job.used_memory_kb = record.whole(), record.number()
    record.skip(7)
    job.reason = record.whole()
    if is_recent:
        _read_limit(record, job)
    return job, record.parted


def _read_limit(record: LsfRecord, job: LsfJob) -> None:
    """Reads the run limit and the requirement as LSF has understood it, which stand behind lists of any length."""
    record.skip(14)
    record.skip(2 * record.count(width=2))
    for _ in range(record.count(width=6)):
        record.skip(5)
        record.skip(2 * record.count(width=2))
    job.limit_s = record.number()
    # The manual has options3 before the run limit, but records have it behind.
    record.skip(2)
    job.requirement = record.text() or job.requirement
