"""The cross-entropy method: draw candidates, keep the best, draw around them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

ELITE_SHARE = 1 / 6
"""The part of the candidates that the next ones are drawn around."""
STEP = 0.5
"""How far the distribution moves towards the elite in one generation."""
LEAST_SPREAD = 0.05
"""The spread never falls below this part of the first one, so that the search does not freeze."""

Evaluate = Callable[["NDArray[np.float64]"], "NDArray[np.float64]"]
"""Takes the candidates of a generation, one a row; returns the cost of each."""


def search(
    evaluate: Evaluate,
    center: NDArray[np.float64],
    spread: NDArray[np.float64],
    *,
    generations: int,
    population: int,
    seed: int,
) -> NDArray[np.float64]:
    """Returns where the cost is low, by the cross-entropy method with independent normal distributions.

    It is the mean of the distributions' middles over the second half of the search: an average over many good
    candidates and many windows, so that it does not fit chance.

    Args:
        evaluate: The cost of candidates; it may differ from generation to generation, as the windows do.
        center: Where the search begins.
        spread: How far it looks at first in each direction.
        generations: How often candidates are drawn.
        population: How many each time; the first of them is the center itself.
        seed: For the drawing.
    """
    random = np.random.default_rng(seed)
    elite = max(2, round(population * ELITE_SHARE))
    first_spread = spread
    centers = np.empty((generations, len(center)))
    for generation in range(generations):
        drawn = center + spread * random.standard_normal((population, len(center)))
        # The middle itself is always tried, so that its cost can be followed over the generations.
        drawn[0] = center
        cost = evaluate(drawn)
        # Stable, so that candidates that cost the same are kept in the order in which they were drawn, on every
        # machine.
        best = drawn[np.argsort(cost, kind="stable")[:elite]]
        # A whole step would follow the chance of the windows drawn in this generation.
        center = center + STEP * (best.mean(axis=0) - center)
        centers[generation] = center
        spread = np.maximum(spread + STEP * (best.std(axis=0) - spread), LEAST_SPREAD * first_spread)
    return np.asarray(centers[generations // 2 :].mean(axis=0))
