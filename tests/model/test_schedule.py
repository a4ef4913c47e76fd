"""The schedule's table and its hash."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from shunter.model.cluster import Node
from shunter.model.schedule import BASES, Outcome, RejectReason, Schedule, count_bases
from tests.metrics.handmade import Row, cluster, make_schedule


@pytest.fixture
def schedule() -> Schedule:
    rows = [
        Row(0, 1, 5.5, {2: 1}, user="ada"),
        Row(2, None, None, outcome=Outcome.REJECTED, reason=RejectReason.CORES, cores=9, tasks=2),
        Row(3, 13, 33, {0: 2, 2: 1}, cores=2, outcome=Outcome.KILLED),
        Row(4, None, None, outcome=Outcome.UNFINISHED),
    ]
    return make_schedule(rows, cluster(Node("n0", 4), Node("n1", 4), Node("n2", 4)))


def test_one_row_a_job(schedule: Schedule) -> None:
    rows = schedule.to_frame().rows(named=True)
    assert rows[0] == {
        "job_id": 1,
        "user": "ada",
        "submit_s": 0.0,
        "start_s": 1.0,
        "latest_start_s": 1.0,
        "end_s": 5.5,
        "queue_wait_s": 1.0,
        "duration_s": 4.5,
        "turnaround_s": 5.5,
        "bounded_slowdown": 1.0,
        "tasks": 1,
        "cores": 1.0,
        "memory_mb": None,
        "gpus": 0.0,
        "gpu_type": None,
        "partition": None,
        "nodes": [{"node": "n2", "tasks": 1}],
        "success": True,
        "outcome": "completed",
        "reason": None,
        "preemptions": 0,
        "failures": 0,
    }
    assert rows[2]["nodes"] == [{"node": "n0", "tasks": 2}, {"node": "n2", "tasks": 1}]
    assert (rows[2]["cores"], rows[2]["success"], rows[2]["outcome"]) == (6.0, False, "killed")
    assert rows[2]["bounded_slowdown"] == 30 / 20
    assert rows[2]["reason"] == "killed at its requested time"


def test_what_does_not_apply_is_null(schedule: Schedule) -> None:
    rejected, unfinished = (schedule.to_frame().row(row, named=True) for row in (1, 3))
    for row in (rejected, unfinished):
        assert {row[name] for name in ("start_s", "end_s", "queue_wait_s", "bounded_slowdown", "user")} == {None}
        assert row["nodes"] is None
        assert row["success"] is False
    assert (
        rejected["reason"] == "asks for 2 tasks of 9 cores; the cluster has 12 cores on 3 nodes, at most 4 cores on one"
    )
    assert (unfinished["outcome"], unfinished["reason"]) == ("unfinished", None)


def test_the_hash_sees_times_outcomes_and_places(schedule: Schedule) -> None:
    same = replace(schedule, start_s=schedule.start_s.copy())
    assert same.content_sha256 == schedule.content_sha256
    changed = [
        replace(schedule, start_s=schedule.start_s + 0.001),
        replace(schedule, end_s=schedule.end_s + 0.001),
        replace(schedule, outcome=np.zeros_like(schedule.outcome)),
        replace(schedule, placement_nodes=np.roll(schedule.placement_nodes, 1)),
        replace(schedule, placement_tasks=np.roll(schedule.placement_tasks, 1)),
    ]
    assert len({schedule.content_sha256, *(other.content_sha256 for other in changed)}) == 6


def test_what_the_jobs_that_ran_were_estimated_on(schedule: Schedule) -> None:
    assert schedule.bases() == {}, "nobody noted it"
    noted = np.array([BASES.index(name) for name in ("prior", "request", "prior", "learned")], dtype=np.uint8)
    # The second job was rejected, the last one has not started.
    assert replace(schedule, estimate_basis=noted).bases() == {"prior": 2}
    assert replace(schedule, estimate_basis=noted[::-1]).bases() == {"request": 1, "learned": 1}


def test_bases_are_counted_over_windows_too() -> None:
    assert count_bases(np.array([[0, 4, 4], [5, 4, 0]], dtype=np.uint8)) == {"request": 2, "learned": 3, "prior": 1}
    assert count_bases(np.array([], dtype=np.uint8)) == {}


def test_the_hash_does_not_see_what_was_estimated(schedule: Schedule) -> None:
    noted = replace(schedule, estimate_basis=np.zeros(4, dtype=np.uint8))
    assert noted.content_sha256 == schedule.content_sha256


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (RejectReason.MEMORY, "asks for 2 tasks of 600 MB; the cluster has 1,000 MB on 2 nodes, at most 500 MB on one"),
        (RejectReason.GPUS, "asks for 2 tasks of 3 GPUs; the cluster has 3 GPUs on 2 nodes, at most 2 GPUs on one"),
        (
            RejectReason.COMBINATION,
            "asks for 2 tasks of (1 core, 600 MB, 3 GPUs); no nodes of the cluster have room for that together "
            "(largest: b with 4 cores, 500 MB, 2 GPUs)",
        ),
        (RejectReason.NO_SUCH_PARTITION, "asks for partition None; the cluster has no partitions"),
    ],
)
def test_why_a_job_was_rejected(reason: RejectReason, text: str) -> None:
    row = Row(0, None, None, memory=600.0, gpus=3, outcome=Outcome.REJECTED, reason=reason, tasks=2)
    nodes = cluster(Node("a", 4, 500, 1), Node("b", 4, 500, 2))
    assert make_schedule([row], nodes).to_frame()["reason"].to_list() == [text]
