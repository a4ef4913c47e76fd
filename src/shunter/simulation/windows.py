"""Many windows of one workload at once, on all cores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shunter.model.schedule import Phase
from shunter.native import CoreArrays, check, filled, lib, pointers
from shunter.simulation.core_inputs import core_config, open_tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shunter.model.cluster import Cluster
    from shunter.model.windows import Windows
    from shunter.model.workload import Workload
    from shunter.policies.scheduler import Scheduler


@dataclass(frozen=True)
class WindowResults(CoreArrays):
    """What happened in each window."""

    eligible_ms: NDArray[np.int64] = filled(np.int64)
    """(windows, length): absolute times from which jobs wait for nodes; of one that left before, when it left."""
    start_ms: NDArray[np.int64] = filled(np.int64)
    """(windows, length): absolute start times; −1 where a job was rejected."""
    end_ms: NDArray[np.int64] = filled(np.int64)
    """(windows, length)"""
    held_ms: NDArray[np.int64] = filled(np.int64)
    """(windows, length): how long each job held nodes; that is from its start to its end, unless it was stopped."""
    lost_ms: NDArray[np.int64] = filled(np.int64)
    """(windows, length): how much of that brought it nothing, since it was stopped."""
    phase: NDArray[np.uint8] = filled(np.uint8)
    """(windows, length): a `shunter.model.schedule.Phase` each."""
    basis: NDArray[np.uint8] = filled(np.uint8)
    """(windows, length): what the estimate rested on when the job started: a place in `model.schedule.BASES`."""

    @property
    def ended(self) -> NDArray[np.bool_]:
        """(windows, length): which jobs ran to an end."""
        return np.isin(self.phase, (Phase.COMPLETED, Phase.KILLED, Phase.FAILED))

    @staticmethod
    def unfilled(windows: Windows) -> WindowResults:
        """Returns results in which nothing has happened yet."""
        results = WindowResults.empty(len(windows), windows.simulated_length)
        for array in (results.eligible_ms, results.held_ms, results.lost_ms, results.phase, results.basis):
            array.fill(0)
        for times in (results.start_ms, results.end_ms):
            times.fill(-1)
        return results


class WindowRunner:
    """Runs windows of one workload on one cluster; handing them to the core once, it is quick to ask again."""

    def __init__(self, workload: Workload, cluster: Cluster) -> None:
        # As for a simulation of its own: jobs before a window are part of the table.
        self._table = workload.whole()
        self._before = len(self._table) - len(workload)
        self._nodes = cluster
        self._cluster, self._jobs = open_tables(self._table, cluster)

    def run(self, scheduler: Scheduler, first: Sequence[int], length: int, threads: int = 1) -> WindowResults:
        """Simulates the windows that begin at these jobs. The result does not depend on the number of threads.

        Args:
            scheduler: From `shunter.policies.scheduler.resolve_scheduler`; its policy is one that the core runs.
            first: The place of each window's first job in the workload.
            length: How many jobs a window has.
            threads: How many threads share the windows.
        """
        # Made for each call, since a placement in Python has a state: no two calls share one.
        config = core_config(scheduler, self._table, self._nodes)
        begins = np.ascontiguousarray(first, dtype=np.uintp) + np.uintp(self._before)
        results = WindowResults.empty(len(begins), length)
        scores, windows = pointers(config.policy.scores, begins)
        check(
            lib.shunter_batch_run(
                self._cluster.number,
                self._jobs.number,
                config.pointer,
                scores,
                len(config.policy.scores),
                windows,
                len(begins),
                length,
                threads,
                *results.pointers(),
            )
        )
        # An exception cannot cross the core: it was kept while the core asked, and is raised now.
        if config.asked is not None:
            config.asked.raise_failure()
        return results
