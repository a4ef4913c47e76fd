"""The schedules that pyss expects of small workloads: all of them, by the core and by the reference simulator."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from shunter import Cluster, Workload
from shunter.simulation import simulate
from tests.reference.model import Config, RefJob, RefNode
from tests.reference.published import PyssWorkload, pyss_curie, pyss_workloads
from tests.reference.simulator import simulate as simulate_plainly

CORES = 100
SCHEDULES = [pytest.param(each, rule, id=f"{each.name}-{rule}") for each in pyss_workloads() for rule in each.rules]


def test_no_schedule_is_left_out() -> None:
    assert len(pyss_workloads()) == 55
    assert len(SCHEDULES) == 126
    assert sum(len(each.rules) * len(each.jobs) for each in pyss_workloads()) == 1414


@pytest.mark.every(6)
@pytest.mark.parametrize(("workload", "dispatch"), SCHEDULES)
def test_end_times_of_the_core(workload: PyssWorkload, dispatch: str) -> None:
    frame = pl.DataFrame(
        {
            "job_id": range(len(workload.jobs)),
            "submit_s": [job.submit_s for job in workload.jobs],
            "run_s": [job.run_s for job in workload.jobs],
            "requested_s": [job.requested_s for job in workload.jobs],
            "tasks": [job.cores for job in workload.jobs],
        }
    )
    jobs = Workload.from_frame(frame.sort("submit_s", maintain_order=True), name=workload.name)
    schedule = simulate(jobs, Cluster.pool(CORES), policy="fcfs", dispatch=dispatch, estimate="requested")
    ends = dict(zip(jobs.jobs["job_id"], schedule.end_s, strict=True))
    assert [ends[place] for place in range(len(workload.jobs))] == [job.end_s for job in workload.jobs]


@pytest.mark.every(5)
@pytest.mark.parametrize(("workload", "dispatch"), SCHEDULES)
def test_end_times_of_the_reference_simulator(workload: PyssWorkload, dispatch: str) -> None:
    in_order = sorted(workload.jobs, key=lambda job: job.submit_s)
    jobs = [RefJob(job.submit_s * 1000, job.run_s * 1000, job.requested_s * 1000, job.cores) for job in in_order]
    result = simulate_plainly(jobs, [RefNode(CORES * 1000)], Config(policy="fcfs", dispatch=dispatch))
    assert result.end_ms == [job.end_s * 1000 for job in in_order]


def test_waits_on_curie() -> None:
    """Nearly all are those of pyss to the second, and the mean is, but for 0.3 s."""
    logged = pyss_curie()
    jobs = logged.select("submit_s", "run_s", "requested_s", tasks="cores")
    workload = Workload.from_frame(jobs, name="Curie")
    schedule = simulate(workload, Cluster.pool(80_640), policy="fcfs", dispatch="easy", estimate="requested")
    theirs_s = logged["wait_s"].to_numpy()
    assert len(theirs_s) == 10_000
    assert theirs_s.mean() == pytest.approx(3629.13, abs=0.005)
    assert schedule.queue_wait_s.mean() == pytest.approx(3628.83, abs=0.005)
    assert np.sum(schedule.queue_wait_s == theirs_s) == 9786
