"""When the waiting jobs of a local queue will start: the journal is read, nothing is changed, no daemon is needed."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shunter.execution.deciding import queue_scheduler
from shunter.execution.local.folder import QueueFolder
from shunter.execution.local.history import read_rows
from shunter.execution.local.machine import Machine
from shunter.execution.local.queue import seen_job
from shunter.execution.planning import state_of
from shunter.execution.view import SeenJob, View
from shunter.model.cluster import Cluster, Node
from shunter.simulation.eta import check_scheduler, eta_of
from shunter.simulation.simulation import Simulation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.state import State
    from shunter.policies.scheduler import Scheduler
    from shunter.simulation.asked_job import AskedJob
    from shunter.simulation.eta import Eta
    from shunter.simulation.foresight import Foresight

WEEKS_S: Final = 28 * 86_400
"""How long ago jobs were submitted from which those to come are drawn."""
_ENDED: Final = """
    SELECT * FROM jobs WHERE state = 'done' AND start_s IS NOT NULL AND end_s IS NOT NULL AND submit_s >= ? ORDER BY id
"""
_NEEDING: Final = """
    SELECT DISTINCT job FROM dependencies JOIN jobs ON jobs.id = needs WHERE state IN ('queued', 'held', 'running')
"""


@dataclass(frozen=True)
class QueueEta:
    """When the waiting jobs of a queue start."""

    eta: Eta
    left_out: int
    """How many wait for another job, or are held: when they may start is not foreseen."""
    scores: NDArray[np.float64] | None = None
    """The order that priorities make of the policy's, the lowest first; None: they are all equal."""


def eta_of_queue(
    folder: QueueFolder,
    *,
    new: AskedJob | None = None,
    foresight: Foresight | None = None,
    threads: int | None = None,
) -> QueueEta:
    """Says when those will start that wait in a queue now, under the queue's own policy.

    Raises:
        InputError: There is no such queue, or its policy is not one that the core runs.
    """
    settings = {row["key"]: json.loads(row["value"]) for row in read_rows(folder, "SELECT * FROM meta")}
    scheduler = check_scheduler(queue_scheduler(settings.get("policy") or {}))
    view, left_out = _view(folder, settings)
    shown, state = state_of(view, scheduler)
    scores = _scores(shown, state, scheduler)
    # One user owns the queue: jobs are told apart by their names, and one without a name is like nobody's.
    found = eta_of(state, scheduler, new=new, foresight=foresight, threads=threads, scores=scores)
    return QueueEta(found, left_out, scores)


def _view(folder: QueueFolder, settings: dict[str, Any]) -> tuple[View, int]:
    """Returns what is known of a queue, and how many jobs that wait are left out."""
    now_s = time.time()
    devices = {
        row["job"]: tuple(json.loads(row["gpus"]))
        for row in read_rows(folder, "SELECT job, gpus FROM attempts WHERE state = 'started'")
    }
    needing = {row["job"] for row in read_rows(folder, _NEEDING)}
    waiting, running, left_out = [], [], 0
    for row in read_rows(folder, "SELECT * FROM jobs WHERE state IN ('queued', 'held', 'running') ORDER BY id"):
        seen = seen_job(dict(row))
        if row["state"] == "running" and row["start_s"] is not None:
            start_s = min(max(row["start_s"], seen.submit_s), now_s)
            running.append(replace(seen, start_s=start_s, devices=devices.get(seen.id, ())))
        elif row["state"] == "queued" and seen.id not in needing:
            waiting.append(seen)
        else:
            left_out += 1
    ended = []
    for row in read_rows(folder, _ENDED, (now_s - WEEKS_S,)):
        seen = seen_job(dict(row))
        start_s = max(row["start_s"], seen.submit_s)
        ended.append(replace(seen, start_s=start_s, end_s=min(max(row["end_s"], start_s), now_s)))
    machine = Machine(settings.get("cores"), settings.get("memory_mb"), settings.get("gpus"))
    here = Node(
        "here",
        float(max(machine.cores, sum(job.cores for job in running))),
        max(machine.memory_mb, sum(job.memory_mb for job in running)),
        max(machine.gpus, 1 + max((gpu for job in running for gpu in job.devices), default=-1)),
    )
    return View(now_s, Cluster.from_nodes((here,), "here"), waiting, running, ended), left_out


def _scores(shown: list[SeenJob], state: State, scheduler: Scheduler) -> NDArray[np.float64] | None:
    """Returns an order that puts higher priorities first; None where all are equal, and the policy's own order holds.

    Those of one priority keep the order of now, and those to come queue behind them.
    """
    priorities = np.array([job.priority for job in shown], dtype=np.float64)
    if len(set(priorities.tolist())) <= 1:
        return None
    simulation = Simulation(state.workload, state.cluster, scheduler)
    simulation.load(state.snapshot)
    order = simulation.waiting()
    place = np.full(len(shown), float(len(order)))
    place[order] = np.arange(len(order))
    return place - priorities * (len(order) + 1.0)
