"""Sizes of jobs as tables and figures tell them: in the resource that binds, and in classes that double."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from shunter.model.settings import AUTO
from shunter.model.size import resolved_size_by

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.cluster import Cluster
    from shunter.model.workload import Workload


@dataclass(frozen=True)
class Resource:
    """What sizes of jobs are counted in, and how classes of them are called."""

    name: str
    """As JSON and tables of jobs have it."""
    unit: str
    """As people have it."""
    column: str
    """The column of a workload's table that has it, for one task."""
    utilization: str
    """The metric of its use."""
    classes: Callable[[NDArray[np.float64]], NDArray[np.int64]]
    """Returns the class of each amount, from 0 on."""
    label: Callable[[int], str]
    """Returns what a class is called."""

    def total(self, cluster: Cluster) -> float:
        """Returns how much of it a cluster has."""
        return float(sum(self.amounts(cluster)))

    def amounts(self, cluster: Cluster) -> list[float]:
        """Returns how much of it each node has."""
        return [float(getattr(node, self.name)) for node in cluster.nodes]

    def per_task(self, workload: Workload) -> NDArray[np.float64]:
        """Returns how much of it one task of each job holds."""
        return workload.jobs[self.column].to_numpy().astype(np.float64)

    def per_job(self, workload: Workload) -> NDArray[np.float64]:
        """Returns how much of it each job holds over all its tasks."""
        return np.asarray(workload.jobs["tasks"].to_numpy() * self.per_task(workload), dtype=np.float64)


def core_class(cores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Returns the class of each job: 0 for less than 2 cores, 1 for 2 to 3, 2 for 4 to 7, and so on."""
    return np.asarray(np.floor(np.log2(np.maximum(cores, 1.0))), dtype=np.int64)


def core_label(number: int) -> str:
    """Returns what a class of cores is called: ``≤ 1``, ``2–3``, ``4–7``."""
    return f"{2**number:,}–{2 ** (number + 1) - 1:,}" if number else "≤ 1"


def gpu_class(gpus: NDArray[np.float64]) -> NDArray[np.int64]:
    """Returns the class of each job: 0 for none, 1 for less than 1, 2 for one, 3 for two, 4 for 3 to 4, and so on."""
    # Fractions add up in whole thousandths, so that five tasks of 0.2 have 1 GPU.
    doubled = np.ceil(np.log2(np.maximum(np.round(gpus, 3), 0.5))) + 2
    return np.where(gpus > 0, doubled, 0).astype(np.int64)


def gpu_label(number: int) -> str:
    """Returns what a class of GPUs is called: ``none``, ``< 1``, ``1``, ``2``, ``3–4``, ``5–8``."""
    if number <= 1:
        return ("none", "< 1")[number]
    most = 2 ** (number - 2)
    return f"{most}" if most <= 2 else f"{most // 2 + 1}–{most}"


CORES: Final = Resource("cores", "cores", "cores_per_task", "core_utilization", core_class, core_label)
GPUS: Final = Resource("gpus", "GPUs", "gpus_per_task", "gpu_utilization", gpu_class, gpu_label)


def binding_resource(workload: Workload, cluster: Cluster) -> Resource:
    """Returns the resource in which policies count sizes, if nobody says otherwise."""
    return GPUS if resolved_size_by(AUTO, workload, cluster) == GPUS.name else CORES


def used_resources(workload: Workload, cluster: Cluster) -> tuple[Resource, ...]:
    """Returns which of cores and GPUs the cluster has and some job uses; the one that binds comes first."""
    first = binding_resource(workload, cluster)
    used = [one for one in (CORES, GPUS) if one.total(cluster) and one.per_task(workload).any()]
    return tuple(sorted(used, key=lambda one: one is not first)) or (CORES,)
