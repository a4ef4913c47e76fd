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
    from collections.abc import Iterable

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
    eligible_ms = simulation.eligible_ms()
    simulation.close()
    jobs = workload.jobs.slice(first, count)
    submit_ms = whole_milliseconds(numbers(jobs["submit_s"])).astype(np.int64)
    held_ms = np.bincount(stops.job, stops.end_ms - stops.start_ms, minlength=count)
    since_ms = np.where(np.isin(told.phase, _HELD), told.start_ms, told.now_ms)
    runs = told.phase == Phase.RUNNING
    ran_ms = np.where(runs, told.now_ms - told.start_ms, 0)
    columns = _Columns(
        job_id=jobs["job_id"].to_numpy(),
        size=resource.per_job(workload)[first : first + count],
        wait_s=(since_ms - eligible_ms - held_ms) / MILLI,
        left_ms=np.maximum(estimate_ms - told.done_ms - ran_ms, 0),
        ran_ms=ran_ms,
        nodes=np.where(runs, np.diff(told.node_offsets), 0),
        allowed=_allowed(vector, allowed, view.jobs[0] - first, count),
    )
    shown = view.jobs[0][view.jobs[0] >= 0] - first
    shown = shown[told.phase[shown] == Phase.WAITING]
    running = np.flatnonzero(runs)
    per_task_milli = np.rint(resource.per_task(workload)[first : first + count] * MILLI).astype(np.int64)
    return Scene(
        name=workload.name,
        cluster=cluster,
        resource=resource,
        begin_ms=int(submit_ms[0]),
        now_ms=int(told.now_ms),
        waiting=columns.jobs(dict.fromkeys([*shown.tolist(), *queue.tolist()])),
        running=columns.jobs(running[np.argsort(told.start_number[running])].tolist()),
        runs=_runs(told, stops, per_task_milli, columns.left_ms),
        wait_s=columns.wait_s,
        down=told.down.astype(np.bool_),
        largest=float(np.max(columns.size[columns.size <= resource.total(cluster)], initial=0.0)) or 1.0,
        span_s=float(submit_ms[-1] - submit_ms[0]) / MILLI,
    )


@dataclass(frozen=True)
class _Columns:
    """What is told of each job of the episode, column by column."""

    job_id: NDArray[np.int64]
    size: NDArray[np.float64]
    wait_s: NDArray[np.float64]
    left_ms: NDArray[np.int64]
    ran_ms: NDArray[np.int64]
    nodes: NDArray[np.int64]
    allowed: NDArray[np.bool_]

    def jobs(self, places: Iterable[int]) -> list[SeenJob]:
        """Returns some of them, in this order."""
        return [
            SeenJob(
                job_id=int(self.job_id[place]),
                size=float(self.size[place]),
                wait_s=float(self.wait_s[place]),
                estimate_s=float(self.left_ms[place]) / MILLI,
                allowed=bool(self.allowed[place]),
                ran_s=float(self.ran_ms[place]) / MILLI,
                nodes=int(self.nodes[place]),
            )
            for place in places
        ]


def _allowed(
    vector: NativeVectorEnv, mask: NDArray[np.bool_], shown: NDArray[np.int64], count: int
) -> NDArray[np.bool_]:
    """Returns for each job whether the present decision may be for it; `shown` has the job of each row, if any."""
    # Of hosts, all actions are for the one job that is shown.
    rows = mask[1:] if vector.layout.may_wait else np.array([mask.any()])
    allowed = np.zeros(count, dtype=np.bool_)
    allowed[shown[(shown >= 0) & rows]] = True
    return allowed


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
