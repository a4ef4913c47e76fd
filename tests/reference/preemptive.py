"""The policies ``srtf`` and ``las``: who is first may stop those who are after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from tests.reference.arithmetic import nearest
from tests.reference.resources import empty, without
from tests.reference.specs import PREEMPTIVE

if TYPE_CHECKING:
    from tests.reference.holding import Running
    from tests.reference.resources import FreeNodes
    from tests.reference.state import State

THRESHOLDS_S = {"first_s": 3600.0, "second_s": 36_000.0}
"""The parameters of ``las`` in seconds times size, ascending, and their defaults."""

Key: TypeAlias = tuple[bool, int, int]
"""Whether the guard does not put the job first, what the policy measures, and the job."""


def running_of(state: State, job: int) -> Running | None:
    """Returns a job as it runs, or None if it does not."""
    return next((running for running in state.running if running.job == job), None)


def measure(state: State, job: int) -> int:
    """Returns the work that is left by the estimate (srtf), or how many thresholds the job has reached (las)."""
    running = running_of(state, job)
    if state.policy.name == "las":
        held_ms = state.held_ms[job] + (state.now_ms - running.start_ms if running else 0)
        service = state.sizes.micro(state.jobs[job]) * held_ms
        return sum(service >= threshold for threshold in thresholds(state))
    done_ms = state.done_ms(running) if running else state.progress_ms.get(job, 0)
    return max(state.estimate_ms(job) - done_ms, 0)


def thresholds(state: State) -> list[int]:
    """Returns the thresholds of ``las``, in millionths of a size times milliseconds."""
    return [1000 * nearest(state.policy.number(name, default) * 1000 * 1000) for name, default in THRESHOLDS_S.items()]


def key(state: State, job: int) -> Key:
    """Returns where a job stands now, whether it waits or runs; those whom the guard puts first are before all."""
    bound_ms = state.config.max_wait_ms
    starving = bound_ms is not None and state.now_ms - state.jobs[job].submit_ms >= bound_ms
    return (not starving, 0 if starving else measure(state, job), job)


def preemptive_pass(state: State) -> None:
    """Gives each waiting job its turn, those included that are stopped on the way; the least key goes first."""
    tried: set[int] = set()
    while left := [job for job in state.waiting if job not in tried]:
        job = min(left, key=lambda one: key(state, one))
        tried.add(job)
        for victim in victims(state, job):
            state.preempt(victim)
        allocation = state.place(job, state.free_now())
        if allocation is not None:
            state.start(job, allocation)


def victims(state: State, job: int) -> list[Running]:
    """Returns whom the job has to stop, the worst first: none if it fits, or cannot be helped."""
    own = key(state, job)
    behind = [
        running
        for running in state.running
        if key(state, running.job) > own and state.now_ms - running.start_ms >= state.config.minimum_run_ms
    ]
    behind.sort(key=lambda running: key(state, running.job), reverse=True)
    stopped: list[Running] = []
    for running in [None, *behind]:
        stopped += [running] if running else []
        if state.place(job, free_without(state, stopped)) is not None:
            return spared(state, job, stopped)
    return []


def spared(state: State, job: int, stopped: list[Running]) -> list[Running]:
    """Returns those of the victims, worst first, who are left when each that need not stop goes on, the best first."""
    for running in reversed(stopped):
        others = [other for other in stopped if other != running]
        if state.place(job, free_without(state, others)) is not None:
            stopped = others
    return stopped


def free_without(state: State, stopped: list[Running]) -> FreeNodes:
    """Returns what would be free if some running jobs did not run."""
    free = empty(state.nodes)
    for running in state.running:
        if running not in stopped:
            free = without(free, state.jobs[running.job], running.allocation)
    return free


def reviews_ms(state: State) -> list[int]:
    """Returns the times to come at which a running job may be stopped at last, or falls to a lower level."""
    if not state.waiting or state.policy.name not in PREEMPTIVE:
        return []
    times = [running.start_ms + state.config.minimum_run_ms for running in state.running]
    if state.policy.name == "las":
        for running in state.running:
            size = state.sizes.micro(state.jobs[running.job])
            since_ms = running.start_ms - state.held_ms[running.job]
            times += [since_ms + -(-threshold // size) for threshold in thresholds(state) if size]
    return [time_ms for time_ms in times if time_ms > state.now_ms]
