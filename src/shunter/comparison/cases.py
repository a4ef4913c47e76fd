"""The windows on which policies are tried: those of one log, or of several."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from shunter.metrics.window_metrics import WindowColumns
from shunter.model.windows import choose_windows
from shunter.simulation.windows import WindowRunner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shunter.model.cluster import Cluster
    from shunter.model.windows import Windows
    from shunter.model.workload import Workload
    from shunter.policies.scheduler import AnyPolicy, Scheduler


@dataclass(frozen=True)
class Log:
    """A log and the cluster that it is replayed on."""

    workload: Workload
    cluster: Cluster


@dataclass(frozen=True)
class Days:
    """Some days of each log, and how many windows are taken from them."""

    option: str
    """By which option they were given, for errors: ``--train``."""
    part: tuple[float, float]
    """From which fraction of a log's jobs to which one."""
    windows: int
    length: int
    """How many jobs of each window are measured."""
    warmup: int
    """How many jobs before them are simulated too."""
    seed: int

    def windows_of(self, log: Log) -> Windows:
        """Returns the windows of a log.

        Raises:
            InputError: These days have fewer jobs than a window.
        """
        return choose_windows(
            len(log.workload),
            count=self.windows,
            length=self.length,
            seed=self.seed,
            part=self.part,
            warmup=self.warmup,
            log=log.workload.name,
            part_option=self.option,
        )


class Case:
    """Some windows of a log, handed to the core once."""

    def __init__(self, log: Log, windows: Windows, scheduler: Scheduler, threads: int) -> None:
        """Prepares the windows.

        Args:
            log: The log and its cluster.
            windows: Which parts of it.
            scheduler: What all candidates share: the dispatch rule, the estimate, and so on.
            threads: How many threads share the windows.
        """
        self.log = log
        self.windows = windows
        self.scheduler = scheduler
        self._threads = threads
        self._runner = WindowRunner(log.workload, log.cluster)
        self._columns = WindowColumns(log.workload, windows, log.cluster)

    def measure(
        self, scheduler: Scheduler, metrics: Sequence[str], chosen: NDArray[np.int64] | None = None
    ) -> dict[str, NDArray[np.float64]]:
        """Returns the metrics of each window under one way to schedule, or of some of the windows."""
        windows, columns = self.windows, self._columns
        if chosen is not None:
            windows = replace(windows, first=windows.first[chosen], block=windows.block[chosen])
            columns = columns.take(chosen)
        first, length = windows.simulated_first.tolist(), windows.simulated_length
        return columns.metrics(self._runner.run(scheduler, first, length, self._threads), metrics)

    def with_policy(
        self, policy: str | AnyPolicy, dispatch: str | None = None, estimate: str | None = None
    ) -> Scheduler:
        """Returns what all share with another policy, and another dispatch rule or estimate if given."""
        return self.scheduler.changed(policy=policy, dispatch=dispatch, estimate=estimate)
