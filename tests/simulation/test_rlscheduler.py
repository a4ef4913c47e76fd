"""The committed rules give every figure of RLScheduler's own simulator."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from shunter import Cluster, Policy, QueueView, Schedule, Workload, compute_metrics, read_workload
from shunter.simulation import simulate
from tests.support import reference_figures, trace

FIGURES = json.loads(reference_figures("rlscheduler_lublin256.json").read_text())["records"]
LUBLIN = trace("swf/lublin_256.swf.gz")


class WrongWfp(Policy):
    """WFP with that code's error in it: now is -1, so that a wait is minus what it should be."""

    name = "wfp"
    moves = False

    def score(self, queue: QueueView) -> NDArray[np.float64]:
        scores: NDArray[np.float64] = ((queue.submit_s + 1) / queue.estimate_s) ** 3 * queue.cores
        return scores


class WrongUnicef(Policy):
    """UNICEF with the same error."""

    name = "uni"
    moves = False

    def score(self, queue: QueueView) -> NDArray[np.float64]:
        scores: NDArray[np.float64] = (queue.submit_s + 1 - 1e-15) / (np.log2(queue.cores + 1e-15) * queue.estimate_s)
        return scores


POLICIES: dict[str, Policy] = {"wfp": WrongWfp(), "uni": WrongUnicef()}
ABSOLUTE = {name: f"{name}?origin=absolute" for name in ("f1", "f2", "f3", "f4")}
"""RLScheduler takes submit times as they are in the log."""


@cache
def lublin() -> Workload:
    return read_workload(LUBLIN)


def run(record: dict[str, Any]) -> Schedule:
    """Repeats one record's run."""
    return simulate(
        lublin().window(record["start"], record["length"]),
        Cluster.pool(record["cluster_size"]),
        policy=POLICIES.get(record["policy"], ABSOLUTE.get(record["policy"], record["policy"])),
        dispatch="committed-backfill" if record["backfill"] else "committed",
    )


def name(record: dict[str, Any]) -> str:
    rule = "backfill" if record["backfill"] else "plain"
    return f"{record['start']}-{record['length']}-{record['policy']}-{rule}"


def test_no_record_is_left_out() -> None:
    assert len({name(record) for record in FIGURES}) == len(FIGURES) == 180
    assert sum(record["policy"] in POLICIES for record in FIGURES) == 40


@pytest.mark.every(5)
@pytest.mark.parametrize("record", FIGURES, ids=name)
def test_figures(record: dict[str, Any]) -> None:
    schedule = run(record)
    starts = ",".join(str(int(start_s)) for start_s in schedule.start_s)
    assert hashlib.sha256(starts.encode()).hexdigest()[:16] == record["start_times_sha256_16"]
    metrics = compute_metrics(schedule)
    assert metrics["mean_bounded_slowdown"] == pytest.approx(record["avg_bsld"], rel=1e-9)
    assert metrics["mean_wait_s"] == pytest.approx(record["avg_wait"], rel=1e-9)
    assert metrics["mean_turnaround_s"] == pytest.approx(record["avg_turnaround"], rel=1e-9)
    assert metrics["max_wait_s"] == record["max_wait"]
    assert metrics["makespan_s"] == record["makespan"]
    assert np.median(schedule.bounded_slowdown) == pytest.approx(record["median_bsld"], rel=1e-9)
    assert np.sum(schedule.queue_wait_s) == record["sum_start_minus_submit"]
