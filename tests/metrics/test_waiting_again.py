"""A job that was stopped and waited again has waited both times; its first wait is a metric of its own."""

from __future__ import annotations

import polars as pl

from shunter import Cluster, Workload, compute_metrics, simulate
from shunter.comparison.bench import Bench
from shunter.model.log import Log
from shunter.model.windows import Windows
from shunter.policies.scheduler import resolve_scheduler

METRICS = ("mean_wait_s", "mean_first_wait_s", "median_wait_s", "p95_wait_s", "p99_wait_s", "max_wait_s")


def test_all_waiting_counts() -> None:
    """The long job starts at once, is stopped at 10 s for a short one of 20 s, and goes on at 30 s."""
    frame = pl.DataFrame({"submit_s": [0.0, 10.0], "run_s": [100.0, 20.0], "requested_s": [100.0, 20.0]})
    workload, cluster = Workload.from_frame(frame, name="two"), Cluster.pool(1)
    metrics = compute_metrics(simulate(workload, cluster, policy="srtf"))
    assert (metrics["mean_wait_s"], metrics["mean_first_wait_s"], metrics["max_wait_s"]) == (10.0, 0.0, 20.0)
    found = Bench.on(Log(workload, cluster), Windows.whole(2)).measure(resolve_scheduler(policy="srtf"), METRICS)
    assert {name: float(values[0]) for name, values in found.items()} == {name: metrics[name] for name in METRICS}


def test_without_stops_both_are_the_same() -> None:
    frame = pl.DataFrame({"submit_s": [0.0, 10.0], "run_s": [100.0, 20.0]})
    metrics = compute_metrics(simulate(Workload.from_frame(frame, name="two"), Cluster.pool(1)))
    assert metrics["mean_wait_s"] == metrics["mean_first_wait_s"] == 45.0
