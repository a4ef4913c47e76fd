"""The last step of every reader: rules that hold for all formats, and a workload of what is left."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import polars as pl

from shunter.errors import InputError
from shunter.model.conditions import TIME_LIMIT_S, TIMES
from shunter.model.workload import (
    AMOUNT_LIMIT,
    CORES_LIMIT,
    DURATION_LIMIT_S,
    SUBMIT_LIMIT_S,
    TASKS_LIMIT,
    Workload,
)
from shunter.workloads.text.depending import without_strangers
from shunter.workloads.text.repairs import PLACE, UNREADABLE, Repairs
from shunter.workloads.text.requeues import chain_runs

if TYPE_CHECKING:
    from shunter.workloads.formats import Reading
    from shunter.workloads.text.source import Source

SMALLEST: Final = 0.001
"""The smallest share of a core or GPU that is counted."""


def read_jobs(
    sources: Sequence[Source],
    reading: Reading,
    read_file: Callable[[Source, Repairs], Iterable[pl.DataFrame]],
    cluster_note: str | None = None,
    *,
    by_end: bool = False,
    reruns: bool = False,
) -> Workload:
    """Reads the files of a log one after another, and makes one workload of them.

    Args:
        sources: The files.
        reading: How the log is to be read.
        read_file: Yields the jobs of a file, as `build_workload` takes them.
        cluster_note: Why the log does not tell its machine, or what to give instead.
        by_end: Whether jobs are logged as they end, so that it is no mistake if they were not submitted in that order.
        reruns: Whether rows with one id may be runs of one job that was queued again.

    Raises:
        InputError: No job is left, or hardly any line was readable.
    """
    repairs = Repairs(sources, reading.strict)
    frames = [frame for source in sources for frame in read_file(source, repairs)]
    if by_end and frames:
        frames = [pl.concat(frames).sort("submit_s", maintain_order=True)]
    return build_workload(frames, repairs, cluster_note=cluster_note, reruns=reruns)


def build_workload(
    jobs: pl.DataFrame | Sequence[pl.DataFrame],
    repairs: Repairs,
    *,
    cluster_spec: str | None = None,
    cluster_note: str | None = None,
    reruns: bool = False,
) -> Workload:
    """Makes a workload of what a reader has read.

    Args:
        jobs: Columns of `COLUMNS` and `EXTRA_COLUMNS` with their types, as far as the log has them, and `PLACE`; null
            is unknown. In one frame, or in several that follow one another.
        repairs: What has been repaired so far, and in which files.
        cluster_spec: The machine, if the log tells of one, as `shunter.read_cluster` takes it.
        cluster_note: Why it does not, or what to give instead.
        reruns: Whether rows with one id may be runs of one job that was queued again.

    Raises:
        InputError: No job is left, or hardly any line was readable.
    """
    frames = [jobs] if isinstance(jobs, pl.DataFrame) else list(jobs)
    where = repairs.sources[0].where
    frame = pl.concat(frames, how="diagonal") if frames else pl.DataFrame(schema={PLACE: pl.Int64})
    _check_readable(frame.height, repairs, where)
    # First what is dropped, then what is mended: a job that is not there needs no repair, and none is counted for it.
    frame = _drop_unusable(frame, repairs)
    frame = _mend(frame, repairs)
    if frame.height == 0:
        raise no_job_left(where, repairs)
    # A run that did nothing is no run: what is left of a job then keeps its id.
    frame = chain_runs(frame, repairs) if reruns else frame
    frame = without_strangers(number_anew(frame, repairs), repairs)
    return to_workload(frame, repairs, cluster_spec=cluster_spec, cluster_note=cluster_note)


def to_workload(
    jobs: pl.DataFrame,
    repairs: Repairs,
    *,
    cluster_spec: str | None = None,
    cluster_note: str | None = None,
) -> Workload:
    """Makes a workload of a table with `PLACE`, without repairs; columns that no workload has are ignored.

    Raises:
        InputError: A column is missing, or a value is not what its column holds.
    """
    sources = repairs.sources
    workload = Workload.from_frame(
        jobs,
        name=log_name(sources),
        content_sha256=digest(sources),
        where=sources[0].where,
        others=False,
        ledger=repairs.ledger,
        cluster_spec=cluster_spec,
        strict=repairs.strict,
        locate=repairs.locate,
        lines=jobs[PLACE],
    )
    return replace(workload, cluster_note=cluster_note)


def number_anew(frame: pl.DataFrame, repairs: Repairs) -> pl.DataFrame:
    """Gives a new id, such as ``1234#2``, to each job that has none or the id of an earlier job."""
    if "job_id" not in frame.columns or _are_distinct(frame["job_id"]):
        return frame
    ids = pl.col("job_id").cast(pl.String).fill_null("unknown")
    occurrence = pl.int_range(1, pl.len() + 1).over(ids)
    again = (occurrence > 1) | pl.col("job_id").is_null()
    frame = frame.with_columns(pl.col("job_id").cast(pl.String))
    rule = "id missing or that of an earlier job: numbered anew"
    # A made-up id may itself be taken, in a log that was written by Shunter from such a log.
    frame = repairs.replace(frame, again, "job_id", pl.format("{}#{}", ids, occurrence), rule)
    # This ends, for ids that are still taken become longer with each round.
    return frame if frame["job_id"].is_unique().all() else number_anew(frame, repairs)


def no_job_left(where: str, repairs: Repairs) -> InputError:
    """Returns the error for a log of which no job is left; it says why."""
    entries = "; ".join(f"{entry.rule} ({entry.count})" for entry in repairs.ledger.entries)
    why = f" after repairs: {entries}" if entries else ""
    return InputError(f"{where}: no job is left{why}; expected jobs that ran")


def digest(sources: Sequence[Source]) -> str:
    """Returns the hash of one file as it lies on disk, or of the hashes of several in their order."""
    if len(sources) == 1:
        return sources[0].content_sha256
    return hashlib.sha256(" ".join(source.content_sha256 for source in sources).encode()).hexdigest()


def log_name(sources: Sequence[Source]) -> str:
    """Returns what tables call a log: its file's name."""
    first = sources[0].path.name
    return first if len(sources) == 1 else f"{first} and {len(sources) - 1} more"


def _check_readable(rows: int, repairs: Repairs, where: str) -> None:
    skipped = repairs.count(UNREADABLE)
    # A file of which most lines make no sense is of another format, or broken.
    if skipped > rows:
        raise InputError(
            f"{where}: {skipped:,} of {skipped + rows:,} lines are not readable, the first at "
            f"{repairs.example(UNREADABLE)}; check the file, or name its --format"
        )


def _drop_unusable(frame: pl.DataFrame, repairs: Repairs) -> pl.DataFrame:
    """Drops jobs whose submit time, run time or size is unknown or impossible."""
    submit_s, run_s, tasks = pl.col("submit_s"), pl.col("run_s"), pl.col("tasks")
    rules = (
        ("submit_s", submit_s.is_null(), "submit time unknown: job dropped"),
        ("run_s", run_s.is_null(), "run time unknown: job dropped"),
        ("run_s", run_s < 0, "run time negative: job dropped"),
        # Most such jobs failed at once; they ask for no time, and have no slowdown.
        ("run_s", run_s == 0, "run time 0 s: job dropped"),
        ("tasks", tasks.is_null() | (tasks < 1), "size unknown: job dropped"),
        (
            "submit_s",
            ~submit_s.is_between(-SUBMIT_LIMIT_S, SUBMIT_LIMIT_S),
            "submit time absurd: job dropped",
        ),
        ("run_s", ~(run_s <= DURATION_LIMIT_S), "run time absurd: job dropped"),
        ("tasks", tasks > TASKS_LIMIT, "size absurd: job dropped"),
    )
    for column, wrong, rule in rules:
        if column in frame.columns:
            frame = repairs.drop(frame, wrong, rule, column)
    for column in ("cores_per_task", "gpus_per_task"):
        if column in frame.columns:
            amount = pl.col(column)
            size = amount * pl.col("tasks") if "tasks" in frame.columns else amount
            absurd = ~(size <= CORES_LIMIT) | (amount < 0)
            frame = repairs.drop(frame, absurd, f"{column} absurd: job dropped", column)
    return frame


def _mend(frame: pl.DataFrame, repairs: Repairs) -> pl.DataFrame:
    """Takes values that say nothing as unknown, and rounds those that the core cannot count."""
    for column, limit in (("requested_s", DURATION_LIMIT_S), ("memory_mb_per_task", AMOUNT_LIMIT)):
        if column in frame.columns:
            nothing = ~((pl.col(column) > 0) & (pl.col(column) <= limit))
            frame = repairs.replace(frame, nothing, column, None, f"{column} not positive or absurd: taken as unknown")
    if "logged_wait_s" in frame.columns:
        wrong = ~pl.col("logged_wait_s").is_between(0, DURATION_LIMIT_S)
        frame = repairs.replace(frame, wrong, "logged_wait_s", None, "wait negative or absurd: taken as unknown")
    for column in TIMES:
        if column in frame.columns:
            wrong = ~pl.col(column).is_between(pl.col("submit_s"), TIME_LIMIT_S)
            rule = f"{column} before the submit time or absurd: taken as unknown"
            frame = repairs.replace(frame, wrong, column, None, rule)
    if "priority" in frame.columns:
        wrong = ~pl.col("priority").is_between(-AMOUNT_LIMIT, AMOUNT_LIMIT)
        frame = repairs.replace(frame, wrong, "priority", None, "priority absurd: taken as unknown")
    if "gpus_per_task" in frame.columns:
        gpus = pl.col("gpus_per_task")
        odd = (gpus > 1) & (gpus != gpus.floor())
        rule = "GPUs per task above 1 and not whole: rounded up"
        frame = repairs.replace(frame, odd, "gpus_per_task", gpus.ceil(), rule)
    for column in ("cores_per_task", "gpus_per_task"):
        if column in frame.columns:
            tiny = (pl.col(column) > 0) & (pl.col(column) < SMALLEST)
            frame = repairs.replace(frame, tiny, column, SMALLEST, f"{column} below {SMALLEST}: raised to it")
    return frame


def _are_distinct(ids: pl.Series) -> bool:
    # Ids in ascending order, as in most logs, need no table of those already seen.
    numbers = ids.cast(pl.Int64, strict=False)
    if numbers.null_count() == 0 and (numbers.diff().slice(1) > 0).all():
        return True
    return ids.null_count() == 0 and ids.n_unique() == ids.len()
