"""What a limit on waits costs: a policy under several starvation guards, on later days."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from shunter.comparison.bench import Bench
from shunter.comparison.log_windows import MetricsOf
from shunter.comparison.report import BESIDE, LONGEST, WAIT, largest_known
from shunter.comparison.statistics import Summary, summarize
from shunter.metrics.table import higher_is_better

if TYPE_CHECKING:
    from shunter.engines.base import Engine
    from shunter.model.log import Log
    from shunter.model.windows import Windows
    from shunter.policies.scheduler import Scheduler

GUARDS_S: Final = (None, 604_800.0, 259_200.0, 86_400.0, 43_200.0)
"""The limits that are tried where none are named: none, a week, three days, a day, half a day."""


@dataclass(frozen=True)
class Guarded:
    """What a policy did under one guard in the windows of a log."""

    guard_s: float | None
    """A job that has waited so long goes before all others; None: there is no such rule."""
    summary: Summary
    """Of the objective's metric."""
    mean_wait_s: float | None
    longest_wait_s: float | None

    def to_json(self) -> dict[str, Any]:
        """Returns the row as a plain object."""
        return {
            "max_wait_s": self.guard_s,
            "geometric_mean": self.summary.geometric_mean,
            "mean": self.summary.mean,
            "mean_wait_s": self.mean_wait_s,
            "longest_wait_s": self.longest_wait_s,
        }


def sweep_guards(
    log: Log,
    windows: Windows,
    scheduler: Scheduler,
    guards_s: Sequence[float | None],
    metric: str,
    threads: int = 1,
    engine: Engine | None = None,
) -> tuple[Guarded, ...]:
    """Returns what a policy does under each guard.

    Args:
        log: The log and its cluster.
        windows: Of the log.
        scheduler: The policy with its dispatch rule, its estimate and so on.
        guards_s: The guards; None: without one.
        metric: The metric that counts.
        threads: How many threads share the windows.
        engine: Where chunks of windows run; None: in this process.
    """
    bench, rows = Bench.on(log, windows, threads, engine), []
    guarded = [scheduler.changed(max_wait_s=guard_s) for guard_s in guards_s]
    measured = bench.each(guarded, MetricsOf(tuple(dict.fromkeys((metric, *BESIDE)))))
    for guard_s, found in zip(guards_s, measured, strict=True):
        summary = summarize(found[metric], windows.block, higher_is_better(metric))
        mean_wait_s = summarize(found[WAIT], windows.block).mean
        rows.append(Guarded(guard_s, summary, mean_wait_s, largest_known(found[LONGEST])))
    return tuple(rows)
