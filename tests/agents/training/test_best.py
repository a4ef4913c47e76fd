"""Which policy is the best: the beginning, until another one is better by more than chance would have it."""

from __future__ import annotations

import math

from shunter.agents.training.best import Best, NearMiss


def measured(objective: float, gain: float | None = None, error: float = 0.1, broken: float = 0.0) -> dict[str, float]:
    found = {"objective": objective, "bounds_broken": broken}
    return found | ({} if gain is None else {"gain": gain, "gain_error": error})


def test_the_lowest_objective_is_the_best() -> None:
    best = Best(1.0)
    assert [best.observe(measured(objective), 0) for objective in (5.0, 3.0, math.nan, 3.0, 1.0)] == [
        True, True, False, False, True,
    ]  # fmt: skip
    assert best.objective == 1.0


def test_the_beginning_stays_until_another_stands_out() -> None:
    best = Best(1.0)
    assert best.observe(measured(1.0, 0.0, 0.0), 0)
    assert not best.observe(measured(0.95, 0.05), 10)
    assert not best.observe(measured(0.92, 0.08), 20)
    assert not best.observe(measured(0.93, 0.07), 30)
    assert (best.steps, best.near) == (0, NearMiss(20, 0.08, 0.1))
    assert best.observe(measured(0.85, 0.15), 40)
    assert best.observe(measured(0.8, 0.2), 50)
    assert not best.observe(measured(0.7, 0.3, 0.4), 60)
    assert (best.objective, best.steps) == (0.8, 50)


def test_the_margin_counts_standard_errors_and_0_turns_it_off() -> None:
    for margin, expected in ((0.0, True), (0.4, True), (0.6, False)):
        best = Best(margin)
        best.observe(measured(1.0, 0.0, 0.0), 0)
        assert best.observe(measured(0.95, 0.05), 10) is expected


def test_one_episode_does_not_tell() -> None:
    best = Best(1.0)
    best.observe(measured(1.0, 0.0, math.inf), 0)
    assert not best.observe(measured(0.5, 0.5, math.inf), 10)
    assert best.near == NearMiss(10, 0.5, None)
    without = Best(0.0)
    without.observe(measured(1.0, 0.0, math.inf), 0)
    assert without.observe(measured(0.5, 0.5, math.inf), 10)


def test_a_lead_on_the_same_windows_goes_before_objectives() -> None:
    """Objectives may be of fewer windows."""
    best = Best(1.0)
    assert best.observe(measured(1.0, 0.0, 0.0), 0)
    assert not best.observe(measured(0.5, 0.5) | {"lead": -0.1}, 10)
    assert best.observe(measured(0.7, 0.3) | {"lead": 0.3}, 20)
    assert best.observe(measured(0.8, 0.3) | {"lead": 0.01}, 30)
    assert not best.observe(measured(0.6, 0.4) | {"lead": 0.0}, 40)
    assert (best.objective, best.steps) == (0.8, 30)


def test_its_state_comes_back() -> None:
    best = Best(1.0)
    best.observe(measured(1.0, 0.0, 0.0), 0)
    best.observe(measured(0.95, 0.05), 10)
    other = Best(1.0)
    other.load_state(best.state())
    assert other == best


def test_a_policy_that_breaks_a_bound_never_replaces_a_beginning_that_keeps_it() -> None:
    """However much better its objective is, and by however little it breaks the bound."""
    best = Best(1.0)
    assert best.observe(measured(1.0, 0.0, 0.0), 0)
    assert not best.observe(measured(-9.0, 10.0, broken=1e-9), 10)
    assert (best.steps, best.near) == (0, None)
    assert best.observe(measured(0.5, 0.5), 20)


def test_a_beginning_that_breaks_a_bound_gives_way_to_whoever_keeps_it() -> None:
    """Though the objective becomes worse: a margin over such a beginning says nothing."""
    best = Best(1.0)
    assert best.observe(measured(1.0, 0.0, 0.0, broken=0.3), 0)
    assert best.observe(measured(2.0, -1.0, broken=0.2), 10)
    assert not best.observe(measured(0.1, 0.9, broken=0.25), 20)
    assert best.observe(measured(3.0, -2.0), 30)
    assert best.observe(measured(2.5, -1.5), 40)
    assert not best.observe(measured(2.6, -1.6), 50)
    assert (best.objective, best.broken, best.steps) == (2.5, 0.0, 40)
    again = Best(1.0)
    again.load_state(best.state())
    assert again == best


def test_runs_of_earlier_versions_go_on() -> None:
    best = Best(1.0)
    best.load_state({"best": 0.5, "best_steps": 7})
    assert (best.objective, best.broken, best.begins_within, best.near) == (0.5, 0.0, True, None)
