"""The bench: runs any way to schedule on the same windows of one or several logs.

Shunter's own policies run natively on all cores. A learned policy decides in all windows together, one decision in each
at a time. A policy written in Python runs one window after the other. With an engine, chunks of windows run wherever
the engine has room; results are the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shunter.comparison.log_windows import Found, LogWindows, Measured, Measurement, MetricsOf
from shunter.metrics.window_metrics import compute_window_metrics
from shunter.model.schedule import count_bases
from shunter.simulation.windows import WindowResults, WindowRunner

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from shunter.comparison.spreading import Pace
    from shunter.engines.base import Engine
    from shunter.model.log import Log
    from shunter.model.windows import Windows
    from shunter.policies.scheduler import Scheduler


class Bench:
    """Windows of one or several logs, on which any number of contenders are run and measured."""

    def __init__(
        self, parts: Iterable[LogWindows], threads: int = 1, engine: Engine | None = None, pace: Pace | None = None
    ) -> None:
        """Takes windows that the core has; `Bench.on` hands over those that it has not.

        Args:
            parts: The windows of each log.
            threads: How many threads share the windows; results do not depend on it.
            engine: Where `each` and `measure` run; None: in this process.
            pace: How long windows take there, as far as that is known.
        """
        self.parts = tuple(parts)
        self.threads = threads
        self.engine = engine
        self._pace = pace
        if engine is not None and pace is None:
            from shunter.comparison.spreading import Pace

            self._pace = Pace()

    @classmethod
    def on(cls, log: Log, windows: Windows, threads: int = 1, engine: Engine | None = None) -> Bench:
        """Returns a bench on windows of one log."""
        return cls.over([(log, windows)], threads, engine)

    @classmethod
    def over(cls, logs: Iterable[tuple[Log, Windows]], threads: int = 1, engine: Engine | None = None) -> Bench:
        """Returns a bench on windows of several logs, in this order."""
        parts = (LogWindows(log, windows, WindowRunner(log.workload, log.cluster)) for log, windows in logs)
        return cls(parts, threads, engine)

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
        return Bench(parts, self.threads, self.engine, self._pace)

    def run(self, scheduler: Scheduler) -> tuple[WindowResults, ...]:
        """Returns what happens in the windows of each log under one way to schedule."""
        return tuple(part.run(scheduler, self.threads) for part in self.parts)

    def requests(self) -> pl.DataFrame:
        """Returns the requested times of the jobs of all windows, each job once."""
        return pl.concat(part.jobs.select("requested_s") for part in self.parts)

    def bases(self, results: Sequence[WindowResults]) -> dict[str, int]:
        """Returns how many of the measured jobs that ran were estimated on what, counted in each window."""
        return count_bases(np.concatenate([part.bases(each) for part, each in zip(self.parts, results, strict=True)]))

    def each(
        self,
        schedulers: Sequence[Scheduler],
        measurement: Measurement[Found],
        progress: Callable[[int, int], None] | None = None,
    ) -> Iterator[Found]:
        """Yields what a measurement finds of each of some ways to schedule, over all windows, log after log.

        The first is there before the others are run, for whoever sees by it that the rest would be in vain.

        Args:
            schedulers: The ways to schedule.
            measurement: What is worked out.
            progress: Called after each with how many are done, and of how many.
        """
        if self.engine is not None and self._pace is not None:
            # Few comparisons leave this process.
            from shunter.comparison.spreading import spread

            yield from spread(self.engine, self.parts, schedulers, measurement, self._pace, progress)
            return
        for done, scheduler in enumerate(schedulers, start=1):
            yield measurement.joined([measurement.of(part, scheduler, self.threads) for part in self.parts])
            if progress:
                progress(done, len(schedulers))

    def measure(self, scheduler: Scheduler, metrics: Iterable[str]) -> Measured:
        """Returns the metrics of each window under one way to schedule, log after log."""
        (found,) = self.each([scheduler], MetricsOf(tuple(metrics)))
        return found

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
