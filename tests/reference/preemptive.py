"""The policies ``srtf``, ``srsf``, ``las`` and ``gittins``: who is first may stop those who are after it."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, TypeAlias

from tests.reference.arithmetic import nearest
from tests.reference.resources import empty, without
from tests.reference.site_rules import is_barred, is_barred_now
from tests.reference.specs import PREEMPTIVE
from tests.reference.speeds import lasts_ms

if TYPE_CHECKING:
    from tests.reference.holding import Running
    from tests.reference.resources import FreeNodes
    from tests.reference.state import State

THRESHOLDS_S = {"first_s": 3600.0, "second_s": 36_000.0}
"""The parameters of ``las`` in seconds times size, ascending, and their defaults once one of them is given."""
SERVICE = 10**9
"""One second times a size of one, in milliseconds and millionths."""
LEAST_SIZE = 0.001

Key: TypeAlias = tuple[bool, int, float, int]
"""Whether the guard does not put the job first, its tier downwards, what the policy measures, and the job."""


def running_of(state: State, job: int) -> Running | None:
    """Returns a job as it runs, or None if it does not."""
    return next((running for running in state.running if running.job == job), None)


def measure(state: State, job: int) -> float:
    """Returns what the policy goes by; the least is first."""
    if state.policy.name == "las":
        service = service_of(state, job)
        return sum(service >= threshold for threshold in thresholds(state)) if state.policy.said else service
    if state.policy.name == "gittins":
        size = max(state.sizes.size(state.jobs[job]), LEAST_SIZE)
        return -(state.histograms.index(state.jobs[job], attained_ms(state, job)) / size)
    left_ms = max(expected_ms(state, job) - work_ms(state, job), 0)
    return left_ms * state.sizes.micro(state.jobs[job]) if state.policy.name == "srsf" else left_ms


def work_ms(state: State, job: int) -> int:
    """Returns the work that a job has done and kept, at the speed 1."""
    running = running_of(state, job)
    return state.done_ms(running) if running else state.progress_ms.get(job, 0)


def attained_ms(state: State, job: int) -> int:
    """Returns the work that a job has ever done, the time for which it worked in vain included."""
    return work_ms(state, job) + state.vain_ms[job]


def expected_ms(state: State, job: int) -> int:
    """Returns how much work the job is by its estimate, which doubles as often as the job outlives it."""
    expected = state.estimate_ms(job)
    if doubles(state) and attained_ms(state, job):
        expected = max(expected, 1)
        while expected <= attained_ms(state, job):
            expected *= 2
    return expected


def doubles(state: State) -> bool:
    """Tells whether an estimate doubles that is outlived, as the truth never is; if not, nothing is left then."""
    asks = state.policy.name == "srsf" or (state.policy.name == "srtf" and state.policy.said.get("outlived") != "ends")
    return asks and state.config.estimate != "perfect"


def service_of(state: State, job: int) -> int:
    """Returns for how long the job has held its nodes, times its size in millionths."""
    running = running_of(state, job)
    held_ms = state.held_ms[job] + (state.now_ms - running.start_ms if running else 0)
    return state.sizes.micro(state.jobs[job]) * held_ms


def thresholds(state: State) -> list[int]:
    """Returns the thresholds of ``las``, in millionths of a size times milliseconds; infinite ones are left out."""
    given = [state.policy.number(name, default) for name, default in THRESHOLDS_S.items()]
    return [1000 * nearest(threshold * 1000 * 1000) for threshold in given if threshold < math.inf]


def key(state: State, job: int) -> Key:
    """Returns where a job stands now, whether it waits or runs; those whom the guard puts first are before all."""
    bound_ms = state.config.max_wait_ms
    starving = bound_ms is not None and state.now_ms - state.since_ms(job) >= bound_ms
    return (True, -state.jobs[job].tier, measure(state, job), job) if not starving else (False, 0, 0, job)


def preemptive_pass(state: State) -> None:
    """Gives each waiting job its turn, those included that are stopped on the way; the least key goes first.

    Who has come forward by being stopped, for its progress is lost, has to wait for the next pass.
    """
    tried: set[int] = set()
    turn: Key = (False, 0, -math.inf, -1)
    while left := [job for job in state.waiting if job not in tried]:
        job = min(left, key=lambda one: key(state, one))
        tried.add(job)
        if key(state, job) < turn:
            continue
        turn = key(state, job)
        for victim in victims(state, job):
            state.preempt(victim)
        allocation = state.place(job, state.free_now())
        if allocation is not None and not is_barred_now(state, job):
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
        if could_start(state, job, stopped):
            return spared(state, job, stopped)
    return []


def spared(state: State, job: int, stopped: list[Running]) -> list[Running]:
    """Returns those of the victims, worst first, who are left when each that need not stop goes on, the best first."""
    for running in reversed(stopped):
        others = [other for other in stopped if other != running]
        if could_start(state, job, others):
            stopped = others
    return stopped


def could_start(state: State, job: int, stopped: list[Running]) -> bool:
    """Tells whether a job could start if some running jobs did not run: it fits, and no limit keeps it."""
    others = [running.job for running in state.running if running not in stopped]
    return state.place(job, free_without(state, stopped)) is not None and not is_barred(state, job, others)


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
    times += [time_ms for running in state.running for time_ms in falls_ms(state, running)]
    return [time_ms for time_ms in times if time_ms > state.now_ms]


def falls_ms(state: State, running: Running) -> list[int]:
    """Returns when a running job is looked at because its place in the order has become worse by itself."""
    job = running.job
    if state.policy.name == "las":
        size = state.sizes.micro(state.jobs[job])
        since_ms = running.start_ms - state.held_ms[job]
        return [since_ms + -(-threshold // size) for threshold in looked_at(state, job) if size]
    if state.policy.name == "gittins":
        border_ms = state.histograms.level_end_ms(attained_ms(state, job))
        return [] if border_ms is None else [reaches_ms(state, running, border_ms)]
    if not doubles(state):
        return []
    return [reaches_ms(state, running, max(expected_ms(state, job), 1))]


def looked_at(state: State, job: int) -> list[int]:
    """Returns the service at which ``las`` looks at a running job: the thresholds, or else the next power of two."""
    if state.policy.said:
        return thresholds(state)
    powers = (SERVICE * 2**power for power in itertools.count())
    return [next(power for power in powers if power > service_of(state, job))]


def reaches_ms(state: State, running: Running, work: int) -> int:
    """Returns when a running job will have attained so much work."""
    left_ms = max(work - state.vain_ms[running.job] - state.progress_ms.get(running.job, 0), 0)
    lasting_ms = lasts_ms(left_ms, state.speed_micro(running.job, running.allocation))
    return running.start_ms + state.overhead_ms(running.job) + lasting_ms
