"""The tables and the figure of ``shunter eta``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from rich.markup import escape
from rich.table import Table

from shunter.metrics.labels import brief_seconds, counted, percent
from shunter.report.drawing import COLORS, GRID, finish, new_figure, time_unit
from shunter.report.tables import print_line
from shunter.report.terminal import Console

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from shunter.simulation.asked_job import AskedJob
    from shunter.simulation.eta import Eta, StartTimes

NOW: Final = "now"
MOST_DRAWN: Final = 60
"""So many jobs have room in a figure."""
ALIKE_S: Final = 60.0
"""Differences below this are none."""


def print_eta(eta: Eta, top: int, left_out: int = 0) -> None:
    """Prints when waiting jobs start, and what a job that is not submitted could ask for instead."""
    console = Console()
    times, settings = eta.waiting, eta.scheduler.settings
    head = f"{counted(len(times.job_ids), 'job')} waiting at {times.now_s:,.0f} s, under {settings.policy}"
    print_line(console, f"{head}/{settings.dispatch}; {counted(eta.asked.futures, 'future')}")
    if eta.new is not None and eta.new_job is not None:
        _print_new(console, eta, eta.new_job, eta.new)
    if times.job_ids:
        console.print(_table(times, top))
    if len(times.job_ids) > top:
        print_line(console, f"{len(times.job_ids) - top:,} more; --top shows them, or --json")
    if left_out:
        print_line(console, f"{counted(left_out, 'job')} held, or waiting for another job: left out")
    beyond = int((times.censored > 0).sum())
    if beyond:
        days = f"{eta.asked.horizon_days:g} days"
        print_line(console, f"{counted(beyond, 'job')} not started within {days} in some futures (>: later than that)")


def _print_new(console: Console, eta: Eta, job: AskedJob, times: StartTimes) -> None:
    what = f"a job of {_size(job)} for {brief_seconds(job.time_s)}, submitted now"
    if times.high_s[0] == 0:
        print_line(console, f"{what}: starts at once, in nearly all futures")
        return
    when = "at once" if times.median_s[0] == 0 else f"in {_middle(times)}"
    print_line(console, f"{what}: starts {when} (80 %: {_interval(times, 0)})")
    for other, found in (eta.instead or {}).values():
        gain_s = times.median_s[0] - found.median_s[0]
        if np.isnan(gain_s) or abs(gain_s) < ALIKE_S:
            gain = "no sooner"
        elif np.isinf(gain_s):
            gain = f"in {_middle(found)}" if gain_s > 0 else "later than the horizon"
        else:
            gain = f"{brief_seconds(abs(gain_s))} {'earlier' if gain_s > 0 else 'later'}"
        asked = brief_seconds(other.time_s) if other.time_s != job.time_s else _size(other)
        print_line(console, f"  if you ask for {asked} instead: {gain}")


def _size(job: AskedJob) -> str:
    parts = [f"{job.cores:g} cores" if job.cores != 1 else "1 core"]
    if job.gpus:
        parts.append(f"{job.gpus:g} GPUs" if job.gpus != 1 else "1 GPU")
    if job.nodes is not None:
        parts.append(f"on {counted(job.nodes, 'node')}")
    return " ".join(parts)


def _middle(times: StartTimes) -> str:
    return _time(times.median_s[0], times.horizon_s)


def _time(wait_s: float, horizon_s: float) -> str:
    if np.isinf(wait_s):
        return f"> {brief_seconds(horizon_s)}"
    return NOW if wait_s == 0 else brief_seconds(wait_s)


def _interval(times: StartTimes, place: int) -> str:
    return f"{_time(times.low_s[place], times.horizon_s)} – {_time(times.high_s[place], times.horizon_s)}"


def _table(times: StartTimes, top: int) -> Table:
    table = Table()
    for name in ("job", "starts in (median)", "80 % interval", "within 1 h", "within 1 d"):
        table.add_column(name, justify="left" if name == "job" else "right", no_wrap=True)
    hour, day = times.within(3600), times.within(86_400)
    for place in np.argsort(times.median_s, kind="stable")[:top].tolist():
        table.add_row(
            escape(str(times.job_ids[place])),
            _time(times.median_s[place], times.horizon_s),
            _interval(times, place),
            percent(float(hour[place])),
            percent(float(day[place])),
        )
    return table


def draw_eta(eta: Eta) -> Figure:
    """Returns a figure: the median and the 80 % interval of each job that waits, the first first."""
    times = eta.waiting
    shown = np.argsort(times.median_s, kind="stable")[:MOST_DRAWN]
    low_s, middle_s, high_s = (
        np.minimum(ends[shown], times.horizon_s) for ends in (times.low_s, times.median_s, times.high_s)
    )
    unit, unit_s = time_unit(float(high_s.max(initial=1.0)))
    figure = new_figure(8, 1.6 + 0.18 * max(4, len(shown)))
    panel = figure.subplots()
    rows = np.arange(len(shown))
    panel.hlines(rows, low_s / unit_s, high_s / unit_s, color=COLORS[4], linewidth=4, label="80 % of futures")
    panel.plot(middle_s / unit_s, rows, "o", color=COLORS[0], markersize=4, label="median")
    panel.set_yticks(rows, [str(times.job_ids[place]) for place in shown], fontsize=7)
    panel.invert_yaxis()
    panel.set_xlim(left=0)
    panel.set_xlabel(f"start, {unit} from now")
    panel.set_ylabel("job")
    panel.grid(axis="x", **GRID)
    if len(shown):
        panel.legend(loc="best", frameon=False)
    more = "" if len(shown) == len(times.job_ids) else f", the first {len(shown)} of {len(times.job_ids):,}"
    return finish(figure, [panel], f"When waiting jobs start{more}")
