"""Alibaba PAI (2020): the table of tasks, alone or with the table of jobs, or a derived list of GPU tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import polars as pl

from shunter.errors import InputError
from shunter.workloads.formats.gpu_list import is_gpu_list, read_gpu_list
from shunter.workloads.text.log import build_workload
from shunter.workloads.text.published import (
    ALIBABA_STATUSES,
    MB_PER_GB,
    has_header,
    most_lines,
    read_table,
    scaled,
    with_known_cores,
)
from shunter.workloads.text.repairs import PLACE, Repairs

if TYPE_CHECKING:
    from shunter.model.workload import Workload
    from shunter.workloads.formats import Reading
    from shunter.workloads.text.source import Source

TASKS: Final = [
    *("job_name", "task_name", "inst_num", "status", "start_time", "end_time"),
    *("plan_cpu", "plan_mem", "plan_gpu", "gpu_type"),
]
JOBS: Final = ["job_name", "inst_id", "user", "status", "start_time", "end_time"]
INSTANCES: Final = [
    *("job_name", "task_name", "inst_name", "worker_name", "inst_id"),
    *("status", "start_time", "end_time", "machine"),
]
MADE_UP: Final = ["job_name", "norm_job_submit_time", "ddl"]
"""Columns of a list whose run times were made up, for several kinds of GPU."""
NOTE: Final = "does not tell its machines (a preset is alibaba-pai)"

_PERCENT: Final = 0.01
_NO_GPU: Final = "CPU"


def recognizes(source: Source) -> bool:
    """Returns whether a file is one of the tables, a list that was derived from them, or one that is refused."""
    return _kind(source) is not None


def read(sources: Sequence[Source], reading: Reading) -> Workload:
    """Reads the table of tasks, with the table of jobs if it is given too, or a derived list.

    Raises:
        InputError: A file is none of these, the tasks are missing, or no task is left.
    """
    repairs = Repairs(sources, reading.strict)
    kinds = [_kind(source) for source in sources]
    for source, kind in zip(sources, kinds, strict=True):
        _refuse(source, kind)
    if "list" in kinds:
        if set(kinds) != {"list"}:
            raise InputError(f"{sources[0].where}: a derived list beside raw tables; read them apart")
        lists = [frame for source in sources for frame in read_gpu_list(source, repairs)]
        return build_workload(lists, repairs, cluster_note=NOTE)
    if "tasks" not in kinds:
        raise InputError(f"{sources[0].where}: is the table of jobs, which tells no sizes; give pai_task_table too")
    pairs = list(zip(sources, kinds, strict=True))
    tasks = [frame for source, kind in pairs if kind == "tasks" for frame in _read_tasks(source, repairs)]
    jobs = [frame for source, kind in pairs if kind == "jobs" for frame in _read_jobs(source, repairs)]
    table = pl.concat(tasks) if tasks else None
    frames = [] if table is None else [_workload_columns(_with_jobs(table, jobs, repairs), repairs)]
    return build_workload(frames, repairs, cluster_note=NOTE)


def _kind(source: Source) -> str | None:
    """Returns which of the tables a file is."""
    if is_gpu_list(source, of_pai=True):
        return "list"
    if set(MADE_UP) <= set(source.header):
        return "made up"
    tables = {"tasks": TASKS, "instances": INSTANCES, "jobs": JOBS}
    for kind, names in tables.items():
        # The published tables have no header; others added one.
        if source.header == names or most_lines(source, _is_row(names)):
            return kind
    # A table whose columns stand in another order, or with further ones.
    return "tasks" if {"inst_num", "plan_gpu"} <= set(source.header) and has_header(source, TASKS) else None


def _is_row(names: list[str]) -> Callable[[list[str]], bool]:
    """Returns the test whether cells are a row without a header: a status stands where this table has it."""
    status = names.index("status")
    return lambda cells: len(cells) == len(names) and cells[status] in ALIBABA_STATUSES


def _refuse(source: Source, kind: str | None) -> None:
    if kind is None:
        raise InputError(f"{source.where}: is no table of PAI; expected pai_task_table, with pai_job_table or without")
    if kind == "instances":
        raise InputError(
            f"{source.where}: is the table of instances, which tells no sizes; give pai_task_table instead"
        )
    if kind == "made up":
        raise InputError(
            f"{source.where}: has a made-up run time for each kind of GPU, and no sizes; choose one of them, such as "
            "--map submit_s=norm_job_submit_time,run_s=V100"
        )


def _read_tasks(source: Source, repairs: Repairs) -> Iterator[pl.DataFrame]:
    for text in read_table(source, repairs, TASKS):
        numbers = ["inst_num", "start_time", "end_time", "plan_cpu", "plan_mem", "plan_gpu"]
        frame = repairs.to_numbers(text, numbers, whole=["inst_num"])
        waiting = pl.col("start_time").is_null()
        frame = repairs.drop(frame, waiting, "never started: run time unknown, task dropped", "status")
        running = pl.col("end_time").is_null()
        yield repairs.drop(frame, running, "still running: run time unknown, task dropped", "status")


def _read_jobs(source: Source, repairs: Repairs) -> Iterator[pl.DataFrame]:
    for text in read_table(source, repairs, JOBS):
        frame = repairs.to_numbers(text, ["start_time"])
        yield frame.select("job_name", "user", pl.col("start_time").alias("submit_time"), PLACE)


def _with_jobs(tasks: pl.DataFrame, job_frames: Sequence[pl.DataFrame], repairs: Repairs) -> pl.DataFrame:
    """Adds ``user`` and ``submit_time`` of each task's job; both are unknown without the table of jobs."""
    if not job_frames:
        return tasks.with_columns(pl.lit(None, pl.String).alias("user"), pl.lit(None, pl.Float64).alias("submit_time"))
    jobs = pl.concat(job_frames)
    again = ~pl.col("job_name").is_first_distinct()
    jobs = repairs.drop(jobs, again, "job named before in the table of jobs: line skipped", "job_name")
    tasks = tasks.join(jobs.drop(PLACE), on="job_name", how="left", maintain_order="left")
    alone = pl.col("submit_time").is_null()
    place = tasks.filter(alone)
    if place.height:
        rule = "job not in the table of jobs: submitted when its task started, wait and user unknown"
        repairs.record(rule, place.height, place[PLACE][0], f"job_name {place['job_name'][0]}")
    return tasks


def _workload_columns(tasks: pl.DataFrame, repairs: Repairs) -> pl.DataFrame:
    start_s, submit_s = pl.col("start_time"), pl.col("submit_time")
    jobs = tasks.select(
        "user",
        pl.col("status").replace(ALIBABA_STATUSES).str.to_lowercase(),
        pl.col("gpu_type").replace(_NO_GPU, None),
        PLACE,
        job_id=pl.format("{}/{}", "job_name", "task_name"),
        # Tables of tasks tell when a task started, not when its job came.
        submit_s=submit_s.fill_null(start_s),
        run_s=pl.col("end_time") - start_s,
        tasks="inst_num",
        cores_per_task=scaled(pl.col("plan_cpu"), _PERCENT),
        memory_mb_per_task=pl.col("plan_mem") * MB_PER_GB,
        gpus_per_task=scaled(pl.col("plan_gpu"), _PERCENT).fill_null(0.0),
        logged_wait_s=start_s - submit_s,
        name="task_name",
    )
    return with_known_cores(jobs, repairs)
