"""The last line of a comparison: what to do with it."""

from __future__ import annotations

import polars as pl

import shunter
from shunter import Cluster, Workload, read_workload
from shunter.comparison.comparison import Comparison
from shunter.report.comparisons import next_step

CLUSTER = Cluster.pool(64)
WORKLOAD = read_workload("generate:lublin?seed=3&jobs=3000&cores=64&load=1.1&requests=factor")
PLAIN = WORKLOAD.jobs.with_columns(logged_wait_s=pl.lit(None, pl.Float64))


def compared(policies: list[str], jobs: pl.DataFrame = PLAIN) -> Comparison:
    workload = Workload.from_frame(jobs, name="log.csv")
    return shunter.compare(workload, CLUSTER, policy=policies, dispatch=["easy"], windows=12, length=256)


def test_a_better_policy_is_named_with_its_price() -> None:
    step = next_step(compared(["fcfs", "f2"]))
    assert step.startswith("What to do: try f2/easy. Its longest wait is ")
    assert "that of fcfs/easy " in step
    assert step.endswith("'shunter tune' may find a better one still.")


def test_the_baseline_is_kept_where_nothing_is_surely_better() -> None:
    assert next_step(compared(["f2", "ljf"])).startswith("What to do: keep f2/easy. ")
    assert next_step(compared(["fcfs"])).startswith("What to do: keep fcfs/easy. ")


def test_a_policy_that_sees_true_run_times_is_no_advice() -> None:
    unrequested = PLAIN.with_columns(requested_s=pl.lit(None, pl.Float64))
    workload = Workload.from_frame(unrequested, name="log.csv")
    rows = shunter.compare(workload, CLUSTER, policy=["fcfs", "sjf"], dispatch=["greedy"], windows=12, length=256)
    step = next_step(rows)
    assert step.startswith("What to do: keep fcfs/greedy. ")
    assert step.endswith("To see what is left without true run times: --estimate last-two,posterior.")


def test_a_description_that_does_not_explain_the_log_comes_first() -> None:
    waits = shunter.simulate(WORKLOAD, CLUSTER, policy="lcfs").queue_wait_s
    step = next_step(compared(["fcfs", "f2"], PLAIN.with_columns(logged_wait_s=pl.Series(waits))))
    assert step.startswith("What to do: describe the machine better before you believe these rows: shunter calibrate ")
