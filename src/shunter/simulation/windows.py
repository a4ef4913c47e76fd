"""Many windows of one workload at once, on all cores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shunter.model.schedule import Phase
from shunter.native import check, lib, pointer
from shunter.simulation.core_config import core_config
from shunter.simulation.core_tables import open_cluster, open_jobs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shunter.model.cluster import Cluster
    from shunter.model.windows import Windows
    from shunter.model.workload import Workload
    from shunter.policies.scheduler import Scheduler


@dataclass(frozen=True)
class WindowResults:
    """What happened in each window."""

    start_ms: NDArray[np.int64]
    """(windows, length): absolute start times; −1 where a job was rejected."""
    end_ms: NDArray[np.int64]
    """(windows, length)"""
    held_ms: NDArray[np.int64]
    """(windows, length): how long each job held nodes; that is from its start to its end, unless it was stopped."""
    lost_ms: NDArray[np.int64]
    """(windows, length): how much of that brought it nothing, since it was stopped."""
    phase: NDArray[np.uint8]
    """(windows, length): a `shunter.model.schedule.Phase` each."""
    basis: NDArray[np.uint8]
    """(windows, length): what the estimate rested on when the job started: a place in `model.schedule.BASES`."""

    @property
    def ended(self) -> NDArray[np.bool_]:
        """(windows, length): which jobs ran to an end."""
        return np.isin(self.phase, (Phase.COMPLETED, Phase.KILLED, Phase.FAILED))

    @staticmethod
    def unfilled(windows: Windows) -> WindowResults:
        """Returns results in which nothing has happened yet."""
        shape = (len(windows), windows.simulated_length)
        return WindowResults(
            start_ms=np.full(shape, -1, dtype=np.int64),
            end_ms=np.full(shape, -1, dtype=np.int64),
            held_ms=np.zeros(shape, dtype=np.int64),
            lost_ms=np.zeros(shape, dtype=np.int64),
            phase=np.zeros(shape, dtype=np.uint8),
            basis=np.zeros(shape, dtype=np.uint8),
        )


class WindowRunner:
    """Runs windows of one workload on one cluster; handing them to the core once, it is quick to ask again."""

    def __init__(self, workload: Workload, cluster: Cluster) -> None:
        # As for a simulation of its own: jobs before a window are part of the table.
        self._table = workload.whole()
        self._before = len(self._table) - len(workload)
        self._nodes = cluster
        self._cluster = open_cluster(cluster)
        self._jobs = open_jobs(self._table, cluster)

    def run(self, scheduler: Scheduler, first: Sequence[int], length: int, threads: int = 1) -> WindowResults:
        """Simulates the windows that begin at these jobs. The result does not depend on the number of threads.

        Args:
            scheduler: From `shunter.policies.scheduler.resolve_scheduler`; its policy is one that the core runs.
            first: The place of each window's first job in the workload.
            length: How many jobs a window has.
            threads: How many threads share the windows.
        """
        config = core_config(scheduler, self._table, self._nodes)
        begins = np.ascontiguousarray(first, dtype=np.uintp) + np.uintp(self._before)
        shape = (len(begins), length)
        results = WindowResults(
            start_ms=np.empty(shape, dtype=np.int64),
            end_ms=np.empty(shape, dtype=np.int64),
            held_ms=np.empty(shape, dtype=np.int64),
            lost_ms=np.empty(shape, dtype=np.int64),
            phase=np.empty(shape, dtype=np.uint8),
            basis=np.empty(shape, dtype=np.uint8),
        )
        check(
            lib.shunter_batch_run(
                self._cluster.number,
                self._jobs.number,
                config.pointer,
                pointer(config.scores),
                len(config.scores),
                pointer(begins),
                len(begins),
                length,
                threads,
                pointer(results.start_ms),
                pointer(results.end_ms),
                pointer(results.held_ms),
                pointer(results.lost_ms),
                pointer(results.phase),
                pointer(results.basis),
            )
        )
        if config.asked is not None:
            config.asked.raise_failure()
        return results
