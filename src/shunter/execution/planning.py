"""From a view to a plan: the view becomes a snapshot, and the core decides.

Jobs with a higher priority go before all others; the policy orders those of equal priority.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import polars as pl

from shunter.execution.view import USUAL_TIME_S, Plan, SeenJob, View
from shunter.model.schedule import Phase
from shunter.model.settings import RUN_TIME
from shunter.model.snapshot import LiveJob, Snapshot
from shunter.model.state import State
from shunter.model.workload import Workload
from shunter.policies.native import NativePolicy
from shunter.simulation import Simulation
from shunter.simulation.run import decide

if TYPE_CHECKING:
    from shunter.envs.consultation import Consultation
    from shunter.envs.sources import EnvironmentOptions
    from shunter.policies.scheduler import Scheduler
    from shunter.simulation import Decision


def plan(view: View, scheduler: Scheduler, began: float) -> Plan:
    """Returns what a way to schedule decides; deciding began at this time of `time.perf_counter`."""
    shown, decision = _decision(view, scheduler)
    return as_plan(shown, decision, scheduler.settings.policy, began)


def as_plan(shown: Sequence[SeenJob], decision: Decision, policy: str, began: float) -> Plan:
    """Returns a decision of the core's as a plan.

    Args:
        shown: The jobs, in the order of the workload's rows.
        decision: What is decided of them.
        policy: Who decided.
        began: When deciding began, by `time.perf_counter`.
    """
    # Jobs start in the order of the line, so that the next one in it is the one that is passed over last.
    place = {row: number for number, row in enumerate(decision.order)}
    starts = sorted(decision.starts, key=lambda row: place.get(row, len(place)))
    reasons = {}
    for row, waiting in decision.waiting.items():
        behind = "" if waiting.blocker is None else f" (job {shown[waiting.blocker].id})"
        reasons[shown[row].id] = f"{waiting.reason.value}{behind}"
    return Plan(
        policy=policy,
        starts=tuple(shown[row].id for row in starts),
        line=tuple(shown[row].id for row in decision.order if row not in decision.starts),
        reasons=reasons,
        seconds=time.perf_counter() - began,
    )


def _decision(view: View, scheduler: Scheduler) -> tuple[list[SeenJob], Decision]:
    """Returns the jobs in the order of the workload's rows, and what is decided of them."""
    priorities = {job.priority for job in view.waiting}
    waiting = list(view.waiting)
    is_native = isinstance(scheduler.policy, NativePolicy)
    if len(priorities) > 1 and not is_native:
        # A policy that cannot be given an order sees those of the highest priority alone.
        waiting = [job for job in waiting if job.priority == max(priorities)]
    shown = _shown(view, waiting)
    workload = _workload(shown, view.now_s, scheduler)
    snapshot = _snapshot(shown, view)
    if not is_native:
        return shown, decide(snapshot, workload, view.cluster, scheduler)
    simulation = Simulation(workload, view.cluster, scheduler)
    simulation.load(snapshot)
    if len(priorities) == 1:
        return shown, simulation.decide()
    ranked = simulation.waiting().tolist()
    longest_s = scheduler.settings.max_wait_s
    # The guard against starvation goes before priorities, as it goes before everything.
    starving = [row for row in ranked if longest_s is not None and view.now_s - shown[row].submit_s >= longest_s]
    ranked.sort(key=lambda row: (row not in starving, -shown[row].priority))
    return shown, simulation.decide(ranked)


def consultation(view: View, options: EnvironmentOptions) -> tuple[list[SeenJob], Consultation]:
    """Returns the jobs in the order of the workload's rows, and what asks for the decisions of this instant one by one.

    Args:
        view: What is known.
        options: The environment whose observations are shown.
    """
    from shunter.envs.consultation import Consultation

    shown = _shown(view, view.waiting)
    workload = _workload(shown, view.now_s, options.scheduler)
    simulation = Simulation(workload, view.cluster, options.scheduler)
    simulation.load(_snapshot(shown, view))
    return shown, Consultation(simulation, workload, options)


def state_of(view: View, scheduler: Scheduler) -> tuple[list[SeenJob], State]:
    """Returns the jobs in the order of the workload's rows, and all that is known of them."""
    shown = _shown(view, view.waiting)
    workload = _workload(shown, view.now_s, scheduler)
    return shown, State(workload, view.cluster, _snapshot(shown, view), scheduler.settings.words())


def _shown(view: View, waiting: Iterable[SeenJob]) -> list[SeenJob]:
    return sorted([*view.ended, *view.running, *waiting], key=lambda job: (job.submit_s, job.id))


def _workload(shown: Sequence[SeenJob], now_s: float, scheduler: Scheduler) -> Workload:
    """Returns the jobs as a table. How long those run that have not ended does not matter, but must be a number."""
    # A policy may have been trained to take the run time where no time is asked for, which nobody knows here.
    stand_in = USUAL_TIME_S if scheduler.settings.missing_request == RUN_TIME else None
    frame = pl.DataFrame(
        {
            "job_id": [job.id for job in shown],
            "submit_s": [job.submit_s for job in shown],
            "run_s": [(job.end_s or now_s) - (job.start_s or job.end_s or now_s) for job in shown],
            "requested_s": pl.Series([job.requested_s or stand_in for job in shown], dtype=pl.Float64),
            "cores_per_task": [float(job.cores) for job in shown],
            "memory_mb_per_task": [float(job.memory_mb) for job in shown],
            "gpus_per_task": [float(job.gpus) for job in shown],
            "user": [job.kind for job in shown],
            "priority": [float(job.priority) for job in shown],
        }
    )
    return Workload.from_frame(frame, name="queue", content_sha256="queue")


def _snapshot(shown: Sequence[SeenJob], view: View) -> Snapshot:
    jobs = []
    for job in shown:
        is_running = job.end_s is None and job.start_s is not None
        phase = Phase.COMPLETED if job.end_s is not None else Phase.RUNNING if is_running else Phase.WAITING
        # Whoever runs is on the one machine. Where those were that have ended does not matter, and it may have changed.
        there = ([(0, 1)], job.devices) if is_running else ((), ())
        jobs.append(LiveJob(phase, job.start_s, job.end_s, *there))
    return Snapshot.live(view.now_s, jobs, [False])
