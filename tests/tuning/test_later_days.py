"""The report on later days, held against comparisons of its parts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from shunter.comparison import combinations
from shunter.comparison.classics import part_of
from shunter.comparison.combinations import Combination, combine
from shunter.comparison.comparison import Comparison, compare_combinations
from shunter.comparison.objective import Bound, Objective, mean_ratio, parse_objective
from shunter.comparison.report import Report
from shunter.comparison.roles import BASELINE, BEGINNING, BEST, BEST_SAME, CHOSEN, CHOSEN_SAME, TUNED
from shunter.comparison.statistics import contrast, pooled_ratio
from shunter.model.windows import Days
from shunter.policies.scheduler import resolve_scheduler
from shunter.tuning.later_days import Later, later_object, report_later
from tests.tuning.handmade import pairs
from tests.tuning.small import small_log

DAYS = Days("--report", (0.7, 1.0), windows=6, length=40, warmup=0, seed=0)
SCHEDULER = resolve_scheduler(policy="linear?cores=1", dispatch="easy", estimate="last-two")
OWN = Combination("own/easy", SCHEDULER)
BEGINS = Combination("linear/easy", SCHEDULER.changed(policy="linear?cores=0.5"))
BASELINE_NOW = combine(["fcfs"], ["easy"]).possible[0]
OBJECTIVE = parse_objective("bounded-slowdown", ["mean-wait=1.1", "utilization=2"])
METRIC = "mean_bounded_slowdown"


def later(spec: str, cores: int) -> Later:
    log = small_log(spec, cores)
    return Later(log, DAYS.windows_of(log), "sjf/easy", "f2/strict")


LATER = later("generate:lublin?seed=3&jobs=600&cores=64&load=1.1&requests=factor", 64)
OTHER = later("generate:lublin?seed=5&jobs=500&cores=32&load=1&requests=factor", 32)


@pytest.fixture(scope="module")
def made() -> Report[Comparison]:
    return report_later([LATER, OTHER], OWN, BASELINE_NOW, OBJECTIVE, BEGINS, seed=4)


def measured(one: Later, settings: str, estimate: str = "requested") -> dict[str, np.ndarray]:
    policy, dispatch = settings.rsplit("/", 1)
    combination = combine([policy], [dispatch], ["first-fit"], [estimate]).possible[0]
    return compare_combinations(one.log, [combination], one.windows).scored[0].metrics


def test_rows_are_what_they_are_called(made: Report[Comparison]) -> None:
    for one, source in zip(made.logs, (LATER, OTHER), strict=True):
        expected = {
            BASELINE: measured(source, "fcfs/easy"),
            CHOSEN: measured(source, "sjf/easy"),
            CHOSEN_SAME: measured(source, "f2/strict", "last-two"),
            BEGINNING: measured(source, "linear?cores=0.5/easy", "last-two"),
            TUNED: measured(source, "linear?cores=1/easy", "last-two"),
        }
        assert list(one.contenders) == [BASELINE, CHOSEN, BEST, CHOSEN_SAME, BEST_SAME, BEGINNING, TUNED]
        for role, metrics in expected.items():
            np.testing.assert_array_equal(one.contenders[role].metrics[METRIC], metrics[METRIC])


def test_the_best_in_hindsight_is_the_best_of_all_classics(made: Report[Comparison]) -> None:
    for role, estimate in ((BEST, "requested"), (BEST_SAME, "last-two")):
        everything = combine(["all"], ["strict", "greedy", "easy", "conservative"], ["first-fit"], [estimate]).possible
        best = compare_combinations(LATER.log, everything, LATER.windows).scored[0]
        row = made.logs[0].contenders[role]
        assert row.combination == replace(best.combination, label=row.combination.label)
        assert row.summary.geometric_mean == best.summary.geometric_mean


def test_ratios_and_bounds(made: Report[Comparison]) -> None:
    rows = made.logs[0].contenders
    own, chosen = rows[TUNED].metrics, rows[CHOSEN].metrics
    for role, row in rows.items():
        expected = contrast(own[METRIC], row.metrics[METRIC], LATER.windows.block, seed=4)
        same = all(np.array_equal(values, row.metrics[name], equal_nan=True) for name, values in own.items())
        assert rows[TUNED].against[role] == replace(expected, identical=same)
    assert rows[TUNED].wait_ratio == mean_ratio(own["mean_wait_s"], chosen["mean_wait_s"])
    wait, use = rows[TUNED].held
    assert wait.ratio == rows[TUNED].wait_ratio
    assert wait.holds == (wait.ratio <= 1.1)
    # Nothing can double the utilization.
    assert use.ratio < 2
    assert not use.holds
    assert [held.ratio for held in rows[CHOSEN].held] == [1.0, 1.0]


def test_a_bound_holds_up_to_its_factor_and_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    """Factors that are a hundredth above and below what is found."""
    monkeypatch.setattr(combinations, "CLASSICS", ("sjf", "f2"))
    wait = report_later([LATER], OWN, BASELINE_NOW, Objective(METRIC), BEGINS).logs[0].contenders[TUNED].wait_ratio
    bounds = tuple(Bound("mean_wait_s", wait * factor) for factor in (1.01, 0.99))
    held = report_later([LATER], OWN, BASELINE_NOW, Objective(METRIC, bounds), BEGINS).logs[0].contenders[TUNED].held
    assert [one.holds for one in held] == [True, False]


def test_all_logs_together(made: Report[Comparison]) -> None:
    for role in (BASELINE, BEST):
        assert made.pooled[TUNED].against[role] == pooled_ratio(pairs(made.logs, TUNED, role, METRIC), seed=4)
    waits = [one.contenders[TUNED].wait_ratio for one in made.logs]
    assert made.pooled[TUNED].wait_ratio == pytest.approx((waits[0] * waits[1]) ** 0.5)


def test_requested_times_need_no_second_set_of_classics_and_a_site_may_have_a_policy_of_its_own() -> None:
    site = combine(["multifactor?age=1&size=0&fair_share=0"], ["strict"]).possible[0]
    single = report_later(
        [LATER], replace(OWN, scheduler=SCHEDULER.changed(estimate="requested")), site, OBJECTIVE, BEGINS
    )
    rows = single.logs[0].contenders
    assert list(rows) == [BASELINE, CHOSEN, BEST, BEGINNING, TUNED]
    np.testing.assert_array_equal(rows[BASELINE].metrics[METRIC], measured(LATER, "fcfs/strict")[METRIC])
    assert single.pooled == {}
    assert single.pooled_objects() is None


def test_plain_objects(made: Report[Comparison]) -> None:
    one = later_object(made.logs[0])
    assert (one["jobs"], one["windows"], one["rejected"]) == (600, len(LATER.windows), 0)
    assert sum(one["estimated_from"].values()) == 40 * len(LATER.windows)
    own = one["rows"][-1]
    assert (own["role"], own["label"], own["estimate"]) == ("tuned", "own/easy", "last-two")
    assert own["mean"] == made.logs[0].contenders[TUNED].summary.mean
    assert own["against"]["tuned"]["ratio"] == 1.0
    assert own["max_wait_s"] == made.logs[0].contenders[TUNED].metrics["max_wait_s"].max()
    assert [bound["metric"] for bound in own["bounds"]] == ["mean_wait_s", "core_utilization"]
    pooled = made.pooled_objects()
    assert pooled is not None
    assert [row["role"] for row in pooled] == list(made.pooled)


def test_progress_of_parts() -> None:
    told: list[tuple[int, int]] = []
    part = part_of(lambda done, total: told.append((done, total)), 1, 3)
    assert part is not None
    part(2, 10)
    assert told == [(12, 30)]
    assert part_of(None, 0, 1) is None
