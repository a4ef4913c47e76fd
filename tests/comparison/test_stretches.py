"""Days without a break, measured part by part."""

from __future__ import annotations

import numpy as np

from shunter.comparison.bench import Bench
from shunter.comparison.log_windows import LogWindows
from shunter.comparison.stretches import stretched
from shunter.model.cluster import Cluster
from shunter.model.log import Log
from shunter.model.windows import Windows
from shunter.policies.scheduler import resolve_scheduler
from shunter.simulation.windows import WindowRunner
from shunter.workloads import read_workload

LOG = Log(read_workload("generate:lublin?seed=1&jobs=800&cores=64&load=1.1&requests=factor"), Cluster.pool(64))
METRICS = ("mean_wait_s", "max_wait_s", "mean_bounded_slowdown")


def whole(first: int, length: int, warmup: int) -> Bench:
    windows = Windows(np.array([first], dtype=np.uintp), np.zeros(1, dtype=np.int64), length, warmup)
    return Bench([LogWindows(LOG, windows, WindowRunner(LOG.workload, LOG.cluster))])


def test_parts_together_are_the_stretch() -> None:
    bench = stretched(LOG, 300, 700, stretches=1, parts=8, warmup=100)
    scheduler = resolve_scheduler(policy="sjf")
    parts = bench.measure(scheduler, METRICS)
    stretch = whole(300, 400, 100).measure(scheduler, METRICS)
    assert len(bench) == 8
    np.testing.assert_allclose(parts["mean_wait_s"].mean(), stretch["mean_wait_s"][0])
    assert parts["max_wait_s"].max() == stretch["max_wait_s"][0]


def test_a_job_that_is_passed_over_goes_on_waiting() -> None:
    """In windows of their own, the last jobs of each bring everybody else to an end."""
    scheduler = resolve_scheduler(policy="smallest", dispatch="greedy")
    bench = stretched(LOG, 200, 800, stretches=1, parts=6, warmup=0)
    windows = bench.parts[0].windows
    apart = Bench.on(LOG, windows)
    longest_s = [one.measure(scheduler, ["max_wait_s"])["max_wait_s"].max() for one in (bench, apart)]
    assert longest_s[0] > 2 * longest_s[1]


def test_several_stretches_do_not_depend_on_threads() -> None:
    scheduler = resolve_scheduler(policy="saf", dispatch="conservative")
    found = [
        stretched(LOG, 0, 800, stretches=3, parts=2, warmup=50, threads=threads).measure(scheduler, METRICS)
        for threads in (1, 2)
    ]
    for name in METRICS:
        np.testing.assert_array_equal(found[0][name], found[1][name])


def test_the_first_stretch_gives_its_own_first_jobs_for_its_warm_up() -> None:
    bench = stretched(LOG, 0, 790, stretches=2, parts=3, warmup=40)
    windows = bench.parts[0].windows
    assert windows.first[0] == 790 - 2 * 3 * (790 // 6)
    assert windows.first[-1] + windows.length == 790


def test_a_warm_up_longer_than_what_lies_before_is_shortened() -> None:
    scheduler = resolve_scheduler(policy="sjf")
    bench = stretched(LOG, 30, 430, stretches=1, parts=4, warmup=500)
    first = int(bench.parts[0].windows.first[0])
    expected = whole(first, 400, first).measure(scheduler, ["mean_wait_s"])["mean_wait_s"][0]
    np.testing.assert_allclose(bench.measure(scheduler, ["mean_wait_s"])["mean_wait_s"].mean(), expected)
