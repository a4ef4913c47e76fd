"""Queues too long for a plain list: the index over shapes decides as the general rule does, and as the reference."""

from __future__ import annotations

from random import Random

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from shunter import Cluster, Policy, QueueView, Workload
from shunter.model.cluster import Node
from shunter.simulation import simulate
from tests.properties.core_adapter import run_core
from tests.properties.observed import run_reference
from tests.reference.model import Config, RefJob, RefNode

JOBS = 700
LONG = 128
"""From so many waiting jobs on, the core's queue keeps an index."""


class Listed(Policy):
    """Gives a built-in policy's order anew at each pass, so that the core goes by the list and not by its index."""

    def __init__(self, column: str) -> None:
        self._column = column

    def score(self, queue: QueueView) -> NDArray[np.float64]:
        return np.asarray(getattr(queue, self._column), dtype=np.float64)


def burst(seed: int) -> Workload:
    """Returns jobs of many sizes that arrive within a few minutes; some outlive their requests."""
    random = np.random.default_rng(seed)
    run_s = np.ceil(random.gamma(0.6, 900, JOBS))
    request = np.ceil(run_s * random.choice([0.5, 1.0, 1.5, 4.0], JOBS))
    frame = pl.DataFrame(
        {
            "submit_s": np.sort(random.integers(0, 600, JOBS)),
            "run_s": run_s,
            "requested_s": np.where(random.random(JOBS) < 0.1, np.nan, request),
            "tasks": np.minimum(64, np.ceil(random.gamma(0.8, 9, JOBS))).astype(int),
        }
    )
    return Workload.from_frame(frame.with_columns(pl.col("requested_s").fill_nan(None)), name=f"burst {seed}")


def longest_queue(workload: Workload, start_s: NDArray[np.float64]) -> int:
    """Returns how many jobs waited at once."""
    submit_s = workload.jobs["submit_s"].to_numpy()
    return max(int(((submit_s <= instant) & (start_s > instant)).sum()) for instant in submit_s)


POOL = Cluster.pool(64)
NODES = Cluster.from_nodes(tuple(Node(f"n{number}", 8, 16_000) for number in range(9)), name="nodes")


@pytest.mark.every(6)
@pytest.mark.parametrize("cluster", [POOL, NODES], ids=["pool", "nodes"])
@pytest.mark.parametrize("max_wait_s", [None, 3000.0])
@pytest.mark.parametrize("dispatch", ["greedy", "easy"])
@pytest.mark.parametrize(("policy", "column"), [("fcfs", "submit_s"), ("sjf", "estimate_s"), ("smallest", "cores")])
def test_the_index_decides_as_the_list_does(
    cluster: Cluster, max_wait_s: float | None, dispatch: str, policy: str, column: str
) -> None:
    workload = burst(seed=3)
    indexed = simulate(workload, cluster, policy=policy, dispatch=dispatch, max_wait_s=max_wait_s)
    listed = simulate(workload, cluster, policy=Listed(column), dispatch=dispatch, max_wait_s=max_wait_s)
    assert longest_queue(workload, indexed.start_s) > 2 * LONG
    np.testing.assert_array_equal(indexed.start_s, listed.start_s)
    np.testing.assert_array_equal(indexed.placement_nodes, listed.placement_nodes)


@pytest.mark.every(3)
@pytest.mark.parametrize("dispatch", ["greedy", "easy", "committed-backfill"])
def test_the_index_decides_as_the_reference_does(dispatch: str) -> None:
    random = Random(5)
    jobs = [
        RefJob(
            submit_ms=place // 8 * 1000,
            run_ms=(run_s := random.choice([1, 2, 3, 5, 9, 14, 30])) * 1000,
            requested_ms=random.choice([run_s, run_s + 4, 3 * run_s, max(1, run_s - 1)]) * 1000,
            tasks=random.choice([1, 1, 2, 3, 4, 7, 8]),
        )
        for place in range(220)
    ]
    config = Config(policy="sjf", dispatch=dispatch)
    assert run_core(jobs, [RefNode(8000)], config) == run_reference(jobs, [RefNode(8000)], config)
