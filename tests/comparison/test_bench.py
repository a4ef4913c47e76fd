"""Days, their windows, and the bench on which contenders are run there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from shunter.comparison.bench import Bench
from shunter.errors import InputError
from shunter.metrics.table import compute_metrics
from shunter.model.windows import Days
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
        "them have 50 jobs (--warmup) before them; give a shorter window, as in --length 83, or a longer log"
    )


def test_measures_are_those_of_single_simulations() -> None:
    log = small_log()
    days = replace(DAYS, warmup=0)
    windows = days.windows_of(log)
    bench, settings = Bench.on(log, windows), resolve_scheduler(policy="sjf", dispatch="easy")
    measured = bench.measure(settings, METRICS)
    for place, first in enumerate(windows.first.tolist()):
        schedule = simulate(log.workload.window(first, 60), log.cluster, policy="sjf", dispatch="easy")
        expected = compute_metrics(schedule)
        assert {name: measured[name][place] for name in METRICS} == pytest.approx(
            {name: expected[name] for name in METRICS}
        )
    some = bench.take(np.array([1, 3])).measure(settings, METRICS)
    np.testing.assert_array_equal(some["mean_wait_s"], measured["mean_wait_s"][[1, 3]])


def test_several_logs_stand_one_behind_the_other() -> None:
    log, other = small_log(), small_log("generate:lublin?seed=9&jobs=500&cores=32&load=1&requests=factor", 32)
    pairs = [(each, DAYS.windows_of(each)) for each in (log, other)]
    settings, both = resolve_scheduler(policy="sjf"), Bench.over(pairs, threads=2)
    measured = both.measure(settings, METRICS)
    alone = [Bench.on(*pair).measure(settings, METRICS)["mean_wait_s"] for pair in pairs]
    np.testing.assert_array_equal(measured["mean_wait_s"], np.concatenate(alone))
    assert len(both) == 8
    assert both.block.tolist() == [*pairs[0][1].block.tolist(), *(pairs[1][1].block + 4).tolist()]
    some = both.take(np.array([1, 6])).measure(settings, METRICS)
    np.testing.assert_array_equal(some["mean_wait_s"], measured["mean_wait_s"][[1, 6]])
    assert len(both.take(np.array([5])).parts) == 1
