"""What training days choose: which windows are held back, which estimates are tried, which classic is kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from shunter.comparison import combinations
from shunter.comparison.classics import Choice, classics, left_out
from shunter.comparison.objective import Objective, parse_objective
from shunter.model.log import Log
from shunter.policies.catalog import DISPATCHES, POLICIES
from shunter.policies.scheduler import resolve_scheduler
from shunter.tuning.choosing import (
    Chosen,
    TrainingDays,
    Trial,
    choose_on_training_days,
    supported_estimates,
    try_tuned,
    worth,
)
from shunter.tuning.request import TuneRequest
from shunter.tuning.weights import Plan
from tests.tuning.small import PLAN, small_log

SCHEDULER = resolve_scheduler()
SLOWDOWN, WAIT = "mean_bounded_slowdown", "mean_wait_s"
OBJECTIVE = parse_objective("bounded-slowdown", ["mean-wait=1.1"])


@pytest.fixture(autouse=True)
def few_classics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(combinations, "CLASSICS", ("fcfs", "sjf", "saf", "laf"))


def test_the_last_quarter_of_the_training_days_is_held_back() -> None:
    """Training days are the jobs 0 to 360, and their last quarter begins at 270."""
    plan = Plan(windows=12, length=30, warmup=10)
    days = TrainingDays.of([small_log()], plan)
    first = days.benches[0].parts[0].windows.first.astype(int)
    assert days.are_apart
    assert (first[days.searched[0]] + 30 <= 270).all()
    assert (first[days.held_back[0]] >= 270).all()
    # The rest lies on both sides.
    other = np.setdiff1d(np.arange(len(first)), np.concatenate([days.searched[0], days.held_back[0]]))
    assert ((first[other] < 270) & (first[other] + 30 > 270)).all()
    assert days.held_back_windows == len(days.held_back[0]) > 0
    assert [len(bench) for bench in days.searched_benches] == [len(days.searched[0])]


def test_too_few_days_serve_for_both() -> None:
    days = TrainingDays.of([small_log()], Plan(windows=4, length=200, warmup=0))
    assert not days.are_apart
    np.testing.assert_array_equal(days.searched[0], days.held_back[0])
    assert len(days.searched[0]) == len(days.benches[0])


def with_columns(**columns: object) -> Log:
    log = small_log()
    jobs = log.workload.jobs
    filled = [pl.lit(value, dtype=jobs.schema[name]).alias(name) for name, value in columns.items()]
    return Log(replace(log.workload, jobs=jobs.with_columns(filled)), log.cluster)


@pytest.mark.parametrize(
    ("columns", "missing_request", "tried"),
    [
        ({"user": "ann"}, "run-time", ["requested", "last-two", "posterior"]),
        ({"user": None}, "run-time", ["requested", "posterior"]),
        # True run times would stand in for requests, which nobody knows.
        ({"user": "ann", "requested_s": None}, "run-time", ["last-two", "posterior"]),
        ({"user": "ann", "requested_s": None}, "3600", ["requested", "last-two", "posterior"]),
        # Nothing else is left.
        ({"user": None, "requested_s": None}, "run-time", ["requested"]),
    ],
)
def test_only_estimates_that_a_log_supports_are_tried(
    columns: dict[str, object], missing_request: str, tried: list[str]
) -> None:
    found, reasons = supported_estimates([with_columns(**columns)], missing_request)
    assert found == tried
    assert len(found) + len(reasons) == 3
    both, _ = supported_estimates([with_columns(user="ann"), with_columns(**columns)], missing_request)
    assert both == tried


def chosen_on(objective: Objective, may_be: Any = lambda one: True) -> tuple[TrainingDays, Chosen]:  # noqa: ANN401
    days = TrainingDays.of(
        [small_log(), small_log("generate:lublin?seed=9&jobs=500&cores=64&load=1&requests=factor")], PLAN
    )
    estimates = {"requested": "requested", "perfect": "perfect"}
    return days, choose_on_training_days(days, SCHEDULER, estimates, objective, may_be)


def test_the_best_classic_over_all_logs_and_estimates_is_chosen_and_its_estimate_with_it() -> None:
    days, chosen = chosen_on(Objective(SLOWDOWN))
    costs = {}
    for estimate in ("requested", "perfect"):
        for one in classics(SCHEDULER, [estimate]):
            found = [bench.measure(one.scheduler, [SLOWDOWN])[SLOWDOWN] for bench in days.benches]
            base = [choice.measured[SLOWDOWN] for choice in chosen.requested]
            costs[estimate, one.label] = np.mean([np.log(a / b).mean() for a, b in zip(found, base, strict=True)])
    best = min(costs, key=lambda key: costs[key])
    assert (chosen.estimate, chosen.combination.label) == best
    assert chosen.estimate == "perfect"
    assert [one.combination.settings.estimate for one in chosen.same_estimate] == ["perfect", "perfect"]


def test_what_breaks_a_bound_is_worth_less_than_what_keeps_it() -> None:
    """However much better it is, and by however little it breaks the bound."""
    base, better, bounded = (
        [Choice(combinations.combine(["fcfs"]).possible[0], {SLOWDOWN: np.array([slowdown]), WAIT: np.array([wait])})]
        for slowdown, wait in ((2.0, 100.0), (1.0, 110.1), (1.9, 109.9))
    )
    assert worth(bounded, base, OBJECTIVE) < worth(better, base, OBJECTIVE)
    assert worth(bounded, base, OBJECTIVE)[0] == 0.0
    assert worth(better, base, Objective(SLOWDOWN)) < worth(bounded, base, Objective(SLOWDOWN))


def test_what_the_user_cannot_have_is_not_kept() -> None:
    request = TuneRequest.of(dispatch="strict")
    _, chosen = chosen_on(OBJECTIVE, request.may_keep)
    assert chosen.combination.settings.dispatch == "strict"
    assert chosen.may_be_kept
    _, none = chosen_on(OBJECTIVE, TuneRequest.of(dispatch="3").may_keep)
    assert not none.may_be_kept


def test_slurms_weights_give_way_to_slurms_defaults_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    request = TuneRequest.of(kind="multifactor")
    found = {name: request.may_keep(combinations.combine([name]).possible[0]) for name in ("saf", "multifactor")}
    assert found == {"saf": False, "multifactor": True}


@pytest.mark.parametrize(
    ("cost", "broken", "classic_broken", "keeps"),
    [
        (-0.1, 0.0, 0.0, False),
        (0.0, 0.0, 0.0, True),
        (0.1, 0.0, 0.0, True),
        (-9.0, 0.001, 0.0, True),
        (0.5, 0.1, 0.2, False),
        (-0.1, 0.2, 0.2, False),
    ],
)
def test_the_classic_is_kept_unless_the_score_is_better_bounds_first(
    cost: float, broken: float, classic_broken: float, keeps: bool
) -> None:
    trial = Trial(5, True, cost, cost, broken, classic_broken, "saf/easy")
    assert trial.keeps_classic is keeps
    assert trial.to_json()["keeps_classic"] is keeps
    assert not replace(trial, may_keep=False).keeps_classic


def test_a_score_that_loses_where_it_was_fitted_is_not_believed_elsewhere() -> None:
    assert Trial(2, True, -0.06, 0.28, 0.0, 0.0, "saf/easy").keeps_classic
    assert not Trial(2, True, -0.06, -0.01, 0.0, 0.0, "saf/easy").keeps_classic


def test_a_score_is_tried_in_the_windows_that_are_held_back() -> None:
    days, chosen = chosen_on(OBJECTIVE)
    assert days.are_apart
    tuned = resolve_scheduler(policy="linear?cores=1")
    trial = try_tuned(days, tuned, chosen, OBJECTIVE)
    costs = []
    for bench, rows, classic in zip(days.benches, days.held_back, chosen.rival, strict=True):
        own = bench.measure(tuned, [SLOWDOWN])[SLOWDOWN][rows]
        costs.append(OBJECTIVE.cost({SLOWDOWN: own}, classic.measured | {SLOWDOWN: classic.measured[SLOWDOWN][rows]}))
    assert trial.cost == pytest.approx(np.mean(costs))
    assert trial.searched_cost != trial.cost
    assert (trial.windows, trial.are_held_back) == (days.held_back_windows, True)
    itself = try_tuned(days, chosen.rival[0].combination.scheduler, chosen, OBJECTIVE)
    assert (itself.cost, itself.broken, itself.keeps_classic) == (0.0, itself.classic_broken, True)


def test_the_rival_is_chosen_where_the_score_is_fitted() -> None:
    """Not by the windows in which they meet: the best of many there is partly the luckiest."""
    days, chosen = chosen_on(Objective(SLOWDOWN))
    costs = {}
    for estimate in ("requested", "perfect"):
        for one in classics(SCHEDULER, [estimate]):
            measured = [bench.measure(one.scheduler, [SLOWDOWN])[SLOWDOWN] for bench in days.benches]
            logs = [np.log(values[rows]).mean() for values, rows in zip(measured, days.searched, strict=True)]
            costs[estimate, one.label] = float(np.mean(logs))
    best = min(costs, key=lambda key: costs[key])
    assert (chosen.rival_estimate, chosen.rival[0].combination.label) == best


def test_some_windows_of_a_choice() -> None:
    choice = Choice(combinations.combine(["fcfs"]).possible[0], {WAIT: np.arange(5.0)})
    np.testing.assert_array_equal(choice.take(np.array([1, 3])).measured[WAIT], [1.0, 3.0])


def test_every_policy_and_rule_is_tried_or_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    told = " ".join(left_out(SCHEDULER))
    tried = classics(SCHEDULER, ["requested"])
    for name in POLICIES:
        assert name in {one.settings.policy for one in tried} or name in told
    for rule in DISPATCHES:
        assert rule in {one.settings.dispatch for one in tried} or rule in told
