"""Microsoft Philly (2017): cluster_job_log, a list in JSON, and two flat tables that others derived from it.

Clocks showed Pacific time, with its change on 5 November; all submit times become Unix times.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from shunter.workloads.formats.gpu_list import FileLayout, FileLayouts, one_task_a_gpu
from shunter.workloads.text.json_text import read_elements
from shunter.workloads.text.published import read_table
from shunter.workloads.text.repairs import PLACE, from_clock

if TYPE_CHECKING:
    from shunter.workloads.text.repairs import Repairs
    from shunter.workloads.text.source import Source

ZONE: Final = "America/Los_Angeles"
KEYS: Final = (b'"submitted_time"', b'"attempts"', b'"jobid"', b'"vc"')
FLAT: Final = ["timestamp", "duration", "num_gpus", "gpu_time", "cluster"]
SAMPLE: Final = ["job_id", "arrival_time", "duration", "gpu_count", "source_trace"]
SAMPLE_PREFIX: Final = "ph-"
SAMPLE_TRACE: Final = "philly"
SAMPLE_OFFSET_S: Final = 32_400.0
"""Whoever made the sample took the clocks' Pacific time for that of a zone nine hours ahead of UTC."""
NOTE: Final = "does not tell its machine (the published one is the preset philly)"

_STATUSES: Final = {"pass": "completed", "killed": "cancelled"}
_ROWS: Final = 50_000
"""How many jobs of a list are held as objects."""
_SCHEMA: Final = {
    "job_id": pl.String,
    "submitted_time": pl.String,
    "start_time": pl.String,
    "end_time": pl.String,
    "gpus": pl.Int64,
    "nodes": pl.Int64,
    "attempts": pl.Int64,
    "user": pl.String,
    "partition": pl.String,
    "status": pl.String,
    PLACE: pl.Int64,
}


def _is_list(source: Source) -> bool:
    # Passed on as a list, or as JSON lines.
    return source.head.lstrip()[:1] in (b"[", b"{") and all(key in source.head for key in KEYS)


def _is_flat(source: Source) -> bool:
    return all(name in source.header for name in FLAT)


def _is_sample(source: Source) -> bool:
    first = source.head_lines[1:2]
    return all(name in source.header for name in SAMPLE) and any(SAMPLE_TRACE in line for line in first)


def _read_flat(source: Source, repairs: Repairs) -> Iterator[pl.DataFrame]:
    for text in read_table(source, repairs, FLAT):
        frame = repairs.to_times(text, ["timestamp"], ZONE)
        frame = repairs.to_numbers(frame, ["duration", "num_gpus"], whole=["num_gpus"])
        yield frame.select(
            *one_task_a_gpu(pl.col("num_gpus")),
            PLACE,
            submit_s="timestamp",
            run_s="duration",
            partition="cluster",
        )


def _read_sample(source: Source, repairs: Repairs) -> Iterator[pl.DataFrame]:
    for text in read_table(source, repairs, SAMPLE):
        frame = repairs.to_numbers(text, ["arrival_time", "duration", "gpu_count"], whole=["gpu_count"])
        other = pl.col("source_trace") != SAMPLE_TRACE
        frame = repairs.drop(frame, other, "not of Philly: job left out", "source_trace")
        yield frame.select(
            pl.col("job_id").str.strip_prefix(SAMPLE_PREFIX),
            *one_task_a_gpu(pl.col("gpu_count")),
            PLACE,
            submit_s=from_clock(pl.col("arrival_time") + SAMPLE_OFFSET_S, ZONE),
            run_s="duration",
        )


def _read_list(source: Source, repairs: Repairs) -> Iterator[pl.DataFrame]:
    rows: list[tuple[Any, ...]] = []
    for line, job in read_elements(source):
        try:
            rows.append((*_row(job), line))
        except (KeyError, TypeError) as error:
            repairs.skip(repairs.place(source, line), f"the job is not built like others ({error})")
        if len(rows) == _ROWS:
            yield _jobs(rows, source, repairs)
            rows = []
    if rows:
        yield _jobs(rows, source, repairs)


def _row(job: dict[str, Any]) -> tuple[str | int | None, ...]:
    """Returns what a job's object says, as `_SCHEMA` has it."""
    attempts = job["attempts"]
    # An attempt that never began tells nothing of when the job ran.
    begun = [attempt for attempt in attempts if _text(attempt["start_time"])]
    sizes = [_size(attempt) for attempt in attempts]
    # Attempts may differ in size: the largest counts.
    gpus, nodes = max(sizes, key=lambda size: size[0], default=(None, None))
    return (
        _text(job["jobid"]),
        _text(job["submitted_time"]),
        _text(begun[0]["start_time"]) if begun else None,
        # From the first start to the last end; what lies between attempts counts as running, too.
        _text(begun[-1]["end_time"]) if begun else None,
        gpus,
        nodes,
        len(attempts),
        _text(job.get("user")),
        _text(job.get("vc")),
        _text(job.get("status")),
    )


def _size(attempt: dict[str, Any]) -> tuple[int, int]:
    """Returns an attempt's GPUs and machines."""
    detail = attempt["detail"]
    return sum(len(machine["gpus"]) for machine in detail), len({machine["ip"] for machine in detail})


def _text(value: object) -> str | None:
    return None if value is None or value in ("None", "") else str(value)


def _jobs(rows: list[tuple[Any, ...]], source: Source, repairs: Repairs) -> pl.DataFrame:
    """Returns the jobs of some rows; one that never ran, or still did when the log was made, is dropped."""
    frame = pl.DataFrame(rows, schema=_SCHEMA, orient="row")
    frame = frame.with_columns(repairs.places(source, frame[PLACE]))
    never = pl.col("start_time").is_null()
    frame = repairs.drop(frame, never, "no attempt that began: never ran, job dropped", "attempts")
    running = pl.col("end_time").is_null()
    frame = repairs.drop(frame, running, "last attempt without an end: run time unknown, job dropped", "attempts")
    frame = repairs.to_times(frame, ["submitted_time", "start_time", "end_time"], ZONE)
    return frame.select(
        "job_id",
        *one_task_a_gpu(pl.col("gpus")),
        "user",
        "partition",
        pl.col("status").str.to_lowercase().replace(_STATUSES),
        "nodes",
        "attempts",
        PLACE,
        submit_s="submitted_time",
        run_s=pl.col("end_time") - pl.col("start_time"),
        logged_wait_s=pl.col("start_time") - pl.col("submitted_time"),
    )


LAYOUTS: Final = FileLayouts(
    known=(FileLayout(_is_list, _read_list), FileLayout(_is_flat, _read_flat), FileLayout(_is_sample, _read_sample)),
    expected=f"a list in JSON, or the header {','.join(FLAT)}",
    cluster_note=NOTE,
)
recognizes = LAYOUTS.recognizes
read = LAYOUTS.read
