"""The time of day that a log's seconds mean."""

from __future__ import annotations

from datetime import datetime, timezone
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
        ("; UnixStartTime: 843480031\n; TimeZoneString: Europe/Paris\n", 60, Clock(843_483_631, "local standard time")),
        ("; UnixStartTime: 843480031\n; TimeZoneString: Moon/Sea\n", 60, Clock(843_480_031, "UTC")),
        (
            "; UnixStartTime: 843480031\n; TimeZone: 60\n; TimeZoneString: ?\n",
            60,
            Clock(843_480_091, "local standard time"),
        ),
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


def test_the_name_of_a_zone_wins_over_its_seconds(tmp_path: Path) -> None:
    """As in a log of LLNL Atlas, whose header is an hour ahead of UTC where Pacific time is meant."""
    path = tmp_path / "log.swf"
    header = "; UnixStartTime: 1162418601\n; TimeZone: 3600\n; TimeZoneString: US/Pacific\n"
    path.write_text(header + JOB.format(submit=0))
    workload = read_workload(path, strict=True)
    clock = read_clock(workload, str(path))
    assert datetime.fromtimestamp(clock.offset_s, timezone.utc).strftime("%H:%M") == "14:03"
    assert [(entry.rule, entry.count, entry.example, entry.mistake) for entry in workload.ledger.entries] == [
        (
            "TimeZone contradicts TimeZoneString: the latter counts",
            1,
            "line 2: TimeZone 3600, but TimeZoneString US/Pacific is -28800",
            False,
        )
    ]


@pytest.mark.parametrize("seconds", [-28_800, -25_200])
def test_winter_and_summer_time_do_not_contradict_a_zone(tmp_path: Path, seconds: int) -> None:
    path = tmp_path / "log.swf"
    path.write_text(f"; TimeZone: {seconds}\n; TimeZoneString: US/Pacific\n" + JOB.format(submit=0))
    assert not read_workload(path).ledger


def test_a_table_has_no_header(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("submit_s,run_s\n60,10\n")
    assert read_clock(read_workload(path), str(path)) == Clock(0, "counted from the log's time 0")
