"""Slurm's real logs: the statistics that are stated of them, and that no other log is taken for one of Slurm's."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from shunter.model.workload import Workload
from shunter.workloads import read_workload
from shunter.workloads.text.leaving import LEFT_RULE
from shunter.workloads.text.requeues import REQUEUED
from tests.support import trace

COST_SIMULATOR = "slurm/hpc-cost-simulator/sacct-output-"


def rules(workload: Workload) -> dict[str, int]:
    return {entry.rule: entry.count for entry in workload.ledger.entries}


def counts(workload: Workload, column: str) -> dict[object, int]:
    return dict(workload.jobs[column].value_counts().rows())


def test_phillips() -> None:
    """Stated of all 4,285 rows: 54.2 % completed, 40.1 % failed; run time 25, 54, 169 and 912,426 s at 50 to 100 %."""
    workload = read_workload(trace("slurm/xdmod/phillips.log.gz"))
    assert rules(workload) == {LEFT_RULE: 239, "run time 0 s: job dropped": 22}
    assert len(workload) == 4_285 - 22
    # Of the failed jobs, 22 ran less than a second; of 243 cancelled ones, 239 never started.
    assert counts(workload, "status") == {
        "completed": 2_324,
        "failed": 1_717 - 22,
        "cancelled": 243,
        "timeout": 1,
    }
    left = workload.jobs.filter(pl.col("cancel_s").is_not_null())
    assert left.height == 239
    # All are of one user, who asked for 30 hours each time; the jobs that ran took 26 s, in the middle.
    assert set(left["run_s"]) == {26.0}
    assert set(left["requested_s"]) == {108_000.0}
    assert (left["cancel_s"] >= left["submit_s"]).all()
    jobs = workload.jobs.filter(pl.col("cancel_s").is_null())
    # Without the 261 of 0 s, the run times at 50, 90 and 99 % are a little longer, and the waits shorter.
    run_s, wait_s = jobs["run_s"], jobs["logged_wait_s"]
    assert [run_s.quantile(share, "nearest") for share in (0.5, 0.9, 0.99, 1)] == [26, 56, 235, 912_426]
    assert [wait_s.quantile(share, "nearest") for share in (0.5, 0.9, 1)] == [15_106, 33_948, 37_329]
    cores = jobs["tasks"] * jobs["cores_per_task"]
    assert [cores.quantile(0.05), cores.quantile(0.99), cores.max()] == [8, 8, 64]
    assert (cores * run_s).sum() == 42_364_758
    assert (jobs["submit_s"][0], jobs["submit_s"][-1]) == (1_482_390_912, 1_483_314_901)
    assert jobs["gpus_per_task"].value_counts().sort("gpus_per_task").rows() == [(0.0, 4_022), (2.0, 2)]
    # Memory per CPU, printed as 2147486648Mn: 3,000 MB for each of 8 CPUs, as AllocTRES says too.
    assert (jobs["memory_mb_per_task"] == 24_000).sum() == 3_977
    assert jobs["requested_s"].null_count() == 0


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_the_logs_of_the_cost_simulator(version: str) -> None:
    workload = read_workload(trace(f"{COST_SIMULATOR}{version}.txt"))
    # Of 878 rows, 395 are steps, as stated.
    assert rules(workload) == {
        "step of a job: folded into it": 395,
        "never started: job dropped": 60,
        "run time 0 s: job dropped": 49,
    }
    assert len(workload) == 878 - 395 - 60 - 49
    assert counts(workload, "status") == {"out_of_memory": 261, "failed": 106, "cancelled": 5, "completed": 2}
    assert workload.jobs["run_s"].median() == 301
    used = workload.jobs["used_memory_mb_per_task"]
    assert (used.null_count(), used.median()) == (0, 112.51953125)
    # Only 32 rows of the newer file have the column of the partition.
    partitions = {"partition1": 15, "partition2": 1, None: 358} if version == "v2" else {None: 374}
    assert counts(workload, "partition") == partitions


def test_the_completion_log_of_rltune() -> None:
    """Stated of all 96 jobs: 64 completed, 23 failed, 8 node failures, 1 timeout."""
    workload = read_workload(trace("slurm/rltune_jobcomp/jobcomp.log"))
    assert rules(workload) == {
        "never started: job dropped": 1,
        "run time 0 s: job dropped": 18,
        REQUEUED: 1,
    }
    # Its node failed, and two hours later it ran to its end; Slurm held it for two minutes when it was submitted again.
    runs = workload.jobs.filter(pl.col("job_id").str.starts_with("63"))
    assert runs.select("job_id", "status", "run_s", "logged_wait_s", "depends_on").rows() == [
        ("63", "node_fail", 549.0, 0.0, None),
        ("63.r1", "completed", 891.0, 6_952.0 - 121.0, "afterany:63"),
    ]
    # The 19 that are dropped: 5 completed, 7 failed and 7 node failures.
    assert counts(workload, "status") == {"completed": 59, "failed": 16, "node_fail": 1, "timeout": 1}
    assert counts(workload, "cores_per_task") == {4.0: 43, 8.0: 18, 16.0: 16}
    assert workload.jobs["run_s"].median() == 52


def test_features_that_jobs_ask_for(tmp_path: Path) -> None:
    """Brackets and counts tie features to nodes one by one, which Shunter does not know."""
    constraints = ["avx512&big|old", "ib", "", "[rack1|rack2]", "gpu*2&ib", "(a|b)&c", "a,b"]
    lines = [
        f"{number}|1000|1010|1110|00:01:40|00:02:00|1|4|COMPLETED|n1|{text}"
        for number, text in enumerate(constraints, start=1)
    ]
    path = tmp_path / "sacct.csv"
    header = "JobID|Submit|Start|End|Elapsed|Timelimit|NNodes|NCPUS|State|NodeList|Constraints"
    path.write_text("\n".join([header, *lines]).replace("avx512&big|old", "avx512&big"), encoding="utf-8")
    workload = read_workload(path)
    assert workload.jobs["features"].to_list() == ["avx512&big", "ib", None, None, None, None, "a,b"]
    assert rules(workload) == {"constraint with counts, brackets or parentheses: features left out": 3}
