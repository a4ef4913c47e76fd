"""The tiered search across the border: what is wrong is refused, and nothing is written beyond what was given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shunter._core import ffi, lib
from shunter.errors import InputError
from shunter.native import check, pointer
from tests.abi.declarations import header_functions

FREE = np.array([8, 3, 8], dtype=np.uint32)
NAMES = [label for _, label in header_functions()["shunter_tiers"].parameters]


def asked(**changes: Any) -> tuple[list[int], list[int], list[int]]:  # noqa: ANN401 - pointers have no static type
    """Asks for 9 GPUs on three nodes of 8, with some arguments changed; returns nodes, tasks and score."""
    nodes, tasks = np.full(4, 99, dtype=np.uint32), np.full(4, 99, dtype=np.uint32)
    count, score = ffi.new("uintptr_t *"), np.zeros(3, dtype=np.int64)
    given = (8, 1, 9, pointer(FREE), pointer(FREE), 3, 0, 1, pointer(nodes), pointer(tasks), 2, count, pointer(score))
    check(lib.shunter_tiers(*(dict(zip(NAMES, given, strict=True)) | changes).values()))
    assert (nodes[count[0] :] == 99).all()
    assert (tasks[count[0] :] == 99).all()
    return nodes[: count[0]].tolist(), tasks[: count[0]].tolist(), score.tolist()


def test_writes_the_choice() -> None:
    assert asked() == ([0, 1], [8, 1], [0, 1, 75])


def test_no_choice_is_an_answer() -> None:
    assert asked(tasks=20, tier=2)[0] == []
    assert asked(tasks=2**32 - 1, tier=1)[0] == []
    assert asked(gpus_per_node=8, gpus_per_task=9, capacity=pointer(np.zeros(3, dtype=np.uint32)))[0] == []


@pytest.mark.parametrize("name", ["free_gpus", "capacity", "part_nodes", "part_tasks", "count", "score"])
def test_null_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"{name} is null"):
        asked(**{name: ffi.NULL})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"part_capacity": 1}, "part_capacity is 1; the job has 2 nodes"),
        ({"part_capacity": 2**64 - 1}, "part_nodes has an impossible length"),
        ({"nodes": 2**64 - 1}, "free_gpus has an impossible length"),
        ({"nodes": 0}, "nodes, not 0"),
        ({"gpus_per_task": 0}, "the job has 9 tasks of 0 GPUs"),
        ({"tasks": 0}, "the job has 0 tasks of 1 GPUs"),
        ({"order": 3}, "order is 3; expected 0 to 2"),
        ({"order": -1}, "order is -1; expected 0 to 2"),
        ({"tier": 0}, "tier is 0; expected 1 or 2"),
        ({"gpus_per_node": 7}, "node 0: free_gpus is 8; the node has 7"),
        ({"gpus_per_task": 2}, "node 0: capacity is 8; 8 free GPUs serve fewer tasks of 2"),
    ],
)
def test_what_is_out_of_range_is_refused(changes: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        asked(**changes)
