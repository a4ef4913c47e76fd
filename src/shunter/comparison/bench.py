"""Runs any way to schedule on the same windows: natively on all cores, or a policy written in Python one by one.

A learned policy decides in all windows together, one decision in each at a time.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from shunter.metrics.window_metrics import COMPLETED, FAILED, KILLED, REJECTED
from shunter.model import segments
from shunter.model.schedule import Outcome, Schedule
from shunter.policies.checkpoint import Checkpoint
from shunter.policies.own import PythonPolicy
from shunter.simulation.learned import learned_runner
from shunter.simulation.run import simulate
from shunter.simulation.windows import WindowResults, WindowRunner

if TYPE_CHECKING:
    from shunter.comparison.combinations import Combination
    from shunter.model.cluster import Cluster
    from shunter.model.windows import Windows
    from shunter.model.workload import Workload

_PHASES = {
    Outcome.COMPLETED: COMPLETED,
    Outcome.KILLED: KILLED,
    Outcome.REJECTED: REJECTED,
    Outcome.FAILED: FAILED,
}


class WindowRuns:
    """The windows of a workload on a cluster, ready to be run."""

    def __init__(self, workload: Workload, cluster: Cluster, windows: Windows, threads: int = 1) -> None:
        """Hands workload and cluster to the core, once for all runs."""
        self._workload = workload
        self._cluster = cluster
        self._windows = windows
        self._threads = threads
        self._runner = WindowRunner(workload, cluster)

    def of(self, combination: Combination) -> WindowResults:
        """Returns what happens in each window."""
        first, length = self._windows.simulated_first.tolist(), self._windows.simulated_length
        scheduler = combination.scheduler
        if isinstance(scheduler.policy, Checkpoint):
            run = learned_runner().run_learned_windows
            return run(self._workload, self._cluster, self._windows, scheduler, self._threads)
        if not isinstance(scheduler.policy, PythonPolicy):
            return self._runner.run(scheduler, first, length, self._threads)
        windows = (self._workload.window(place, length) for place in first)
        return _together([simulate(window, self._cluster, scheduler) for window in windows])


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
