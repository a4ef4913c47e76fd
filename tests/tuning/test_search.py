"""The cross-entropy method on functions whose minimum is known."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from shunter.tuning.search import LEAST_SPREAD, search

MINIMUM = np.array([2.0, -1.0, 0.5])


def bowl(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(((vectors - MINIMUM) ** 2).sum(axis=1))


def search_bowl(seed: int) -> NDArray[np.float64]:
    return search(bowl, np.zeros(3), np.ones(3), generations=60, population=40, seed=seed)


def test_the_minimum_is_found() -> None:
    np.testing.assert_allclose(search_bowl(seed=0), MINIMUM, atol=0.1)


def test_the_seed_decides_everything() -> None:
    first, again, other = search_bowl(1), search_bowl(1), search_bowl(2)
    np.testing.assert_array_equal(first, again)
    assert (first != other).all()


def test_the_first_candidate_is_the_center() -> None:
    seen: list[list[float]] = []

    def spy(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        assert vectors.shape == (6, 2)
        seen.append(vectors[0].tolist())
        return np.asarray((vectors**2).sum(axis=1))

    search(spy, np.array([4.0, 5.0]), np.ones(2), generations=3, population=6, seed=0)
    assert len(seen) == 3
    assert seen[0] == [4.0, 5.0]
    assert seen[1] != [4.0, 5.0]


def test_a_generation_goes_half_way_to_the_best_sixth() -> None:
    """Two of twelve candidates are the elite; middle and spread move half of the way to theirs."""
    drawn: list[NDArray[np.float64]] = []

    def highest(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        drawn.append(vectors)
        return -vectors[:, 0]

    found = search(highest, np.array([10.0]), np.array([4.0]), generations=2, population=12, seed=7)
    first, second = (np.sort(vectors[:, 0]) for vectors in drawn)
    middle = 10 + (first[-2:].mean() - 10) / 2
    assert drawn[1][0, 0] == pytest.approx(middle)
    random = np.random.default_rng(7)
    random.standard_normal((12, 1))
    spread = (4 + (first[-1] - first[-2]) / 2) / 2
    np.testing.assert_allclose(drawn[1][1:], middle + spread * random.standard_normal((12, 1))[1:])
    # What is found is the mean of the middles over the second half: here of the second generation alone.
    assert found == pytest.approx(middle + (second[-2:].mean() - middle) / 2)


def test_the_spread_never_freezes() -> None:
    """Where all candidates are as good, the spread of the elite shrinks by chance; some of it always stays."""
    widths: list[float] = []

    def flat(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        widths.append(float(vectors.std()))
        return np.zeros(len(vectors))

    search(flat, np.zeros(1), np.ones(1), generations=60, population=12, seed=0)
    assert min(widths[30:]) > LEAST_SPREAD / 3
