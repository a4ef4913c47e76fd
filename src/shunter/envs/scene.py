"""What there is to see of an environment at an instant: who waits, who runs where, what has run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from shunter.errors import InputError
from shunter.metrics.sizes import used_resources
from shunter.model.schedule import Phase, whole_milliseconds
from shunter.simulation.core_inputs import numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.envs.vector import NativeVectorEnv
    from shunter.metrics.sizes import Resource
    from shunter.model.cluster import Cluster
    from shunter.model.snapshot import Snapshot
    from shunter.simulation.states import CoreStops

MILLI: Final = 1000
_HELD: Final = (Phase.RUNNING, Phase.COMPLETED, Phase.KILLED, Phase.FAILED)
"""Who holds nodes, or held them last."""


@dataclass(frozen=True)
class SeenJob:
    """A job that waits or runs."""

    job_id: int
    size: float
    """In what binds: cores or GPUs."""
    wait_s: float
    """How long it has held no nodes since it was submitted."""
    estimate_s: float
    """Its run time, as the policy sees it; of a running job, what is left of it."""
    allowed: bool = False
    """Whether the present decision may be for it: to start it, or to stop it."""
    ran_s: float = 0.0
    """Of a running job: since its latest start."""
    nodes: int = 0
    """Of a running job: on how many."""


@dataclass(frozen=True)
class Runs:
    """What jobs took of nodes for some time: one row a job, node and stretch of time."""

    job: NDArray[np.int64]
    node: NDArray[np.int64]
    used_milli: NDArray[np.int64]
    start_ms: NDArray[np.float64]
    end_ms: NDArray[np.float64]
    """Of a running job: when it is expected to end."""


@dataclass(frozen=True)
class Scene:
    """One environment at an instant."""

    name: str
    """Of the log."""
    cluster: Cluster
    resource: Resource
    """What sizes are told in."""
    begin_ms: int
    now_ms: int
    waiting: list[SeenJob]
    """Those of the window first, in its order."""
    running: list[SeenJob]
    """In the order of their starts."""
    runs: Runs
    wait_s: NDArray[np.float64]
    """Of each job: how long it has waited, or had until its latest start."""
    down: NDArray[np.bool_]
    """Of each node."""

    largest: float
    """The size of the episode's largest job that the cluster can hold."""
    span_s: float
    """From the first submit of the episode to its last: how long waits may become."""

    @property
    def used(self) -> float:
        """How much of the resource is in use."""
        return sum(job.size for job in self.running)


def look_at(vector: NativeVectorEnv, allowed: NDArray[np.bool_]) -> Scene:
    """Returns what there is to see of the first environment of a vector.

    Args:
        vector: Environments of which the first has an episode.
        allowed: Its mask.

    Raises:
        InputError: There is no episode yet.
    """
    view = vector.view()
    number = int(view.episode[0])
    if number < 0:
        raise InputError("there is nothing to render yet; call reset() first")
    world, episode = vector.world, vector.world.episodes[number]
    workload, cluster = world.workloads[episode["table"]], world.clusters[episode["cluster"]]
    first, count = int(episode["first"]), int(episode["count"])
    resource = used_resources(workload, cluster)[0]
    simulation = vector.simulation(0)
    told, stops = simulation.snapshot(), simulation.stops()
    estimate_ms, queue = simulation.estimates().estimate_ms, simulation.waiting().astype(np.int64)
    simulation.close()
    jobs = workload.jobs.slice(first, count)
    submit_ms = whole_milliseconds(numbers(jobs["submit_s"])).astype(np.int64)
    held_ms = np.bincount(stops.job, stops.end_ms - stops.start_ms, minlength=count)
    since_ms = np.where(np.isin(told.phase, _HELD), told.start_ms, told.now_ms)
    wait_s = (since_ms - submit_ms - held_ms) / MILLI
    left_ms = estimate_ms - told.done_ms - np.where(told.phase == Phase.RUNNING, told.now_ms - told.start_ms, 0)
    sizes, ids = resource.per_job(workload)[first : first + count], jobs["job_id"].to_list()
    shown = view.jobs[0][view.jobs[0] >= 0] - first
    # Of hosts, all actions are for the one job that is shown.
    may = allowed[1 : 1 + len(shown)] if vector.layout.may_wait else np.array([allowed.any()])
    may_be_chosen = dict(zip(shown.tolist(), may.tolist(), strict=False))
    shown_waiting = shown[told.phase[shown] == Phase.WAITING]
    places = np.diff(told.node_offsets)

    def seen(job: int) -> SeenJob:
        runs = told.phase[job] == Phase.RUNNING
        return SeenJob(
            job_id=int(ids[job]),
            size=float(sizes[job]),
            wait_s=float(wait_s[job]),
            estimate_s=max(float(left_ms[job]), 0.0) / MILLI,
            allowed=may_be_chosen.get(job, False),
            ran_s=(told.now_ms - int(told.start_ms[job])) / MILLI if runs else 0.0,
            nodes=int(places[job]) if runs else 0,
        )

    running = np.flatnonzero(told.phase == Phase.RUNNING)
    per_task_milli = np.rint(resource.per_task(workload)[first : first + count] * MILLI).astype(np.int64)
    return Scene(
        name=workload.name,
        cluster=cluster,
        resource=resource,
        begin_ms=int(submit_ms[0]),
        now_ms=int(told.now_ms),
        waiting=[seen(job) for job in dict.fromkeys([*shown_waiting.tolist(), *queue.tolist()])],
        running=[seen(job) for job in running[np.argsort(told.start_number[running])].tolist()],
        runs=_runs(told, stops, per_task_milli, np.maximum(left_ms, 0)),
        wait_s=wait_s,
        down=told.down.astype(np.bool_),
        largest=float(np.max(sizes[sizes <= resource.total(cluster)], initial=0.0)) or 1.0,
        span_s=float(submit_ms[-1] - submit_ms[0]) / MILLI,
    )


def _runs(told: Snapshot, stops: CoreStops, per_task_milli: NDArray[np.int64], left_ms: NDArray[np.int64]) -> Runs:
    """Returns all that was held until now, those who run with their expected ends."""
    end_ms = np.where(told.phase == Phase.RUNNING, told.now_ms + left_ms, told.end_ms)
    # A waiting job may hold a reservation on nodes: that is no run.
    last = np.repeat(np.arange(len(told.phase)), np.diff(told.node_offsets))
    held = np.isin(told.phase, _HELD)[last]
    stop = np.repeat(np.arange(len(stops.job)), np.diff(stops.node_offsets))
    job = np.concatenate([last[held], stops.job[stop].astype(np.int64)])
    tasks = np.concatenate([told.tasks[held], stops.tasks[stop]])
    start_ms = np.concatenate([told.start_ms[last[held]], stops.start_ms[stop]])
    end_ms = np.concatenate([end_ms[last[held]], stops.end_ms[stop]])
    node, used = np.concatenate([told.nodes[held], stops.nodes[stop]]), per_task_milli[job] * tasks
    some = (used > 0) & (end_ms > start_ms)
    return Runs(job[some], node[some].astype(np.int64), used[some], start_ms[some] * 1.0, end_ms[some] * 1.0)
