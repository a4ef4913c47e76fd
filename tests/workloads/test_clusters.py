"""A cluster for a log that tells none."""

from __future__ import annotations

import polars as pl

from shunter.model.workload import Workload
from shunter.workloads.clusters import infer_cluster


def _workload(**columns: list[float | None]) -> Workload:
    return Workload.from_frame(pl.DataFrame(columns), name="log")


def test_the_most_cores_at_once_make_a_pool() -> None:
    """The second starts when the first ends; the third overlaps the second by ten seconds."""
    workload = _workload(
        submit_s=[0.0, 0.0, 20.0], logged_wait_s=[0.0, 10.0, 15.0], run_s=[10.0, 35.0, 50.0], tasks=[8, 5, 2],
        cores_per_task=[1.0, 1.0, 2.25],
    )  # fmt: skip
    (node,) = infer_cluster(workload).nodes
    assert (node.cores, node.gpus, node.memory_mb) == (10.0, 0, None)


def test_gpus_make_nodes_of_eight() -> None:
    workload = _workload(
        submit_s=[0.0, 1.0], logged_wait_s=[0.0, None], run_s=[10.0, 10.0], tasks=[12, 8], gpus_per_task=[1, 1],
        cores_per_task=[4, 0],
    )  # fmt: skip
    cluster = infer_cluster(workload)
    assert [node.gpus for node in cluster.nodes] == [8, 8, 8]
    assert {node.cores for node in cluster.nodes} == {16.0}


def test_a_larger_task_makes_a_larger_node() -> None:
    workload = _workload(
        submit_s=[0.0], logged_wait_s=[0.0], run_s=[10.0], tasks=[1], gpus_per_task=[16], cores_per_task=[90]
    )
    (node,) = infer_cluster(workload).nodes
    assert (node.gpus, node.cores) == (16, 90.0)


def test_jobs_without_a_wait_start_when_they_are_submitted() -> None:
    (node,) = infer_cluster(_workload(submit_s=[0.0, 5.0], run_s=[6.0, 1.0], tasks=[2, 3])).nodes
    assert node.cores == 5.0
