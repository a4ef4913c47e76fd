"""Simulated against logged waits: values worked out by hand, and what two real logs give."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from matplotlib.patches import Rectangle

from shunter.errors import InputError
from shunter.metrics.calibration import Calibration, measure_calibration, rank_correlation
from shunter.metrics.calibration_verdict import Verdict, judge
from shunter.metrics.logged_waits import compare_waits, had_room, measure_logged_load
from shunter.model.cluster import Cluster
from shunter.model.schedule import Outcome, RejectReason, Schedule
from shunter.report.calibration import draw_calibration
from shunter.simulation import simulate
from shunter.workloads import read_workload
from shunter.workloads.clock import Clock, read_clock
from tests.metrics.handmade import Row, make_schedule, pool
from tests.support import trace

CLOCK = Clock(0, "UTC")


def with_logged_waits(rows: Sequence[Row], waits: Sequence[float | None], cores: int = 8) -> Schedule:
    """Returns the schedule of these rows on a pool, with what the log says of their waits."""
    schedule = make_schedule(rows, pool(cores))
    jobs = schedule.workload.jobs.with_columns(pl.Series("logged_wait_s", waits, dtype=pl.Float64))
    return replace(schedule, workload=replace(schedule.workload, jobs=jobs))


def calibrated(schedule: Schedule, clock: Clock = CLOCK) -> Calibration:
    return measure_calibration(schedule, compare_waits(schedule), clock)


@pytest.fixture
def schedule() -> Schedule:
    """Eight cores; one column is 10 s. Job 4 has no logged wait, job 6 can never fit.

    ```
    simulated                          logged
    1 1 1 1 1 1 1 1 1 1 3 3 3 3 3      1 1 1 1 1 1 1 1 1 1 3 3 3 3 3
    2 2 2 2 2 2 . . . . 3 3 3 3 3      . 2 2 2 2 2 2 . . . 3 3 3 3 3
    ```

    Two hours later job 5 starts at once in the simulation, and after two minutes in the log.
    """
    rows = [
        Row(0, 0, 100, {0: 4}),
        Row(0, 0, 60, {0: 4}),
        Row(10, 100, 150, {0: 8}),
        Row(20, 150, 180, {0: 2}),
        Row(7200, 7200, 7260, {0: 1}),
        Row(7210, None, None, tasks=16, outcome=Outcome.REJECTED, reason=RejectReason.CORES),
    ]
    return with_logged_waits(rows, [0, 10, 90, None, 120, 5])


def test_the_jobs_compared(schedule: Schedule) -> None:
    calibration = calibrated(schedule)
    assert (calibration.compared, calibration.without_logged_wait, calibration.never_started) == (4, 1, 1)


def test_both_sides_by_hand(schedule: Schedule) -> None:
    logged, simulated = calibrated(schedule).logged, calibrated(schedule).simulated
    assert (logged.mean_wait_s, simulated.mean_wait_s) == (220 / 4, 90 / 4)
    assert (logged.median_wait_s, simulated.median_wait_s) == (50, 0)
    assert (logged.p95_wait_s, simulated.p95_wait_s) == pytest.approx((90 + 0.85 * 30, 0.85 * 90))
    assert (logged.max_wait_s, simulated.max_wait_s) == (120, 90)
    assert (logged.waited_share, simulated.waited_share) == (2 / 4, 1 / 4)
    # In the log job 3 found all cores taken and job 5 all of them free; in the simulation job 5 did not wait.
    assert (logged.room_share, simulated.room_share) == (1 / 2, 0)


def test_agreement_by_hand(schedule: Schedule) -> None:
    agreement = calibrated(schedule).agreement
    # Simulated less logged: 0, -10, 0 and -120 s.
    assert agreement.bias_s == -130 / 4
    assert agreement.ratio == pytest.approx(90 / 220)
    assert (agreement.mean_absolute_error_s, agreement.total_absolute_error_s) == (130 / 4, 130)
    assert (agreement.within_second_share, agreement.within_minute_share) == (2 / 4, 3 / 4)
    # Ranks 1, 2, 3, 4 against 2, 2, 4, 2: covariance 1, squared deviations 5 and 3.
    assert agreement.rank_correlation == pytest.approx(1 / math.sqrt(15))
    assert (agreement.days, agreement.daily_rank_correlation) == (1, None)
    assert agreement.immediate_logged_median_s == 10
    logs = [math.log(1 + wait_s) for wait_s in (0, 10, 90, 120)]
    mean = sum(logs) / 4
    unexplained = (logs[1] ** 2 + logs[3] ** 2) / sum((value - mean) ** 2 for value in logs)
    assert agreement.explained_log_variance == pytest.approx(1 - unexplained)


def test_a_tenth_of_a_long_wait_is_close() -> None:
    rows = [Row(0, start, start + 1, {0: 1}) for start in (1100, 1101, 60, 61)]
    agreement = calibrated(with_logged_waits(rows, [1000, 1000, 0, 0])).agreement
    assert agreement.within_minute_share == 1 / 4
    assert agreement.within_minute_or_tenth_share == 2 / 4


def test_utilization_is_over_the_time_of_the_submits() -> None:
    """Of job 1's 100 s the log has 50 before the last submit, the simulation all; job 2 starts after it in both."""
    rows = [Row(0, 0, 100, {0: 8}), Row(100, 100, 200, {0: 8})]
    calibration = calibrated(with_logged_waits(rows, [50, 60]))
    assert (calibration.logged.utilization, calibration.simulated.utilization) == (0.5, 1.0)


def test_groups_by_hand(schedule: Schedule) -> None:
    calibration = calibrated(schedule, Clock(3600 * 23, "UTC"))
    assert [(group.label, group.jobs, group.bias_s) for group in calibration.by_size] == [
        ("≤ 1", 1, -120),
        ("4–7", 2, -5),
        ("8–15", 1, 0),
    ]
    hours = {group.label: group for group in calibration.by_hour if group.jobs}
    assert {label: group.jobs for label, group in hours.items()} == {"23": 3, "1": 1}
    assert (hours["23"].logged_mean_wait_s, hours["23"].simulated_mean_wait_s) == (100 / 3, 30)
    assert hours["23"].mean_absolute_error_s == 10 / 3
    assert (len(calibration.by_hour), calibration.by_hour[2].bias_s) == (24, None)


def test_days_are_compared_by_their_means() -> None:
    """Ten days of two jobs each, whose means rise in the log and, but for the last two, in the simulation."""
    rows, waits = [], []
    for day in range(10):
        simulated = {8: 9, 9: 8}.get(day, day) * 10
        for shift in (-5, 5):
            submit = day * 86_400 + 10 + shift
            rows.append(Row(submit, submit + simulated + 5 + shift, submit + simulated + 20, {0: 1}))
            waits.append(20.0 * day + 5 - shift)
    agreement = calibrated(with_logged_waits(rows, waits)).agreement
    assert agreement.days == 10
    # Spearman's formula without ties: two ranks are off by one.
    assert agreement.daily_rank_correlation == pytest.approx(1 - 6 * 2 / (10 * 99))


def test_rank_correlation_shares_the_ranks_of_equal_values() -> None:
    left, right = np.array([1.0, 2.0, 2.0, 4.0]), np.array([10.0, 30.0, 20.0, 20.0])
    # Ranks 1, 2.5, 2.5, 4 and 1, 4, 2.5, 2.5.
    assert rank_correlation(left, right) == pytest.approx(2.25 / 4.5)
    assert rank_correlation(left, -left) == pytest.approx(-1)
    assert rank_correlation(left, np.zeros(4)) is None


def test_more_cores_in_use_than_described() -> None:
    """Eight cores; by the log 6 are in use from 0 to 100, 6 more from 40 to 60 and from 60 to 70, and 6 from 300."""
    rows = [Row(0, at, at + run, {0: 6}) for at, run in ((0, 100), (100, 20), (120, 10), (130, 100))]
    load = measure_logged_load(with_logged_waits(rows, [0, 40, 60, 300]))
    assert (load.capacity, load.most) == (8, 12)
    assert (load.spells_above, load.time_above_share) == (1, 30 / 400)


def test_a_job_that_can_never_fit_counts_among_the_cores_in_use(schedule: Schedule) -> None:
    jobs = schedule.workload.jobs.with_columns(
        pl.when(pl.col("tasks") == 16).then(10.0).otherwise("run_s").alias("run_s")
    )
    load = measure_logged_load(replace(schedule, workload=replace(schedule.workload, jobs=jobs)))
    assert load.most == 16


def test_ends_make_room_for_starts_at_the_same_instant() -> None:
    rows = [Row(0.1, 0.1, 0.3, {0: 8}), Row(0.1, 0.3, 0.4, {0: 8})]
    assert measure_logged_load(with_logged_waits(rows, [0, 0.2])).spells_above == 0


def test_room_is_what_is_free_once_an_instant_is_over() -> None:
    """Eight cores. At 100 s job 1 ends and job 2 (6 cores) comes: it has room. At 200 s job 2 starts and two more come.

    Of these the one of 3 cores has no room, the one of 2 has. So has job 5, which comes before anything has started.
    """
    submit_s, start_s = np.array([0.0, 100.0, 200.0, 200.0, -50.0]), np.array([0.0, 200.0, 300.0, 300.0, 300.0])
    run_s, cores = np.array([100.0, 100.0, 10.0, 10.0, 10.0]), np.array([8.0, 6.0, 3.0, 2.0, 8.0])
    room = had_room(submit_s, start_s, run_s, cores, capacity=8)
    # Job 1 starts as it comes, so that its own cores are in use.
    assert room.tolist() == [False, True, False, True, True]


def test_nothing_to_compare() -> None:
    with pytest.raises(InputError, match="no logged wait on any of its only job"):
        compare_waits(with_logged_waits([Row(0, 0, 1, {0: 1})], [None]))
    rejected = Row(0, None, None, tasks=16, outcome=Outcome.REJECTED, reason=RejectReason.CORES)
    with pytest.raises(InputError, match="none of the jobs with a logged wait can ever fit"):
        compare_waits(with_logged_waits([Row(0, 0, 1, {0: 1}), rejected], [None, 5]))


def test_jobs_that_never_wait_have_no_nan() -> None:
    calibration = calibrated(with_logged_waits([Row(0, 0, 1, {0: 1}), Row(0, 0, 1, {0: 1})], [0, 0]))
    json.dumps(calibration.to_json(), allow_nan=False)
    assert calibration.agreement.ratio is None
    assert calibration.agreement.explained_log_variance is None
    assert calibration.logged.utilization is None


def test_figure(schedule: Schedule) -> None:
    waits = compare_waits(schedule)
    calibration = measure_calibration(schedule, waits, CLOCK)
    figure = draw_calibration(schedule, waits, calibration, judge(calibration, schedule))
    assert figure.get_suptitle().startswith("fcfs · easy on 8 cores does not explain the log\nhandmade, 4 jobs")
    bars = [bar.get_height() for bar in figure.axes[3].patches if isinstance(bar, Rectangle)]
    assert bars == pytest.approx([120 / 3600, 5 / 3600, 90 / 3600, 0, 0, 90 / 3600])


def real(name: str, cores: int) -> tuple[Schedule, Calibration]:
    path = trace(f"swf/{name}.swf.gz")
    workload = read_workload(path)
    schedule = simulate(workload, Cluster.pool(cores), policy="fcfs", dispatch="easy")
    return schedule, calibrated(schedule, read_clock(workload, str(path)))


def test_easy_explains_a_log_whose_waits_another_easy_made() -> None:
    schedule, calibration = real("SDSC-SP2-1998.easy_sim_waits", 128)
    assert round(calibration.agreement.within_second_share * calibration.compared) == 51_611
    assert calibration.compared == 54_006
    assert calibration.agreement.rank_correlation == pytest.approx(0.99206, abs=5e-6)
    assert calibration.agreement.ratio == pytest.approx(1.003567, abs=5e-7)
    assert calibration.logged_load.most == 128
    assert judge(calibration, schedule).verdict == Verdict.EXPLAINS


def test_easy_on_all_cores_does_not_explain_kth() -> None:
    schedule, calibration = real("KTH-SP2-1996-2.1-cln", 100)
    assert calibration.agreement.ratio == pytest.approx(0.418236, abs=5e-7)
    assert calibration.logged_load.most == 103
    judgment = judge(calibration, schedule)
    assert judgment.verdict == Verdict.DOES_NOT
    assert any("84 % of the logged jobs that waited more than a minute" in hint for hint in judgment.hints)
