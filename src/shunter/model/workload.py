"""The workload: a checked table of jobs, sorted by submit time."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, NamedTuple

import polars as pl
from polars.exceptions import PolarsError

from shunter.errors import InputError
from shunter.model.conditions import CONDITION_COLUMNS, check_conditions
from shunter.model.log import Ledger, Locate, Places

SUBMIT_LIMIT_S: Final = 1e12
"""The latest submit time, and minus that the earliest; beyond it somebody mistook a unit, such as ms for s."""
DURATION_LIMIT_S: Final = 1e9
"""The longest run time, request or wait: about 32 years."""
TASKS_LIMIT: Final = 2**31 - 1
CORES_LIMIT: Final = 1e9
"""The most cores that one job may ask for, over all its tasks."""
UNIX_TIMES_FROM_S: Final = 631_152_000.0
"""The first second of 1990: submit times from here on are taken as Unix times, not as seconds since a log's start."""
AMOUNT_LIMIT: Final = 1e15
"""The largest memory request in MB; a priority may be as large, or minus that."""


class Column(NamedTuple):
    """What a column of the job table holds."""

    dtype: type[pl.DataType]
    default: float | None = None
    """What an absent column or an empty cell becomes."""
    low: float | None = None
    high: float = AMOUNT_LIMIT
    required: bool = False


COLUMNS: Final[dict[str, Column]] = {
    # Ids stay text where one of them is no whole number, see `_typed_ids`.
    "job_id": Column(pl.Int64),
    "submit_s": Column(pl.Float64, low=-SUBMIT_LIMIT_S, high=SUBMIT_LIMIT_S, required=True),
    "run_s": Column(pl.Float64, low=0, high=DURATION_LIMIT_S, required=True),
    "requested_s": Column(pl.Float64, low=0, high=DURATION_LIMIT_S),
    "tasks": Column(pl.Int64, default=1, low=1, high=TASKS_LIMIT),
    # 0 is allowed: logs of GPU jobs often do not tell cores.
    "cores_per_task": Column(pl.Float64, default=1, low=0, high=CORES_LIMIT),
    "memory_mb_per_task": Column(pl.Float64, low=0),
    "gpus_per_task": Column(pl.Float64, default=0, low=0, high=CORES_LIMIT),
    "user": Column(pl.String),
    "group": Column(pl.String),
    "queue": Column(pl.String),
    "partition": Column(pl.String),
    "status": Column(pl.String),
    "priority": Column(pl.Float64, low=-AMOUNT_LIMIT),
    "logged_wait_s": Column(pl.Float64, low=0, high=DURATION_LIMIT_S),
}
"""Every workload has these columns, in this order."""

EXTRA_COLUMNS: Final[dict[str, type[pl.DataType]]] = {
    "average_cpu_s": pl.Float64,
    "used_memory_mb_per_task": pl.Float64,
    "executable": pl.String,
    "preceding_job_id": pl.Int64,
    "think_time_s": pl.Float64,
    "name": pl.String,
    "account": pl.String,
    "qos": pl.String,
    "nodes": pl.Int64,
    "hosts": pl.String,
    "licenses": pl.String,
    "gpu_type": pl.String,
    "features": pl.String,
    "exclusive": pl.Boolean,
    "kind": pl.String,
    "attempts": pl.Int64,
    **CONDITION_COLUMNS,
}
"""What else some logs tell; these columns follow the others."""

_NUMERIC_SOURCES = (pl.String, pl.Null)
_LINE: Final = "@line"


@dataclass(frozen=True, eq=False)
class WholeLog:
    """The log that a workload is, or is a window of: it decides what is to be the same in all windows."""

    jobs: pl.DataFrame
    size_by: dict[str, str] = field(default_factory=dict)
    """By a cluster's hash, what sizes are counted in there, once `shunter.model.size` has worked it out."""
    _texts: dict[str, frozenset[str]] = field(default_factory=dict, repr=False)

    def texts(self, column: str) -> frozenset[str]:
        """Returns all texts of a column, looked for once; none if the log does not have it."""
        if column not in self._texts:
            found = self.jobs[column].drop_nulls().unique().to_list() if column in self.jobs.columns else []
            self._texts[column] = frozenset(found)
        return self._texts[column]


@dataclass(frozen=True)
class Workload:
    """Jobs to be scheduled, and where they come from."""

    jobs: pl.DataFrame
    """One row a job, with the columns of `COLUMNS`, sorted by ``submit_s``; equal times keep the source's order."""
    name: str
    """The file's name or the generator's spec, for tables and figures."""
    ledger: Ledger
    """What was repaired while reading."""
    content_sha256: str
    """The hash of a file's bytes, or of a generator's canonical spec. A window has the hash of its source."""
    cluster_spec: str | None = None
    """The machine that the source tells of, as `shunter.read_cluster` takes it: the cores in a log's header, say."""
    cluster_note: str | None = None
    """Why the machine cannot be known from what the source says of it; None where it can, or nothing is said."""
    format: str | None = None
    """The format in which the file was read; None if the jobs were not read from a file."""
    earlier: pl.DataFrame | None = None
    """Where this is a window: the jobs before it, from which estimates may have learned."""
    places: Places | None = None
    """Where the jobs stand in the source; None if the jobs were not read from a file."""
    words: tuple[str, ...] = ()
    """What names it on a command line, as the user did: the file, and how it is read; empty if it was not read."""
    clock_offset_s: float | None = None
    """What is to be added to the log's seconds to have its site's clock, in seconds since 1970; None: nobody tells."""
    window_of: WholeLog | None = field(default=None, repr=False)
    """Where this is a window: the log that it was cut from."""

    @cached_property
    def log(self) -> WholeLog:
        """The log that this is, or is a window of."""
        return self.window_of or WholeLog(self.whole().jobs)

    @classmethod
    def from_frame(
        cls,
        frame: pl.DataFrame,
        *,
        name: str,
        where: str | None = None,
        others: bool = True,
        may_be_empty: bool = False,
        ledger: Ledger | None = None,
        content_sha256: str | None = None,
        cluster_spec: str | None = None,
        strict: bool = False,
        locate: Locate | None = None,
        lines: pl.Series | None = None,
    ) -> Workload:
        """Checks a table of jobs, adds the columns that it does not have, and sorts it by submit time.

        Args:
            frame: At least ``submit_s`` and ``run_s``.
            name: What tables call the workload.
            where: What errors call the table as a whole; None: its name.
            others: Whether columns that neither `COLUMNS` nor `EXTRA_COLUMNS` has stay, at the end.
            may_be_empty: Whether a table without jobs is fine: a queue is empty at times. No simulation runs on it.
            ledger: Repairs already made; None: there are none.
            content_sha256: Of the source; by default of the table itself.
            cluster_spec: The machine, if the source tells of one.
            strict: Whether rows out of order are an error instead of being sorted.
            locate: Names a row's place in the source, for errors and the ledger.
            lines: What `locate` is told of each row (the number of its line, for instance), and is kept for later;
                None: the row, counted from 0.

        Raises:
            InputError: A required column is missing, or a value is not what its column holds.
        """
        # Few rows are ever asked for their place, in errors and as examples in the ledger: it is worked out for those.
        place = locate or (lambda row: f"{name}: row {row + 1}")
        locate = place if lines is None else (lambda row: place(lines[row]))
        check_columns(frame, where or name, may_be_empty=may_be_empty)
        extra = frame.columns if others else EXTRA_COLUMNS
        jobs = frame.select(
            *(_typed(frame, column, locate) for column in COLUMNS),
            *(_typed_extra(frame, column, locate) for column in extra if column in frame and column not in COLUMNS),
        )
        _check_values(jobs, frame, locate)
        _check_ids(jobs.get_column("job_id"), locate)
        check_conditions(jobs, locate)
        if lines is not None:
            # Lines are sorted together with the jobs.
            jobs = jobs.with_columns(lines.alias(_LINE))
        jobs, ledger = _sorted(jobs, Ledger() if ledger is None else ledger, strict, locate)
        places = None
        if lines is not None:
            # Taken from the sorted table, the ids are those of its column, and take no room of their own.
            places = Places(jobs["job_id"], jobs[_LINE], place)
            jobs = jobs.drop(_LINE)
        # A table without a source is its own source.
        digest = content_sha256 or hashlib.sha256(jobs.write_csv().encode()).hexdigest()
        return cls(jobs, name, ledger, digest, cluster_spec, places=places)

    def __len__(self) -> int:
        return self.jobs.height

    def window(self, start: int = 0, length: int | None = None) -> Workload:
        """Returns the jobs from index `start` on, `length` of them; their submit times stay absolute.

        Raises:
            InputError: The window holds no job, or reaches beyond the last one.
        """
        if start >= len(self):
            raise InputError(
                f"{self.name}: the window starts at job {start}, but the workload has {len(self)}; "
                "choose an earlier start (the first job is 0)"
            )
        stop = len(self) if length is None else start + length
        if not 0 <= start < stop <= len(self):
            raise InputError(
                f"{self.name}: window of jobs {start} to {stop} lies outside the workload's {len(self)} jobs; "
                "choose a start and a length within them"
            )
        # Whoever asks for everything gets the same object, with the same name and hash.
        if (start, stop) == (0, len(self)):
            return self
        # Estimates that learn may have seen the jobs before the window.
        before = self.jobs.slice(0, start)
        return replace(
            self,
            jobs=self.jobs.slice(start, stop - start),
            name=f"{self.name}[{start}:{stop}]",
            earlier=before if self.earlier is None else pl.concat([self.earlier, before]),
            window_of=self.log,
        )

    def derived(self, what: str, **changes: Any) -> Workload:  # noqa: ANN401 - fields of this class
        """Returns a workload made from this one, with some fields changed.

        Args:
            what: How it was made. It goes into the hash, so that no result is taken for one of the other workload.
            changes: The fields, by name.
        """
        digest = hashlib.sha256(f"{self.content_sha256} {what}".encode()).hexdigest()
        # Other jobs are another log.
        return replace(self, content_sha256=digest, **{"window_of": None} | changes)

    def whole(self) -> Workload:
        """Returns a window together with the jobs before it; a whole workload is returned as it is."""
        if self.earlier is None or self.earlier.height == 0:
            return self
        return replace(self, jobs=pl.concat([self.earlier, self.jobs]), earlier=None)


def check_columns(frame: pl.DataFrame, name: str, *, may_be_empty: bool = False) -> None:
    """Raises an error if a table lacks a column that every workload needs, or holds no job where one is needed."""
    for column, kind in COLUMNS.items():
        if kind.required and column not in frame.columns:
            raise InputError(
                f"{name}: column {column} is missing{_nearest(column, frame.columns)}; add it, or say with "
                f"--map {column}=... what gives it"
            )
    if frame.height == 0 and not may_be_empty:
        raise InputError(f"{name}: the table holds no job; give it at least one")


def _nearest(column: str, candidates: list[str]) -> str:
    from difflib import get_close_matches

    unknown = [candidate for candidate in candidates if candidate not in COLUMNS]
    close = get_close_matches(column, unknown, n=1, cutoff=0.5)
    return f' (did you mean it by "{close[0]}"?)' if close else ""


def _typed(frame: pl.DataFrame, column: str, locate: Locate) -> pl.Series:
    """Returns one column with its type and its defaults."""
    kind = COLUMNS[column]
    if column not in frame.columns:
        if column == "job_id":
            return pl.int_range(1, frame.height + 1, dtype=pl.Int64, eager=True).alias(column)
        return pl.repeat(kind.default, frame.height, dtype=kind.dtype(), eager=True).alias(column)
    values = frame.get_column(column)
    if column == "job_id":
        return _typed_ids(values, locate)
    typed = _to_type(values, kind.dtype, locate)
    return typed if kind.default is None else typed.fill_null(kind.default)


def _typed_extra(frame: pl.DataFrame, column: str, locate: Locate) -> pl.Series:
    values = frame.get_column(column)
    return _to_type(values, EXTRA_COLUMNS[column], locate) if column in EXTRA_COLUMNS else values


def _to_type(values: pl.Series, dtype: type[pl.DataType], locate: Locate) -> pl.Series:
    if dtype is pl.Boolean:
        return _to_flag(values, locate)
    return _to_text(values, locate) if dtype is pl.String else _to_number(values, dtype, locate)


def _to_flag(values: pl.Series, locate: Locate) -> pl.Series:
    """Returns yes or no, as tables write it: true and false, or 1 and 0; null where nothing is said."""
    words = values.cast(pl.String).str.strip_chars().str.to_lowercase()
    known = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    flags = words.replace_strict(known, default=None, return_dtype=pl.Boolean)
    wrong = flags.is_null() & words.is_not_null() & (words != "")
    if (row := wrong.arg_max()) is not None and wrong[row]:
        raise _wrong_value(values, row, "true or false", locate)
    return flags


def _to_text(values: pl.Series, locate: Locate) -> pl.Series:
    try:
        return values.cast(pl.String)
    except PolarsError:
        raise InputError(
            f'{locate(0)}: column "{values.name}" holds {values.dtype}; expected text; convert it'
        ) from None


def _typed_ids(values: pl.Series, locate: Locate) -> pl.Series:
    """Returns ids as whole numbers where all of them are written as such, otherwise as text."""
    if values.dtype.is_integer():
        numbers = values.cast(pl.Int64, strict=False)
        if numbers.null_count() > values.null_count():
            row = (numbers.is_null() & values.is_not_null()).arg_max() or 0
            raise _wrong_value(values, row, "a number below 2**63", locate)
        return numbers
    if values.dtype.is_numeric():
        return _to_number(values, pl.Int64, locate)
    text = _to_text(values, locate)
    numbers = text.cast(pl.Int64, strict=False)
    # "007" and 7 are different ids, so a text is taken as a number only where both are written alike.
    return numbers if (numbers.cast(pl.String) == text).fill_null(False).all() else text


def _to_number(values: pl.Series, dtype: type[pl.DataType], locate: Locate) -> pl.Series:
    if values.dtype == dtype:
        return values
    if not (values.dtype.is_numeric() or values.dtype in _NUMERIC_SOURCES):
        raise InputError(f'{locate(0)}: column "{values.name}" holds {values.dtype}; expected numbers; convert it')
    # Tables that people write have blanks beside their numbers.
    trimmed = values.str.strip_chars() if values.dtype == pl.String else values
    numbers = trimmed.cast(pl.Float64, strict=False)
    wrong = numbers.is_null() & trimmed.is_not_null()
    expected = "a number"
    if dtype is pl.Int64:
        # What a 64-bit integer cannot hold would become null in the cast, and then the default.
        whole = (numbers == numbers.floor()) & numbers.is_between(-(2.0**62), 2.0**62)
        wrong = wrong | (numbers.is_not_null() & ~whole)
        expected = "a whole number"
    if (row := wrong.arg_max()) is not None and wrong[row]:
        raise _wrong_value(values, row, expected, locate)
    return numbers.cast(dtype, strict=False)


def _wrong_value(values: pl.Series, row: int, expected: str, locate: Locate) -> InputError:
    value = values[row]
    # Tables may have made 5 to 5.0; the error shall show what stands in the file.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    shown = "empty" if value is None else f'"{value}"'
    return InputError(f'{locate(row)}: column "{values.name}" is {shown}; expected {expected}; mend or remove the row')


def _check_values(jobs: pl.DataFrame, frame: pl.DataFrame, locate: Locate) -> None:
    """Raises an error for the first value that its column does not allow, as the source's table has it."""
    rules = _rules()
    # One pass over the table for all rules; which row is wrong is looked for only if one is.
    broken = jobs.select(rule.any().alias(str(number)) for number, (_, rule, _) in enumerate(rules)).row(0)
    for (column, rule, expected), is_broken in zip(rules, broken, strict=True):
        if is_broken:
            row = jobs.select(rule.fill_null(False).arg_max()).item()
            # The source's own value, before it was turned into a number.
            values = (frame if column in frame.columns else jobs).get_column(column)
            raise _wrong_value(values, row, expected, locate)


def _rules() -> list[tuple[str, pl.Expr, str]]:
    """Returns, for each check, the column, what is wrong, and what was expected."""
    rules = []
    for column, kind in COLUMNS.items():
        value = pl.col(column)
        if kind.required or column == "job_id":
            rules.append((column, value.is_null(), "a value"))
        if kind.low is not None:
            expected = f"a number from {kind.low:,.0f} to {kind.high:,.0f}"
            # A NaN is neither below nor above, and therefore asked for by name.
            outside = ~value.is_between(kind.low, kind.high)
            rules.append((column, outside | value.is_nan() if kind.dtype is pl.Float64 else outside, expected))
    cores, gpus = pl.col("tasks") * pl.col("cores_per_task"), pl.col("gpus_per_task")
    rules.append(("cores_per_task", cores > CORES_LIMIT, f"at most {CORES_LIMIT:,.0f} cores over all tasks"))
    rules.append(("gpus_per_task", (gpus > 1) & (gpus != gpus.floor()), "a fraction below 1, or a whole number"))
    for column in ("cores_per_task", "gpus_per_task"):
        # The core counts thousandths, rounded half to even: what rounds to none would be had for nothing.
        vanishes = (pl.col(column) > 0) & (pl.col(column) * 1000 <= 0.5)
        rules.append((column, vanishes, "0, or 0.001 at least"))
    return rules


def _check_ids(ids: pl.Series, locate: Locate) -> None:
    # Ids in ascending order, as in most logs, need no table of those already seen.
    if ids.dtype == pl.Int64 and (ids.diff().slice(1) > 0).all():
        return
    first = ids.is_first_distinct()
    if not first.all():
        # Two jobs with one id could not be told apart in a schedule.
        raise _wrong_value(ids, first.arg_min() or 0, "an id that no earlier job has", locate)


def _sorted(jobs: pl.DataFrame, ledger: Ledger, strict: bool, locate: Locate) -> tuple[pl.DataFrame, Ledger]:
    submit_s = jobs.get_column("submit_s")
    if submit_s.is_sorted():
        return jobs, ledger
    # Equal times are in order: they keep the order of the source.
    early = submit_s.diff().fill_null(0) < 0
    row = early.arg_max() or 0
    what = f"submit time {submit_s[row]:.15g} after {submit_s[row - 1]:.15g}"
    if strict:
        raise InputError(f"{locate(row)}: {what}; expected submit times in order; run without --strict to sort them")
    repaired = ledger.plus("submit time before the previous job's: sorted", int(early.sum()), f"{locate(row)}: {what}")
    # The order of jobs that come at one time decides ties, so it has to be the source's.
    return jobs.sort("submit_s", maintain_order=True), repaired
