"""How fast each kind of job runs on each type of GPU: a table in a cluster file, or in a CSV file beside it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from shunter.checks import whole
from shunter.errors import InputError
from shunter.files import csv_rows
from shunter.model.locality import LEVELS, NO_SLOWDOWN, Slowdown, slowdown_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

KIND: Final = "kind"
GPUS: Final = "gpus"
SPEED: Final = "speed_"
"""How the columns of the table begin that have the speeds on a type."""
SLOWDOWN: Final = "slowdown_"
"""How those begin that say by how much slower a spread gang is: ``slowdown_nodes``, ``slowdown_racks_V100``."""
OTHERS: Final = "*"
"""The kind whose rows stand for all kinds that the table does not name."""
NO_KIND: Final = -1
"""The row of a job that runs as fast as its nodes are."""
FULL_SPEED_MICRO: Final = 1_000_000
SPEED_RANGE: Final = (0.001, 1000.0)
_MOST_GPUS: Final = 10**9


@dataclass(frozen=True)
class KindRow:
    """How fast jobs of one kind run that have so many GPUs, or more, up to the next row of the kind."""

    kind: str
    gpus: int
    micro: tuple[int, ...]
    """The speed on each type in millionths of what run times are given for; 0: the kind does not run there."""
    slowdown_micro: tuple[Slowdown, ...]
    """By how much slower it is on each type if it is spread."""

    @property
    def runs_on(self) -> int:
        """A bit for each type on which the kind runs."""
        return sum(1 << number for number, speed in enumerate(self.micro) if speed)


@dataclass(frozen=True)
class KindTable:
    """The speeds of kinds of jobs on the types of a cluster."""

    types: tuple[str, ...]
    """The types of GPUs, in the cluster's order."""
    rows: tuple[KindRow, ...]
    """Sorted by kind and number of GPUs."""
    where: str
    """What errors call the table: the file that holds it."""

    @classmethod
    def of(
        cls,
        rows: Iterable[tuple[str, Mapping[str, object]]],
        types: Sequence[str],
        where: str,
        reference: str | None = None,
        slowdown: Slowdown = NO_SLOWDOWN,
    ) -> KindTable:
        """Returns the table of some rows, checked; the format is in ``docs/workloads.md``.

        Args:
            rows: What errors call each row, and its cells by column: numbers, or numbers written as text.
            types: The types of GPUs of the cluster, for each of which a row has a speed.
            where: What errors call the table.
            reference: The type whose speed is 1, by which all speeds of a row are divided; None: they stay.
            slowdown: By how much slower a kind is that is spread, where its row does not say.

        Raises:
            InputError: A column is missing, or a cell is not what its column holds.
        """
        found: dict[tuple[str, int], tuple[str, KindRow]] = {}
        for place, cells in rows:
            row = _row(cells, types, place, reference, slowdown)
            other, _ = found.setdefault((row.kind, row.gpus), (place, row))
            if other != place:
                what = f'kind "{row.kind}" with {row.gpus} GPUs'
                raise InputError(f"{place}: {what} has a row already ({other}); leave one of them out")
        if not found:
            raise InputError(f"{where}: the table of speeds has no row; give it one for each kind of job")
        return cls(tuple(types), tuple(row for _, row in (found[key] for key in sorted(found))), where)

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that the table names."""
        return tuple(dict.fromkeys(row.kind for row in self.rows))

    @property
    def micro(self) -> NDArray[np.int64]:
        """The speeds in millionths, one row a kind and number of GPUs."""
        return np.array([row.micro for row in self.rows], dtype=np.int64)

    @property
    def content(self) -> list[object]:
        """What tells it from other tables, for a hash."""
        return [[row.kind, row.gpus, *row.micro, row.slowdown_micro] for row in self.rows]

    def rows_of(self, jobs: pl.DataFrame) -> NDArray[np.int64]:
        """Returns each job's row: of its kind the last that has no more GPUs than the job, or else the first.

        A job without GPUs has none, and neither has one without a kind where no row stands for all others.

        Args:
            jobs: The workload's table; its column ``kind`` may be absent.

        Raises:
            InputError: A job has a kind that the table lacks, and no row stands for all others.
        """
        found = np.full(jobs.height, NO_KIND, dtype=np.int64)
        gpus = jobs["tasks"].to_numpy() * jobs["gpus_per_task"].to_numpy()
        kinds = _kinds_of(jobs)
        asked = pl.DataFrame({KIND: kinds}).with_row_index("job").filter(pl.Series(gpus > 0))
        for (kind,), group in asked.group_by(KIND, maintain_order=True):
            places = group["job"].to_numpy()
            named = kind if kind in self._first_rows else OTHERS
            if named in self._first_rows:
                first, sizes = self._first_rows[named]
                found[places] = first + np.maximum(np.searchsorted(sizes, gpus[places], side="right") - 1, 0)
            elif kind is not None:
                raise self._unknown(str(kind), jobs["job_id"][int(places[0])] if "job_id" in jobs.columns else None)
        return found

    def stand_ins(self, jobs: pl.DataFrame) -> dict[str, pl.Series]:
        """Returns what stands in for a kind that a job with GPUs has not, or that has no row, and for which jobs."""
        kinds = _kinds_of(jobs)
        has_gpus = jobs["gpus_per_task"] > 0
        unnamed, unknown = has_gpus & kinds.is_null(), has_gpus & ~kinds.is_in(self.kinds).fill_null(value=True)
        instead = f'the row "{OTHERS}"' if OTHERS in self.kinds else "the speed of its nodes"
        return {
            f"no kind: {instead} stands in": unnamed,
            f'a kind without a row of speeds: the row "{OTHERS}" stands in': unknown,
        }

    def runs_on(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns the types that jobs of these rows run on, as bits; all of them for a job without a row."""
        masks = np.array([*(row.runs_on for row in self.rows), (1 << len(self.types)) - 1], dtype=np.int64)
        return np.asarray(masks[rows])

    @cached_property
    def _first_rows(self) -> dict[str, tuple[int, NDArray[np.int64]]]:
        """The first row of each kind, and the numbers of GPUs of its rows."""
        names = [row.kind for row in self.rows]
        sizes = {kind: np.array([row.gpus for row in self.rows if row.kind == kind]) for kind in self.kinds}
        return {kind: (names.index(kind), sizes[kind]) for kind in self.kinds}

    def _unknown(self, kind: str, job: object) -> InputError:
        close = get_close_matches(kind, self.kinds, n=1)
        hint = f'did you mean "{close[0]}"? Add' if close else "add"
        whose = "a job" if job is None else f"job {job}"
        return InputError(
            f'{self.where}: has no kind "{kind}", of which {whose} is; {hint} its row, or one with the kind "{OTHERS}" '
            "for all others"
        )


def _kinds_of(jobs: pl.DataFrame) -> pl.Series:
    """Returns the column of kinds; a table without it has jobs without kinds."""
    return jobs[KIND] if KIND in jobs.columns else pl.Series(KIND, [None] * jobs.height, dtype=pl.String)


def read_kinds(path: Path, types: Sequence[str], reference: str | None, slowdown: Slowdown) -> KindTable:
    """Reads the table from a CSV file with a header.

    Raises:
        InputError: The file cannot be read, or has a mistake.
    """
    rows = csv_rows(path, "table of speeds")
    header: list[str] = []
    cells_of: list[tuple[str, dict[str, object]]] = []
    for where, cells in rows:
        if not header:
            header = cells
            # A mistake in the header would be one in every row: it is told once, of the header's line.
            _check_columns(header, types, where)
        elif len(cells) != len(header):
            raise InputError(f"{where}: has {len(cells)} cells, and the header {len(header)}; mend the line")
        else:
            cells_of.append((where, dict(zip(header, cells, strict=True))))
    return KindTable.of(cells_of, types, str(path), reference, slowdown)


def _check_columns(columns: Sequence[str], types: Sequence[str], where: str) -> None:
    """Raises an error if a table has no kinds, or lacks a type of the cluster."""
    if KIND not in columns:
        raise InputError(f'{where}: column {KIND} is missing in "{",".join(columns)[:60]}"; name the kinds of jobs')
    folded = [column.casefold() for column in columns]
    for name in types:
        if (column := f"{SPEED}{name}".casefold()) not in folded:
            close = get_close_matches(column, folded, n=1)
            hint = f"; did you mean it by {columns[folded.index(close[0])]}?" if close else ""
            raise InputError(f"{where}: column {SPEED}{name} is missing, but nodes have GPUs of this type{hint}")


def _row(
    cells: Mapping[str, object], types: Sequence[str], where: str, reference: str | None, slowdown: Slowdown
) -> KindRow:
    _check_columns(list(cells), types, where)
    kind = cells[KIND]
    if not (isinstance(kind, str) and kind.strip()):
        raise InputError(f"{where}: {KIND} is {kind!r}; expected the name of a kind of job")
    gpus = cells.get(GPUS, 1)
    gpus = whole(f"{where}: {GPUS}", int(gpus) if isinstance(gpus, str) and gpus.isdecimal() else gpus, 1, _MOST_GPUS)
    # Types that the cluster does not have are checked as well: a mistake is one, whoever reads the table.
    speeds = {
        name.casefold().removeprefix(SPEED): _number(value, f"{where}: {name}")
        for name, value in cells.items()
        if name.casefold().startswith(SPEED)
    }
    if not any(speeds.values()):
        raise InputError(f'{where}: kind "{kind}" runs on no type, for all its speeds are 0; leave the row out')
    unit = 1.0 if reference is None else _reference_speed(speeds, reference, where)
    micro = tuple(_micro(speeds[name.casefold()] / unit, f"{where}: {SPEED}{name}") for name in types)
    return KindRow(kind, gpus, micro, tuple(_slowdown(cells, name, where) or slowdown for name in types))


def _slowdown(cells: Mapping[str, object], gpu_type: str, where: str) -> Slowdown | None:
    """Returns by how much slower the kind is on a type if it is spread, where the row says so."""
    given = {name.casefold(): (f"{where}: {name}", value) for name, value in cells.items() if value != ""}
    told: dict[str, tuple[str, object]] = {}
    for level in LEVELS:
        # What is said of a type goes before what is said of all.
        for column in (f"{SLOWDOWN}{level}_{gpu_type}".casefold(), f"{SLOWDOWN}{level}"):
            if column in given:
                told.setdefault(level, given[column])
    return slowdown_of(told)


def _number(value: object, where: str) -> float:
    try:
        speed = float(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else math.nan
    except ValueError:
        speed = math.nan
    if not (math.isfinite(speed) and speed >= 0):
        raise InputError(f"{where} is {value!r}; expected a speed above 0, or 0 where the kind does not run")
    return speed


def _reference_speed(speeds: Mapping[str, float], reference: str, where: str) -> float:
    speed = speeds.get(reference.casefold())
    if not speed:
        what = "is missing" if speed is None else "is 0"
        raise InputError(
            f"{where}: {SPEED}{reference} {what}, and reference_gpu is {reference}; give the speed by which the others "
            "of the row are divided"
        )
    return speed


def _micro(speed: float, where: str) -> int:
    low, high = SPEED_RANGE
    if speed and not low <= speed <= high:
        raise InputError(f"{where} comes to a speed of {speed:g}; expected 0, or {low:g} to {high:g}")
    # Millionths, as the core counts speeds, so that every machine comes to the same times.
    return round(speed * FULL_SPEED_MICRO)
