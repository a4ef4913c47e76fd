"""The verdict: each check at its limits, and the hints that follow."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from shunter.metrics.calibration import Agreement, Calibration, Side
from shunter.metrics.calibration_verdict import Judgment, Verdict, judge
from shunter.metrics.logged_waits import LoggedLoad
from shunter.metrics.sizes import CORES
from tests.metrics.handmade import Row, make_schedule, pool

SCHEDULE = make_schedule([Row(0, 0, 10, {0: 1})], pool(100))
SIDE = Side(1000, 500, 3000, 9000, 0.5, 0.1, 0.7)
AGREEMENT = Agreement(0, 1.0, 10, 1000, 0.9, 0.9, 0.9, 0.95, 0.95, 30, 0.9, 0.0)
LOAD = LoggedLoad(100, 100, 0, 0.0)
Changes = dict[str, Any]
GOOD = Calibration(1000, 0, 0, SIDE, SIDE, AGREEMENT, CORES, (), (), "UTC", LOAD)


def judged(
    *, simulated: Changes | None = None, logged: Changes | None = None, agreement: Changes | None = None
) -> Judgment:
    """Returns the verdict on a good calibration of which some values are others."""
    calibration = replace(
        GOOD,
        simulated=replace(SIDE, **(simulated or {})),
        logged=replace(SIDE, **(logged or {})),
        agreement=replace(AGREEMENT, **(agreement or {})),
    )
    return judge(calibration, SCHEDULE)


def test_all_checks_passed() -> None:
    judgment = judged()
    assert judgment.verdict.words == "explains the log"
    assert judgment.hints == ()
    assert "the mean wait is 1,000 s simulated and 1,000 s logged" in judgment.because
    assert "the log keeps within 100 cores" in judgment.because


@pytest.mark.parametrize(
    ("simulated_s", "verdict"),
    [
        (499, Verdict.DOES_NOT),
        (500, Verdict.ROUGHLY),
        (799, Verdict.ROUGHLY),
        (800, Verdict.EXPLAINS),
        (1250, Verdict.EXPLAINS),
        (1251, Verdict.ROUGHLY),
        (2000, Verdict.ROUGHLY),
        (2001, Verdict.DOES_NOT),
    ],
)
def test_the_ratio_of_mean_waits(simulated_s: float, verdict: Verdict) -> None:
    assert judged(simulated={"mean_wait_s": simulated_s}).verdict == verdict


@pytest.mark.parametrize(("simulated_s", "verdict"), [(60, Verdict.EXPLAINS), (61, Verdict.DOES_NOT)])
def test_a_minute_is_no_difference(simulated_s: float, verdict: Verdict) -> None:
    assert judged(simulated={"mean_wait_s": simulated_s}, logged={"mean_wait_s": 0}).verdict == verdict


@pytest.mark.parametrize("which", ["rank_correlation", "daily_rank_correlation"])
@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        (0.59, Verdict.DOES_NOT),
        (0.6, Verdict.ROUGHLY),
        (0.89, Verdict.ROUGHLY),
        (0.9, Verdict.EXPLAINS),
        (None, Verdict.EXPLAINS),
    ],
)
def test_rank_correlations(which: str, value: float | None, verdict: Verdict) -> None:
    assert judged(agreement={which: value}).verdict == verdict


def test_a_check_without_a_value_is_left_out() -> None:
    checks = judged(agreement={"daily_rank_correlation": None}).to_json()["checks"]
    assert [check["result"] for check in checks] == ["explains", "explains", None, "explains"]


def test_the_grounds_are_those_of_the_worst_checks() -> None:
    judgment = judged(agreement={"rank_correlation": 0.7, "daily_rank_correlation": 0.3})
    assert judgment.verdict.words == "does not explain the log"
    assert judgment.because == "the days with long waits are others (rank correlation 0.30)"


@pytest.mark.parametrize(("share", "verdict"), [(0.01, Verdict.EXPLAINS), (0.011, Verdict.ROUGHLY)])
def test_more_cores_in_use_than_described(share: float, verdict: Verdict) -> None:
    judgment = judge(replace(GOOD, logged_load=LoggedLoad(100, 103, 20, share)), SCHEDULE)
    assert judgment.verdict == verdict
    assert "up to 103 cores in use at once, more than the 100 described" in judgment.hints[0]
    assert ("The machine was larger" in judgment.hints[0]) == (verdict == Verdict.ROUGHLY)


def test_facts_that_are_told_whatever_the_verdict() -> None:
    hints = judge(replace(GOOD, never_started=3, compared=99), SCHEDULE).hints
    assert hints == (
        "3 jobs that ran in the log can never fit on this cluster.",
        "Only 99 jobs were compared: too few to lean on.",
    )


def test_jobs_that_waited_although_there_was_room() -> None:
    judgment = judged(simulated={"mean_wait_s": 100}, logged={"room_share": 0.84})
    assert judgment.hints[0].startswith("84 % of the logged jobs that waited more than a minute had enough cores free")
    assert "simulated: 10 %" in judgment.hints[0]
    assert not any("room" in hint or "cores free" in hint for hint in judged(simulated={"mean_wait_s": 100}).hints)


def test_hints_by_the_direction_of_the_bias() -> None:
    assert "Real jobs waited longer" in judged(simulated={"mean_wait_s": 100}).hints[0]
    assert "more cores than described" in judged(simulated={"mean_wait_s": 5000}).hints[0]


def test_a_delay_and_another_order() -> None:
    hints = judged(agreement={"rank_correlation": 0.2, "immediate_logged_median_s": 120}).hints
    assert "waited 120 s or more in the log" in hints[0]
    assert "its order was not fcfs" in hints[1]


def test_what_the_log_has_and_the_simulation_does_not() -> None:
    rows = [Row(0, 0, 10, {0: 1}) for _ in range(4)]
    schedule = make_schedule(rows, pool(100))
    jobs = schedule.workload.jobs.with_columns(
        pl.Series("queue", ["a", "b", None, "b"]), pl.Series("partition", ["x", "y", "z", None])
    )
    schedule = replace(schedule, workload=replace(schedule.workload, jobs=jobs))
    hints = judge(replace(GOOD, agreement=replace(AGREEMENT, rank_correlation=0.7)), schedule).hints
    assert "100 % of the jobs have no request; the site knew theirs, here run-time stands in." in hints
    assert "The log has 2 queues; what they limit is not simulated." in hints
    assert "The log has 3 partitions, the cluster none: a TOML file can describe them." in hints
