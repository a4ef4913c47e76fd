"""From a view to a plan: the view becomes a snapshot, and the core decides.

Jobs with a higher priority go before all others; the policy orders those of equal priority.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from shunter.execution.view import USUAL_TIME_S, Plan, SeenJob, View
from shunter.model.schedule import Phase
from shunter.model.settings import RUN_TIME
from shunter.model.snapshot import NO_TIME, UNKNOWN, Snapshot
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

WHOLE_GPU: Final = 1000
"""In thousandths."""


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


def _ms(time_s: float | None) -> int:
    return 0 if time_s is None else round(time_s * 1000)


def _snapshot(shown: Sequence[SeenJob], view: View) -> Snapshot:
    count = len(shown)
    phases = [
        Phase.COMPLETED if job.end_s is not None else Phase.WAITING if job.start_s is None else Phase.RUNNING
        for job in shown
    ]
    # Whoever runs is on the one machine. Where those were that have ended does not matter, and it may have changed.
    on_nodes = [phase == Phase.RUNNING for phase in phases]
    devices = [job.devices if phase == Phase.RUNNING else () for job, phase in zip(shown, phases, strict=True)]
    flat = [device for held in devices for device in held]
    nodes = sum(on_nodes)
    return Snapshot(
        now_ms=_ms(view.now_s),
        phase=np.array(phases, np.uint8),
        start_ms=np.array([_ms(job.start_s) for job in shown], np.int64),
        end_ms=np.array([_ms(job.end_s) for job in shown], np.int64),
        node_offsets=_offsets(on_nodes),
        nodes=np.zeros(nodes, np.int32),
        tasks=np.ones(nodes, np.int32),
        device_offsets=_offsets([len(held) for held in devices]),
        devices=np.array(flat, np.int32),
        millis=np.full(len(flat), WHOLE_GPU, np.int32),
        down=np.zeros(1, np.uint8),
        reserved_ms=np.full(count, NO_TIME, np.int64),
        done_ms=np.zeros(count, np.int64),
        limit_ms=np.full(count, UNKNOWN, np.int64),
        start_number=np.full(count, UNKNOWN, np.int64),
        stop_job=np.empty(0, np.uint32),
        stop_start_ms=np.empty(0, np.int64),
        stop_end_ms=np.empty(0, np.int64),
        stop_by_failure=np.empty(0, np.uint8),
    )


def _offsets(counts: Sequence[int]) -> Any:  # noqa: ANN401 - an array
    return np.concatenate(([0], np.cumsum(np.array(counts, np.int64)))).astype(np.int64)
