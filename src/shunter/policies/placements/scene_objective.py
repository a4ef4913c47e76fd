"""What a placement by optimization is judged by: its weights, and tables of what each node adds, as the models take it.

Less is better. ``docs/placements.md`` has the objective as a formula, and the tests have it written out job by job.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from shunter.errors import InputError
from shunter.policies.own import MILLI, Scene

if TYPE_CHECKING:
    from numpy.typing import NDArray

NODE_COST: Final = 1e-5
"""What each node of the job adds to the objective: of placements that are equally good, the fewest nodes win."""


@dataclass(frozen=True)
class Weights:
    """The weights of the objective; less is better.

    Attributes:
        alpha: Of the number of nodes whose GPUs are partly used afterwards; negative to look for them.
        beta: Of the difference between the most and the fewest free GPUs of a node afterwards.
        gamma: Of the nodes that could host a waiting job afterwards, on average over the next `k` waiting jobs.
        k: How many waiting jobs are looked at.
    """

    alpha: float = 1.0
    beta: float = 0.1
    gamma: float = 0.1
    k: int = 5

    def __post_init__(self) -> None:
        if not math.isfinite(self.alpha):
            raise InputError(f"alpha is {self.alpha:g}; expected a finite number")
        for name, value in (("beta", self.beta), ("gamma", self.gamma)):
            # The models let the spread be as small, and the hosts as many, as the placement allows.
            if not 0 <= value < math.inf:
                raise InputError(f"{name} is {value:g}; expected a finite number, 0 or more")
        if self.k < 0:
            raise InputError(f"k is {self.k}; expected a whole number, 0 or more")


UNBOUNDED: Final = 2**40
"""More tasks than any job has: they do not ask for what is counted."""


@dataclass(frozen=True)
class Profile:
    """The scene's job on each node, as tables over node and tasks."""

    nodes: NDArray[np.intp]
    """The nodes that can take a task, by number; the tables have a row for each."""
    limit: NDArray[np.int64]
    """The most tasks that each of them can get."""
    cost: NDArray[np.float64]
    """What each adds to the objective with 0, 1, 2, ... tasks, the spread left out."""
    free: NDArray[np.int64]
    """The free GPUs that it has then."""
    fixed_cost: float
    """What all other nodes add."""
    fixed_free: NDArray[np.int64]
    """The free GPUs of the other nodes that have GPUs."""
    groups: list[list[int]]
    """The rows of nodes that are alike in all this, and of one type and size."""


def make_profile(scene: Scene, weights: Weights) -> Profile:
    """Returns the tables for a job that asks for whole GPUs."""
    request = scene.request
    limit = np.minimum(scene.capacity.astype(np.int64), request.tasks)
    takes = limit > 0
    tasks = np.arange(int(limit.max(initial=0)) + 1)
    free = scene.free_gpus.astype(np.int64)[:, None] - request.gpus * tasks
    partly_used = (free > 0) & (free < scene.gpus[:, None])
    # Spread is not here: it is a maximum and a minimum over all nodes, which the models bound by themselves.
    cost = weights.alpha * partly_used - weights.gamma * _hosts(scene, weights.k, tasks) + NODE_COST * (tasks > 0)
    nodes = np.flatnonzero(takes)
    return Profile(
        nodes=nodes,
        limit=limit[nodes],
        cost=cost[nodes],
        free=free[nodes],
        fixed_cost=float(cost[~takes, 0].sum()),
        fixed_free=free[~takes & (scene.gpus > 0), 0],
        groups=_groups(scene, nodes, limit, cost),
    )


def _hosts(scene: Scene, k: int, tasks: NDArray[np.int64]) -> NDArray[np.float64]:
    """Returns which share of the next waiting jobs each node could host, by the tasks that it gets now.

    A node can host a waiting job up to some number of tasks of this one, and no longer beyond it.
    """
    waiting = scene.waiting[:k]
    if not len(waiting):
        return np.zeros((len(scene.gpus), len(tasks)))
    gpus, cores_milli, memory_mb = _needs(scene, waiting)
    here = scene.request
    still = _times_left(scene.free_gpus[:, None] - gpus, here.gpus)
    still = np.minimum(still, _times_left(scene.free_cores_milli[:, None] - cores_milli, here.cores_milli))
    within_memory = np.minimum(still, _times_left(scene.free_memory_mb[:, None] - memory_mb, here.memory_mb))
    still = np.where(scene.memory_mb[:, None] >= 0, within_memory, still)
    hosted: NDArray[np.float64] = (still[:, :, None] >= tasks).mean(axis=1)
    return hosted


def _times_left(left: NDArray[np.int64], each: int) -> NDArray[np.int64]:
    """Returns how often an amount can be taken from what is left; negative if that falls short already."""
    return left // each if each else np.where(left < 0, -1, UNBOUNDED)


def _needs(scene: Scene, waiting: NDArray[np.uint32]) -> tuple[NDArray[np.int64], ...]:
    """Returns the GPUs, milli-cores and MB that each waiting job would take of each node."""
    requests = scene.requests
    gpu_milli = requests.gpu_milli[waiting]
    cores_milli, memory_mb = requests.cores_milli[waiting], requests.memory_mb[waiting]
    shared = (gpu_milli > 0) & (gpu_milli < MILLI)
    # Fractions lie on one device each: this many tasks share a device, or a task has so many of them.
    tasks_a_device = np.where(shared, MILLI // np.maximum(gpu_milli, 1), 1)
    devices_a_task = np.where(shared, 1, gpu_milli // MILLI)
    tracked = scene.memory_mb[:, None] >= 0
    tasks = np.broadcast_to(requests.tasks[waiting], (len(scene.gpus), len(waiting)))
    tasks = np.minimum(tasks, _whole_times(scene.gpus, devices_a_task) * tasks_a_device)
    tasks = np.minimum(tasks, _whole_times(scene.cores_milli, cores_milli))
    tasks = np.where(tracked, np.minimum(tasks, _whole_times(scene.memory_mb, memory_mb)), tasks)
    # A node that is too small for one task is asked for one all the same: then it never has room, and is no host.
    tasks = np.maximum(1, tasks)
    # Whole devices: those of fractions are rounded up.
    devices = -(-tasks // tasks_a_device) * devices_a_task
    return devices, tasks * cores_milli, np.where(tracked, tasks, 0) * memory_mb


def _whole_times(total: NDArray[np.int64], each: NDArray[np.int64]) -> NDArray[np.int64]:
    times = total[:, None] // np.maximum(each, 1)
    return np.where(each > 0, times, UNBOUNDED)


def _groups(
    scene: Scene, nodes: NDArray[np.intp], limit: NDArray[np.int64], cost: NDArray[np.float64]
) -> list[list[int]]:
    groups: dict[tuple[object, ...], list[int]] = {}
    free, gpus, pool, limits = (column[nodes].tolist() for column in (scene.free_gpus, scene.gpus, scene.pool, limit))
    for row, node in enumerate(nodes.tolist()):
        # Costs are compared bit by bit: nodes of one group must be exchangeable without changing the objective at all.
        alike = (pool[row], gpus[row], free[row], limits[row], cost[node].tobytes())
        groups.setdefault(alike, []).append(row)
    return list(groups.values())
