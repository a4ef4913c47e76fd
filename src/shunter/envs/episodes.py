"""Episodes: windows of logs in the core's terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

from shunter.envs.baselines import NEVER_MS, Outcome, WindowJobs, baseline_scheduler, run_baseline
from shunter.envs.rewards import OBJECTIVES
from shunter.errors import InputError
from shunter.model.fitting import can_ever_fit
from shunter.model.schedule import whole_milliseconds
from shunter.simulation.core_tables import numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.envs.options import RewardOptions
    from shunter.model.log import Log
    from shunter.model.windows import Windows
    from shunter.model.workload import Workload
    from shunter.policies.scheduler import Scheduler

EPISODE: Final = np.dtype(
    [
        ("table", np.uint32),
        ("cluster", np.uint32),
        ("first", np.uint64),
        ("count", np.uint64),
        ("warmup", np.uint64),
        ("horizon_ms", np.int64),
        ("scale", np.float64, (len(OBJECTIVES),)),
        ("relative", np.float64, (len(OBJECTIVES),)),
        ("wait_bound_s", np.float64),
        ("utilization_bound", np.float64),
    ],
    align=True,
)
"""The core's ``ShunterEpisode``."""


@dataclass(frozen=True)
class Episodes:
    """What can be played."""

    rows: NDArray[np.void]
    """Of `EPISODE`."""
    relative_start_ms: NDArray[np.int64]
    """For the jobs of each episode, one after the other: when they start in the schedule that the reward is relative
    to, `NEVER_MS` if never. Empty where it is relative to none."""

    def later(self, by_s: int) -> Episodes:
        """Returns the same, where all jobs come so much later."""
        starts = self.relative_start_ms
        return Episodes(self.rows, np.where(starts == NEVER_MS, NEVER_MS, starts + by_s * MILLI))

    @staticmethod
    def joined(parts: Sequence[Episodes]) -> Episodes:
        """Returns all of them."""
        starts = [part.relative_start_ms for part in parts]
        return Episodes(np.concatenate([part.rows for part in parts]), np.concatenate(starts))


NONE: Final = -1
"""Stands for a horizon or a bound that there is not."""
MILLI: Final = 1000
_LATEST_MS: Final = 10**15
"""A horizon that no simulation reaches."""


def scaled_priority(workload: Workload) -> NDArray[np.float64]:
    """Returns each job's priority, scaled over the workload to 0 to 1; 0 where the log has none."""
    priority = numbers(workload.jobs["priority"])
    known = np.isfinite(priority)
    if not known.any():
        return np.zeros(len(priority))
    low, high = priority[known].min(), priority[known].max()
    return np.where(known, (priority - low) / max(high - low, np.finfo(np.float64).tiny), 0.0)


def has_fitting_job(log: Log, windows: Windows) -> NDArray[np.bool_]:
    """Returns in which windows at least one measured job can ever run."""
    fitting = np.concatenate([[0], np.cumsum(can_ever_fit(log.workload.jobs, log.cluster))])
    first = windows.first.astype(np.int64)
    return np.asarray(fitting[first + windows.length] > fitting[first])


def with_fitting_jobs(log: Log, windows: Windows) -> Windows:
    """Returns the windows in which there is something to decide.

    Raises:
        InputError: There is none.
    """
    kept = has_fitting_job(log, windows)
    if not kept.any():
        raise InputError(f"{log.workload.name}: no job of any window can ever fit on {log.cluster.name}; check cluster")
    return replace(windows, first=windows.first[kept], block=windows.block[kept])


def log_episodes(
    place: int,
    log: Log,
    windows: Windows,
    scheduler: Scheduler,
    reward: RewardOptions,
    *,
    horizon_factor: float | None,
    threads: int,
    bounding: Scheduler | None = None,
) -> Episodes:
    """Returns the episodes of a log, in the order of its windows.

    Args:
        place: Of the log among all logs.
        log: The log and its cluster.
        windows: Which parts of it.
        scheduler: Of the simulations.
        reward: What policies have to be run for it.
        horizon_factor: How far the clock may go; None: as far as it takes.
        threads: How many threads share the windows.
        bounding: Of the policy whose values the reward's bounds multiply; None: as the reward says.

    Raises:
        InputError: No job of a window can ever run.
    """
    if not (fits := has_fitting_job(log, windows)).all():
        first = int(windows.first[~fits][0])
        where = f"{log.workload.name}: none of the {windows.length} jobs from job {first} on can ever fit"
        raise InputError(f"{where} on {log.cluster.name}; check the cluster, or leave this window out")
    before = 0 if log.workload.earlier is None else log.workload.earlier.height
    episodes = np.zeros(len(windows), dtype=EPISODE)
    episodes["table"] = episodes["cluster"] = place
    episodes["first"] = windows.simulated_first + np.uintp(before)
    episodes["count"] = windows.simulated_length
    episodes["warmup"] = windows.warmup
    jobs = window_jobs(log, windows)
    starts = fill_values(episodes, log, windows, jobs, scheduler, reward, threads=threads, bounding=bounding)
    episodes["horizon_ms"] = NONE if horizon_factor is None else _horizon_ms(log, windows, jobs, horizon_factor)
    return Episodes(episodes, starts)


def window_jobs(log: Log, windows: Windows) -> WindowJobs:
    """Returns what objectives need to know of the jobs in each window."""
    jobs = log.workload.jobs
    index = _index(windows)
    return WindowJobs(
        submit_ms=whole_milliseconds(numbers(jobs["submit_s"])).astype(np.int64)[index],
        cores=(jobs["tasks"].to_numpy() * numbers(jobs["cores_per_task"]))[index],
        priority=scaled_priority(log.workload.whole())[-len(log.workload) :][index],
        warmup=windows.warmup,
        total_cores=log.cluster.total_cores,
    )


def fill_values(
    episodes: NDArray[np.void],
    log: Log,
    windows: Windows,
    jobs: WindowJobs,
    scheduler: Scheduler,
    reward: RewardOptions,
    *,
    threads: int,
    bounding: Scheduler | None,
) -> NDArray[np.int64]:
    """Writes into the episodes of a log what policies get on the same windows; returns `relative_start_ms`."""
    balance = "balance" in reward.weights
    weighted = np.isin(OBJECTIVES, list(reward.weights))

    @cache
    def outcome_of(chosen: Scheduler) -> Outcome:
        return run_baseline(log, windows, jobs, chosen, balance=balance, threads=threads)

    def outcome(policy: str) -> Outcome:
        return outcome_of(baseline_scheduler(policy, scheduler))

    episodes["scale"], episodes["relative"] = 1.0, 0.0
    starts = np.empty(0, dtype=np.int64)
    if reward.scale_policy is not None:
        values = outcome(reward.scale_policy).objectives(reward.logarithms)
        # What a policy gets may be 0: nobody waited. Such an objective stays as it is.
        episodes["scale"] = np.where(weighted & (values > 0), values, 1.0)
    if reward.relative_to is not None:
        relative = outcome(reward.relative_to)
        episodes["relative"] = np.where(weighted, relative.objectives(reward.logarithms), 0.0)
        starts = relative.start_ms.ravel()
    if bounding is None and reward.bound_policy is not None:
        bounding = baseline_scheduler(reward.bound_policy, scheduler)
    for name, field in (("wait", "wait_bound_s"), ("utilization", "utilization_bound")):
        episodes[field] = NONE
        if name in reward.bounds and bounding is not None:
            values = outcome_of(bounding).objectives()[:, OBJECTIVES.index(name)]
            episodes[field] = reward.bounds[name] * values
    return starts


def _index(windows: Windows) -> NDArray[np.int64]:
    """Returns the places of the jobs of each window: (windows, simulated length)."""
    return windows.simulated_first.astype(np.int64)[:, None] + np.arange(windows.simulated_length)


def _horizon_ms(log: Log, windows: Windows, jobs: WindowJobs, factor: float) -> NDArray[np.int64]:
    """Returns when each episode is cut: so many times the span of its submits and what its jobs take at full use."""
    frame, index = log.workload.jobs, _index(windows)
    run_s = numbers(frame["run_s"])[index]
    busy_s = (jobs.cores * run_s).sum(axis=1) / jobs.total_cores
    if log.cluster.total_gpus:
        gpus = (frame["tasks"].to_numpy() * numbers(frame["gpus_per_task"]))[index]
        busy_s = np.maximum(busy_s, (gpus * run_s).sum(axis=1) / log.cluster.total_gpus)
    span_s = (jobs.submit_ms[:, -1] - jobs.submit_ms[:, 0]) / MILLI
    return np.asarray(np.minimum(np.ceil(factor * (span_s + busy_s) * MILLI), _LATEST_MS), dtype=np.int64)
