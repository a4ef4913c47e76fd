"""The figure of a comparison: the metric by combination, waits by job size, and utilization over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, PercentFormatter

from shunter.comparison.bench import Bench
from shunter.comparison.marks import MARKS, mark_lines, marked, shared_lines
from shunter.comparison.roles import ROLES
from shunter.metrics.labels import counted, shortened
from shunter.metrics.usage import Usage
from shunter.model.log import Log
from shunter.policies.checkpoint import Checkpoint
from shunter.report.drawing import (
    BASELINE_COLOR,
    COLORS,
    GRID,
    OTHERS_COLOR,
    binned_means,
    finish,
    new_figure,
    time_unit,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from shunter.comparison.comparison import Comparison, Scored
    from shunter.model.windows import Windows

BOXES = 12
"""So many combinations have a box, besides the baseline."""
LINES = 3
"""So many of the best have a line of waits by size, besides the baseline."""
DECADES = 12.0
"""Values that span more than this factor are drawn on a logarithmic axis."""
MANY_DECADES = 1000.0
"""Up to this factor, places between the powers of ten are named too."""
BINS = 160


def draw_comparison(comparison: Comparison) -> Figure:
    """Returns a figure with three panels, to be saved with ``savefig``; it simulates one window again, twice."""
    figure = new_figure(14, 8.5)
    grid = figure.add_gridspec(2, 2, width_ratios=(1.15, 1))
    boxes, sizes, use = (figure.add_subplot(place) for place in (grid[:, 0], grid[0, 1], grid[1, 1]))
    colors = _colors(comparison)
    _draw_boxes(boxes, comparison, colors)
    _draw_waits(sizes, comparison, colors)
    _draw_utilization(use, comparison, colors)
    shared, quiet = comparison.shared_marks, comparison.quiet_note
    told = shared_lines(shared) + mark_lines((one.marks for one in comparison.scored), shared)
    if quiet is not None:
        # Panels in which all is alike look as if something were missing.
        for panel in (boxes, sizes):
            style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 11}
            style["bbox"] = {"facecolor": "white", "edgecolor": "none"}
            text = quiet.replace(": ", ":\n").replace("; ", ";\n")
            panel.text(0.5, 0.5, text, transform=panel.transAxes, **style)
    elif told:
        figure.supxlabel("; ".join(told), x=0.01, ha="left", fontsize=9)
    return finish(figure, (boxes, sizes, use), _title(comparison))


def _called(comparison: Comparison, label: str) -> str:
    """Returns what the figure calls a combination: short, and with the symbols of its marks."""
    one = comparison.contenders[label]
    untold = comparison.shared_marks if comparison.quiet_note is None else MARKS
    return marked(shortened(one.label), one.marks, untold)


def _title(comparison: Comparison) -> str:
    windows = comparison.windows
    warmup = f" after {windows.warmup:,} to warm up" if windows.warmup else ""
    return (
        f"{comparison.workload.name} on {comparison.cluster.label}\n"
        f"{counted(len(windows), 'window')} of {windows.length:,} jobs{warmup}, in {counted(windows.blocks, 'block')}"
    )


def _colors(comparison: Comparison) -> dict[str, str]:
    """Returns the colors of the best few and of the baseline, by label; they are the same in all panels."""
    others = [one.label for one in comparison.scored if one is not comparison.against]
    # Marked ones may be ahead of the one that is looked for; it is among the few in any case.
    best = sorted(others, key=lambda label: label != _looked_for(comparison).label)[:LINES]
    colored = [label for label in others if label in best]
    return dict(zip(colored, COLORS, strict=False)) | {comparison.baseline.label: BASELINE_COLOR}


def _looked_for(comparison: Comparison) -> Scored:
    """Returns what people look for beside the baseline: what was learned, else the best that a site could run."""
    others = [one for one in comparison.scored if one is not comparison.against]
    learned = [one for one in others if isinstance(one.combination.scheduler.policy, Checkpoint)]
    plain = [one for one in others if set(one.marks) <= set(comparison.shared_marks)]
    return next(iter([*learned, *plain, *others]), comparison.against)


def _shown(comparison: Comparison, most: int) -> list[Scored]:
    """Returns the best, and the baseline after them if it is not among them."""
    best = list(comparison.scored[:most])
    return best if comparison.against in best else [*best, comparison.against]


def _draw_boxes(panel: Axes, comparison: Comparison, colors: dict[str, str]) -> None:
    shown = _shown(comparison, BOXES)
    values = [one.metrics[comparison.metric] for one in shown]
    # A window in which the metric has no meaning has no point; Matplotlib would draw no box at all.
    values = [each[np.isfinite(each)] for each in values]
    labels = [one.combination.label for one in shown]
    thin: dict[str, Any] = {"color": BASELINE_COLOR, "linewidth": 0.8}
    style: dict[str, Any] = {"whiskerprops": thin, "capprops": thin, "medianprops": {"color": "black"}}
    parts = panel.boxplot(values, orientation="horizontal", widths=0.62, whis=(0, 100), patch_artist=True, **style)
    # Points are spread a little so that equal ones can be seen; always the same way, so that the same figures give the
    # same file.
    random = np.random.default_rng(0)
    for number, (label, box, each) in enumerate(zip(labels, parts["boxes"], values, strict=True), start=1):
        color = colors.get(label, OTHERS_COLOR)
        box.set(facecolor=color, alpha=0.35, edgecolor=color)
        spread = number + random.uniform(-0.16, 0.16, size=len(each))
        panel.plot(each, spread, "o", color=color, markersize=3, alpha=0.75, markeredgewidth=0)
    reference = f"\n({ROLES[comparison.reference_role]})"
    names = [_called(comparison, label) + reference * (label == comparison.reference) for label in labels]
    panel.set_yticks(np.arange(1, len(names) + 1), names, fontsize=9)
    # The best on top, as in the table.
    panel.invert_yaxis()
    everything = np.concatenate(values)
    _choose_scale(panel, "x", everything)
    panel.set_xlabel(f"{comparison.metric}, one point a window (box: quartiles and median; whiskers: all)")
    panel.set_title("best first" if len(comparison.scored) <= BOXES else f"the best {BOXES}", loc="left", fontsize=10)
    panel.grid(axis="x", **GRID)


def _choose_scale(panel: Axes, axis: str, values: NDArray[np.float64]) -> None:
    """Makes an axis logarithmic where positive values span decades, with plain numbers on it."""
    if not len(values) or values.min() <= 0 or values.max() < DECADES * values.min():
        return
    getattr(panel, f"set_{axis}scale")("log")
    scale = getattr(panel, f"{axis}axis")
    # Within few decades the powers of ten alone would name too few places.
    narrow = values.max() < MANY_DECADES * values.min()
    scale.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if narrow else (1.0,)))
    scale.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    scale.set_minor_formatter(NullFormatter())


def _draw_waits(panel: Axes, comparison: Comparison, colors: dict[str, str]) -> None:
    """Draws the mean wait of each size class under the best few and the baseline."""
    resource = comparison.resources[0]
    lines = {one.combination.label: one.wait_by_size_s for one in comparison.scored if one.combination.label in colors}
    # The baseline tells which sizes there are: all combinations have the same jobs.
    filled = np.flatnonzero(np.isfinite(comparison.against.wait_by_size_s))
    every = np.concatenate([waits[filled] for waits in lines.values()]) if len(filled) else np.zeros(1)
    unit, seconds = time_unit(float(every.max()))
    for number, (label, waits) in enumerate(lines.items()):
        baseline = label == comparison.baseline.label
        style: dict[str, Any] = {"linestyle": "--" if baseline else "-", "marker": "o", "markersize": 4}
        # One that lies below others just like it is seen at their sides.
        style["linewidth"] = 1.5 + 3.0 * sum(
            np.array_equal(waits[filled], one[filled]) for one in list(lines.values())[number + 1 :]
        )
        name = _called(comparison, label) + f" ({ROLES[comparison.reference_role]})" * baseline
        panel.plot(np.arange(len(filled)), waits[filled] / seconds, color=colors[label], label=name, **style)
    panel.set_xticks(np.arange(len(filled)), [resource.label(number) for number in filled.tolist()], fontsize=8)
    _choose_scale(panel, "y", every / seconds)
    if panel.get_yscale() == "linear":
        panel.set_ylim(bottom=0)
    panel.set(xlabel=f"{resource.unit} of the job", ylabel=f"mean wait [{unit}]")
    panel.grid(**GRID)
    panel.legend(frameon=False, fontsize=9)


def _draw_utilization(panel: Axes, comparison: Comparison, colors: dict[str, str]) -> None:
    """Draws what is in use of cores or GPUs in one window: that in which the baseline has its median value."""
    resource = comparison.resources[0]
    window = _middle_window(comparison)
    # Only times of windows were kept: one window is simulated again to see it over time.
    (part,) = Bench.on(Log(comparison.workload, comparison.cluster), window).parts
    pair = {one.label: one.combination for one in (_looked_for(comparison), comparison.against)}
    # As schedules: a job that is stopped holds nothing until it starts again.
    uses = {label: Usage(next(part.schedules(one.scheduler))) for label, one in pair.items()}
    begin_ms = float(next(iter(uses.values())).schedule.submit_ms.min())
    # One axis for both, so that it shows which of the two ends earlier.
    makespan_ms = max(float(usage.end_ms.max(initial=begin_ms)) for usage in uses.values()) - begin_ms
    unit, seconds = time_unit(makespan_ms / 1000)
    edges = np.linspace(0, max(makespan_ms, 1), BINS + 1)
    for label, usage in uses.items():
        amount = resource.per_job(usage.schedule.workload)[usage.segments.job]
        time_ms = np.concatenate([usage.start_ms, usage.end_ms]) - begin_ms
        change = np.concatenate([amount, -amount]) / resource.total(comparison.cluster)
        share = binned_means(time_ms, change, np.zeros(len(change), dtype=np.int64), 1, edges)[0]
        filled = label == comparison.baseline.label
        style: dict[str, Any] = {"fill": True, "alpha": 0.3} if filled else {"baseline": None, "linewidth": 1.3}
        panel.stairs(share, edges / 1000 / seconds, color=colors[label], label=_called(comparison, label), **style)
    first = int(window.first[0])
    which = f"jobs {first:,} to {first + window.length - 1:,} of the log"
    panel.set(xlabel=f"{unit} since the first submit ({which})", ylabel=f"{resource.unit} in use", ylim=(0, 1.05))
    panel.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    panel.set_xlim(0, makespan_ms / 1000 / seconds or 1)
    panel.grid(**GRID)
    panel.legend(frameon=False, fontsize=9, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, borderaxespad=0)


def _middle_window(comparison: Comparison) -> Windows:
    """Returns the one window in which the baseline has its median value (of two in the middle, the worse)."""
    values = comparison.against.metrics[comparison.metric]
    known = np.flatnonzero(np.isfinite(values))
    middle = known[np.argsort(values[known], kind="stable")[len(known) // 2]] if len(known) else 0
    windows = comparison.windows
    return windows.take(np.array([middle]))
