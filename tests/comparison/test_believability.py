"""Whether a result is to be believed: the log's own waits, and whether anybody waits."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import shunter
from shunter import Cluster, Workload, read_workload
from shunter.comparison import believability
from shunter.comparison.believability import believe, believe_schedule, quiet_note
from shunter.metrics.calibration_verdict import Verdict
from shunter.model.log import FROM_WORKLOAD, Log
from shunter.policies.scheduler import resolve_scheduler
from shunter.simulation import simulate
from shunter.workloads.reading import read_log

CLUSTER = Cluster.pool(64)


@cache
def workload() -> Workload:
    return read_workload("generate:lublin?seed=3&jobs=600&cores=64&load=1.1&requests=factor")


@cache
def logged(policy: str) -> Log:
    """Returns the log of a machine that ran under this policy."""
    waits = simulate(workload(), CLUSTER, policy=policy).queue_wait_s
    frame = workload().jobs.with_columns(logged_wait_s=pl.Series(waits))
    return Log(Workload.from_frame(frame, name="log.csv"), CLUSTER)


def test_a_description_that_explains_the_log() -> None:
    found = believe(logged("fcfs"), None, 600)
    assert found is not None
    assert found.verdict == Verdict.EXPLAINS
    assert found.rank_correlation == pytest.approx(1.0)
    assert found.line == "this description explains the log's waits: rank correlation 1.00 (fcfs/easy on 600 jobs)"
    assert found.to_json()["verdict"] == "explains the log"


def test_one_that_does_not_says_what_to_run() -> None:
    found = believe(logged("lcfs"), None, 600)
    assert found is not None
    assert found.verdict == Verdict.DOES_NOT
    assert found.line.startswith("this description does NOT explain the log's waits: ")
    assert found.line.endswith(
        "to see why, with the same files: shunter calibrate LOG --cluster CLUSTER --policy fcfs --dispatch easy"
    )
    # What the site really had explains it; the cluster is named only if the log does not tell it.
    log = Log(logged("lcfs").workload, CLUSTER, FROM_WORKLOAD)
    right = believe(log, resolve_scheduler(policy="lcfs"), 600)
    assert right is not None
    assert right.verdict == Verdict.EXPLAINS
    assert right.command == "shunter calibrate LOG --policy lcfs --dispatch easy"


def test_the_command_names_the_files_as_the_user_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    log = tmp_path / "my logs" / "log.csv"
    log.parent.mkdir()
    logged("lcfs").workload.jobs.write_csv(log)
    found = believe(read_log("my logs/log.csv", "64", format="csv"), None, 600)
    assert found is not None
    options = "--format csv --cluster 64 --policy fcfs --dispatch easy"
    assert found.command == f"shunter calibrate 'my logs/log.csv' {options}"


def test_a_large_log_is_looked_at_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(believability, "MOST_JOBS", 200)
    found = believe(logged("fcfs"), None, 500)
    assert found is not None
    assert "(fcfs/easy on 200 of 600 jobs)" in found.line


def test_a_log_without_starts_says_nothing() -> None:
    assert believe(Log(workload(), CLUSTER), None, 600) is None
    assert believe_schedule(Log(workload(), CLUSTER), simulate(workload(), CLUSTER)) is None


def test_slow_policies_are_not_simulated_for_it() -> None:
    class Slow(shunter.Policy):
        def score(self, queue: shunter.QueueView) -> NDArray[np.float64]:
            raise AssertionError("nobody shall ask")

    found = believe(logged("fcfs"), resolve_scheduler(policy=Slow()), 600)
    assert found is not None
    assert found.policy == "fcfs/easy"


def test_every_comparison_tells_it() -> None:
    comparison = shunter.compare(logged("fcfs"), policy=["fcfs", "sjf"], windows=4, length=100)
    told = comparison.to_json()
    assert told["believability"]["rank_correlation"] > 0.9
    assert told["contention_note"] is None
    # A baseline that is named is what the site has.
    named = shunter.compare(logged("fcfs"), policy=["fcfs", "lcfs"], baseline="lcfs", windows=4, length=100)
    assert named.to_json()["believability"]["policy"] == "lcfs/easy"
    assert (
        shunter.what_if(logged("fcfs"), changes="cores=+10%").to_json()["believability"]["verdict"]
        == "explains the log"
    )


def test_quiet_days() -> None:
    remedy = "take more load (--load 110%)"
    assert quiet_note(1.0, 0.0, remedy) == f"nobody waits: these days cannot rank policies; {remedy}"
    said = "hardly anybody waits (the longest wait is 12 s): these days cannot"
    assert str(quiet_note(1.004, 12.0, remedy)).startswith(said)
    assert quiet_note(1.2, 300.0, remedy) is None
    assert quiet_note(None, None, remedy) is None


def test_where_nobody_waits_in_the_simulation_there_is_no_correlation() -> None:
    log = Log(logged("fcfs").workload, Cluster.pool(64_000))
    found = believe(log, None, 600)
    assert found is not None
    assert (found.verdict, found.rank_correlation) == (Verdict.DOES_NOT, None)
    start = "this description does NOT explain the log's waits: mean wait 0 s simulated and "
    assert found.line.startswith(start)
    # Where nobody waited in the log either, it explains all there is.
    jobs = workload().jobs.with_columns(logged_wait_s=pl.lit(0.0))
    calm = believe(Log(Workload.from_frame(jobs, name="calm"), Cluster.pool(64_000)), None, 600)
    assert calm is not None
    assert calm.line == (
        "this description explains the log's waits: mean wait 0 s simulated and 0 s logged (fcfs/easy on 600 jobs)"
    )


def long_jobs(hours: float) -> Workload:
    """Returns jobs of ten hours that come one each so many hours: a cluster of eight fills up only slowly."""
    count = 400
    submit_s = np.arange(count) * hours * 3600
    frame = pl.DataFrame(
        {"submit_s": submit_s, "run_s": np.full(count, 36_000.0), "requested_s": np.full(count, 40_000.0)}
    )
    return Workload.from_frame(frame, name="long.csv")


def test_windows_that_begin_on_an_empty_cluster_say_what_that_does() -> None:
    # Eight jobs in ten hours are what the cluster can do; a few more, and the queue grows without end.
    comparison = shunter.compare(long_jobs(1.2), Cluster.pool(8), policy=["fcfs", "sjf"], windows=4, length=16)
    found = comparison.cold_start
    assert found is not None
    assert (found.policy, found.warmup) == ("fcfs/easy", 64)
    assert found.warm_s > 10 * found.cold_s
    line = comparison.next_step.text
    assert line == "What to do: run it again with --warmup 64: a busy cluster makes jobs wait longer."
    assert comparison.to_json()["cold_start"] == found.to_json()
    # After such a warm-up there is nothing more to say.
    assert (
        shunter.compare(
            long_jobs(1.2), Cluster.pool(8), policy=["fcfs", "sjf"], windows=4, length=16, warmup=64
        ).cold_start
        is None
    )


def test_windows_whose_waits_do_not_come_from_before_say_nothing() -> None:
    assert shunter.compare(long_jobs(2.0), Cluster.pool(8), policy=["fcfs"], windows=4, length=16).cold_start is None
    # Nor does a log that has too few jobs before its windows.
    assert shunter.compare(long_jobs(1.2), Cluster.pool(8), policy=["fcfs"], windows=1, length=400).cold_start is None
