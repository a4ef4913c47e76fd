"""A run that a page shows, as the folder of ``simulate --out`` has it, and the axis of time that several share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from shunter.files import parse_json
from shunter.metrics.log_profile import log_profile
from shunter.metrics.record import Record
from shunter.metrics.run_folder import METRICS, RECORDED, read_manifest
from shunter.metrics.sizes import CORES, GPUS, Resource
from shunter.model.site import NO_RULES
from shunter.model.workload import UNIX_TIMES_FROM_S, Workload
from shunter.report.drawing import binned_means, time_unit
from shunter.report.page import charts
from shunter.report.page.gantt_data import drawn_resource
from shunter.workloads.statistics import describe

if TYPE_CHECKING:
    from numpy.typing import NDArray

MILLI: Final = 1000
BINS: Final = 500
"""Points of a line over time."""
STYLES: Final = ("solid", "dash", "dot", "dashdot")
"""Lines of several runs differ in these, too: color alone does not reach everybody."""


@dataclass(frozen=True)
class ShownRun:
    """One run, as its folder has it."""

    name: str
    record: Record
    result: Mapping[str, Any]
    """What ``simulate --json`` prints and ``metrics.json`` holds."""
    manifest: Mapping[str, Any]

    @classmethod
    def read(cls, folder: Path, name: str | None = None) -> ShownRun:
        """Reads the folder of a run.

        Args:
            folder: As 'shunter simulate --out' writes it.
            name: What the page calls the run; None: by its policy and dispatch rule.

        Raises:
            InputError: There is no run, or its files do not fit each other.
        """
        record, manifest = Record.read(folder), read_manifest(folder)
        path = folder / METRICS
        result = parse_json(path.read_bytes(), str(path)) if path.is_file() else {}
        return cls(f"{record.policy}/{record.dispatch}" if name is None else name, record, result, manifest)

    def anonymous(self) -> ShownRun:
        """Returns the same run without names of users, paths and commands: users are numbers, by their first jobs."""
        users = self.record.rows["user"].cast(pl.String)
        names = users.drop_nulls().unique(maintain_order=True)
        numbers = pl.Series([f"user {number}" for number in range(1, len(names) + 1)], dtype=pl.String)
        rows = self.record.rows.with_columns(user=users.replace_strict(names, numbers, default=None))
        # Rules of a site name users; without them, what they held back is told as the order.
        record = replace(self.record, rows=rows, cluster=replace(self.record.cluster, rules=NO_RULES))
        kept = {name: value for name, value in self.manifest.items() if name not in ("arguments", *RECORDED)}
        for name in ("workload", "cluster"):
            kept[name] = {
                key: value for key, value in self.manifest.get(name, {}).items() if key in ("sha256", "begins_s")
            }
        return replace(self, record=record, manifest=kept)

    @property
    def workload(self) -> str:
        """What the log is called."""
        return str(self.result.get("workload") or self.manifest.get("workload", {}).get("name") or "a log")

    @property
    def origin_s(self) -> float | None:
        """The Unix time of second 0; None where the log's seconds are no dates."""
        begins_s = self.manifest.get("workload", {}).get("begins_s")
        return 0.0 if isinstance(begins_s, int | float) and begins_s >= UNIX_TIMES_FROM_S else None

    @cached_property
    def first_ms(self) -> float:
        """The first submit."""
        return float(self.record.submit_ms.min())

    @cached_property
    def last_ms(self) -> float:
        """The last end, or the last submit if that is later."""
        return float(max(self.record.segments.end_ms.max(initial=self.first_ms), self.record.submit_ms.max()))

    @cached_property
    def wait_s(self) -> NDArray[np.float64]:
        """From each job's submit to its first start; NaN where it never started."""
        rows = self.record.rows
        start_s = (rows["start_s"] if "start_s" in rows.columns else rows["latest_start_s"]).cast(pl.Float64)
        return np.asarray(start_s.fill_null(np.nan).to_numpy() - rows["submit_s"].to_numpy())

    def amount(self, resource: Resource) -> NDArray[np.float64]:
        """Returns how much of a resource each job holds."""
        return np.asarray(self.record.rows[resource.name].cast(pl.Float64).to_numpy())

    @cached_property
    def resource(self) -> Resource:
        """What sizes are counted in."""
        return GPUS if drawn_resource(self.record) == GPUS.name else CORES


def log_of_run(run: ShownRun) -> dict[str, Any]:
    """Returns the profile of the jobs of a run (see `log_profile`), from its folder alone."""
    rows = run.record.rows
    ran = rows.filter(pl.col("duration_s").is_not_null()) if "duration_s" in rows.columns else rows
    told = [name for name in ("user", "partition", "requested_s") if name in rows.columns]
    jobs = ran.select(
        "job_id",
        "submit_s",
        *told,
        "tasks",
        run_s=pl.col("duration_s"),
        cores_per_task=pl.col("cores") / pl.col("tasks"),
        memory_mb_per_task=pl.col("memory_mb") / pl.col("tasks"),
        gpus_per_task=pl.col("gpus") / pl.col("tasks"),
    )
    workload = Workload.from_frame(jobs, name=run.workload)
    profile = log_profile(workload, run.record.cluster, describe(workload, run.record.cluster))
    # What the folder does not keep, the log may have told.
    profile["description"]["absent"] = []
    return profile


def named_apart(runs: Sequence[ShownRun]) -> list[ShownRun]:
    """Returns runs whose names all differ."""
    names = [run.name for run in runs]
    if len(set(names)) == len(names):
        return list(runs)
    return [
        ShownRun(f"{run.name} ({place})", run.record, run.result, run.manifest) for place, run in enumerate(runs, 1)
    ]


class TimeAxis:
    """The axis of time that the figures of all runs share."""

    def __init__(self, runs: Sequence[ShownRun]) -> None:
        self.first_ms = min(run.first_ms for run in runs)
        self.last_ms = max(max(run.last_ms for run in runs), self.first_ms + 1)
        self.origin_s = runs[0].origin_s
        self.unit, self.seconds = time_unit((self.last_ms - self.first_ms) / MILLI)
        self.edges_ms = np.linspace(self.first_ms, self.last_ms, BINS + 1)

    @property
    def axis(self) -> dict[str, Any]:
        """As Plotly has it."""
        if self.origin_s is not None:
            return charts.axis("", type="date")
        return charts.axis(f"{self.unit} since the first submit")

    def places(self, time_ms: NDArray[np.float64]) -> list[Any]:
        """Returns times as the axis has them."""
        if self.origin_s is not None:
            return [int(one) for one in time_ms]
        return charts.plain((time_ms - self.first_ms) / MILLI / self.seconds)

    def means(self, time_ms: NDArray[np.float64], change: NDArray[Any]) -> NDArray[np.float64]:
        """Returns the mean level of a step function in each bin."""
        return np.asarray(binned_means(time_ms, change, np.zeros(len(change), dtype=np.int64), 1, self.edges_ms)[0])


def stepped(run: ShownRun, axis: TimeAxis, level: NDArray[np.float64], place: int, count: int) -> dict[str, Any]:
    """Returns the line of one of several runs over time; what is below it is filled if it is alone.

    Args:
        run: The run.
        axis: Of time.
        level: The mean in each bin.
        place: Which of the runs it is.
        count: How many there are.
    """
    color = charts.colors(count)[place]
    trace = charts.steps(charts.chart_text(run.name), axis.places(axis.edges_ms[:-1]), level, color)
    trace["line"]["dash"] = STYLES[place % len(STYLES)]
    return trace if count == 1 else {name: value for name, value in trace.items() if not name.startswith("fill")}
