"""Sizes of jobs: classes that double, and the resource that binds."""

from __future__ import annotations

import numpy as np
import polars as pl

from shunter import Cluster, Workload
from shunter.metrics.sizes import CORES, GPUS, used_resources
from shunter.model.cluster import Node


def workload(cores: list[float], gpus: list[float], run_s: list[float] | None = None) -> Workload:
    frame = pl.DataFrame(
        {
            "submit_s": [0.0] * len(cores),
            "run_s": run_s or [10.0] * len(cores),
            "cores_per_task": cores,
            "gpus_per_task": gpus,
        }
    )
    return Workload.from_frame(frame, name="sizes")


def cluster(cores: float, gpus: int) -> Cluster:
    return Cluster.from_nodes((Node("a", cores, gpus=gpus),), "one")


def test_classes_of_gpus() -> None:
    gpus = np.array([0.0, 0.25, 1.0, 2.0, 3.0, 4.0, 5.0, 8.0, 9.0])
    assert [GPUS.label(number) for number in GPUS.classes(gpus).tolist()] == [
        "none", "< 1", "1", "2", "3–4", "3–4", "5–8", "5–8", "9–16",
    ]  # fmt: skip


def test_classes_of_cores() -> None:
    cores = np.array([0.5, 1.0, 2.0, 3.0, 4.0, 7.0, 8.0])
    labels = [CORES.label(number) for number in CORES.classes(cores).tolist()]
    assert labels == ["≤ 1", "≤ 1", "2–3", "2–3", "4–7", "4–7", "8–15"]


def test_the_resource_that_binds_comes_first() -> None:
    both = workload([1.0, 4.0], [1.0, 0.0])
    # Of 64 cores 5 are held, and 1 of 4 GPUs: GPUs bind. Of 8 cores they do not.
    assert used_resources(both, cluster(64.0, 4)) == (GPUS, CORES)
    assert used_resources(both, cluster(8.0, 4)) == (CORES, GPUS)


def test_what_nobody_asks_for_is_not_used() -> None:
    assert used_resources(workload([0.0], [2.0]), cluster(64.0, 4)) == (GPUS,)
    assert used_resources(workload([2.0], [0.0]), cluster(64.0, 4)) == (CORES,)
    assert used_resources(workload([2.0], [0.0]), Cluster.pool(8)) == (CORES,)
    assert used_resources(workload([0.0], [0.0]), Cluster.pool(8)) == (CORES,)
