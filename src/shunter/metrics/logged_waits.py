"""What the log says of each job's wait, beside what the simulation says; and what the log's machine had in use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shunter.errors import InputError
from shunter.metrics.sizes import CORES, used_resources
from shunter.metrics.usage import MILLI
from shunter.model.conditions import waits_from_s
from shunter.model.schedule import whole_milliseconds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.metrics.sizes import Resource
    from shunter.model.schedule import Schedule
    from shunter.model.workload import Workload


@dataclass(frozen=True)
class Waits:
    """The jobs whose wait is known from the log and from the simulation; all arrays have the same length."""

    job_id: pl.Series
    submit_s: NDArray[np.float64]
    """From when each waited: its submit time, or the time before which it could not run."""
    resource: Resource
    """What jobs wait for: cores or GPUs."""
    amount: NDArray[np.float64]
    """How much of it each job holds."""
    logged_s: NDArray[np.float64]
    simulated_s: NDArray[np.float64]
    logged_run_s: NDArray[np.float64]
    simulated_run_s: NDArray[np.float64]
    without_logged_wait: int
    """Jobs left out, since the log does not say when they started."""
    never_started: int
    """Jobs left out, since they can never fit on the cluster, although the log says when they started."""

    def __len__(self) -> int:
        return len(self.submit_s)

    def to_frame(self) -> pl.DataFrame:
        """Returns one row a job, in the order of the workload."""
        return pl.DataFrame(
            {
                "job_id": self.job_id,
                "submit_s": self.submit_s,
                self.resource.name: self.amount,
                "logged_wait_s": self.logged_s,
                "simulated_wait_s": self.simulated_s,
            }
        )


@dataclass(frozen=True)
class LoggedLoad:
    """What the log's own starts and run times had in use at once, held against the cluster as described."""

    capacity: float
    """Of the cluster: cores, or GPUs where they bind."""
    most: float
    """That were in use at once."""
    spells_above: int
    """How often more than the cluster has came into use."""
    time_above_share: float
    """The part of the time from the first start to the last end during which they were."""


def check_logged_waits(workload: Workload) -> None:
    """Raises an error if the log does not say of any job when it started."""
    if workload.jobs["logged_wait_s"].null_count() == len(workload):
        jobs = f"of its {len(workload):,} jobs" if len(workload) > 1 else "of its only job"
        what = f"the log does not say when jobs started (no logged wait on any {jobs})"
        remedy = "calibrate on a log that has waits (field 3 of SWF, column logged_wait_s)"
        raise InputError(f"{workload.name}: {what}; {remedy}")


def compare_waits(schedule: Schedule) -> Waits:
    """Returns the jobs that have a logged and a simulated wait.

    Raises:
        InputError: No job has both.
    """
    check_logged_waits(schedule.workload)
    jobs = schedule.workload.jobs
    logged_s = jobs["logged_wait_s"].to_numpy()
    logged, started = np.isfinite(logged_s), schedule.ended
    both = logged & started
    resource = used_resources(schedule.workload, schedule.cluster)[0]
    if not both.any():
        raise InputError(f"{schedule.workload.name}: none of the jobs with a logged wait can ever fit; check --cluster")
    return Waits(
        job_id=jobs["job_id"].filter(pl.Series(both)),
        submit_s=waits_from_s(jobs).to_numpy()[both],
        resource=resource,
        amount=resource.per_job(schedule.workload)[both],
        logged_s=logged_s[both],
        simulated_s=schedule.queue_wait_s[both],
        logged_run_s=jobs["run_s"].to_numpy()[both],
        simulated_run_s=schedule.run_time_s[both],
        without_logged_wait=int(np.count_nonzero(~logged)),
        never_started=int(np.count_nonzero(logged & ~started)),
    )


def measure_logged_load(schedule: Schedule, resource: Resource = CORES) -> LoggedLoad:
    """Returns what the log's machine had in use, over all jobs with a logged wait, also those that can never fit."""
    jobs = schedule.workload.jobs
    amount = resource.per_job(schedule.workload)
    wait_s = jobs["logged_wait_s"].to_numpy()
    logged = np.isfinite(wait_s)
    start_s = (waits_from_s(jobs).to_numpy() + wait_s)[logged]
    time_ms, in_use = _in_use(start_s, jobs["run_s"].to_numpy()[logged], amount[logged])
    capacity = resource.total(schedule.cluster)
    # The log's own starts may overbook: it may count cores that it asked for and did not get, or round its times.
    above = in_use > round(capacity * MILLI)
    span_ms = float(time_ms[-1] - time_ms[0])
    return LoggedLoad(
        capacity=capacity,
        most=float(in_use.max()) / MILLI,
        spells_above=int(np.count_nonzero(above & ~np.concatenate([[False], above[:-1]]))),
        time_above_share=float(np.sum(np.diff(time_ms)[above[:-1]])) / span_ms if span_ms else 0.0,
    )


def had_room(
    submit_s: NDArray[np.float64],
    start_s: NDArray[np.float64],
    run_s: NDArray[np.float64],
    amount: NDArray[np.float64],
    capacity: float,
) -> NDArray[np.bool_]:
    """Returns which jobs could have started when they were submitted, by what was not in use then."""
    time_ms, milli = _in_use(start_s, run_s, amount)
    # The level after the last change up to the submit; before the first change nothing is in use.
    place = np.searchsorted(time_ms, whole_milliseconds(submit_s), side="right") - 1
    before = np.where(place >= 0, milli[np.maximum(place, 0)], 0)
    room: NDArray[np.bool_] = before + np.rint(amount * MILLI) <= round(capacity * MILLI)
    return room


def _in_use(
    start_s: NDArray[np.float64], run_s: NDArray[np.float64], amount: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Returns the times at which the amount in use changes, in whole ms, and thousandths of it from then on."""
    time_ms = whole_milliseconds(np.concatenate([start_s, start_s + run_s]))
    change = np.rint(amount * MILLI).astype(np.int64)
    order = np.argsort(time_ms, kind="stable")
    time_ms, level = time_ms[order], np.cumsum(np.concatenate([change, -change])[order])
    # Of the changes at one instant only the last level counts: what ends makes room for what starts.
    last = np.append(np.diff(time_ms) > 0, True)
    return time_ms[last], level[last]
