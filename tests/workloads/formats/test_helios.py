"""Helios: the log as it was published, the slice for another simulator, and the list of GPU jobs."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shunter.errors import InputError
from shunter.workloads import read_cluster, read_workload
from shunter.workloads.formats import reader_of
from shunter.workloads.formats.gpu_list import CLIPPED
from shunter.workloads.load import offered_load
from shunter.workloads.text.repairs import UNREADABLE
from shunter.workloads.text.source import open_source
from tests.support import trace
from tests.workloads.formats.published_logs import days, job, percentages, quantiles, read_text, rules, write

NO_END = "without an end: run time unknown, job dropped"
NO_SIZE = "size unknown: job dropped"

RAW = "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
FIVE = (
    RAW + "101,uAAAA,vcAAA,16,96,2,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:42:01,2020-06-09 19:42:01,3600,60\n"
    "102,uBBBB,vcBBB,0,8,2,CANCELLED,2020-06-09 18:41:01,2020-06-09 18:41:01,2020-06-09 18:41:03,2,0\n"
    "103,uAAAA,vcAAA,0,7,2,TIMEOUT,2020-06-10 00:00:00,2020-06-10 00:00:00,2020-06-24 00:00:30,1209630,0\n"
    "104,,vcAAA,3,1,1,NODE_FAIL,2020-06-10 00:00:01,2020-06-10 00:00:03,2020-06-10 00:00:10,7,2\n"
    "105,uCCCC,,1,0,1,FAILED,2020-09-27 23:59:59,2020-09-27 23:59:59,2020-09-28 00:00:00,1,0\n"
)


def unix_s(text: str) -> float:
    """Returns the Unix time of a clock in China."""
    return datetime.fromisoformat(text).replace(tzinfo=timezone(timedelta(hours=8))).timestamp()


def test_five_jobs(tmp_path: Path) -> None:
    """A task for each GPU; without GPUs one for each node, or for each core if these do not divide evenly."""
    workload = read_text(tmp_path, FIVE, format="helios")
    found = workload.jobs.to_dicts()
    for row, number in zip(found, range(101, 106), strict=True):
        assert row["job_id"] == number
        row["job_id"] = str(number)
    gpu: dict[str, object] = {"gpus_per_task": 1.0}
    assert found == [
        job("101", unix_s("2020-06-09 18:41:01"), 3600.0, tasks=16, cores_per_task=6.0, user="uAAAA",
            partition="vcAAA", status="completed", logged_wait_s=60.0, nodes=2, **gpu),
        job("102", unix_s("2020-06-09 18:41:01"), 2.0, tasks=2, cores_per_task=4.0, user="uBBBB",
            partition="vcBBB", status="cancelled", logged_wait_s=0.0, nodes=2),
        job("103", unix_s("2020-06-10 00:00:00"), 1_209_630.0, tasks=7, cores_per_task=1.0, user="uAAAA",
            partition="vcAAA", status="timeout", logged_wait_s=0.0, nodes=2),
        job("104", unix_s("2020-06-10 00:00:01"), 7.0, tasks=3, cores_per_task=1 / 3, user=None,
            partition="vcAAA", status="node_fail", logged_wait_s=2.0, nodes=1, **gpu),
        job("105", unix_s("2020-09-27 23:59:59"), 1.0, tasks=1, cores_per_task=0.0, user="uCCCC",
            partition=None, status="failed", logged_wait_s=0.0, nodes=1, **gpu),
    ]  # fmt: skip
    assert not workload.ledger
    assert workload.cluster_note is not None
    assert "helios-venus" in workload.cluster_note


TIMES = "2020-06-09 18:41:01,2020-06-09 18:42:01,2020-06-09 19:42:01,3600,60"


@pytest.mark.parametrize(
    ("row", "rule"),
    [
        ("9,u,v,8,8,1,RUNNING,2020-06-09 18:41:01,2020-06-09 18:42:01,,,60", NO_END),
        ("9,u,v,8,8,1,SUSPENDED,2020-06-09 18:41:01,2020-06-09 18:42:01,,0,60", NO_END),
        ("9,u,v,8,8,1,PENDING,2020-06-09 18:41:01,,,,", NO_END),
        (f"9,u,v,0,0,1,FAILED,{TIMES}", NO_SIZE),
        (f"9,u,v,,8,1,FAILED,{TIMES}", NO_SIZE),
        (f"9,u,v,-2,8,1,FAILED,{TIMES.replace('3600', '-5')}", "run time negative: job dropped"),
        (f"9,u,v,8,8,1,FAILED,{TIMES.replace('3600', '')}", "run time unknown: job dropped"),
        (f"9,u,v,8,8,1,FAILED,{TIMES.replace('3600', 'long')}", UNREADABLE),
        (f"9,u,v,8.5,8,1,FAILED,{TIMES}", UNREADABLE),
        (f"9,u,v,8,many,1,FAILED,{TIMES}", UNREADABLE),
        ("9,u,v,8,8,1,FAILED,in June,2020-06-09 18:42:01,2020-06-09 19:42:01,3600,60", UNREADABLE),
        ("9,u,v,8,8,1,FAILED", UNREADABLE),
        (f"101,u,v,8,8,1,FAILED,{TIMES}", "id missing or that of an earlier job: numbered anew"),
    ],
)
def test_what_is_dropped_or_mended(tmp_path: Path, row: str, rule: str) -> None:
    workload = read_text(tmp_path, f"{FIVE}{row}\n", format="helios")
    others = {name: count for name, count in rules(workload).items() if "sorted" not in name}
    assert others == {rule: 1}
    with pytest.raises(InputError, match=r"log\.txt:7: "):
        read_text(tmp_path, f"{FIVE}{row}\n", format="helios", strict=True)


def test_a_cpu_job_without_nodes_has_a_task_for_each_core(tmp_path: Path) -> None:
    jobs = read_text(tmp_path, f"{RAW}9,u,v,0,6,0,FAILED,{TIMES}\n9,u,v,2,,1,FAILED,{TIMES}\n", format="helios").jobs
    shape = jobs.select("tasks", "cores_per_task", "gpus_per_task").rows()
    assert shape == [(6, 1.0, 0.0), (2, 0.0, 1.0)]


SLICE = "job_id,user,tenant,class,submit_time,num_chips,chip_type,num_nodes,duration_s,walltime_limit_s,final_status\n"
FIVE_OF_SLICE = (
    f"# a slice\n# of two virtual clusters\n{SLICE}"
    "501,uAAAA,vcAAA,finetune,5835000000,128,,16,24.0,24.0,CANCELED\n"
    "502,uBBBB,vcAAA,finetune,5842500000,16,V100,2,46520.0,46520.0,COMPLETED\n"
    "503,uAAAA,vcBBB,finetune,5842500000,8,,1,1.5,1.5,FAILED\n"
    "504,,vcBBB,finetune,6000000000,1,,1,87326.0,87326.0,NODE_FAIL\n"
    "505,uAAAA,vcBBB,finetune,2160000000000,3,,1,9.0,9.0,TIMEOUT\n"
)


def test_five_jobs_of_the_slice(tmp_path: Path) -> None:
    """Its limits are the run times, and so no requests."""
    workload = read_text(tmp_path, FIVE_OF_SLICE, format="helios")

    def sliced(submit_s: float, run_s: float, tasks: int, *texts: str | None, nodes: int = 1) -> dict[str, object]:
        names = ("user", "partition", "status", "gpu_type")
        shape: dict[str, object] = {"tasks": tasks, "cores_per_task": 0.0, "gpus_per_task": 1.0, "nodes": nodes}
        row = job("", submit_s, run_s, **shape, **dict(zip(names, texts, strict=True)))
        return {name: value for name, value in row.items() if name != "job_id"}

    assert workload.jobs["job_id"].to_list() == [501, 502, 503, 504, 505]
    assert workload.jobs.drop("job_id").to_dicts() == [
        sliced(5835.0, 24.0, 128, "uAAAA", "vcAAA", "cancelled", None, nodes=16),
        sliced(5842.5, 46_520.0, 16, "uBBBB", "vcAAA", "completed", "V100", nodes=2),
        sliced(5842.5, 1.5, 8, "uAAAA", "vcBBB", "failed", None),
        sliced(6000.0, 87_326.0, 1, None, "vcBBB", "node_fail", None),
        sliced(2_160_000.0, 9.0, 3, "uAAAA", "vcBBB", "timeout", None),
    ]
    assert not workload.ledger


def test_files_of_other_formats_and_two_layouts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none of the layouts that are known; expected the header job_id,user,vc,"):
        read_text(tmp_path, "submit_s,run_s\n1,2\n", format="helios")
    paths = [write(tmp_path, FIVE, "a.csv"), write(tmp_path, FIVE_OF_SLICE, "b.csv")]
    with pytest.raises(InputError, match=r"b\.csv: has another layout than .*a\.csv; read them apart"):
        read_workload(paths, format="helios")


def test_two_files_of_one_log(tmp_path: Path) -> None:
    later = FIVE.replace("2020-", "2021-").replace("\n10", "\n20")
    workload = read_workload([write(tmp_path, FIVE, "a.csv"), write(tmp_path, later, "b.csv")], format="helios")
    assert workload.jobs["job_id"].to_list() == [*range(101, 106), *range(201, 206)]


def test_what_is_recognized(tmp_path: Path) -> None:
    reader = reader_of("helios")
    of_list = "job_id,arrival_s,service_sec,gpu_count\n1#0,1,2,3\n"
    for text in (FIVE, RAW, RAW.upper(), FIVE_OF_SLICE, of_list):
        assert reader.recognizes(open_source(write(tmp_path, text)))
    for text in (
        of_list.replace("1#0", "ali-1#0"),
        RAW.replace("vc", "pool"),
        "{",
        "[]",
        "1,2,3,4\n",
        "\x01",
        SLICE[2:],
    ):
        assert not reader.recognizes(open_source(write(tmp_path, text)))


def test_statistics_of_the_slice() -> None:
    workload = read_workload(trace("helios/helios_venus_2vc_sept.csv"), strict=True)
    assert len(workload) == 1867
    cluster = read_cluster("helios-venus-2vc")
    large, small = (workload.jobs.filter(pl.col("partition") == name) for name in ("vcvGl", "vcvlY"))
    assert (large.height, small.height) == (1452, 415)
    assert quantiles(large["tasks"], 0.5, 0.9, 0.99, 1) == [16, 128, 136, 144]
    assert quantiles(small["tasks"], 0.5, 0.9, 0.99, 1) == [8, 16, 16, 16]
    assert quantiles(large["run_s"], 0.5, 0.9, 0.99, 1) == pytest.approx([80, 1572, 151_679, 567_327], rel=0.01)
    assert quantiles(small["run_s"], 0.5, 0.9, 0.99, 1) == pytest.approx([192, 12_056, 163_817, 293_576], rel=0.01)
    shares = {"completed": 48.4, "cancelled": 28.7, "failed": 22.9, "node_fail": 0.07}
    assert percentages(large["status"]) == pytest.approx(shares, abs=0.06)
    for jobs, gpus, span, load in ((large, 160, 25.7, 1.11), (small, 16, 25.1, 0.94)):
        span_s = jobs["submit_s"][-1] - jobs["submit_s"][0]
        assert span_s / 86_400 == pytest.approx(span, abs=0.1)
        work_s = float(jobs["run_s"].to_numpy() @ jobs["tasks"].to_numpy())
        assert work_s / (gpus * span_s) == pytest.approx(load, abs=0.01)
    assert cluster.partitions == ("vcvGl", "vcvlY")


def test_statistics_of_the_list() -> None:
    workload = read_workload(trace("helios/venus_gpu_jobs_clip48h.csv.gz"), strict=True)
    jobs = workload.jobs
    assert len(workload) == 125_303
    assert rules(workload) == {CLIPPED: 2379}
    assert days(workload) == pytest.approx(193.8, abs=0.1)
    assert jobs["tasks"].mean() == pytest.approx(6.736, abs=0.001)
    assert quantiles(jobs["tasks"], 0.5, 0.9, 0.99, 1) == [1, 16, 96, 200]
    assert quantiles(jobs["run_s"], 0.5, 0.9, 0.99, 1) == pytest.approx([204, 18_201, 172_800, 172_800], rel=1e-3)
    sizes = percentages(jobs["tasks"])
    top = {1: 51.8, 8: 24.7, 4: 7.3, 2: 5.5, 16: 4.2, 32: 2.7}
    assert {size: sizes[size] for size in top} == pytest.approx(top, abs=0.06)
    gaps_s = np.diff(jobs["submit_s"].to_numpy())
    assert (gaps_s.mean(), gaps_s.std() / gaps_s.mean()) == pytest.approx((134, 14.7), rel=0.01)
    assert offered_load(workload, read_cluster("helios-venus")) == pytest.approx(0.49, abs=0.005)
    # The notes on the list speak of 6 jobs before April and of 1.15e6 s, which is half a day before it: that many came
    # in its first nine days, 31 before that time, and 89 before April. All are kept as they are.
    submit_s = jobs["submit_s"]
    assert [submit_s.filter(submit_s < limit).len() for limit in (9 * 86_400, 1.15e6, 1_195_101)] == [6, 31, 89]
