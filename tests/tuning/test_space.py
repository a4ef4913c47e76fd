"""Vectors and the policies that they stand for."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shunter.policies.catalog import KNOWN_POLICIES
from shunter.policies.native import resolve_native
from shunter.tuning.space import SPACES, spec_text


def vector(kind: str, **numbers: float) -> np.ndarray:
    """Returns where the search begins, with some numbers changed."""
    space = SPACES[kind]
    names = [axis.name for axis in space.axes]
    assert set(numbers) <= set(names)
    return np.array([numbers.get(axis.name, axis.center) for axis in space.axes])


def test_linear() -> None:
    numbers = {"size": 0.7, "wait": 0.02, "wait_ratio": -0.5, "free_estimate": -0.3, "reserve_below": -1.0}
    logs = {"log_hold_from": math.log(600.0), "log_hold_patience": 0.0}
    parameters = SPACES["linear"].parameters(vector("linear", **numbers, **logs, hold_share=-0.1))
    assert parameters["estimate"] == 1.0
    assert (parameters["size"], parameters["free_estimate"], parameters["reserve_below"]) == (0.7, -0.3, -1.0)
    # Waiting never speaks against a job, and a share that is held back is not negative.
    assert (parameters["wait"], parameters["wait_ratio"], parameters["hold_share"]) == (0.02, 0.0, 0.0)
    assert parameters["hold_from_s"] == pytest.approx(600.0)
    assert parameters["hold_patience_s"] == 1.0


@pytest.mark.parametrize(("size", "weight", "favor_small"), [(0.4, 400.0, 0.0), (-0.4, 400.0, 1.0), (0.0, 0.0, 0.0)])
def test_multifactor(size: float, weight: float, favor_small: float) -> None:
    """A negative weight of the size is a positive one for small jobs."""
    numbers = vector("multifactor", age=0.5, fair_share=-1.0, size=size, log_max_age=math.log(1000.0))
    parameters = SPACES["multifactor"].parameters(numbers)
    assert (parameters["age"], parameters["fair_share"]) == (500.0, 0.0)
    assert (parameters["size"], parameters["favor_small"]) == (weight, favor_small)
    assert parameters["max_age_s"] == pytest.approx(1000.0)
    assert parameters["half_life_s"] == pytest.approx(7 * 86_400.0)


@pytest.mark.parametrize("kind", SPACES)
def test_every_candidate_is_a_policy_to_the_last_digit(kind: str) -> None:
    space = SPACES[kind]
    random = np.random.default_rng(0)
    for _ in range(20):
        parameters = space.parameters(space.center + 5 * space.spread * random.standard_normal(len(space.axes)))
        spec = resolve_native(spec_text(kind, parameters)).spec
        assert spec.kind == kind
        assert {name: spec.parameters[name] for name in parameters} == parameters
        assert set(parameters) <= set(KNOWN_POLICIES[kind].parameters)


def test_the_distance_is_the_mean_square_in_first_spreads() -> None:
    space = SPACES["multifactor"]
    moved = space.center + space.spread * np.array([2.0, 0.0, -1.0, 0.0, 0.0])
    np.testing.assert_allclose(space.distance(np.array([space.center, moved])), [0.0, 5 / 5])
