"""An environment at an instant, as text or as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shunter.errors import visible
from shunter.metrics.explanation_text import duration
from shunter.metrics.lanes import MILLI, stacked

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap, Normalize
    from numpy.typing import NDArray

    from shunter.envs.scene import Scene, SeenJob

ROWS: Final = 10
"""So many jobs of each kind are written out."""
BARS: Final = 24
"""So many waiting jobs have a bar."""
NAMED_NODES: Final = 24
"""Up to so many nodes have their names on the axis."""
SIZE_INCHES: Final = (11.0, 5.6)
DPI: Final = 100
FUTURE_PART: Final = 0.4
"""The future takes at most this part of the axis of time: jobs that ask for days would hide the rest."""
NAME_ROOM: Final = 1.7
"""The queue's axis is so many times as long as its longest bar: behind it stand the jobs' names."""
LEAST_S: Final = 60.0
"""Waits that are shorter have the lightest color where episodes last for hours."""

_INK: Final = "#333333"
_NOW: Final = "#D55E00"
_DOWN: Final = "#999999"
_UNITS: Final = (("days", 86_400.0, 3.0), ("hours", 3600.0, 2.0), ("minutes", 60.0, 2.0), ("seconds", 1.0, 0.0))
"""Name, seconds, and from how many of it on it is used."""
_TICKS: Final = (
    (1, "1 s"), (10, "10 s"), (60, "1 min"), (600, "10 min"), (3600, "1 h"), (36_000, "10 h"), (345_600, "4 d"),
    (3_456_000, "40 d"),
)  # fmt: skip


def as_text(scene: Scene) -> str:
    """Returns what is to be seen in lines of text: the time, what is used, the first who wait, and who run."""
    total, unit = scene.resource.total(scene.cluster), scene.resource.unit
    down = f", {int(scene.down.sum())} of {len(scene.down)} nodes down" if scene.down.any() else ""
    lines = [
        f"{visible(scene.name)}, {duration(scene.now_ms - scene.begin_ms)} after the first submit",
        f"{scene.used:,.15g} of {total:,.15g} {unit} in use, {total - scene.used:,.15g} free{down}",
        *_table(f"{len(scene.waiting):,} waiting", scene.waiting, unit, ("waited", "estimate"), _waiting_cells),
        *_table(f"{len(scene.running):,} running", scene.running, unit, ("ran", "left", "nodes"), _running_cells),
    ]
    return "\n".join(lines) + "\n"


def _waiting_cells(job: SeenJob) -> list[str]:
    return [duration(job.wait_s * MILLI), duration(job.estimate_s * MILLI), "*" if job.allowed else ""]


def _running_cells(job: SeenJob) -> list[str]:
    left = duration(job.estimate_s * MILLI) if job.estimate_s else "over"
    return [duration(job.ran_s * MILLI), left, f"{job.nodes:,}", "*" if job.allowed else ""]


def _table(title: str, jobs: list[SeenJob], unit: str, names: tuple[str, ...], cells: Any) -> list[str]:  # noqa: ANN401 - a function
    """Returns the first jobs as lines with columns; jobs that may be chosen now have a star."""
    if not jobs:
        return [title]
    heads = ["job", unit, *names]
    rows = [[str(job.job_id), f"{job.size:,.15g}", *cells(job)] for job in jobs[:ROWS]]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=False)]
    lines = ["  ".join(text.rjust(width) for text, width in zip(row, widths, strict=False)) for row in [heads, *rows]]
    # What has no head of its own, the star, stands behind the columns.
    stars = ["", *(row[len(heads)] for row in rows)]
    more = [f"  and {len(jobs) - ROWS:,} more"] if len(jobs) > ROWS else []
    return [title, *(f"  {line} {star}".rstrip() for line, star in zip(lines, stars, strict=True)), *more]


def as_picture(scene: Scene) -> NDArray[np.uint8]:
    """Returns what is to be seen as an image, (height, width, 3): what ran and runs, and beside it who waits."""
    # Loaded with the first picture: an environment that is never looked at does not pay for it.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE_INCHES, dpi=DPI, layout="constrained", facecolor="white")
    canvas = FigureCanvasAgg(figure)
    gantt, queue = figure.subplots(1, 2, width_ratios=(2.6, 1))
    colors, norm = _colors(scene)
    _draw_runs(gantt, scene, colors, norm)
    _draw_queue(queue, scene, colors, norm)
    bar = figure.colorbar(ScalarMappable(norm, colors), ax=[gantt, queue], pad=0.01, aspect=40, label="time waited")
    shortest_s, longest_s = _shades_s(scene)
    named = [(at, text) for at, text in _TICKS if shortest_s <= at <= longest_s]
    bar.set_ticks([at for at, _ in named], labels=[text for _, text in named], minor=False)
    bar.minorticks_off()
    bar.ax.tick_params(colors=_INK, labelsize=8)
    bar.outline.set_visible(False)
    total = scene.resource.total(scene.cluster)
    use = f"{scene.used:,.15g} of {total:,.15g} {scene.resource.unit} in use"
    counts = f"{len(scene.running):,} running, {len(scene.waiting):,} waiting"
    title = f"{visible(scene.name)}: {duration(scene.now_ms - scene.begin_ms)}, {use}, {counts}"
    figure.suptitle(title, fontsize=11, color=_INK, parse_math=False)
    canvas.draw()  # type: ignore[no-untyped-call]
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()  # type: ignore[no-untyped-call]


def _colors(scene: Scene) -> tuple[Colormap, Normalize]:
    """Returns a color for each wait: the darker, the longer. The scale stands still while an episode goes on."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap, LogNorm

    # The lightest colors of the map could not be told from the paper.
    colors = ListedColormap(colormaps["YlGnBu"](np.linspace(0.25, 1.0, 256)))
    return colors, LogNorm(*_shades_s(scene), clip=True)


def _shades_s(scene: Scene) -> tuple[float, float]:
    """Returns the waits that have the lightest and the darkest color."""
    longest_s = max(scene.span_s, 10.0)
    return min(LEAST_S, longest_s / 100), longest_s


def _draw_runs(panel: Axes, scene: Scene, colors: Colormap, norm: Normalize) -> None:
    """Draws a Gantt chart of all nodes, stacked, until now; what is expected of running jobs is paler."""
    runs, amounts = scene.runs, scene.resource.amounts(scene.cluster)
    sizes = [round(each * MILLI) for each in amounts]
    boxes, owner = stacked(sizes, runs.node, runs.used_milli, runs.start_ms, runs.end_ms, runs.job)
    shades = colors(norm(np.maximum(scene.wait_s[owner], 1e-3)))
    now_s, last_s = (scene.now_ms - scene.begin_ms) / MILLI, 1.0
    if len(boxes):
        last_s = max(last_s, float(boxes[:, 1].max() - scene.begin_ms) / MILLI)
    right_s = max(now_s, min(last_s, now_s / (1 - FUTURE_PART) if now_s else last_s))
    unit, seconds = next((name, size) for name, size, least in _UNITS if right_s >= least * size)
    left, end = ((boxes[:, place] - scene.begin_ms) / MILLI / seconds for place in (0, 1))
    now, right = now_s / seconds, (right_s or 1.0) / seconds
    for begin, until, alpha in ((left, np.minimum(end, now), 1.0), (np.maximum(left, now), end, 0.3)):
        some = until > begin
        panel.bar(
            begin[some],
            (boxes[:, 3] - boxes[:, 2])[some],
            (until - begin)[some],
            boxes[:, 2][some],
            align="edge",
            color=shades[some],
            alpha=alpha,
            edgecolor="white",
            linewidth=0.5,
        )
    tops = np.cumsum(amounts)
    for node in np.flatnonzero(scene.down):
        low = tops[node] - amounts[node]
        panel.bar(now, amounts[node], right - now, low, align="edge", color="none", edgecolor=_DOWN, hatch="////")
    panel.axvline(now, color=_NOW, linewidth=1.5)
    panel.text(now, 1.01, "now", color=_NOW, ha="center", va="bottom", transform=panel.get_xaxis_transform())
    panel.set(xlim=(0, right), ylim=(0, max(float(tops[-1]), 1e-3)), xlabel=f"{unit} since the first submit")
    _name_nodes(panel, scene, tops, amounts)
    _plain(panel)


def _name_nodes(panel: Axes, scene: Scene, tops: NDArray[np.float64], amounts: list[float]) -> None:
    nodes, unit = scene.cluster.nodes, scene.resource.unit
    if len(nodes) == 1:
        panel.set_ylabel(unit)
        return
    panel.set_ylabel(f"{unit} of {len(nodes):,} nodes")
    if len(nodes) <= NAMED_NODES:
        names = [visible(node.name) for node in nodes]
        panel.set_yticks(tops - np.array(amounts) / 2, names, fontsize=8, parse_math=False)
        panel.tick_params(axis="y", length=0)
        panel.hlines(tops[:-1], 0, 1, transform=panel.get_yaxis_transform(), color="#BBBBBB", linewidth=0.6)


def _draw_queue(panel: Axes, scene: Scene, colors: Colormap, norm: Normalize) -> None:
    """Draws a bar for each of the first who wait: its length is the job's size, its color the wait."""
    from matplotlib.ticker import MaxNLocator

    jobs = scene.waiting[:BARS]
    for row, job in enumerate(jobs):
        shade = colors(norm(max(job.wait_s, 1e-3)))
        # Jobs that cannot be chosen now are outlines.
        panel.barh(row, job.size, height=0.8, color=shade if job.allowed else "none", edgecolor=shade, linewidth=1.2)
        label = f"{job.job_id}  ({duration(job.estimate_s * MILLI)})"
        panel.text(1.0, row, label, transform=panel.get_yaxis_transform(), ha="right", va="center", fontsize=7)
    more = len(scene.waiting) - len(jobs)
    title = "no job waits" if not jobs else f"next to start{f' (and {more:,} more)' if more else ''}"
    panel.set_title(title, fontsize=9, color=_INK)
    panel.set(ylim=(BARS - 0.4, -0.6), xlim=(0, NAME_ROOM * scene.largest), yticks=[])
    panel.set_xlabel(f"{scene.resource.unit} asked for; job (estimate)")
    panel.set_xticks([at for at in MaxNLocator(4).tick_values(0, scene.largest) if at <= scene.largest])
    _plain(panel)
    panel.spines["left"].set_visible(False)


def _plain(panel: Axes) -> None:
    panel.spines[["top", "right"]].set_visible(False)
    panel.tick_params(colors=_INK, labelsize=8)
    panel.xaxis.label.set_color(_INK)
    panel.yaxis.label.set_color(_INK)
