"""Tests of `shunter.model.fitting`."""

from __future__ import annotations

import random

import polars as pl
import pytest

from shunter.model.cluster import Cluster, Node
from shunter.model.fitting import can_ever_fit, why_any_node_will_do
from shunter.model.workload import Workload
from shunter.simulation import simulate

MIXED = Cluster.from_nodes(
    (
        Node("a", 4.0, 100, gpus=2),
        Node("b", 4.0, 100, gpus=2),
        Node("c", 8.0, None, partitions=("p",)),
        Node("d", 2.0, 50, gpus=4, partitions=("q",)),
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


ALIKE = Cluster.from_nodes(tuple(Node(name, 8.0, 100, gpus=2) for name in "abc"), "alike")
UNLIKE = Cluster.from_nodes((Node("a", 8.0, 100), Node("b", 4.0, None), Node("c", 16.0, 80)), "unlike")
PLACEMENTS = ("first-fit", "best-fit", "worst-fit", "pack")


@pytest.mark.parametrize(
    ("shapes", "cluster", "why"),
    [
        ([(1, 3, 10, 0), (2, 3, 10, 0), (5, 3, 10, 0)], ALIKE, "all tasks ask for the same"),
        ([(1, 1, None, 0), (7, 1, None, 0)], UNLIKE, "all tasks ask for the same"),
        ([(1, 5, 10, 0), (2, 8, None, 1)], ALIKE, "all nodes are alike, and no two tasks have room on one"),
        ([(1, 2, 60, 0), (3, 1, 90, 0)], ALIKE, "all nodes are alike, and no two tasks have room on one"),
        ([(1, 5, 10, 0), (2, 4, 10, 0)], ALIKE, None),
        ([(1, 5, 10, 0), (2, 8, 10, 0)], UNLIKE, None),
        ([(1, 3, 10, 0), (1, 3, 20, 0)], ALIKE, None),
        ([(1, 3, 10, 0)], Cluster.from_nodes((Node("a", 8.0), Node("b", 8.0, speed=2.0)), "two speeds"), None),
        ([(1, 3, 10, 0), (1, 1, 10, 0)], Cluster.pool(8), "there is one node"),
    ],
)
def test_where_any_node_will_do_all_placements_start_jobs_at_the_same_times(
    shapes: list[tuple[object, ...]], cluster: Cluster, why: str | None
) -> None:
    draw = random.Random(1)
    jobs = workload([(*draw.choice(shapes), None) for _ in range(200)])
    assert why_any_node_will_do(jobs.jobs, cluster) == why
    if why is None:
        return
    submit_s = [draw.uniform(0, 2000) for _ in range(200)]
    timed = jobs.jobs.with_columns(
        submit_s=pl.Series(submit_s), run_s=pl.Series([draw.uniform(10, 200) for _ in submit_s])
    )
    log = Workload.from_frame(timed, name="timed")
    starts = [simulate(log, cluster, dispatch="strict", placement=name).start_ms.tolist() for name in PLACEMENTS]
    assert len(set(starts[0])) > 50
    assert all(each == starts[0] for each in starts)
