"""Requests in the core's units, and the check of a placer's answer."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl
import pytest

from shunter.errors import InputError
from shunter.model.workload import Workload
from shunter.policies.own import Request, Requests, check_answer
from tests.policies.placements.scenes import make_scene

SCENE = make_scene([2, 3, 0, 4], Request(4, 0, 0, 1000), pool=[0, 0, 0, 1])


def test_requests_are_in_the_units_of_the_core() -> None:
    frame = pl.DataFrame(
        {
            "submit_s": [0.0, 1.0],
            "run_s": [10.0, 10.0],
            "tasks": [1, 16],
            "cores_per_task": [0.5, 12.0],
            "memory_mb_per_task": [None, 2000.4],
            "gpus_per_task": [0.25, 2.0],
        }
    )
    requests = Requests.of(Workload.from_frame(frame, name="two"))
    assert len(requests) == 2
    assert requests[0] == Request(tasks=1, cores_milli=500, memory_mb=0, gpu_milli=250)
    assert requests[1] == Request(tasks=16, cores_milli=12_000, memory_mb=2000, gpu_milli=2000)
    assert [requests[job].gpus for job in range(2)] == [0, 2]


def test_an_answer_becomes_plain_numbers() -> None:
    answer = [(np.uint32(0), np.int64(1)), (1, 3)]
    checked = check_answer(SCENE, answer, "mine")  # type: ignore[arg-type]
    assert checked == [(0, 1), (1, 3)]
    assert all(type(number) is int for pair in checked for number in pair)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([(0, 2), (0, 2)], "node 0 is named twice"),
        ([(4, 4)], "node 4 does not exist; expected 0 to 3"),
        ([(-1, 4)], "node -1 does not exist"),
        ([(1, 4)], "node 1 gets 4 tasks; expected at least 1 and at most 3"),
        ([(1, 3), (2, 1)], "node 2 gets 1 tasks; expected at least 1 and at most 0"),
        ([(3, 4), (0, 0)], "node 0 gets 0 tasks"),
        ([(1, 3)], "3 tasks are placed; expected all 4"),
        ([], "0 tasks are placed; expected all 4"),
        ([(1, 2), (3, 2)], "GPUs of several types"),
        ([1, 3], "the answer is [1, 3]; expected pairs of node and tasks, or None"),
        ([(1, 2.5)], "expected pairs of node and tasks"),
        ("node 1", "the answer is 'node 1'"),
        (7, "the answer is 7"),
    ],
)
def test_a_wrong_answer_is_refused_with_the_placers_name(answer: Any, message: str) -> None:  # noqa: ANN401
    with pytest.raises(InputError, match=re.escape(message)) as error:
        check_answer(SCENE, answer, "mine")
    assert str(error.value).startswith("placement 'mine': job 7 at 100 s: ")


def test_types_may_mix_where_the_cluster_or_the_job_allows_it() -> None:
    mixed = make_scene([2, 3, 0, 4], Request(4, 0, 0, 1000), pool=[0, 0, 0, 1], mix=True)
    without = make_scene([2, 3, 0, 4], Request(4, 0, 0, 0), pool=[0, 0, 0, 1])
    for scene in (mixed, without):
        assert check_answer(scene, [(1, 2), (3, 2)], "mine") == [(1, 2), (3, 2)]
