"""The tables of ``shunter trace info`` and ``shunter trace check``, for people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from rich.columns import Columns
from rich.markup import escape
from rich.table import Table

from shunter.metrics.labels import brief_seconds, counted, percent, short
from shunter.report.tables import ledger_table, print_written
from shunter.report.terminal import Console

if TYPE_CHECKING:
    from shunter.model.workload import Workload
    from shunter.report.log_check import Checked
    from shunter.workloads.statistics import Description

BLOCKS: Final = "▁▂▃▄▅▆▇█"
SPARKS: Final = 60
"""Columns of the line of arrivals."""
AMOUNTS: Final = {
    "run_s": "run\ntime",
    "requested_s": "requested\ntime",
    "logged_wait_s": "logged\nwait",
    "gap_s": "between\narrivals",
    "cores": "\ncores",
    "gpus": "\nGPUs",
    "memory_mb": "\nmemory",
}
"""What there are percentiles of, and the headings."""
GB: Final = 1024
"""MB in a GB."""


def print_info(workload: Workload, description: Description, written: Sequence[Path]) -> None:
    """Prints a summary, percentiles, sizes, whose the jobs are, arrivals, what is not told, and the ledger."""
    console = Console()
    console.print(_title(description), soft_wrap=True, highlight=False)
    console.print(_machine(workload, description), soft_wrap=True, highlight=False, markup=False)
    console.print(summary_table(description))
    console.print(percentile_table(description))
    tables = [size_table(description), owner_table(description), status_table(description)]
    console.print(Columns([table for table in tables if table.row_count]))
    for line in (spark_line(workload, description), *_not_told(description)):
        console.print(line, highlight=False, markup=False)
    if description.ledger:
        console.print(ledger_table(description.ledger))
    print_written(console, written)


def _title(description: Description) -> str:
    format_ = "" if description.format is None else f" ({description.format})"
    return f"[bold]{escape(description.name)}[/bold]{format_}: {counted(description.jobs, 'job')}"


def _machine(workload: Workload, description: Description) -> str:
    cluster = description.cluster
    if cluster is None:
        why = workload.cluster_note or "the log does not tell its machine"
        return f"{why}; give --cluster to see the offered load"
    load = "unknown" if description.offered_load is None else percent(description.offered_load, 1)
    return f"on {cluster.label}: offered load {load}"


def summary_table(description: Description) -> Table:
    """Returns single figures, one a row."""
    table = Table("figure")
    table.add_column("value", justify="right")
    arrivals = description.arrivals
    first, last = description.dates or (
        f"{time_s:,.0f} s" for time_s in (description.first_submit_s, description.last_submit_s)
    )
    rows = {
        f"first arrival ({description.clock.meaning})": str(first),
        "last arrival": str(last),
        "span": brief_seconds(description.span_s),
        "variation of gaps (1: independent)": short(arrivals["gap_cv"]),
        "dispersion of jobs per hour (1: independent)": short(arrivals["hourly_dispersion"]),
        "busiest hour to mean hour": short(arrivals["peak_to_mean_hour"]),
        "most jobs in one second": f"{arrivals['most_in_one_second']:,}",
        f"jobs of at most one {_unit(description)}": percent(description.serial_share, 1),
    }
    if description.median_run_to_request is not None:
        rows["median of run time / requested time"] = short(description.median_run_to_request)
        rows["jobs that run longer than requested"] = f"{description.beyond_request_jobs:,}"
    for name, value in rows.items():
        table.add_row(name, value)
    return table


def percentile_table(description: Description) -> Table:
    """Returns the percentiles, a column an amount, of what the log tells."""
    told = {
        name: amounts
        for name in AMOUNTS
        # A column of zeros for a log without GPUs would only be wide.
        if (amounts := description.percentiles[name]) is not None and (name != "gpus" or amounts["max"])
    }
    table = Table("", padding=(0, 0, 0, 1))
    for name in told:
        table.add_column(AMOUNTS[name], justify="right", no_wrap=True)
    for key in next(iter(told.values())):
        label = f"{key[1:]} %" if key.startswith("p") else {"count": "told of"}.get(key, key)
        cells = (_amount(name, key, amounts[key]) for name, amounts in told.items())
        table.add_row(label, *cells, end_section=key in ("count", "mean"))
    return table


def _amount(name: str, key: str, value: float) -> str:
    if key == "count":
        return f"{value:,.0f}"
    if name == "memory_mb":
        return f"{short(value / GB)} GB" if value >= GB else f"{short(value)} MB"
    if name.endswith("_s"):
        return brief_seconds(value)
    # Counts without decimals, parts of a core with them.
    return short(value) if value != round(value) else f"{value:,.0f}"


def size_table(description: Description) -> Table:
    """Returns the most common sizes."""
    unit = _unit(description)
    table = Table(title="most common sizes", title_justify="left")
    for heading in (f"{unit}s", "jobs", f"{unit}-hours"):
        table.add_column(heading, justify="right")
    for size in description.sizes:
        table.add_row(f"{size.size:,.15g}", percent(size.share, 1), percent(size.work_share, 1))
    return table


def owner_table(description: Description) -> Table:
    """Returns how many users and so on there are, and who has the most jobs."""
    table = Table("", title="whose jobs", title_justify="left")
    for heading in ("count", "most jobs", "share"):
        table.add_column(heading, justify="right")
    for name, owner in description.owners.items():
        if owner is not None:
            share = percent(owner["largest_share"], 1)
            table.add_row(name, f"{owner['count']:,}", escape(owner["largest"]), share)
    return table


def status_table(description: Description) -> Table:
    """Returns the share of each status."""
    table = Table("status", title="how jobs ended", title_justify="left")
    table.add_column("jobs", justify="right")
    for name, share in description.statuses.items():
        table.add_row(escape(name), percent(share, 1))
    return table


def _unit(description: Description) -> str:
    return "GPU" if description.sizes_of == "gpus" else "core"


def spark_line(workload: Workload, description: Description) -> str:
    """Returns the arrivals over the span as a line of blocks, with its scale."""
    if not description.span_s:
        return "arrivals: all at one time"
    times = workload.jobs["submit_s"].to_numpy() - description.first_submit_s
    place = np.minimum((times * (SPARKS / description.span_s)).astype(np.int64), SPARKS - 1)
    counts = np.bincount(place, minlength=SPARKS)
    # A blank is no job at all; the lowest block is some.
    heights = np.ceil(counts * (len(BLOCKS) / counts.max())).astype(np.int64)
    line = "".join(BLOCKS[height - 1] if height else " " for height in heights.tolist())
    each = brief_seconds(description.span_s / SPARKS)
    return f"arrivals |{line}|\n         each column is {each}, the highest {counted(int(counts.max()), 'job')}"


def _not_told(description: Description) -> list[str]:
    partly = [f"{word} ({percent(1 - share)} of the jobs)" for word, share in description.told.items() if 0 < share < 1]
    lines = [("not told: ", description.absent), ("not told of all jobs: ", partly)]
    return [intro + ", ".join(words) for intro, words in lines if words]


def print_check(checked: Checked) -> None:
    """Prints what was repaired, what is not told, what else is worth knowing, and last whether the log is clean."""
    description = checked.description
    console = Console()
    console.print(_title(description), soft_wrap=True, highlight=False)
    if description.ledger:
        console.print(_share_table(checked))
    if description.absent:
        console.print(f"not told: {', '.join(description.absent)}", highlight=False, markup=False)
    for finding in checked.findings:
        console.print(f"– {finding.what}", highlight=False, markup=False)
    repairs = counted(checked.repairs, "repair")
    last = "clean" if checked.clean else f"{repairs} of {checked.read_jobs:,} jobs"
    console.print(last, highlight=False)


def _share_table(checked: Checked) -> Table:
    title = "no mistakes, but to be known" if checked.clean else "repairs, and what else is to be known"
    table = Table("rule", title=title, title_justify="left")
    table.add_column("lines", justify="right")
    table.add_column("share", justify="right", no_wrap=True)
    table.add_column("first example")
    for entry in checked.description.ledger.entries:
        share = entry.count / checked.lines
        table.add_row(escape(entry.rule), f"{entry.count:,}", percent(share, 2), escape(entry.example))
    return table
