"""The time of day that a log's seconds mean: the header of a SWF log says when its time 0 was."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shunter.model.workload import UNIX_TIMES_FROM_S

if TYPE_CHECKING:
    from pathlib import Path

    from shunter.model.workload import Workload


@dataclass(frozen=True)
class Clock:
    """How to tell the time of day from a log's seconds."""

    offset_s: float
    """To be added to the log's seconds: whole days of the sum begin at midnight."""
    meaning: str
    """What the hours are hours of, for tables and figures."""


def read_clock(workload: Workload, path: str | Path | None) -> Clock:
    """Returns the clock of a workload that was read from this path; only a SWF log has a header that can be asked."""
    from shunter.workloads.formats.swf_header import clock_offset_s, read_header, zone_offset_s

    header: dict[str, str] = {}
    if workload.format == "swf" and path is not None:
        from shunter.workloads.reading import files_of
        from shunter.workloads.text.source import open_source

        header = read_header(open_source(files_of(path)[0]).head)
    zone_s = zone_offset_s(header)
    meaning = "UTC" if not zone_s else "local standard time"
    # Some SWF logs hold Unix times, though the format counts from the log's start.
    if float(workload.jobs["submit_s"][0]) >= UNIX_TIMES_FROM_S:
        return Clock(zone_s or 0, meaning)
    offset_s = clock_offset_s(header)
    return Clock(0, "counted from the log's time 0") if offset_s is None else Clock(offset_s, meaning)
