"""The reference simulator gives RLScheduler's own figures, to every digit, under the committed rules."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from functools import cache

import pytest

from tests.reference.model import Config, RefJob, RefNode, Score, Start
from tests.reference.published import RlschedulerRun, rlscheduler_jobs, rlscheduler_runs
from tests.reference.simulator import simulate


@cache
def lublin_jobs() -> tuple[RefJob, ...]:
    """Returns the jobs as RLScheduler takes them: what is requested is the run time."""
    return tuple(
        RefJob(submit_s * 1000, run_s * 1000, run_s * 1000, tasks=cores)
        for submit_s, run_s, cores in rlscheduler_jobs()
    )


def wfp(place: int, job: RefJob, now_ms: int) -> float:
    """Returns the WFP score with RLScheduler's error in it: now is -1."""
    s, r = job.submit_ms // 1000, job.run_ms // 1000
    return float(((s + 1) / r) ** 3 * job.tasks)


def unicef(place: int, job: RefJob, now_ms: int) -> float:
    """Returns the UNICEF score with RLScheduler's error in it: now is -1."""
    s, r = job.submit_ms // 1000, job.run_ms // 1000
    return (s + 1 - 1e-15) / (math.log2(job.tasks + 1e-15) * r)


POLICIES: dict[str, str | Score] = {
    "wfp": wfp,
    "uni": unicef,
    # RLScheduler takes submit times as they are in the log.
    **{name: f"{name}?origin=absolute" for name in ("f1", "f2", "f3", "f4")},
}


def short_runs() -> list[RlschedulerRun]:
    """Returns the short runs of two starts, all policies, with and without backfill."""
    starts = sorted({run.start for run in rlscheduler_runs()})[:2]
    return [run for run in rlscheduler_runs() if run.length == 256 and run.start in starts]


def mean_slowdown(jobs: Sequence[RefJob], starts_s: list[int], order: list[int]) -> float:
    """Returns the average bounded slowdown, added up one by one in an order: the last digit depends on it."""
    total = 0.0
    for place in order:
        run_s = jobs[place].run_ms // 1000
        wait_s = starts_s[place] - jobs[place].submit_ms // 1000
        total += max(1.0, (wait_s + run_s) / max(run_s, 10))
    return total / len(jobs)


@pytest.mark.every(13)
@pytest.mark.parametrize("run", short_runs(), ids=str)
def test_start_times_and_slowdown_are_those_of_rlscheduler(run: RlschedulerRun) -> None:
    jobs = lublin_jobs()[run.start : run.start + run.length]
    config = Config(policy=POLICIES.get(run.policy, run.policy), dispatch=run.dispatch)

    result = simulate(jobs, [RefNode(cores_milli=256_000)], config)

    starts_s = [start_ms // 1000 for start_ms in result.start_ms if start_ms is not None]
    digest = hashlib.sha256(",".join(map(str, starts_s)).encode()).hexdigest()
    assert digest[:16] == run.start_times_sha256_16
    in_start_order = [event.job for event in result.events if isinstance(event, Start)]
    assert mean_slowdown(jobs, starts_s, in_start_order) == run.mean_bounded_slowdown
