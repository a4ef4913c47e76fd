"""What is said of a tuned policy, on reports made by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shunter.comparison.comparison import Comparison
from shunter.comparison.objective import Bound, Objective
from shunter.comparison.report import Finding, Report, hold_against, make_report
from shunter.comparison.roles import BASELINE, BEST, CHOSEN, JUDGED_AGAINST, TUNED
from tests.tuning.handmade import log_report, pooled_rows, scored

METRIC = "mean_bounded_slowdown"
ONES = [1.0] * 5


def findings_on(one: Comparison) -> list[Finding]:
    return one.findings(TUNED, TUNED, JUDGED_AGAINST)


def findings_over_all(report: Report[Comparison]) -> list[Finding]:
    return list(report.findings_over_all(TUNED, TUNED, JUDGED_AGAINST))


def rows(tuned: list[float], best: list[float], chosen: list[float], metric: str = METRIC) -> Comparison:
    values = {
        BASELINE: ("fcfs/easy", [value * 4 for value in best]),
        CHOSEN: ("sjf/easy", chosen),
        BEST: ("f2/easy", best),
        TUNED: ("tuned/easy", tuned),
    }
    return log_report(values, metric)


def test_a_win_a_loss_and_what_cannot_be_told() -> None:
    one = rows(tuned=[2.0] * 5, best=[4.0, 5.0, 4.0, 5.0, 4.0], chosen=[1.0, 4.0, 1.0, 4.0, 2.0])
    by_role = {finding.against: finding for finding in findings_on(one)}
    assert list(by_role) == [CHOSEN, BEST, BASELINE]
    assert by_role[BEST].result == "better"
    start = "tuned is better than the best classic in hindsight (f2/easy): ratio 0.457 (95 %: "
    assert by_role[BEST].sentence.startswith(start)
    assert by_role[CHOSEN].result == "unclear"
    start = "tuned and the classic chosen on training days (sjf/easy) cannot be told apart: ratio 1 (95 %: "
    assert by_role[CHOSEN].sentence.startswith(start)
    # Ratios of 1/8 in three blocks and 1/10 in two; of five drawn at least one is 1/8, and at most all.
    assert by_role[BASELINE].sentence == (
        "tuned is better than the baseline (fcfs/easy): ratio 0.114 (95 %: 0.105 to 0.125)"
    )
    lost = findings_on(rows(tuned=[3.0] * 5, best=[2.0] * 5, chosen=ONES))[1]
    assert lost.result == "worse"
    assert lost.sentence.startswith("tuned is WORSE than the best classic in hindsight (f2/easy): ratio 1.5")
    assert lost.workload == one.workload.name


def test_of_utilization_more_is_better() -> None:
    one = rows(tuned=[0.9] * 5, best=[0.5] * 5, chosen=[0.95] * 5, metric="core_utilization")
    results = {finding.against: finding.result for finding in findings_on(one)}
    assert (results[BEST], results[CHOSEN]) == ("better", "worse")


def test_without_ratios_the_difference_decides() -> None:
    """Nobody waits in the first window under the tuned policy, so there is no logarithm."""
    one = rows(tuned=[0.0] + [10.0] * 4, best=[10.0] + [20.0] * 4, chosen=ONES, metric="mean_wait_s")
    best = findings_on(one)[1]
    assert best.result == "better"
    assert best.sentence.endswith("(f2/easy): difference -10 (95 %: -10 to -10)")


def test_the_same_in_every_window_is_identical_and_no_ratio_of_one() -> None:
    one = rows(tuned=[2.0] * 5, best=[2.0] * 5, chosen=[2.0, 2.0, 2.0, 2.0, 2.5])
    by_role = {finding.against: finding for finding in findings_on(one)}
    assert (by_role[BEST].result, by_role[CHOSEN].result) == ("identical", "unclear")
    sentence = "tuned and the best classic in hindsight (f2/easy) are identical: the same in every window"
    assert by_role[BEST].sentence == sentence
    assert one.row_object(TUNED)["against"][BEST]["identical"] is True


def test_what_differs_in_waits_alone_is_not_identical() -> None:
    one = rows(tuned=[2.0] * 5, best=[2.0] * 5, chosen=ONES)
    best = one.contenders[BEST]
    other = replace(best, metrics=best.metrics | {"max_wait_s": np.array([1.0, 1.0, 1.0, 1.0, 1.5])})
    held = hold_against({**one.contenders, BEST: other}, one.block, one.objective, CHOSEN)
    assert not held[TUNED].against[BEST].identical
    assert held[TUNED].against[CHOSEN].ratio == 2.0


def test_over_all_logs_identical_is_identical_on_each() -> None:
    same, other = rows([2.0] * 5, [2.0] * 5, ONES), rows([2.0] * 5, [3.0] * 5, ONES)
    for logs, expected in (((same, same), "identical"), ((same, other), "better")):
        found = {one.against: one for one in findings_over_all(make_report(logs))}
        assert found[BEST].result == expected


def test_few_blocks_tell_nothing_of_other_days() -> None:
    values = {
        role: (label, [value] * 5) for role, label, value in ((CHOSEN, "sjf/easy", 4.0), (TUNED, "tuned/easy", 1.0))
    }
    one = log_report(values, block=np.array([0, 1, 2, 3, 3]))
    (finding,) = findings_on(one)
    assert finding.result == "unclear"
    assert finding.sentence.endswith("cannot be judged: ratio 0.25 (no interval: fewer than 5 blocks)")


def test_bounds() -> None:
    held = ((Bound("mean_wait_s", 1.1), 1.0567, True), (Bound("core_utilization", 0.95), 0.9, False))
    one = log_report({CHOSEN: ("sjf/easy", ONES), TUNED: ("tuned/easy", ONES)}, held=held)
    _, wait, use = findings_on(one)
    assert (wait.against, wait.result) == ("mean_wait_s", "holds")
    assert wait.sentence == "the bound on mean_wait_s, at most 1.1 times that of sjf/easy, holds: 1.06 times"
    assert use.result == "does not hold"
    assert use.sentence == (
        "the bound on core_utilization, at least 0.95 times that of sjf/easy, does NOT hold: 0.9 times"
    )


def test_no_wait_is_no_number_of_times_another() -> None:
    values = {CHOSEN: ("sjf/easy", [0.0] * 5), TUNED: ("tuned/easy", [3.0] * 5)}
    rows = {role: scored(label, "mean_wait_s", each) for role, (label, each) in values.items()}
    objective = Objective("mean_wait_s", (Bound("mean_wait_s", 1.1),))
    made = hold_against(rows, np.arange(5), objective, CHOSEN)
    assert np.isnan(made[TUNED].wait_ratio)
    assert made[CHOSEN].wait_ratio == 1.0
    (held,) = made[TUNED].held
    assert (held.holds, held.words, held.to_json()["ratio"]) == (False, "that is 0", None)


def test_over_all_logs() -> None:
    logs = (rows([2.0] * 5, [4.0] * 5, ONES), rows([2.0] * 5, [1.0] * 5, ONES))
    together = Report(logs, pooled_rows(logs))
    by_role = {finding.against: finding for finding in findings_over_all(together)}
    # Half of the best in one log, twice the best in the other; twice the chosen in both.
    assert (by_role[BEST].result, by_role[CHOSEN].result) == ("unclear", "worse")
    assert (
        by_role[BEST].sentence == "tuned and the best classic in hindsight cannot be told apart: ratio 1 (95 %: 1 to 1)"
    )
    assert by_role[CHOSEN].workload is None
    assert by_role[CHOSEN].to_json()["against"] == "chosen"
    assert findings_over_all(Report(logs[:1], {})) == []
