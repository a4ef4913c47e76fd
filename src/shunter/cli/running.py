"""One run: read the workload, simulate, measure."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from shunter.cli.progress import step
from shunter.errors import InputError
from shunter.results import result_object

if TYPE_CHECKING:
    from shunter.cli.arguments import RunArguments
    from shunter.model.cluster import Cluster
    from shunter.model.schedule import Schedule
    from shunter.model.workload import Workload


@dataclass(frozen=True)
class Run:
    """What a run gave."""

    arguments: RunArguments
    """As checked, with what stood in for options not given."""
    schedule: Schedule
    metrics: dict[str, float | None]
    seconds: float
    """How long the simulation itself took."""
    cluster_from_workload: bool
    """Whether the number of cores is the one that the workload tells."""

    def result(self) -> dict[str, Any]:
        """Returns what ``--json`` prints."""
        source = "the workload" if self.cluster_from_workload else "--cluster"
        return result_object(self.schedule, self.metrics, self.seconds) | {"cluster_from": source}


def run(arguments: RunArguments, inspect: Callable[[Workload, Cluster], None] | None = None) -> Run:
    """Reads, simulates and measures; whatever can be checked without the workload is checked first.

    Args:
        arguments: What to do.
        inspect: Called with the whole workload and the cluster before the simulation; it may raise an error.
    """
    from shunter.model.cluster import Cluster

    arguments = arguments.checked()
    cluster = None if arguments.cluster is None else Cluster.parse(arguments.cluster)
    workload = read_workload(arguments)
    arguments = replace(arguments, format=workload.format)
    from_workload = cluster is None
    if cluster is None:
        cluster = _cluster_of_workload(workload)
        arguments = replace(arguments, cluster=str(workload.machine_cores))
    if inspect is not None:
        inspect(workload, cluster)
    window = workload.window(arguments.start, arguments.length)
    schedule, seconds = _simulate(window, cluster, arguments)
    _check_rejections(schedule, arguments.strict)
    with step("measuring"):
        from shunter.evaluate.metrics import compute_metrics

        metrics = compute_metrics(schedule)
    return Run(arguments, schedule, metrics, seconds, from_workload)


def read_workload(arguments: RunArguments) -> Workload:
    """Reads the whole workload."""
    from shunter.workloads import read_workload as read

    with step(f"reading {arguments.workload}"):
        return read(arguments.workload, format=arguments.format, strict=arguments.strict)


def _cluster_of_workload(workload: Workload) -> Cluster:
    from shunter.model.cluster import Cluster

    if workload.machine_cores is None:
        why = workload.machine_cores_note or "does not tell how many cores its machine had"
        raise InputError(f"{workload.name}: {why}; give --cluster with a number of cores, a preset or a TOML file")
    return Cluster.pool(workload.machine_cores)


def _simulate(workload: Workload, cluster: Cluster, arguments: RunArguments) -> tuple[Schedule, float]:
    from shunter.simulate import simulate

    with step("simulating") as progress:
        began = time.perf_counter()
        schedule = simulate(workload, cluster, **arguments.settings(), progress=progress)
        return schedule, time.perf_counter() - began


def _check_rejections(schedule: Schedule, strict: bool) -> None:
    """Raises an error if all jobs were rejected, or with ``--strict`` any."""
    from shunter.model.rejections import explain_rejections

    rejected = int(schedule.rejected.sum())
    if not rejected or (rejected < len(schedule) and not strict):
        return
    _, first = next(explain_rejections(schedule))
    what = f"job {first.job_id} {first.asks}; {first.has}"
    if strict:
        remedy = "give a larger cluster, or leave --strict out to have such jobs rejected and counted"
        raise InputError(f"{schedule.workload.name}: {what}; {remedy} ({rejected} of {len(schedule)} jobs)")
    none = f"none of the {len(schedule)} jobs can ever fit" if len(schedule) > 1 else "the only job can never fit"
    raise InputError(f"{schedule.workload.name}: {none}: {what}; check --cluster")
