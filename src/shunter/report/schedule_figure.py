"""The figure of a schedule: utilization, queue and a Gantt chart over one axis of time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.collections import PolyCollection
from matplotlib.colors import PowerNorm
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from shunter.errors import InputError
from shunter.metrics.lanes import stacked
from shunter.metrics.sizes import CORES, used_resources
from shunter.metrics.usage import MILLI, Usage, queue_changes
from shunter.report.drawing import COLORS, GRID, OTHERS_COLOR, binned_means, finish, new_figure, time_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from shunter.metrics.sizes import Resource
    from shunter.model.schedule import Schedule

NEIGHBOR_COLORS = ("#0072B2", "#8FC6E8", "#2F5D8A", "#56B4E9", "#4A90C2")
"""Shades for jobs of which only the outlines matter."""
QUEUE_COLOR = COLORS[2]
RESOURCE_COLORS = {"cores": COLORS[0], "gpus": COLORS[5]}

BESIDE: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "frameon": False, "fontsize": 8}
"""Where legends stand: beside the panel, where they hide nothing."""

EXACT_CHANGES = 4_000
"""Up to so many changes a step function is drawn exactly, beyond as means over bins."""
BINS = 1_000
OUTLINED_JOBS = 2_000
"""Up to so many jobs rectangles have outlines."""
RECTANGLE_JOBS = 150_000
"""Beyond so many jobs on one node, and OUTLINED_JOBS on several, the chart is a heat map."""
NAMED_NODES = 24
"""Up to so many nodes have their names on the axis."""
HEAT_ROWS = 400
"""Nodes beyond this number share rows of the heat map."""


def draw_schedule(schedule: Schedule) -> Figure:
    """Returns a figure with three panels, to be saved with ``savefig``.

    Raises:
        InputError: if no job has ended, so that there is nothing to draw.
    """
    makespan_s = Usage(schedule).makespan_s
    if np.isnan(makespan_s):
        raise InputError("no job has ended: there is nothing to draw")
    axis = TimeAxis(schedule, makespan_s)
    figure = new_figure(12, 9)
    panels = figure.subplots(3, 1, sharex=True, height_ratios=(1, 1, 3))
    _draw_utilization(panels[0], schedule, axis)
    _draw_queue(panels[1], schedule, axis)
    _draw_gantt(panels[2], schedule, axis, used_resources(schedule.workload, schedule.cluster)[0])
    panels[2].set_xlabel(f"{axis.unit} since the first submit")
    panels[2].set_xlim(0, axis.last or 1)
    return finish(figure, panels, _title(schedule))


class TimeAxis:
    """Times of a schedule in a unit that suits its length, from the first submit on."""

    def __init__(self, schedule: Schedule, makespan_s: float) -> None:
        """Chooses the unit."""
        self.first_ms = float(schedule.submit_ms[~schedule.rejected].min())
        self.unit, self.seconds = time_unit(makespan_s)
        self.last = makespan_s / self.seconds

    def of(self, time_ms: NDArray[np.float64]) -> NDArray[np.float64]:
        """Returns times in the axis' unit."""
        return (time_ms - self.first_ms) / MILLI / self.seconds

    def bins(self) -> NDArray[np.float64]:
        """Returns the edges of bins over the whole axis."""
        return np.linspace(0.0, self.last or 1.0, BINS + 1, dtype=np.float64)


def _title(schedule: Schedule) -> str:
    settings = schedule.settings
    rejected = int(schedule.rejected.sum())
    what = f"{len(schedule):,} jobs" + (f" ({rejected:,} rejected)" if rejected else "")
    return (
        f"{schedule.workload.name} on {schedule.cluster.label}, {what}\n"
        f"{settings.policy} · {settings.dispatch} · {settings.placement} · estimate {settings.estimate}"
    )


def _level(axis: TimeAxis, time_ms: NDArray[np.float64], change: NDArray[np.int64]) -> tuple[Any, Any]:
    """Returns the points of a step function that starts at 0, as means over bins where there are too many changes."""
    time = axis.of(time_ms)
    order = np.argsort(time, kind="stable")
    time, level = np.concatenate([[0.0], time[order]]), np.concatenate([[0], np.cumsum(change[order])])
    # Of the changes at one instant only the last level counts: what ends makes room for what starts, and who starts at
    # once has never waited.
    last = np.append(np.diff(time) > 0, True)
    time, level = time[last], level[last]
    if len(time) <= EXACT_CHANGES:
        return time, level
    # A file of a million steps would show no more than their means.
    edges = axis.bins()
    steps = np.diff(level, prepend=0)
    changed = np.flatnonzero(steps)
    means = binned_means(time[changed], steps[changed], np.zeros(len(changed), dtype=np.int64), 1, edges)[0]
    return edges, np.concatenate([means, means[-1:]])


def _draw_utilization(panel: Axes, schedule: Schedule, axis: TimeAxis) -> None:
    job, time_ms = _segment_times(schedule)
    resources = used_resources(schedule.workload, schedule.cluster)
    for resource in resources:
        used = _thousandths(resource.per_job(schedule.workload))[job]
        percents = 100.0 / (MILLI * resource.total(schedule.cluster))
        time, level = _level(axis, time_ms, np.concatenate([used, -used]))
        color, level = RESOURCE_COLORS[resource.name], level * percents
        panel.step(time, level, where="post", color=color, linewidth=1, label=resource.unit)
        panel.fill_between(time, level, step="post", color=color, alpha=0.25, linewidth=0)
    alone = f"{resources[0].unit} " * (len(resources) == 1)
    panel.set(ylabel=f"{alone}in use [%]", ylim=(0, 105))
    panel.grid(**GRID)
    if len(resources) > 1:
        panel.legend(**BESIDE)


def _thousandths(amount: NDArray[np.float64]) -> NDArray[np.int64]:
    """Returns amounts in whole thousandths, which add up exactly."""
    return np.rint(amount * MILLI).astype(np.int64)


def _segment_times(schedule: Schedule) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Returns the job of each segment, and the times at which the segments start, then those at which they end."""
    usage = Usage(schedule)
    return usage.segments.job, np.concatenate([usage.start_ms, usage.end_ms])


def _draw_queue(panel: Axes, schedule: Schedule, axis: TimeAxis) -> None:
    waits = ~schedule.rejected & np.isfinite(schedule.eligible_ms)
    left_ms = schedule.end_ms[schedule.cancelled]
    time_ms, change = queue_changes(schedule.eligible_ms[waits], schedule.segments, left_ms)
    time_ms = Usage(schedule).until_last_end(time_ms)
    time, level = _level(axis, time_ms, change)
    panel.step(time, level, where="post", color=QUEUE_COLOR, linewidth=1)
    panel.fill_between(time, level, step="post", color=QUEUE_COLOR, alpha=0.25, linewidth=0)
    # An axis of hundredths of a job would make an empty queue look busy.
    panel.set(ylabel="waiting jobs", ylim=(0, max(1.0, 1.05 * float(np.max(level)))))
    panel.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    panel.grid(**GRID)


def _draw_gantt(panel: Axes, schedule: Schedule, axis: TimeAxis, resource: Resource) -> None:
    jobs, nodes = len(schedule), len(schedule.cluster.nodes)
    # On several nodes a gang is several rectangles, so that fewer jobs fill the chart.
    if jobs > (RECTANGLE_JOBS if nodes == 1 else OUTLINED_JOBS):
        _draw_heat(panel, schedule, axis, resource)
        return
    rectangles, owner = pack_rectangles(schedule, resource)
    left, right = axis.of(rectangles[:, 0]), axis.of(rectangles[:, 1])
    low, high = rectangles[:, 2], rectangles[:, 3]
    corners = np.stack([left, low, left, high, right, high, right, low], axis=1).reshape(-1, 4, 2)
    colors, legend = _job_colors(schedule, resource)
    outlined = jobs <= OUTLINED_JOBS
    panel.add_collection(
        PolyCollection(
            list(corners),
            facecolors=colors[owner],
            edgecolors="white" if outlined else "none",
            linewidths=0.4 if jobs <= OUTLINED_JOBS // 4 else 0.15,
            antialiased=outlined,
            # As vectors, a hundred thousand rectangles would make a file that no viewer opens.
            rasterized=not outlined,
        ),
        autolim=False,
    )
    panel.set_ylim(0, resource.total(schedule.cluster))
    _label_nodes(panel, schedule, resource)
    if legend:
        panel.legend(handles=legend, title="user", **BESIDE)


def _label_nodes(panel: Axes, schedule: Schedule, resource: Resource) -> None:
    nodes, amounts = schedule.cluster.nodes, np.array(resource.amounts(schedule.cluster))
    tops = np.cumsum(amounts)
    if len(nodes) == 1:
        panel.set_ylabel(resource.unit)
    elif len(nodes) <= NAMED_NODES:
        panel.set_yticks(tops - amounts / 2, [node.name for node in nodes], fontsize=8)
        panel.set_ylabel(f"{resource.unit} of each node")
        panel.hlines(tops[:-1], 0, 1, transform=panel.get_yaxis_transform(), color="#555555", linewidth=0.6)
        panel.tick_params(axis="y", length=0)
    else:
        panel.set_ylabel(f"{resource.unit} of {len(nodes):,} nodes, stacked")
    panel.grid(axis="x", **GRID)


def _job_colors(schedule: Schedule, resource: Resource) -> tuple[NDArray[Any], list[Patch]]:
    """Returns a color for each job, and a legend.

    The users with the most work in the workload have colors of their own, the same under every policy; the others are
    gray. Where the log has no users, colors only tell neighbors apart.
    """
    jobs = schedule.workload.jobs
    users = jobs["user"]
    if users.null_count() == len(jobs):
        return np.array(NEIGHBOR_COLORS)[np.arange(len(jobs)) % len(NEIGHBOR_COLORS)], []
    # By the workload, and not by the schedule: a user has the same color in the figures of all policies.
    held = resource.per_job(schedule.workload) * jobs["run_s"].to_numpy()
    work = pl.DataFrame({"user": users, "work": held}).drop_nulls()
    ranked = work.group_by("user").agg(pl.col("work").sum()).sort(["work", "user"], descending=[True, False])["user"]
    top = ranked.head(len(COLORS)).to_list()
    colors = np.full(len(jobs), OTHERS_COLOR)
    for user, color in zip(top, COLORS, strict=False):
        colors[(users == user).fill_null(False).to_numpy()] = color
    legend = [Patch(color=color, label=_short(user)) for user, color in zip(top, COLORS, strict=False)]
    if len(top) < len(ranked) or users.null_count():
        legend.append(Patch(color=OTHERS_COLOR, label="others"))
    return colors, legend


def _short(name: str, most: int = 16) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


def _draw_heat(panel: Axes, schedule: Schedule, axis: TimeAxis, resource: Resource) -> None:
    """Draws how much of each node is in use; of a single node, how much of it goes to jobs of each size."""
    by_node = len(schedule.cluster.nodes) > 1
    time_ms, used, row, capacity = (_node_rows if by_node else _size_rows)(schedule, resource)
    edges = axis.bins()
    share = 100 * binned_means(axis.of(time_ms), used, row, len(capacity), edges) / capacity[:, None]
    image = panel.imshow(
        np.clip(share, 0, 100),
        aspect="auto",
        origin="lower",
        interpolation="nearest",
        cmap="Blues",
        extent=(0, edges[-1], 0, len(capacity)),
        # The square root lets the small jobs of a single node be seen beside the large.
        norm=PowerNorm(1.0 if by_node else 0.5, vmin=0, vmax=100 if by_node else None),
    )
    panel.figure.colorbar(image, ax=panel, pad=0.01, label=f"{resource.unit} in use [%]")
    if by_node:
        _label_heat_nodes(panel, schedule, len(capacity))
    else:
        labels = [resource.label(size) for size in range(len(capacity))]
        panel.set_yticks(np.arange(len(capacity)) + 0.5, labels, fontsize=8)
        panel.set_ylabel(f"{resource.unit} of the job")


def _label_heat_nodes(panel: Axes, schedule: Schedule, rows: int) -> None:
    nodes = schedule.cluster.nodes
    if len(nodes) <= NAMED_NODES:
        panel.set_yticks(np.arange(rows) + 0.5, [node.name for node in nodes], fontsize=8)
        return
    places = np.linspace(0, rows, 6)
    panel.set_yticks(places, [f"{place * len(nodes) / rows:,.0f}" for place in places])
    panel.set_ylabel("node number")


def _node_rows(schedule: Schedule, resource: Resource) -> tuple[Any, Any, Any, NDArray[np.float64]]:
    nodes = len(schedule.cluster.nodes)
    rows = min(nodes, HEAT_ROWS)
    # More nodes than a screen has lines: neighbors share a row.
    row_of_node = np.arange(nodes) * rows // nodes
    changes = Usage(schedule).changes(resource)
    capacity = np.bincount(row_of_node, weights=resource.amounts(schedule.cluster), minlength=rows)
    return changes.time_ms, changes.milli / MILLI, row_of_node[changes.node], np.maximum(capacity, 1e-9)


def _size_rows(schedule: Schedule, resource: Resource) -> tuple[Any, Any, Any, NDArray[np.float64]]:
    """Returns the changes by size class."""
    job, time_ms = _segment_times(schedule)
    amount = resource.per_job(schedule.workload)[job]
    row = resource.classes(amount)
    capacity = np.full(int(row.max()) + 1, resource.total(schedule.cluster))
    return time_ms, np.concatenate([amount, -amount]), np.concatenate([row, row]), capacity


def pack_rectangles(schedule: Schedule, resource: Resource = CORES) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Returns rectangles and the job of each.

    The cores (or GPUs) of all nodes are stacked, node 0 at the bottom, in the order of the cluster.

    Args:
        schedule: What is drawn.
        resource: What rectangles are high in.

    Returns:
        The rectangles as (start in ms, end in ms, lowest core, highest core)  # (rectangles, 4)
        and the row of each rectangle's job in the workload  # (rectangles,)
    """
    usage = Usage(schedule)
    segment, node, used = _placements(schedule, resource)
    sizes = [round(each * MILLI) for each in resource.amounts(schedule.cluster)]
    return stacked(sizes, node, used, usage.start_ms[segment], usage.end_ms[segment], owner=usage.segments.job[segment])


def _placements(
    schedule: Schedule, resource: Resource
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Returns segment, node and thousandths of the resource of each placement that takes some for some time."""
    segments = schedule.segments
    per_task = _thousandths(resource.per_task(schedule.workload))
    used = per_task[segments.job[segments.entry]] * segments.tasks
    kept = (used > 0) & (segments.length_ms > 0)[segments.entry]
    return segments.entry[kept], segments.nodes[kept], used[kept]
