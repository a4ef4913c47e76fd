"""Metrics: values worked out by hand, and a plain-Python version of every formula on random schedules."""

from __future__ import annotations

import json
import math
import random
import statistics
from itertools import pairwise

import pytest

from shunter.metrics.table import METRICS, compute_metrics
from shunter.model.cluster import Cluster, Node
from shunter.model.schedule import Outcome, RejectReason, Schedule
from tests.metrics.handmade import Row, cluster, make_schedule, pool
from tests.metrics.plain_segments import plain_gpu_metrics


def test_a_tiny_schedule_by_hand() -> None:
    """Two nodes of 2 cores; time goes to the right, one column is 10 s.

    ```
    n0  1 1 1 1 .      job 1: submit 0, runs 0-40, one core of n0
        2 2 3 3 .      job 2: submit 0, runs 0-20, one core of n0
    n1  . . 3 3 .      job 3: submit 5, runs 20-40, a core on each node
        . . . 4 4      job 4: submit 10, runs 30-50, one core of n1
    ```
    """
    rows = [
        Row(0, 0, 40, {0: 1}, user="ada", memory=100.0, gpus=0.25),
        Row(0, 0, 20, {0: 1}, user="ben", memory=None, gpus=2.0),
        Row(5, 20, 40, {0: 1, 1: 1}, user="ada", memory=50.0),
        Row(10, 30, 50, {1: 1}, user="ben", memory=10.0),
    ]
    metrics = compute_metrics(make_schedule(rows, cluster(Node("n0", 2, 1000, 4, tflops=7.0), Node("n1", 2, 1000))))
    # Utilization of (n0, n1): (1, 0) for 20 s, (1, 1/2) for 10 s, (1, 1) for 10 s, (0, 1/2) for 10 s.
    variance = (0.25 * 20 + 0.0625 * 10 + 0 * 10 + 0.0625 * 10) / 50
    slowdowns = [1.0, 1.0, 35 / 20, 2.0]
    ada, ben = (1 + 1.75) / 2, (1 + 2) / 2
    expected = {
        "mean_wait_s": 35 / 4,
        "mean_first_wait_s": 35 / 4,
        "median_wait_s": 7.5,
        "p95_wait_s": 15 + 0.85 * 5,
        "p99_wait_s": 15 + 0.97 * 5,
        "max_wait_s": 20.0,
        "mean_turnaround_s": (40 + 20 + 35 + 40) / 4,
        "mean_slowdown": sum(slowdowns) / 4,
        "mean_bounded_slowdown": sum(slowdowns) / 4,
        "makespan_s": 50.0,
        "core_utilization": (40 + 20 + 2 * 20 + 20) / (4 * 50),
        "memory_utilization": (100 * 40 + 2 * 50 * 20 + 10 * 20) / (2000 * 50),
        "gpu_utilization": (0.25 * 40 + 2 * 20) / (4 * 50),
        "flops_weighted_utilization": (0.25 * 40 + 2 * 20) / (4 * 50),
        # Of the four GPUs on n0, one and a quarter and then a quarter are left; it is partly used until 40.
        "mean_fragmentation": 40 / 50,
        "mean_partly_used_nodes": 40 / 50,
        "nodes_per_job": 1.0,
        "load_imbalance": variance,
        "completion_rate": 1.0,
        "mean_queue_length": 35 / 50,
        "throughput_jobs_per_hour": 4 * 3600 / 50,
        "jain_fairness_users": (ada + ben) ** 2 / (2 * (ada**2 + ben**2)),
        "preemptions": 0.0,
        "failures": 0.0,
        "migrations": 0.0,
        "lost_gpu_hours": 0.0,
    }
    assert list(metrics) == list(METRICS)
    assert metrics.pop("milp_fallbacks") is None
    assert metrics.pop("cancelled_jobs") is None
    assert metrics == pytest.approx(expected, rel=1e-13)


def test_short_jobs_count_as_ten_seconds_in_the_bounded_slowdown_only() -> None:
    metrics = compute_metrics(make_schedule([Row(0, 38, 40, {0: 1})], pool(1)))
    assert metrics["mean_slowdown"] == 20.0
    assert metrics["mean_bounded_slowdown"] == 4.0


def test_a_bounded_slowdown_is_at_least_one() -> None:
    assert compute_metrics(make_schedule([Row(0, 1, 2, {0: 1})], pool(1)))["mean_bounded_slowdown"] == 1.0


def test_a_job_of_zero_seconds_is_left_out_of_the_slowdown() -> None:
    rows = [Row(0, 5, 5, {0: 1}), Row(0, 5, 10, {0: 1})]
    metrics = compute_metrics(make_schedule(rows, pool(2)))
    assert metrics["mean_slowdown"] == 2.0
    assert metrics["mean_wait_s"] == 5.0


def test_rejected_jobs_count_in_the_completion_rate_alone() -> None:
    rejected = Row(0, None, None, outcome=Outcome.REJECTED, reason=RejectReason.CORES)
    killed = Row(100, 100, 200, {0: 1}, outcome=Outcome.KILLED)
    metrics = compute_metrics(make_schedule([rejected, killed, Row(100, 150, 300, {0: 1})], pool(2)))
    assert metrics["completion_rate"] == pytest.approx(1 / 3)
    assert metrics["makespan_s"] == 200.0
    assert metrics["mean_wait_s"] == 25.0
    assert metrics["mean_queue_length"] == 50 / 200
    assert metrics["core_utilization"] == (100 + 150) / (2 * 200)
    assert metrics["throughput_jobs_per_hour"] == 18.0


def test_a_job_that_never_started_waits_until_the_last_end() -> None:
    rows = [Row(0, 0, 100, {0: 1}), Row(60, None, None, outcome=Outcome.UNFINISHED)]
    assert compute_metrics(make_schedule(rows, pool(1)))["mean_queue_length"] == 0.4


@pytest.mark.parametrize("outcome", [Outcome.REJECTED, Outcome.UNFINISHED])
def test_no_job_started(outcome: Outcome) -> None:
    metrics = compute_metrics(make_schedule([Row(0, None, None, outcome=outcome)], pool(1)))
    assert metrics.pop("completion_rate") == 0.0
    assert set(metrics.values()) == {None}


def test_zero_makespan_gives_no_rates() -> None:
    metrics = compute_metrics(make_schedule([Row(7, 7, 7, {0: 1})], cluster(Node("a", 1), Node("b", 1))))
    assert metrics["makespan_s"] == 0.0
    for name in ("core_utilization", "load_imbalance", "mean_queue_length", "throughput_jobs_per_hour"):
        assert metrics[name] is None
    assert "NaN" not in json.dumps(metrics, allow_nan=False)


def test_gpu_utilization_needs_gpus() -> None:
    assert compute_metrics(make_schedule([Row(0, 0, 10, {0: 1})], pool(1)))["gpu_utilization"] is None


def test_memory_utilization_needs_memory_on_all_nodes_and_in_some_job() -> None:
    rows = [Row(0, 0, 10, {0: 1}, memory=5.0)]
    assert compute_metrics(make_schedule(rows, cluster(Node("a", 1, 10), Node("b", 1))))["memory_utilization"] is None
    assert compute_metrics(make_schedule(rows, cluster(Node("a", 1, 10))))["memory_utilization"] == 0.5
    assert (
        compute_metrics(make_schedule([Row(0, 0, 10, {0: 1})], cluster(Node("a", 1, 10))))["memory_utilization"] is None
    )


def test_one_host_and_equal_hosts_are_balanced() -> None:
    assert compute_metrics(make_schedule([Row(0, 0, 10, {0: 1})], pool(3)))["load_imbalance"] == 0.0
    nodes = [Node(f"n{number}", 3) for number in range(7)]
    rows = [Row(0, 0.1, 10.3, dict.fromkeys(range(7), 1)), Row(0, 0.7, 33.3, dict.fromkeys(range(7), 1))]
    assert compute_metrics(make_schedule(rows, cluster(*nodes)))["load_imbalance"] == 0.0


def test_large_submit_times_lose_nothing() -> None:
    base = 1_700_000_000.123
    metrics = compute_metrics(make_schedule([Row(base, base + 0.001, base + 10.001, {0: 1})], pool(1)))
    assert metrics["mean_wait_s"] == 0.001
    assert metrics["makespan_s"] == 10.001


@pytest.mark.parametrize("seed", range(12))
def test_random_schedules_agree_with_plain_python(seed: int) -> None:
    schedule = random_schedule(random.Random(seed))
    metrics = compute_metrics(schedule)
    assert metrics.pop("milp_fallbacks") is None
    assert metrics.pop("cancelled_jobs") is None
    assert metrics == pytest.approx(plain_metrics(schedule), rel=1e-11)


def random_schedule(rng: random.Random) -> Schedule:
    """Returns jobs thrown onto nodes without regard for their room, which the formulas do not need."""
    nodes = [
        Node(f"n{number}", rng.choice([4, 6, 16]), 1000, 8, tflops=rng.choice([5.0, 9.0]))
        for number in range(rng.choice([1, 2, 9]))
    ]
    rows = []
    for submit in sorted(rng.randrange(0, 400_000) / 1000 for _ in range(60)):
        start = submit + rng.choice([0, rng.randrange(0, 300_000) / 1000])
        placed = {node: rng.randint(1, 3) for node in rng.sample(range(len(nodes)), rng.randint(1, len(nodes)))}
        outcome = rng.choice([Outcome.COMPLETED, Outcome.COMPLETED, Outcome.KILLED, Outcome.REJECTED])
        memory, user = rng.choice([None, 64.0, 100.0]), rng.choice([None, "ada", "ben", "cy"])
        if outcome is Outcome.REJECTED:
            rows.append(Row(submit, None, None, outcome=outcome, reason=RejectReason.CORES, user=user))
        else:
            end = start + rng.choice([0, 5, rng.randrange(1, 200_000) / 1000])
            gpus = rng.choice([0.0, 0.5, 2.0])
            rows.append(Row(submit, start, end, placed, rng.choice([0.5, 1.0, 2.0]), memory, gpus, user, outcome))
    return make_schedule(rows, cluster(*nodes))


def plain_metrics(schedule: Schedule) -> dict[str, float | None]:
    """Returns the metrics by their definitions, one job, one host and one interval at a time."""
    jobs = [
        {**job, "start": start, "end": end, "row": row}
        for row, (job, start, end) in enumerate(
            zip(schedule.workload.jobs.iter_rows(named=True), schedule.start_s, schedule.end_s, strict=True)
        )
        if not math.isnan(start)
    ]
    waits = sorted(job["start"] - job["submit_s"] for job in jobs)
    runs = [job["end"] - job["start"] for job in jobs]
    turnarounds = [job["end"] - job["submit_s"] for job in jobs]
    bounded = [max(1, turnaround / max(run, 10)) for turnaround, run in zip(turnarounds, runs, strict=True)]
    makespan = max(job["end"] for job in jobs) - min(job["submit_s"] for job in jobs)
    core_s = sum(job["tasks"] * job["cores_per_task"] * run for job, run in zip(jobs, runs, strict=True))
    memory = sum(job["tasks"] * (job["memory_mb_per_task"] or 0) * run for job, run in zip(jobs, runs, strict=True))
    by_user: dict[str, list[float]] = {}
    for job, value in zip(jobs, bounded, strict=True):
        if job["user"] is not None:
            by_user.setdefault(job["user"], []).append(value)
    means = [statistics.fmean(values) for values in by_user.values()]
    completed = sum(1 for outcome in schedule.outcome if outcome == Outcome.COMPLETED)
    return {
        "mean_wait_s": statistics.fmean(waits),
        "mean_first_wait_s": statistics.fmean(waits),
        "median_wait_s": statistics.median(waits),
        "p95_wait_s": interpolated(waits, 0.95),
        "p99_wait_s": interpolated(waits, 0.99),
        "max_wait_s": waits[-1],
        "mean_turnaround_s": statistics.fmean(turnarounds),
        "mean_slowdown": statistics.fmean(t / r for t, r in zip(turnarounds, runs, strict=True) if round(r, 3) > 0),
        "mean_bounded_slowdown": statistics.fmean(bounded),
        "makespan_s": makespan,
        "core_utilization": core_s / sum(node.cores for node in schedule.cluster.nodes) / makespan,
        "memory_utilization": memory / sum(node.memory_mb or 0 for node in schedule.cluster.nodes) / makespan,
        "load_imbalance": plain_imbalance(schedule, makespan),
        "completion_rate": completed / len(schedule),
        "mean_queue_length": sum(waits) / makespan,
        "throughput_jobs_per_hour": completed / (makespan / 3600),
        "jain_fairness_users": sum(means) ** 2 / (len(means) * sum(mean**2 for mean in means)),
        **plain_gpu_metrics(schedule),
    }


def interpolated(values: list[float], q: float) -> float:
    place = q * (len(values) - 1)
    low = int(place)
    return values[low] + (values[min(low + 1, len(values) - 1)] - values[low]) * (place - low)


def plain_imbalance(schedule: Schedule, makespan: float) -> float:
    moments = sorted({float(time) for time in [*schedule.start_s, *schedule.end_s] if not math.isnan(time)})
    total = 0.0
    for begin, end in pairwise(moments):
        used = host_utilization(schedule, (begin + end) / 2, schedule.cluster)
        total += statistics.pvariance(used) * (end - begin)
    return total / makespan


def host_utilization(schedule: Schedule, moment: float, on: Cluster) -> list[float]:
    used = [0.0] * len(on.nodes)
    for row in range(len(schedule)):
        if schedule.start_s[row] <= moment < schedule.end_s[row]:
            for entry in range(schedule.placement_offsets[row], schedule.placement_offsets[row + 1]):
                cores = schedule.workload.jobs["cores_per_task"][row] * schedule.placement_tasks[entry]
                used[schedule.placement_nodes[entry]] += float(cores)
    return [cores / node.cores for cores, node in zip(used, on.nodes, strict=True)]
