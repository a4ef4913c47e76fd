"""Alibaba openb: lists of pods."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.workloads import read_workload
from tests.support import trace
from tests.workloads.formats.published_logs import days, job, percentages, quantiles, read_text, rules

HEADER = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
)
PODS = """\
pod-1,12000,16384,1,1000,,LS,Running,0,600,0
pod-2,11300,12288,1,470,V100M16|V100M32,BE,Failed,10,110.0,12.0
pod-3,96000,786432,8,1000,G2,Guaranteed,Succeeded,20,1020,50
pod-4,500,1024,0,0,,Burstable,Succeeded,20,30,20
pod-5,4000,8192,2,1000,T4,LS,Unknown,40,50,45
"""
EXPECTED = [
    job(
        "pod-1", 0.0, 600.0, cores_per_task=12.0, memory_mb_per_task=16_384.0, gpus_per_task=1.0, status="running",
        logged_wait_s=0.0, qos="LS", gpu_type=None,
    ),
    job(
        "pod-2", 10.0, 98.0, cores_per_task=11.3, memory_mb_per_task=12_288.0, gpus_per_task=0.47, status="failed",
        logged_wait_s=2.0, qos="BE", gpu_type="V100M16|V100M32",
    ),
    job(
        "pod-3", 20.0, 970.0, cores_per_task=96.0, memory_mb_per_task=786_432.0, gpus_per_task=8.0, status="completed",
        logged_wait_s=30.0, qos="Guaranteed", gpu_type="G2",
    ),
    job(
        "pod-4", 20.0, 10.0, cores_per_task=0.5, memory_mb_per_task=1024.0, status="completed", logged_wait_s=0.0,
        qos="Burstable", gpu_type=None,
    ),
    job(
        "pod-5", 40.0, 5.0, cores_per_task=4.0, memory_mb_per_task=8192.0, gpus_per_task=2.0, status="unknown",
        logged_wait_s=5.0, qos="LS", gpu_type="T4",
    ),
]  # fmt: skip


def test_five_pods(tmp_path: Path) -> None:
    workload = read_text(tmp_path, HEADER + PODS, strict=True)
    assert workload.jobs.to_dicts() == EXPECTED
    assert workload.format == "openb"
    assert workload.cluster_note == "does not tell its machines (a preset is alibaba-openb)"


def test_a_list_without_its_header_is_read_if_its_format_is_named(tmp_path: Path) -> None:
    assert read_text(tmp_path, PODS, format="openb").jobs.to_dicts() == EXPECTED


REPAIRED = {
    "pod-6,100,1,0,0,,LS,Pending,50,60,": "never scheduled: run time unknown, pod dropped",
    "pod-6,100,1,0,0,,LS,Running,50,,55": "still running: run time unknown, pod dropped",
    "pod-6,100,1,0,0,,LS,Failed,50,55,55": "run time 0 s: job dropped",
    "pod-6,100,1,0,0,,LS,Failed,,60,55": "submit time unknown: job dropped",
    "pod-6,100,1,0,0,,LS,Failed,50,60,never": "not readable: line skipped",
    "pod-6,100,1,-1,0,,LS,Failed,50,60,55": "gpus_per_task absurd: job dropped",
}


@pytest.mark.parametrize("line", REPAIRED)
def test_a_pod_that_is_dropped(tmp_path: Path, line: str) -> None:
    text = f"{HEADER}{PODS}{line}\n"
    workload = read_text(tmp_path, text)
    assert rules(workload) == {REPAIRED[line]: 1}
    assert workload.jobs.to_dicts() == EXPECTED
    with pytest.raises(InputError, match=r"log\.txt:7: .*run without --strict"):
        read_text(tmp_path, text, strict=True)


def test_pods_out_of_order_are_sorted(tmp_path: Path) -> None:
    lines = PODS.splitlines(keepends=True)
    workload = read_text(tmp_path, HEADER + lines[4] + "".join(lines[:4]))
    assert workload.jobs.to_dicts() == EXPECTED
    assert rules(workload) == {"submit time before the previous job's: sorted": 1}


def test_a_list_without_times_is_refused(tmp_path: Path) -> None:
    text = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\npod-1,12000,16384,1,1000\n"
    with pytest.raises(InputError, match=r"log\.txt: tells sizes of pods but no times; give a list with creation_time"):
        read_text(tmp_path, text)


def test_the_published_list() -> None:
    workload = read_workload(trace("alibaba_openb_v2023/openb_pod_list_default.csv.gz"))
    jobs = workload.jobs
    assert rules(workload) == {
        "never scheduled: run time unknown, pod dropped": 897,
        "memory_mb_per_task not positive or absurd: taken as unknown": 1,
    }
    assert len(workload) == 8152 - 897
    assert days(workload) == pytest.approx(149.3, abs=0.05)
    assert quantiles(jobs["run_s"], 0.5, 0.9, 0.99) == pytest.approx([616, 7764, 114_348], rel=1e-4)
    assert jobs["run_s"].max() == 12_537_496
    assert quantiles(jobs["logged_wait_s"], 0.5, 0.9, 0.99, 1) == pytest.approx([2, 106, 890, 14_330], rel=1e-3)
    assert quantiles(jobs["cores_per_task"], 0.5, 0.99, 1) == [11.3, 32.0, 120.2]
    used = float((jobs["run_s"] * jobs["gpus_per_task"]).sum()) / (days(workload) * 86_400)
    assert used / 6212 == pytest.approx(0.002, abs=0.0005)
    # The published shares are of all pods: without the 11 % that were never scheduled, the others' are larger.
    assert percentages(jobs["status"]) == pytest.approx(
        {"running": 63.7 / 0.89, "failed": 22.9 / 0.89, "completed": 2.4 / 0.89}, abs=0.1
    )
    gpus = percentages(jobs["gpus_per_task"])
    assert [gpus[count] for count in (0, 2, 4, 8, 1.0, 0.81)] == pytest.approx(
        [14.5, 0.21, 0.21, 0.61, 49.0, 14.0], abs=0.05
    )
