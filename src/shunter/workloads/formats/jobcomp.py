"""Slurm's job completion log (``JobCompType=jobcomp/filetxt``): a line of ``Key=Value`` pairs for each job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import polars as pl

from shunter.workloads.formats.slurm import (
    CLUSTER_NOTE,
    NO_LIMIT_WORDS,
    UNKNOWN_WORDS,
    each_distinct,
    gpus_of_gres,
    is_text,
    job_table,
    resources,
    status,
    unix_seconds,
)
from shunter.workloads.text.log import build_workload
from shunter.workloads.text.repairs import PLACE, UNREADABLE, Repairs

if TYPE_CHECKING:
    from shunter.model.workload import Workload
    from shunter.workloads.formats import Reading
    from shunter.workloads.text.source import Block, Source

_KEYS: Final = (
    *("JobId", "ArrayJobId", "ArrayTaskId", "UserId", "GroupId", "JobState", "Partition", "Account", "QOS", "NodeList"),
    *("SubmitTime", "StartTime", "EndTime", "TimeLimit", "NodeCnt", "ProcCnt", "Tres", "Gres"),
)
_NAME: Final = r" Name=(.+) JobState="
"""Names may hold blanks and equal signs; the key that follows is the last such one."""
_RESOURCES: Final = {
    "tres_cores": pl.Float64,
    "tres_nodes": pl.Float64,
    "memory_mb": pl.Float64,
    "tres_gpus": pl.Float64,
    "tres_gpu_type": pl.String,
}


def recognizes(source: Source) -> bool:
    """Returns whether the first line has the keys of a completed job."""
    first = source.head_lines[0] if source.head_lines else ""
    return first.startswith("JobId=") and all(f" {key}=" in first for key in ("JobState", "StartTime", "ProcCnt"))


def read(sources: Sequence[Source], reading: Reading) -> Workload:
    """Reads such logs.

    Raises:
        InputError: A file is no such log, or no job is left.
    """
    repairs = Repairs(sources, reading.strict)
    frames = [
        job_table(_jobs(_cells(block, source, repairs), repairs), repairs)
        for source in sources
        for block in source.blocks()
    ]
    # Jobs are logged as they end, so that it is no mistake of a log if they did not come in that order.
    jobs = pl.concat(frames).sort("submit_s", maintain_order=True)
    return build_workload(jobs, repairs, cluster_note=CLUSTER_NOTE, reruns=True)


def _cells(block: Block, source: Source, repairs: Repairs) -> pl.DataFrame:
    """Returns the values as text, a column for each key in lower case; what says nothing is null."""
    lines = pl.Series("line", block.text.decode("utf-8", errors="replace").split("\n"), dtype=pl.String)
    numbers = range(block.first_line, block.first_line + lines.len())
    frame = pl.DataFrame([lines, repairs.places(source, numbers)])
    line = pl.col("line").str.strip_chars()
    frame = frame.filter((line != "") & ~line.str.starts_with("#"))
    is_job = line.str.contains(r"^JobId=\S") & line.str.contains(r" JobState=\S")
    frame = repairs.drop(frame, ~is_job, UNREADABLE, "line")
    # With a blank before each key, no key is found within another.
    rest = " " + line.str.replace(_NAME, " JobState=")
    # The name is taken out before keys are looked for, as it may hold " Partition=x".
    frame = frame.with_columns(name=line.str.extract(_NAME), line=rest)
    cells = frame.select(PLACE, "name", *(_line_value(key) for key in _KEYS))
    names = [key.lower() for key in _KEYS]
    return cells.with_columns(
        pl.when(pl.col(name) != "", is_text(pl.col(name))).then(name).alias(name) for name in names
    )


def _line_value(key: str) -> pl.Expr:
    return pl.col("line").str.extract(rf" {key}=(\S*)").alias(key.lower())


def _jobs(frame: pl.DataFrame, repairs: Repairs) -> pl.DataFrame:
    for name in ("submittime", "starttime", "endtime"):
        frame = frame.with_columns(unix_seconds(frame[name]).alias(f"{name}_s"))
        frame = repairs.drop(frame, _unread(name, f"{name}_s"), UNREADABLE, name)
    for name, words in (("proccnt", UNKNOWN_WORDS), ("nodecnt", UNKNOWN_WORDS), ("timelimit", NO_LIMIT_WORDS)):
        number = frame[name].cast(pl.Float64, strict=False)
        frame = frame.with_columns(number.set(~number.is_finite(), None).alias(f"{name}_number"))
        rule = f"{name} not readable: taken as unknown"
        frame = repairs.replace(frame, _unread(name, f"{name}_number", words), name, None, rule)
    frame = frame.hstack(each_distinct(frame["tres"], resources, _RESOURCES))
    frame = repairs.replace(frame, _unread("tres", "tres_gpus"), "tres", None, "tres not readable: taken as unknown")
    frame = frame.hstack(each_distinct(frame["gres"], gpus_of_gres, {"gpus": pl.Float64, "gpu_type": pl.String}))
    task = pl.format("{}_{}", "arrayjobid", "arraytaskid")
    start_s, end_s = pl.col("starttime_s"), pl.col("endtime_s")
    return frame.select(
        PLACE,
        "memory_mb",
        "name",
        "partition",
        "account",
        "qos",
        # A task of an array is called 12_3, as sacct calls it.
        job_id=pl.coalesce(task, "jobid"),
        submit_s=pl.col("submittime_s"),
        start_s=start_s,
        end_s=end_s,
        run_s=end_s - start_s,
        requested_s=pl.col("timelimit_number") * 60,
        cores=pl.coalesce(_positive("proccnt_number"), "tres_cores"),
        nodes=pl.coalesce(_positive("nodecnt_number"), "tres_nodes"),
        gpus=pl.coalesce("tres_gpus", "gpus", 0.0),
        gpu_type=pl.coalesce("tres_gpu_type", "gpu_type"),
        started=start_s.is_not_null(),
        ended=end_s.is_not_null(),
        placed=pl.col("nodelist").is_not_null(),
        hosts="nodelist",
        status=status(frame["jobstate"]),
        user=_person("userid"),
        group=_person("groupid"),
    )


def _unread(name: str, parsed: str, words: tuple[str, ...] = UNKNOWN_WORDS) -> pl.Expr:
    return pl.col(parsed).is_null() & is_text(pl.col(name), words)


def _positive(name: str) -> pl.Expr:
    return pl.when(pl.col(name) > 0).then(pl.col(name))


def _person(name: str) -> pl.Expr:
    """Returns the name in ``name(number)``, or else the number."""
    return pl.coalesce(pl.col(name).str.extract(r"^([^(]+)"), pl.col(name).str.extract(r"^\((\d+)\)$"))
