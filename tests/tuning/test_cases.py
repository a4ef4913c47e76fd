"""The windows that candidates are tried on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from shunter.comparison.cases import Case, Days
from shunter.errors import InputError
from shunter.metrics.schedule_metrics import compute_metrics
from shunter.policies.scheduler import resolve_scheduler
from shunter.simulation import simulate
from tests.tuning.small import small_log

DAYS = Days("--train", (0.0, 0.5), windows=4, length=60, warmup=10, seed=1)
METRICS = ("mean_wait_s", "mean_bounded_slowdown")


def test_windows_lie_in_their_days() -> None:
    windows = DAYS.windows_of(small_log())
    assert (len(windows), windows.length, windows.warmup) == (4, 60, 10)
    assert windows.first.min() >= 10
    assert windows.first.max() + 60 <= 300


def test_days_that_are_too_short_are_an_error() -> None:
    """Half of 600 jobs are 300; 251 have no room after a warm-up of 50."""
    log = small_log()
    assert len(replace(DAYS, length=250, warmup=50, windows=1).windows_of(log)) == 1
    with pytest.raises(InputError) as raised:
        replace(DAYS, length=251, warmup=50).windows_of(log)
    assert str(raised.value) == (
        f"a window has 251 jobs (--length), but {log.workload.name} has 600, its part 0:0.5 (--train) 300, and 250 of "
        "them have 50 jobs (--warmup) before them; give a shorter window, or a longer log"
    )


def test_measures_are_those_of_single_simulations() -> None:
    log = small_log()
    days = replace(DAYS, warmup=0)
    case = Case(log, days.windows_of(log), resolve_scheduler(dispatch="easy"), 1)
    measured = case.measure(case.with_policy("sjf"), METRICS)
    for place, first in enumerate(case.windows.first.tolist()):
        schedule = simulate(log.workload.window(first, 60), log.cluster, policy="sjf", dispatch="easy")
        expected = compute_metrics(schedule)
        assert {name: measured[name][place] for name in METRICS} == pytest.approx(
            {name: expected[name] for name in METRICS}
        )
    some = case.measure(case.with_policy("sjf"), METRICS, np.array([1, 3]))
    np.testing.assert_array_equal(some["mean_wait_s"], measured["mean_wait_s"][[1, 3]])


def test_settings_with_another_policy() -> None:
    log = small_log()
    settings = resolve_scheduler(dispatch="easy", estimate="last-two", max_wait_s=500, seed=3)
    case = Case(log, DAYS.windows_of(log), settings, 1)
    assert case.with_policy("f2") == replace(settings, policy="f2")
    other = case.with_policy("f2", "strict", "perfect")
    assert other == replace(settings, policy="f2", dispatch="strict", estimate="perfect")
