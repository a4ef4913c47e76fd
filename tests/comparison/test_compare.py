"""Combinations on the same windows."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shunter import Cluster, InputError, Workload, compute_metrics, read_workload
from shunter.comparison.combinations import combine
from shunter.comparison.comparison import Comparison, compare_combinations
from shunter.comparison.rows import combination_rows, comparison_object, window_frame
from shunter.metrics.run_folder import to_json_text
from shunter.model.log import Log
from shunter.model.windows import Windows, choose_windows
from shunter.simulation import simulate
from tests.support import PROJECT, trace

OWN_POLICY = PROJECT / "examples" / "my_policy.py"
SHORTEST = """
from shunter import Policy

class Shortest(Policy):
    def score(self, queue):
        return queue.estimate_s
"""


@cache
def workload() -> Workload:
    return read_workload("generate:lublin?seed=3&jobs=600&cores=64&load=1.1&requests=factor")


CLUSTER = Cluster.pool(64)


def run(policies: list[str], metric: str = "mean_bounded_slowdown", baseline: str | None = None) -> Comparison:
    windows = choose_windows(len(workload()), count=6, length=80, seed=1, warmup=20)
    combinations = combine(policies, ["easy", "strict"]).possible
    return compare_combinations(Log(workload(), CLUSTER), combinations, windows, metric=metric, baseline=baseline)


def test_every_window_is_the_one_that_simulate_gives() -> None:
    """Without a warm-up, each figure of each window is that of a simulation of these jobs alone."""
    windows = choose_windows(len(workload()), count=4, length=100)
    comparison = compare_combinations(Log(workload(), CLUSTER), combine(["sjf", "f2"], ["easy"]).possible, windows)
    frame = window_frame(comparison)
    assert frame.height == 2 * 4
    for row in frame.iter_rows(named=True):
        policy = row["label"].removesuffix("/easy")
        expected = compute_metrics(simulate(workload().window(row["first"], 100), CLUSTER, policy=policy))
        for name in ("mean_wait_s", "p95_wait_s", "mean_bounded_slowdown", "core_utilization"):
            assert row[name] == pytest.approx(expected[name], rel=1e-12)


def test_by_hand() -> None:
    """One core; windows of two jobs of 100 s and 10 s that come together: fcfs makes the short one wait, sjf the long.

    A pair comes every 1000 s; the second and the fourth are of 100 s and 50 s. Waits under fcfs are 0 and 100 in all
    pairs, under sjf 0 and 10, or 0 and 50. Of five blocks drawn, all are of the first kind in 8 % of the draws, one in
    8 %, and none in 1 %: hence the intervals.
    """
    run_s = [100.0, 10.0, 100.0, 50.0, 100.0, 10.0, 100.0, 50.0, 100.0, 10.0]
    frame = pl.DataFrame({"submit_s": [1000.0 * (job // 2) for job in range(10)], "run_s": run_s})
    jobs = Workload.from_frame(frame, name="pairs")
    windows = Windows(np.arange(0, 10, 2, dtype=np.uintp), np.arange(5), length=2, warmup=0)
    combinations = combine(["fcfs", "sjf"], ["easy"]).possible
    comparison = compare_combinations(Log(jobs, Cluster.pool(1)), combinations, windows, metric="mean_wait_s")
    best, worst = combination_rows(comparison)
    assert (best["label"], worst["label"]) == ("sjf/easy", "fcfs/easy")
    assert (best["mean"], worst["mean"]) == (13.0, 50.0)
    assert best["geometric_mean"] == pytest.approx(math.pow(5**3 * 25**2, 1 / 5))
    assert best["ratio"] == pytest.approx(0.1**0.6 * 0.5**0.4)
    assert (best["ratio_low"], best["ratio_high"]) == pytest.approx((0.1, 0.1**0.2 * 0.5**0.8))
    assert (best["difference"], best["difference_low"], best["difference_high"]) == (-37.0, -45.0, -29.0)
    assert (best["win_rate"], best["worst_block"], best["worst_block_mean"]) == (1.0, 1, 25.0)
    assert (best["max_wait_s"], best["jobs"], best["rejected"]) == (50.0, 10, 0)
    assert best["core_utilization"] == 1.0
    assert comparison.scored[0].wait_by_size_s.tolist() == [13.0]
    assert comparison.scored[0].estimated_from == {"stand-in": 10}
    (entry,) = comparison.scored[0].ledger.entries
    assert (entry.rule, entry.count) == ("no requested time: the run time stands in", 10)


def test_the_warm_up_is_in_no_figure_of_jobs() -> None:
    """Job 0 warms up: it can never fit on 8 cores, nor can job 4. The others wait for 0, 100 and 90 s.

    ```
    1 1 1 1 1 1 1 1 1 1 2 2 2 2 2      a column is 10 s: job 1 has 8 cores, jobs 2 and 3, of 1 and 4, go on together
    . . . . . . . . . . 3 3 . . .
    ```
    """
    frame = pl.DataFrame(
        {
            "submit_s": [0.0, 0.0, 0.0, 10.0, 20.0],
            "run_s": [10.0, 100.0, 50.0, 20.0, 5.0],
            "requested_s": [10.0, 100.0, 50.0, None, 5.0],
            "tasks": [9, 8, 1, 4, 16],
            "user": ["bob", "ada", "bob", "bob", "ada"],
        }
    )
    windows = Windows(np.array([1], dtype=np.uintp), np.array([0]), length=4, warmup=1)
    jobs = Workload.from_frame(frame, name="warm")
    (scored,) = compare_combinations(Log(jobs, Cluster.pool(8)), combine(["fcfs"], ["easy"]).possible, windows).scored
    assert scored.rejected == 1
    assert scored.estimated_from == {"request": 2, "stand-in": 1}
    np.testing.assert_array_equal(scored.wait_by_size_s, [100, np.nan, 90, 0, np.nan])
    assert scored.metrics["completion_rate"].tolist() == [3 / 4]
    # Slowdowns: 1 of ada's job, 150/50 and 110/20 of bob's.
    assert scored.metrics["jain_fairness_users"].tolist() == pytest.approx([(1 + 4.25) ** 2 / (2 * (1 + 4.25**2))])


def test_the_best_comes_first() -> None:
    comparison = run(["fcfs", "sjf", "f2", "largest"])
    assert comparison.sorted_by == "geometric mean"
    values = [one.summary.geometric_mean for one in comparison.scored]
    assert values == sorted(values, key=lambda value: value or 0.0)
    fairest = run(["fcfs", "sjf"], metric="core_utilization")
    means = [one.summary.geometric_mean or 0.0 for one in fairest.scored]
    assert means == sorted(means, reverse=True)


def test_where_a_window_has_no_wait_the_mean_sorts() -> None:
    frame = pl.DataFrame({"submit_s": [0.0, 0.0, 1000.0, 2000.0], "run_s": [100.0, 10.0, 10.0, 10.0]})
    jobs = Workload.from_frame(frame, name="gap")
    windows = Windows(np.array([0, 2], dtype=np.uintp), np.array([0, 1]), length=2, warmup=0)
    combinations = combine(["fcfs", "sjf"], ["easy"]).possible
    comparison = compare_combinations(Log(jobs, Cluster.pool(1)), combinations, windows, metric="mean_wait_s")
    assert comparison.sorted_by == "mean"
    best, worst = combination_rows(comparison)
    assert (best["label"], best["mean"], best["ratio"], best["difference"]) == ("sjf/easy", 2.5, None, -22.5)
    assert (best["win_rate"], worst["win_rate"]) == (0.75, 0.5)


def test_the_baseline_may_be_any() -> None:
    comparison = run(["fcfs", "sjf"], baseline="sjf/strict")
    assert comparison.against.combination.label == "sjf/strict"
    assert comparison.against.against["sjf/strict"].ratio == 1.0
    other = next(one for one in comparison.scored if one.combination.label == "fcfs/easy")
    expected = (other.summary.geometric_mean or 0.0) / (comparison.against.summary.geometric_mean or 1.0)
    assert other.against["sjf/strict"].ratio == pytest.approx(expected)


def test_threads_do_not_matter() -> None:
    windows = choose_windows(len(workload()), count=6, length=80)
    combinations = combine(["sjf", "random", "wfp3"], ["easy"], estimates=["posterior"]).possible
    alone, shared = (
        compare_combinations(Log(workload(), CLUSTER), combinations, windows, threads=threads) for threads in (1, 3)
    )
    assert to_json_text(comparison_object(alone)) == to_json_text(comparison_object(shared))


@pytest.mark.parametrize("estimate", ["requested", "posterior"])
def test_a_policy_in_python_is_measured_alike(estimate: str, tmp_path: Path) -> None:
    """The same order as sjf, written in Python, gives the same figures, for learned estimates too."""
    file = tmp_path / "shortest.py"
    file.write_text(SHORTEST)
    windows = choose_windows(len(workload()), count=3, length=80, seed=2, warmup=20)
    combinations = combine(["sjf", str(file)], ["easy"], estimates=[estimate]).possible
    comparison = compare_combinations(Log(workload(), CLUSTER), combinations, windows)
    native, own = sorted(comparison.scored, key=lambda one: one.combination.label != "sjf/easy")
    assert own.combination.label == "shortest.py/easy"
    for name, values in native.metrics.items():
        np.testing.assert_array_equal(own.metrics[name], values, err_msg=name)
    assert own.estimated_from == native.estimated_from


def test_the_example_policy_can_be_compared() -> None:
    windows = choose_windows(len(workload()), count=2, length=80)
    combinations = combine(["fcfs", str(OWN_POLICY)], ["easy"]).possible
    labels = {
        one.combination.label for one in compare_combinations(Log(workload(), CLUSTER), combinations, windows).scored
    }
    assert labels == {"fcfs/easy", "my_policy.py/easy"}


def test_rejected_jobs_are_counted() -> None:
    frame = pl.DataFrame({"submit_s": [0.0, 1.0, 2.0, 3.0], "run_s": [5.0] * 4, "tasks": [1, 9, 1, 9]})
    jobs = Workload.from_frame(frame, name="large")
    windows = Windows(np.array([0, 1], dtype=np.uintp), np.array([0, 0]), length=3, warmup=0)
    comparison = compare_combinations(Log(jobs, Cluster.pool(4)), combine(["fcfs"]).possible, windows)
    assert comparison.scored[0].rejected == 3
    with pytest.raises(InputError, match="large: none of the 3 jobs of any window can ever fit on 4; check --cluster"):
        compare_combinations(
            Log(Workload.from_frame(frame.with_columns(pl.lit(9).alias("tasks")), name="large"), Cluster.pool(4)),
            combine(["fcfs"]).possible,
            windows,
        )


def test_unknown_metrics_are_told() -> None:
    with pytest.raises(InputError, match="unknown metric 'slowdown'"):
        run(["fcfs"], metric="slowdown")


def test_json_has_no_nan() -> None:
    """A cluster of one class of jobs, no users, no memory: what has no meaning is null."""
    comparison = run(["fcfs"])
    assert '"rank": 1' in to_json_text(comparison_object(comparison))
    frame = window_frame(comparison)
    assert frame["jain_fairness_users"].null_count() == frame.height
    assert not frame["mean_wait_s"].is_nan().any()


def test_a_real_log_has_the_order_that_others_found() -> None:
    """On the last 30 % of KTH-SP2, f2 and sjf under easy are at least twice as good as fcfs, as others found."""
    log = read_workload(str(trace("swf/KTH-SP2-1996-2.1-cln.swf.gz")))
    windows = choose_windows(len(log), count=10, length=1024, part=(0.7, 1.0))
    combinations = combine(["fcfs", "sjf", "f2"], ["easy"]).possible
    comparison = compare_combinations(Log(log, Cluster.pool(100)), combinations, windows)
    assert comparison.scored[-1].combination.label == "fcfs/easy"
    for one in comparison.scored[:-1]:
        assert one.against["fcfs/easy"].ratio_interval is not None
        assert one.against["fcfs/easy"].ratio_interval[1] < 0.5


def test_a_metric_without_meaning_is_refused() -> None:
    with pytest.raises(InputError, match="jain_fairness_users has no meaning in these windows"):
        run(["fcfs"], "jain_fairness_users")


def test_the_verdict_says_of_each_combination_whether_it_is_better_than_the_baseline() -> None:
    comparison = run(["fcfs", "sjf"], baseline="fcfs/strict")
    found = comparison.verdict()
    assert [one.label for one in found] == [one.label for one in comparison.scored if one.label != "fcfs/strict"]
    assert {(one.against, one.workload) for one in found} == {("fcfs/strict", workload().name)}
    sentences = {one.label: one.sentence for one in found}
    assert sentences["sjf/easy"].startswith("sjf/easy is better than the baseline (fcfs/strict): ratio 0.")
    assert comparison.to_json()["verdict"] == [one.to_json() for one in found]
