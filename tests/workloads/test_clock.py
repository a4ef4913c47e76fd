"""The time of day that a log's seconds mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.workloads import read_workload
from shunter.workloads.clock import Clock, read_clock

UNIX_S = 1_000_000_000
JOB = "1 {submit} 0 10 1 -1 -1 1 10 -1 1 1 1 -1 -1 -1 -1 -1\n"


@pytest.mark.parametrize(
    ("header", "submit", "clock"),
    [
        ("; UnixStartTime: 843480031\n; TimeZone: 3600\n", 60, Clock(843_483_631, "local standard time")),
        ("; UnixStartTime: 843480031\n; TimeZone: -28800 (PST)\n", 60, Clock(843_451_231, "local standard time")),
        ("; UnixStartTime: 843480031\n; TimeZoneString: Europe/Paris\n", 60, Clock(843_480_031, "UTC")),
        ("", 60, Clock(0, "counted from the log's time 0")),
        ("; UnixStartTime: -1\n", 60, Clock(0, "counted from the log's time 0")),
        ("; UnixStartTime: noon\n", 60, Clock(0, "counted from the log's time 0")),
        # Submit times that are Unix times need no start; ALCF's logs give one all the same.
        (f"; UnixStartTime: {UNIX_S}\n; TimeZone: 0\n", UNIX_S, Clock(0, "UTC")),
        ("; TimeZone: 3600\n", UNIX_S, Clock(3600, "local standard time")),
    ],
)
def test_the_header_tells_the_clock(tmp_path: Path, header: str, submit: int, clock: Clock) -> None:
    path = tmp_path / "log.swf"
    path.write_text(header + JOB.format(submit=submit))
    assert read_clock(read_workload(path), str(path)) == clock


def test_a_table_has_no_header(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("submit_s,run_s\n60,10\n")
    assert read_clock(read_workload(path), str(path)) == Clock(0, "counted from the log's time 0")
