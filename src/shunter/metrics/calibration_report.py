"""A site's own policy held against its log: simulate, compare the waits, and judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shunter.metrics.calibration import Calibration, measure_calibration
from shunter.metrics.calibration_verdict import Judgment, judge
from shunter.metrics.logged_waits import Waits, check_logged_waits, compare_waits
from shunter.metrics.run import Run, run_log
from shunter.policies.scheduler import Scheduler, resolve_scheduler
from shunter.workloads.clock import Clock, read_clock
from shunter.workloads.reading import read_log

if TYPE_CHECKING:
    from shunter.model.cluster import Cluster
    from shunter.model.log import Log
    from shunter.model.workload import Workload


@dataclass(frozen=True)
class CalibrationReport:
    """A run held against its log."""

    run: Run
    waits: Waits
    calibration: Calibration
    judgment: Judgment

    def to_json(self) -> dict[str, Any]:
        """Returns what ``shunter calibrate --json`` prints and ``calibration.json`` holds."""
        schedule = self.run.schedule
        # Metrics and speed are told by 'shunter simulate'; a changed load has no logged waits.
        run = {key: value for key, value in self.run.result().items() if key not in ("metrics", "seconds", "load")}
        hashes = {
            "workload_sha256": schedule.workload.content_sha256,
            "cluster_sha256": schedule.cluster.content_sha256,
            "schedule_sha256": schedule.content_sha256,
        }
        arguments = {"arguments": self.run.resolved()}
        return self.judgment.to_json() | self.calibration.to_json() | run | hashes | arguments


def calibrate(
    workload: str | Path | Workload | Log,
    cluster: str | int | Cluster | None = None,
    *,
    scheduler: Scheduler | None = None,
    start: int = 0,
    length: int | None = None,
    strict: bool = False,
    clock: Clock | None = None,
    arguments: Mapping[str, Any] | None = None,
    progress: Callable[[int, int], None] | None = None,
    **settings: Any,  # noqa: ANN401 - the settings by name, each with a type of its own
) -> CalibrationReport:
    """Simulates the site's own policy, and says whether the simulated waits are those of the log.

    Args:
        workload: A file, a generator, or what was read before.
        cluster: A number of cores, a preset, a file, or a cluster; None: the one that the workload tells of.
        scheduler: A way to schedule that is resolved already; it takes the place of the settings.
        start: The place of the first job that is simulated.
        length: How many jobs are; None: all to the end of the log.
        strict: Whether a job that can never fit is an error.
        clock: What time of day the log's seconds mean; None: what the log's header says.
        arguments: What was asked for, to be written down.
        progress: Called now and then with the number of jobs that have ended, and of all jobs.
        settings: The site's policy and other settings, as in `shunter.simulate`.

    Raises:
        InputError: A name or a number is wrong, or the log does not say when jobs started.
    """
    scheduler = resolve_scheduler(**settings) if scheduler is None else scheduler
    log = read_log(workload, cluster)
    if clock is None:
        clock = read_clock(log.workload, workload if isinstance(workload, str | Path) else None)
    # Told before the simulation, which may take long.
    check_logged_waits(log.workload.window(start, length))
    run = run_log(log, scheduler, start=start, length=length, strict=strict, arguments=arguments, progress=progress)
    waits = compare_waits(run.schedule)
    calibration = measure_calibration(run.schedule, waits, clock)
    return CalibrationReport(run, waits, calibration, judge(calibration, run.schedule))
