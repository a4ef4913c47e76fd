"""The bench: runs any way to schedule on the same windows of one or several logs.

Shunter's own policies run natively on all cores. A learned policy decides in all windows together, one decision in each
at a time. A policy written in Python runs one window after the other.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from shunter.metrics.measures import COMPLETED, FAILED, KILLED, REJECTED, WindowColumns
from shunter.metrics.table import compute_window_metrics
from shunter.model import segments
from shunter.model.schedule import Outcome, Schedule
from shunter.policies.checkpoint_path import is_checkpoint
from shunter.policies.policy_file import python_path
from shunter.simulation.run import simulate
from shunter.simulation.windows import WindowResults, WindowRunner

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from shunter.model.log import Log
    from shunter.model.schedule import Settings
    from shunter.model.windows import Windows

_PHASES = {
    Outcome.COMPLETED: COMPLETED,
    Outcome.KILLED: KILLED,
    Outcome.REJECTED: REJECTED,
    Outcome.FAILED: FAILED,
}

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

    def run(self, settings: Settings, threads: int = 1) -> WindowResults:
        """Returns what happens in each window under checked settings."""
        first, length = self.windows.simulated_first.tolist(), self.windows.simulated_length
        workload, cluster = self.log.workload, self.log.cluster
        if is_checkpoint(settings.policy):
            from shunter.agents.learned_run import run_learned_windows

            return run_learned_windows(workload, cluster, self.windows, settings, threads)
        if python_path(settings.policy) is None:
            return self.runner.run(settings, first, length, threads)
        windows = (workload.window(place, length) for place in first)
        return _together([simulate(window, cluster, **asdict(settings)) for window in windows])


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
            before += int(part.windows.block.max()) + 1
        return np.concatenate(blocks)

    def take(self, rows: NDArray[np.int64]) -> Bench:
        """Returns a bench on some of the windows, by their rising places among all; nothing is handed over again."""
        parts, before = [], 0
        for part in self.parts:
            count = len(part.windows)
            own = rows[(rows >= before) & (rows < before + count)] - before
            if len(own):
                parts.append(LogWindows(part.log, part.windows.take(own), part.runner))
            before += count
        return Bench(parts, self.threads)

    def run(self, settings: Settings) -> tuple[WindowResults, ...]:
        """Returns what happens in the windows of each log under checked settings."""
        return tuple(part.run(settings, self.threads) for part in self.parts)

    def measure(self, settings: Settings, metrics: Iterable[str]) -> Measured:
        """Returns the metrics of each window under checked settings, log after log."""
        return self.measure_results(self.run(settings), metrics)

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
    held_ms, lost_ms = (
        np.array([of(one) for one in schedules]).astype(np.int64) for of in (segments.held_ms, segments.lost_ms)
    )
    basis = np.array([one.estimate_basis for one in schedules], dtype=np.uint8)
    return WindowResults(start_ms, end_ms, held_ms, lost_ms, phase, basis)
