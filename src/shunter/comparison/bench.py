"""The bench: runs any way to schedule on the same windows of one or several logs.

Shunter's own policies run natively on all cores. A learned policy decides in all windows together, one decision in each
at a time. A policy written in Python runs one window after the other.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shunter.metrics.table import compute_metrics
from shunter.metrics.window_metrics import WindowColumns, compute_window_metrics
from shunter.model.schedule import Outcome, Phase, Schedule, count_bases
from shunter.policies.checkpoint import Checkpoint
from shunter.policies.own import PythonPolicy
from shunter.simulation.learned import learned_runner
from shunter.simulation.run import simulate
from shunter.simulation.windows import WindowResults, WindowRunner

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from shunter.model.log import Log
    from shunter.model.windows import Windows
    from shunter.policies.scheduler import Scheduler

_PHASES = {outcome: Phase[outcome.name] for outcome in Outcome if outcome is not Outcome.UNFINISHED}

Measured = dict[str, "NDArray[np.float64]"]
"""By metric, one value a window; NaN where it has no meaning."""


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


class Bench:
    """Windows of one or several logs, on which any number of contenders are run and measured."""

    def __init__(self, parts: Iterable[LogWindows], threads: int = 1) -> None:
        """Takes windows that the core has; `Bench.on` hands over those that it has not.

        Args:
            parts: The windows of each log.
            threads: How many threads share the windows; results do not depend on it.
        """
        self.parts = tuple(parts)
        self.threads = threads

    @classmethod
    def on(cls, log: Log, windows: Windows, threads: int = 1) -> Bench:
        """Returns a bench on windows of one log."""
        return cls.over([(log, windows)], threads)

    @classmethod
    def over(cls, logs: Iterable[tuple[Log, Windows]], threads: int = 1) -> Bench:
        """Returns a bench on windows of several logs, in this order."""
        parts = (LogWindows(log, windows, WindowRunner(log.workload, log.cluster)) for log, windows in logs)
        return cls(parts, threads)

    def __len__(self) -> int:
        return sum(len(part.windows) for part in self.parts)

    @property
    def name(self) -> str:
        """The names of the logs."""
        return ", ".join(part.log.workload.name for part in self.parts)

    @property
    def block(self) -> NDArray[np.int64]:
        """(windows,): the block of each window; no two logs share one."""
        blocks, before = [], 0
        for part in self.parts:
            blocks.append(part.windows.block + before)
            # Blocks of different logs must not be drawn as one.
            before += int(part.windows.block.max()) + 1
        return np.concatenate(blocks)

    def take(self, rows: NDArray[np.int64]) -> Bench:
        """Returns a bench on some of the windows, by their rising places among all; nothing is handed over again."""
        parts, before = [], 0
        for part in self.parts:
            count = len(part.windows)
            # Places are those among all windows; each log is asked by its own.
            own = rows[(rows >= before) & (rows < before + count)] - before
            if len(own):
                parts.append(LogWindows(part.log, part.windows.take(own), part.runner))
            before += count
        return Bench(parts, self.threads)

    def run(self, scheduler: Scheduler) -> tuple[WindowResults, ...]:
        """Returns what happens in the windows of each log under one way to schedule."""
        return tuple(part.run(scheduler, self.threads) for part in self.parts)

    def requests(self) -> pl.DataFrame:
        """Returns the requested times of the jobs of all windows, each job once."""
        return pl.concat(part.jobs.select("requested_s") for part in self.parts)

    def bases(self, results: Sequence[WindowResults]) -> dict[str, int]:
        """Returns how many of the measured jobs that ran were estimated on what, counted in each window."""
        bases = []
        for part, each in zip(self.parts, results, strict=True):
            # The warm-up fills the cluster, and is not measured.
            measured = slice(part.windows.warmup, None)
            bases.append(each.basis[:, measured][each.ended[:, measured]])
        return count_bases(np.concatenate(bases))

    def measure(self, scheduler: Scheduler, metrics: Iterable[str]) -> Measured:
        """Returns the metrics of each window under one way to schedule, log after log."""
        return self.measure_results(self.run(scheduler), metrics)

    def measure_schedules(self, scheduler: Scheduler, metrics: Iterable[str]) -> Measured:
        """Returns metrics that need placements or stops of each window, log after log.

        Args:
            scheduler: The way to schedule.
            metrics: Names of `shunter.metrics.table.METRICS`.
        """
        names = list(metrics)
        found = [compute_metrics(schedule, names) for part in self.parts for schedule in part.schedules(scheduler)]
        return {name: np.array([one[name] for one in found], dtype=np.float64) for name in names}

    def measure_results(self, results: Sequence[WindowResults], metrics: Iterable[str]) -> Measured:
        """Returns the metrics of what happened in the windows, log after log.

        Args:
            results: For each log.
            metrics: Names of `shunter.metrics.table.window_metrics`.
        """
        names = list(metrics)
        found = [
            compute_window_metrics(part.columns, each, names) for part, each in zip(self.parts, results, strict=True)
        ]
        return {name: np.concatenate([one[name] for one in found]) for name in names}


def available_threads() -> int:
    """Returns how many cores this process may use."""
    # On a cluster a process often may use fewer cores than the machine has.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _together(schedules: list[Schedule]) -> WindowResults:
    """Returns schedules of equal length as the core gives windows."""
    phase = np.zeros((len(schedules), len(schedules[0])), dtype=np.uint8)
    for row, schedule in enumerate(schedules):
        for outcome, number in _PHASES.items():
            phase[row, schedule.outcome == outcome] = number
    start_ms, end_ms = (
        np.array([np.nan_to_num(times, nan=-1.0) for times in columns]).astype(np.int64)
        for columns in ([one.start_ms for one in schedules], [one.end_ms for one in schedules])
    )
    held_ms = np.array([one.held_ms for one in schedules]).astype(np.int64)
    lost_ms = np.array([one.lost_ms for one in schedules]).astype(np.int64)
    basis = np.array([one.estimate_basis for one in schedules], dtype=np.uint8)
    return WindowResults(start_ms, end_ms, held_ms, lost_ms, phase, basis)
