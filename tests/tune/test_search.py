"""The cross-entropy method on functions whose minimum is known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shunter.tune.search import LEAST_SPREAD, search

MINIMUM = np.array([2.0, -1.0, 0.5])


def bowl(vectors: NDArray[np.float64], generation: int) -> NDArray[np.float64]:
    return np.asarray(((vectors - MINIMUM) ** 2).sum(axis=1))


def search_bowl(seed: int) -> NDArray[np.float64]:
    return search(bowl, np.zeros(3), np.ones(3), generations=60, population=40, seed=seed)


def test_the_minimum_is_found() -> None:
    np.testing.assert_allclose(search_bowl(seed=0), MINIMUM, atol=0.1)


def test_the_seed_decides_everything() -> None:
    first, again, other = search_bowl(1), search_bowl(1), search_bowl(2)
    np.testing.assert_array_equal(first, again)
    assert (first != other).all()


def test_the_first_candidate_is_the_center_and_the_generation_is_told() -> None:
    seen: list[tuple[int, list[float]]] = []

    def spy(vectors: NDArray[np.float64], generation: int) -> NDArray[np.float64]:
        assert vectors.shape == (6, 2)
        seen.append((generation, vectors[0].tolist()))
        return np.asarray((vectors**2).sum(axis=1))

    search(spy, np.array([4.0, 5.0]), np.ones(2), generations=3, population=6, seed=0)
    assert [generation for generation, _ in seen] == [0, 1, 2]
    assert seen[0][1] == [4.0, 5.0]
    assert seen[1][1] != [4.0, 5.0]


def test_the_spread_never_freezes() -> None:
    """Where all candidates are as good, the spread of the elite shrinks by chance; some of it always stays."""
    widths: list[float] = []

    def flat(vectors: NDArray[np.float64], generation: int) -> NDArray[np.float64]:
        widths.append(float(vectors.std()))
        return np.zeros(len(vectors))

    search(flat, np.zeros(1), np.ones(1), generations=60, population=12, seed=0)
    assert min(widths[30:]) > LEAST_SPREAD / 3
