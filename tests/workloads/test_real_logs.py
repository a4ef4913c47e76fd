"""The logs of the archive: what the reader gives is counted a second time, one line after the other."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from shunter.workloads import read_workload
from tests.support import trace

LOGS = (
    "ALCF-Theta-2022-real_week_1.swf.gz",
    "ALCF-Theta-2022-real_week_2.swf.gz",
    "CEA-Curie-2011-2.1-cln.first30000.swf.gz",
    "HPC2N-2002-2.2-cln.first30000.swf.gz",
    "KTH-SP2-1996-2.1-cln.swf.gz",
    "LCG-2005-1.first20000.swf.gz",
    "LLNL-Thunder-2007-1.1-cln.swf.gz",
    "NASA-iPSC-1993-3.1-cln.swf.gz",
    "RICC-2010-2.first30000.swf.gz",
    "SDSC-BLUE-2000-4.2-cln.first30000.swf.gz",
    "SDSC-SP2-1998.easy_sim_waits.swf.gz",
    "lublin_256.swf.gz",
)


def plain_rows(path: Path) -> list[list[float]]:
    """Returns the first 18 fields of each line that is neither blank nor a comment."""
    with gzip.open(path, "rt", encoding="latin-1") as file:
        return [list(map(float, text.split()[:18])) for text in file if text.strip() and text.strip()[0] != ";"]


@pytest.mark.parametrize("name", LOGS)
def test_counts_and_sums_agree_with_a_plain_reading(name: str) -> None:
    path = trace(f"swf/{name}")
    rows = plain_rows(path)
    ran = [row for row in rows if row[3] > 0 and max(row[4], row[7]) > 0]
    workload = read_workload(path)
    assert len(workload) == len(ran)
    assert sum(entry.count for entry in workload.ledger.entries if "dropped" in entry.rule) == len(rows) - len(ran)
    jobs = workload.jobs
    assert jobs["job_id"].to_list() == [int(row[0]) for row in sorted(ran, key=lambda row: row[1])]
    assert int(jobs["tasks"].sum()) == sum(int(max(row[4], row[7])) for row in ran)
    assert jobs["run_s"].sum() == pytest.approx(sum(row[3] for row in ran), rel=1e-12)
    assert jobs["requested_s"].null_count() == sum(row[8] <= 0 for row in ran)
    assert jobs["memory_mb_per_task"].null_count() == sum(row[9] <= 0 for row in ran)
    assert jobs["user"].n_unique() == len({row[11] for row in ran})


@pytest.mark.parametrize(
    ("name", "jobs", "cluster"),
    [
        ("lublin_256.swf.gz", 10_000, "256"),
        ("KTH-SP2-1996-2.1-cln.swf.gz", 27_992, "100"),
        ("SDSC-SP2-1998.easy_sim_waits.swf.gz", 54_006, "128"),
        ("RICC-2010-2.first30000.swf.gz", 29_991, None),
    ],
)
def test_known_sizes(name: str, jobs: int, cluster: str | None) -> None:
    workload = read_workload(trace(f"swf/{name}"))
    assert (len(workload), workload.cluster_spec) == (jobs, cluster)
