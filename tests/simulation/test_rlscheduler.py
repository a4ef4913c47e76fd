"""The committed rules give every figure of RLScheduler's own simulator."""

from __future__ import annotations

import hashlib
from functools import cache

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from shunter import Cluster, Policy, QueueView, Schedule, Workload, compute_metrics
from shunter.simulation import simulate
from tests.reference.published import RlschedulerRun, rlscheduler_jobs, rlscheduler_runs


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
    submit_s, run_s, tasks = zip(*rlscheduler_jobs(), strict=True)
    return Workload.from_frame(pl.DataFrame({"submit_s": submit_s, "run_s": run_s, "tasks": tasks}), name="lublin")


def schedule_of(run: RlschedulerRun) -> Schedule:
    """Repeats a run."""
    return simulate(
        lublin().window(run.start, run.length),
        Cluster.pool(256),
        policy=POLICIES.get(run.policy, ABSOLUTE.get(run.policy, run.policy)),
        dispatch=run.dispatch,
    )


def test_no_run_is_left_out() -> None:
    runs = rlscheduler_runs()
    assert len({str(run) for run in runs}) == len(runs) == 180
    assert sum(run.policy in POLICIES for run in runs) == 40
    assert len(rlscheduler_jobs()) == max(run.start + run.length for run in runs)


@pytest.mark.every(7)
@pytest.mark.parametrize("run", rlscheduler_runs(), ids=str)
def test_figures(run: RlschedulerRun) -> None:
    schedule = schedule_of(run)
    starts = ",".join(str(int(start_s)) for start_s in schedule.start_s)
    assert hashlib.sha256(starts.encode()).hexdigest()[:16] == run.start_times_sha256_16
    metrics = compute_metrics(schedule)
    assert metrics["mean_bounded_slowdown"] == pytest.approx(run.mean_bounded_slowdown, rel=1e-9)
    assert metrics["mean_wait_s"] == pytest.approx(run.mean_wait_s, rel=1e-9)
    assert metrics["mean_turnaround_s"] == pytest.approx(run.mean_turnaround_s, rel=1e-9)
    assert metrics["max_wait_s"] == run.max_wait_s
    assert metrics["makespan_s"] == run.makespan_s
    assert np.median(schedule.bounded_slowdown) == pytest.approx(run.median_bounded_slowdown, rel=1e-9)
    assert np.sum(schedule.queue_wait_s) == run.sum_of_waits_s
