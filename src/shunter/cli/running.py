"""One run: read the workload, simulate, measure."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from shunter.cli.progress import step
from shunter.errors import InputError
from shunter.metrics.run_folder import result_object

if TYPE_CHECKING:
    from shunter.cli.arguments import RunArguments
    from shunter.model.cluster import Cluster
    from shunter.model.schedule import Schedule
    from shunter.model.workload import Workload
    from shunter.policies.scheduler import Scheduler


WORKLOAD = "the workload"
"""What told the cluster where no option did."""


@dataclass(frozen=True)
class Run:
    """What a run gave."""

    arguments: RunArguments
    scheduler: Scheduler
    schedule: Schedule
    metrics: dict[str, float | None]
    seconds: float
    """How long the simulation itself took."""
    cluster_from: str
    """What told the cluster: `WORKLOAD`, or an option."""

    def resolved(self) -> dict[str, Any]:
        """Returns all arguments as a plain object, with what stood in for those not given."""
        return self.arguments.to_json() | self.scheduler.settings.words()

    def result(self) -> dict[str, Any]:
        """Returns what ``--json`` prints."""
        extra = {"cluster_from": self.cluster_from, "load": self.arguments.load}
        return result_object(self.schedule, self.metrics, self.seconds) | extra


@dataclass(frozen=True)
class Inputs:
    """What is simulated."""

    arguments: RunArguments
    """As given, with the format that was read and the cluster that the workload tells of."""
    workload: Workload
    """Whole, whatever window is asked for; at the load that is asked for."""
    cluster: Cluster
    cluster_from: str
    """What told the cluster: `WORKLOAD`, or an option."""

    @property
    def cluster_from_workload(self) -> bool:
        """Whether the cluster is the one that the workload tells of."""
        return self.cluster_from == WORKLOAD


def read_inputs(arguments: RunArguments) -> Inputs:
    """Reads workload and cluster; the numbers that can be checked without the workload are checked first."""
    from shunter.workloads import cluster_of, read_cluster

    arguments.check_numbers()
    cluster = None if arguments.cluster is None else read_cluster(arguments.cluster)
    workload = read_workload(arguments)
    arguments = replace(arguments, format=workload.format)
    cluster_from = "--cluster"
    if cluster is None:
        cluster_from = WORKLOAD
        cluster = cluster_of(workload)
        arguments = replace(arguments, cluster=workload.cluster_spec)
    if arguments.load is not None:
        from shunter.workloads.load import scale_to_load

        workload = scale_to_load(workload, cluster, arguments.load)
    return Inputs(arguments, workload, cluster, cluster_from)


def run(
    arguments: RunArguments,
    scheduler: Scheduler | None = None,
    inspect: Callable[[Workload, Cluster], None] | None = None,
) -> Run:
    """Reads, simulates and measures.

    Args:
        arguments: What to do.
        scheduler: What the arguments resolve to, if it is known already.
        inspect: Called with the whole workload and the cluster before the simulation; it may raise an error.
    """
    scheduler = arguments.scheduler() if scheduler is None else scheduler
    inputs = read_inputs(arguments)
    if inspect is not None:
        inspect(inputs.workload, inputs.cluster)
    return simulate_inputs(inputs, scheduler)


def simulate_inputs(inputs: Inputs, scheduler: Scheduler) -> Run:
    """Simulates and measures the window that is asked for."""
    arguments = inputs.arguments
    window = inputs.workload.window(arguments.start, arguments.length)
    schedule, seconds = _simulate(window, inputs.cluster, scheduler)
    _check_rejections(schedule, arguments.strict)
    with step("measuring"):
        from shunter.metrics.table import compute_metrics

        metrics = compute_metrics(schedule)
    return Run(arguments, scheduler, schedule, metrics, seconds, inputs.cluster_from)


def read_workload(arguments: RunArguments) -> Workload:
    """Reads the whole workload."""
    from shunter.workloads import read_workload as read

    with step(f"reading {arguments.workload}"):
        return read(
            arguments.workload,
            format=arguments.format,
            strict=arguments.strict,
            only=arguments.only,
            columns=arguments.columns,
        )


def _simulate(workload: Workload, cluster: Cluster, scheduler: Scheduler) -> tuple[Schedule, float]:
    from shunter.simulation import simulate

    with step("simulating") as progress:
        began = time.perf_counter()
        schedule = simulate(workload, cluster, scheduler, progress=progress)
        return schedule, time.perf_counter() - began


def _check_rejections(schedule: Schedule, strict: bool) -> None:
    """Raises an error if all jobs were rejected, or with ``--strict`` any."""
    from shunter.model.rejections import first_rejection, refuse_rejected

    if strict:
        refuse_rejected(schedule)
    if schedule.rejected.all():
        first = first_rejection(schedule)
        none = f"none of the {len(schedule)} jobs can ever fit" if len(schedule) > 1 else "the only job can never fit"
        raise InputError(f"{schedule.workload.name}: {none}: {first.text}; check --cluster")
