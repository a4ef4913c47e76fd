"""Explanations tell the truth: without the jobs that are named, the job starts earlier."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

from shunter import Cluster, Workload
from shunter.metrics.explanation import explain
from shunter.metrics.record import Record
from shunter.model.cluster import Node
from shunter.model.schedule import Schedule
from shunter.simulation import simulate

JOBS = 120
CLUSTERS = {
    "pool": Cluster.pool(24),
    "gpus": Cluster.from_nodes(tuple(Node(f"n{number}", 64, None, 8) for number in range(4)), "gpus"),
    "fractions": Cluster.from_nodes(tuple(Node(f"n{number}", 32, None, 4) for number in range(2)), "fractions"),
    "partitions": Cluster.from_nodes(
        tuple(Node(f"n{number}", 64, None, 8, partitions=("ab"[number % 2],)) for number in range(4)), "partitions"
    ),
}
GPUS = {"pool": [0.0], "gpus": [1.0, 1.0, 2.0, 4.0, 8.0], "fractions": [0.25, 0.5, 1.0, 2.0]}
APART_S = {"pool": 30, "gpus": 60, "fractions": 20, "partitions": 60}


@cache
def workload(kind: str, seed: int) -> Workload:
    rng = np.random.default_rng(seed)
    gpus = rng.choice(GPUS.get(kind, GPUS["gpus"]), JOBS)
    frame = pl.DataFrame(
        {
            "submit_s": np.sort(rng.uniform(0, JOBS * APART_S[kind], JOBS)).round(3),
            "run_s": rng.lognormal(5, 1.2, JOBS).round(3),
            "requested_s": rng.lognormal(6, 1, JOBS).round(0) + 1,
            "tasks": rng.integers(1, 9, JOBS) if kind == "pool" else np.where(gpus == 4, rng.integers(1, 4, JOBS), 1),
            "cores_per_task": np.where(gpus > 0, 4.0, rng.choice([1.0, 2.0], JOBS)),
            "gpus_per_task": gpus,
        }
    )
    if kind == "partitions":
        frame = frame.with_columns(partition=rng.choice(["a", "b"], JOBS))
    return Workload.from_frame(frame, name=kind)


def starts_earlier(schedule: Schedule, row: int, settings: dict[str, Any]) -> bool:
    """Returns whether a job starts earlier without the jobs that its explanation names."""
    named = {blocker.row for blocker in explain(Record.of(schedule), row).blockers}
    assert named, "somebody is to blame for every wait"
    jobs = schedule.workload.jobs
    kept = np.array([number not in named for number in range(len(jobs))])
    without = simulate(Workload.from_frame(jobs.filter(pl.Series(kept)), name="fork"), schedule.cluster, **settings)
    return bool(without.start_ms[np.count_nonzero(kept[:row])] < schedule.start_ms[row])


def truths(kind: str, settings: dict[str, Any], seeds: range, jobs: int = 4) -> list[bool]:
    found = []
    for seed in seeds:
        schedule = simulate(workload(kind, seed), CLUSTERS[kind], **settings)
        waited = np.flatnonzero(schedule.queue_wait_s > 0)
        for row in np.random.default_rng(seed).choice(waited, min(jobs, len(waited)), replace=False).tolist():
            found.append(starts_earlier(schedule, row, settings))
    return found


@pytest.mark.every(4)
@pytest.mark.parametrize("kind", CLUSTERS)
@pytest.mark.parametrize("dispatch", ["strict", "easy", "greedy", "conservative"])
def test_first_come_first_served(kind: str, dispatch: str) -> None:
    placement = {"pool": "first-fit", "gpus": "pack", "fractions": "best-fit", "partitions": "spread"}[kind]
    found = truths(kind, {"policy": "fcfs", "dispatch": dispatch, "placement": placement}, range(4))
    assert len(found) >= 12
    assert all(found)


@pytest.mark.every(3)
@pytest.mark.parametrize("policy", ["sjf", "saf", "wfp3"])
@pytest.mark.parametrize("dispatch", ["strict", "easy", "greedy"])
def test_other_orders_nearly_always(policy: str, dispatch: str) -> None:
    """A job that came later and waits on may take the place of those that are gone; the record cannot tell."""
    found = [
        truth
        for kind in CLUSTERS
        for truth in truths(kind, {"policy": policy, "dispatch": dispatch, "placement": "pack"}, range(2))
    ]
    assert np.mean(found) >= 0.9


@pytest.mark.every(4)
@pytest.mark.parametrize("kind", CLUSTERS)
@pytest.mark.parametrize(
    "settings",
    [
        {"policy": "srtf"},
        {"policy": "las", "preemption_overhead_s": 30},
        {"policy": "fcfs", "mtbf_s": 3000, "mttr_s": 900},
        {"policy": "srtf", "mtbf_s": 3000, "mttr_s": 900},
    ],
    ids=str,
)
def test_all_waiting_of_jobs_that_were_stopped_is_told(kind: str, settings: dict[str, Any]) -> None:
    """Every wait counts, as it does in `mean_wait_s`."""
    schedule = simulate(workload(kind, 1), CLUSTERS[kind], **settings)
    record = Record.of(schedule)
    again = np.flatnonzero(schedule.wait_s > schedule.queue_wait_s).tolist()
    assert again, "somebody waits again"
    for row in again:
        found = explain(record, row)
        assert found.stops
        assert found.waited_ms / 1000 == pytest.approx(schedule.wait_s[row])
        assert sum(moment.until_ms - moment.from_ms for moment in found.moments) == pytest.approx(found.waited_ms)
        assert sum(phase.waited_ms for phase in found.phases) == pytest.approx(found.waited_ms)
        assert found.blockers or record.may_fail, "somebody, or a failed node, is to blame for every wait"
