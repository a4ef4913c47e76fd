"""What jobs' sizes are counted in: cores or GPUs, whichever the jobs of a log ask more of than the cluster has.

By its size a job is large or small to policies, fair shares and features (``docs/policies.md``). The choice is made
once for a log on a cluster, so that all windows of the log agree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import polars as pl

from shunter.model.conditions import that_ran
from shunter.model.fitting import can_ever_fit, shape_columns
from shunter.model.settings import AUTO, CORES_ALONE
from shunter.native import core_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.cluster import Cluster
    from shunter.model.workload import Workload

MILLI: Final = 1000
MICRO: Final = 1_000_000
SIZE_CODES: Final = core_numbers("SizeBy")
"""The core's numbers for what sizes are counted in, by the words of the setting."""
SIZE_WORDS: Final = {code: word for word, code in SIZE_CODES.items()}
CORES, GPUS = "cores", "gpus"
_NAMES: Final = {CORES: "cores", GPUS: "GPUs", CORES_ALONE: "cores alone"}


def size_note(sizes_by: Sequence[str], cluster: Cluster) -> str:
    """Returns what to tell people of a result: what sizes were counted in. Nothing where there are cores alone.

    Args:
        sizes_by: What each of the policies counts, without repetitions.
        cluster: The nodes.
    """
    if not cluster.total_gpus:
        return ""
    names = sorted(_NAMES[size_by] for size_by in sizes_by)
    return f"sizes in {names[0]}" if len(names) == 1 else f"sizes as each policy counts them: {' or '.join(names)}"


class Work(NamedTuple):
    """What the jobs of a table ask for together, those that can never fit left out."""

    core_s: float
    """Cores times run times."""
    gpu_s: float
    first_s: float
    """The first arrival."""
    last_s: float


def work_of(jobs: pl.DataFrame, cluster: Cluster) -> Work | None:
    """Returns what the jobs ask for that fit on an empty cluster; None if no job does."""
    # Whole milliseconds add up exactly, in whatever order. Whether a job fits depends on its shape alone, and logs have
    # few shapes.
    jobs = that_ran(jobs)
    shapes = jobs.group_by(*shape_columns(jobs, cluster), maintain_order=True).agg(
        # An error about a shape names a job that has it.
        pl.col("job_id").first(),
        run_ms=(pl.col("run_s") * MILLI).round().cast(pl.Int64).sum(),
        first_s=pl.col("submit_s").min(),
        last_s=pl.col("submit_s").max(),
    )
    shapes = shapes.filter(pl.Series(can_ever_fit(shapes, cluster), dtype=pl.Boolean))
    if shapes.height == 0:
        return None
    return Work(
        _amount_s(shapes, "cores_per_task"),
        _amount_s(shapes, "gpus_per_task"),
        shapes["first_s"].to_numpy().min(),
        shapes["last_s"].to_numpy().max(),
    )


def _amount_s(shapes: pl.DataFrame, amount: str) -> float:
    """Returns the sum over all jobs of the amount times the run time."""
    columns = (shapes[name].to_list() for name in ("tasks", amount, "run_ms"))
    return math.fsum(tasks * each * run_ms for tasks, each, run_ms in zip(*columns, strict=True)) / MILLI


def resolved_size_by(size_by: str, workload: Workload, cluster: Cluster) -> str:
    """Returns what sizes are counted in on a log and a cluster: ``auto`` becomes ``cores`` or ``gpus``.

    A resource that the cluster does not have counts nothing: it becomes the other one.

    Args:
        size_by: A word of the setting.
        workload: The jobs, or any window of them: the whole log decides.
        cluster: The nodes.
    """
    if size_by == CORES_ALONE:
        return size_by
    if not (cluster.total_cores and cluster.total_gpus):
        return GPUS if cluster.total_gpus else CORES
    if size_by != AUTO:
        return size_by
    found = workload.log.size_by
    if cluster.content_sha256 not in found:
        found[cluster.content_sha256] = _binding(work_of(workload.log.jobs, cluster), cluster)
    return found[cluster.content_sha256]


def job_sizes(jobs: pl.DataFrame, cluster: Cluster, size_by: str) -> NDArray[np.float64]:
    """Returns the size of each job as the core counts it, in cores or GPUs over all its tasks.

    Args:
        jobs: A table of jobs.
        cluster: The nodes.
        size_by: What `resolved_size_by` returns.
    """
    tasks = jobs["tasks"].to_numpy()
    asked = {
        CORES: tasks * np.rint(jobs["cores_per_task"].to_numpy() * MILLI).astype(np.int64),
        GPUS: tasks * np.rint(jobs["gpus_per_task"].to_numpy() * MILLI).astype(np.int64),
    }
    all_milli = {CORES: round(cluster.total_cores * MILLI), GPUS: cluster.total_gpus * MILLI}
    own, other = (GPUS, CORES) if size_by == GPUS else (CORES, GPUS)
    if size_by == CORES_ALONE or all_milli[other] == 0:
        return np.asarray(asked[own] / MILLI, dtype=np.float64)

    def micro(own_milli: int, other_milli: int) -> int:
        # Whole numbers of any length, rounded as the core rounds them: products of amounts exceed 64 bits.
        twice = 2 * other_milli * MILLI * all_milli[own] + all_milli[other]
        return max(own_milli * MILLI, twice // (2 * all_milli[other]))

    # Logs have few different sizes.
    pairs, place = np.unique(np.stack([asked[own], asked[other]], axis=1), axis=0, return_inverse=True)
    return np.array([micro(*pair) for pair in pairs.tolist()], dtype=np.float64)[place.ravel()] / MICRO


def _binding(work: Work | None, cluster: Cluster) -> str:
    """Returns the resource with the higher offered load; of equal ones, cores."""
    if work is None:
        return CORES
    # Multiplied out, so that a cluster without cores is no special case.
    return GPUS if work.gpu_s * cluster.total_cores > work.core_s * cluster.total_gpus else CORES
