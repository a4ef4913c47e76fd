"""Alibaba PAI: tables of tasks and jobs, with headers and without, and lists that others made of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.workloads import read_workload
from tests.support import trace
from tests.workloads.formats.published_logs import days, job, percentages, quantiles, read_text, rules, write

TASKS = """\
aa01,tensorflow,1.0,Terminated,1000.0,1060.0,600.0,29.296875,50.0,MISC
aa02,ps,2.0,Failed,1100.0,1101.0,200.0,8.0,,
aa02,worker,10.0,Terminated,1100.5,1400.5,1200.0,64.0,100.0,V100
aa03,PyTorchWorker,1.0,Terminated,1200.0,1500.0,50.0,2.0,800.0,V100M32
aa04,evaluator,3.0,Terminated,1300.0,1310.0,100.0,4.0,0.0,CPU
"""
JOBS = """\
aa04,i4,u2,Terminated,1290.0,1310.0
aa01,i1,u1,Terminated,990.0,1060.0
aa02,i2,u1,Failed,1100.0,1400.5
aa03,i3,,Terminated,700.0,1500.0
aa09,i9,u9,Waiting,,
"""
TASK_HEADER = "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type\n"
JOB_HEADER = "job_name,inst_id,user,status,start_time,end_time\n"

EXPECTED = [
    job(
        "aa01/tensorflow", 1000.0, 60.0, cores_per_task=6.0, memory_mb_per_task=30_000.0, gpus_per_task=0.5,
        status="completed", name="tensorflow", gpu_type="MISC",
    ),
    job(
        "aa02/ps", 1100.0, 1.0, tasks=2, cores_per_task=2.0, memory_mb_per_task=8192.0, status="failed", name="ps",
        gpu_type=None,
    ),
    job(
        "aa02/worker", 1100.5, 300.0, tasks=10, cores_per_task=12.0, memory_mb_per_task=65_536.0, gpus_per_task=1.0,
        status="completed", name="worker", gpu_type="V100",
    ),
    job(
        "aa03/PyTorchWorker", 1200.0, 300.0, cores_per_task=0.5, memory_mb_per_task=2048.0, gpus_per_task=8.0,
        status="completed", name="PyTorchWorker", gpu_type="V100M32",
    ),
    job(
        "aa04/evaluator", 1300.0, 10.0, tasks=3, cores_per_task=1.0, memory_mb_per_task=4096.0, status="completed",
        name="evaluator", gpu_type=None,
    ),
]  # fmt: skip
"""The tasks alone."""


@pytest.mark.parametrize("header", ["", TASK_HEADER])
def test_five_tasks(tmp_path: Path, header: str) -> None:
    workload = read_text(tmp_path, header + TASKS, strict=True)
    assert workload.jobs.to_dicts() == EXPECTED
    assert workload.format == "pai"
    assert workload.cluster_note == "does not tell its machines (a preset is alibaba-pai)"


@pytest.mark.parametrize(("task_header", "job_header"), [("", ""), (TASK_HEADER, JOB_HEADER), ("", JOB_HEADER)])
@pytest.mark.parametrize("jobs_first", [False, True])
def test_five_tasks_with_their_jobs(tmp_path: Path, task_header: str, job_header: str, jobs_first: bool) -> None:
    paths = [write(tmp_path, task_header + TASKS, "x"), write(tmp_path, job_header + JOBS, "y")]
    workload = read_workload(paths[::-1] if jobs_first else paths)
    told = {
        "aa01/tensorflow": (990.0, "u1", 10.0),
        "aa02/ps": (1100.0, "u1", 0.0),
        "aa02/worker": (1100.0, "u1", 0.5),
        "aa03/PyTorchWorker": (700.0, None, 500.0),
        "aa04/evaluator": (1290.0, "u2", 10.0),
    }
    expected = []
    for row in EXPECTED:
        submit_s, user, wait_s = told[str(row["job_id"])]
        expected.append(row | {"submit_s": submit_s, "user": user, "logged_wait_s": wait_s})
    order = [3, 0, 1, 2, 4]
    assert workload.jobs.to_dicts() == [expected[number] for number in order]
    assert rules(workload) == {"submit time before the previous job's: sorted": 1}


REPAIRED = {
    "aa05,worker,1.0,Waiting,,,100.0,1.0,100.0,T4": "never started: run time unknown, task dropped",
    "aa05,worker,1.0,Running,50.0,,100.0,1.0,100.0,T4": "still running: run time unknown, task dropped",
    "aa05,worker,1.0,Failed,50.0,50.0,100.0,1.0,100.0,T4": "run time 0 s: job dropped",
    "aa05,worker,,Failed,50.0,51.0,100.0,1.0,100.0,T4": "size unknown: job dropped",
    "aa05,worker,1.5,Failed,50.0,51.0,100.0,1.0,100.0,T4": "not readable: line skipped",
    "aa05,worker,1,Failed,50.0,soon,100.0,1.0,100.0,T4": "not readable: line skipped",
    "aa05,worker,1,Failed,50.0,51.0,100.0": "not readable: line skipped",
}


@pytest.mark.parametrize("line", REPAIRED)
def test_a_task_that_is_dropped(tmp_path: Path, line: str) -> None:
    text = f"{TASKS}{line}\n"
    workload = read_text(tmp_path, text)
    assert rules(workload) == {REPAIRED[line]: 1}
    assert workload.jobs.to_dicts() == EXPECTED
    with pytest.raises(InputError, match=r"log\.txt:6: .*run without --strict"):
        read_text(tmp_path, text, strict=True)


def test_what_is_mended(tmp_path: Path) -> None:
    text = "aa01,worker,1,Terminated,0,9,,,150.0,T4\n"
    workload = read_text(tmp_path, text)
    assert workload.jobs.select("cores_per_task", "memory_mb_per_task", "gpus_per_task").rows() == [(1.0, None, 2.0)]
    assert rules(workload) == {
        "cores not told: one core a task stands in": 1,
        "GPUs per task above 1 and not whole: rounded up": 1,
    }
    with pytest.raises(InputError, match="one core a task stands in"):
        read_text(tmp_path, text, strict=True)


def test_jobs_that_are_missing_or_told_twice(tmp_path: Path) -> None:
    jobs = "aa01,i1,u1,Terminated,990.0,1060.0\naa01,i1,u7,Terminated,995.0,1060.0\n"
    paths = [write(tmp_path, "".join(TASKS.splitlines(keepends=True)[:2]), "x"), write(tmp_path, jobs, "y")]
    workload = read_workload(paths)
    assert workload.jobs.select("job_id", "submit_s", "user", "logged_wait_s").rows() == [
        ("aa01/tensorflow", 990.0, "u1", 10.0),
        ("aa02/ps", 1100.0, None, None),
    ]
    alone = "job not in the table of jobs: submitted when its task started, wait and user unknown"
    assert rules(workload) == {"job named before in the table of jobs: line skipped": 1, alone: 1}
    with pytest.raises(InputError, match=r"y:2: job_name aa01 \(job named before"):
        read_workload(paths, strict=True)


def test_tables_that_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is the table of jobs, which tells no sizes; give pai_task_table too"):
        read_text(tmp_path, JOBS)
    instances = "aa01,worker,n1,w1,i1,Terminated,10.0,20.0,m1\n"
    with pytest.raises(InputError, match="is the table of instances, which tells no sizes; give pai_task_table"):
        read_text(tmp_path, instances)
    with pytest.raises(InputError, match="is no table of PAI; expected pai_task_table"):
        read_text(tmp_path, "a,b\n1,2\n", format="pai")
    paths = [write(tmp_path, TASKS, "x"), write(tmp_path, "job_id,arrival_s,service_sec,gpu_count\nali-1,0,1,1\n", "y")]
    with pytest.raises(InputError, match="a derived list beside raw tables; read them apart"):
        read_workload(paths)
    with pytest.raises(InputError, match="no job is left"):
        read_text(tmp_path, TASK_HEADER)


def test_made_up_run_times_are_refused_but_can_be_mapped(tmp_path: Path) -> None:
    header = ",job_name,norm_job_submit_time,ddl,A100,GTX2080Ti,V100\n"
    text = f"{header}0,aa,0.0,inf,10.0,20.0,30.0\n1,bb,5.0,9.0,1.0,2.0,3.0\n"
    with pytest.raises(InputError, match=r"a made-up run time for each kind of GPU.*--map submit_s=norm_job_submit"):
        read_text(tmp_path, text)
    path = write(tmp_path, text)
    workload = read_workload(path, columns="job_id=job_name,submit_s=norm_job_submit_time,run_s=V100")
    assert workload.jobs.select("job_id", "submit_s", "run_s").rows() == [("aa", 0.0, 30.0), ("bb", 5.0, 3.0)]


def test_five_tasks_of_a_derived_list(tmp_path: Path) -> None:
    text = (
        "job_id,arrival_s,service_sec,gpu_count\nali-aa-worker#1,0.0,10.0,1\nali-bb-ps#2,5.5,172800.0,2\n"
        "ali-cc-worker#3,6.0,1.0,400\nali-dd-worker#4,6.0,2.5,8\nali-ee-worker#5,7.0,60.0,1\n"
    )
    workload = read_text(tmp_path, text, strict=True)
    assert workload.format == "pai"
    assert workload.jobs.to_dicts() == [
        job("ali-aa-worker#1", 0.0, 10.0, cores_per_task=0.0, gpus_per_task=1.0),
        job("ali-bb-ps#2", 5.5, 172_800.0, tasks=2, cores_per_task=0.0, gpus_per_task=1.0),
        job("ali-cc-worker#3", 6.0, 1.0, tasks=400, cores_per_task=0.0, gpus_per_task=1.0),
        job("ali-dd-worker#4", 6.0, 2.5, tasks=8, cores_per_task=0.0, gpus_per_task=1.0),
        job("ali-ee-worker#5", 7.0, 60.0, cores_per_task=0.0, gpus_per_task=1.0),
    ]


def test_the_derived_list() -> None:
    workload = read_workload(trace("alibaba_gpu_v2020/pai_gpu_tasks_terminated_sub8pct.csv.gz"))
    gpus, run_s = workload.jobs["tasks"], workload.jobs["run_s"]
    assert len(workload) == 60_105
    assert days(workload) == pytest.approx(63.7, abs=0.05)
    shares = percentages(gpus)
    assert [shares[count] for count in (1, 10, 2, 20)] == pytest.approx([77, 4.0, 3.1, 2.1], abs=0.5)
    assert quantiles(gpus, 0.9, 0.99, 1) == [10, 60, 400]
    assert quantiles(run_s, 0.05, 0.5, 0.9, 0.99) == pytest.approx([29, 618, 12_201, 66_192], rel=1e-3)
    assert float((run_s * gpus).sum()) / (days(workload) * 86_400) / 6742 == pytest.approx(0.067, abs=0.0005)
    assert rules(workload) == {"run time 172,800 s, at which the list cuts longer ones: taken as it is": 90}
