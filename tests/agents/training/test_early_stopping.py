"""When training stops early."""

from __future__ import annotations

from shunter.agents.training.best import EarlyStopping


def test_patience_ends_after_so_many_evaluations_without_a_better_one() -> None:
    stopping = EarlyStopping(patience=3)
    objectives = [5.0, 4.0, 4.0, 4.5, 3.9, 3.9, 4.0, 3.95]
    assert [stopping.observe({"objective": each}) for each in objectives] == [False] * 7 + [True]


def test_an_improvement_within_the_threshold_is_none() -> None:
    stopping = EarlyStopping(patience=2, threshold=0.5)
    assert [stopping.observe({"objective": each}) for each in (5.0, 4.6, 4.5)] == [False, False, True]
    patient = EarlyStopping(patience=2, threshold=0.5)
    assert [patient.observe({"objective": each}) for each in (5.0, 4.6, 4.4, 4.2)] == [False] * 4


def test_what_is_no_number_is_no_improvement() -> None:
    stopping = EarlyStopping(patience=1)
    assert [stopping.observe({"objective": each}) for each in (1.0, float("nan"))] == [False, True]


def test_without_patience_it_never_stops() -> None:
    stopping = EarlyStopping(patience=None)
    assert not any(stopping.observe({"objective": 1.0}) for _ in range(50))


def test_a_policy_that_breaks_a_bound_is_no_improvement() -> None:
    stopping = EarlyStopping(patience=2)
    measured = [(5.0, 0.0), (4.0, 0.1), (3.0, 0.2)]
    assert [stopping.observe({"objective": each, "bounds_broken": broken}) for each, broken in measured] == [
        False, False, True,
    ]  # fmt: skip
    assert stopping.reference == 5.0
