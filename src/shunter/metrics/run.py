"""One run: a log simulated in one way, with its metrics."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shunter.errors import InputError
from shunter.metrics.run_folder import result_object
from shunter.metrics.table import compute_metrics
from shunter.simulation.run import simulate

if TYPE_CHECKING:
    from shunter.model.log import Log
    from shunter.model.schedule import Schedule
    from shunter.policies.scheduler import Scheduler


@dataclass(frozen=True)
class Run:
    """What a run gave."""

    log: Log
    """The whole log, whatever part of it was simulated."""
    scheduler: Scheduler
    schedule: Schedule
    metrics: dict[str, float | None]
    seconds: float
    """How long the simulation itself took."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """What the run was asked for, as a plain object; empty if nobody wrote it down."""

    def resolved(self) -> dict[str, Any]:
        """Returns all arguments as a plain object, with what stood in for those not given."""
        return {**self.arguments, **self.scheduler.settings.words()}

    def result(self) -> dict[str, Any]:
        """Returns what ``--json`` prints."""
        extra = {"cluster_from": self.log.cluster_from, "load": self.log.load}
        return result_object(self.schedule, self.metrics, self.seconds) | extra


def run_log(
    log: Log,
    scheduler: Scheduler,
    *,
    start: int = 0,
    length: int | None = None,
    strict: bool = False,
    arguments: Mapping[str, Any] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Run:
    """Simulates a log, or a part of it, and measures what happened.

    Args:
        log: The log and its cluster.
        scheduler: The way to schedule.
        start: The place of the first job that is simulated.
        length: How many jobs are; None: all to the end of the log.
        strict: Whether a job that can never fit is an error.
        arguments: What was asked for, to be written down.
        progress: Called now and then with the number of jobs that have ended, and of all jobs.

    Raises:
        InputError: There is no such part of the log, or no job of it can ever fit.
    """
    window = log.workload.window(start, length)
    began = time.perf_counter()
    schedule = simulate(window, log.cluster, scheduler, progress=progress)
    seconds = time.perf_counter() - began
    if strict:
        from shunter.model.rejections import refuse_rejected

        refuse_rejected(schedule)
    if schedule.rejected.all():
        from shunter.model.rejections import first_rejection

        first = first_rejection(schedule)
        none = f"none of the {len(schedule)} jobs can ever fit" if len(schedule) > 1 else "the only job can never fit"
        raise InputError(f"{schedule.workload.name}: {none}: {first.text}; check --cluster")
    return Run(log, scheduler, schedule, compute_metrics(schedule), seconds, arguments or {})
