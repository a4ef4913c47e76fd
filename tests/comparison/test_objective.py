"""Costs and bounds, worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shunter.comparison.objective import LEAST, PENALTY, SAFETY, Bound, Objective, mean_ratio, parse_objective
from shunter.errors import InputError

SLOWDOWN, WAIT, USE = "mean_bounded_slowdown", "mean_wait_s", "core_utilization"


def columns(**values: list[float]) -> dict[str, np.ndarray]:
    return {name: np.array(each) - LEAST for name, each in values.items()}


BASE = columns(mean_bounded_slowdown=[2.0, 8.0], mean_wait_s=[100.0, 300.0], core_utilization=[0.5, 0.7])


def test_the_cost_is_the_mean_logarithm_of_the_ratio() -> None:
    """Half in one window and a quarter in the other: −(ln 2 + ln 4)/2."""
    found = columns(mean_bounded_slowdown=[1.0, 2.0])
    assert Objective(SLOWDOWN).cost(found, BASE) == pytest.approx(-1.5 * math.log(2))


def test_of_utilization_more_is_better() -> None:
    found = columns(core_utilization=[1.0, 0.7])
    assert Objective(USE).cost(found, BASE) == pytest.approx(-math.log(2) / 2)


def test_windows_without_a_value_are_left_out() -> None:
    found = {SLOWDOWN: np.array([1.0 - LEAST, math.nan])}
    assert Objective(SLOWDOWN).cost(found, BASE) == pytest.approx(-math.log(2))


def test_a_bound_is_on_the_mean_over_windows() -> None:
    """The mean waits are 260 s and 200 s: 1.3 times. That one window is at 4 times does not matter."""
    objective = Objective(SLOWDOWN, (Bound(WAIT, 1.1),))
    found = columns(mean_bounded_slowdown=[2.0, 8.0], mean_wait_s=[400.0, 120.0])
    assert objective.excess(objective.bounds[0], found, BASE) == pytest.approx(math.log(1.3 / 1.1), abs=1e-4)
    assert objective.search_cost(found, BASE) == pytest.approx(PENALTY * (math.log(1.3 / 1.1) + SAFETY), abs=1e-4)
    assert objective.broken(found, BASE) == pytest.approx(math.log(1.3 / 1.1), abs=1e-4)
    assert objective.cost(found, BASE) == pytest.approx(0.0)


def test_a_search_aims_below_a_bound_that_holds_all_the_same() -> None:
    objective = Objective(SLOWDOWN, (Bound(WAIT, 1.1),))
    near = columns(mean_bounded_slowdown=[2.0, 8.0], mean_wait_s=[108.0, 324.0])
    assert objective.broken(near, BASE) == 0.0
    assert objective.search_cost(near, BASE) == pytest.approx(PENALTY * (math.log(1.08 / 1.1) + SAFETY), abs=1e-4)
    well = columns(mean_bounded_slowdown=[2.0, 8.0], mean_wait_s=[50.0, 150.0])
    assert objective.search_cost(well, BASE) == pytest.approx(0.0)


def test_a_bound_is_exact() -> None:
    """0.9499 times a utilization of 1 breaks a bound of 0.95, which a thousandth added to both would let pass."""
    objective = Objective(SLOWDOWN, (Bound(USE, 0.95),))
    base = {USE: np.array([0.5])}
    assert objective.broken({USE: np.array([0.47499])}, base) > 0
    assert objective.broken({USE: np.array([0.475])}, base) == pytest.approx(0.0, abs=1e-12)


def test_a_bound_from_below() -> None:
    """Utilization has to be at least 0.9 times; 0.5 + 0.4 over 0.5 + 0.7 is 0.75 times."""
    objective = Objective(SLOWDOWN, (Bound(USE, 0.9),))
    found = columns(core_utilization=[0.5, 0.4])
    assert objective.excess(objective.bounds[0], found, BASE) == pytest.approx(math.log(0.9 / 0.75), abs=1e-3)
    assert objective.bounds[0].words == "at least 0.9 times"
    assert Bound(WAIT, 1.1).words == "at most 1.1 times"


def test_a_ratio_of_means() -> None:
    assert mean_ratio(np.array([300.0, math.nan]), np.array([100.0, 300.0])) == 1.5
    assert mean_ratio(np.zeros(2), np.ones(2)) == pytest.approx(LEAST, rel=1e-2)
    assert mean_ratio(np.zeros(2), np.zeros(2)) == 1.0


def test_names() -> None:
    objective = parse_objective("bounded-slowdown", ["mean-wait=1.1", "p95_wait_s=2", "utilization=0.95"])
    assert objective.metrics == (SLOWDOWN, WAIT, "p95_wait_s", USE)
    assert [bound.factor for bound in objective.bounds] == [1.1, 2.0, 0.95]
    assert parse_objective("mean_wait_s", []) == Objective(WAIT)


@pytest.mark.parametrize(
    ("objective", "bounds", "message"),
    [
        ("slow", [], "unknown objective 'slow'"),
        ("wait", ["mean-weight=1.1"], "unknown bound 'mean-weight'; did you mean 'mean-wait'"),
        ("wait", ["p95-wait"], "--bound is 'p95-wait'; expected a metric and a positive factor, as in mean-wait=1.1"),
        ("wait", ["p95-wait=0"], "--bound is 'p95-wait=0'"),
        ("wait", ["p95-wait=inf"], "--bound is 'p95-wait=inf'"),
        ("wait", ["p95-wait=much"], "--bound is 'p95-wait=much'"),
        ("wait", ["p95-wait=1", "p95_wait_s=2"], "--bound p95_wait_s=2: p95_wait_s is bounded twice"),
    ],
)
def test_what_cannot_be_understood(objective: str, bounds: list[str], message: str) -> None:
    with pytest.raises(InputError) as raised:
        parse_objective(objective, bounds)
    assert message in str(raised.value)
