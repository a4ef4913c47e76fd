"""Metrics that need placements or stops are compared like all others."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import shunter
from shunter import InputError, compute_metrics, simulate
from shunter.metrics.table import METRICS, window_metrics
from shunter.model.log import Log
from shunter.workloads.reading import read_log

HASTY = "milp?time_limit_s=0"
NEED_SCHEDULES = [name for name in METRICS if name not in window_metrics()]


@cache
def log() -> Log:
    return read_log("generate:bursty-gpu?seed=42&jobs=300&load=1.1")


@pytest.mark.parametrize("metric", ["mean_fragmentation", "preemptions", "migrations", "nodes_per_job"])
def test_each_window_is_that_of_a_schedule_of_its_own(metric: str) -> None:
    compared = shunter.compare(log(), policy=["fcfs", "srtf"], metric=metric, windows=3, length=60, warmup=10)
    for one in compared.scored:
        for place, first in enumerate(compared.windows.simulated_first.tolist()):
            window = log().workload.window(first, 70)
            expected = compute_metrics(simulate(window, log().cluster, one.combination.scheduler))[metric]
            assert one.metrics[metric][place] == expected
    assert compared.rows()[0]["mean"] is not None


def test_stops_are_counted_for_those_who_stop() -> None:
    compared = shunter.compare(log(), policy=["fcfs", "srtf"], metric="preemptions", windows=3, length=100)
    stops = {one.label: one.metrics["preemptions"].sum() for one in compared.scored}
    assert stops["fcfs/easy"] == 0
    assert stops["srtf/greedy"] > 0
    rows = {row["label"]: row for row in compared.rows()}
    assert rows["srtf/greedy"]["lost_gpu_hours"] == 0
    assert rows["srtf/greedy/overhead=30"]["lost_gpu_hours"] > 0
    assert rows["fcfs/easy"]["gpu_utilization"] > 0


def test_fall_backs_of_milp_are_a_metric() -> None:
    placements = [HASTY, "first-fit"]
    compared = shunter.compare(
        log(), placement=placements, policy="fcfs", metric="milp_fallbacks", windows=2, length=30
    )
    asked = compared.contenders[f"fcfs/easy/{HASTY}"].metrics["milp_fallbacks"]
    window = log().workload.window(int(compared.windows.first[0]), 30)
    schedule = simulate(window, log().cluster, placement=HASTY)
    entries = [entry for entry in schedule.ledger.entries if entry.rule.startswith("milp")]
    assert asked[0] == sum(entry.count for entry in entries) > 0
    assert np.isnan(compared.contenders["fcfs/easy/first-fit"].metrics["milp_fallbacks"]).all()


def test_a_plain_comparison_makes_no_schedules(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take longer than windows."""

    def refuse(*_: object) -> None:
        raise AssertionError("nobody asked for it")

    monkeypatch.setattr("shunter.comparison.bench.LogWindows.schedules", refuse)
    compared = shunter.compare(log(), policy=["fcfs", "srtf"], windows=3, length=60)
    assert set(compared.scored[0].metrics) == set(window_metrics())


@pytest.mark.parametrize("metric", NEED_SCHEDULES)
def test_a_search_takes_windows_alone(metric: str) -> None:
    with pytest.raises(InputError, match=f"unknown objective '{metric}'"):
        shunter.tune(log(), out="nowhere.toml", objective=metric)
