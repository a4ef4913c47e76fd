"""The last line of a comparison, an evaluation and a training: what to do."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl
import pytest

import shunter
from shunter import Cluster, Workload, read_workload
from shunter.comparison.comparison import Comparison
from shunter.comparison.marks import FREE_STOPS, TRUE_TIMES, Marks
from shunter.comparison.next_step import Step, judged_step
from shunter.comparison.objective import Bound, Objective
from shunter.comparison.report import BESIDE, LONGEST, WAIT, Contender, LogReport, hold_against
from shunter.comparison.roles import BEGINNING, BEST, CHOSEN, LEARNED, TUNED

CLUSTER = Cluster.pool(64)
METRIC = "mean_bounded_slowdown"


@cache
def workload() -> Workload:
    return read_workload("generate:lublin?seed=3&jobs=3000&cores=64&load=1.1&requests=factor")


def plain() -> pl.DataFrame:
    return workload().jobs.with_columns(logged_wait_s=pl.lit(None, pl.Float64))


def compared(policies: list[str], jobs: pl.DataFrame | None = None, dispatch: str = "easy") -> Comparison:
    log = Workload.from_frame(plain() if jobs is None else jobs, name="log.csv")
    return shunter.compare(log, CLUSTER, policy=policies, dispatch=[dispatch], windows=12, length=256)


def text(comparison: Comparison) -> str:
    assert comparison.next_step is not None
    return comparison.next_step.text


def test_a_better_policy_is_named_with_its_price_and_what_simulates_it() -> None:
    comparison = compared(["fcfs", "f2"])
    sentence, simulate, tune = text(comparison).split("\n")
    assert sentence.startswith("What to do: try f2/easy. f2/easy is better than fcfs/easy: ratio ")
    assert "With f2/easy the mean wait is " in sentence
    assert ", the longest " in sentence
    # What was made in Python has no name on a command line: its place is shown.
    assert simulate == "  to simulate it: shunter simulate LOG --cluster CLUSTER --policy f2 --dispatch easy"
    assert tune == "  to look for a better one still: shunter tune LOG --cluster CLUSTER --out tuned.toml"
    assert comparison.to_json()["next_step"] == text(comparison)


def test_the_baseline_is_kept_where_nothing_is_surely_better() -> None:
    assert text(compared(["f2", "ljf"])).startswith(
        "What to do: keep f2/easy. Nothing that a real scheduler could run "
    )
    assert text(compared(["fcfs"])).startswith("What to do: keep fcfs/easy. ")


def test_a_policy_that_sees_true_run_times_is_no_advice() -> None:
    unrequested = plain().with_columns(requested_s=pl.lit(None, pl.Float64))
    step = text(compared(["fcfs", "sjf"], unrequested, "greedy"))
    assert step.startswith("What to do: keep fcfs/greedy. ")
    assert step.endswith("To see what is left without true run times: --estimate last-two,posterior.")


def test_what_all_rows_share_is_told_of_the_one_that_is_recommended() -> None:
    unrequested = plain().with_columns(requested_s=pl.lit(None, pl.Float64))
    assert "Mind that fcfs/easy plans by true run times" in text(compared(["fcfs"], unrequested))


def test_a_description_that_does_not_explain_the_log_comes_first() -> None:
    waits = shunter.simulate(workload(), CLUSTER, policy="lcfs").queue_wait_s
    sentence, command = text(compared(["fcfs", "f2"], plain().with_columns(logged_wait_s=pl.Series(waits)))).split("\n")
    assert sentence == "What to do: describe the machine better before you believe these rows."
    assert command.startswith("  to see what is wrong: shunter calibrate LOG --cluster CLUSTER --policy fcfs ")


def test_where_nobody_waits_busier_days_are_to_be_taken() -> None:
    jobs = plain().with_columns(submit_s=pl.int_range(pl.len()).cast(pl.Float64) * 1e6)
    comparison = compared(["fcfs", "f2"], jobs)
    assert comparison.quiet_note is not None
    assert comparison.next_step.text.startswith("What to do: take busier days (--part) or more load (--load 110%)")
    # One advice, in the same words above and below; who begins on an empty cluster hears of that.
    assert "begin on a busy cluster (--warmup 1024)" in comparison.remedy
    assert comparison.quiet_note.endswith(comparison.remedy)
    assert comparison.to_json()["next_step"] == comparison.next_step.text


def report(
    factors: dict[str, float], *, wait: float = 1.0, marks: dict[str, Marks] | None = None, bound: float | None = None
) -> LogReport:
    """Returns a report in which each role has so many times a base in every window, give or take a little.

    Args:
        factors: By role, of the metric.
        wait: The mean wait of what is learned, relative to everybody else's.
        marks: By role.
        bound: On the mean wait, relative to the chosen classic's.
    """
    base = np.linspace(10.0, 20.0, 12)
    random = np.random.default_rng(0)
    found = {}
    for role, factor in factors.items():
        metrics = dict.fromkeys(BESIDE, np.full(12, 0.5)) | {METRIC: base * factor}
        if factor != 1.0:
            metrics[METRIC] = metrics[METRIC] * random.uniform(0.98, 1.02, 12)
        times = wait if role == LEARNED else 1.0
        metrics |= {WAIT: np.full(12, 600.0 * times), LONGEST: np.full(12, 7200.0 * times)}
        found[role] = Contender(f"{role}/easy", metrics, (marks or {}).get(role, ()))
    bounds = () if bound is None else (Bound(WAIT, bound),)
    objective, block = Objective(METRIC, bounds), np.arange(12)
    return LogReport("log", block, objective, CHOSEN, hold_against(found, block, objective, CHOSEN))


def judged(one: LogReport) -> Step:
    return judged_step(one, LEARNED, "the learned policy (runs/first)", "shunter simulate log.swf --policy runs/first")


def test_what_is_learned_is_tried_where_it_is_surely_better() -> None:
    step = judged(report({CHOSEN: 1.0, TUNED: 0.8, BEGINNING: 0.8, LEARNED: 0.6}, wait=1.05, bound=1.1))
    assert step.role == LEARNED
    sentence, command = step.text.split("\n")
    assert sentence.startswith(
        "What to do: try the learned policy (runs/first). "
        "The learned policy is better than the tuned policy (tuned/easy): ratio 0.7"
    )
    assert "It keeps the bound on mean_wait_s, at most 1.1 times that of chosen/easy: 1.05 times. " in sentence
    assert sentence.endswith(
        "With the learned policy the mean wait is 10.5 min instead of 10.0 min, "
        "the longest 2.10 h instead of 2.00 h (--max-wait limits it)."
    )
    assert command == "  to simulate it: shunter simulate log.swf --policy runs/first"


def test_what_cannot_be_told_from_the_tuned_score_is_not_worth_it() -> None:
    step = judged(report({CHOSEN: 1.0, TUNED: 0.8, BEGINNING: 0.801, LEARNED: 0.799}))
    assert (step.role, step.commands) == (TUNED, {})
    assert step.sentence.startswith(
        "What to do: keep the tuned policy (tuned/easy). "
        "The tuned policy is better than the classic chosen on training days (chosen/easy): ratio 0.8"
    )
    assert "The learned policy (runs/first) and the tuned policy cannot be told apart: ratio " in step.sentence


def test_a_training_that_changed_nothing_is_called_that() -> None:
    one = report({CHOSEN: 1.0, TUNED: 0.8, LEARNED: 0.7})
    same = {**one.contenders, BEGINNING: one.contenders[LEARNED]}
    held = hold_against(same, one.block, one.objective, CHOSEN)
    step = judged(LogReport("log", one.block, one.objective, CHOSEN, held))
    assert step.sentence.startswith("What to do: keep the beginning (learned/easy). ")
    said = (
        "The learned policy (runs/first) did the same as its beginning in every window: training found nothing better"
    )
    assert step.sentence.endswith(f"{said}.")


def test_a_tuned_file_is_judged_itself_and_not_its_beginning() -> None:
    one = report({CHOSEN: 0.5, TUNED: 1.0, BEGINNING: 1.02}, marks={CHOSEN: (TRUE_TIMES,)})
    step = judged_step(one, TUNED, "the tuned file (tuned.toml)", "shunter simulate log.swf --policy tuned.toml")
    assert step.role == TUNED
    assert "beginning" not in step.sentence
    # Why the classic, which is much better, is not the advice.
    assert f"The classic chosen on training days (chosen/easy) {TRUE_TIMES.words}. " in step.sentence


def test_a_bound_that_is_broken_speaks_against_it() -> None:
    step = judged(report({CHOSEN: 1.0, LEARNED: 0.6}, wait=1.5, bound=1.1))
    assert step.role == CHOSEN
    assert "It breaks the bound on mean_wait_s, at most 1.1 times that of chosen/easy: 1.5 times. " in step.sentence
    assert "mean wait is 15.0 min instead of 10.0 min, the longest 3.00 h instead of 2.00 h" in step.sentence


@pytest.mark.parametrize("marks", [(TRUE_TIMES,), (FREE_STOPS,)])
def test_who_has_what_no_scheduler_has_is_not_recommended(marks: Marks) -> None:
    step = judged(report({CHOSEN: 1.0, LEARNED: 0.6}, marks={LEARNED: marks}))
    assert step.role == CHOSEN
    assert f"The learned policy (runs/first) {marks[0].words}. " in step.sentence
    # Where everybody has it there is no other choice; it is said nevertheless.
    shared = judged(report({CHOSEN: 1.0, LEARNED: 0.6}, marks={CHOSEN: marks, LEARNED: marks}))
    assert shared.role == LEARNED
    assert f"Mind that the learned policy {marks[0].words}." in shared.sentence


def test_a_classic_that_was_better_in_hindsight_is_named() -> None:
    step = judged(report({CHOSEN: 1.0, BEST: 0.5, LEARNED: 0.7}))
    assert step.role == LEARNED
    assert "In hindsight best/easy is better still; see whether it is on other days, too." in step.sentence
