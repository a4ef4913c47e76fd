"""Comparisons for people: tables over windows, and against the baseline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.markup import escape
from rich.table import Table

from shunter.comparison.combinations import WITH_COST
from shunter.comparison.marks import mark_lines, restart_warning, shared_lines
from shunter.comparison.report import BETTER, BROKEN, UTILIZATIONS, WORSE
from shunter.comparison.roles import BASELINE, CLASSIC, ROLES
from shunter.metrics.labels import counted, in_unit, percent, short, wait_unit
from shunter.metrics.table import higher_is_better
from shunter.model.log import FROM_WORKLOAD, Ledger
from shunter.model.size import size_note
from shunter.report.tables import (
    NAME_WIDTH,
    folded,
    gpu_rules,
    ledger_table,
    print_fitted,
    print_line,
    print_written,
    titled_table,
)
from shunter.report.terminal import Console

if TYPE_CHECKING:
    from shunter.comparison.comparison import Comparison, Scored
    from shunter.comparison.report import Finding

BREAK, INDENT = "\n", "  "
"""Between the lines of a name."""
FINDING_COLORS: Final = {BETTER: "green", WORSE: "red", BROKEN: "red"}
"""Of what is found; the rest has none."""


def print_findings(console: Console, findings: Iterable[Finding]) -> None:
    """Prints sentences, what speaks for a contender in green and what speaks against it in red."""
    for finding in findings:
        color, text = FINDING_COLORS.get(finding.result), escape(finding.sentence)
        console.print(f"[{color}]{text}[/]" if color else text, highlight=False, soft_wrap=True)


def ratio_text(metric: str, row: dict[str, Any]) -> str:
    """Returns the ratio to the baseline with its interval; green where it is surely better, red where surely worse."""
    if row["identical"]:
        return "identical"
    if row["ratio"] is None:
        return "–"
    if row["ratio_low"] is None:
        return short(row["ratio"])
    text = escape(f"{short(row['ratio'])} [{short(row['ratio_low'])}, {short(row['ratio_high'])}]")
    higher, lower = row["ratio_low"] > 1, row["ratio_high"] < 1
    if not (higher or lower):
        return text
    better = higher if higher_is_better(metric) else lower
    return f"[{'green' if better else 'red'}]{text}[/]"


def print_comparison(comparison: Comparison, top: int | None, written: Sequence[Path]) -> None:
    """Prints the metric over windows, the contrast with the baseline, the ledger, and what was written."""
    every = comparison.rows()
    # The baseline is shown in any case: without it no ratio can be read.
    rows = [row for row in every[:top] if row["label"] != comparison.baseline.label]
    rows += [row for row in every if row["label"] == comparison.baseline.label]
    rows.sort(key=lambda row: row["rank"])
    console = Console()
    console.print(comparison_title(comparison, _common_words(comparison)), soft_wrap=True, highlight=False)
    print_grounds(console, comparison)
    # Rows of 1.00 would look like a result.
    if comparison.quiet_note is None:
        print_fitted(console, lambda most: metric_table(comparison, rows, most))
        print_fitted(console, lambda most: contrast_table(comparison, rows, most))
        if (hidden := len(every) - len(rows)) > 0:
            console.print(f"not shown (--top): {hidden}", highlight=False)
    for line in comparison_notes(comparison):
        print_line(console, line)
    if ledger := _common_ledger(comparison):
        console.print(ledger_table(ledger))
    # The tables have all; the sentences are for those who ask whether there is anything better than what they have.
    if comparison.quiet_note is None:
        print_findings(console, comparison.headlines())
    print_line(console, comparison.next_step.text)
    print_written(console, written)


def print_grounds(console: Console, comparison: Comparison) -> None:
    """Prints what to know before any result: whether to believe it, what all rows have, whether anybody waits."""
    if comparison.believability is not None:
        print_line(console, comparison.believability.line)
    if comparison.cold_start is not None:
        print_line(console, comparison.cold_start.line)
    if comparison.quiet_note is not None:
        # Where nothing is shown, marks explain nothing.
        print_line(console, comparison.quiet_note)
        return
    for line in shared_lines(comparison.shared_marks):
        print_line(console, line)


def comparison_title(comparison: Comparison, common: str = "") -> str:
    """Returns what was compared, in three lines."""
    windows = comparison.windows
    told = ", as the workload says" if comparison.log.cluster_from == FROM_WORKLOAD else ""
    warmup = f", after {windows.warmup:,} to warm up" if windows.warmup else ""
    blocks = counted(windows.blocks, "block")
    combinations = counted(len(comparison.scored), "combination")
    simulations = counted(len(comparison.scored) * len(windows), "simulation")
    note = size_note(comparison.sizes_by, comparison.cluster)
    sizes = f" · {note}" if note else ""
    return (
        f"[bold]{escape(comparison.workload.name)}[/bold] on {escape(comparison.cluster.label + told)}\n"
        f"{counted(len(windows), 'window')} of {windows.length:,} jobs{warmup}, in {blocks} of "
        f"{comparison.part} of the log, seed {comparison.seed}\n"
        f"{combinations}{common}{sizes}, {simulations} in {comparison.seconds:.3g} s"
    )


def _common_words(comparison: Comparison) -> str:
    """Returns the placement and the estimate that all combinations share, for labels leave those out."""
    settings = [one.combination.settings for one in comparison.scored]
    places = {one.combination.scheduler.placement.label for one in comparison.scored}
    shared = [places, {f"estimate {each.estimate}" for each in settings}]
    rules = {gpu_rules(each) for each in settings}
    told = "".join(f" · {escape(words.pop())}" for words in shared if len(words) == 1)
    return told + (escape(rules.pop()) if len(rules) == 1 else "")


def metric_table(comparison: Comparison, rows: Sequence[dict[str, Any]], most: int = NAME_WIDTH) -> Table:
    """Returns the metric over the windows, by combination, with names in lines of so many characters."""
    table = titled_table(f"{comparison.metric} over the windows, best {comparison.sorted_by} first", "combination")
    names = {"geom.\nmean": "geometric_mean", "mean": "mean", "median": "median", "p95": "p95"}
    for heading in (*names, "worst\nblock", "wins"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        worst = f"{short(row['worst_block_mean'])} (#{row['worst_block']})" if row["worst_block"] is not None else "–"
        cells = [short(row[name]) for name in names.values()]
        table.add_row(row_name(comparison, row, most), *cells, worst, percent(row["win_rate"]))
    return table


def contrast_table(comparison: Comparison, rows: Sequence[dict[str, Any]], most: int = NAME_WIDTH) -> Table:
    """Returns each combination against the baseline, and what users and cluster had of it."""
    # By the p95 wait: by the longest, means would often be 0.00 hours.
    unit, seconds = wait_unit(row["p95_wait_s"] for row in rows)

    def waits(row: dict[str, Any]) -> list[str]:
        return [in_unit(row[name], seconds) for name in ("mean_wait_s", "p95_wait_s", "max_wait_s")]

    return ratio_table(comparison, rows, unit, ("mean\nwait", "p95\nwait", "max\nwait"), waits, most)


def ratio_table(
    comparison: Comparison,
    rows: Sequence[dict[str, Any]],
    unit: str,
    headings: Sequence[str],
    cells: Callable[[dict[str, Any]], list[str]],
    most: int,
) -> Table:
    """Returns a table of ratios to the reference, cells of the verb's own, what was used, and what stops cost."""
    table = titled_table(f"against {escape(comparison.baseline.label)}; waits in {unit}", "combination")
    table.add_column(escape("ratio [95 %]"), justify="right", no_wrap=True)
    used = used_columns(rows)
    lost = any(row["lost_gpu_hours"] for row in rows)
    for heading in (*headings, *used, *["lost\nGPU·h"] * lost):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        # In an evaluation the row says itself what it is.
        itself = "=" if "role" in row else ROLES[BASELINE]
        ratio = itself if row["label"] == comparison.baseline.label else ratio_text(comparison.metric, row)
        shares = [percent(row[name], 1) for name in used.values()]
        costs = [short(row["lost_gpu_hours"])] * lost
        table.add_row(row_name(comparison, row, most), ratio, *cells(row), *shares, *costs)
    return table


def used_columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Returns the headings and metrics of what is used by anybody: cores, GPUs, or both."""
    known = {"cores\nused": UTILIZATIONS[0], "GPUs\nused": UTILIZATIONS[1]}
    used = {heading: name for heading, name in known.items() if any(row[name] for row in rows)}
    return used or dict([*known.items()][:1])


def comparison_notes(comparison: Comparison) -> list[str]:
    """Returns what a reader of the tables must know."""
    windows = comparison.windows
    notes = [f"skipped: {reason}" for reason in comparison.skipped]
    if comparison.asked is not None and len(windows) < comparison.asked:
        notes.append(f"{comparison.asked} windows were asked for; the log has room for {len(windows)}")
    if note := comparison.interval_note:
        notes.append(note)
    if comparison.sorted_by == "mean":
        notes.append("a value of 0 has no geometric mean, and no ratio; the mean and its differences are in --json")
    if comparison.quiet_note is None:
        notes += mark_lines((one.marks for one in comparison.scored), comparison.shared_marks)
    notes += _basis_notes(comparison)
    if rejected := max(one.rejected for one in comparison.scored):
        notes.append(f"{rejected:,} of {windows.length * len(windows):,} jobs can never fit, and were rejected")
    # A row that was added to show what restarts cost is no choice of the reader's.
    chosen = (one.combination.scheduler for one in comparison.scored if not one.label.endswith(WITH_COST))
    if warning := restart_warning(chosen, comparison.workload):
        notes.append(f"warning: {warning}")
    return notes


def _basis_notes(comparison: Comparison) -> list[str]:
    """Returns what estimates rested on where that was not the same for all jobs, for the best of each estimate."""
    # What an estimate rests on depends on when jobs end, and so on the policy: the best stands for all with the same
    # estimate.
    best: dict[str, Scored] = {}
    for one in comparison.scored:
        best.setdefault(one.combination.settings.estimate, one)
    notes = []
    for one in best.values():
        if len(one.estimated_from) > 1:
            parts = ", ".join(f"{count:,} {basis}" for basis, count in one.estimated_from.items())
            notes.append(f"{one.combination.label}: estimates rested on {parts}")
    return notes


def _common_ledger(comparison: Comparison) -> Ledger:
    """Returns every entry of any combination once."""
    entries = [entry for one in comparison.scored for entry in one.ledger.entries]
    return Ledger(tuple(dict.fromkeys(entries)))


def row_name(comparison: Comparison, row: dict[str, Any], most: int) -> str:
    """Returns the label with its marks, and in an evaluation below it what the row is."""
    label = escape(folded(comparison.shown_label(row["label"]), most))
    role = ROLES[row.get("role", CLASSIC)]
    return f"{label}{BREAK}{INDENT}{role}" if role else label
