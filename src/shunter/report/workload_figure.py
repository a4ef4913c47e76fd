"""The figure of a log: when jobs come, how long and how large they are, and whose they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure

from shunter.metrics.labels import percent, shortened
from shunter.metrics.log_profile import (
    COUNT_BINS,
    DAY_S,
    LOAD_BINS,
    arrival_bins,
    full_cluster_s,
    owner_column,
    owner_shares,
    run_times_by_size,
    size_classes,
    size_shares,
    size_unit,
    sized_jobs,
    time_quantiles,
    week_means,
)
from shunter.report.drawing import COLORS, GRID, TIME_TICKS, draw_density, name_ticks, new_figure, time_unit

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from shunter.model.cluster import Cluster
    from shunter.model.workload import Workload
    from shunter.workloads.statistics import Description

JOBS_COLOR, WORK_COLOR, REQUEST_COLOR, WAIT_COLOR = COLORS[0], COLORS[1], COLORS[5], COLORS[2]
TICKS: Final = ((1, "1 s"), (10, "10 s"), *TIME_TICKS, (345_600_000, "11 y"))
"""Times that are named on logarithmic axes."""
WEEKDAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
FEW: Final = 5
"""Where there are fewer bars there is room left, so that they do not become blocks."""
QUANTILES: Final = 501
"""Points of a line of times."""
GRID_CELLS: Final = 45
"""Hexagons across a panel."""


def draw_workload(workload: Workload, cluster: Cluster | None, description: Description) -> Figure:
    """Returns a figure with six panels, to be saved with ``savefig``.

    Args:
        workload: The jobs.
        cluster: Where they ran; None where it is not known, and then no load is drawn.
        description: What `describe` says of the workload.
    """
    jobs = sized_jobs(workload, description)
    figure = new_figure(17, 9.5)
    panels = figure.subplots(2, 3)
    _draw_arrivals(panels[0, 0], jobs, cluster, description)
    _draw_week(panels[0, 1], jobs, description)
    _draw_times(panels[0, 2], jobs)
    _draw_sizes(panels[1, 0], jobs, description)
    if description.told["requested times"]:
        _draw_requests(panels[1, 1], jobs)
    else:
        _draw_times_by_size(panels[1, 1], jobs, description)
    _draw_users(panels[1, 2], jobs)
    for panel in panels.flat:
        panel.spines[["top", "right"]].set_visible(False)
        panel.set_axisbelow(True)
    figure.suptitle(_title(description), fontsize=13, parse_math=False)
    return figure


def _title(description: Description) -> str:
    where = ""
    if (cluster := description.cluster) is not None:
        where = f" on {cluster.label}"
    span, unit = _in_unit(description.span_s)
    parts = [f"{description.jobs:,} jobs in {span:,.{0 if span >= 100 else 1}f} {unit}"]
    if description.dates is not None:
        parts.append(f"{description.dates[0]:%Y-%m-%d} to {description.dates[1]:%Y-%m-%d}")
    if description.offered_load is not None:
        parts.append(f"offered load {percent(description.offered_load)}")
    return f"{shortened(description.name, 80)}{where}\n" + " · ".join(parts)


def _in_unit(seconds: float) -> tuple[float, str]:
    """Returns a time in a unit that suits it."""
    unit, size = time_unit(seconds)
    return seconds / size, unit


def _draw_arrivals(panel: Axes, jobs: pl.DataFrame, cluster: Cluster | None, description: Description) -> None:
    name, _, place, edges_s = arrival_bins(jobs, description, COUNT_BINS)
    edges = _on_axis(edges_s, description)
    panel.stairs(np.bincount(place), edges, fill=True, color=JOBS_COLOR, alpha=0.75)
    panel.set(title="arrivals", xlim=(edges[0], edges[-1]), xlabel=description.clock.meaning)
    panel.set_ylabel(f"jobs per {name}", color=JOBS_COLOR)
    panel.set_ylim(bottom=0)
    panel.grid(**GRID)
    if description.dates is None:
        panel.set_xlabel(f"{_in_unit(description.span_s)[1]} since the first arrival")
    else:
        locator = AutoDateLocator(maxticks=8)  # type: ignore[no-untyped-call]
        panel.xaxis.set_major_locator(locator)
        panel.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    if cluster is not None:
        name, width_s, place, edges_s = arrival_bins(jobs, description, LOAD_BINS)
        load = 100 * np.bincount(place, weights=full_cluster_s(jobs, cluster)) / width_s
        loads = panel.twinx()
        loads.spines["top"].set_visible(False)
        loads.stairs(load, _on_axis(edges_s, description), color=REQUEST_COLOR, linewidth=1.3, baseline=None)
        loads.axhline(100, color=REQUEST_COLOR, linewidth=0.8, linestyle=":")
        loads.set_ylabel(f"offered load by {name} [%]", color=REQUEST_COLOR)
        # One giant job is not to press all others to the ground.
        loads.set_ylim(0, max(110.0, 1.3 * float(np.quantile(load, 0.98))))


def _on_axis(times_s: NDArray[np.float64], description: Description) -> NDArray[np.float64]:
    """Returns seconds of the log as the axis of arrivals has them: as dates, or since the first arrival in its unit."""
    if description.dates is not None:
        return np.asarray((times_s + description.clock.offset_s) / DAY_S)
    span_s = description.span_s
    return np.asarray((times_s - description.first_submit_s) * (_in_unit(span_s)[0] / span_s if span_s else 1.0))


def _draw_week(panel: Axes, jobs: pl.DataFrame, description: Description) -> None:
    """Draws how many jobs come in each hour of a week."""
    known, mean = description.dates is not None, week_means(jobs, description)
    image = panel.imshow(mean.reshape(7, 24), aspect="auto", cmap="Blues", vmin=0, extent=(0, 24, 7, 0))
    panel.figure.colorbar(image, ax=panel, pad=0.01, label="jobs per hour")
    panel.set_yticks(np.arange(7) + 0.5, WEEKDAYS if known else [f"day {number}" for number in range(1, 8)], fontsize=8)
    panel.set_xticks(range(0, 25, 3))
    panel.tick_params(axis="y", length=0)
    panel.set(title="hours of the week", xlabel=f"hour of the day ({description.clock.meaning})")


def _draw_times(panel: Axes, jobs: pl.DataFrame) -> None:
    share = np.linspace(0, 100, QUANTILES)
    longest_s = 60.0
    for column, name, color, style in (
        ("requested_s", "requested time", REQUEST_COLOR, "-"),
        ("logged_wait_s", "wait, as logged", WAIT_COLOR, "--"),
        ("run_s", "run time", JOBS_COLOR, "-"),
    ):
        if jobs[column].null_count() < jobs.height:
            times_s = time_quantiles(jobs, column, QUANTILES)
            panel.plot(times_s, share, color=color, linestyle=style, linewidth=1.8, label=name)
            longest_s = max(longest_s, float(times_s[-1]))
    panel.set_xscale("log")
    _name_times(panel, "x", 1.5 * longest_s)
    panel.set_xlim(0.9, 1.5 * longest_s)
    panel.set(title="times", xlabel="time (below 1 s: 1 s)", ylabel="jobs with no longer time [%]", ylim=(0, 102))
    panel.grid(**GRID)
    panel.legend(frameon=False, loc="lower right", fontsize=9)


def _draw_sizes(panel: Axes, jobs: pl.DataFrame, description: Description) -> None:
    unit = size_unit(description)
    names, of_jobs, of_work = size_shares(jobs)
    place = np.arange(len(names))
    for share, label, color, aside in (
        (of_jobs, "jobs", JOBS_COLOR, -0.2),
        (of_work, f"{unit}-hours", WORK_COLOR, 0.2),
    ):
        panel.bar(place + aside, 100 * share, 0.4, color=color, label=label)
    panel.set_xticks(place, names, fontsize=8)
    panel.set(title="sizes", xlabel=f"{unit}s of the job, from this number up to the next", ylabel="share [%]")
    panel.set_xlim(-0.6, max(len(names), FEW) - 0.4)
    panel.grid(axis="y", **GRID)
    panel.legend(frameon=False, fontsize=9)


def _draw_requests(panel: Axes, jobs: pl.DataFrame) -> None:
    known = jobs.drop_nulls("requested_s")
    requested_s, run_s = (np.maximum(known[column].to_numpy(), 1.0) for column in ("requested_s", "run_s"))
    high = 1.5 * float(max(requested_s.max(), run_s.max(), 60.0))
    draw_density(panel, requested_s, run_s, 1.0, high, GRID_CELLS)
    for axis in ("x", "y"):
        _name_times(panel, axis, high)
    panel.set(xlim=(0.9, high), ylim=(0.9, high))
    panel.set(title="requests (on the line: used up)", xlabel="requested time", ylabel="run time")


def _draw_times_by_size(panel: Axes, jobs: pl.DataFrame, description: Description) -> None:
    names, classes = size_classes(jobs)
    times = run_times_by_size(jobs, classes)
    place = times["size"].to_numpy()
    for low, high, width in (("p5", "p95", 1.5), ("p25", "p75", 9)):
        panel.vlines(place, times[low], times[high], color=COLORS[4], linewidth=width, alpha=0.8)
    panel.plot(place, times["p50"], "o", color=JOBS_COLOR, markersize=6)
    panel.set_yscale("log")
    highest_s = 1.5 * float(max(times["p95"].to_numpy().max(), 60.0))
    _name_times(panel, "y", highest_s)
    panel.set_ylim(0.9, highest_s)
    panel.set_xticks(range(len(names)), names, fontsize=8)
    panel.set(title="run time by size (the log tells no requested times)", xlim=(-0.6, max(len(names), FEW) - 0.4))
    panel.set_ylabel("run time of 5, 25, 50, 75, 95 % of the jobs")
    panel.set_xlabel(f"{size_unit(description)}s of the job, from this number up to the next")
    panel.grid(axis="y", **GRID)


def _draw_users(panel: Axes, jobs: pl.DataFrame) -> None:
    column = owner_column(jobs)
    if column is None:
        panel.set_title("users")
        panel.set_axis_off()
        why = "the log tells neither users nor statuses"
        panel.text(0.5, 0.5, why, transform=panel.transAxes, ha="center", va="center", color="gray")
        return
    shares = owner_shares(jobs, column)
    place = np.arange(shares.height)
    for name, color, aside in (("jobs", JOBS_COLOR, -0.2), ("work", WORK_COLOR, 0.2)):
        panel.barh(place + aside, 100 * shares[name].to_numpy(), 0.4, color=color, label=f"of the {name}")
    panel.set_yticks(place, [shortened(name, 18) for name in shares["who"]], fontsize=8, parse_math=False)
    panel.set_ylim(max(shares.height, FEW) - 0.4, -0.6)
    title = "users with the most work" if column == "user" else "statuses (the log tells no users)"
    panel.set(title=title, xlabel="share [%]")
    panel.grid(axis="x", **GRID)
    panel.legend(frameon=False, loc="best", fontsize=9)


def _name_times(panel: Axes, axis: str, high: float) -> None:
    """Names times on a logarithmic axis."""
    name_ticks(panel, axis, ((seconds, name) for seconds, name in TICKS if seconds <= high))
