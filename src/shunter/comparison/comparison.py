"""Many ways to schedule on the same windows of a log, and which is how much better."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shunter import __version__
from shunter.checks import check_name
from shunter.comparison.bench import Bench
from shunter.comparison.combinations import Combination, find_baseline
from shunter.comparison.rows import combination_rows, comparison_object
from shunter.comparison.statistics import Contrast, Summary, contrast, summarize
from shunter.errors import InputError
from shunter.metrics.labels import size_class
from shunter.metrics.table import higher_is_better, window_metrics
from shunter.metrics.window_metrics import MILLISECONDS
from shunter.model.schedule import Phase, count_bases
from shunter.simulation.run import result_ledger

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.cluster import Cluster
    from shunter.model.log import Ledger, Log
    from shunter.model.windows import Windows
    from shunter.model.workload import Workload
    from shunter.simulation.windows import WindowResults


@dataclass(frozen=True)
class Scored:
    """What one combination did in all windows."""

    combination: Combination
    metrics: dict[str, NDArray[np.float64]]
    """By name, each of shape (windows,); NaN where a metric has no meaning."""
    rejected: int
    """How many of the measured jobs can never fit, counted in each window."""
    estimated_from: dict[str, int]
    """How many of the measured jobs were estimated on what, counted in each window."""
    wait_by_size_s: NDArray[np.float64]
    """(size classes,): the mean wait of the measured jobs of each class; NaN where there is none."""
    ledger: Ledger
    """Repairs and stand-ins, over the jobs that lie in a window."""
    summary: Summary
    """Of the metric by which is compared."""
    contrast: Contrast
    """The same metric against the baseline."""


@dataclass(frozen=True)
class Comparison:
    """Combinations on the same windows of a log, the best first."""

    log: Log
    windows: Windows
    metric: str
    baseline: Combination
    scored: tuple[Scored, ...]
    skipped: tuple[str, ...] = ()
    """Why some combinations cannot be."""
    asked: int | None = None
    """How many windows were asked for, of which there may be fewer; None: as many as there are."""
    part: str = "0:1"
    """From which part of the log they are, as fractions of its jobs."""
    seed: int = 0
    seconds: float = 0.0
    """How long the simulations and their statistics took."""

    @property
    def workload(self) -> Workload:
        """The whole log."""
        return self.log.workload

    @property
    def cluster(self) -> Cluster:
        """The nodes."""
        return self.log.cluster

    @property
    def sorted_by(self) -> str:
        """By which statistic: the geometric mean if every combination has one, otherwise the mean."""
        return "mean" if any(one.summary.geometric_mean is None for one in self.scored) else "geometric mean"

    @property
    def against(self) -> Scored:
        """What the baseline did."""
        return next(one for one in self.scored if one.combination == self.baseline)

    def rows(self) -> list[dict[str, Any]]:
        """Returns one row a combination, the best first."""
        return combination_rows(self)

    def to_json(self) -> dict[str, Any]:
        """Returns what ``shunter compare --json`` prints."""
        return comparison_object(self) | {
            "skipped": list(self.skipped),
            "workload": self.workload.name,
            "cluster": self.cluster.name,
            "cluster_from": self.log.cluster_from,
            "load": self.log.load,
            "part": self.part,
            "seed": self.seed,
            "version": __version__,
            "seconds": round(self.seconds, 6),
        }


def compare_combinations(
    log: Log,
    combinations: Sequence[Combination],
    windows: Windows,
    *,
    metric: str = "mean_bounded_slowdown",
    baseline: str | None = None,
    seed: int = 0,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Runs every combination on every window, and compares one metric with the baseline's.

    Args:
        log: The whole log; its cluster is empty when a window (or its warm-up) begins.
        combinations: From `shunter.comparison.combinations.combine`.
        windows: From `shunter.model.windows.choose_windows`.
        metric: One of `shunter.metrics.table.window_metrics`.
        baseline: The label of the combination that all others are held against; by default the first.
        seed: For the drawing of blocks in the intervals.
        threads: How many threads share the windows.
        progress: Called after each combination with how many are done, and of how many.

    Raises:
        InputError: The metric or the baseline is unknown, or not one job can ever fit.
    """
    check_name("metric", metric, window_metrics())
    chosen = find_baseline(combinations, baseline)
    bench = Bench.on(log, windows, threads)
    judge = _Judge(bench, metric, seed)
    # The baseline comes first: the others are held against it.
    base = judge.score(chosen, None)
    if base.rejected == windows.length * len(windows):
        what = f"none of the {windows.length} jobs of any window can ever fit on {log.cluster.name}"
        raise InputError(f"{log.workload.name}: {what}; check --cluster")
    if np.isnan(base.metrics[metric]).all():
        what = "the log or the cluster does not tell what it needs"
        raise InputError(
            f"{log.workload.name}: {metric} has no meaning in these windows: {what}; choose another metric"
        )
    scored = []
    for done, combination in enumerate(combinations, start=1):
        scored.append(base if combination == chosen else judge.score(combination, base))
        if progress:
            progress(done, len(combinations))
    comparison = Comparison(log, windows, metric, chosen, tuple(scored))
    return replace(comparison, scored=tuple(sorted(scored, key=_worth(comparison))))


def held_against(comparison: Comparison, baseline: Combination, seed: int = 0) -> Comparison:
    """Returns a comparison with another of its combinations as the baseline: nothing is simulated again."""
    metric, block = comparison.metric, comparison.windows.block
    base = next(one for one in comparison.scored if one.combination == baseline).metrics[metric]
    higher = higher_is_better(metric)
    scored = (
        replace(one, contrast=contrast(one.metrics[metric], base, block, higher_is_better=higher, seed=seed))
        for one in comparison.scored
    )
    return replace(comparison, baseline=baseline, scored=tuple(scored))


def _worth(comparison: Comparison) -> Callable[[Scored], float]:
    """Returns the key by which the best come first, and those without a value last."""
    statistic = comparison.sorted_by.replace(" ", "_")
    sign = -1.0 if higher_is_better(comparison.metric) else 1.0

    def worth(scored: Scored) -> float:
        value: float | None = getattr(scored.summary, statistic)
        return float("inf") if value is None else sign * value

    return worth


class _Judge:
    """Runs combinations on the windows of one log, and measures what they did."""

    def __init__(self, bench: Bench, metric: str, seed: int) -> None:
        (part,) = bench.parts
        self._bench = bench
        self._columns = part.columns
        self._windows = windows = part.windows
        self._metric = metric
        self._seed = seed
        workload = part.log.workload
        self._jobs = replace(workload, jobs=workload.jobs[np.unique(self._columns.index)])
        self._size_class = size_class(self._columns.cores[:, windows.warmup :])

    def score(self, combination: Combination, base: Scored | None) -> Scored:
        """Returns what a combination did, held against a baseline; without one it is the baseline itself."""
        (results,) = self._bench.run(combination.scheduler)
        metrics = self._bench.measure_results([results], window_metrics())
        values = metrics[self._metric]
        against = values if base is None else base.metrics[self._metric]
        higher, block = higher_is_better(self._metric), self._windows.block
        ran = results.ended[:, self._windows.warmup :]
        return Scored(
            combination=combination,
            metrics=metrics,
            rejected=int((results.phase[:, self._windows.warmup :] == Phase.REJECTED).sum()),
            estimated_from=count_bases(results.basis[:, self._windows.warmup :][ran]),
            wait_by_size_s=self._wait_by_size(results, ran),
            ledger=result_ledger(self._jobs, self._columns.cluster, combination.scheduler),
            summary=summarize(values, block, higher),
            contrast=contrast(values, against, block, higher_is_better=higher, seed=self._seed),
        )

    def _wait_by_size(self, results: WindowResults, ran: NDArray[np.bool_]) -> NDArray[np.float64]:
        wait_s = (results.start_ms - self._columns.submit_ms)[:, self._windows.warmup :] / MILLISECONDS
        classes = int(self._size_class.max()) + 1
        jobs = np.bincount(self._size_class[ran], minlength=classes)
        total_s = np.bincount(self._size_class[ran], weights=wait_s[ran], minlength=classes)
        return np.where(jobs > 0, total_s / np.maximum(jobs, 1), np.nan)
