"""Workloads to files: CSV and Parquet keep every column; SWF has fewer fields, and what is lost is told."""

from __future__ import annotations

import gzip
import io
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, cast

import polars as pl

from shunter.errors import InputError
from shunter.files import Writer, csv_writer, write_file
from shunter.model.conditions import own_names, renamed_needs
from shunter.workloads.formats.parquet import CLUSTER_KEY
from shunter.workloads.reading import read_cluster
from shunter.workloads.text.leaving import stand_in_s

if TYPE_CHECKING:
    from shunter.model.workload import Workload


ENDINGS: Final = (".csv", ".csv.gz", ".parquet", ".swf", ".swf.gz")
"""How the names of files end that can be written."""

_STATUS_CODES: Final = {"failed": 0, "completed": 1, "partial": 2, "cancelled": 5}
_NAMED: Final = ("user", "group", "executable", "queue", "partition")
"""The columns of text that SWF has numbers for, in the order of its fields."""
_CARRIED: Final = (
    *("job_id", "submit_s", "run_s", "requested_s", "tasks", "cores_per_task", "memory_mb_per_task", "status"),
    *("logged_wait_s", "average_cpu_s", "used_memory_mb_per_task", "preceding_job_id", "think_time_s", *_NAMED),
)
_LARGEST_WHOLE: Final = 2.0**53
"""Readers of SWF take every field as a double, which holds whole numbers up to here."""
_UNKNOWN: Final = -1


def write_table(workload: Workload, path: str | Path) -> list[str]:
    """Writes a workload's jobs; reading a ``.csv``, ``.csv.gz`` or ``.parquet`` file gives the same jobs.

    Returns:
        What the format cannot carry, a line each.

    Raises:
        InputError: The name has another ending, or the file cannot be written.
    """
    path = Path(path)
    check_ending(path)
    if "depends_on" in workload.jobs.columns:
        # A part of a log may have lost jobs on which others depend: a table that names them could not be read again.
        needs = renamed_needs(workload.jobs, own_names(workload.jobs))
        workload = replace(workload, jobs=workload.jobs.with_columns(needs))
    name = path.name.lower()
    lost: list[str] = []
    content: Writer
    if name.endswith(".parquet"):
        metadata = None if workload.cluster_spec is None else {CLUSTER_KEY: workload.cluster_spec}
        content = partial(workload.jobs.write_parquet, metadata=metadata)
    elif name.endswith((".swf", ".swf.gz")):
        text, lost = to_swf(workload)
        content = partial(_write_bytes, text)
    else:
        content = csv_writer(workload.jobs)
        if workload.cluster_spec is not None:
            lost = [f"the cluster: give --cluster {workload.cluster_spec}"]
    write_file(path, partial(_packed, content) if name.endswith(".gz") else content)
    return lost


def _write_bytes(text: bytes, file: BinaryIO) -> None:
    file.write(text)


def _packed(content: Writer, file: BinaryIO) -> None:
    # Without a time stamp and a name, the same jobs give the same bytes.
    with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
        content(cast("BinaryIO", packed))


def check_ending(path: Path) -> None:
    """Raises an error for a name that does not tell what to write."""
    if not path.name.lower().endswith(ENDINGS):
        raise InputError(f"{path}: cannot tell what to write; end the name in {', '.join(ENDINGS)}")


def to_swf(workload: Workload) -> tuple[bytes, list[str]]:
    """Returns a workload as SWF text, and a sentence on each thing that the format cannot carry.

    Reading the text gives the same jobs, except for what the sentences name.
    """
    writer = _Writer(workload)
    buffer = io.BytesIO()
    # Before the header is written, for the fields decide which tables of names it has.
    fields = writer.fields()
    buffer.write("".join(f"; {line}\n" for line in [*writer.header(), *writer.tables]).encode())
    fields.write_csv(buffer, include_header=False, separator=" ", quote_style="never")
    return buffer.getvalue(), writer.lost


class _Writer:
    """Turns columns into fields, and keeps account of what is lost."""

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self._jobs = workload.jobs
        self.lost: list[str] = []
        """What could not be carried."""
        self.tables: list[str] = []
        """The names behind the numbers of users, queues and so on, for the header."""

    def header(self) -> list[str]:
        """Returns what the comments at the beginning say, without the tables of names."""
        count = self._jobs.height
        lines = ["Version: 2.2", f"MaxJobs: {count}", f"MaxRecords: {count}"]
        cores = self._machine_cores()
        if cores is not None:
            lines.append(f"MaxProcs: {cores}")
        return [*lines, f"Note: written by Shunter from {_one_line(self._workload.name)}"]

    def fields(self) -> pl.DataFrame:
        """Returns the 18 fields of each job, in the format's order."""
        ids, are_kept = self._job_numbers()
        processors = self._processors()
        tasks = self._jobs["tasks"]
        # Memory is told per task, but SWF has it per processor.
        share = tasks / processors
        columns = [
            ids,
            self._submit_s(),
            self._wait_s(),
            self._run_s(),
            processors,
            self._optional("average_cpu_s"),
            self._optional("used_memory_mb_per_task") * 1024 * share,
            processors,
            self._positive("requested_s"),
            self._positive("memory_mb_per_task") * 1024 * share,
            self._status_codes(),
            *(self._numbers_of(name) for name in _NAMED),
            self._preceding(are_kept),
            self._optional("think_time_s"),
        ]
        self._name_the_rest()
        return pl.DataFrame([_written(column).alias(str(number)) for number, column in enumerate(columns, start=1)])

    def _lose(self, what: str, jobs: int) -> None:
        if jobs:
            self.lost.append(f"{what} ({jobs:,} {'job' if jobs == 1 else 'jobs'})")

    def _optional(self, name: str) -> pl.Series:
        """Returns a column of numbers; unknown throughout if there is none."""
        if name in self._jobs.columns:
            return self._jobs[name]
        return pl.repeat(None, self._jobs.height, dtype=pl.Float64(), eager=True)

    def _positive(self, name: str) -> pl.Series:
        values = self._optional(name)
        self._lose(f"{name}: readers of SWF take 0 as unknown", int((values == 0).sum()))
        return values

    def _job_numbers(self) -> tuple[pl.Series, bool]:
        """Returns the numbers of the jobs, and whether they are the jobs' own."""
        ids = self._jobs["job_id"]
        if ids.dtype == pl.Int64 and ids.is_between(0, int(_LARGEST_WHOLE)).all():
            return ids, True
        self._lose("job_id: SWF has whole numbers from 0 on, so jobs are numbered in their order", ids.len())
        return pl.int_range(1, ids.len() + 1, eager=True), False

    def _submit_s(self) -> pl.Series:
        submit_s = self._jobs["submit_s"]
        shift_s = -float(submit_s[0])
        if shift_s <= 0:
            return submit_s
        self._lose(f"submit_s: SWF has no times before 0, so all are {shift_s:.15g} s later", submit_s.len())
        return submit_s + shift_s

    def _left(self) -> pl.Series:
        """Returns which jobs left the queue, as SWF can say it: they are cancelled, and ran for an unknown time."""
        if "cancel_s" not in self._jobs.columns:
            return pl.repeat(False, self._jobs.height, eager=True)
        # Whoever reads the log works the run time out from the other jobs.
        is_plain = (pl.col("run_s") == stand_in_s(self._jobs)) & (pl.col("status") == "cancelled")
        left = pl.col("cancel_s").is_not_null() & pl.col("logged_wait_s").is_null() & is_plain
        return self._jobs.select(left.fill_null(False)).to_series()

    def _wait_s(self) -> pl.Series:
        """Returns how long jobs waited until they started, or left."""
        if "cancel_s" not in self._jobs.columns:
            return self._optional("logged_wait_s")
        waited = pl.coalesce("logged_wait_s", pl.when(self._left()).then(pl.col("cancel_s") - pl.col("submit_s")))
        return self._jobs.select(waited).to_series()

    def _run_s(self) -> pl.Series:
        run_s = self._jobs["run_s"].set(self._left(), _UNKNOWN)
        self._lose("run_s: readers of SWF drop jobs that ran for 0 s", int((run_s == 0).sum()))
        return run_s

    def _processors(self) -> pl.Series:
        tasks, cores = self._jobs["tasks"], self._jobs["cores_per_task"]
        none = cores == 0
        exact = tasks * cores.set(none, 1.0)
        processors = exact.ceil()
        self._lose("cores_per_task: SWF has no jobs without cores, so each task gets a processor", int(none.sum()))
        self._lose(
            "cores_per_task: SWF counts processors, not tasks of several or of parts of a core",
            int((~none & (cores != 1)).sum()),
        )
        self._lose("cores_per_task: processors are whole, so they are rounded up", int((processors != exact).sum()))
        return processors.cast(pl.Int64)

    def _status_codes(self) -> pl.Series:
        status = self._jobs["status"]
        # Each word that is lost gets a line of its own, the most common first.
        for row in status.drop_nulls().value_counts(sort=True).iter_rows():
            if row[0] not in _STATUS_CODES:
                self._lose(f'status: SWF has no code for "{row[0]}"', row[1])
        return status.replace_strict(_STATUS_CODES, default=None, return_dtype=pl.Int64)

    def _numbers_of(self, name: str) -> pl.Series:
        """Returns the numbers that a column of text is written as, or numbers in the order of appearance."""
        if name not in self._jobs.columns:
            return pl.repeat(None, self._jobs.height, dtype=pl.Int64(), eager=True)
        texts = self._jobs[name]
        names = texts.drop_nulls().unique(maintain_order=True)
        numbers = names.cast(pl.Int64, strict=False)
        # Only if each is written as a number already: 7 and "007" may be two users.
        are_numbers = (numbers.cast(pl.String) == names) & numbers.is_between(0, int(_LARGEST_WHOLE))
        if not are_numbers.fill_null(False).all():
            numbers = pl.int_range(1, names.len() + 1, eager=True)
            self.tables.extend(
                f"{name.capitalize()}: {number} {_one_line(text)}" for number, text in enumerate(names, 1)
            )
            self._lose(f"{name}: SWF has numbers, and names only in its header", texts.len() - texts.null_count())
        return texts.replace_strict(names, numbers, default=None, return_dtype=pl.Int64)

    def _preceding(self, ids_are_kept: bool) -> pl.Series:
        preceding = self._optional("preceding_job_id")
        if ids_are_kept:
            return preceding
        self._lose("preceding_job_id: the jobs have other numbers", preceding.len() - preceding.null_count())
        return pl.repeat(None, preceding.len(), dtype=pl.Int64(), eager=True)

    def _name_the_rest(self) -> None:
        for name in self._jobs.columns:
            values = self._jobs[name]
            if name == "gpus_per_task":
                self._lose("gpus_per_task: SWF has no field for GPUs", int((values > 0).sum()))
            elif name == "cancel_s":
                others = values.is_not_null() & ~self._left()
                self._lose("cancel_s: SWF has it of jobs alone for whose run time another stands in", int(others.sum()))
            elif name not in _CARRIED:
                self._lose(f"{name}: SWF has no field for it", values.len() - values.null_count())

    def _machine_cores(self) -> int | None:
        spec = self._workload.cluster_spec
        if spec is None:
            return None
        try:
            cluster = read_cluster(spec)
        except InputError as error:
            self.lost.append(f"the cluster: {error}")
            return None
        if len(cluster.nodes) > 1:
            self.lost.append(f"the cluster: SWF has only its cores; give --cluster {spec}")
        return int(cluster.total_cores)


def _written(values: pl.Series) -> pl.Series:
    """Returns numbers as they are written: -1 for null, no decimals for whole ones, otherwise all digits."""
    if values.dtype.is_integer():
        return values.fill_null(_UNKNOWN)
    known = values.fill_null(_UNKNOWN)
    # Whole numbers without decimals, as the logs of the archive have them.
    is_whole = (known == known.floor()) & (known.abs() <= _LARGEST_WHOLE)
    whole = known.cast(pl.Int64, strict=False)
    return whole if is_whole.all() else whole.cast(pl.String).zip_with(is_whole, known.cast(pl.String))


def _one_line(text: str) -> str:
    return " ".join(text.split())
