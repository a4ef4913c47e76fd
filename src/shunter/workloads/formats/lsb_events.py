"""LSF's event log lsb.events to a workload: a run lasts from a start to the status that ends it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import polars as pl

from shunter.workloads.formats import lsf
from shunter.workloads.formats.lsf import LsfJob, LsfRecord, kind_of
from shunter.workloads.text.log import build_workload
from shunter.workloads.text.repairs import PLACE, Repairs

if TYPE_CHECKING:
    from shunter.model.workload import Workload
    from shunter.workloads.formats import Reading
    from shunter.workloads.text.source import Source

NO_END: Final = "no end in the log: job dropped"
"""The rule for jobs that were still pending or running."""
NO_SUBMISSION: Final = "submitted before the log begins: job dropped"
"""The rule for jobs of which the log has only later events."""
NO_END_OF_RUN: Final = "started again, but the end of the run before is not in the log: run left out"
"""The rule for runs of which nobody knows how long they were."""

_EVENTS: Final = {
    *("JOB_NEW", "JOB_START", "JOB_STATUS", "JOB_REQUEUE"),
    *("MBD_START", "LOAD_INDEX", "JOB_START_ACCEPT", "JOB_EXECUTE", "JOB_FORWARD", "JOB_CLEAN"),
}
"""By these the file is known; of the first four something is made."""
_PENDING: Final = 1
_RUN_LIMIT: Final = 9
"""Which of the limits of a submission is that of the run time, counted from 0."""


def recognizes(source: Source) -> bool:
    """Returns whether the file begins with a record of LSF, and one of the first is an event of a job."""
    lines = source.head_lines
    if not lines or kind_of(lines[0]) is None:
        return False
    kinds = {kind_of(line) for line in lines}
    return "JOB_FINISH" not in kinds and not kinds.isdisjoint(_EVENTS)


def read(sources: Sequence[Source], reading: Reading) -> Workload:
    """Reads lsb.events files, the oldest first, whatever the order of their names.

    Raises:
        InputError: No job is left, or hardly any line was readable.
    """
    repairs = Repairs(sources, reading.strict)
    jobs = _Jobs()
    # LSF numbers its old files backwards: lsb.events.1 is newer than lsb.events.2.
    for source in sorted(sources, key=_first_time):
        kinds = {"JOB_NEW": _submission, "JOB_START": _start, "JOB_STATUS": _status, "JOB_REQUEUE": _requeue}
        for line, kind, event in lsf.read_records(source, repairs, kinds):
            jobs.take(kind, event, repairs.place(source, line))
    return build_workload(jobs.frame(repairs), repairs, reruns=True)


def _first_time(source: Source) -> int:
    return next((int(line.split()[2]) for line in source.head_lines if kind_of(line)), 0)


@dataclass(slots=True)
class _Number:
    """What is known of the jobs with one number: a job, or the elements of an array."""

    submission: LsfJob | None = None
    place: int = 0
    jobs: dict[int, LsfJob] = field(default_factory=dict)
    """By index, those of which there are events after the submission."""
    runs: list[LsfJob] = field(default_factory=list)
    """Those that have ended, of jobs that were queued again."""

    def job(self, event: LsfJob) -> LsfJob:
        """Returns the job that an event belongs to."""
        if event.index not in self.jobs:
            # Elements of an array share one submission; each gets a copy of its own.
            base = self.submission or LsfJob(event.number)
            self.jobs[event.index] = replace(base, index=event.index)
        return self.jobs[event.index]

    def entries(self) -> list[tuple[LsfJob, int]]:
        """Returns the jobs with their place; an array of which nothing has started counts as one."""
        jobs = list(self.jobs.values()) or ([self.submission] if self.submission else [])
        return [(job, self.place) for job in (*self.runs, *jobs)]

    def take(self, kind: str, event: LsfJob) -> None:
        """Takes an event after the submission."""
        job = self.job(event)
        if kind == "JOB_START":
            # LSF writes what is not yet over once more into a new file.
            if event.start_s <= max((run.start_s for run in (job, *self.runs) if run.index == job.index), default=0):
                return
            self._close(job, 0)
            job.start_s, job.places, job.requirement = event.start_s, event.places, event.requirement or job.requirement
            job.attempts = (job.attempts or 0) + 1
        elif kind == "JOB_REQUEUE" or event.status == _PENDING:
            self._close(job, event.end_s)
        # What follows the end tells of what is run after the job.
        elif event.status & (lsf.DONE | lsf.EXIT) and not job.status:
            job.end_s, job.status, job.reason = event.end_s, event.status, event.reason
            job.used_memory_kb = event.used_memory_kb

    def _close(self, job: LsfJob, time_s: float) -> None:
        """Keeps the run that a job has had as one of its own, for the job waits again; it ended by this time."""
        if job.start_s and job.status:
            self.runs.append(replace(job))
        elif job.start_s:
            # Without a status of its own it was taken off its hosts.
            self.runs.append(replace(job, end_s=time_s, status=lsf.EXIT, reason=lsf.REQUEUED))
        job.start_s, job.end_s, job.status, job.reason, job.used_memory_kb = 0, 0, 0, 0, 0


class _Jobs:
    """What is known of all jobs so far."""

    def __init__(self) -> None:
        self._numbers: dict[int, _Number] = {}
        self._closed: list[tuple[LsfJob, int]] = []
        """Jobs whose number has been given to another."""

    def take(self, kind: str, event: LsfJob, place: int) -> None:
        """Takes the next event: what its record says of the job."""
        if kind == "JOB_NEW":
            self._submit(event, place)
            return
        self._numbers.setdefault(event.number, _Number(place=place)).take(kind, event)

    def frame(self, repairs: Repairs) -> pl.DataFrame:
        """Returns the jobs that ran, in the order of their submission."""
        found = [*self._closed, *(entry for number in self._numbers.values() for entry in number.entries())]
        found.sort(key=lambda entry: entry[0].submit_s)
        rules = ((NO_SUBMISSION, _has_no_submission), (NO_END_OF_RUN, _has_no_end_of_run), (NO_END, _has_no_end))
        for rule, is_concerned in rules:
            concerned = [entry for entry in found if is_concerned(entry[0])]
            found = [entry for entry in found if not is_concerned(entry[0])]
            if concerned:
                job, place = concerned[0]
                repairs.record(rule, len(concerned), place, f"job {job.number}")
        places = pl.Series(PLACE, [place for _, place in found], dtype=pl.Int64)
        return lsf.to_frame([job for job, _ in found], places, repairs)

    def _submit(self, job: LsfJob, place: int) -> None:
        earlier = self._numbers.get(job.number)
        if earlier is not None:
            # LSF writes what is not yet over once more into a new file.
            if earlier.submission is not None and earlier.submission.submit_s == job.submit_s:
                return
            # LSF counts job numbers up to a limit and then begins again.
            self._closed.extend(earlier.entries())
        self._numbers[job.number] = _Number(job, place)


def _has_no_submission(job: LsfJob) -> bool:
    return job.submit_s <= 0


def _has_no_end_of_run(job: LsfJob) -> bool:
    return job.end_s <= 0 and job.status != 0


def _has_no_end(job: LsfJob) -> bool:
    return job.end_s <= 0


def _submission(record: LsfRecord) -> LsfJob:
    record.skip(2)
    job = LsfJob(record.whole())
    record.skip(2)
    job.processors, job.submit_s, job.begin_s = record.whole(), record.number(), record.number()
    record.skip(4)
    job.user = record.text()
    limits = record.numbers()
    job.limit_s = limits[_RUN_LIMIT] if len(limits) > _RUN_LIMIT else -1
    record.skip(3)
    job.queue, job.requirement = record.text(), record.text()
    record.skip(8)
    record.names()
    job.condition = record.text()
    record.skip(1)
    job.name = record.text()
    record.skip(1)
    record.skip(3 * record.count(width=3) + 1)
    job.project = record.text()
    return job


def _start(record: LsfRecord) -> LsfJob:
    record.skip(1)
    time_s = record.number()
    job = LsfJob(record.whole(), start_s=time_s)
    record.skip(4)
    job.places = lsf.LsfHosts.of(record.names())
    record.skip(3)
    if record.next_is_text:
        record.skip(1)
    job.index = record.whole()
    if record.next_is_text:
        record.skip(1)
        record.numbers()
        job.requirement = "" if record.at_end else record.text()
    return job


def _requeue(record: LsfRecord) -> LsfJob:
    record.skip(1)
    time_s = record.number()
    return LsfJob(record.whole(), end_s=time_s, index=0 if record.at_end else record.whole())


def _status(record: LsfRecord) -> LsfJob:
    record.skip(1)
    time_s = record.number()
    job = LsfJob(record.whole(), status=record.whole())
    record.skip(3)
    job.end_s = record.number() or time_s
    record.skip((lsf.RUSAGE_FIELDS if record.whole() else 0) + 1)
    job.index = record.whole()
    # Records of older versions end earlier.
    reason, _, used_memory_kb = [*record.numbers(), 0, 0, 0][:3]
    job.reason, job.used_memory_kb = int(reason), used_memory_kb
    return job
