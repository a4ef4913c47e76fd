"""Accounting logs of PBS (Torque, PBS Pro, OpenPBS): one record a line; each run that has ended is a job."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

import polars as pl

from shunter.workloads.formats.pbs_values import Said
from shunter.workloads.text.depending import pbs_dependency
from shunter.workloads.text.hosts import write_hosts
from shunter.workloads.text.log import read_jobs
from shunter.workloads.text.records import (
    ODD,
    OTHER_KIND,
    TIMES_AND_SIZES,
    BrokenRecord,
    each_task,
    started_jobs,
)

if TYPE_CHECKING:
    from shunter.model.workload import Workload
    from shunter.workloads.formats import Reading
    from shunter.workloads.text.repairs import Repairs
    from shunter.workloads.text.source import Source

WHOLE_ARRAY: Final = "array as a whole: left out, its tasks are jobs"
NO_END: Final = "started, but its end is not in the log: left out"
DELETED: Final = "deleted while it waited: left out"

_RECORD: Final = re.compile(r"(\d\d/\d\d/\d{4} \d\d:\d\d:\d\d)(?:\.\d+)?;([A-Za-z]{1,2});([^;]*);(.*)")
_CLOCK: Final = "%m/%d/%Y %H:%M:%S"
_LOOKED_AT: Final = 20
_SIGNALLED: Final = 256
"""A larger exit status is this plus the number of a signal."""
_TERMINATED: Final = 271
"""The exit status of a job that was told to end (SIGTERM), as by qdel."""
_OVER_LIMIT: Final = (-28, -29)
"""Exit statuses of PBS Pro for jobs that used more CPU time or walltime than they asked for."""
_OVER_MEMORY: Final = (-26, -27)
"""The same for memory."""
_SCHEMA: Final[dict[str, type[pl.DataType]]] = {
    **TIMES_AND_SIZES,
    "user": pl.String,
    "group": pl.String,
    "queue": pl.String,
    "status": pl.String,
    "used_memory_mb_per_task": pl.Float64,
    "name": pl.String,
    "account": pl.String,
    "attempts": pl.Int64,
    "begin_s": pl.Float64,
    "depends_on": pl.String,
}
_CLUSTER_NOTE: Final = "PBS's logs of jobs do not list the machines"


def recognizes(source: Source) -> bool:
    """Returns whether half of the first lines, or more, are records of PBS."""
    lines = source.head_lines[:_LOOKED_AT]
    records = sum(_RECORD.fullmatch(line) is not None for line in lines)
    return records > 0 and 2 * records >= len(lines)


def read(sources: Sequence[Source], reading: Reading) -> Workload:
    """Reads accounting logs, one after another; there is one for each day.

    Raises:
        InputError: No job is left, or hardly any line was readable.
    """
    records = _Records()

    def read_file(source: Source, repairs: Repairs) -> Iterator[pl.DataFrame]:
        for frame in started_jobs(records.ended(source, repairs), _SCHEMA, source, repairs):
            # Few logs have such jobs: what none has is no column.
            yield frame.drop(name for name in ("begin_s", "depends_on") if frame[name].null_count() == frame.height)
        # A job that starts in one file may end in the next.
        if source is sources[-1]:
            records.tell_unfinished(repairs)

    return read_jobs(sources, reading, read_file, cluster_note=_CLUSTER_NOTE, by_end=True, reruns=True)


class _Start(NamedTuple):
    """A record of a start: where it stands, what the server's clock showed, and what it says."""

    place: int
    clock: str
    text: str


class _Records:
    """What records of other kinds have told so far, by the ids of the jobs."""

    def __init__(self) -> None:
        self._started: dict[str, _Start] = {}
        self._deleted: dict[str, int] = {}
        self._reruns: Counter[str] = Counter()

    def ended(self, source: Source, repairs: Repairs) -> Iterator[tuple[int, tuple[object, ...]]]:
        """Yields the line and the row of each run that has ended."""
        for line, text in source.lines():
            record = text.strip()
            if not record or record.startswith("#"):
                continue
            place = repairs.place(source, line)
            match = _RECORD.fullmatch(record)
            if match is None:
                repairs.skip(place, f"{record[:40]!r} is not a record of PBS")
                continue
            clock, kind, job, text = match.groups()
            job_id = job.partition(".")[0]
            if kind in ("E", "R") and job_id.endswith("[]"):
                repairs.tell(WHOLE_ARRAY, 1, place, f"job {job_id}")
                continue
            try:
                said = self._end(kind, job_id, text, clock)
                row = None if said is None else self._row(job_id, said, was_rerun=kind == "R")
            except BrokenRecord as error:
                repairs.skip(place, str(error))
                continue
            if said is None or row is None:
                self._note(kind, job_id, _Start(place, clock, text), repairs)
                continue
            repairs.record(ODD, len(said.odd), place, ", ".join(said.odd))
            yield line, row

    def _end(self, kind: str, job_id: str, text: str, clock: str) -> Said | None:
        """Returns what is known of a run that a record ends; None if it ends none, or one whose start is not known."""
        if kind != "R":
            return Said(text) if kind == "E" else None
        self._reruns[job_id] += 1
        # PBS Pro writes what it writes at the end of a job; Torque hardly more than that there was a rerun.
        start = self._started.pop(job_id, None)
        said = Said(text)
        if said.text("start") and said.text("end"):
            return said
        begun_s = None if start is None else Said(start.text).time("start")
        if start is None or begun_s is None:
            return None
        try:
            # The clock has no zone, but both records have the same.
            ran = datetime.strptime(clock, _CLOCK) - datetime.strptime(start.clock, _CLOCK)
        except ValueError:
            raise BrokenRecord(f"{clock} is no time of a record") from None
        return Said(f"{start.text} end={begun_s + ran.total_seconds():.0f}")

    def tell_unfinished(self, repairs: Repairs) -> None:
        """Counts the jobs whose end is not in the log."""
        waited = {job_id: place for job_id, place in self._deleted.items() if job_id not in self._started}
        begun = {job_id: start.place for job_id, start in self._started.items()}
        for rule, jobs in ((NO_END, begun), (DELETED, waited)):
            for job_id, place in list(jobs.items())[:1]:
                repairs.tell(rule, len(jobs), place, f"job {job_id}")

    def _note(self, kind: str, job_id: str, start: _Start, repairs: Repairs) -> None:
        if kind == "S":
            self._started[job_id] = start
        elif kind in ("D", "A"):
            self._deleted[job_id] = start.place
        elif kind != "R":
            repairs.tell(OTHER_KIND, 1, start.place, f"record {kind}")

    def _row(self, job_id: str, said: Said, *, was_rerun: bool) -> tuple[object, ...]:
        """Returns the columns of `_SCHEMA` for a run that has ended."""
        if not job_id:
            raise BrokenRecord("the record has no job id")
        submit_s, start_s, end_s = (said.time(*keys) for keys in (("ctime", "qtime", "etime"), ("start",), ("end",)))
        run_s = end_s - start_s if start_s and end_s else said.limit("resources_used.walltime")
        requested_s = said.limit("Resource_List.walltime")
        size = said.size()
        tasks = size.tasks
        was_deleted = not was_rerun and self._deleted.pop(job_id, None) is not None
        self._started.pop(job_id, None)
        reruns = self._reruns[job_id] - 1 if was_rerun else self._reruns.pop(job_id, 0)
        account = said.text("account") or said.text("project")
        depends_on, eligible_s = pbs_dependency(said.text("depend")), said.time("etime")
        # Where the log tells on which job it depends, that says more than when it became eligible.
        is_later = submit_s is not None and eligible_s is not None and eligible_s > submit_s and depends_on is None
        begin_s = eligible_s if is_later else None
        return (
            job_id,
            submit_s,
            start_s,
            run_s,
            requested_s,
            tasks,
            each_task(size.cores, tasks),
            each_task(size.memory_mb, tasks),
            each_task(size.gpus, tasks),
            start_s - (begin_s or submit_s) if start_s and submit_s is not None else None,
            size.nodes or None,
            write_hosts(size.hosts),
            said.text("user") or (said.text("owner") or "").partition("@")[0] or None,
            said.text("group"),
            said.text("queue"),
            "requeued" if was_rerun else _status(said.time("Exit_status"), run_s, requested_s, was_deleted=was_deleted),
            each_task(said.memory("resources_used.mem"), tasks),
            said.text("jobname"),
            None if account == "_pbs_project_default" else account,
            said.whole("run_count") or (reruns + 1 if reruns or was_rerun else None),
            begin_s,
            depends_on,
        )


def _status(code: float | None, run_s: float | None, requested_s: float | None, *, was_deleted: bool) -> str | None:
    if code is None:
        return None
    if code == 0:
        return "completed"
    was_killed = code < 0 or code > _SIGNALLED
    ran_out = run_s is not None and requested_s is not None and run_s >= requested_s
    if code in _OVER_LIMIT or (was_killed and ran_out):
        return "timeout"
    if code in _OVER_MEMORY:
        return "out_of_memory"
    return "cancelled" if was_deleted or code == _TERMINATED else "failed"
