"""Google (2011): task_events, one line for each change in a task's life, in many files without headers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import polars as pl

from shunter.errors import InputError
from shunter.workloads.formats.google import CODES_2011, attempts, paired, typed_events, users_of
from shunter.workloads.text.delimited import read_frames
from shunter.workloads.text.log import build_workload
from shunter.workloads.text.published import most_lines
from shunter.workloads.text.repairs import Repairs
from shunter.workloads.text.source import are_numbers

if TYPE_CHECKING:
    from shunter.model.workload import Workload
    from shunter.workloads.formats import Reading
    from shunter.workloads.text.source import Source

COLUMNS: Final = [
    "time_us",
    "missing_info",
    "collection",
    "index",
    "machine_id",
    "kind",
    "user",
    "scheduling_class",
    "priority",
    "cpus",
    "memory",
    "disk",
    "different_machines",
]
NOTE: Final = "does not tell its machines ('shunter trace cluster' makes a cluster of machine_events)"

_CODE_TEXTS: Final = tuple(str(code) for code in range(len(CODES_2011)))
_MISSING_INFO: Final = ("", "0", "1", "2")
_JOB_COLUMNS: Final = 8


def recognizes(source: Source) -> bool:
    """Returns whether a file's lines are events of tasks, or of jobs."""
    return most_lines(source, _is_task_event) or most_lines(source, _is_job_event)


def read(sources: Sequence[Source], reading: Reading) -> Workload:
    """Reads events of tasks, from any number of the files.

    Raises:
        InputError: A file holds events of jobs, or no attempt starts and ends in the log.
    """
    repairs = Repairs(sources, reading.strict)
    for source in sources:
        if most_lines(source, _is_job_event):
            raise InputError(f"{source.where}: is of job_events, which tell no sizes; give task_events")
    events, users = [], []
    for source in sources:
        for text in read_frames(source, repairs, COLUMNS, quoted=False):
            events.append(typed_events(text, CODES_2011, repairs))
            users.append(text.select("collection", "user").unique(maintain_order=True))
    if not events:
        return build_workload([], repairs)
    jobs = attempts(paired(pl.concat(events), repairs), users_of(users), repairs)
    return build_workload(jobs, repairs, cluster_note=NOTE)


def _is_task_event(cells: list[str]) -> bool:
    return (
        len(cells) == len(COLUMNS)
        and all(cells[number].isdecimal() for number in (0, 2, 3))
        and cells[1] in _MISSING_INFO
        and cells[5] in _CODE_TEXTS
        and not are_numbers([cells[6]])
    )


def _is_job_event(cells: list[str]) -> bool:
    return (
        len(cells) == _JOB_COLUMNS
        and cells[0].isdecimal()
        and cells[1] in _MISSING_INFO
        and cells[2].isdecimal()
        and cells[3] in _CODE_TEXTS
        and not are_numbers([cells[6]])
    )
