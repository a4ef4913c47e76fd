"""Which types of GPUs of a cluster each job takes."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.model.cluster import NO_SUCH_GPU_TYPE, Cluster, Node, wanted_types

TYPES = ("T4", None, "A100", "T4", "V100")
CLUSTER = Cluster.from_nodes(tuple(Node(f"n{n}", 8.0, gpus=4, gpu_type=kind) for n, kind in enumerate(TYPES)), "lab")


def masks(texts: list[str | None], gpus: list[float], cluster: Cluster = CLUSTER) -> list[int]:
    jobs = pl.DataFrame({"gpu_type": pl.Series(texts, dtype=pl.String), "gpus_per_task": gpus})
    return list(cluster.gpu_type_masks(jobs).tolist())


def test_types_are_numbered_by_their_first_node() -> None:
    assert CLUSTER.gpu_types == ("T4", "A100", "V100")


@pytest.mark.parametrize(
    ("text", "mask"),
    [
        (None, 0),
        ("", 0),
        ("T4", 1),
        ("v100", 4),
        ("A100|V100", 6),
        ("V100 | A100|V100", 6),
        ("Z100", NO_SUCH_GPU_TYPE),
        ("Z100|T4", 1),
        ("Z100|Y100", NO_SUCH_GPU_TYPE),
    ],
)
def test_a_text_becomes_bits(text: str | None, mask: int) -> None:
    assert masks([text, None], [1.0, 1.0]) == [mask, 0]
    assert masks([text], [0.0]) == [0], "a job without GPUs takes any node"


def test_who_does_not_name_types_takes_all() -> None:
    untyped = Cluster.from_nodes((Node("n", 8.0, gpus=4),), "lab")
    assert masks(["Z100"], [1.0], untyped) == [0]
    assert CLUSTER.gpu_type_masks(pl.DataFrame({"gpus_per_task": [1.0, 2.0]})).tolist() == [0, 0]
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
        expected.append(0 if text is None or not gpus else sum(bits) or NO_SUCH_GPU_TYPE)
    assert masks([text for text, _ in rows], [gpus for _, gpus in rows]) == expected
