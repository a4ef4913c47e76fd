"""What keeps jobs of a table from waiting for nodes: times, other jobs, arrays; and when they leave the queue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from shunter.errors import InputError
from shunter.model.needs import KINDS, SINGLETON, parse_needs, with_other_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from shunter.model.log import Locate

TIMES: Final = ("begin_s", "release_s", "cancel_s")
"""The columns of absolute times; none of them is before the job's submit time."""
CONDITION_COLUMNS: Final[dict[str, type[pl.DataType]]] = {
    **dict.fromkeys(TIMES, pl.Float64),
    "depends_on": pl.String,
    "array_id": pl.String,
    "array_limit": pl.Int64,
}
TIME_LIMIT_S: Final = 1e12
ARRAY_LIMIT: Final = 2**31 - 1
BAD_ENDS: Final = (
    *("failed", "cancelled", "canceled", "timeout", "killed", "node_fail", "out_of_memory", "preempted"),
    *("boot_fail", "deadline", "revoked", "terminated", "requeued"),
)
"""The statuses of jobs that did not end well, in lower case."""
NO_TIME: Final = -(2**63)
MILLI: Final = 1000


@dataclass(frozen=True)
class Conditions:
    """The conditions of a table in the core's units; one value a job, or one a dependency, or one an array."""

    not_before_ms: NDArray[np.int64]
    cancel_ms: NDArray[np.int64]
    fails: NDArray[np.uint8]
    group: NDArray[np.int64]
    single: NDArray[np.uint8]
    array: NDArray[np.int64]
    array_limit: NDArray[np.int64]
    dependent: NDArray[np.uint32]
    depends_on: NDArray[np.uint32]
    dependency: NDArray[np.uint8]
    delay_ms: NDArray[np.int64]
    """Empty where no dependency has a delay."""


def has_conditions(jobs: pl.DataFrame) -> bool:
    """Returns whether any job of a table has a condition."""
    # An array alone keeps nobody waiting: only its limit does.
    told = [name for name in CONDITION_COLUMNS if name in jobs.columns and name != "array_id"]
    return any(jobs[name].null_count() < jobs.height for name in told)


def check_conditions(jobs: pl.DataFrame, locate: Locate) -> None:
    """Checks the conditions of a table whose other columns are right.

    Raises:
        InputError: One is wrong; the message names its place.
    """
    if not has_conditions(jobs):
        return
    for name in TIMES:
        if name in jobs.columns:
            wrong = ~jobs[name].is_finite() | (jobs[name].abs() > TIME_LIMIT_S) | (jobs[name] < jobs["submit_s"])
            _refuse(
                jobs, name, wrong, f"a time that is not before the job's submit time, to {TIME_LIMIT_S:,.0f}", locate
            )
    if "array_limit" in jobs.columns and jobs["array_limit"].null_count() < jobs.height:
        limit = jobs["array_limit"]
        _refuse(jobs, "array_limit", (limit < 1) | (limit > ARRAY_LIMIT), "a whole number from 1 on", locate)
        if "array_id" not in jobs.columns or (limit.is_not_null() & jobs["array_id"].is_null()).any():
            alone = limit.is_not_null() & (jobs["array_id"].is_null() if "array_id" in jobs.columns else True)
            _refuse(jobs, "array_limit", alone, "none for a job that is in no array (array_id)", locate)
        first = jobs.select(pl.col("array_limit").drop_nulls().first().over("array_id")).to_series()
        _refuse(jobs, "array_limit", limit != first, "the same number in all jobs of an array", locate)
    if "depends_on" in jobs.columns:
        _check_dependencies(jobs, locate)


def _refuse(jobs: pl.DataFrame, column: str, wrong: pl.Series, expected: str, locate: Locate) -> None:
    """Raises an error for the first row in which a column is wrong."""
    row = wrong.fill_null(False).arg_max()
    if row is None or not wrong.fill_null(False)[row]:
        return
    value = jobs[column][row]
    value = int(value) if isinstance(value, float) and value.is_integer() else value
    raise InputError(f'{locate(row)}: column "{column}" is "{value}"; expected {expected}; mend or remove the row')


class _Targets:
    """Finds the jobs that a dependency names: one with this id, or all of the array with it."""

    def __init__(self, jobs: pl.DataFrame) -> None:
        self._row_of = {str(job_id): row for row, job_id in enumerate(jobs["job_id"].to_list())}
        self._array: dict[str, list[int]] = {}
        if "array_id" in jobs.columns:
            for row, array in enumerate(jobs["array_id"].to_list()):
                if array is not None:
                    self._array.setdefault(array, []).append(row)

    def rows(self, name: str) -> list[int]:
        """Returns the rows of the jobs that are meant; empty if there is none."""
        row = self._row_of.get(name)
        return self._array.get(name, []) if row is None else [row]


def _needs_by_row(jobs: pl.DataFrame) -> Iterator[tuple[int, str]]:
    """Returns the rows whose jobs depend on others, with what their cells say."""
    if "depends_on" in jobs.columns:
        cells = jobs["depends_on"]
        rows = np.flatnonzero(cells.is_not_null().to_numpy())
        yield from zip(rows.tolist(), cells.gather(rows).to_list(), strict=True)


def _check_dependencies(jobs: pl.DataFrame, locate: Locate) -> None:
    targets = _Targets(jobs)
    has_name = jobs["user"].is_not_null() & (jobs["name"].is_not_null() if "name" in jobs.columns else False)
    waits_for: dict[int, list[int]] = {}
    for row, text in _needs_by_row(jobs):
        what = f'{locate(row)}: column "depends_on" is "{text}"'
        try:
            needs = list(parse_needs(text))
        except ValueError as wrong:
            raise InputError(f"{what}; expected {wrong}; mend or remove the row") from None
        for need in needs:
            rows = [] if need.kind == SINGLETON else targets.rows(need.on)
            if need.kind != SINGLETON and not rows:
                raise InputError(f"{what}, but there is no job {need.on}{need.hint}; mend or remove the dependency")
            if row in rows:
                raise InputError(f"{what}: job {jobs['job_id'][row]} cannot depend on itself; mend or remove it")
            if need.kind == SINGLETON and not has_name[row]:
                raise InputError(
                    f"{what}; expected a user and a name, which tell the jobs that run one by one; add them"
                )
            waits_for.setdefault(row, []).extend(rows)
    if (cycle := _cycle(waits_for)) is not None:
        ids = " on ".join(str(jobs["job_id"][row]) for row in (*cycle, cycle[0]))
        raise InputError(f"{locate(cycle[0])}: jobs wait for each other: {ids}; remove one of these dependencies")


def _cycle(waits_for: Mapping[int, list[int]]) -> list[int] | None:
    """Returns rows that wait for each other in a circle, if there are any."""
    done: set[int] = set()
    for root in waits_for:
        path: list[int] = []
        on_path: dict[int, int] = {}
        stack = [(root, iter(waits_for[root]))] if root not in done else []
        if stack:
            path, on_path = [root], {root: 0}
        while stack:
            row, others = stack[-1]
            other = next((one for one in others if one not in done), None)
            if other is None:
                stack.pop()
                done.add(row)
                path.pop()
                del on_path[row]
            elif other in on_path:
                return path[on_path[other] :]
            else:
                on_path[other] = len(path)
                path.append(other)
                stack.append((other, iter(waits_for.get(other, ()))))
    return None


def compile_conditions(jobs: pl.DataFrame) -> Conditions | None:
    """Returns the conditions of a table as the core takes them; None if there are none.

    A dependency on a job that the table does not have, since it was cut from a larger one, is met.
    """
    if not has_conditions(jobs):
        return None
    begin_ms, release_ms, cancel_ms = (_times_ms(jobs, name) for name in TIMES)
    edges, single = _edges(jobs)
    array, array_limit = _arrays(jobs)
    fails = jobs["status"].str.to_lowercase().str.replace(r" .*$", "").is_in(BAD_ENDS).fill_null(False)
    return Conditions(
        np.maximum(begin_ms, release_ms),
        cancel_ms,
        fails.to_numpy().astype(np.uint8),
        _groups(jobs, single),
        single,
        array,
        array_limit,
        edges[0].astype(np.uint32),
        edges[1].astype(np.uint32),
        edges[2].astype(np.uint8),
        np.ascontiguousarray(edges[3] if edges[3].any() else edges[3][:0]),
    )


def _times_ms(jobs: pl.DataFrame, name: str) -> NDArray[np.int64]:
    if name not in jobs.columns:
        return np.full(jobs.height, NO_TIME, dtype=np.int64)
    values = jobs[name].fill_null(float("nan")).to_numpy()
    known = np.isfinite(values)
    return np.where(known, np.rint(np.where(known, values, 0.0) * MILLI).astype(np.int64), NO_TIME)


def _edges(jobs: pl.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Returns who depends on whom, how and with which delay in ms, four rows; and which jobs are singletons."""
    single = np.zeros(jobs.height, dtype=np.uint8)
    delay_ms: dict[tuple[int, int, int], int] = {}
    targets = _Targets(jobs) if "depends_on" in jobs.columns else None
    for row, text in _needs_by_row(jobs):
        for need in parse_needs(text):
            if need.kind == SINGLETON:
                single[row] = 1
            elif targets is not None:
                for other in targets.rows(need.on):
                    edge = (row, other, KINDS[need.kind])
                    delay_ms[edge] = max(need.delay_ms, delay_ms.get(edge, 0))
    edges = [(*edge, delay_ms[edge]) for edge in sorted(delay_ms)]
    return np.array(edges, dtype=np.int64).reshape(-1, 4).T, single


def _groups(jobs: pl.DataFrame, single: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Returns a number for each user and name that has a singleton, −1 for all others."""
    if not single.any():
        return np.empty(0, dtype=np.int64)
    both = jobs.select(pl.concat_str(["user", "name"], separator="\0")).to_series()
    numbers = both.rank("dense").cast(pl.Int64).fill_null(0).to_numpy() - 1
    wanted = np.isin(numbers, numbers[single == 1])
    return np.where(wanted, numbers, -1)


def _arrays(jobs: pl.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns the number of each job's array, if that has a limit, and the limits."""
    if "array_limit" not in jobs.columns or jobs["array_limit"].null_count() == jobs.height:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    limits = jobs.group_by("array_id", maintain_order=True).agg(pl.col("array_limit").drop_nulls().first())
    limits = limits.filter(pl.col("array_id").is_not_null() & pl.col("array_limit").is_not_null())
    number_of = {array: number for number, array in enumerate(limits["array_id"].to_list())}
    numbers = [number_of.get(array, -1) for array in jobs["array_id"].to_list()]
    return np.array(numbers, dtype=np.int64), limits["array_limit"].to_numpy().astype(np.int64)


def renamed_needs(jobs: pl.DataFrame, names: Mapping[str, str]) -> pl.Series:
    """Returns ``depends_on`` with other names for jobs and arrays; needs of those that have none are left out."""
    cells = with_other_names(jobs["depends_on"].to_list(), lambda need: names.get(need.on))
    return pl.Series("depends_on", cells, dtype=pl.String)


def own_names(jobs: pl.DataFrame) -> dict[str, str]:
    """Returns the names by which jobs may depend on others of the table: of jobs and of arrays."""
    columns = [jobs[name].cast(pl.String) for name in ("array_id", "job_id") if name in jobs.columns]
    return {name: name for column in columns for name in column.drop_nulls().to_list()}


def that_ran(jobs: pl.DataFrame) -> pl.DataFrame:
    """Returns the jobs without those of which the log says that they left before they had started."""
    if "cancel_s" not in jobs.columns:
        return jobs
    return jobs.filter(pl.col("cancel_s").is_null() | pl.col("logged_wait_s").is_not_null())


def waits_from_s(jobs: pl.DataFrame) -> pl.Series:
    """Returns from when the log counts each job's wait: its submit time, or the time before which it could not run."""
    names = [name for name in ("submit_s", "begin_s", "release_s") if name in jobs.columns]
    return jobs.select(pl.max_horizontal(names)).to_series()


def shifted(jobs: pl.DataFrame, submit_s: pl.Expr) -> dict[str, pl.Expr]:
    """Returns the columns of times as they are if jobs are submitted at other times: as long after that as before."""
    return {name: submit_s + (pl.col(name) - pl.col("submit_s")) for name in TIMES if name in jobs.columns}
