"""Reports made by hand, without a simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shunter.comparison.combinations import Combination
from shunter.comparison.comparison import Scored
from shunter.comparison.objective import Bound, Objective
from shunter.comparison.report import Held, PooledRow, report_rows
from shunter.comparison.statistics import Paired, contrast, pooled_ratio, summarize
from shunter.metrics.table import higher_is_better, window_metrics
from shunter.model.log import Ledger
from shunter.model.windows import Windows
from shunter.policies.scheduler import resolve_scheduler
from shunter.tuning.report import CHOSEN, Later, LaterReport
from tests.tuning.small import small_log

BLOCK = np.arange(5)


def scored(label: str, metric: str, values: Sequence[float]) -> Scored:
    """Returns what a combination did in five windows; metrics that do not matter are 1."""
    metrics = {name: np.ones(len(values)) for name in window_metrics()} | {metric: np.array(values)}
    policy, dispatch = label.split("/")
    settings = (
        resolve_scheduler(dispatch=dispatch)
        if policy == "tuned"
        else resolve_scheduler(policy=policy, dispatch=dispatch)
    )
    return Scored(
        combination=Combination(label, settings),
        metrics=metrics,
        rejected=0,
        estimated_from={},
        wait_by_size_s=np.zeros(1),
        ledger=Ledger(),
        summary=summarize(metrics[metric], BLOCK, higher_is_better(metric)),
        contrast=contrast(metrics[metric], metrics[metric], BLOCK),
    )


def log_report(
    values: Mapping[str, tuple[str, Sequence[float]]],
    metric: str = "mean_bounded_slowdown",
    held: tuple[tuple[Bound, float, bool], ...] = (),
    block: np.ndarray = BLOCK,
) -> LaterReport:
    """Returns a report on one log from the label and the metric of each role."""
    rows = {role: scored(label, metric, each) for role, (label, each) in values.items()}
    windows = Windows(np.arange(5, dtype=np.uintp), block, length=1, warmup=0)
    contenders = {role: (one.combination.label, one.metrics) for role, one in rows.items()}
    reported = report_rows(contenders, block, Objective(metric), CHOSEN)
    told = tuple(Held(*each) for each in held)
    log = small_log()
    return LaterReport(
        name=log.workload.name,
        block=block,
        reference=CHOSEN,
        rows={role: replace(row, held=told) for role, row in reported.items()},
        later=Later(log, windows, rows[CHOSEN].combination.label, ""),
        scored=rows,
    )


def pairs(reports: Sequence[LaterReport], role: str, base: str, metric: str) -> list[Paired]:
    """Returns one metric under two of the rows, log by log."""

    def values(one: LaterReport, of: str) -> NDArray[np.float64]:
        return one.rows[of].metrics[metric]

    return [Paired(values(one, role), values(one, base), one.block) for one in reports]


def pooled_rows(reports: Sequence[LaterReport], metric: str = "mean_bounded_slowdown") -> dict[str, PooledRow]:
    """Returns the rows over all logs."""
    roles = list(reports[0].rows)
    return {
        role: PooledRow({base: pooled_ratio(pairs(reports, role, base, metric)) for base in roles}, 1.0)
        for role in roles
    }
