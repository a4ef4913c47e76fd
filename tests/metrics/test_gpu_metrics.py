"""Metrics of GPUs and of stops: by hand, and against a plain version on random schedules."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from shunter.metrics.run import turnaround_by_gpus, turnaround_by_priority
from shunter.metrics.table import compute_metrics
from shunter.model.cluster import Node
from shunter.model.schedule import Outcome, Schedule
from tests.metrics.handmade import SETTINGS, Row, Stop, cluster, make_schedule
from tests.metrics.plain_segments import plain_gpu_metrics


def gpu_node(name: str, gpus: int, speed: float = 1.0, tflops: float | None = None) -> Node:
    return Node(name, 64, None, gpus, speed=speed, tflops=tflops)


def test_a_preempted_job_by_hand() -> None:
    """Two nodes of 4 GPUs, the second twice as fast; one column is 10 s.

    ```
    n0  1 1 . . . .     job 1: 2 GPUs, 50 s of work; preempted at 20, and that is lost; again from 30 on
    n1  . . . 1 1 1     n1: 5 s of overhead, 25 s of work
    ```
    """
    row = Row(0, 30, 60, {1: 1}, gpus=2, run=50, stops=[Stop(0, 20, {0: 1})])
    on = cluster(gpu_node("n0", 4, 1.0, 10.0), gpu_node("n1", 4, 2.0, 20.0))
    schedule = make_schedule([row], on, replace(SETTINGS, preempted_progress="lost", preemption_overhead_s=5.0))
    metrics = compute_metrics(schedule)
    assert metrics["gpu_utilization"] == pytest.approx(2 * 50 / (8 * 60))
    assert metrics["flops_weighted_utilization"] == pytest.approx((2 * 10 * 20 + 2 * 20 * 30) / (120 * 60))
    # Of 6 free GPUs, 2 stand on the node in use; nothing is in use for 10 s.
    assert metrics["mean_fragmentation"] == pytest.approx(50 * (2 / 6) / 60)
    assert metrics["mean_partly_used_nodes"] == pytest.approx(50 / 60)
    assert metrics["mean_queue_length"] == pytest.approx(10 / 60)
    assert (metrics["preemptions"], metrics["failures"], metrics["migrations"]) == (1.0, 0.0, 1.0)
    assert metrics["lost_gpu_hours"] == pytest.approx(2 * (20 + 5) / 3600)
    assert metrics["mean_turnaround_s"] == 60
    assert metrics["mean_slowdown"] == pytest.approx(60 / 25)
    assert metrics["core_utilization"] == pytest.approx(50 / (128 * 60))
    assert metrics["nodes_per_job"] == 1.0


def test_a_job_that_resumes_where_it_was_loses_only_its_overhead() -> None:
    row = Row(0, 30, 65, {0: 1}, gpus=1, run=50, stops=[Stop(0, 20, {0: 1}, by_failure=True)])
    settings = replace(SETTINGS, failed_progress="kept", preemption_overhead_s=5.0)
    metrics = compute_metrics(make_schedule([row], cluster(gpu_node("n0", 1)), settings))
    assert metrics["lost_gpu_hours"] == pytest.approx(5 / 3600)
    assert (metrics["preemptions"], metrics["failures"], metrics["migrations"]) == (0.0, 1.0, 0.0)
    assert metrics["mean_bounded_slowdown"] == pytest.approx(65 / 50)
    assert metrics["flops_weighted_utilization"] is None


def test_everything_that_a_failed_job_held_is_lost() -> None:
    row = Row(0, 30, 65, {0: 1}, gpus=1, run=50, stops=[Stop(0, 20, {0: 1}, by_failure=True)], outcome=Outcome.FAILED)
    metrics = compute_metrics(make_schedule([row], cluster(gpu_node("n0", 1))))
    assert metrics["lost_gpu_hours"] == pytest.approx(55 / 3600)
    assert metrics["completion_rate"] == 0.0


def test_a_full_and_an_empty_node_are_not_fragmented() -> None:
    metrics = compute_metrics(
        make_schedule([Row(0, 0, 10, {0: 4}, gpus=1)], cluster(gpu_node("a", 4), gpu_node("b", 4)))
    )
    assert (metrics["mean_fragmentation"], metrics["mean_partly_used_nodes"]) == (0.0, 0.0)
    metrics = compute_metrics(
        make_schedule([Row(0, 0, 10, {0: 1}, gpus=0.5)], cluster(gpu_node("a", 4), gpu_node("b", 4)))
    )
    assert metrics["mean_fragmentation"] == pytest.approx(3 / 7)
    assert metrics["mean_partly_used_nodes"] == 1.0


def test_without_gpus_there_is_nothing_to_tell() -> None:
    schedule = make_schedule([Row(0, 0, 10, {0: 1})], cluster(Node("a", 4)))
    metrics = compute_metrics(schedule)
    names = ("flops_weighted_utilization", "mean_fragmentation", "mean_partly_used_nodes", "nodes_per_job")
    assert {metrics[name] for name in (*names, "lost_gpu_hours")} == {None}
    assert turnaround_by_gpus(schedule) is None
    assert turnaround_by_priority(schedule) is None


def test_turnarounds_by_gpus_and_by_priority() -> None:
    sizes = [(1, 0.0), (1, 0.5), (5, 0.2), (2, 1.0), (1, 3.0), (1, 4.0), (2, 4.0), (9, 1.0)]
    rows = [
        Row(0, 0, 10 * (number + 1), {0: tasks}, gpus=gpus, priority=None if number == 0 else float(number % 2))
        for number, (tasks, gpus) in enumerate(sizes)
    ]
    schedule = make_schedule(rows, cluster(gpu_node("a", 64)))
    by_gpus = turnaround_by_gpus(schedule)
    assert by_gpus is not None
    assert {row["gpus"]: (row["jobs"], row["mean_s"]) for row in by_gpus} == {
        "none": (1, 10), "< 1": (1, 20), "1": (1, 30), "2": (1, 40), "3–4": (2, 55), "5–8": (1, 70), "9–16": (1, 80),
    }  # fmt: skip
    by_priority = turnaround_by_priority(schedule)
    assert by_priority is not None
    assert [(row["priority"], row["jobs"]) for row in by_priority] == [("unknown", 1), ("0", 3), ("1", 4)]
    turnarounds = {"mean_s": 50, "median_s": 50, "p95_s": pytest.approx(77)}
    assert by_priority[2] == {"priority": "1", "jobs": 4, **turnarounds, "mean_wait_s": 0.0}


def test_many_priorities_share_rows() -> None:
    rows = [Row(0, 0, 10, {0: 1}, priority=float(number)) for number in range(100)]
    by_priority = turnaround_by_priority(make_schedule(rows, cluster(Node("a", 100))))
    assert by_priority is not None
    assert [row["priority"] for row in by_priority] == ["0 to 24", "25 to 49", "50 to 74", "75 to 99"]


@pytest.mark.parametrize("seed", range(30))
def test_random_schedules_agree_with_the_plain_version(seed: int) -> None:
    schedule = random_schedule(random.Random(seed))
    metrics = compute_metrics(schedule)
    plain = plain_gpu_metrics(schedule)
    assert {name: metrics[name] for name in plain} == pytest.approx(plain, rel=1e-9, abs=1e-12)


def random_schedule(rng: random.Random) -> Schedule:
    """Returns jobs thrown onto nodes, some of them stopped, without regard for their room."""
    nodes = [
        gpu_node(
            f"n{number}", rng.choice([0, 2, 8]) if number else 8, rng.choice([0.5, 1.0, 2.5]), rng.choice([5.0, 80.0])
        )
        for number in range(rng.choice([1, 3, 7]))
    ]
    rows = []
    for submit in sorted(rng.randrange(0, 300) for _ in range(30)):
        now, stops, tasks = float(submit), [], rng.randint(1, 3)
        for _ in range(rng.choice([0, 0, 1, 3])):
            begin = now + rng.choice([0, 5, 30])
            now = begin + rng.choice([1, 20, 60])
            stops.append(Stop(begin, now, placed(rng, len(nodes), tasks), rng.random() < 0.5))
        start = now + rng.choice([0, 7, 40])
        outcome = rng.choice([Outcome.COMPLETED, Outcome.COMPLETED, Outcome.KILLED, Outcome.FAILED, Outcome.UNFINISHED])
        ends = outcome is not Outcome.UNFINISHED
        row = Row(
            submit,
            start if ends else None,
            start + rng.choice([0, 10, 90]) if ends else None,
            placed(rng, len(nodes), tasks) if ends else {},
            gpus=rng.choice([0.0, 0.25, 1.0, 2.0]),
            outcome=outcome,
            tasks=tasks,
            stops=stops,
            run=rng.choice([10, 60]),
            requested=rng.choice([10, 60]),
        )
        rows.append(row)
    rows.append(Row(300, 300, 500, {0: 1}, gpus=1.0))
    kept = ("kept", "lost")
    settings = replace(
        SETTINGS,
        preempted_progress=rng.choice(kept),
        failed_progress=rng.choice(kept),
        preemption_overhead_s=rng.choice([0.0, 8.0]),
    )
    return make_schedule(rows, cluster(*nodes), settings)


def placed(rng: random.Random, nodes: int, tasks: int) -> dict[int, int]:
    return dict(Counter(rng.randrange(nodes) for _ in range(tasks)))
