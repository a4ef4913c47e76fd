"""What a combination did in windows, in numbers that can be added up over windows that were run apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from shunter.metrics.table import MILLISECONDS, window_metrics
from shunter.metrics.window_metrics import compute_window_metrics
from shunter.model.schedule import BASES, Phase, count_bases

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.comparison.log_windows import LogWindows, Measured
    from shunter.metrics.sizes import Resource
    from shunter.policies.scheduler import Scheduler
    from shunter.simulation.windows import WindowResults

Number = TypeVar("Number", np.int64, np.float64)


@dataclass(frozen=True)
class Tally:
    """What one combination did in some windows."""

    metrics: Measured
    rejected: int
    """How many of the measured jobs can never fit, counted in each window."""
    estimated_from: dict[str, int]
    """How many of the measured jobs were estimated on what, counted in each window."""
    jobs_by_size: NDArray[np.int64]
    """(size classes,): how many of the measured jobs ran."""
    waited_by_size_ms: NDArray[np.float64]
    """(size classes,): how long they waited together. Whole numbers: their sum is the same in any order."""

    @property
    def wait_by_size_s(self) -> NDArray[np.float64]:
        """(size classes,): the mean wait of the measured jobs of each class; NaN where there is none."""
        mean_ms = self.waited_by_size_ms / np.maximum(self.jobs_by_size, 1)
        return np.where(self.jobs_by_size > 0, mean_ms / MILLISECONDS, np.nan)


@dataclass(frozen=True)
class TallyOf:
    """The measurement of all that a comparison tells of a combination."""

    metric: str
    """The metric that counts, which may be one that needs placements or stops."""
    resource: Resource
    """What sizes of jobs are counted in."""

    def of(self, part: LogWindows, scheduler: Scheduler, threads: int) -> Tally:
        """Returns what a way to schedule did in windows."""
        results = part.run(scheduler, threads)
        metrics = compute_window_metrics(part.columns, results, window_metrics())
        if self.metric not in metrics:
            metrics |= part.measure_schedules(scheduler, [self.metric])
        measured = slice(part.windows.warmup, None)
        rejected = int((results.phase[:, measured] == Phase.REJECTED).sum())
        return Tally(metrics, rejected, count_bases(part.bases(results)), *self._by_size(part, results))

    def _by_size(self, part: LogWindows, results: WindowResults) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Returns for each class of sizes how many measured jobs ran, and how long they waited together."""
        measured = slice(part.windows.warmup, None)
        ran, size_class = results.ended[:, measured], part.size_classes(self.resource)
        # A job that was stopped has waited whenever it held no nodes.
        waited_ms = (results.end_ms - results.eligible_ms - results.held_ms)[:, measured]
        classes = int(size_class.max()) + 1
        jobs = np.bincount(size_class[ran], minlength=classes).astype(np.int64)
        waited_by_size_ms = np.bincount(size_class[ran], weights=waited_ms[ran], minlength=classes)
        return jobs, waited_by_size_ms.astype(np.float64)

    def joined(self, found: Sequence[Tally]) -> Tally:
        """Returns what was done in some windows after the other."""
        counts = {name: sum(one.estimated_from.get(name, 0) for one in found) for name in BASES}
        return Tally(
            {name: np.concatenate([one.metrics[name] for one in found]) for name in found[0].metrics},
            sum(one.rejected for one in found),
            {name: count for name, count in counts.items() if count},
            _added([one.jobs_by_size for one in found]),
            _added([one.waited_by_size_ms for one in found]),
        )


def _added(columns: Sequence[NDArray[Number]]) -> NDArray[Number]:
    """Returns the sum of columns, of which some may be shorter than others."""
    total = np.zeros(max(map(len, columns)), dtype=columns[0].dtype)
    for one in columns:
        total[: len(one)] += one
    return total
