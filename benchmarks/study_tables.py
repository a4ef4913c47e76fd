"""Tables for docs/results.md of what studies came to, beside the best classic in hindsight.

    PYTHONPATH=. python benchmarks/study_tables.py benchmarks/studies/hosts.toml ...

Trains nothing: `shunter study FILE` does. The best classic is the one that does best on the days of the report, under
any dispatch rule; beginning and learned are ratios to it: geometric means over the seeds that have ended, with
Student's 95 % interval. wait is the ratio of mean waits.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

import numpy as np

from shunter.comparison.roles import BEGINNING, BEST, CHOSEN, LEARNED
from shunter.studies.aggregates import Estimate, mean
from shunter.studies.runs import Record
from shunter.studies.study import StudyReport, run_study
from shunter.studies.study_file import read_study

COLUMNS: Final = ("seeds", "beginning", "learned", "kept", "wait", "beats the first")


def rows_of(record: Record) -> dict[str, dict[str, Any]]:
    """Returns the rows of a run's report by role."""
    assert record.result is not None
    report = next(part for part in record.result["parts"] if part["part"] == "report")
    return {row["role"]: row for row in report["logs"][0]["rows"]}


def best_of(rows: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Returns the row of the best classic in hindsight; where there is none, that was chosen on training days."""
    return rows.get(BEST, rows[CHOSEN])


def shown(estimate: Estimate | None) -> str:
    """Returns a figure with its interval."""
    if estimate is None:
        return ""
    if estimate.interval is None:
        return f"{estimate.value:.3g}"
    low, high = estimate.interval
    return f"{estimate.value:.3f} [{low:.3f}, {high:.3f}]"


def row_of(report: StudyReport, variant: str, log: str) -> str:
    """Returns what a variant came to on a log, as a row of a table."""
    done = [record for record in report.records(variant, log) if record.result is not None]
    if not done:
        return f"| {variant} | 0 |" + " |" * (len(COLUMNS) - 1)
    found = [rows_of(record) for record in done]
    # Logarithms: what is learned to the best, less what is learned to its beginning.
    learned = [record.score(best_of(rows)["role"]) or 0.0 for record, rows in zip(done, found, strict=True)]
    began = [one - (record.score(BEGINNING) or 0.0) for one, record in zip(learned, done, strict=True)]
    kept = sum(rows[LEARNED]["against"][BEGINNING]["identical"] for rows in found)
    waits = [rows[LEARNED]["mean_wait_s"] / best_of(rows)["mean_wait_s"] for rows in found]
    cells = [
        str(len(found)),
        f"{np.exp(np.mean(began)):.3g}",
        shown(mean(learned).exp()),
        f"{kept} of {len(found)}",
        f"×{np.exp(np.mean(np.log(waits))):.2f}",
        shown(report.improvement(variant, CHOSEN)),
    ]
    return f"| {variant} | " + " | ".join(cells) + " |"


def main() -> None:
    """Prints a table for each log of each study file."""
    for file in sys.argv[1:]:
        report = run_study(read_study(Path(file)), only_read=True)
        for log in report.study.logs:
            done = [record for _, record in report.runs if record.result is not None]
            best = best_of(rows_of(done[0]))
            means = f"{best['label']}, mean {best['mean']:.4g}"
            print(f"\n### {report.study.name}, {log}: {report.objectives[0]}; best classic {means}\n")
            print("| | " + " | ".join(COLUMNS) + " |\n" + "|---" * (len(COLUMNS) + 1) + "|")
            for variant in report.variants:
                print(row_of(report, variant, log))


if __name__ == "__main__":
    main()
