"""The metrics of many windows are those of each window's own simulation."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import polars as pl
import pytest

from shunter import Cluster, InputError, Workload, compute_metrics
from shunter.metrics.table import METRICS, window_metrics
from shunter.metrics.window_metrics import WindowColumns, compute_window_metrics
from shunter.model.cluster import Node
from shunter.model.windows import Windows, choose_windows
from shunter.policies.scheduler import resolve_scheduler
from shunter.simulation import WindowRunner, simulate

CLUSTER = Cluster.from_nodes(tuple(Node(f"n{number}", 8.0, 4000, 8) for number in range(4)), name="four")


@cache
def workload() -> Workload:
    """Returns 400 jobs that queue up; some have no user or memory request, some can never fit, some run for 0 s."""
    random = np.random.default_rng(5)
    jobs = 400
    users = np.array(["ada", "bob", "cyd", None])[random.integers(4, size=jobs)]
    frame = pl.DataFrame(
        {
            "submit_s": 1e9 + np.sort(random.integers(0, 20_000, size=jobs)).astype(float),
            "run_s": random.integers(0, 400, size=jobs).astype(float),
            "requested_s": random.integers(100, 300, size=jobs).astype(float),
            "tasks": np.where(random.random(jobs) < 0.05, 40, random.integers(1, 12, size=jobs)),
            "memory_mb_per_task": np.array([None, 100.0, 900.0])[random.integers(3, size=jobs)].tolist(),
            "gpus_per_task": random.choice([0.0, 0.5, 1.0], size=jobs),
            "user": users.tolist(),
        }
    )
    return Workload.from_frame(frame, name="made")


@pytest.mark.parametrize("kill", [False, True])
def test_each_window_equals_its_own_simulation(kill: bool) -> None:
    windows = choose_windows(len(workload()), count=8, length=60, seed=3)
    settings = resolve_scheduler(policy="sjf", kill_at_request=kill)
    results = WindowRunner(workload(), CLUSTER).run(settings, windows.first.tolist(), windows.length)
    metrics = compute_window_metrics(WindowColumns(workload(), windows, CLUSTER), results, list(window_metrics()))
    for row, first in enumerate(windows.first.tolist()):
        schedule = simulate(workload().window(first, 60), CLUSTER, policy="sjf", kill_at_request=kill)
        assert schedule.rejected.any()
        expected = compute_metrics(schedule)
        for name in window_metrics():
            wanted = np.nan if expected[name] is None else expected[name]
            assert metrics[name][row] == pytest.approx(wanted, rel=1e-12, nan_ok=True), name


PLACEMENTS_NEEDED = ("flops_weighted_utilization", "mean_fragmentation", "mean_partly_used_nodes", "nodes_per_job")
STOPS_NEEDED = ("preemptions", "failures", "migrations", "milp_fallbacks")


def test_all_metrics_are_there_but_those_that_need_placements_or_stops() -> None:
    absent = {"load_imbalance", *PLACEMENTS_NEEDED, *STOPS_NEEDED}
    assert [name for name in METRICS if name not in absent] == list(window_metrics())


def test_the_warm_up_is_simulated_but_not_measured() -> None:
    """One core; job 1 runs for 100 s from 0, jobs 2 and 3 of 50 s come at 10 and 20: they wait for 90 and 130 s."""
    frame = pl.DataFrame({"submit_s": [0.0, 10.0, 20.0], "run_s": [100.0, 50.0, 50.0]})
    jobs = Workload.from_frame(frame, name="three")
    cluster = Cluster.pool(1)
    windows = Windows(np.array([1], dtype=np.uintp), np.array([0]), length=2, warmup=1)
    runner = WindowRunner(jobs, cluster)
    results = runner.run(resolve_scheduler(), windows.simulated_first.tolist(), windows.simulated_length)
    metrics = compute_window_metrics(WindowColumns(jobs, windows, cluster), results, list(window_metrics()))
    values = {name: values.tolist() for name, values in metrics.items()}
    assert values["mean_wait_s"] == [110.0]
    assert values["max_wait_s"] == [130.0]
    assert values["mean_bounded_slowdown"] == [(140 / 50 + 180 / 50) / 2]
    assert values["makespan_s"] == [200.0]
    assert values["core_utilization"] == [1.0]
    assert values["mean_queue_length"] == [220 / 200]
    assert values["throughput_jobs_per_hour"] == [3 * 3600 / 200]
    assert np.isnan(values["jain_fairness_users"] + values["memory_utilization"]).all()


def test_a_window_in_which_nothing_ran_has_no_metrics() -> None:
    jobs = Workload.from_frame(pl.DataFrame({"submit_s": [0.0, 1.0], "run_s": [5.0, 5.0], "tasks": [9, 1]}), name="two")
    windows = Windows(np.array([0, 1], dtype=np.uintp), np.array([0, 1]), length=1, warmup=0)
    cluster = Cluster.pool(4)
    results = WindowRunner(jobs, cluster).run(resolve_scheduler(), [0, 1], 1)
    metrics = compute_window_metrics(WindowColumns(jobs, windows, cluster), results, list(window_metrics()))
    assert metrics["completion_rate"].tolist() == [0.0, 1.0]
    for name in ("mean_wait_s", "p95_wait_s", "mean_slowdown", "makespan_s", "core_utilization"):
        assert np.isnan(metrics[name]).tolist() == [True, False], name


def test_only_what_is_asked_for_is_computed() -> None:
    windows = choose_windows(len(workload()), count=2, length=60)
    results = WindowRunner(workload(), CLUSTER).run(resolve_scheduler(), windows.first.tolist(), 60)
    columns = WindowColumns(workload(), windows, CLUSTER)
    # Without start times there are no waits, but the makespan needs only ends.
    metrics = compute_window_metrics(columns, replace(results, start_ms=np.zeros(0, dtype=np.int64)), ["makespan_s"])
    assert list(metrics) == ["makespan_s"]
    with pytest.raises(InputError, match="unknown metric 'mean_weight_s'; did you mean 'mean_wait_s'"):
        compute_window_metrics(columns, results, ["mean_weight_s"])
