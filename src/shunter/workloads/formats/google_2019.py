"""Google (2019): instance_events as JSON lines or CSV, or an export that joins them with jobs and usage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import polars as pl

from shunter.errors import InputError
from shunter.workloads.formats.google import (
    AMOUNTS,
    CODES_2019,
    KEY,
    S_PER_US,
    as_jobs,
    attempts,
    is_complete,
    paired,
    read_records,
    tells,
    typed_events,
    users_of,
)
from shunter.workloads.text.log import build_workload
from shunter.workloads.text.published import scaled
from shunter.workloads.text.repairs import PLACE, Repairs

if TYPE_CHECKING:
    from shunter.model.workload import Workload
    from shunter.workloads.formats import Reading
    from shunter.workloads.text.source import Source

WINDOW: Final = ["start_time", "end_time"]
"""From when to when usage was measured, in a joined export."""
NOTE: Final = "does not tell its machines ('shunter trace cluster' makes a cluster of machine_events)"
FROM_USAGE: Final = "start or end not in the log: run time taken from the times of measured usage"

_TYPE: Final = "type"
_JOINED_TYPE: Final = "instance_events_type"
_OTHERS: Final = ["priority", "scheduling_class", "collection_type", "user", *WINDOW]
_ALLOC_SET: Final = 1


def recognizes(source: Source) -> bool:
    """Returns whether rows or objects have the id of a collection, as Google calls jobs."""
    return tells(source, "collection_id")


def read(sources: Sequence[Source], reading: Reading) -> Workload:
    """Reads events of instances, as Google calls tasks.

    Raises:
        InputError: A file holds no events of instances, or nothing tells a run time.
    """
    repairs = Repairs(sources, reading.strict)
    events, users, windows = [], [], []
    for source in sources:
        for frame in _read_events(source, repairs):
            events.append(typed_events(frame, CODES_2019, repairs))
            users.append(frame.select("collection", "user").unique(maintain_order=True))
            windows.append(_windows(frame))
    if not events:
        return build_workload([], repairs)
    known = pl.concat(events)
    if any(tells(source, _JOINED_TYPE) for source in sources):
        # A join repeats an event for each of its measurements.
        known = known.unique([*KEY, "time_us", "kind"], keep="first", maintain_order=True)
    history = paired(known, repairs)
    # Measured usage stands in only for tasks whose start and end are not both in the events.
    measured = _merged(pl.concat(windows)).join(
        history.filter(is_complete()), on=KEY, how="anti", maintain_order="left"
    )
    history = history.join(measured, on=KEY, how="anti", maintain_order="left")
    user = users_of(users)
    jobs = pl.concat([attempts(history, user, repairs), _measured_jobs(measured, user, repairs)])
    return build_workload(jobs.sort("submit_s", maintain_order=True), repairs, cluster_note=NOTE)


def _read_events(source: Source, repairs: Repairs) -> Iterator[pl.DataFrame]:
    """Yields the events of tasks, as text but for the times of usage."""
    kind = _type_column(source)
    names = {"time": "time_us", "collection_id": "collection", "instance_index": "index", kind: "kind"}
    for text in read_records(source, repairs, [*names, *_OTHERS], "resource_request"):
        frame = repairs.to_numbers(text.rename(names), ["collection_type", *WINDOW])
        yield _without_alloc_sets(frame, repairs)


def _type_column(source: Source) -> str:
    """Returns what the type of an event is called in a file."""
    kind = _JOINED_TYPE if tells(source, _JOINED_TYPE) else _TYPE
    for name in ("time", "collection_id", "instance_index", kind):
        if not tells(source, name):
            raise InputError(f'{source.where}: has no "{name}", as events of instances have; give instance_events')
    return kind


def _without_alloc_sets(frame: pl.DataFrame, repairs: Repairs) -> pl.DataFrame:
    """Returns a frame without alloc sets: they reserve for tasks that the log has as well."""
    reserved = pl.col("collection_type") == _ALLOC_SET
    found = frame.filter(reserved)
    if found.height:
        rule = "event of an alloc set, which reserves for others: line left out"
        repairs.tell(rule, found.height, found[PLACE][0], f"collection {found['collection'][0]}")
    return frame.filter(~reserved.fill_null(False))


def _windows(frame: pl.DataFrame) -> pl.DataFrame:
    """Returns from when to when the usage of each task was measured; lines that are not readable tell none."""
    whole = (pl.col(name).cast(pl.Float64, strict=False).cast(pl.Int64, strict=False) for name in KEY)
    amounts = (pl.col(name).cast(pl.Float64, strict=False) for name in AMOUNTS)
    return _merged(frame.select(*whole, *amounts, *WINDOW, PLACE).drop_nulls([*KEY, *WINDOW]))


def _merged(windows: pl.DataFrame) -> pl.DataFrame:
    first = (pl.col(name).drop_nulls().first() for name in (*AMOUNTS, PLACE))
    times = (pl.col("start_time").min(), pl.col("end_time").max())
    return windows.group_by(KEY, maintain_order=True).agg(*first, *times)


def _measured_jobs(measured: pl.DataFrame, users: pl.DataFrame, repairs: Repairs) -> pl.DataFrame:
    """Returns a job for each task whose run time is told by measurements, but not by events."""
    if measured.height:
        repairs.record(FROM_USAGE, measured.height, measured[PLACE][0], f"start_time {measured['start_time'][0]:.15g}")
    tasks = measured.with_columns(
        pl.col("scheduling_class").cast(pl.Int64),
        job_id=pl.format("{}/{}", *KEY),
        submit_us="start_time",
        run_s=scaled(pl.col("end_time") - pl.col("start_time"), S_PER_US),
        status=pl.lit(None, pl.String),
        logged_wait_s=pl.lit(None, pl.Float64),
    )
    return as_jobs(tasks, users, repairs)
