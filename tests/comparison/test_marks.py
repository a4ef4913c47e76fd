"""Marks: who has what no scheduler has, and that no verdict names such a one without saying so."""

from __future__ import annotations

from functools import cache
from typing import Any

import polars as pl
import pytest

import shunter
from shunter import Cluster, Workload, read_workload
from shunter.comparison.combinations import combine, with_costs
from shunter.comparison.comparison import Comparison, compare_combinations
from shunter.comparison.marks import (
    FREE_STOPS,
    TRUE_PLANS,
    TRUE_TIMES,
    Marks,
    mark_lines,
    marked,
    marks_of,
    shared_lines,
    shared_marks,
)
from shunter.model.log import Log
from shunter.model.windows import choose_windows
from shunter.policies.scheduler import resolve_scheduler

TOLD = pl.DataFrame({"requested_s": [10.0, 20.0]})
UNTOLD = pl.DataFrame({"requested_s": [10.0, None]})
REQUEST, STAND_IN = {"request": 2}, {"request": 1, "stand-in": 1}


def marks(told: bool, **settings: Any) -> Marks:  # noqa: ANN401 - settings by name
    estimated_from = REQUEST if told else STAND_IN
    return marks_of(resolve_scheduler(**settings), TOLD if told else UNTOLD, estimated_from)


@pytest.mark.parametrize("estimate", ["perfect", "noisy?sigma=0.5"])
def test_who_orders_by_true_run_times_is_marked(estimate: str) -> None:
    assert marks(True, policy="sjf", estimate=estimate) == (TRUE_TIMES,)
    # Neither the order of fcfs nor reservations by requests look at the estimate; reservations by it do.
    assert marks(True, policy="fcfs", estimate=estimate) == ()
    assert marks(True, policy="fcfs", estimate=estimate, reserve_by="estimate") == (TRUE_PLANS,)
    assert marks(True, policy="fcfs", dispatch="greedy", estimate=estimate, reserve_by="estimate") == ()


def test_a_run_time_that_stands_in_for_a_request_is_the_truth() -> None:
    assert marks(False, policy="sjf", dispatch="greedy") == (TRUE_TIMES,)
    assert marks(False, policy="sjf", dispatch="easy") == (TRUE_TIMES, TRUE_PLANS)
    assert marks(False, policy="fcfs", dispatch="easy") == (TRUE_PLANS,)
    assert marks(False, policy="fcfs", dispatch="greedy") == ()
    assert marks(False, policy="sjf", missing_request="3600") == ()
    assert marks(True, policy="sjf") == ()


def test_an_order_by_the_posterior_beside_reservations_by_the_truth_sees_no_run_times() -> None:
    """No job has a request; the posterior of all but a few rests on the user's own jobs."""
    jobs, learned = pl.DataFrame({"requested_s": [None, None]}, schema={"requested_s": pl.Float64}), {"learned": 2}
    found = marks_of(resolve_scheduler(policy="sjf", estimate="posterior"), jobs, learned)
    assert found == (TRUE_PLANS,)
    assert shared_lines(found)[0].startswith("every row plans by true run times, which no scheduler knows (--missing")
    by_estimate = resolve_scheduler(policy="sjf", estimate="posterior", reserve_by="estimate")
    assert marks_of(by_estimate, jobs, learned) == ()
    # A network is shown when running jobs are expected to end, whatever its rule; that goes by the truth as well.
    greedy = resolve_scheduler(policy="sjf", dispatch="greedy", estimate="posterior")
    assert marks_of(greedy, jobs, learned) == ()
    assert marks_of(greedy, jobs, learned, is_learned=True) == (TRUE_PLANS,)


def test_few_jobs_without_a_request_do_not_count() -> None:
    jobs = pl.DataFrame({"requested_s": [10.0] * 999 + [None]})
    assert marks_of(resolve_scheduler(policy="sjf"), jobs, {"request": 999, "stand-in": 1}) == ()


def test_stops_without_a_cost_are_marked() -> None:
    assert marks(True, policy="srtf") == (FREE_STOPS,)
    assert marks(True, policy="srtf", estimate="perfect") == (TRUE_TIMES, FREE_STOPS)
    assert marks(True, policy="las") == (FREE_STOPS,)
    assert marks(True, policy="las", preemption_overhead_s=1.0) == ()
    assert marks(True, policy="las", preempted_progress="lost") == ()


def test_beside_free_stops_stands_their_cost() -> None:
    every = with_costs(combine(["fcfs", "las"]).possible)
    assert [one.label for one in every] == ["fcfs/easy", "las/greedy", "las/greedy/overhead=30"]
    assert every[2].settings.preemption_overhead_s == 30.0
    costly = combine(["las"], preemption_overhead_s=60.0).possible
    assert with_costs(costly) == costly


def test_symbols_and_lines() -> None:
    assert marked("srtf/greedy", (TRUE_TIMES, FREE_STOPS)) == "srtf/greedy †‡"
    assert marked("srtf/greedy", (TRUE_TIMES, FREE_STOPS), [TRUE_TIMES]) == "srtf/greedy ‡"
    assert shared_marks([(TRUE_TIMES,), (TRUE_TIMES, FREE_STOPS)]) == (TRUE_TIMES,)
    assert shared_marks([]) == ()
    (line,) = mark_lines([(), (FREE_STOPS,)])
    assert line.startswith("‡ stops jobs at no cost")


@cache
def log() -> Log:
    return Log(read_workload("generate:lublin?seed=3&jobs=600&cores=64&load=1.1&requests=factor"), Cluster.pool(64))


def compared() -> Comparison:
    """Returns a comparison in which the best is a policy that knows run times."""
    windows = choose_windows(len(log().workload), count=6, length=80, seed=1)
    plain, knowing = combine(["fcfs", "smallest"]).possible, combine(["f2"], estimates=["perfect"])
    return compare_combinations(log(), [*plain, *knowing.possible], windows)


def test_the_best_without_a_mark_is_named_first_and_the_marked_one_with_its_caveat() -> None:
    comparison = compared()
    assert (comparison.scored[0].label, comparison.scored[0].marks) == ("f2/easy", (TRUE_TIMES,))
    plain, caveat = comparison.headlines()
    assert plain.sentence.startswith("smallest/easy and the baseline (fcfs/easy) cannot be told apart")
    assert plain.marks == ()
    assert caveat.sentence.startswith("f2/easy † and the baseline (fcfs/easy) cannot be told apart")
    assert caveat.sentence.endswith("; but it sees true run times, which no scheduler knows")
    told = comparison.to_json()
    assert {row["label"]: row["marks"] for row in told["combinations"]} == {
        "f2/easy": ["true-run-times"], "smallest/easy": [], "fcfs/easy": [],
    }  # fmt: skip
    assert list(told["marks"]) == ["true-run-times"]
    assert told["shared_marks"] == []


def test_a_baseline_with_a_mark_shows_it() -> None:
    (finding,) = compared().held_against("f2/easy").headlines()
    assert finding.sentence.startswith("smallest/easy is WORSE than the baseline (f2/easy †)")


def test_where_all_share_a_mark_no_row_has_it() -> None:
    jobs = log().workload.jobs.with_columns(requested_s=pl.lit(None, dtype=pl.Float64))
    untold = Workload.from_frame(jobs, name="untold")
    comparison = shunter.compare(untold, 64, policy=["fcfs", "sjf"], windows=6, length=80)
    assert comparison.shared_marks == (TRUE_PLANS,)
    # Reservations are made by true run times for all; the order of sjf alone sees them, too.
    assert comparison.shown_label("fcfs/easy") == "fcfs/easy"
    assert comparison.shown_label("sjf/easy") == "sjf/easy †"
    (finding,) = comparison.headlines()
    assert finding.sentence.endswith("; but it sees true run times, which no scheduler knows")
    assert comparison.to_json()["shared_marks"] == ["true-plans"]


def test_compare_shows_the_cost_of_free_stops() -> None:
    comparison = shunter.compare(log(), policy=["fcfs", "las"], windows=6, length=80)
    free, costly = comparison.contenders["las/greedy"], comparison.contenders["las/greedy/overhead=30"]
    assert (free.marks, costly.marks) == ((FREE_STOPS,), ())
    assert free.metrics["mean_turnaround_s"].mean() != costly.metrics["mean_turnaround_s"].mean()
    assert comparison.headlines()[0].label != "las/greedy ‡"


def test_what_if_marks_its_cases() -> None:
    found = shunter.what_if(log(), changes=["policy=srtf", "policy=sjf,estimate=perfect", "policy=sjf"])
    told = found.to_json()
    assert [case["marks"] for case in told["cases"]] == [["free-preemption"], ["true-run-times"], []]
    assert told["base"]["marks"] == []
