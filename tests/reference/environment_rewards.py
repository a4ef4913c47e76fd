"""What an episode is worth so far: each objective recomputed from the schedule as it stands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import pvariance

from shunter.model.schedule import RejectReason
from tests.reference.model import RefJob, lasting_ms
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
            w = (min(state.now_ms, start_ms) - submit_ms) / 1000
            total += value_of(state, job, w, start_ms <= state.now_ms, name, reward)
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
    ended = sum(state.result.end_ms[job] is not None for job in measured)
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
    """Returns the jobs that wait or have waited: those that have arrived and were not rejected."""
    return [job for job in runnable_jobs(state) if job < state.arrived]


def wait_s(state: State, job: int) -> float:
    """Returns how long a job has waited, until now or until its start."""
    start_ms = state.result.start_ms[job]
    return ((state.now_ms if start_ms is None else start_ms) - state.jobs[job].submit_ms) / 1000


def longest_wait_s(state: State, reward: Reward) -> float:
    """Returns the longest wait of a measured job that has started."""
    started = [job for job in measured_jobs(state, reward) if state.result.start_ms[job] is not None]
    return max((wait_s(state, job) for job in started), default=0.0)


def mean_of_jobs(state: State, reward: Reward, name: str, log: bool) -> float:
    """Returns a mean over the measured jobs; those that have not arrived count nothing yet."""
    measured = measured_jobs(state, reward)
    here = [job for job in measured if job < state.arrived]
    told = replace(reward, log=log)
    started = state.result.start_ms
    total = sum(value_of(state, job, wait_s(state, job), started[job] is not None, name, told) for job in here)
    return total / len(measured)


def value_of(state: State, job: int, w: float, started: bool, name: str, reward: Reward) -> float:
    """Returns what a job adds to an objective after a wait: before its start what its wait alone adds.

    A logarithm is that of a job that starts now.
    """
    r, priority = lasting_ms(state.jobs[job], state.config) / 1000, reward.priority[job]
    whole, by_waiting = {
        "bounded_slowdown": (max(1.0, (w + r) / max(r, 10.0)), w / max(r, 10.0)),
        "wait": (w, w),
        "turnaround": (w + r, w),
        "slowdown": ((w + r) / max(r, 1.0), w / max(r, 1.0)),
        "priority": (priority * w, priority * w),
    }[name]
    if not reward.log:
        return whole if started else by_waiting
    return math.log(max(whole, LEAST_SLOWDOWN)) if name in SLOWDOWNS else math.log(1 + whole)


def runs_until_now(state: State) -> list[tuple[int, int, int]]:
    """Returns (job, start, end or now) of all that has run so far."""
    runs = []
    for job, start_ms in enumerate(state.result.start_ms):
        if start_ms is not None:
            end_ms = start_ms + lasting_ms(state.jobs[job], state.config)
            runs.append((job, start_ms, min(end_ms, state.now_ms)))
    return runs


def used_s(state: State) -> float:
    """Returns the core-seconds or GPU-seconds used so far, by measured jobs or not."""
    runs = runs_until_now(state)
    return sum(state.sizes.amount_milli(state.jobs[job]) * (end_ms - start_ms) for job, start_ms, end_ms in runs) / 1e6


def unevenness_s(state: State, begin_ms: int) -> float:
    """Returns the variance over nodes of the part of their cores in use, integrated over time."""
    runs = runs_until_now(state)
    moments = sorted({begin_ms, state.now_ms, *(time for _, *times in runs for time in times)})
    total = 0.0
    for from_ms, until_ms in pairwise(moments):
        present = [job for job, start_ms, end_ms in runs if start_ms <= from_ms < end_ms]
        total += pvariance(parts_in_use(state, present)) * (until_ms - from_ms) / 1000
    return total


def parts_in_use(state: State, present: list[int]) -> list[float]:
    """Returns for each node the part of its cores that these jobs use."""
    used = [0] * len(state.nodes)
    for place in present:
        job: RefJob = state.jobs[place]
        for share in state.result.allocation[place]:
            used[share.node] += share.tasks * job.cores_milli
    return [cores / node.cores_milli for cores, node in zip(used, state.nodes, strict=True)]
