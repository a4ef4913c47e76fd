"""What an episode is worth so far: each objective recomputed from the schedule as it stands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import pvariance
from typing import TypeAlias

from shunter.model.schedule import Outcome, RejectReason
from tests.reference.model import Allocation, Stop, lasting_ms, restart_ms
from tests.reference.resources import reject_reason
from tests.reference.state import State

BETTER = {
    "bounded_slowdown": -1,
    "wait": -1,
    "turnaround": -1,
    "slowdown": -1,
    "utilization": 1,
    "makespan": -1,
    "completion": 1,
    "queue": -1,
    "balance": -1,
    "priority": -1,
}
"""1 where higher is better, -1 where lower is."""
OBJECTIVES = tuple(BETTER)
OF_JOBS = ("bounded_slowdown", "wait", "turnaround", "slowdown", "priority")
"""The objectives that are means over jobs."""
SLOWDOWNS = ("bounded_slowdown", "slowdown")
LEAST_BOUND_S = 1.0
LEAST_SLOWDOWN = 0.001
"""In the logarithm: a job that runs for less than a second may have less than 1."""


@dataclass(frozen=True)
class Reward:
    """What is wanted; objectives that are not named count nothing."""

    weights: dict[str, float]
    """Positive: the better, the more."""
    priority: Sequence[float]
    """Of each job, from 0 to 1."""
    dense: bool = True
    log: bool = False
    scale: dict[str, float] = field(default_factory=dict)
    relative: dict[str, float] = field(default_factory=dict)
    """What another policy's objective is."""
    relative_start_ms: Sequence[int | None] = ()
    """When each job starts under that policy, or nothing if that is not known."""
    wait_bound_s: float | None = None
    utilization_bound: float | None = None
    bound_weight: float = 1.0
    invalid_penalty: float = 0.0
    warmup: int = 0
    """So many of the first jobs are not measured."""


def worth(state: State, begin_ms: int, reward: Reward, terminated: bool) -> float:
    """Returns what all objectives are worth so far, less what another policy has come to; at the end all of that."""
    so_far = objectives(state, begin_ms, reward, log=reward.log)
    relative = reward.relative if terminated else relative_so_far(state, reward)
    return sum(
        weight * BETTER[name] * (so_far[name] - relative.get(name, 0.0)) / reward.scale.get(name, 1.0)
        for name, weight in reward.weights.items()
    )


def relative_so_far(state: State, reward: Reward) -> dict[str, float]:
    """Returns what another policy has come to by now: as jobs wait and start there, or evenly as they start here."""
    measured = measured_jobs(state, reward)
    part_started = sum(state.result.start_ms[job] is not None for job in measured) / len(measured)
    evenly = {name: part_started * value for name, value in reward.relative.items()}
    if not reward.relative_start_ms:
        return evenly
    return evenly | {name: mean_there(state, reward, name, measured) for name in OF_JOBS}


def mean_there(state: State, reward: Reward, name: str, measured: list[int]) -> float:
    """Returns a mean over the measured jobs as they wait and start under another policy."""
    total = 0.0
    for job in measured:
        submit_ms, start_ms = state.jobs[job].submit_ms, reward.relative_start_ms[job]
        assert start_ms is not None
        if submit_ms <= state.now_ms:
            started = start_ms <= state.now_ms
            delay = Delay((min(state.now_ms, start_ms) - submit_ms) / 1000, 0.0, started, started)
            total += value_of(state, job, delay, name, reward)
    return total / len(measured)


def bound_penalty(state: State, begin_ms: int, reward: Reward) -> float:
    """Returns what it costs that jobs wait for longer than they may, or that the cluster is used less."""
    so_far = objectives(state, begin_ms, reward, log=False)
    penalty = 0.0
    if reward.wait_bound_s is not None:
        penalty += max(0.0, so_far["wait"] / max(reward.wait_bound_s, LEAST_BOUND_S) - 1)
    if reward.utilization_bound is not None:
        penalty += max(0.0, 1 - so_far["utilization"] / reward.utilization_bound)
    return reward.bound_weight * penalty


def objectives(state: State, begin_ms: int, reward: Reward, log: bool) -> dict[str, float]:
    """Returns every objective so far."""
    measured = measured_jobs(state, reward)
    elapsed_s = (state.now_ms - begin_ms) / 1000
    ended = sum(has_ended(state, job) for job in measured)
    return {
        **{name: mean_of_jobs(state, reward, name, log) for name in OF_JOBS},
        "utilization": used_s(state) / (state.sizes.capacity_milli / 1000 * elapsed_s) if elapsed_s else 0.0,
        "makespan": elapsed_s,
        "completion": ended / len(measured),
        "queue": sum(wait_s(state, job) for job in in_the_queue_so_far(state)) / elapsed_s if elapsed_s else 0.0,
        "balance": unevenness_s(state, begin_ms) / elapsed_s if elapsed_s else 0.0,
    }


def measured_jobs(state: State, reward: Reward) -> list[int]:
    """Returns the jobs behind the warm-up that will not be rejected."""
    return [job for job in runnable_jobs(state) if job >= reward.warmup]


def runnable_jobs(state: State) -> list[int]:
    """Returns the jobs that will not be rejected."""
    return [job for job in range(len(state.jobs)) if reject_reason(state.jobs[job], state.nodes) is RejectReason.NONE]


def in_the_queue_so_far(state: State) -> list[int]:
    """Returns the jobs that wait or have waited: those that may run and were not rejected."""
    return [job for job in runnable_jobs(state) if state.result.eligible_ms[job] is not None]


@dataclass(frozen=True)
class Delay:
    """By how much a job is late, and where it is in its life."""

    wait_s: float
    lost_s: float
    started: bool
    """Whether it has ever started."""
    running: bool
    """Whether it runs, or has ended."""


def stops_of(state: State, job: int) -> list[Stop]:
    """Returns the runs of a job that did not end it."""
    return [stop for stop in state.result.stops if stop.job == job]


def holds_nodes(state: State, job: int) -> bool:
    """Tells whether a job runs, or has ended."""
    return any(running.job == job for running in state.running) or has_ended(state, job)


def has_ended(state: State, job: int) -> bool:
    """Tells whether a job ran to an end."""
    return state.result.end_ms[job] is not None and state.result.start_ms[job] is not None


def wait_s(state: State, job: int) -> float:
    """Returns for how long a job has held no nodes, until now, until its latest start, or until it left."""
    start_ms = state.result.latest_start_ms[job]
    until_ms = start_ms if start_ms is not None and holds_nodes(state, job) else state.now_ms
    if state.result.outcome[job] is Outcome.CANCELLED:
        until_ms = state.result.end_ms[job] or 0
    held_ms = sum(stop.end_ms - stop.start_ms for stop in stops_of(state, job))
    return (until_ms - state.since_ms(job) - held_ms) / 1000


def lost_s(state: State, job: int) -> float:
    """Returns for how long a job has held nodes in vain: work that was lost, and what starts after stops cost."""
    config, lost_ms = state.config, 0
    for number, stop in enumerate(stops_of(state, job)):
        length_ms = stop.end_ms - stop.start_ms
        kept = config.failure_keeps_progress if stop.by_failure else config.keep_progress
        overhead_ms = restart_ms(state.jobs[job], config) if number else 0
        lost_ms += min(length_ms, overhead_ms) if kept else length_ms
    if stops_of(state, job) and state.result.end_ms[job] is not None:
        lost_ms += restart_ms(state.jobs[job], config)
    return lost_ms / 1000


def delay_of(state: State, job: int) -> Delay:
    """Returns by how much a job is late now."""
    started = state.result.start_ms[job] is not None
    return Delay(wait_s(state, job), lost_s(state, job), started, holds_nodes(state, job))


def longest_wait_s(state: State, reward: Reward) -> float:
    """Returns the longest wait that a measured job had until a start of its."""
    return max((wait_at_latest_start_s(state, job) for job in measured_jobs(state, reward)), default=0.0)


def wait_at_latest_start_s(state: State, job: int) -> float:
    """Returns for how long a job had held no nodes when it started last; 0 if it never has."""
    start_ms = state.result.latest_start_ms[job]
    if start_ms is None:
        return 0.0
    before = [stop for stop in stops_of(state, job) if stop.end_ms <= start_ms and stop.start_ms < start_ms]
    return (start_ms - state.since_ms(job) - sum(stop.end_ms - stop.start_ms for stop in before)) / 1000


def mean_of_jobs(state: State, reward: Reward, name: str, log: bool) -> float:
    """Returns a mean over the measured jobs; those that have not begun to wait count nothing yet."""
    measured = measured_jobs(state, reward)
    here = [job for job in measured if state.result.eligible_ms[job] is not None]
    told = replace(reward, log=log)
    return sum(value_of(state, job, delay_of(state, job), name, told) for job in here) / len(measured)


def value_of(state: State, job: int, delay: Delay, name: str, reward: Reward) -> float:
    """Returns what a job adds to an objective: before its first start what its wait alone adds.

    While a job waits again, the bound of the bounded slowdown does not hold it. A logarithm is that of a job that
    starts now.
    """
    r, priority = lasting_ms(state.jobs[job], state.config) / 1000, reward.priority[job]
    w, d = delay.wait_s, delay.wait_s + delay.lost_s
    whole, again, by_waiting = {
        "bounded_slowdown": (max(1.0, (d + r) / max(r, 10.0)), (d + r) / max(r, 10.0), d / max(r, 10.0)),
        "wait": (w, w, w),
        "turnaround": (d + r, d + r, d),
        "slowdown": ((d + r) / max(r, 1.0), (d + r) / max(r, 1.0), d / max(r, 1.0)),
        "priority": (priority * w, priority * w, priority * w),
    }[name]
    if not reward.log:
        return whole if delay.running else again if delay.started else by_waiting
    return math.log(max(whole, LEAST_SLOWDOWN)) if name in SLOWDOWNS else math.log(1 + whole)


Run: TypeAlias = tuple[int, int, int, Allocation]
"""A job, from when until when it held nodes, and which."""


def runs_until_now(state: State) -> list[Run]:
    """Returns all that has run so far, what runs now until now."""
    runs = [(stop.job, stop.start_ms, stop.end_ms, stop.allocation) for stop in state.result.stops]
    for job, start_ms in enumerate(state.result.latest_start_ms):
        if start_ms is not None and holds_nodes(state, job):
            end_ms = state.result.end_ms[job]
            until_ms = state.now_ms if end_ms is None else end_ms
            runs.append((job, start_ms, until_ms, state.result.allocation[job]))
    return runs


def used_s(state: State) -> float:
    """Returns the core-seconds or GPU-seconds used so far, by measured jobs or not."""
    runs = runs_until_now(state)
    return sum(state.sizes.amount_milli(state.jobs[job]) * (end - start) for job, start, end, _ in runs) / 1e6


def unevenness_s(state: State, begin_ms: int) -> float:
    """Returns the variance over nodes of the part of their cores in use, integrated over time."""
    runs = runs_until_now(state)
    moments = sorted({begin_ms, state.now_ms, *(time for _, *times, _ in runs for time in times)})
    total = 0.0
    for from_ms, until_ms in pairwise(moments):
        present = [run for run in runs if run[1] <= from_ms < run[2]]
        total += pvariance(parts_in_use(state, present)) * (until_ms - from_ms) / 1000
    return total


def parts_in_use(state: State, present: list[Run]) -> list[float]:
    """Returns for each node the part of its cores that these runs use."""
    used = [0] * len(state.nodes)
    for job, _, _, allocation in present:
        for share in allocation:
            used[share.node] += share.tasks * state.jobs[job].cores_milli
    return [cores / node.cores_milli for cores, node in zip(used, state.nodes, strict=True)]
