"""One table holds all metrics: what is added there is everywhere, and the documentation says the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shunter import compute_metrics
from shunter.comparison.objective import parse_objective
from shunter.metrics.table import (
    HIGHER,
    LOWER,
    METRICS,
    NO_UNIT,
    Metric,
    higher_is_better,
    register,
    window_metrics,
)
from shunter.metrics.window_metrics import WindowColumns, compute_window_metrics
from shunter.model.windows import Windows
from shunter.policies.scheduler import resolve_scheduler
from shunter.simulation import simulate
from shunter.simulation.windows import WindowRunner
from tests.metrics.test_window_metrics import CLUSTER, workload

DOCS = Path(__file__).parents[2] / "docs" / "metrics.md"


def test_a_metric_is_added_in_one_place() -> None:
    try:
        register(
            Metric(
                "immediate_share",
                NO_UNIT,
                HIGHER,
                "part of the jobs that start at once",
                lambda jobs: jobs.mean(jobs.wait_s == 0, jobs.ended),
                short=("immediate",),
            )
        )
        schedule = simulate(workload(), CLUSTER)
        expected = float(np.mean(schedule.queue_wait_s[schedule.ended] == 0))
        assert compute_metrics(schedule)["immediate_share"] == expected
        windows = Windows.whole(len(schedule))
        results = WindowRunner(schedule.workload, CLUSTER).run(resolve_scheduler(), [0], len(schedule))
        columns = WindowColumns(schedule.workload, windows, CLUSTER)
        assert compute_window_metrics(columns, results, ["immediate_share"])["immediate_share"].tolist() == [expected]
        assert parse_objective("immediate", []).metric == "immediate_share"
        assert higher_is_better("immediate_share")
    finally:
        METRICS.pop("immediate_share", None)


def test_a_name_is_given_once_and_a_formula_too() -> None:
    with pytest.raises(ValueError, match="there is a metric 'makespan_s' already"):
        register(METRICS["makespan_s"])
    with pytest.raises(ValueError, match="give either of_jobs or of_schedule"):
        Metric("nothing", NO_UNIT, LOWER, "none")


def test_the_documentation_lists_every_metric_with_unit_and_direction() -> None:
    text = DOCS.read_text(encoding="utf-8")
    rows = [f"| `{one.name}` | {one.formula} | {one.unit} | {one.better} |" for one in METRICS.values()]
    documented = [line for line in text.splitlines() if line.endswith((f"| {HIGHER} |", f"| {LOWER} |"))]
    assert documented == rows
    assert f"these {len(METRICS)} " in text


def test_names_tell_units() -> None:
    for metric in METRICS.values():
        assert metric.better in (HIGHER, LOWER)
        assert metric.name.endswith("_s") == (metric.unit == "s")
    assert set(window_metrics()) < set(METRICS)
