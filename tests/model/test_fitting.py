"""Tests of `shunter.model.fitting`."""

from __future__ import annotations

import random

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.model.cluster import Cluster, Node
from shunter.model.fitting import NO_SUCH_TYPE, can_ever_fit, gpu_type_masks, type_numbers, wanted_types
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


TYPES = ("T4", None, "A100", "T4", "V100")
CLUSTER = Cluster.from_nodes(tuple(Node(f"n{n}", 8.0, gpus=4, gpu_type=kind) for n, kind in enumerate(TYPES)), "lab")


def masks(texts: list[str | None], gpus: list[float], cluster: Cluster = CLUSTER) -> list[int]:
    jobs = pl.DataFrame({"gpu_type": pl.Series(texts, dtype=pl.String), "gpus_per_task": gpus})
    return list(gpu_type_masks(jobs, cluster).tolist())


def test_types_are_numbered_by_their_first_node() -> None:
    assert type_numbers(CLUSTER) == {"T4": 0, "A100": 1, "V100": 2}


@pytest.mark.parametrize(
    ("text", "mask"),
    [
        (None, 0),
        ("", 0),
        ("T4", 1),
        ("v100", 4),
        ("A100|V100", 6),
        ("V100 | A100|V100", 6),
        ("Z100", NO_SUCH_TYPE),
        ("Z100|T4", 1),
        ("Z100|Y100", NO_SUCH_TYPE),
    ],
)
def test_a_text_becomes_bits(text: str | None, mask: int) -> None:
    assert masks([text, None], [1.0, 1.0]) == [mask, 0]
    assert masks([text], [0.0]) == [0], "a job without GPUs takes any node"


def test_who_does_not_name_types_takes_all() -> None:
    untyped = Cluster.from_nodes((Node("n", 8.0, gpus=4),), "lab")
    assert masks(["Z100"], [1.0], untyped) == [0]
    assert gpu_type_masks(pl.DataFrame({"gpus_per_task": [1.0, 2.0]}), CLUSTER).tolist() == [0, 0]
    assert masks([None, None], [1.0, 0.5]) == [0, 0]
    assert masks([], []) == []


def test_the_highest_type_has_a_bit_of_its_own() -> None:
    nodes = tuple(Node(f"n{n}", 1.0, gpus=1, gpu_type=f"t{n}") for n in range(62))
    assert masks(["t61", "t0|t61"], [1.0, 1.0], Cluster.from_nodes(nodes, "many")) == [1 << 61, (1 << 61) + 1]


TEXTS = st.none() | st.lists(st.sampled_from(["T4", "a100", "V100", "Z100"]), min_size=1).map("|".join)


@given(rows=st.lists(st.tuples(TEXTS, st.sampled_from([0.0, 0.5, 2.0])), min_size=1))
def test_every_row_is_what_its_text_says(rows: list[tuple[str | None, float]]) -> None:
    expected = []
    for text, gpus in rows:
        known = {"t4": 1, "a100": 2, "v100": 4}
        bits = {known.get(name.lower(), 0) for name in wanted_types(text or "")}
        expected.append(0 if text is None or not gpus else sum(bits) or NO_SUCH_TYPE)
    assert masks([text for text, _ in rows], [gpus for _, gpus in rows]) == expected
