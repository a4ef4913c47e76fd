"""Reports made by hand, without a simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shunter.comparison.combinations import Combination
from shunter.comparison.comparison import Comparison, Scored
from shunter.comparison.objective import Bound, Objective
from shunter.comparison.report import Held, PooledRow
from shunter.comparison.roles import CHOSEN
from shunter.comparison.statistics import Paired, pooled_ratio
from shunter.metrics.table import window_metrics
from shunter.model.log import Ledger
from shunter.model.windows import Windows
from shunter.policies.scheduler import resolve_scheduler
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
        label=label,
        combination=Combination(label, settings),
        metrics=metrics,
        rejected=0,
        estimated_from={},
        wait_by_size_s=np.zeros(1),
        ledger=Ledger(),
    )


def log_report(
    values: Mapping[str, tuple[str, Sequence[float]]],
    metric: str = "mean_bounded_slowdown",
    held: tuple[tuple[Bound, float, bool], ...] = (),
    block: np.ndarray = BLOCK,
    bounds: tuple[Bound, ...] = (),
) -> Comparison:
    """Returns a report on one log from the label and the metric of each role; `held` is believed."""
    rows = {role: scored(label, metric, each) for role, (label, each) in values.items()}
    windows = Windows(np.arange(5, dtype=np.uintp), block, length=1, warmup=0)
    made = Comparison.of(rows, small_log(), windows, Objective(metric, bounds), CHOSEN)
    told = tuple(Held(*each) for each in held)
    return replace(made, contenders={role: replace(one, held=told) for role, one in made.contenders.items()})


def pairs(reports: Sequence[Comparison], role: str, base: str, metric: str) -> list[Paired]:
    """Returns one metric under two of the rows, log by log."""

    def values(one: Comparison, of: str) -> NDArray[np.float64]:
        return one.contenders[of].metrics[metric]

    return [Paired(values(one, role), values(one, base), one.block) for one in reports]


def pooled_rows(reports: Sequence[Comparison], metric: str = "mean_bounded_slowdown") -> dict[str, PooledRow]:
    """Returns the rows over all logs."""
    roles = list(reports[0].contenders)
    return {
        role: PooledRow({base: pooled_ratio(pairs(reports, role, base, metric)) for base in roles}, 1.0)
        for role in roles
    }
