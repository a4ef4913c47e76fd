"""Why jobs can never run: types of GPUs, pools of one type, and where the job stands in its log."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shunter.errors import InputError
from shunter.model.cluster import Cluster, Node
from shunter.model.fitting import can_ever_fit, explain_rejection, first_rejection, refuse_rejected
from shunter.model.schedule import Outcome, RejectReason, Schedule
from shunter.model.workload import Workload
from shunter.workloads import read_workload
from tests.metrics.handmade import Row, cluster, make_schedule

NODES = (
    Node("a0", 8.0, 1000, 4, "A100", ("big",)),
    Node("a1", 8.0, 1000, 4, "A100", ("big",)),
    Node("v0", 8.0, 1000, 8, "V100", ("big",)),
    Node("t0", 8.0, 1000, 2, "T4", ("small",)),
)
LAB = cluster(*NODES)
MIXED = Cluster.from_nodes(NODES, "mixed", mix=True)
JOB = {
    **{"job_id": 7, "tasks": 1, "cores_per_task": 1.0, "memory_mb_per_task": None, "gpus_per_task": 1.0},
    **{"partition": None, "gpu_type": None},
}


def explained(reason: RejectReason, on: Cluster = LAB, **asks: object) -> str:
    return explain_rejection({**JOB, **asks}, reason, on).text


def test_a_type_that_the_cluster_does_not_have() -> None:
    no_such = RejectReason.NO_SUCH_GPU_TYPE
    assert explained(no_such, gpu_type="Z100") == "job 7 asks for GPU type Z100; the cluster has A100, V100, T4"
    assert explained(no_such, gpu_type="Z100|Y1", partition="big") == (
        "job 7 asks for GPU type Z100 or Y1; partition 'big' has A100, V100"
    )
    nodes = cluster(Node("a", 1.0, partitions=("p",)), Node("b", 1.0, gpus=1, gpu_type="T4", partitions=("q",)))
    assert explained(no_such, nodes, gpu_type="T4", partition="p") == (
        "job 7 asks for GPU type T4; partition 'p' has none of any type"
    )


@pytest.mark.parametrize(
    ("asks", "text"),
    [
        (
            {"tasks": 9, "gpus_per_task": 2.0},
            "job 7 asks for 9 tasks of 2 GPUs; the cluster has 18 GPUs on 4 nodes, at most 8 GPUs on one, at most "
            "8 GPUs of one type (A100); mix = true in the cluster file would let it have several types",
        ),
        (
            {"tasks": 20},
            "job 7 asks for 20 tasks of 1 GPU; the cluster has 18 GPUs on 4 nodes, at most 8 GPUs on one, at most "
            "8 GPUs of one type (A100)",
        ),
        (
            {"tasks": 3, "gpus_per_task": 4.0, "gpu_type": "a100"},
            "job 7 asks for 3 tasks of 4 GPUs of type a100; of type a100, the cluster has 8 GPUs on 2 nodes, at most "
            "4 GPUs on one",
        ),
        (
            {"tasks": 12, "gpu_type": "A100|V100", "partition": "big"},
            "job 7 asks for 12 tasks of 1 GPU of type A100 or V100; of type A100 or V100, partition 'big' has 16 GPUs "
            "on 3 nodes, at most 8 GPUs on one, at most 8 GPUs of one type (A100); mix = true in the cluster file "
            "would let it have several types",
        ),
    ],
)
def test_more_gpus_than_there_are_of_one_type(asks: dict[str, object], text: str) -> None:
    job = {**JOB, **asks}
    assert explain_rejection(job, RejectReason.GPUS, LAB).text == text
    assert "one type" not in explain_rejection(job, RejectReason.GPUS, MIXED).text


def test_a_combination_that_only_several_types_have() -> None:
    text = explained(RejectReason.COMBINATION, tasks=2, cores_per_task=5.0, gpus_per_task=3.0, gpu_type="V100|T4")
    assert text == (
        "job 7 asks for 2 tasks of (5 cores, 0 MB, 3 GPUs of type V100 or T4); of type V100 or T4, no nodes of the "
        "cluster have room for that together (largest: v0 with 8 cores, 1,000 MB, 8 GPUs), at most 8 GPUs of one "
        "type (V100)"
    )


def test_a_place_without_nodes() -> None:
    text = explained(RejectReason.COMBINATION, gpu_type="T4", partition="big")
    assert text.endswith("of type T4, partition 'big' has no nodes")
    assert explained(RejectReason.COMBINATION, partition="gone").endswith("partition 'gone' has no nodes")


@pytest.mark.parametrize(
    ("asks", "alone", "mixed"),
    [
        ({"tasks": 8}, True, True),
        ({"tasks": 9}, False, True),
        ({"tasks": 18}, False, True),
        ({"tasks": 19}, False, False),
        ({"tasks": 8, "gpu_type": "V100"}, True, True),
        ({"tasks": 3, "gpu_type": "T4"}, False, False),
        ({"tasks": 1, "gpu_type": "Z100"}, False, False),
        ({"tasks": 1, "gpu_type": "Z100|T4"}, True, True),
        ({"tasks": 32, "gpus_per_task": 0.0, "gpu_type": "Z100"}, True, True),
        ({"tasks": 1, "gpu_type": "T4", "partition": "big"}, False, False),
    ],
)
def test_who_could_ever_run(asks: dict[str, object], alone: bool, mixed: bool) -> None:
    types = {"memory_mb_per_task": pl.Float64, "partition": pl.String, "gpu_type": pl.String}
    jobs = pl.DataFrame([{**JOB, **asks}], schema_overrides=types)
    assert [can_ever_fit(jobs, on)[0] for on in (LAB, MIXED)] == [alone, mixed]


def rejected(workload: Workload, *rows: int) -> Schedule:
    """A schedule in which these jobs were rejected for their type."""
    schedule = make_schedule([Row(n, n, n + 1) for n in range(len(workload))], LAB)
    outcome, reason = schedule.outcome.copy(), schedule.reject_reason.copy()
    outcome[list(rows)], reason[list(rows)] = Outcome.REJECTED, RejectReason.NO_SUCH_GPU_TYPE
    return replace(schedule, workload=workload, outcome=outcome, reject_reason=reason)


def test_the_line_of_a_job_is_named_in_whole_logs_windows_and_parts(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    lines = ["job_id,submit_s,run_s,gpus_per_task,gpu_type", "# a comment", "b,9,1,1,T4", "a,5,1,1,Z100", "c,7,1,1,"]
    path.write_text("\n".join(lines))
    log = read_workload(path)
    assert log.jobs["job_id"].to_list() == ["a", "c", "b"], "sorted by submit time"
    assert "@line" not in log.jobs.columns
    first = first_rejection(rejected(log, 0))
    assert first.where == f"{path}:4"
    with pytest.raises(InputError) as caught:
        refuse_rejected(rejected(log, 0))
    assert str(caught.value) == (
        f"{path}:4: job a asks for GPU type Z100; the cluster has A100, V100, T4; mend the name, or leave "
        "--strict out to have such jobs rejected and counted (1 of 3 jobs)"
    )
    assert log.places is not None
    window = log.window(1)
    assert window.places is not None
    assert [window.places.of(job) for job in window.jobs["job_id"]] == [f"{path}:5", f"{path}:3"]
    assert (window.places.of("d"), window.places.of(1)) == (None, None)
    refuse_rejected(rejected(log))


def test_every_kind_of_source(tmp_path: Path) -> None:
    made = Workload.from_frame(pl.DataFrame({"submit_s": [3.0, 1.0], "run_s": [1.0, 1.0]}), name="made")
    assert made.places is None
    assert first_rejection(rejected(made.window(0, 1), 0)).where is None
    made.jobs.write_parquet(tmp_path / "jobs.parquet")
    read = read_workload(tmp_path / "jobs.parquet")
    assert read.places is not None
    assert read.places.of(2) == f"{tmp_path / 'jobs.parquet'}: row 1"
    assert read.places.of("2") is None


def test_jobs_that_were_given_up_say_why() -> None:
    schedule = make_schedule([Row(0, 0, 5), Row(1, 1, 9)], LAB)
    given_up = replace(schedule, outcome=np.array([Outcome.COMPLETED, Outcome.FAILED], dtype=np.uint8))
    frame = given_up.to_frame()
    assert frame["outcome"].to_list() == ["completed", "failed"]
    assert frame["reason"].to_list() == [None, "its nodes failed under it 1,000 times"]
    assert frame["success"].to_list() == [True, False]
