"""Tests of `shunter.model.fitting`."""

from __future__ import annotations

import random

import polars as pl
import pytest

from shunter.model.cluster import Cluster, Node
from shunter.model.fitting import can_ever_fit
from shunter.model.workload import Workload
from shunter.simulation import simulate

MIXED = Cluster.from_nodes(
    (
        Node("a", 4.0, 100, gpus=2),
        Node("b", 4.0, 100, gpus=2),
        Node("c", 8.0, None, partition="p"),
        Node("d", 2.0, 50, gpus=4, partition="q"),
    ),
    "mixed",
)
PLAIN = Cluster.from_nodes(tuple(Node(node.name, node.cores, node.memory_mb, node.gpus) for node in MIXED.nodes), "p")


def workload(rows: list[tuple[object, ...]]) -> Workload:
    names = ["tasks", "cores_per_task", "memory_mb_per_task", "gpus_per_task", "partition"]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(names), orient="row", strict=False, infer_schema_length=None)
    return Workload.from_frame(
        frame.with_columns(submit_s=pl.lit(0.0), run_s=pl.lit(1.0), partition=pl.col("partition").cast(pl.String)),
        name="shapes",
    )


@pytest.mark.parametrize(
    ("row", "fits"),
    [
        ((18, 1, None, 0, None), True),
        ((19, 1, None, 0, None), False),
        ((8, 1, None, 0, "p"), True),
        ((9, 1, None, 0, "p"), False),
        ((1, 0, None, 0, "elsewhere"), False),
        ((2, 3, 0, 0, None), True),
        ((5, 3, 0, 0, None), False),
        ((2, 0, 100, 0, "q"), False),
        ((1_000_000, 0, 10_000, 0, "p"), True),
        ((8, 0, None, 1, None), True),
        ((4, 0, None, 2, None), True),
        ((2, 0, None, 3, None), False),
        ((24, 0, None, 0.3, None), True),
        ((25, 0, None, 0.3, None), False),
        ((4, 1, 50, 1, None), True),
        ((6, 1, 50, 1, None), False),
    ],
)
def test_by_hand(row: tuple[object, ...], fits: bool) -> None:
    assert can_ever_fit(workload([row]).jobs, MIXED).tolist() == [fits]


@pytest.mark.parametrize("cluster", [MIXED, PLAIN], ids=["partitions", "plain"])
def test_the_core_rejects_the_others(cluster: Cluster) -> None:
    draw = random.Random(1)
    rows: list[tuple[object, ...]] = [
        (
            draw.randint(1, 12),
            draw.choice([0, 0.5, 1, 2, 4]),
            draw.choice([None, 0, 10, 49.6, 60]),
            draw.choice([0, 0, 0.3, 0.5, 1, 2, 4]),
            draw.choice([None, None, "p", "q", "r"]),
        )
        for _ in range(2000)
    ]
    jobs = workload(rows)
    fits = can_ever_fit(jobs.jobs, cluster)
    assert (~simulate(jobs, cluster, dispatch="greedy").rejected).tolist() == fits.tolist()
    assert 400 < fits.sum() < 1600
