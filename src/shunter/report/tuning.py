"""A tuning for people: tables, and a figure of the search and of what came of it on later days."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from shunter.comparison.marks import mark_lines, marked
from shunter.comparison.roles import BEST, JUDGED_AGAINST, ROLES, TUNED
from shunter.metrics.labels import counted, in_unit, short, shortened, wait_unit
from shunter.metrics.table import METRICS, higher_is_better
from shunter.report.comparisons import print_findings, print_grounds, ratio_text
from shunter.report.drawing import BASELINE_COLOR, COLORS, GRID, finish, new_figure
from shunter.report.standings import judged_first, print_standing
from shunter.report.tables import ledger_table, print_line, print_written, titled_table, whole_time
from shunter.report.terminal import Console

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from shunter.comparison.comparison import Comparison
    from shunter.comparison.report import Report
    from shunter.tuning.guards import Guarded
    from shunter.tuning.tune import Tuning
    from shunter.tuning.weights import Tuned

TUNED_COLOR, OTHER_COLOR = COLORS[0], "#777777"
LONGEST_NAME = 64
"""Of a log: as many characters as there is room for."""
TICKS: tuple[tuple[float, tuple[float, ...]], ...] = (
    (8.0, (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)),
    (1.6, (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6)),
    (1.0, tuple(place / 20 for place in range(1, 80))),
)
"""From which span of ratios on which of them are named on the axis."""


def print_tuning(tuning: Tuning, written: Sequence[Path]) -> None:
    """Prints what was found, how it does on later days, what that comes to, and what was written."""
    console = Console()
    console.print(_title(tuning), soft_wrap=True, highlight=False)
    if not tuning.found.trial.keeps_classic:
        console.print(parameter_table(tuning))
    for one, guards in zip(tuning.report.logs, tuning.guards, strict=True):
        console.print(_log_title(tuning, one), soft_wrap=True, highlight=False)
        print_grounds(console, one)
        if one.quiet_note is not None:
            continue
        print_standing(console, one, TUNED, f"{one.metric} on later days")
        for line in mark_lines((row.marks for row in one.scored), one.shared_marks):
            print_line(console, line)
        if one.contenders[TUNED].ledger:
            console.print(ledger_table(one.contenders[TUNED].ledger))
        print_findings(console, one.findings(TUNED, TUNED, JUDGED_AGAINST))
        if note := one.interval_note:
            print_line(console, note)
        console.print(guard_table(tuning, guards))
    if tuning.report.pooled:
        count, metric = len(tuning.report.logs), tuning.report.objective.metric
        print_line(console, f"\nall {count} logs together: {metric}, each log counting the same")
        console.print(pooled_table(tuning.report))
        print_findings(console, tuning.report.findings_over_all(TUNED, TUNED, JUDGED_AGAINST))
    for line in tuning.left_out:
        print_line(console, f"left out: {line}")
    print_written(console, written)
    for line in tuning.next_steps:
        print_line(console, line)


def _title(tuning: Tuning) -> str:
    found, plan, objective = tuning.found, tuning.request.plan, tuning.report.objective
    tuned, settings = found.tuned, found.tuned.scheduler.settings
    bounds = "".join(f", {bound.metric} {bound.words}" for bound in objective.bounds)
    warmup = f" after {plan.warmup:,} to warm up" if plan.warmup else ", each on an empty cluster"
    return (
        f"[bold]{tuned.kind}[/bold] tuned for {objective.metric}{bounds}\n"
        f"{settings.dispatch} · {settings.placement} · estimate {escape(found.chosen.estimate)}{_estimates(tuning)}\n"
        f"on the first {100 * plan.train[1]:g} % of {counted(len(tuning.logs), 'log')}: "
        f"{counted(plan.generations, 'generation')} of {plan.population} candidates, each in up to {plan.drawn} of "
        f"{counted(plan.windows, 'window')} of {plan.length:,} jobs{warmup}, seed {plan.seed}\n"
        f"{tuned.simulations:,} simulations; {tuning.seconds:.3g} s with the choice of classics\n"
        f"{searched_words(tuning)}\n{trial_words(tuning)}"
    )


def _estimates(tuning: Tuning) -> str:
    """Returns among which estimates training days have chosen; nothing where the user named one."""
    others = ", ".join(escape(name) for name in tuning.tried)
    return f", the best on training days of {others}" if len(tuning.tried) > 1 else ""


def searched_words(tuning: Tuning) -> str:
    """Returns how good the score is in the windows that were searched, and how good it was at the beginning."""
    found, objective = tuning.found, tuning.report.objective
    labels = dict.fromkeys(escape(one.combination.label) for one in found.chosen.requested)
    rivals = "the best classic of each log with requested"
    if len(labels) == 1:
        rivals = f"{next(iter(labels))} with requested, the best classic with it on training days"
    now, before = (_times(tuning, cost) for cost in (found.tuned.costs[-1], found.tuned.costs[0]))
    bounds = "; both count penalties for bounds that are broken or nearly so" if objective.bounds else ""
    score = f"the tuned score's {objective.metric} is {now} times that of {rivals}"
    return f"in the windows searched {score}; where the search began it was {before} times{bounds}"


def _times(tuning: Tuning, cost: float) -> str:
    """Returns the ratio that a cost is the logarithm of; of a metric of which more is better, that of its inverse."""
    sign = -1.0 if higher_is_better(tuning.report.objective.metric) else 1.0
    return f"{np.exp(sign * cost):.3g}"


def trial_words(tuning: Tuning) -> str:
    """Returns what became of the tuned score in the windows that were held back from the search."""
    trial, chosen = tuning.found.trial, tuning.found.chosen
    where = f"in {counted(trial.windows, 'held-back training window')}"
    if not trial.are_held_back:
        where = "in the training windows, which are too few to hold any back,"
    classic = f"{escape(chosen.combination.label)} with {escape(chosen.estimate)}"
    rival = f"{escape(trial.rival)}, the best classic in the windows searched"
    ratio = f"the tuned score's {tuning.report.objective.metric} is {_times(tuning, trial.cost)} times that of {rival}"
    if trial.is_better:
        return f"{where} {ratio}: the score is written"
    why = ", and it breaks a bound" if trial.broken > trial.classic_broken else ""
    if trial.searched_cost >= 0 > trial.cost:
        why += f", but {_times(tuning, trial.searched_cost)} times it in the windows searched"
    if trial.keeps_classic:
        return (
            f"[bold]keep the classic:[/bold] {where} {ratio}{why}; the file is {classic}, the best on all training days"
        )
    written = f"it is written, for no classic is tried with {tuning.found.dispatch}"
    return f"[bold]the score is not better:[/bold] {where} {ratio}{why}; {written}"


def parameter_table(tuning: Tuning) -> Table:
    """Returns the parameters that were found."""
    table = Table("parameter")
    table.add_column("value", justify="right")
    for name, value in tuning.found.tuned.parameters.items():
        table.add_row(name, f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}")
    return table


def _log_title(tuning: Tuning, one: Comparison) -> str:
    windows = one.windows
    warmup = f", after {windows.warmup:,} to warm up" if windows.warmup else ""
    rejected = one.contenders[TUNED].rejected
    text = (
        f"\n[bold]{escape(one.workload.name)}[/bold] on {escape(one.cluster.label)}\n"
        f"later days, {tuning.request.part} of the log: {counted(len(windows), 'window')} of {windows.length:,} "
        f"jobs{warmup}, in {counted(windows.blocks, 'block')}"
    )
    return text + (f"; {rejected:,} jobs can never fit, and were rejected" if rejected else "")


def guard_table(tuning: Tuning, rows: Sequence[Guarded]) -> Table:
    """Returns what a limit on waits costs on later days."""
    metric = tuning.report.objective.metric
    unit, seconds = wait_unit(row.longest_wait_s for row in rows)
    table = titled_table(f"what --max-wait costs on later days: {metric}; waits in {unit}", "--max-wait")
    for heading in ("geom.\nmean", "mean", "mean\nwait", "longest\nwait"):
        table.add_column(heading, justify="right")
    carried = tuning.request.scheduler.settings.max_wait_s
    for row in rows:
        name = "off" if row.guard_s is None else whole_time(row.guard_s)
        means = [short(row.summary.geometric_mean), short(row.summary.mean)]
        waits = [in_unit(wait_s, seconds) for wait_s in (row.mean_wait_s, row.longest_wait_s)]
        table.add_row(f"{name} (the file's)" if row.guard_s == carried else name, *means, *waits)
    return table


def pooled_table(report: Report[Comparison]) -> Table:
    """Returns the ratios over all logs."""
    metric, own = report.objective.metric, report.pooled[TUNED]
    table = titled_table("")
    for heading in (escape(f"{ROLES[TUNED]} to it\n[95 %]"), "mean wait\nto the chosen"):
        table.add_column(heading, justify="right", no_wrap=True)
    for role, row in judged_first(report.pooled, TUNED).items():
        ratio = own.against[role]
        text = "–" if ratio is None else ratio_text(metric, ratio.to_json())
        table.add_row(ROLES[role], "" if role == TUNED else text, short(row.to_json()["mean_wait_ratio"]))
    return table


@dataclass(frozen=True)
class _Point:
    """A ratio to the best classic in hindsight, on its line of a panel."""

    role: str
    name: str
    ratio: float | None
    interval: tuple[float, float] | None


def draw_tuning(tuned: Tuned, report: Report[Comparison]) -> Figure:
    """Returns a figure with the search on the left and a panel a log on the right, to be saved with ``savefig``."""
    panels = _panels(report)
    figure = new_figure(13, max(4.8, 1.0 + 2.9 * len(panels)))
    grid = figure.add_gridspec(len(panels), 2, width_ratios=(1, 1.25))
    search = figure.add_subplot(grid[:, 0])
    _draw_costs(search, tuned)
    every = [search]
    for place, (title, points) in enumerate(panels):
        # One axis for all logs, so that they can be compared.
        panel = figure.add_subplot(grid[place, 1], sharex=every[1] if place else None)
        _draw_points(panel, title, points)
        every.append(panel)
    has_intervals = any(point.interval is not None for _, points in panels for point in points)
    _name_axis(every[-1], report, has_intervals=has_intervals)
    told = [line for one in report.logs for line in mark_lines((row.marks for row in one.scored), one.shared_marks)]
    if told:
        figure.supxlabel("; ".join(dict.fromkeys(told)), x=0.01, ha="left", fontsize=9)
    return finish(figure, every, _figure_title(tuned, report))


def _figure_title(tuned: Tuned, report: Report[Comparison]) -> str:
    bounds = "".join(f", {bound.metric} {bound.words}" for bound in report.objective.bounds)
    return f"{tuned.kind} tuned for {report.objective.metric}{bounds}"


def _draw_costs(panel: Axes, tuned: Tuned) -> None:
    """Draws the cost of the middle of the candidates over the generations, and that of the policy found."""
    from matplotlib.ticker import MaxNLocator

    last = len(tuned.costs)
    panel.axhline(0.0, color=BASELINE_COLOR, linestyle="--", linewidth=1, label="the classic chosen there")
    style: dict[str, Any] = {"color": TUNED_COLOR, "markersize": 4, "linewidth": 1.3}
    # The last cost is that of the policy found, behind the last generation.
    panel.plot(np.arange(1, last), tuned.costs[:-1], "o-", label="middle of the candidates", **style)
    panel.plot(last, tuned.costs[-1], "D", color=TUNED_COLOR, markersize=8, label="the policy found")
    panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    panel.set(xlabel="generation", ylabel="cost: mean ln(ratio to the chosen classic) + penalties")
    panel.set_title("the search, on all training windows", loc="left", fontsize=10)
    panel.grid(**GRID)
    panel.legend(frameon=False, fontsize=9)


def _panels(report: Report[Comparison]) -> list[tuple[str, list[_Point]]]:
    """Returns the title and the points of each panel: all logs together, if there are several, and then each log."""
    panels = [(_panel_title(one), _log_points(one)) for one in report.logs]
    if not report.pooled:
        return panels
    return [(f"all {len(report.logs)} logs together, on later days", _pooled_points(report)), *panels]


def _panel_title(one: Comparison) -> str:
    # In two lines: names of logs and of clusters are long.
    name, cluster = shortened(one.workload.name, LONGEST_NAME), shortened(one.cluster.label, LONGEST_NAME)
    return f"{name}\non {cluster}, on later days"


def _log_points(one: Comparison) -> list[_Point]:
    points = []
    for role, row in one.contenders.items():
        contrast = row.against[BEST]
        name = f"{ROLES[role]}\n{marked(shortened(row.label), row.marks, one.shared_marks)}"
        points.append(_Point(role, name, contrast.ratio, contrast.ratio_interval))
    return points


def _pooled_points(report: Report[Comparison]) -> list[_Point]:
    points = []
    for role, row in report.pooled.items():
        ratio = row.against[BEST]
        points.append(_Point(role, ROLES[role], ratio.value if ratio else None, ratio.interval if ratio else None))
    return points


def _draw_points(panel: Axes, title: str, points: Sequence[_Point]) -> None:
    """Draws ratios with their intervals, one line each."""
    panel.axvline(1.0, color=BASELINE_COLOR, linestyle="--", linewidth=1)
    for place, point in enumerate(points):
        if point.ratio is None:
            continue
        color = TUNED_COLOR if point.role == TUNED else OTHER_COLOR
        if point.interval is not None:
            panel.plot(point.interval, [place, place], color=color, linewidth=2.2, solid_capstyle="butt")
        panel.plot(point.ratio, place, "o", color=color, markersize=9 if point.role == TUNED else 7)
        style: dict[str, Any] = {"xytext": (0, 7), "textcoords": "offset points", "ha": "center", "fontsize": 8}
        panel.annotate(f"{point.ratio:.2f}", (point.ratio, place), color=color, **style)
    panel.set_yticks(range(len(points)), [point.name for point in points], fontsize=9)
    # The first role on top, with room for its number.
    panel.set_ylim(len(points) - 0.5, -0.7)
    panel.set_title(title, loc="left", fontsize=10)
    panel.grid(axis="x", **GRID)
    panel.set_xscale("log")


def _name_axis(panel: Axes, report: Report[Comparison], *, has_intervals: bool) -> None:
    """Names the axis that all panels share, with plain numbers on it."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    better = METRICS[report.objective.metric].better
    low, high = panel.get_xlim()
    panel.xaxis.set_major_locator(FixedLocator(next(ticks for span, ticks in TICKS if high > span * low)))
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}"))
    panel.xaxis.set_minor_locator(NullLocator())
    # Few blocks give none.
    interval = ", with its 95 % interval" if has_intervals else ""
    panel.set_xlabel(f"ratio to the best classic in hindsight{interval} ({better} is better)")
