"""Alibaba DLRM: instances of services."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.workloads import read_workload
from tests.support import trace
from tests.workloads.formats.published_logs import days, job, percentages, quantiles, read_text, rules

HEADER = (
    "instance_sn,role,app_name,cpu_request,cpu_limit,gpu_request,gpu_limit,rdma_request,rdma_limit,memory_request,"
    "memory_limit,disk_request,disk_limit,max_instance_per_node,creation_time,scheduled_time,deletion_time\n"
)
INSTANCES = """\
instance_1,HN,app_0,12,12,1,1,25,25,120.0,120.0,640.0,800.0,8,0.0,0.0,500.0
instance_2,CN,app_0,64,64,0,0,25,25,480.0,480.0,1.0,1.0,-1,10.5,12.0,13.0
instance_3,CN,app_1,96,96,0,0,50,50,0.5,1.0,1.0,1.0,2,20.0,25.0,10025.0
instance_4,HN,app_2,8,8,1,1,25,25,,,1.0,1.0,-1,20.0,20.0,40.0
instance_5,CN,app_2,0.5,1,,,,,1.0,2.0,,,-1,30.0,30.0,31.0
"""
EXPECTED = [
    job(
        "instance_1", 0.0, 500.0, cores_per_task=12.0, memory_mb_per_task=122_880.0, gpus_per_task=1.0, queue="HN",
        logged_wait_s=0.0, name="app_0", kind="app_0",
    ),
    job(
        "instance_2", 10.5, 1.0, cores_per_task=64.0, memory_mb_per_task=491_520.0, queue="CN", logged_wait_s=1.5,
        name="app_0", kind="app_0",
    ),
    job(
        "instance_3", 20.0, 10_000.0, cores_per_task=96.0, memory_mb_per_task=512.0, queue="CN", logged_wait_s=5.0,
        name="app_1", kind="app_1",
    ),
    job(
        "instance_4", 20.0, 20.0, cores_per_task=8.0, gpus_per_task=1.0, queue="HN", logged_wait_s=0.0,
        name="app_2", kind="app_2",
    ),
    job(
        "instance_5", 30.0, 1.0, cores_per_task=0.5, memory_mb_per_task=1024.0, queue="CN", logged_wait_s=0.0,
        name="app_2", kind="app_2",
    ),
]  # fmt: skip


def test_five_instances(tmp_path: Path) -> None:
    workload = read_text(tmp_path, HEADER + INSTANCES, strict=True)
    assert workload.jobs.to_dicts() == EXPECTED
    assert workload.format == "alibaba-dlrm"
    assert workload.cluster_note == "does not tell its machines, nor is a list of them published"


REPAIRED = {
    "i,CN,a,1,1,0,0,0,0,1.0,1.0,1,1,-1,,,": "there before the log began: instance dropped",
    "i,CN,a,1,1,0,0,0,0,1.0,1.0,1,1,-1,,,90.0": "there before the log began: instance dropped",
    "i,CN,a,1,1,0,0,0,0,1.0,1.0,1,1,-1,40.0,40.0,": "still there when the log ends: instance dropped",
    "i,CN,a,1,1,0,0,0,0,1.0,1.0,1,1,-1,40.0,50.0,50.0": "run time 0 s: job dropped",
    "i,CN,a,many,1,0,0,0,0,1.0,1.0,1,1,-1,40.0,50.0,60.0": "not readable: line skipped",
}


@pytest.mark.parametrize("line", REPAIRED)
def test_an_instance_that_is_dropped(tmp_path: Path, line: str) -> None:
    text = f"{HEADER}{INSTANCES}{line}\n"
    workload = read_text(tmp_path, text)
    assert rules(workload) == {REPAIRED[line]: 1}
    assert workload.jobs.to_dicts() == EXPECTED
    with pytest.raises(InputError, match=r"log\.txt:7: .*run without --strict"):
        read_text(tmp_path, text, strict=True)


def test_the_published_list() -> None:
    workload = read_workload(trace("alibaba_dlrm_v2025/disaggregated_DLRM_trace.csv.gz"))
    jobs = workload.jobs
    # Of 8,878 instances without an end, 4,677 had no beginning either.
    assert rules(workload) == {
        "there before the log began: instance dropped": 7280,
        "still there when the log ends: instance dropped": 8878 - 4677,
        "run time 0 s: job dropped": 16,
        "submit time before the previous job's: sorted": 1267,
    }
    assert len(workload) == 23_871 - 7280 - 4201 - 16
    assert days(workload) == pytest.approx(31, abs=0.1)
    assert quantiles(jobs["cores_per_task"], 0.5, 1) == [64, 192]
    # Of all instances 30.9 % have a GPU; those that come and go within the log more rarely so.
    assert percentages(jobs["queue"]) == pytest.approx({"HN": 25.88, "CN": 74.12}, abs=0.01)
    assert (jobs["gpus_per_task"] == (jobs["queue"] == "HN").cast(float)).all()
    assert jobs["name"].n_unique() == 151
