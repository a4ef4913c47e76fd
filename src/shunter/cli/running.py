"""One run of a verb: read the log, simulate, measure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from shunter.cli.progress import step

if TYPE_CHECKING:
    from shunter.cli.arguments import RunArguments
    from shunter.metrics.run import Run
    from shunter.model.log import Log
    from shunter.policies.scheduler import Scheduler


@dataclass(frozen=True)
class Inputs:
    """What is simulated."""

    arguments: RunArguments
    """As given, with the format that was read and the cluster that the workload tells of."""
    log: Log
    """Whole, whatever window is asked for; at the load that is asked for."""


def read_inputs(arguments: RunArguments) -> Inputs:
    """Reads workload and cluster; the numbers that can be checked without the workload are checked first."""
    from shunter.model.log import FROM_WORKLOAD
    from shunter.workloads.logs import read_log

    arguments.check_numbers()
    with step(f"reading {arguments.workload}"):
        log = read_log(
            arguments.workload,
            arguments.cluster,
            load=arguments.load,
            format=arguments.format,
            strict=arguments.strict,
            only=arguments.only,
            columns=arguments.columns,
        )
    arguments = replace(arguments, format=log.workload.format)
    if log.cluster_from == FROM_WORKLOAD:
        arguments = replace(arguments, cluster=log.workload.cluster_spec)
    return Inputs(arguments, log)


def run(
    arguments: RunArguments, scheduler: Scheduler | None = None, inspect: Callable[[Log], None] | None = None
) -> Run:
    """Reads, simulates and measures.

    Args:
        arguments: What to do.
        scheduler: What the arguments resolve to, if it is known already.
        inspect: Called with the whole log before the simulation; it may raise an error.
    """
    from shunter.metrics.run import run_log

    scheduler = arguments.scheduler() if scheduler is None else scheduler
    inputs = read_inputs(arguments)
    if inspect is not None:
        inspect(inputs.log)
    arguments = inputs.arguments
    with step("simulating") as progress:
        return run_log(
            inputs.log,
            scheduler,
            start=arguments.start,
            length=arguments.length,
            strict=arguments.strict,
            arguments=arguments.to_json(),
            progress=progress,
        )
