"""A study: what it trains, what it does not train twice, and what its figures are."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from shunter.studies.plan import cells_of
from shunter.studies.runs import Record, shared_threads
from shunter.studies.study import StudyReport, run_study
from shunter.studies.study_file import Study, read_study
from tests.studies.small import STUDY, VARIANTS, InlineEngine, write_study

pytestmark = pytest.mark.usefixtures("few_classics")


def small_study(tmp_path: Path, text: str = STUDY + VARIANTS) -> Study:
    return replace(read_study(write_study(tmp_path, text)), out=tmp_path / "out")


def test_what_is_done_is_not_done_again_and_what_is_added_is(tmp_path: Path) -> None:
    engine = InlineEngine()
    first = run_study(small_study(tmp_path), on=engine)
    assert len(engine.tasks) == 4
    assert (first.failed, len(first.runs)) == ([], 4)
    again = run_study(small_study(tmp_path), on=engine)
    assert len(engine.tasks) == 4
    assert again.to_json() == first.to_json()
    more = STUDY.replace("seeds = 2", "seeds = [0, 1, 5]") + VARIANTS.replace("1e-4", "2e-4")
    run_study(small_study(tmp_path, more), on=engine)
    # Three seeds of the variant that changed, one of the other.
    assert len(engine.tasks) == 4 + 4


def test_a_variant_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    # A window of the log that is longer than the log is known only when it has been read.
    bad = "[variants.bad]\nvalidation.length = 5000\n"
    engine = InlineEngine()
    report = run_study(small_study(tmp_path, STUDY + bad + VARIANTS), on=engine)
    assert [record.task.name for record in report.failed] == ["bad on busy, seed 0", "bad on busy, seed 1"]
    assert report.ratio("bad", "busy", "chosen") is None
    assert report.improvement("fast", "chosen") is None
    assert report.ratio("fast", "busy", "chosen") is not None
    # What failed is remembered, and tried again: the cause may be gone.
    read = run_study(small_study(tmp_path, STUDY + bad + VARIANTS), only_read=True)
    assert [record.error for record in read.failed] == [record.error for record in report.failed]
    run_study(small_study(tmp_path, STUDY + bad + VARIANTS), on=engine)
    assert len(engine.tasks) == 6 + 2


def made_report(tmp_path: Path, ratios: dict[tuple[str, str], list[float | None]], metric: str) -> StudyReport:
    """Returns a report of runs that came to these ratios, by variant and log."""
    logs = '[logs]\na = "generate:lublin"\nb = "generate:lublin?seed=2"\n'
    text = f'[study]\nname = "x"\nseeds = 3\n{logs}[variants.old]\n[variants.new]\nppo.clip = 0.1\n'
    study = small_study(tmp_path, text)
    cells = cells_of(study, study.variants, tmp_path)
    runs = []
    for cell in cells:
        ratio = ratios[cell.variant, cell.log][cell.seed]
        contrast = {"ratio": ratio, "ratio_low": None, "ratio_high": None}
        rows = [{"role": "learned", "against": {"chosen": contrast, "beginning": contrast}}]
        parts = [{"part": "report", "pooled": None, "logs": [{"rows": rows}]}]
        result = {"objective": metric, "parts": parts, "notes": [], "version": "1"}
        runs.append((cell, Record(cell.task, error="no") if ratio is None else Record(cell.task, result=result)))
    return StudyReport(study, tuple(runs))


def test_figures_by_hand(tmp_path: Path) -> None:
    ratios: dict[tuple[str, str], list[float | None]] = {
        ("old", "a"): [1.0, 1.0, 1.0],
        ("old", "b"): [1.0, 1.0, 1.0],
        ("new", "a"): [0.5, 0.5, 2.0],
        ("new", "b"): [0.25, 0.25, 0.25],
    }
    report = made_report(tmp_path, ratios, "mean_wait_s")
    found = report.ratio("new", "a", "chosen")
    assert found is not None
    # The geometric mean: (0.5 · 0.5 · 2) ^ (1/3).
    assert found.value == pytest.approx(0.5 ** (1 / 3))
    assert found.interval is not None
    assert found.interval[0] < found.value < found.interval[1]
    # Of six one goes at either end: the mean of the logarithms of 0.25, 0.25, 0.5, 0.5.
    aggregate = report.aggregate("new", "chosen")
    assert aggregate is not None
    assert aggregate.value == pytest.approx(math.sqrt(0.125))
    # On a, two of three seeds beat all of the other; on b all do.
    chance = report.improvement("new", "chosen")
    assert chance is not None
    assert chance.value == pytest.approx((2 / 3 + 1) / 2)
    assert report.improvement("old", "chosen") is None
    # Of a metric of which more is better, a larger ratio is the improvement.
    turned = made_report(tmp_path, ratios, "core_utilization").improvement("new", "chosen")
    assert turned is not None
    assert turned.value == pytest.approx((1 / 3 + 0) / 2)


def test_a_seed_that_failed_is_left_out_and_a_log_without_any_run_has_no_aggregate(tmp_path: Path) -> None:
    ratios: dict[tuple[str, str], list[float | None]] = {
        ("old", "a"): [1.0, 1.0, None],
        ("old", "b"): [1.0, 1.0, 1.0],
        ("new", "a"): [0.5, 0.5, 0.5],
        ("new", "b"): [None, None, None],
    }
    report = made_report(tmp_path, ratios, "mean_wait_s")
    aggregate = report.aggregate("old", "chosen")
    assert aggregate is not None
    assert (aggregate.value, aggregate.interval) == (1.0, None)
    assert report.aggregate("new", "chosen") is None
    assert report.improvement("new", "chosen") is None
    rows = {(row["variant"], row["log"]): (row["done"], row["runs"]) for row in report.to_json()["rows"]}
    assert rows == {("old", "a"): (2, 3), ("old", "b"): (3, 3), ("new", "a"): (3, 3), ("new", "b"): (0, 3)}


def test_where_nobody_waits_in_some_window_means_are_compared(tmp_path: Path) -> None:
    (cell, *_) = cells_of(small_study(tmp_path), small_study(tmp_path).variants, tmp_path)
    nothing = {"ratio": None, "ratio_low": None, "ratio_high": None}
    rows = [
        {"role": "learned", "mean": 0.9, "against": {"chosen": nothing, "beginning": nothing}},
        {"role": "chosen", "mean": 1.2, "against": {}},
        {"role": "beginning", "mean": 0.0, "against": {}},
    ]
    record = Record(cell.task, result={"parts": [{"part": "report", "pooled": None, "logs": [{"rows": rows}]}]})
    found = record.ratio("chosen")
    assert found is not None
    assert (found.ratio, found.interval) == (0.9 / 1.2, None)
    assert record.ratio("beginning") is None, "nobody ever waited under it"


def test_runs_come_before_threads() -> None:
    assert shared_threads(4, 10) == (4, 1)
    assert shared_threads(4, 2) == (2, 2)
    assert shared_threads(1, 5) == (1, 1)
    assert shared_threads(3, 0) == (1, 3)
