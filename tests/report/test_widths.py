"""Tables at 80 columns: names are broken at their separators or not at all, and no number is cut."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.table import Table

import shunter
from shunter import read_workload
from shunter.comparison.comparison import Comparison
from shunter.comparison.roles import BASELINE, BEST, CHOSEN, CHOSEN_SAME, TUNED
from shunter.report.comparisons import contrast_table, metric_table
from shunter.report.standings import standing_table, waits_table
from shunter.report.tables import folded, print_fitted
from shunter.report.terminal import Console
from shunter.report.what_if import fitted_tables
from tests.tuning.handmade import log_report

LONG = "a-score-that-was-tuned-on-last-year.toml/conservative/tiered-defrag/posterior"


@pytest.mark.parametrize(
    ("name", "most", "lines"),
    [
        ("fcfs/easy", 20, ["fcfs/easy"]),
        ("fcfs/easy/requested", 12, ["fcfs/easy/", "requested"]),
        ("chosen on training days", 20, ["chosen on training", "days"]),
        ("limit=3600,kill-at-request=yes", 16, ["limit=3600,", "kill-at-request=", "yes"]),
        ("a-name-with-hyphens.toml/easy", 12, ["a-name-with-", "hyphe…toml/", "easy"]),
        ("abcdefghijklmnop.toml/easy", 11, ["abcde…toml/", "easy"]),
    ],
)
def test_names_are_folded_behind_separators(name: str, most: int, lines: list[str]) -> None:
    assert folded(name, most).split("\n") == lines


def printed(build: Callable[[Console], None], width: int = 80) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    build(console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def names(lines: list[str]) -> list[str]:
    """Returns the first column, line by line."""
    return [line.split("│")[1].strip() for line in lines if line.startswith("│")]


def comparison() -> Comparison:
    jobs = read_workload("generate:lublin?seed=3&jobs=300&cores=64&load=1.1&requests=factor")
    return shunter.compare(
        jobs,
        64,
        policy=["fcfs", "hybrid?aging=0.25"],
        dispatch=["easy", "conservative"],
        estimate=["requested", "perfect"],
        placement=["first-fit", "slowest-that-fits"],
        windows=5,
        length=50,
    )


@pytest.mark.parametrize("make", [metric_table, contrast_table])
def test_a_comparison_fits(make: Callable[..., Table]) -> None:
    compared = comparison()
    rows = [row | {"mean_wait_s": 1e6, "p95_wait_s": 1e7, "max_wait_s": 1e8} for row in compared.rows()]
    rows = [row | {"ratio": 112.3, "ratio_low": 101.2, "ratio_high": 123.4} for row in rows]
    lines = printed(lambda console: print_fitted(console, lambda most: make(compared, rows, most)))
    assert max(len(line) for line in lines) <= 80
    assert "…" not in "".join(lines)
    together = "".join(names(lines))
    for row in rows:
        assert row["label"] in together


def report() -> Comparison:
    labels = {BASELINE: "fcfs/easy", CHOSEN: "saf/conservative", BEST: "f2/easy", CHOSEN_SAME: "saf/conservative"}
    values = {role: (label, [1234.5, 2345.6, 3456.7, 1234.0, 2222.0]) for role, label in labels.items()}
    made = log_report(values | {TUNED: ("tuned/easy", [123.4, 234.5, 345.6, 456.7, 567.8])})
    return replace(made, contenders={**made.contenders, TUNED: replace(made.contenders[TUNED], label=LONG)})


def test_reports_of_roles_fit() -> None:
    for table in (standing_table(report(), TUNED, "later days"), waits_table(report(), TUNED)):
        lines = printed(lambda console, table=table: console.print(table))  # type: ignore[misc]
        assert max(len(line) for line in lines) <= 80
        first = names(lines)
        # What is too long for a line loses its middle, and the rest is whole.
        assert first[0] == "tuned"
        assert "conservative/" in first
        assert "tiered-defrag/" in first
        chosen = first.index("chosen on training")
        assert first[chosen + 1 : chosen + 3] == ["days", "saf/conservative"]
        assert first[-2:] == ["baseline", "fcfs/easy"]


def test_many_cases_make_several_tables() -> None:
    changes = ["cores=+25%", "policy=sjf,max-wait=86400", "dispatch=conservative", "load=1.2x", "limit=3600", "seed=3"]
    jobs = read_workload("generate:lublin?seed=3&jobs=200&cores=64&load=1.1&requests=factor")
    found = shunter.what_if(jobs, 64, changes=changes)

    def build(console: Console) -> None:
        for table in fitted_tables(console, found.cases):
            console.print(table)

    lines = printed(build)
    assert max(len(line) for line in lines) <= 80
    assert sum("metric" in line for line in lines) > 1
    headings = " ".join(line for line in lines if line.startswith("┃"))
    for piece in ("cores=+25%", "policy=sjf,", "conservative", "load=1.2x", "limit=3600", "seed=3"):
        assert piece in headings
