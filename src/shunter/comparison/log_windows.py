"""Some windows of one log, on which a way to schedule is run and measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from shunter.metrics.table import compute_metrics
from shunter.metrics.window_metrics import WindowColumns, compute_window_metrics
from shunter.model.schedule import Outcome, Phase, Schedule
from shunter.policies.checkpoint import Checkpoint
from shunter.policies.own import PythonPolicy
from shunter.simulation.learned import learned_runner
from shunter.simulation.run import simulate
from shunter.simulation.windows import WindowResults, WindowRunner

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shunter.metrics.sizes import Resource
    from shunter.model.log import Log
    from shunter.model.windows import Windows
    from shunter.policies.scheduler import Scheduler

_PHASES = {outcome: Phase[outcome.name] for outcome in Outcome if outcome is not Outcome.UNFINISHED}

Measured = dict[str, "NDArray[np.float64]"]
"""By metric, one value a window; NaN where it has no meaning."""
Found = TypeVar("Found")


@dataclass(frozen=True)
class LogWindows:
    """Some windows of one log, handed to the core once for all runs."""

    log: Log
    windows: Windows
    runner: WindowRunner

    @cached_property
    def columns(self) -> WindowColumns:
        """What metrics need of the jobs."""
        return WindowColumns(self.log.workload, self.windows, self.log.cluster)

    @cached_property
    def jobs(self) -> pl.DataFrame:
        """The jobs of the windows, each once, though windows may overlap."""
        return self.log.workload.jobs[np.unique(self.columns.index)]

    def run(self, scheduler: Scheduler, threads: int = 1) -> WindowResults:
        """Returns what happens in each window under one way to schedule."""
        first, length = self.windows.simulated_first.tolist(), self.windows.simulated_length
        workload, cluster = self.log.workload, self.log.cluster
        if isinstance(scheduler.policy, Checkpoint):
            # Networks live above this layer; the front door says who runs them.
            return learned_runner().run_learned_windows(workload, cluster, self.windows, scheduler, threads)
        if isinstance(scheduler.policy, PythonPolicy):
            return _together(list(self.schedules(scheduler)))
        return self.runner.run(scheduler, first, length, threads)

    def schedules(self, scheduler: Scheduler) -> Iterator[Schedule]:
        """Yields the schedule of each window, with placements and stops, which takes longer than `run`."""
        for place in self.windows.simulated_first.tolist():
            yield simulate(self.log.workload.window(place, self.windows.simulated_length), self.log.cluster, scheduler)

    def bases(self, results: WindowResults) -> NDArray[np.uint8]:
        """Returns what each of the measured jobs that ran was estimated on."""
        # The warm-up fills the cluster, and is not measured.
        measured = slice(self.windows.warmup, None)
        return results.basis[:, measured][results.ended[:, measured]]

    def size_classes(self, resource: Resource) -> NDArray[np.int64]:
        """Returns (windows, length): the class of the size of each measured job."""
        if resource.name not in self._size_classes:
            amounts = getattr(self.columns, resource.name)[:, self.windows.warmup :]
            self._size_classes[resource.name] = resource.classes(amounts)
        return self._size_classes[resource.name]

    @cached_property
    def _size_classes(self) -> dict[str, NDArray[np.int64]]:
        return {}

    def measure_schedules(self, scheduler: Scheduler, metrics: Iterable[str]) -> Measured:
        """Returns metrics that need placements or stops, of each window.

        Args:
            scheduler: The way to schedule.
            metrics: Names of `shunter.metrics.table.METRICS`.
        """
        names = list(metrics)
        found = [compute_metrics(schedule, names) for schedule in self.schedules(scheduler)]
        return {name: np.array([one[name] for one in found], dtype=np.float64) for name in names}


class Measurement(Protocol[Found]):
    """What is worked out of the windows in which a way to schedule has run.

    Engines run windows wherever there is room, and send back what was found. So it must be picklable, and the same
    whatever windows are run together.
    """

    def of(self, part: LogWindows, scheduler: Scheduler, threads: int) -> Found:
        """Runs a way to schedule on windows, and returns what is found."""
        ...

    def joined(self, found: Sequence[Found]) -> Found:
        """Returns what was found in some windows after the other as what is found in all of them."""
        ...


@dataclass(frozen=True)
class MetricsOf:
    """The measurement of some metrics."""

    metrics: tuple[str, ...]
    """Names of `shunter.metrics.table.window_metrics`."""

    def of(self, part: LogWindows, scheduler: Scheduler, threads: int) -> Measured:
        """Returns the metrics of each window."""
        return compute_window_metrics(part.columns, part.run(scheduler, threads), self.metrics)

    def joined(self, found: Sequence[Measured]) -> Measured:
        """Returns the metrics of all windows, one part after the other."""
        return {name: np.concatenate([one[name] for one in found]) for name in self.metrics}


def _together(schedules: list[Schedule]) -> WindowResults:
    """Returns schedules of equal length as the core gives windows."""
    phase = np.zeros((len(schedules), len(schedules[0])), dtype=np.uint8)
    for row, schedule in enumerate(schedules):
        for outcome, number in _PHASES.items():
            phase[row, schedule.outcome == outcome] = number
    eligible_ms, start_ms, end_ms = (
        np.array([np.nan_to_num(times, nan=-1.0) for times in columns]).astype(np.int64)
        for columns in zip(*((one.eligible_ms, one.start_ms, one.end_ms) for one in schedules), strict=True)
    )
    held_ms = np.array([one.held_ms for one in schedules]).astype(np.int64)
    lost_ms = np.array([one.lost_ms for one in schedules]).astype(np.int64)
    basis = np.array([one.estimate_basis for one in schedules], dtype=np.uint8)
    return WindowResults(eligible_ms, start_ms, end_ms, held_ms, lost_ms, phase, basis)
