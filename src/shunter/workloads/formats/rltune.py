"""RLTune's tables of GPU jobs: the fields of SWF between commas, then the virtual cluster and the kind of GPU."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import polars as pl

from shunter.errors import InputError
from shunter.workloads.formats.swf import STATUS_WORDS
from shunter.workloads.formats.swf_header import read_header
from shunter.workloads.text.delimited import read_frames
from shunter.workloads.text.log import read_jobs
from shunter.workloads.text.repairs import PLACE

if TYPE_CHECKING:
    from shunter.model.workload import Workload
    from shunter.workloads.formats import Reading
    from shunter.workloads.text.repairs import Repairs
    from shunter.workloads.text.source import Source

_FIELDS: Final = (
    "job_id",
    "submit_s",
    "logged_wait_s",
    "run_s",
    "gpus",
    "average_cpu_s",
    "used_memory",
    "cpus",
    "requested_s",
    "memory_gb",
    "status",
    "user",
    "group",
    "executable",
    "queue",
    "partition",
    "preceding",
)
_LAYOUTS: Final = {
    19: (*_FIELDS, "virtual_cluster", "gpu_type"),
    20: (*_FIELDS, "think_time_s", "virtual_cluster", "gpu_type"),
}
"""The columns by their number; in both, -1 is unknown."""
_NUMBERS: Final = (
    *("submit_s", "logged_wait_s", "run_s", "gpus", "average_cpu_s", "cpus"),
    *("requested_s", "memory_gb", "status", "think_time_s"),
)
_STATUSES: Final = dict(enumerate(STATUS_WORDS))
_NUMBER: Final = re.compile(r"-?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?")
_UNKNOWN: Final = -1


def recognizes(source: Source) -> bool:
    """Returns whether the first line that is no comment has 19 or 20 cells, with numbers in all but the ids."""
    cells = source.header
    # Ids and names may be any text; the fields between are numbers, as in SWF.
    return len(cells) in _LAYOUTS and all(_NUMBER.fullmatch(cell) for cell in cells[1:11])


def read(sources: Sequence[Source], reading: Reading) -> Workload:
    """Reads RLTune's tables, one after another.

    Raises:
        InputError: A file has another number of columns, or no job is left.
    """
    size = read_header(sources[0].head).get("MaxProcs")
    note = f'its header says "MaxProcs: {size}", which counts GPUs and tells of no nodes' if size else None
    return read_jobs(sources, reading, _frames, note)


def _frames(source: Source, repairs: Repairs) -> Iterator[pl.DataFrame]:
    names = _LAYOUTS.get(len(source.header))
    if names is None:
        cells = f"the first row has {len(source.header)} cells between commas"
        raise InputError(f"{source.where}: {cells}; expected 19 or 20, as RLTune writes them")
    for text in read_frames(source, repairs, names, comment=";"):
        frame = repairs.to_numbers(text, [name for name in _NUMBERS if name in names], whole=("gpus", "cpus", "status"))
        strange = ~pl.col("status").is_in([_UNKNOWN, *_STATUSES])
        frame = repairs.replace(frame, strange, "status", None, "status code outside SWF's: taken as unknown")
        yield frame.select(*_columns(), *([_known("think_time_s")] if "think_time_s" in names else []), PLACE)


def _columns() -> list[pl.Expr | str]:
    """Returns the columns of a workload: one task a GPU, or one a core of a job without GPUs."""
    gpus = pl.max_horizontal("gpus", 0).fill_null(0)
    cpus = pl.max_horizontal("cpus", 0).fill_null(0)
    tasks = pl.when(gpus > 0).then(gpus).otherwise(cpus)
    return [
        pl.col("job_id").str.strip_chars(),
        "submit_s",
        _known("run_s"),
        _known("requested_s"),
        tasks.alias("tasks"),
        pl.when(tasks > 0).then(cpus / tasks).otherwise(0.0).alias("cores_per_task"),
        (_known("memory_gb") * 1024 / tasks).alias("memory_mb_per_task"),
        pl.when(gpus > 0).then(1.0).otherwise(0.0).alias("gpus_per_task"),
        _text("user"),
        _text("group"),
        _text("queue"),
        pl.coalesce(_text("virtual_cluster"), _text("partition")).alias("partition"),
        pl.col("status").replace_strict(_STATUSES, default=None, return_dtype=pl.String),
        _known("logged_wait_s"),
        _known("average_cpu_s"),
        _text("executable"),
        _text("gpu_type"),
    ]


def _known(column: str) -> pl.Expr:
    return pl.when(pl.col(column) != _UNKNOWN).then(pl.col(column)).alias(column)


def _text(column: str) -> pl.Expr:
    text = pl.col(column).str.strip_chars()
    return pl.when(text != str(_UNKNOWN)).then(text).alias(column)
