"""The logs of the archive, whole: counted a second time line by line, held to what is published, written again."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest

from shunter.model.workload import Workload
from shunter.workloads import read_cluster, read_workload
from shunter.workloads.load import offered_load
from shunter.workloads.write import to_swf
from tests.support import trace

STATED = {
    "KTH-SP2-1996-2.1-cln": (27_992, 0, 333, None, 0.69),  # 0.68 is published, cut off and not rounded
    "HPC2N-2002-2.2-cln.first30000": (30_000, 0, 288, None, 0.61),
    "SDSC-BLUE-2000-4.2-cln.first30000": (30_000, 4, 126, None, 0.75),
    "SDSC-SP2-1998.easy_sim_waits": (54_006, 0, 731, None, 0.82),
    "NASA-iPSC-1993-3.1-cln": (18_239, 173, 92, None, 0.47),
    "LLNL-Thunder-2007-1.1-cln": (121_039, 7_426, 150, None, 0.86),
    "CEA-Curie-2011-2.1-cln.first30000": (30_000, 2_155, 56, None, 0.34),
    "RICC-2010-2.first30000": (30_000, 9, 22.5, 8192, 0.73),
    "LCG-2005-1.first20000": (20_000, 0, 1.5, None, 0.04),
    "ALCF-Theta-2022-real_week_1": (3_200, 0, 34, None, 0.92),
    "ALCF-Theta-2022-real_week_2": (3_200, 0, 35, None, 0.79),
    "lublin_256": (10_000, 0, 89, None, 1.06),
}
"""Jobs, how many of them are dropped, days, cores where the header does not state them, and the published load."""


def plain_rows(path: Path) -> list[list[float]]:
    """Returns the first 18 fields of each line that is neither blank nor a comment."""
    with gzip.open(path, "rt", encoding="latin-1") as file:
        return [list(map(float, text.split()[:18])) for text in file if text.strip() and text.strip()[0] != ";"]


@pytest.mark.every(4)
@pytest.mark.parametrize("name", STATED)
def test_a_log_of_the_archive(tmp_path: Path, name: str) -> None:
    path = trace(f"swf/{name}.swf.gz")
    workload = read_workload(path)
    _check_counts_and_sums(workload, path)
    _check_what_is_stated(workload, name)
    text, lost = to_swf(workload)
    assert lost == []
    again = tmp_path / "again.swf"
    again.write_bytes(text)
    written = read_workload(again, strict=True)
    assert written.jobs.equals(workload.jobs)
    assert written.cluster_spec == workload.cluster_spec


def _check_counts_and_sums(workload: Workload, path: Path) -> None:
    rows = plain_rows(path)
    ran = [row for row in rows if row[3] > 0 and max(row[4], row[7]) > 0]
    # Cancelled while they waited, with a request.
    left = [row for row in rows if row[3] == -1 and row[10] == 5 and row[2] >= 0 and row[8] > 0]
    assert len(workload) == len(ran) + len(left)
    dropped = sum(entry.count for entry in workload.ledger.entries if "dropped" in entry.rule)
    assert dropped == len(rows) - len(ran) - len(left)
    jobs = workload.jobs
    if left:
        gone = jobs.filter(pl.col("cancel_s").is_not_null())
        assert sorted(gone["cancel_s"].to_list()) == sorted(row[1] + row[2] for row in left)
        jobs = jobs.filter(pl.col("cancel_s").is_null())
    assert jobs["job_id"].to_list() == [int(row[0]) for row in sorted(ran, key=lambda row: row[1])]
    assert int(jobs["tasks"].sum()) == sum(int(max(row[4], row[7])) for row in ran)
    assert jobs["run_s"].sum() == pytest.approx(sum(row[3] for row in ran), rel=1e-12)
    assert jobs["requested_s"].null_count() == sum(row[8] <= 0 for row in ran)
    assert jobs["memory_mb_per_task"].null_count() == sum(row[9] <= 0 for row in ran)
    assert jobs["user"].n_unique() == len({row[11] for row in ran})


def _check_what_is_stated(workload: Workload, name: str) -> None:
    """Jobs that ran 0 s, or of unknown length, are dropped; they have no work, so the load is the published one."""
    jobs, dropped, days, cores, load = STATED[name]
    assert len(workload) == jobs - dropped
    assert sum(entry.count for entry in workload.ledger.entries if entry.rule.endswith("job dropped")) == dropped
    span_s = workload.jobs["submit_s"][-1] - workload.jobs["submit_s"][0]
    assert span_s / 86_400 == pytest.approx(days, abs=0.5 if days > 30 else 0.05)
    offered = offered_load(workload, read_cluster(str(cores or workload.cluster_spec)))
    assert offered == pytest.approx(load, abs=0.0051)
