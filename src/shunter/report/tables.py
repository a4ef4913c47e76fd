"""What tables for people share, and those of a run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

from shunter.comparison.marks import restart_warning
from shunter.metrics.labels import UNITS_S, brief_seconds, short, shortened
from shunter.metrics.run import turnaround_by_gpus, turnaround_by_priority
from shunter.metrics.table import COUNT, METRICS, SECONDS, SHARE
from shunter.model.log import FROM_WORKLOAD
from shunter.model.size import size_note
from shunter.policies.native import NativePolicy
from shunter.report.terminal import Console

if TYPE_CHECKING:
    from shunter.metrics.run import Run
    from shunter.model.log import Ledger
    from shunter.model.schedule import Schedule
    from shunter.model.settings import Settings
    from shunter.workloads.machines.site import LeftOut

REJECTIONS_SHOWN: Final = 12
"""How many kinds of rejections are listed: a site may have a limit for each user."""
ANY_WIDTH: Final = 10_000
"""No table is as wide."""
OF_STOPS: Final = ("preemptions", "failures", "migrations", "lost_gpu_hours")
"""Metrics that are 0 where nothing can be stopped."""
UTILIZATIONS: Final = ("core_utilization", "gpu_utilization", "flops_weighted_utilization")
"""Metrics that are 0 of what no job asks for."""
NAME_WIDTH: Final = 20
"""Of names in tables that are full of numbers, on 80 columns."""
NAME_WIDTHS: Final = (60, 40, 30, 24, 20, 16, 12)
"""How long the lines of a name may be, from what is tried first."""


def titled_table(title: str, first: str = "") -> Table:
    """Returns a table with a title on its left, whose first column holds names; `folded` breaks long ones."""
    table = Table(title=title, title_justify="left")
    # Rich would break a name anywhere.
    table.add_column(first, no_wrap=True)
    return table


def folded(name: str, most: int = NAME_WIDTH) -> str:
    """Returns a name in lines of so many characters, broken behind slashes, commas, hyphens and the like alone.

    A part that is longer than a line loses its middle.
    """
    lines = [""]

    def add(part: str) -> None:
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > most:
            lines.append("")
        lines[-1] += part if len(part.rstrip()) <= most else shortened(part, most)

    for part in re.split(r"(?<=[/, ?&])", name):
        if len(part.rstrip()) <= most:
            add(part)
            continue
        # A word is torn apart only where it does not fit on a line of its own.
        lines.append("")
        for piece in re.split(r"(?<=[=_-])", part):
            add(piece)
    return "\n".join(line.rstrip() for line in lines if line)


def print_fitted(console: Console, build: Callable[[int], Table]) -> None:
    """Prints a table whose names are folded as little as the width of the console allows.

    Args:
        console: Where to.
        build: Makes the table with names of so many characters at most.
    """
    anywhere = console.options.update(max_width=ANY_WIDTH)
    tables = (build(most) for most in NAME_WIDTHS)
    narrow = next((one for one in tables if Measurement.get(console, anywhere, one).maximum <= console.width), None)
    console.print(build(NAME_WIDTHS[-1]) if narrow is None else narrow)


def print_line(console: Console, line: str) -> None:
    """Prints a line as it is: a file's name may look like markup."""
    console.print(line, markup=False, highlight=False, soft_wrap=True)


def print_warning(console: Console, warning: str | None) -> None:
    """Prints what a reader should know before believing the result, if there is anything."""
    if warning is not None:
        console.print(f"[yellow]warning: {escape(warning)}[/]", highlight=False, soft_wrap=True)


def print_written(console: Console, written: Sequence[Path]) -> None:
    """Prints which files were written."""
    for path in written:
        print_line(console, f"written: {path}")


def hours(seconds: float | None) -> str:
    """Returns seconds as hours with about three digits; a dash where there are none."""
    return "–" if seconds is None else short(seconds / 3600.0)


def print_run(run: Run, written: Sequence[Path]) -> None:
    """Prints the metrics, the ledger, the rejected jobs, and what was written."""
    console = Console()
    console.print(run_title(run), soft_wrap=True, highlight=False)
    console.print(metrics_table(run.metrics, told_metrics(run)))
    for table in breakdown_tables(run.schedule):
        console.print(table)
    if run.schedule.ledger:
        console.print(ledger_table(run.schedule.ledger))
    if run.schedule.rejected.any():
        console.print(rejection_table(run.schedule))
    print_warning(console, restart_warning([run.scheduler], run.schedule.workload))
    print_written(console, written)


def run_title(run: Run) -> str:
    """Returns what was simulated, in three lines."""
    schedule, settings = run.schedule, run.schedule.settings
    # A reader must see that the size of the machine was taken from the log, and not given.
    cluster = schedule.cluster.label + (", as the workload says" if run.log.cluster_from == FROM_WORKLOAD else "")
    counts, bases = schedule.outcomes(), schedule.bases()
    note = size_note([schedule.size_by], schedule.cluster)
    sizes = f" · {note}" if note else ""
    others = "".join(f", {counts[name]:,} {name}" for name in ("killed", "failed", "unfinished") if counts[name])
    return (
        f"[bold]{escape(schedule.workload.name)}[/bold] on {escape(cluster)}\n"
        f"{escape(settings.policy)} · {settings.dispatch} · {settings.placement}{escape(gpu_rules(settings))} · "
        f"estimate {escape(settings.estimate)}{_bases(settings.estimate, bases)}{sizes}\n"
        f"{len(schedule):,} jobs, {counts['rejected']:,} rejected{others}, simulated in {run.seconds:.3g} s"
    )


def gpu_rules(settings: Settings) -> str:
    """Returns which types of GPUs and which nodes jobs wait for, where they wait for any."""
    kind = settings.pairs.partition("?")[0]
    pairs = f" · pairs {kind}" if kind != "any" else ""
    locality = settings.wait_for_locality
    return pairs + (f" · waits for locality: {locality}" if locality != "never" else "")


def _bases(estimate: str, bases: dict[str, int]) -> str:
    """Returns what the estimates rested on, where their name does not say it."""
    # Nothing is said where all jobs rest on what the name promises.
    said = {"requested": ["request"], "perfect": ["run-time"]}.get(estimate, [])
    if list(bases) in ([], said):
        return ""
    return f" ({', '.join(f'{count:,} {name}' for name, count in bases.items())})"


def metrics_table(metrics: dict[str, float | None], names: Iterable[str]) -> Table:
    """Returns some metrics, one a row."""
    table = Table("metric")
    table.add_column("value", justify="right")
    for name in names:
        table.add_row(name, format_metric(name, metrics[name]))
    return table


def told_metrics(*runs: Run) -> list[str]:
    """Returns the metrics that tell something of one of the runs; of stops only where jobs can be stopped.

    JSON has them all.
    """
    idle = {name for name in runs[0].metrics if not any(run.metrics[name] for run in runs)}
    hidden = idle & {*UTILIZATIONS, "cancelled_jobs"}
    if not any(_can_stop(run) for run in runs):
        # Who is never stopped waits once: the first wait is the wait.
        hidden |= (idle & set(OF_STOPS)) | {"mean_first_wait_s"}
    # One node is balanced, and so are cores that nobody uses.
    if "core_utilization" in idle or all(len(run.schedule.cluster.nodes) == 1 for run in runs):
        hidden.add("load_imbalance")
    known = [name for name in runs[0].metrics if any(run.metrics[name] is not None for run in runs)]
    return [name for name in known if name not in hidden]


def _can_stop(run: Run) -> bool:
    settings, policy = run.schedule.settings, run.scheduler.policy
    preempts = isinstance(policy, NativePolicy) and policy.known.preempts
    return preempts or settings.failures is not None or settings.mtbf_s is not None


def breakdown_tables(schedule: Schedule) -> Iterator[Table]:
    """Yields the turnarounds by GPUs and by priority, where the jobs have them."""
    for name, rows in (("GPUs", turnaround_by_gpus(schedule)), ("priority", turnaround_by_priority(schedule))):
        if rows is not None:
            table = Table(name, title=f"turnaround by {name}", title_justify="left")
            for column in ("jobs", "mean", "median", "95 %", "mean wait"):
                table.add_column(column, justify="right")
            for label, jobs, *times in (row.values() for row in rows):
                table.add_row(label, f"{jobs:,}", *(brief_seconds(seconds) for seconds in times))
            yield table


def format_metric(name: str, value: float | None) -> str:
    """Returns a metric with its unit: ``12,345 s (3 h 25 min)``, ``71.2 %``; a dash where it has no meaning."""
    if value is None:
        return "–"
    unit = METRICS[name].unit
    if unit == SECONDS:
        return format_seconds(value)
    if unit == SHARE:
        return f"{100 * value:.2f} %"
    if unit == COUNT:
        return f"{value:,.0f}"
    return f"{value:,.4f}" if value < 1000 else f"{value:,.1f}"


def format_seconds(seconds: float) -> str:
    """Returns seconds, with the two largest units beside them from a minute on: ``12,345 s (3 h 25 min)``."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:,.2f} s".replace(".00 s", " s")
    largest = next(index for index, (_, size) in enumerate(UNITS_S) if whole >= size)
    (unit, size), (next_unit, next_size) = UNITS_S[largest : largest + 2]
    # Rounding to the smaller unit first keeps "60 min" out.
    parts = round(seconds / next_size)
    per = size // next_size
    text = f"{parts // per:,} {unit}" + (f" {parts % per} {next_unit}" if parts % per else "")
    return f"{whole:,} s ({text})"


def whole_time(seconds: float) -> str:
    """Returns a time as options take it, in the largest unit that leaves no rest: ``3d``, ``36h``, ``90s``."""
    unit, size = next((unit for unit in UNITS_S if seconds and seconds % unit[1] == 0), UNITS_S[-1])
    return f"{seconds / size:g}{unit[0]}"


def ledger_table(ledger: Ledger) -> Table:
    """Returns the repairs and stand-ins behind the result."""
    table = Table("repair or stand-in", title="ledger", title_justify="left")
    table.add_column("jobs", justify="right")
    table.add_column("first example")
    for entry in ledger.entries:
        table.add_row(escape(entry.rule), f"{entry.count:,}", escape(entry.example))
    return table


def left_out_table(left: Sequence[LeftOut]) -> Table:
    """Returns what a site's files tell, and was not taken over."""
    table = Table(title="read, and not taken over", title_justify="left")
    for column in ("key", "value", "why", "where"):
        table.add_column(column, overflow="fold")
    for entry in left:
        more = f" (+{entry.places - 1:,})" if entry.places > 1 else ""
        cells = (entry.key, entry.value, entry.why, f"{entry.file}:{entry.line}{more}")
        table.add_row(*(escape(cell) for cell in cells))
    return table


def rejection_table(schedule: Schedule) -> Table:
    """Returns the rejected jobs by reason and rule, with the first of each."""
    from shunter.model.fitting import REASON_TITLES, rejected_jobs

    table = Table("rejected: can never fit", title="rejected jobs", title_justify="left")
    table.add_column("jobs", justify="right")
    table.add_column("first example")
    groups = rejected_jobs(schedule)
    for group in groups[:REJECTIONS_SHOWN]:
        where = "" if group.first.where is None else f"{group.first.where}: "
        table.add_row(REASON_TITLES[group.reason], f"{group.jobs:,}", escape(f"{where}{group.first.text}"))
    if left := groups[REJECTIONS_SHOWN:]:
        table.add_row(f"{len(left):,} more rules", f"{sum(group.jobs for group in left):,}", "see --json")
    return table
