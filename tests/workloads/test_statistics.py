"""What a log is like: by hand, and as others count the logs of the archive."""

from __future__ import annotations

import json
import math
from datetime import datetime
from typing import Any

import polars as pl
import pytest

from shunter.model.cluster import Cluster, Node
from shunter.model.log import Ledger
from shunter.model.workload import Workload
from shunter.workloads import read_cluster, read_workload
from shunter.workloads.clock import Clock, read_clock
from shunter.workloads.statistics import Description, describe
from tests.support import trace


def workload_of(**columns: list[Any]) -> Workload:
    """Returns a workload with these columns."""
    return Workload.from_frame(pl.DataFrame(columns), name="mine", content_sha256="abc")


@pytest.fixture
def handmade() -> Workload:
    """Returns five jobs in a little more than two hours."""
    return Workload.from_frame(
        pl.DataFrame(
            {
                "submit_s": [1000.0, 1000.5, 1600.0, 4700.0, 9000.0],
                "run_s": [100.0, 200.0, 300.0, 50.0, 400.0],
                "requested_s": [200.0, 200.0, None, 40.0, 4000.0],
                "tasks": [1, 2, 4, 1, 2],
                "cores_per_task": [1.0, 2.0, 1.0, 0.5, 2.0],
                "memory_mb_per_task": [100.0, 100.0, None, None, 300.0],
                "user": ["ann", "bob", "ann", None, "ann"],
                "queue": ["b", "a", "a", "b", "a"],
                "status": ["completed", "failed", None, "completed", "completed"],
                "logged_wait_s": [0.0, 10.0, 20.0, 30.0, 40.0],
            }
        ),
        name="mine",
        content_sha256="abc",
        ledger=Ledger().plus("run time 0 s: job dropped", 2, "line 7: run_s 0"),
    )


def test_figures_worked_out_by_hand(handmade: Workload) -> None:
    description = describe(handmade, Cluster.pool(8))
    gaps_s = [0.5, 599.5, 3100.0, 4300.0]
    deviation_s = math.sqrt(sum((gap_s - 2000) ** 2 for gap_s in gaps_s) / 4)
    # Cores: 1, 4, 4, 0.5, 4; core-seconds: 100, 800, 1200, 25, 1600.
    assert description.to_json() == {
        "workload": "mine",
        "format": None,
        "workload_sha256": "abc",
        "jobs": 5,
        "first_submit_s": 1000.0,
        "last_submit_s": 9000.0,
        "first_submit": None,
        "last_submit": None,
        "clock": "counted from the log's time 0",
        "span_s": 8000.0,
        "cluster": {"name": "8", "cores": 8.0, "gpus": 0},
        "offered_load": pytest.approx(3725 / (8 * 8000)),
        "percentiles": {
            "run_s": amounts(5, 210.0, 50.0, 100.0, 200.0, 300.0, 400.0),
            "requested_s": amounts(4, 1110.0, 40.0, 40.0, 200.0, 200.0, 4000.0),
            "logged_wait_s": amounts(5, 20.0, 0.0, 10.0, 20.0, 30.0, 40.0),
            "cores": amounts(5, 2.7, 0.5, 1.0, 4.0, 4.0, 4.0),
            "gpus": amounts(5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
            "memory_mb": amounts(3, 300.0, 100.0, 100.0, 200.0, 600.0, 600.0),
            "gap_s": amounts(4, 2000.0, 0.5, 0.5, 599.5, 3100.0, 4300.0),
        },
        "sizes_of": "cores",
        "sizes": [
            {"size": 4.0, "share": 0.6, "work_share": pytest.approx(3600 / 3725)},
            {"size": 0.5, "share": 0.2, "work_share": pytest.approx(25 / 3725)},
            {"size": 1.0, "share": 0.2, "work_share": pytest.approx(100 / 3725)},
        ],
        "serial_share": 0.4,
        "users": {"count": 2, "largest": "ann", "largest_share": 0.75},
        "groups": None,
        "queues": {"count": 2, "largest": "a", "largest_share": 0.6},
        "partitions": None,
        "statuses": {"completed": 0.6, "failed": 0.2, "unknown": 0.2},
        "arrivals": {
            "gap_cv": pytest.approx(deviation_s / 2000),
            # Three hours with 3, 1 and 1 jobs.
            "hourly_dispersion": pytest.approx((11 / 3 - (5 / 3) ** 2) / (5 / 3)),
            "peak_to_mean_hour": pytest.approx(3 / (5 / 3)),
            "most_in_one_second": 2,
        },
        "beyond_request_jobs": 1,
        # Ratios: 0.1, 0.5, 1, 1.25.
        "median_run_to_request": 0.5,
        "told": {
            "requested times": 0.8,
            "waits": 1.0,
            "memory": 0.6,
            "users": 0.8,
            "groups": 0.0,
            "queues": 1.0,
            "partitions": 0.0,
            "statuses": 0.8,
            "priorities": 0.0,
            "cores": 1.0,
        },
        "absent": ["groups", "partitions", "priorities"],
        "ledger": [{"rule": "run time 0 s: job dropped", "count": 2, "example": "line 7: run_s 0"}],
    }


def amounts(count: int, mean: float, p5: float, p25: float, p50: float, p75: float, most: float) -> dict[str, Any]:
    """Returns a distribution of so few values that the upper percentiles are the largest."""
    upper = {name: most for name in ("p90", "p95", "p99", "max")}
    return {"count": count, "mean": pytest.approx(mean), "p5": p5, "p25": p25, "p50": p50, "p75": p75, **upper}


def test_logs_of_gpus_are_counted_in_gpus() -> None:
    workload = workload_of(
        submit_s=[0.0, 10.0, 20.0, 30.0],
        run_s=[10.0, 10.0, 10.0, 100.0],
        tasks=[1, 1, 8, 1],
        cores_per_task=[0.0, 0.0, 0.0, 0.0],
        gpus_per_task=[1.0, 0.5, 1.0, 1.0],
    )
    description = describe(workload, Cluster.from_nodes((Node("a", 4.0, gpus=8),), "gpus"))
    assert description.sizes_of == "gpus"
    assert [(size.size, size.share) for size in description.sizes] == [(1.0, 0.5), (0.5, 0.25), (8.0, 0.25)]
    assert [size.work_share for size in description.sizes] == pytest.approx([110 / 195, 5 / 195, 80 / 195])
    assert description.serial_share == 0.75
    assert description.offered_load == pytest.approx(195 / (8 * 30))
    assert "cores" in description.absent
    assert description.to_json()["cluster"] == {"name": "gpus", "cores": 4.0, "gpus": 8}


def test_one_job_has_no_gaps_and_no_load() -> None:
    description = describe(workload_of(submit_s=[5.0], run_s=[10.0]), Cluster.pool(4))
    assert (description.span_s, description.offered_load, description.percentiles["gap_s"]) == (0.0, None, None)
    assert description.arrivals == {
        "gap_cv": None,
        "hourly_dispersion": 0.0,
        "peak_to_mean_hour": 1.0,
        "most_in_one_second": 1,
    }
    assert (description.statuses, description.median_run_to_request) == ({}, None)
    assert description.owners["users"] is None
    json.dumps(description.to_json(), allow_nan=False)


def test_jobs_at_one_time_on_an_unknown_machine() -> None:
    description = describe(workload_of(submit_s=[5.0] * 3, run_s=[10.0] * 3, cores_per_task=[0.0] * 3), None)
    assert (description.offered_load, description.to_json()["cluster"]) == (None, None)
    assert (description.arrivals["gap_cv"], description.arrivals["most_in_one_second"]) == (None, 3)
    assert [(size.size, size.work_share) for size in description.sizes] == [(0.0, None)]


def test_centuries_between_two_jobs_are_no_matter() -> None:
    description = describe(workload_of(submit_s=[0.0, 1e12], run_s=[10.0, 10.0]), None)
    assert description.arrivals["hourly_dispersion"] == pytest.approx(1.0)
    assert description.dates is None


def test_only_the_most_common_sizes_are_told() -> None:
    sizes = [size for size in range(1, 16) for _ in range(size)]
    times = [float(number) for number in range(len(sizes))]
    description = describe(workload_of(submit_s=times, run_s=[1.0] * len(sizes), tasks=sizes), None)
    assert [size.size for size in description.sizes] == list(range(15, 5, -1))


def test_dates() -> None:
    workload = workload_of(submit_s=[1_600_000_000.9, 1_600_086_400.0], run_s=[1.0, 1.0])
    description = describe(workload, None)
    assert description.dates == (datetime(2020, 9, 13, 12, 26, 40), datetime(2020, 9, 14, 12, 26, 40))
    assert (description.clock.meaning, description.to_json()["first_submit"]) == ("UTC", "2020-09-13 12:26:40")
    seconds = workload_of(submit_s=[0.0, 60.0], run_s=[1.0, 1.0])
    local = describe(seconds, None, Clock(1_600_000_000, "local standard time"))
    assert local.dates == (datetime(2020, 9, 13, 12, 26, 40), datetime(2020, 9, 13, 12, 27, 40))
    assert local.clock.meaning == "local standard time"
    # In the year 2128.
    assert describe(workload_of(submit_s=[5e9], run_s=[1.0]), None).dates is None


def described(name: str) -> Description:
    path = trace(f"swf/{name}.swf.gz")
    workload = read_workload(path, format="swf")
    assert workload.cluster_spec is not None
    return describe(workload, read_cluster(workload.cluster_spec), read_clock(workload, str(path)))


@pytest.mark.parametrize(
    ("name", "jobs", "days", "load", "cores", "serial", "run_s", "cv", "dispersion", "peak"),
    [
        # Others give the load as 0.68, without what lies behind the second digit.
        ("KTH-SP2-1996-2.1-cln", 27_992, 333, 0.69, (3, 16, 100), 33, (805, 26_033, 216_000), 3.3, 8.6, 19),
        ("SDSC-SP2-1998.easy_sim_waits", 54_006, 731, 0.82, (4, 32, 128), 23, (357, 27_393, 172_800), 2.7, 11.5, 56),
        ("lublin_256", 10_000, 89, 1.06, (8, 64, 256), 25, (137, 15_577, 124_707), 5.1, 8.3, 7.7),
        # Others count 18,239 jobs: 173 of them ran 0 s and are dropped, which moves the median from 86 s to 88 s.
        ("NASA-iPSC-1993-3.1-cln", 18_066, 92, 0.47, (4, 32, 128), 27, (88, 1_520, 62_643), 9.5, 16.5, 10.3),
    ],
)
def test_logs_of_the_archive(
    name: str,
    jobs: int,
    days: int,
    load: float,
    cores: tuple[int, int, int],
    serial: int,
    run_s: tuple[int, int, int],
    cv: float,
    dispersion: float,
    peak: float,
) -> None:
    """The figures that others state of these logs, to the digits that they state."""
    description = described(name)
    assert (description.jobs, round(description.span_s / 86_400)) == (jobs, days)
    assert description.offered_load == pytest.approx(load, abs=0.0051)
    for column, stated in (("cores", cores), ("run_s", run_s)):
        amount = description.percentiles[column]
        assert amount is not None
        assert (amount["p50"], amount["p90"], amount["max"]) == stated
    assert round(100 * description.serial_share) == serial
    assert description.arrivals["gap_cv"] == pytest.approx(cv, abs=0.051)
    assert description.arrivals["hourly_dispersion"] == pytest.approx(dispersion, abs=0.051)
    assert description.arrivals["peak_to_mean_hour"] == pytest.approx(peak, rel=0.01)


def test_what_logs_of_the_archive_do_not_tell() -> None:
    lublin = described("lublin_256")
    assert {"requested times", "waits", "memory", "users", "groups"} <= set(lublin.absent)
    assert (lublin.median_run_to_request, lublin.dates) == (None, None)
    kth = described("KTH-SP2-1996-2.1-cln")
    assert kth.absent == ["memory", "queues", "partitions", "priorities"]
    # The header says that time 0 is 23 September 1996, 14:00:31 in Stockholm.
    assert kth.dates is not None
    assert (kth.dates[0].date().isoformat(), kth.clock.meaning) == ("1996-09-30", "local standard time")
    assert kth.statuses == pytest.approx({"completed": 0.7317, "failed": 0.2683}, abs=1e-4)
    assert kth.beyond_request_jobs == 0
    nasa = described("NASA-iPSC-1993-3.1-cln")
    assert [(entry.rule, entry.count) for entry in nasa.ledger.entries] == [("run time 0 s: job dropped", 173)]
