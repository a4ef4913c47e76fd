"""The data of a Gantt chart: what `gantt.js` draws, packed small enough for a page.

Columns are typed arrays, deflated and written in base64; columns that rise are coded as steps from one to the next.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from shunter.errors import visible
from shunter.metrics.explanation import explain
from shunter.metrics.explanation_text import conclusion
from shunter.metrics.lanes import stacked
from shunter.metrics.waiting import AT_ONCE, Waiting, look_at_waits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.metrics.record import Record

MILLI: Final = 1000
NOT_KNOWN: Final = 2**32 - 1
"""Stands for a number that is not there."""
UNITS_MS: Final = (1, 10, 100, 1000, 10_000, 100_000)
"""Times are counted in the first of these in which they have room."""
MOST_JOBS: Final = 200_000
"""Of a larger run, so many jobs are drawn, the first to be submitted."""
MOST_EXPLAINED, MOST_MEANWHILE, MOST_IN_ALL = 100, 4_000, 40_000
"""So many jobs are explained exactly, those that waited longest. It takes the longer the more others ran meanwhile: of
these no job has more than the second number, and all together no more than the third."""
LEVEL: Final = 6
"""Of compression."""
ALWAYS_TOLD: Final = ("cores", "free")
WAIT_EDGES_S: Final = (60, 600, 3_600, 21_600, 86_400)
WAIT_NAMES: Final = ("no wait (up to 1 min)", "up to 10 min", "up to 1 h", "up to 6 h", "up to 1 d", "longer")
NOTES: Final = (
    "It started as soon as it came.",
    "It might not run earlier than {eligible:time}, and started then.",
    "When it came, {free} of {total} {unit} were free and it asks for {asked}: it waited until others ended. "
    "{ahead} jobs were waiting already; {passed} that came later started before it.",
    "When it came, {free} {unit} were free, enough for the {asked} that it asks for, but {ahead} jobs were waiting "
    "already. Its place in the order, a reservation, or room that lay scattered over nodes held it; {passed} that came "
    "later started before it.",
    "It never ran: {outcome}.",
)
"""Why a job waited, by the reasons of `metrics.waiting`."""


def pack(record: Record, origin_s: float | None = None) -> dict[str, Any]:
    """Returns the data of the Gantt chart of a run.

    Args:
        record: Of the run.
        origin_s: The Unix time of second 0 of the log; None: its seconds are no dates.
    """
    return _Packing(record, origin_s).packed()


def drawn_resource(record: Record) -> str:
    """Returns what bars are high in: ``gpus`` where they are the larger part of what is used, otherwise ``cores``."""
    cluster = record.cluster
    if not cluster.total_gpus or not record.milli_gpus.any():
        return "cores"
    held_ms = np.bincount(record.segments.job, weights=record.segments.length_ms, minlength=len(record))
    parts = [
        float(np.sum(per_task * record.tasks * held_ms)) / total if total else 0.0
        for per_task, total in ((record.milli_gpus, cluster.total_gpus), (record.milli_cores, cluster.total_cores))
    ]
    return "gpus" if parts[0] >= parts[1] else "cores"


class _Packing:
    """One run on its way into a page."""

    def __init__(self, record: Record, origin_s: float | None) -> None:
        self.record = record
        self.resource = drawn_resource(record)
        self.unit = "GPUs" if self.resource == "gpus" else "cores"
        self.per_task_milli = record.milli_gpus if self.resource == "gpus" else record.milli_cores
        self.sizes = [float(getattr(node, self.resource)) for node in record.cluster.nodes]
        self.first_ms = float(record.submit_ms.min()) if len(record) else 0.0
        last_ms = float(max(record.segments.end_ms.max(initial=self.first_ms), record.submit_ms.max(initial=0.0)))
        self.unit_ms = next((each for each in UNITS_MS if (last_ms - self.first_ms) / each < NOT_KNOWN), UNITS_MS[-1])
        self.origin_s = None if origin_s is None else origin_s + self.first_ms / MILLI

    def packed(self) -> dict[str, Any]:
        """Returns everything as JSON has it."""
        rectangles, owner = self._rectangles()
        # Jobs that are drawn, and those that never ran: these can still be searched for.
        kept = np.arange(len(self.record))[:MOST_JOBS] if len(self.record) > MOST_JOBS else np.arange(len(self.record))
        shown = np.isin(owner, kept)
        rectangles, owner = rectangles[shown], owner[shown]
        start, end = self._time(rectangles[:, 0]), self._time(rectangles[:, 1])
        order = np.argsort(start, kind="stable")
        low, high = (np.rint(rectangles[:, place] * MILLI).astype(np.int64) for place in (2, 3))
        amount = self.per_task_milli * self.record.tasks / MILLI
        waiting = look_at_waits(self.record, amount, sum(self.sizes))
        return {
            "unit_s": self.unit_ms / MILLI,
            "row_unit": 1 / MILLI,
            "origin": self.origin_s,
            "now": None,
            "lanes": [{"name": visible(node.name), "size": size} for node, size in self._lanes() if size],
            "users": self._users()[0],
            "bars": {
                "start": column(start[order], steps=True, scale="time"),
                "length": column((end - start)[order], scale="time"),
                "low": column(low[order], scale="milli"),
                "height": column((high - low)[order], scale="milli"),
                "job": column(owner[order]),
            },
            "jobs": self._jobs(kept, waiting),
            "options": self._options(waiting),
        }

    def _lanes(self) -> Iterator[tuple[Any, float]]:
        return zip(self.record.cluster.nodes, self.sizes, strict=True)

    def _rectangles(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Returns rectangles and the job of each, as `lanes.stacked` does."""
        segments = self.record.segments
        used = self.per_task_milli[segments.job[segments.entry]] * segments.tasks
        kept = (used > 0) & (segments.length_ms > 0)[segments.entry]
        segment = segments.entry[kept]
        sizes = [round(size * MILLI) for size in self.sizes]
        times = segments.start_ms[segment], segments.end_ms[segment]
        return stacked(sizes, segments.nodes[kept], used[kept], *times, owner=segments.job[segment])

    def _time(self, time_ms: NDArray[np.float64]) -> NDArray[np.int64]:
        return np.rint((time_ms - self.first_ms) / self.unit_ms).astype(np.int64)

    def _users(self) -> tuple[list[str], NDArray[np.int64]]:
        """Returns the names of users, and the place of each job's."""
        users = self.record.rows["user"].cast(pl.String).fill_null("unknown")
        names = users.unique(maintain_order=True)
        places = users.replace_strict(names, pl.Series(range(len(names))), return_dtype=pl.Int64).to_numpy()
        return [visible(name) for name in names.to_list()], places

    def _jobs(self, kept: NDArray[np.int64], waiting: Waiting) -> dict[str, Any]:
        record, rows = self.record, self.record.rows
        ids = rows["job_id"]
        ran_ms = np.zeros(len(record))
        np.add.at(ran_ms, record.segments.job, record.segments.length_ms)
        outcomes = rows["outcome"].cast(pl.String).fill_null("unknown")
        self.outcomes = outcomes.unique(maintain_order=True).to_list()
        outcome = outcomes.replace_strict(self.outcomes, range(len(self.outcomes)), return_dtype=pl.Int64).to_numpy()
        ended_ms = rows["end_s"].cast(pl.Float64).fill_null(np.nan).to_numpy() * MILLI
        times = {
            "submit": self._time(record.submit_ms),
            "eligible": _offset(record.eligible_ms, self.first_ms, self.unit_ms),
            "start": _offset(waiting.start_ms, self.first_ms, self.unit_ms),
            "end": _offset(ended_ms, self.first_ms, self.unit_ms),
            "wait": _offset(waiting.start_ms - record.submit_ms, 0.0, self.unit_ms),
            "ran": _offset(ran_ms, 0.0, self.unit_ms),
            **self._requested(),
        }
        numbers = {
            "cores": record.milli_cores * record.tasks,
            "memory": record.memory_mb * record.tasks * MILLI,
            "gpus": record.milli_gpus * record.tasks,
            "free": np.rint(waiting.free * MILLI).astype(np.int64),
        }
        counts = {
            "user": self._users()[1],
            "tasks": record.tasks,
            "outcome": outcome,
            "reason": waiting.reason,
            "ahead": waiting.ahead,
            "passed": waiting.passed_by,
        }
        packed: dict[str, Any] = {"id": _ids(ids.gather(kept))}
        packed |= {name: column(values[kept], scale="time") for name, values in times.items()}
        told = {name: values for name, values in numbers.items() if values.any() or name in ALWAYS_TOLD}
        packed |= {name: column(values[kept], scale="milli") for name, values in told.items()}
        return packed | {name: column(values[kept]) for name, values in counts.items()}

    def _requested(self) -> dict[str, NDArray[np.int64]]:
        rows = self.record.rows
        if "requested_s" not in rows.columns:
            return {}
        known = rows["requested_s"].cast(pl.Float64).fill_null(np.nan).to_numpy()
        return {"requested": _offset(known * MILLI, 0.0, self.unit_ms)}

    def _options(self, waiting: Waiting) -> dict[str, Any]:
        fields = (
            ("user", "user", "users"),
            ("waited", "wait", "duration"),
            ("ran", "ran", "duration"),
            ("cores", "cores", "number"),
            ("GPUs", "gpus", "number"),
            ("memory [MB]", "memory", "number"),
            ("tasks", "tasks", "number"),
            ("asked for at most", "requested", "duration"),
            ("submitted", "submit", "time"),
            ("started", "start", "time"),
            ("ended", "end", "time"),
            ("outcome", "outcome", self.outcomes),
        )
        total, unit = f"{sum(self.sizes):,.6g}", self.unit
        texts = [text.replace("{total}", total).replace("{unit}", unit) for text in NOTES]
        asked = "gpus" if self.resource == "gpus" else "cores"
        texts = [text.replace("{asked}", f"{{{asked}}}") for text in texts]
        sizes = self.per_task_milli * self.record.tasks / MILLI
        size_edges, size_names = _size_classes(float(sizes.max(initial=1.0)), unit)
        return {
            "unit": unit,
            "fields": [{"title": title, "column": name, "kind": kind} for title, name, kind in fields],
            "notes": {"column": "reason", "texts": texts, "own": self._explained(waiting)},
            "colors": [
                # One color for all would tell nothing.
                *([{"title": "user", "column": "user", "names": "users"}] if len(self._users()[0]) > 1 else []),
                {"title": "wait", "column": "wait", "edges": list(WAIT_EDGES_S), "names": list(WAIT_NAMES)},
                {"title": unit, "column": asked, "edges": size_edges, "names": size_names},
                {"title": "outcome", "column": "outcome", "names": self.outcomes},
            ],
        }

    def _explained(self, waiting: Waiting) -> dict[str, str]:
        """Returns why the jobs waited that waited longest, exactly."""
        record = self.record
        waited_ms = np.nan_to_num(waiting.start_ms - record.eligible_ms)
        starts_ms, ends_ms = np.sort(record.segments.start_ms), np.sort(record.segments.end_ms)
        found: dict[str, str] = {}
        left = MOST_IN_ALL
        for row in np.argsort(-waited_ms, kind="stable")[: 10 * MOST_EXPLAINED].tolist():
            # Those that ran at some time while it waited.
            meanwhile = int(
                np.searchsorted(starts_ms, waiting.start_ms[row]) - np.searchsorted(ends_ms, record.eligible_ms[row])
            )
            if waiting.reason[row] == AT_ONCE or row >= MOST_JOBS or meanwhile > min(left, MOST_MEANWHILE):
                continue
            if len(found) == MOST_EXPLAINED:
                break
            left -= meanwhile
            found[str(row)] = visible(conclusion(explain(record, row)))
        return found


def _size_classes(largest: float, unit: str) -> tuple[list[float], list[str]]:
    """Returns the edges and names of six classes of sizes, each four times the one before; up to the largest."""
    edges = [1.0]
    while len(edges) < 5 and edges[-1] * 4 < largest:
        edges.append(edges[-1] * 4)
    names = [f"up to {edge:g} {unit}" for edge in edges]
    return edges, [*names, "more"]


def _offset(time_ms: NDArray[np.float64], first_ms: float, unit_ms: int) -> NDArray[np.int64]:
    """Returns times counted from another in units, `NOT_KNOWN` where there is none."""
    known = np.isfinite(time_ms)
    counted = np.rint((np.where(known, time_ms, first_ms) - first_ms) / unit_ms)
    return np.where(known, counted, NOT_KNOWN).astype(np.int64)


def _ids(ids: pl.Series) -> Any:  # noqa: ANN401 - a packed column, or a list of texts
    if ids.dtype.is_integer() and not ids.null_count():
        values = ids.to_numpy()
        if len(values) == 0 or (abs(int(values.min())) < 2**30 and abs(int(values.max())) < 2**30):
            return column(values, steps=True, kind="<i4")
    return [visible(str(one)) for one in ids.to_list()]


def column(
    values: NDArray[np.int64], *, steps: bool = False, scale: str | None = None, kind: str = "<u4"
) -> dict[str, Any]:
    """Returns a column of whole numbers, packed.

    Args:
        values: In the order of the table.
        steps: Whether each is coded as the step from the one before.
        scale: ``time``: it is counted in the unit of times; ``milli``: in thousandths.
        kind: Of the numbers, as NumPy calls it.
    """
    coded = np.diff(values, prepend=0) if steps else values
    kinds = {"<u4": "u32", "<i4": "i32"}
    raw = np.ascontiguousarray(coded.astype(np.int64).astype(kind)).tobytes()
    packed = {"type": kinds[kind], "data": base64.b64encode(zlib.compress(raw, LEVEL)).decode()}
    return packed | ({"steps": True} if steps else {}) | ({"scale": scale} if scale else {})
